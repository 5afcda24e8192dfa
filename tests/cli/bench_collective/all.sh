# SPDX-License-Identifier: MIT
# Every operation on four GPUs, out of place and in place: right to the last element, and in the files
# that other commands read.
. "$ROOT/tests/cli/bench_collective/common.bash"
"$SPECTER" bench collective --gpus 4 --op all --elements 1000,4001 --iters 5 --warmup 2 -o out \
    --gpu h100_sxm --network dgx_h100_400g >table || exit 1
without_times table
cd out && for file in *; do
    echo "${file/[0-9]*_[0-9]*./TIME.}"
done
python3 - <<'PY'
import glob, json
doc = json.load(open(glob.glob("*.json")[0]))
run = doc["runs"][0]
print(doc["schema"], doc["kind"], doc["complete"], run["library"], run["gpu"], run["ranks"], len(run["rows"]))
for row in run["rows"]:
    assert len(row["us"]) == 5 and row["min_us"] <= row["median_us"] <= row["p99_us"], row
    assert abs(row["algbw_GBps"] - row["bytes"] / row["time_us"] / 1e3) < 1e-6 * row["algbw_GBps"], row
PY
sed -n '1,/ReduceScatter/s/[0-9.]* ms .*/T/p' profile_*.txt
"$SPECTER" validate collectives_*.csv --full | grep -c AllReduce
cut -d, -f1-6 messages_*.csv
