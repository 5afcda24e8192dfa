# SPDX-License-Identifier: MIT
# A target by name, of which nothing can come: said, and the status is 4.
cp -r "$ROOT"/tests/cli/replay/data/two_ranks traces
sed -i "s/NVIDIA H100 80GB HBM3/Tesla T1000/" traces/*.jsonl
"$SPECTER" replay --full --gpu a100_sxm --scale 1
