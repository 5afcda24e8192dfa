# SPDX-License-Identifier: MIT
# Two machines whose clocks cannot be compared: nobody is called late, the status is 0.
. "$ROOT/tests/cli/analyze/clocks.bash"
capture_16 one --iters 20
refused() {
    local status
    "$SPECTER" analyze --full "$1" --json "$1.json" >"$1.text" 2>"$1.notes"
    status=$?
    sed "s/^/$1: status $status: /; s/[0-9.]* us from/N us from/; s/[0-9]* common/N common/" "$1.notes"
    grep -c "Straggler" "$1.text"
    python3 - "$1.json" <<'PY'
import json, sys
doc = json.load(open(sys.argv[1]))
print(doc["run"]["clock_aligned"], doc["run"]["clock_residual_us"], doc["run"]["clock_domains"][1]["offset_us"],
      {(r["arrived_last"], r["mean_late_us"], r["caused_wait_us"]) for r in doc["ranks"]},
      doc.get("stragglers"))
PY
}
on_clock one stepped 11000000000 20 1000000 .
refused stepped
# no collective of ranks on both machines; those are what has 8 or 16 members
on_clock one apart 11000000000 20 0 '"comm_size":2'
refused apart
