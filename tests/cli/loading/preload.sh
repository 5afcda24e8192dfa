# Loading patterns: Other preloads, in front of libspecter.so and behind it.
exec bash "$ROOT/tests/loading/run.bash" -1 '^preload\.'
