# A receive without its send: the sender is named.
. "$ROOT/tests/cli/analyze/hang.bash"
hangs message 1
