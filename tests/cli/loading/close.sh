# Loading patterns: Libraries that go, with others in their place.
exec bash "$ROOT/tests/loading/run.bash" -1 '^close\.'
