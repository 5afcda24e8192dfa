# SPDX-License-Identifier: MIT
# One page that needs nothing else, with what comes from outside escaped.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
dir='a<b>&"c'\''$(d)'
cp -r "$ROOT"/tests/cli/replay/data/two_ranks "$dir"
"$SPECTER" replay --full "$dir" --gpu a100_sxm --tokens 4096 --scale 1,2,1024 --html out.html | tail -n 1
python3 "$ROOT"/tests/cli/analyze/html_page.py out.html "a<b>&\"c'\$(d)"
for words in 'Critical path' '% of the step is' Assumptions tokens/s 'limited by'; do grep -q "$words" out.html || echo "no $words"; done
# The source's rows and the target's, of both ranks.
grep -o '"side":"[a-z]*"' out.html | sort | uniq -c
"$SPECTER" replay --full "$dir" --gpu a100_sxm --tokens 4096 --scale 1,2,1024 --html again.html >/dev/null
cmp out.html again.html && echo "the same bytes"
# With variation: P50 and P95, in the table and the chart.
"$SPECTER" replay --full "$dir" --jitter 5 --scale 1,64 --html varied.html >/dev/null
grep -o '<th scope=col>P50<th scope=col>P95' varied.html
grep -o 'P50 to P95 of single iterations</span>' varied.html
