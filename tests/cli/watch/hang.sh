# SPDX-License-Identifier: MIT
# While the stand-ins' job of eight ranks hangs, the rank that left out a call is named with what it left out; and the
# processes, once killed, are lost.
. "$ROOT/tests/cli/tracer/common.bash"
. "$ROOT/tests/cli/watch/common.bash"
export WORLD_SIZE=8 EMU_CLOCK=real SPECTER_RUN=hang SPECTER_EXAMPLE_ID=$PWD/id EMU_DIR=$PWD
mkdir traces
env -u LD_LIBRARY_PATH "$SPECTER" watch traces --json --interval 0.2 >out 2>err &
watch=$!
pids=()
for rank in {0..7}; do
    RANK=$rank LOCAL_RANK=$rank SPECTER_OUTPUT=traces LD_PRELOAD=$PRELOAD "$BUILD/tracer/hang" skip 2>/dev/null &
    pids+=($!)
done
unset LD_LIBRARY_PATH
# Until rank 5 makes its next call, it may be a rank that is late with this one (not_called).
until_seen 'sum(r["state"] == "waits" for r in doc["ranks"]) == 7 and doc["hangs"][0]["cause"] != "not_called"' \
    '[r["rank"] for r in doc["ranks"] if r["state"] == "BLOCKED"], doc["hangs"][0]["cause"], doc["hangs"][0]["seq"]'
"$SPECTER" watch traces --once --json >hang.json
"$SPECTER" watch traces --once >text
grep -c 'waits$' text
grep -c '^ *5 .* BLOCKED$' text
grep -o '^Rank 5 skipped AllReduce #3 (4 KiB fp32)' text
"$SPECTER" watch traces --once --fail-on 'hangs>0' 2>&1 >/dev/null
echo "status $?"
kill -9 "${pids[@]}"
wait "${pids[@]}" 2>/dev/null
wait $watch
echo "status $?"
cat err
tail -n 1 out | python3 -c 'import json, sys
doc = json.load(sys.stdin)
print({r["state"] for r in doc["ranks"]}, doc["run"]["ended"], doc["hangs"][0]["ranks"])'
