# However a program ends, its status is its own, and the file is readable up to there.
. "$ROOT/tests/cli/tracer/common.bash"
status() {
    traced $1 "$CALLS" $1
    echo "$1: status $?"
    check $1/*
    ops $1/*.jsonl count timing | grep -v '^count 2 ' # which may or may not have got that far
    grep -c '"event":"shutdown"' $1/*.jsonl
}
status exit_at_once # the first operation is older than a batch
status exit_in_group
status late
status errno
