# The record of each call.
. "$ROOT/tests/cli/tracer/common.bash"
for scenario in collectives gemms lt events; do
    traced "$scenario" "$CALLS" $scenario || exit 1
    check "$scenario"/*
done
keys=(op bytes count dtype redop comm_rank comm_size seq peer p2p_seq root inplace stream group timing)
ops collectives/*.jsonl "${keys[@]}"
ops gemms/*.jsonl op m n k batch dtype dtype_b dtype_c compute trans lda ldb ldc beta epilogue timing
ops lt/*.jsonl op m n k batch dtype dtype_b dtype_c compute trans lda ldb ldc beta epilogue timing
sed -n 's/,"host_us.*//; /"dep"/p; /"sync"/p' events/*.jsonl
