# Lines of differences.txt name patterns that exist.
exec bash "$ROOT/tests/loading/run.bash" -c
