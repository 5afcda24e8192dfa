# Loading patterns: cudart and cuBLAS have a version node for each release; NCCL and the driver have none.
exec bash "$ROOT/tests/loading/run.bash" -1 '^versions\.'
