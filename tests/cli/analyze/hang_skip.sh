# A rank that leaves out one collective is named, with the number.
. "$ROOT/tests/cli/analyze/hang.bash"
hangs skip 8
