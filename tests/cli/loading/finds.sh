# Loading patterns: What was found broken once, by the names of tracer-finds.
exec bash "$ROOT/tests/loading/run.bash" -1 '^finds\.'
