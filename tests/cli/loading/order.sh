# Loading patterns: What is loaded when. The references of an object that is bound as it is loaded stay where they are.
exec bash "$ROOT/tests/loading/run.bash" -1 '^order\.'
