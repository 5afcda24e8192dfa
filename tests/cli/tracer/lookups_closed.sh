# A library that is closed and opened again, and one in a namespace of its own, which is left alone.
. "$ROOT/tests/cli/tracer/common.bash"
. "$ROOT/tests/cli/tracer/lookups.bash"
little_nccl 5 || exit 1
same closed v5/libnccl.so.2
cat traced
same namespace "$PWD/v5/libnccl.so.2"
cat traced
ls -d namespace.d 2>/dev/null
exit 0
