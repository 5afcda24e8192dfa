# What differences.txt lists names patterns that exist.
exec bash "$ROOT/tests/loading/run.bash" -c
