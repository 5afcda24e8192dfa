# SPDX-License-Identifier: MIT
# A GPU that specter does not know: the default, aloud; computation keeps its time.
cp -r "$ROOT"/tests/cli/replay/data/two_ranks traces
sed -i "s/NVIDIA H100 80GB HBM3/Tesla T1000/" traces/*.jsonl
"$SPECTER" replay --full --scale 1
