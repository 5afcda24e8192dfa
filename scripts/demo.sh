#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The main job, end to end, without a GPU: eight ranks of examples/train on the stand-in libraries are
# traced, analyzed, and predicted on other hardware. `make demo` builds what this needs.
#
#   BUILD=build scripts/demo.sh
set -euo pipefail

ROOT=$(cd "$(dirname "$0")/.." && pwd)
BUILD=$(realpath "${BUILD:-$ROOT/build}")
WORK=$BUILD/demo

# Shows a command as one would type it, then runs it.
run() {
    echo
    echo "\$ $*"
    "$@"
}

rm -rf "$WORK"
mkdir -p "$WORK"
cd "$WORK"
export LD_LIBRARY_PATH=$BUILD/emu/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export PATH=$BUILD:$BUILD/examples:$ROOT/examples:$PATH

echo "Eight ranks of a training program (tensor-parallel pairs, data-parallel across them) on libraries"
echo "that stand in for CUDA, cuBLAS and NCCL; nothing here needs a GPU."
run specter capture -- launch.sh -n 8 train --tp 2 --iters 4 2>&1
run specter analyze
run specter replay --gpu h100_sxm --network dgx_h100_400g
run specter replay --gpu a100_sxm --network dgx_a100_200g --scale 1,4,16
specter analyze --html analyze.html >/dev/null

echo
echo "The traces are in ${WORK#"$ROOT"/}/traces, the page in ${WORK#"$ROOT"/}/analyze.html. Next, on a profile of your own:"
echo
echo "    ${BUILD#"$ROOT"/}/specter analyze my_profile.json.gz    # of the PyTorch profiler, or Nsight Systems"
