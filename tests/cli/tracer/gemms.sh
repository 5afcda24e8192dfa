# Every product of cuBLAS and cublasLt, recorded as it was called: once, also where the library calls
# itself, and not when it failed. The program says what the records must be.
. "$ROOT/tests/cli/tracer/common.bash"
keys=(op m n k batch dtype dtype_b dtype_c compute trans lda ldb ldc beta epilogue order groups flop)
for scenario in every groups computes betas lt; do
    traced "$scenario" "$BUILD/tracer/gemms" $scenario >"$scenario.expected" || exit 1
    check "$scenario"/*
    [[ -s $scenario.expected ]] || fail "$scenario: nothing was called"
    ops "$scenario"/*.jsonl "${keys[@]}" | diff "$scenario.expected" - || fail "$scenario: not as it was called"
    # the rate is that of the operations, which flop or else the shape tells
    ops "$scenario"/*.jsonl op m n k batch flop duration_us tflops timing | awk '
        { for (i = 1; i < NF; i += 2) v[$i] = $(i + 1)
          flop = "flop" in v ? v["flop"] : 2 * v["m"] * v["n"] * v["k"] * v["batch"]
          off = flop / v["duration_us"] / 1e6 - v["tflops"]
          if (v["timing"] != "device" || off > 0.051 || off < -0.051) print "rate of: " $0
          delete v }'
done
# all of the table were called
cut -d' ' -f2 every.expected lt.expected | sort -u >called
sed -n 's/^CUBLAS\(LT\)\? cublas//p' "$BUILD/tracer/hooks.txt" | sed 's/_v2//' | sort | diff - called ||
    fail "not every function of the table was called"
