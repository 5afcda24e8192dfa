# SPDX-License-Identifier: MIT
# Locked clocks are reset however the benchmark ends: by itself, by a signal, by a kill that it cannot handle.
. "$ROOT/tests/cli/bench_collective/common.bash"
printf 'gpus_per_node = 2\n' >fabric.conf
export EMU_FABRIC=$PWD/fabric.conf
clocks() { # of GPU 0, once they are as expected
    local MHz
    for _ in $(seq 100); do
        MHz=$("$SPECTER" bench state --json - | python3 -c '
import json, sys
print(int(json.load(sys.stdin)["state"][0]["clock_sm_MHz"]["median"]))')
        [[ $MHz != "$1" ]] || break
        sleep 0.1
    done
    echo "$2: $MHz MHz"
}
"$SPECTER" bench state >/dev/null
clocks 1980 "before"
"$SPECTER" bench gemm --budget 1 --dtype bf16 --lock-clocks 900 -o done --json gemm.json >/dev/null || exit 1
python3 -c '
import json
doc = json.load(open("gemm.json"))
print("locked", doc["locked_clock_MHz"], doc["state"][0]["clock_sm_MHz"]["max"])'
clocks 1980 "behind it"
for signal in INT TERM KILL; do
    "$SPECTER" bench gemm --budget 100 --lock-clocks 900 >/dev/null 2>&1 &
    clocks 900 "meanwhile"
    kill -$signal $!
    wait $! 2>/dev/null
    clocks 1980 "behind SIG$signal"
done
"$SPECTER" bench collective --gpus 2 --op all_reduce --bytes 8:1M --factor 1.0001 --lock-clocks 900 >/dev/null 2>&1 &
clocks 900 "of a job"
kill -KILL $!
wait $! 2>/dev/null
clocks 1980 "behind its end"

echo 'lock_clocks = 0' >>fabric.conf
"$SPECTER" bench gemm --budget 0.2 --lock-clocks 900 2>&1 >/dev/null
echo "status $?"
left_behind
exit 0
