# Every call of the table, with its library.
"$SPECTER" capture --list-hooks >list
grep -x 'NCCL      ncclAllReduce' list
grep -x 'CUBLASLT  cublasLtMatmul' list
awk 'NF != 2' list
awk '{ print $1, $2 }' list | cmp - "$BUILD/tracer/hooks.txt"
