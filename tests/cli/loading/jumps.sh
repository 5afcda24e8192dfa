# Loading patterns: Objects that leave for a function by a jump: the return address is in the program, which calls them.
exec bash "$ROOT/tests/loading/run.bash" -1 '^jumps\.'
