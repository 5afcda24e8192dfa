# Messages and collectives that wait for a rank that skipped one are not blamed.
. "$ROOT/tests/cli/analyze/hang.bash"
hangs pipeline 8
