# The numbers of a group that failed, or was only simulated, go to what is called in its place: whether
# the group was recorded or not.
. "$ROOT/tests/cli/tracer/common.bash"
traced out "$BUILD/tracer/group_calls" fails || exit 1
SPECTER_ITERATIONS=1:9 traced late "$BUILD/tracer/group_calls" fails || exit 1
check out/* late/*
for dir in out late; do
    echo "$dir:"
    ops $dir/*.jsonl op count seq p2p_seq
    grep -o '"split_seq":[0-9]*' $dir/*.jsonl
done
