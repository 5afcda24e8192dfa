# SPDX-License-Identifier: MIT
# 200 ranks and 70 steps: a part of the ranks with the spread of all, the first rows of tables.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
mkdir traces
cat >make.py <<'END2'
# Rank r of 200: in each of 70 steps of 100 us a product of 20 us (rank 130: 30 us), then an
# AllReduce until 60 us. Steps are 100 us long, the last one of rank 7 is 160 us.
import json
for r in range(200):
    lines = [{"event": "init", "version": 1, "run": "many", "rank": r, "world_size": 200, "host": "h",
              "mono_ns": 1000, "real_ns": 1000, "coverage": ["nccl", "cublas", "deps", "launches"], "gpus": []}]
    lines.append({"event": "comm", "time_us": 0, "comm": "c", "comm_rank": r, "comm_size": 200, "device": 0})
    for k in range(70):
        t, work = 100.0 * k, 30.0 if r == 130 else 20.0
        base = {"device": 0, "tid": 0, "host_us": t, "host_end_us": t, "timing": "device"}
        lines.append({"event": "mark", "name": "step", "kind": "iteration", "time_us": t})
        lines.append({"id": 2 * k, "type": "cublas", "op": "GemmEx", "start_us": t, "duration_us": work, "m": 64,
                      "n": 64, "k": 64, "batch": 1, "dtype": "fp16", "stream": 1, **base})
        lines.append({"id": 2 * k + 1, "type": "nccl", "op": "AllReduce", "start_us": t + work, "duration_us": 60 - work,
                      "bytes": 1024, "count": 512, "dtype": "fp16", "comm": "c", "comm_rank": r, "comm_size": 200,
                      "seq": k, "stream": 2, **base})
    lines.append({"event": "mark", "name": "step", "kind": "iteration", "time_us": 7060.0 if r == 7 else 7000.0})
    lines.append({"event": "shutdown", "time_us": 8000.0, "total_ops": 140, "dropped": 0})
    with open(f"traces/specter_trace_rank{r}.jsonl", "w") as f:
        f.writelines(json.dumps(line) + "\n" for line in lines)
END2
python3 make.py
"$SPECTER" analyze --full traces --html out.html >/dev/null || exit 1
python3 "$ROOT"/tests/cli/analyze/html_page.py out.html "At most 64 of 200 ranks"
# 70 products of 20 us in 6960 us: 20.1 %; rank 130, the one that computes longest, is among them.
grep -oE '<span>rank (130|0)</span>.*title="compute: [^"]*"' out.html | sed 's/<div.*title="/ /'
grep -o '<td class=left>compute<td>[0-9.]* ms<td>[^<]*<td>[^<]*' out.html | head -n 1
grep -oE 'The first 300 of [0-9]+ rows; all: <code>[^<]*table [a-z_]+ [^<]*' out.html
grep -c '<title>step' out.html
grep -o '<title>step #6[89][^<]*' out.html
[ "$(wc -c <out.html)" -lt 2000000 ] && echo "below 2 MB"
