# A rank that calls a collective with another size is named, with both sizes.
. "$ROOT/tests/cli/analyze/hang.bash"
hangs size 8
