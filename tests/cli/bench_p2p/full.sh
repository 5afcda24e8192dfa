# SPDX-License-Identifier: MIT
# A disk that fills up while it measures: one line, and what fitted stands, marked.
. "$ROOT/tests/cli/bench_collective/common.bash"
trap '' XFSZ # a file larger than the limit is an error, as on a full disk
(ulimit -f 4096; "$SPECTER" bench p2p --gpus 2 --sizes 1:256 --repeat 4000 --drift 0 --network dgx_h100_400g -o out >text 2>err)
echo "status $?"
grep -v '^emu:' err
head -2 text
grep complete out/*/metadata_rank_0.yml
"$SPECTER" bench report out/* 2>&1 | sed 's/csv:[0-9]*:/csv:N:/' | head -3
left_behind
exit 0
