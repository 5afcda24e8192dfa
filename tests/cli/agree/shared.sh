# SPDX-License-Identifier: MIT
# Every trace made by others: one step time, one set of steps, one verdict; replayed on its own hardware it
# takes its own time.
. "$ROOT"/tests/cli/agree/common.bash
[[ -n $SHARED && -e $SHARED/data/traces/param/dlrm_kineto.tar.gz ]] ||
    { echo "no ../shared data"; exit 77; }
"$SPECTER" analyze --full "$SHARED"/data/traces/nsys-ai/*.sqlite 2>&1 >/dev/null | grep -q 'this build has no SQLite' &&
    { echo "built without SQLite"; exit 77; }
status=0
traces=$SHARED/data/traces
for trace in "$traces"/{tracelens,hta/*}/*.json.gz "$traces"/param/{dlrm,linear}_kineto.* "$traces"/{nsys-ai,pipit}/*.sqlite; do
    rm -f replay.json
    agree "$(basename "$trace")" "$trace" --gpu h100_sxm || status=1
    [[ ! -e replay.json ]] || python3 - <<'PY'
import json
source = json.load(open("replay.json"))["source"]
off = source["replayed"]["iteration_us"] / source["recorded"]["iteration_us"] - 1
if abs(off) > 0.03:
    print("replayed %+.1f %% off" % (100 * off))
PY
done
exit $status
