# SPDX-License-Identifier: MIT
# A GPU that throttles, one that others use and one that becomes warm, as benchmarks tell of them.
. "$ROOT/tests/cli/bench_collective/common.bash"
cat >fabric.conf <<'END'
gpu_name = NVIDIA H100 80GB HBM3
gpus_per_node = 4
hot_gpu = 1 60
foreign_process = 2 4194999 2000
thermal_s = 2
END
export EMU_FABRIC=$PWD/fabric.conf
"$SPECTER" bench collective --gpus 4 --op all_reduce --bytes 1M:4M --iters 5 --check 0 --network dgx_h100_400g -o out >table 2>err
echo "status $?"
grep -e throttled -e warmer table | sed 's/[0-9.]* %/N %/; s/of [0-9]* samples/of N samples/; s/most [0-9]* C/most N C/'
grep note err
cut -d, -f3 out/temperatures.csv | sort | uniq -c | awk '{ print $2, ($1 >= 2 || $2 == "gpu_id") }'
python3 -c '
import glob, json
state = json.load(open(glob.glob("out/collectives*.json")[0]))["state"]
print([(g["node"], g["gpu_id"], g["throttled"] > 0, g["throttle_reasons"], g["other_processes"]) for g in state])
doc = json.load(open(glob.glob("out/collectives*.json")[0]))
print(doc["temperature"]["samples"], {row["temperature_C"] > 90 for row in doc["runs"][0]["rows"]})'

echo "-- from a temperature on"
echo 'hot_gpu = 0 0' >>fabric.conf
"$SPECTER" bench collective --gpus 2 --op all_reduce --bytes 1M:1M --iters 5 --check 0 --warmup-temp 45 --network dgx_h100_400g \
    --json warm.json 2>err
echo "status $?"
cat err
python3 -c '
import json
print([g["temperature_C"]["max"] >= 45 for g in json.load(open("warm.json"))["state"]])'
"$SPECTER" bench gemm --dtype bf16 --budget 0.2 --warmup-temp 85 2>&1 >/dev/null
echo "status $?"

echo "-- without NVML"
mkdir few
for lib in "$BUILD"/emu/lib/*; do
    [[ $lib == *nvidia-ml* ]] || ln -s "$lib" few/
done
LD_LIBRARY_PATH=$PWD/few "$SPECTER" bench gemm --dtype bf16 --budget 0.2 --warmup-temp 50 --lock-clocks 900 -o cold 2>&1 >/dev/null
echo "status $?"
ls cold | sed 's/_[0-9_]*\./_TIME./'
exit 0
