# Loading patterns: Which scope a plugin's references are bound in.
exec bash "$ROOT/tests/loading/run.bash" -1 '^scope\.'
