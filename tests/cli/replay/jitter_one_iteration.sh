# SPDX-License-Identifier: MIT
# Of too few iterations nothing is learned, nothing is assumed, and it is said.
mkdir traces
for file in "$ROOT"/tests/cli/replay/data/two_ranks/*.jsonl; do
    awk '!/"type"/ || !seen[$0 ~ /"nccl"/]++' "$file" >traces/"${file##*/}"
done
"$SPECTER" replay --full --jitter trace --scale 1 --json out.json | grep -A 2 'variation'
! grep -q '"draws"' out.json
