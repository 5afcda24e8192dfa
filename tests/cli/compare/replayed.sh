# SPDX-License-Identifier: MIT
# A side that is a replay: a job on one machine, predicted for the other, beside a recording there. The change is what
# docs/replay-accuracy.md calls off; inside the interval of 80 % is similar. Tables hold what both sides have.
. "$ROOT"/tests/cli/scaling/common.bash
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
work=.
capture h100 dp 4 && from=$trace
capture a100 dp 4 && to=$trace
"$SPECTER" replay "$from" --from-gpu h100_sxm --from-network dgx_h100_400g --gpu a100_sxm --network dgx_a100_200g \
    --scale 1,2 --json moved.json >/dev/null 2>&1 || exit
"$SPECTER" replay "$to" --scale 1 --json own.json >/dev/null 2>&1 || exit
said() { "$SPECTER" compare "$@" 2>&1; echo "status $?"; }

"$SPECTER" compare "$to" moved.json --name measured,predicted --json out.json | sed -n '1,/^$/p' | tr '\n' ' ' |
    sed 's/[0-9.]* [mu]s/N ms/g; s/[0-9.]* %/N %/g; s/above\|below/off/; s/ *$/\n/'
python3 - <<'PY'
import json
c = json.load(open("out.json"))["comparisons"][0]
scale = json.load(open("moved.json"))["scales"][0]
recorded = json.load(open("own.json"))["source"]["recorded"]["iteration_us"]
step = c["step"][0]
off = scale["iteration_us"] / recorded - 1
low, high = scale["interval80"]
print("the change is what the replay is off by:", abs(step["change"] - off) < 1e-4)
print("its interval is the prediction's:", abs(step["low"] - (low / recorded - 1)) < 1e-4, abs(step["high"] - (high / recorded - 1)) < 1e-4)
print("verdict:", (step["verdict"] == "similar") == (low <= recorded <= high), c["predicted"], c["interval80"] == [low, high])
print("rows:", {k: len(v) for k, v in c.items() if isinstance(v, list) and k not in ("differences", "settings", "interval80")})
parts = {r["what"]: r for r in c["step"]}
for side in "base_us", "test_us":
    total = sum(parts[p][side] for p in ("compute", "exposed comm", "exposed copies", "idle"))
    print(side, "adds up:", abs(total - parts["step"][side]) < 0.01 * parts["step"][side])
PY
# Its own replay is the recording itself.
"$SPECTER" compare own.json "$to" --json - | grep -A30 '"step"' | awk -F: '/"verdict"/ { print $2; exit }'
# Far from it is outside, in both directions, and a gate says so.
sed 's/"iteration_us":[^,]*/"iteration_us": 1000000/g; s/"interval80":[^]]*/"interval80": [900000, 1100000/g' moved.json >far.json
for sides in "$to far.json" "far.json $to"; do
    said $sides --at 4 --fail-on 'step_ms>+5%' | sed 's/[0-9.]* [mu]s/N ms/g; s/[0-9.]* %/N %/g' | grep 'outside\|status\|holds'
done
# One that is as wide as the step begins at 0, and holds the recording all the same.
sed 's/"interval80":[^]]*/"interval80": [0, 1100000/g' moved.json >wide.json
for sides in "$to wide.json" "wide.json $to"; do
    said $sides --at 4 --json wide.out | grep -o inside
    awk -F: '/"verdict"/ { print $2; exit }' wide.out
done
# The scale: that of the recording, else --at.
said "$to" moved.json --at 8 | head -n 1 | cut -c 1-20
said moved.json own.json --at 16
said moved.json far.json
said "$to" "$from" --at 4
said "$to",moved.json "$from"
said moved.json,own.json "$from"
"$SPECTER" compare own.json far.json --at 4 --fail-on 'mfu<0.3' 2>&1 >/dev/null
"$SPECTER" compare own.json far.json --at 4 | sed -n '1,/^$/p' | sed 's/[0-9.]* [mu]s/N ms/g; s/[0-9.]* %/N %/g'
# In workbooks there is what both have.
if [ -x /usr/bin/python3 ] && /usr/bin/python3 -c 'import openpyxl' 2>/dev/null && "$SPECTER" --version | grep -q 'libxlsxwriter [0-9]'; then
    "$SPECTER" compare "$to" moved.json -o out >/dev/null
    /usr/bin/python3 - <<'PY'
import openpyxl
book = openpyxl.load_workbook("out/final_analysis_report.xlsx")
rows = [r for title in ("Summary_Dashboard", "GPU_Summary_Cmp") for r in list(book[title].iter_rows(values_only=True))[1:]]
if len(rows) != 12 or any(value is None for r in rows for value in r[:5]):
    print(rows)
PY
fi
echo '{"schema": "specter.replay/1", "scales": [{"gpus": 4}]}' >bad.json
said bad.json "$to"
echo '{"schema": "specter.replay/1", "scales"' >bad.json
said bad.json "$to"
