# SPDX-License-Identifier: MIT
# The folder is a run for `analyze`: every message with its bytes and both ends, on one clock. From a profile that
# tells neither, as PyTorch's before 2024, the execution trace beside it tells both. Ranges of NVTX are recorded by
# `capture`, which sees the sends themselves, too.
. "$ROOT/tests/cli/bench_collective/common.bash"
"$SPECTER" bench p2p --gpus 3 --sizes 1K:4K --repeat 4 --drift 0 -o out >/dev/null || exit 1
run=$(echo out/*)
"$SPECTER" analyze --full "$run" --table pairs,p2p --format csv 2>err | cut -d, -f1-8 | tee whole
cat err
mkdir bare
python3 - "$run" <<'PY'
import csv, glob, json, os, re, shutil, sys
for name in glob.glob(sys.argv[1] + "/rank_*.json"):
    doc = json.load(open(name))
    base = os.path.basename(name)
    if "CPU" in base:
        shutil.copy(name, "bare/" + base)
        continue
    for event in doc["traceEvents"]:
        event["args"] = {k: v for k, v in event["args"].items() if k in ("External id", "Record function id", "correlation", "device", "stream")}
    json.dump(doc, open("bare/" + base, "w"))
# Each row of the log is one send and one receive by its name, with its times.
rows = {"p2p_cfg%04d_s%sd%s_sz%s_r%s" % (int(r["config_id"]), r["src"], r["dst"], r["size"], r["repetition"]): r
        for r in csv.DictReader(open(sys.argv[1] + "/execution_log.csv"))}
seen = {}
for rank in range(3):
    doc = json.load(open(f"{sys.argv[1]}/rank_{rank}.pt.trace.json"))
    base = doc["baseTimeNanoseconds"]
    for e in doc["traceEvents"]:
        if e.get("cat") == "gpu_user_annotation":
            row = rows[e["name"]]
            start, key = base + round(e["ts"] * 1e3), "src" if int(row["src"]) == rank else "dst"
            assert key == "dst" or start == int(row["timestamp_start_ns"]), (e, row)
            assert abs(e["dur"] * 1e3 - float(row["send_ns" if key == "src" else "receive_ns"])) <= 0.5, (e, row)
            seen.setdefault(e["name"], set()).add(key)
assert len(rows) == 6 * 3 * 4 and all(seen[name] == {"src", "dst"} for name in rows)
PY
"$SPECTER" analyze --full bare --table pairs,p2p --format csv 2>/dev/null | cut -d, -f1-8 | diff whole - && echo "the same by the execution traces"
rm -rf emu/*
ASAN_OPTIONS=verify_asan_link_order=0 "$SPECTER" capture -o traced -- "$SPECTER" bench p2p --gpus 2 --sizes 1K:2K --repeat 3 >/dev/null 2>&1 || exit 1
grep -ho '"name":"p2p_cfg[^"]*"' traced/*.jsonl | sort | uniq -c | awk '{ n++; of_both += $1 == 2 } END { print n, of_both, $2 }'
