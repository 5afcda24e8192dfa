# Loading patterns: Programs that link NCCL, or are one.
exec bash "$ROOT/tests/loading/run.bash" -1 '^linked\.'
