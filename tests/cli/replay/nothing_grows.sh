# SPDX-License-Identifier: MIT
# Ranks that keep together: the first note says that no scale means anything.
cp -r "$ROOT"/tests/cli/replay/data/two_ranks traces
sed -i 's/"world_size":2/"world_size":4/' traces/*.jsonl
"$SPECTER" replay --scale 1,8 | sed -n '/^notes/,$p'
"$SPECTER" replay --scale 1,8 | grep -c 'no communicator grows' # once
