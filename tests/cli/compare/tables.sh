# SPDX-License-Identifier: MIT
# Messages, stragglers and the critical path, a step: what one side alone has is added or removed, a rank that is slow
# causes waits, and the path is as long as the step.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
. "$ROOT"/tests/cli/scaling/common.bash
h100=$ROOT/tests/emu/fabric/h100.conf
{ cat "$h100"; echo 'slow_gpu = 2 0.66'; } >slow.conf
record() { # DIRECTORY CONF COMMAND...
    EMU_FABRIC=$2 LD_LIBRARY_PATH=$BUILD/emu/lib "$SPECTER" capture -o "$1" -- \
        "$ROOT"/examples/launch.sh -n 4 "${@:3}" >/dev/null 2>log || cat log
}
record stages "$h100" "$BUILD"/examples/train --pp 2 --iters 6
record again "$h100" "$BUILD"/examples/train --pp 2 --iters 6
record flat "$h100" "$BUILD"/examples/train --iters 6
record slow slow.conf "$BUILD"/examples/train --iters 6
"$SPECTER" compare stages again --json same.json >/dev/null 2>&1
"$SPECTER" compare stages flat --json other.json >/dev/null 2>&1
"$SPECTER" compare flat slow --json slow.json >/dev/null 2>&1
python3 - <<'PY'
import json
same, other, slow = (json.load(open(f + ".json"))["comparisons"][0] for f in ("same", "other", "slow"))
print("messages:", {r["what"] for r in same["messages"]}, sorted({r["verdict"] for r in same["messages"]}))
print("without stages:", {r["verdict"] for r in other["messages"]})
print("collectives hold none:", not any("Send" in r["what"] for c in (same, other) for r in c["collectives"]))
bandwidths = [r["base_busbw_GBps"] for r in same["messages"]]
print("bandwidths:", all(b and b > 0 for b in bandwidths))
rows = sorted(slow["stragglers"], key=lambda r: -(r["test_us"] or 0))
print("most waits:", rows[0]["what"], rows[0]["verdict"], rows[0]["test_us"] > 10 * max(r["base_us"] for r in rows))
for c in same, other, slow:
    for side in "base", "test":
        path = sum(r[side + "_us"] or 0 for r in c["critical"])
        step = c["step"][0][side + "_us"]
        if abs(path - step) > 1e-3 * step:
            print("the path of", c[side], "is", path, "us, its step", step)
print("critical:", {r["what"] for r in slow["critical"]} >= {"gemm", "AllReduce"})
print("of the path by stages:", {r["what"]: r["verdict"] for r in other["critical"] if r["verdict"] in ("added", "removed")})
PY
"$SPECTER" compare stages flat --table messages,stragglers,critical --format csv 2>/dev/null | grep '^#'
