# SPDX-License-Identifier: MIT
# Communication that is all overlapped saves what of it is exposed, and no more: what it takes of computations beside it
# stays. Less where kernels without times run beside it: those would then run alone.
. "$ROOT"/tests/cli/scaling/common.bash
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
for job in '' '--tp 2' '--ep 4'; do
    rm -rf traces
    EMU_FABRIC=$ROOT/tests/emu/fabric/h100.conf LD_LIBRARY_PATH=$BUILD/emu/lib "$SPECTER" capture -o traces -- \
        "$ROOT"/examples/launch.sh -n 8 "$BUILD"/examples/train --iters 5 $job >/dev/null 2>log || cat log
    "$SPECTER" analyze traces --json out.json >/dev/null
    python3 - "$job" <<'PY'
import json, sys
doc = json.load(open("out.json"))
for f in doc["findings"]:
    if f["rule"] == "exposed_comm":
        own_us = f["value"] * doc["step_time"]["us"]
        part = f["saves_us"] / own_us
        print(sys.argv[1] or "data parallel", "saves what is exposed at most" if 0.5 < part <= 1.005 else f"saves {part:.3f} of it")
PY
done
