# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# A small recording and a grid of it, some points of which cannot be. Sourced by tests.
cp -r "$ROOT"/tests/cli/replay/data/two_ranks traces
cat >grid.json <<'END'
{
  "gpus": [null, "a100_sxm", "b200_sxm"],
  "networks": [null, "single_node_nvlink"],
  "scales": [1, 4, 16]
}
END

# A grid of many jobs, $1 scales each: every GPU to every GPU, calibrated and not.
many_jobs() {
    local gpus
    gpus=$("$SPECTER" profiles gpu --json | sed -n 's/.*"name":[[:space:]]*"\(.*\)".*/"\1"/p' | paste -sd,)
    echo "{\"from_gpu\": [$gpus], \"gpus\": [$gpus], \"calibrate\": [true, false]," \
        "\"scales\": [$(seq -s, 1 "$1")]}"
}
