# SPDX-License-Identifier: MIT
# A GPU that specter does not know, or that a recording does not name: replay asks what it was; with an answer it goes on.
cp -r "$ROOT"/tests/cli/replay/data/two_ranks traces
sed -i "s/NVIDIA H100 80GB HBM3/Tesla T1000/" traces/*.jsonl
"$SPECTER" replay --scale 1
echo "status $?"
sed -i "s/Tesla T1000//" traces/*.jsonl
"$SPECTER" replay --scale 1
echo "status $?"
"$SPECTER" replay --scale 1 --from-gpu h100 | head -n 2
