# SPDX-License-Identifier: MIT
# Four GPUs: 372 configurations of 10 repetitions with the same ids for any seed, in another order, in a
# folder that says what it was measured on. A second run takes a folder of its own.
. "$ROOT/tests/cli/bench_collective/common.bash"
"$SPECTER" bench p2p --gpus 4 -o out | sed 's/[0-9.]* GB/N GB/g; /^GB/,/^ *3/d' || exit 1
rm -rf emu/*
"$SPECTER" bench p2p --gpus 4 -o out --seed 7 --json result.json || exit 1
ls out out/*
head -1 out/*13.0/*.csv
grep -v '^hostname\|^  .NCCL\|^sizes' out/*13.0/metadata_rank_3.yml
python3 - <<'PY'
import csv, glob, json
logs = [list(csv.DictReader(open(name))) for name in sorted(glob.glob("out/*/execution_log.csv"))]
key = lambda row: (row["config_id"], row["src"], row["dst"], row["size"], row["repetition"])
for log in logs:
    print(len(log), len({row["config_id"] for row in log}))
    assert {row["size"] for row in log} == {str(2 ** i) for i in range(31)}
    for row in log:
        took = int(row["timestamp_end_ns"]) - int(row["timestamp_start_ns"])
        assert took == int(row["duration_ns"]) and abs(took - float(row["two_sided_ns"])) <= 0.5, row
        assert float(row["exchange_ns"]) > float(row["two_sided_ns"]) > 0, row
assert sorted(map(key, logs[0])) == sorted(map(key, logs[1])) and list(map(key, logs[0])) != list(map(key, logs[1]))
others = list(csv.DictReader(open(glob.glob("out/*13.0/exchange_log.csv")[0])))
print({mode: sum(row["mode"] == mode for row in others) for mode in ("ping_pong", "both", "all")})
doc = json.load(open("result.json"))
print(doc["schema"], doc["kind"], doc["complete"], doc["seed"], len(doc["links"]), len(doc["configurations"]))
PY
left_behind
