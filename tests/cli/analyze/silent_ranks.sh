# SPDX-License-Identifier: MIT
# Ranks whose traces only say who they are (capture --ranks) count in no mean: the answers are those of
# the recorded ranks' files alone. The silent rank is on another host, whose clock nothing tells.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
data=$ROOT/tests/cli/replay/data/two_ranks
mkdir alone silent
cp "$data"/specter_trace_rank0.jsonl alone
cp "$data"/specter_trace_rank0.jsonl silent
grep '"event":' "$data"/specter_trace_rank1.jsonl | grep -v '"event":"shutdown"' |
    sed 's/"host":"node0"/"host":"node1"/' >silent/specter_trace_rank1.jsonl
cp -r silent again
"$SPECTER" analyze silent
for run in alone silent; do
    "$SPECTER" analyze $run --json $run.json >$run.txt 2>/dev/null
    "$SPECTER" metrics $run --json $run.metrics.json >/dev/null 2>&1
done
diff <(tail -n +2 alone.txt) <(tail -n +2 silent.txt) && echo "the same screen"
"$SPECTER" compare silent again --json compare.json >/dev/null 2>&1
python3 - <<'END'
import json
alone, silent = (json.load(open(f + ".json")) for f in ("alone", "silent"))
calls = [json.load(open(f + ".metrics.json"))["metrics"][0]["value"] for f in ("alone", "silent")]
print("calls of a rank:", *calls)
for key in "step_time", "findings", "collectives", "critical_path":
    if alone[key] != silent[key]:
        print(key, alone[key], silent[key])
print("collectives of a step:", *(a["communication"][0]["collectives_per_step"] for a in (alone, silent)))
print("clocks aligned:", silent["run"]["clock_aligned"])
compared = {row["what"]: row["base_us"] for row in json.load(open("compare.json"))["comparisons"][0]["step"]}
print("step:", silent["step_time"]["us"], "compared:", compared["step"],
      "parts:", sum(compared.get(k, 0) for k in ("compute", "exposed comm", "exposed copies", "idle")))
gemm, = json.load(open("compare.json"))["comparisons"][0]["gemms"]
print("GEMMs of a step and rank:", gemm["base_count"])
END
