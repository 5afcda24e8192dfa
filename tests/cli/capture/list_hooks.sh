# Every call of the table, with its library.
"$SPECTER" capture --list-hooks >list
grep -x 'NCCL      ncclAllReduce' list
grep -x 'CUBLASLT  cublasLtMatmul' list
awk 'NF != 2' list
sed -n 's/^HOOK([A-Z]*, [A-Za-z_]*, \([A-Za-z0-9_]*\),.*/\1/p' "$ROOT/tracer/hooks.def" >table
awk '{ print $2 }' list | cmp - table
