# Versions of a library side by side, called by pointers from one place: each call lands where its
# pointer came from, also in a fifth copy, of which no call can be recorded.
. "$ROOT/tests/cli/tracer/common.bash"
. "$ROOT/tests/cli/tracer/lookups.bash"
for v in 1 2 3 4 5; do
    little_nccl $v || exit 1
done
same versions v1/libnccl.so.2 v2/libnccl.so.2
same versions v{1,2,3,4,5}/libnccl.so.2
cat traced
same threads v1/libnccl.so.2 v2/libnccl.so.2
sort traced | uniq -c
