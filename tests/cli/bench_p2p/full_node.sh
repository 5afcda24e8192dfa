# SPDX-License-Identifier: MIT
# A disk that fills up on another node than rank 0's: one line names the rank.
. "$ROOT/tests/cli/bench_collective/common.bash"
printf 'gpus_per_node = 2\n' >fabric.conf
export EMU_FABRIC=$PWD/fabric.conf MASTER_PORT=$((20000 + RANDOM % 10000))
cat >rank.sh <<'S'
trap '' XFSZ # a file larger than the limit is an error, as on a full disk
((RANK < 3)) || ulimit -f 5000 # the stand-ins' own files are smaller, the rank's trace is larger
exec "$@"
S
"$ROOT/examples/launch.sh" -n 4 -g 2 bash rank.sh "$SPECTER" bench p2p --sizes 1:256 --repeat 80 --drift 0 \
    --network dgx_h100_400g -o out >text 2>err
echo "status $?"
grep '^specter' err
left_behind
exit 0
