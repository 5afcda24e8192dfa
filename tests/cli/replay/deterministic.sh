# SPDX-License-Identifier: MIT
# The same input gives the same bytes.
cp -r "$ROOT"/tests/cli/replay/data/two_ranks traces
for i in 1 2 3; do "$SPECTER" replay --full --gpu a100_sxm --json run$i.json >text$i; done
cmp run1.json run2.json && cmp run1.json run3.json && cmp text1 text2 && cmp text1 text3
