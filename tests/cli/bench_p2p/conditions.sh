# SPDX-License-Identifier: MIT
# Warm GPUs from the begin on, warmed again where they have cooled, watched, at a locked clock.
. "$ROOT/tests/cli/bench_collective/common.bash"
export EMU_FABRIC=$PWD/fabric.conf
bench() {
    echo "-- $*"
    rm -rf emu/*
    "$SPECTER" bench p2p --gpus 2 "$@" --network dgx_h100_400g -o out --json result.json >text 2>err
    echo "status $?"
    sed 's/has [0-9]* C/has N C/' err
    head -1 text
    python3 -c '
import json
print([(gpu["gpu_id"], gpu["temperature_C"]["max"] >= 48, gpu["clock_sm_MHz"]["max"]) for gpu in json.load(open("result.json"))["state"]])'
}
echo 'thermal_s = 2' >fabric.conf
bench --sizes 1:16M --warmup-temp 50 --rewarm # still warm: nothing to do
cut -d, -f3 out/*0/temperatures.csv | sort -u
bench --sizes 1:16M --lock-clocks 900 --rewarm # becomes no warmer at this clock
grep -h "locked" out/*-2/metadata_rank_0.yml
echo 'hot_gpu = 1 60' >>fabric.conf
bench --sizes 1M:4M
sed -n 's/of [0-9]* samples/of N samples/; s/most [0-9]* C/most N C/; /throttled/p' text
for option in "--warmup-temp 200" "--lock-clocks 7"; do
    "$SPECTER" bench p2p --gpus 2 $option 2>&1
done
left_behind
exit 0
