# SPDX-License-Identifier: MIT
# Ranks that keep together: no scale has a speed-up, an efficiency or an error, and the first note says why.
# Without --scale there is scale 1 alone.
cp -r "$ROOT"/tests/cli/replay/data/two_ranks traces
sed -i 's/"world_size":2/"world_size":4/' traces/*.jsonl
"$SPECTER" replay --full --scale 1,8 --json scales.json | sed -n '/^  GPUs  *iteration/,/^$/p; /^notes/,$p'
grep -c '"speedup":.null' scales.json
grep -c '"efficiency":.null' scales.json
"$SPECTER" replay --full | grep -A2 '^  GPUs  *iteration\|are left out: no' | grep -v measured
