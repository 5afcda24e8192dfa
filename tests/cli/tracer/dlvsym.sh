# Functions asked for in a version.
. "$ROOT/tests/cli/tracer/common.bash"
. "$ROOT/tests/cli/tracer/lookups.bash"
same version
cat traced
ops version.d/*.jsonl op m n k
