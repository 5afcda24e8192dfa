# SPDX-License-Identifier: MIT
# `bench state` beside a command: its status is the command's, every GPU has a row a period, and without NVML the
# command runs all the same.
. "$ROOT/tests/cli/bench_collective/common.bash"
printf 'gpus_per_node = 2\nsm_clock_MHz = 1500\n' >fabric.conf
export EMU_FABRIC=$PWD/fabric.conf
"$SPECTER" bench state | sed 's/  */ /g'
printf '%s\n' 'hot_gpu = 1 60' >>fabric.conf
"$SPECTER" bench state | awk 'length > 80 { print "too long: " $0 } / sw_thermal$/ { print "throttles" }'
sed -i '$d' fabric.conf
"$SPECTER" bench state --every 0.05 -o s.csv -- sh -c 'sleep 0.5; exit 7' 2>summary
echo "status $?"
head -n 1 s.csv
awk -F, 'NR > 1 { n[$3]++; if ($4 != 34 || $7 != 1500 || $11 != "idle") print } END { print length(n), (n[0] == n[1] && n[0] >= 3) }' s.csv
grep -c '' summary
"$SPECTER" bench state --json - -- true | python3 -c '
import json, sys
doc = json.load(sys.stdin)
print(doc["kind"], [(g["gpu_id"], g["temperature_C"]["median"], g["throttled"]) for g in doc["state"]])'
status() { "$@" >/dev/null 2>err; echo "status $?: $(tail -n 1 err)"; }
status "$SPECTER" bench state -o t.csv -- sh -c 'kill -9 $$'
status "$SPECTER" bench state --every 0 -- true
status "$SPECTER" bench state -o /dev/full -- true
status "$SPECTER" bench state -o /none/s.csv -- true
LD_LIBRARY_PATH= status "$SPECTER" bench state -- sh -c 'exit 3'
LD_LIBRARY_PATH= status "$SPECTER" bench state
"$SPECTER" bench state -- ./not_there 2>/dev/null
echo "status $?"
