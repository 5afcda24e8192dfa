# Communicators made in newer ways: each has one identity on all its members and no other has it, or it
# has none. Elements of the one AllReduce on each (count) tell which is which.
. "$ROOT/tests/cli/tracer/common.bash"
unset RANK WORLD_SIZE LOCAL_RANK EMU_DIR
members() {
    local ranks=${2:-4}
    traced "$1" "$ROOT/examples/launch.sh" -n $ranks "$BUILD/tracer/nccl_calls" "$1" || exit 1
    check "$1"/* || exit 1
    echo "$1"
    for file in "$1"/*; do ops $file count comm comm_size timing; done | sort -k2n -k4 | uniq -c | awk '
        { name = $5 == "null" ? "unnamed" : "named"
          if ($5 != "null" && $5 in is && is[$5] != $3) print "  one identity for two"
          if ($3 in id && id[$3] != $5) { split_of[$3]++ }
          is[$5] = $3; id[$3] = $5
          print "  count", $3, name, $1, "of", $7, $9 }'
    grep -ho '"comm_rank":[^}]*"split_seq":[0-9]*' "$1"/*.jsonl |
        sed 's/"comm_rank":[0-9]*,\("comm_size":[0-9]*\).*\("split_seq":[0-9]*\)/  from another: \1 \2/' | sort | uniq -c
}
members scalable
members shrinks
members aborted
members revoked
members in_group
members nonblocking
members grow 3
members suspended 2
