# SPDX-License-Identifier: MIT
# The first screen of a replay: source and target side by side, at most six sizes with the first and the last, what the
# largest one rests on; --full has the rest.
cp -r "$ROOT"/tests/cli/replay/data/two_ranks traces
"$SPECTER" replay --gpu a100_sxm --scale 1,4,16
echo
"$SPECTER" replay --scale 1,2,3,4,5,6,7,8,64 --tokens 8192
echo
sed 's/"name":"NVIDIA H100 80GB HBM3"/"name":"a GPU"/' -i traces/*.jsonl
"$SPECTER" replay --gpu a100_sxm --scale 1
"$SPECTER" replay --color blue
