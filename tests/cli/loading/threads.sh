# Loading patterns: First calls from several threads at once.
exec bash "$ROOT/tests/loading/run.bash" -1 '^threads\.'
