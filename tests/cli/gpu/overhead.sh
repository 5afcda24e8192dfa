# The verdict on a training step's overhead, on a workload that says of itself what it took (costs and noise are
# known, the dice are cast anew by run): each verdict where it is due, more rounds where they decide, and what else
# goes wrong. How often verdicts err at the limit itself is counted over many tries.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$ROOT/tests/gpu
python=$(python3 -c 'import sys; print(sys.executable)')
cat >fake.py <<'PY'
import json, os, random, sys
assert sys.argv[1] == "fake"
if "broken" in sys.argv[2:] or "--profile" in sys.argv and os.environ.get("NO_PROFILER"):
    sys.exit(3)
with open("count", "a+") as f:
    f.seek(0)
    run = len(f.read())
    f.write("x")
dice = random.Random(run)
level = 1000 * (1 + dice.gauss(0, float(os.environ["NOISE"])))
level *= 1 + float(os.environ["COST"]) * ("TRACED" in os.environ) + ("--profile" in sys.argv)
steps = [level * (1 + abs(dice.gauss(0, 0.001))) for _ in range(21)]
print("a line of another kind")
print(json.dumps({"rank": 0, "step_us": steps, "loss": [0.0] * 25}))
PY
# capture -o DIR [OPTION] -- COMMAND...: a trace of a known size beside it
cat >specter <<'SH'
#!/bin/bash
mkdir "$3"
{
    echo '{"event":"init","sample":1}'
    for ((i = 0; i < 100; i++)); do echo '{"id":'$i',"type":"cublas"}'; done
    [[ -z $GOVERNED ]] || echo '{"event":"sample","rate":4,"why":"governor"}'
    echo '{"event":"shutdown","dropped":'"${DROPPED:-0}"'}'
} >"$3/specter_trace_rank0.jsonl"
while [[ $1 != -- ]]; do shift; done
TRACED=1 exec "${@:2}"
SH
chmod +x specter

# overhead COST NOISE ARGUMENT...: verdict and claims
overhead() {
    local status=0
    rm -f count figures
    COST=$1 NOISE=$2 SPECTER_FIGURES=figures "$python" "$ROOT/tests/gpu/overhead.py" ./specter fake \
        --program fake.py "${@:3}" >said 2>&1 || status=$?
    grep -oE '^(holds|fails|cannot tell): ([0-9]+ rounds|noise)|^overhead:.*|.* end: .*|.*dropped, .*FAILS' said
    echo "status $status"
}
overhead 0.002 0.001
overhead 0.05 0.01
overhead 0.005 0.003
overhead 0.01 0.1
overhead 0.002 0.001 --seconds 0
overhead -0.05 0.001 --limit 3
DROPPED=2 overhead 0.002 0.001
overhead 0.002 0.001 -- --steps broken
echo --- beside
GOVERNED=1 overhead 0.002 0.001 --way profiler --way no-launches
sed -n '/fake: longer/,/^$/p; /fake: steps/,/^$/p; /fake: traces/,/^$/p' said |
    awk '$1 ~ /launches|traced|profiler/ { print $1, $2 } /one product in/ { on = 1; next } on && NF { print $2, $3, $4, $5 }'
NO_PROFILER=1 overhead 0.002 0.001 --way profiler
grep '^profiler' said
overhead 0.002 0.001 --way profiler --seconds 0
grep '^There' said

# At the limit itself: the true cost is the limit, so each verdict is wrong.
"$python" - <<'PY'
import random
import paired
wrong, tries = {"holds": 0, "fails": 0, "cannot tell": 0}, 1000
dice = random.Random(5)
for _ in range(tries):
    rounds = []
    for look in paired.LOOKS:
        rounds += [dice.gauss(0.01, 0.01) for _ in range(look - len(rounds))]
        verdict = paired.decide(*paired.interval(rounds)[1:], 0.01)
        if verdict != "cannot tell":
            break
    wrong[verdict] += 1
print(*(f"{k} {'seldom' if v <= 1.3 * paired.RISK * tries else v}" for k, v in wrong.items() if k != "cannot tell"))
print(paired.interval([0.01, 0.02, 0.03, 0.04, 0.05, 0.06])[1:], paired.interval([1.0] * 5)[1:], paired.interval([]))
PY
