# SPDX-License-Identifier: MIT
# A GPU that throttles meanwhile is named, as for any other benchmark, and --fail-on asks for it.
. "$ROOT/tests/cli/bench_collective/common.bash"
cp "$ROOT/tests/emu/fabric/h100.conf" fabric.conf
printf 'hot_gpu = 1 60\n' >>fabric.conf
export EMU_FABRIC=$PWD/fabric.conf
"$SPECTER" bench overlap --gpus 2 --channels 0 --op all_reduce --repeat 2 --json result.json --fail-on 'throttled>0' >text 2>err
echo "status $?"
sed -E 's/is [0-9.]+/is N/' err
grep -o 'GPU 1 throttled' text | sort -u
python3 -c '
import json
print([(gpu["gpu_id"], gpu["throttled"] > 0) for gpu in json.load(open("result.json"))["state"]])'
exit 0
