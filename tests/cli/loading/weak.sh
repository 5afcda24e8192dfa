# Loading patterns: Weak references: null where no library has the function.
exec bash "$ROOT/tests/loading/run.bash" -1 '^weak\.'
