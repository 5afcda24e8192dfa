# Tables for the tests of `specter validate`: made up, in the form of ../shared/data/measured.

collectives() {
    cat <<'EOF'
source_id,collective,nodes,ranks,dtype,bytes,time_us,busbw_GBps,notes,gpu_profile,network_profile
lab,all_reduce,1,8,float,1024,14.0,,,h100_sxm,dgx_h100_400g
lab,all_reduce,1,8,float,262144,22.0,,,h100_sxm,dgx_h100_400g
lab,all_gather,1,8,float,16777216,95.0,,,h100_sxm,dgx_h100_400g
lab,all_reduce,1,8,float,1073741824,,400,"at night, alone",h100_sxm,dgx_h100_400g
other,all_reduce,2,16,float,1073741824,,380,,h100_sxm,dgx_h100_400g
other,all_reduce,1,8,half,134217728,980,,,a100_sxm,dgx_a100_200g
other,all_reduce,1,8,half,134217728,98,,doubtful,a100_sxm,dgx_a100_200g
other,all_reduce,1,8,half,134217728,980,,,a100_sxm,my_network
other,all_reduce,1,8,half,134217728,980,,,,dgx_a100_200g
EOF
}

gemm() {
    cat <<'EOF'
m,n,k,dtype,time_us,lib,gpu_profile
8192,8192,8192,bfloat16,1650,torch,h100_sxm
1,8192,8192,bfloat16,52,torch,h100_sxm
4096,4096,4096,fp8,120,torch,h100_sxm
EOF
}

# Times, shares and what was fitted change with the models; what is around them does not.
mask() {
    sed -E 's/[+-]?[0-9.]+ %/N %/g; s/[0-9.]+ (us|ms)/N/g; s/^[0-9]+ fitted parameters?/N fitted parameters/
        s/[0-9]+ rows? beyond/N rows beyond/; s/^  [a-z]+\.csv:[0-9]+ .* N %$/  WORST/; s/---+/--/g' | tr -s ' '
}

# figures BY [KIND]: "KEY MEDIAN" of each group in the JSON on stdin; spaces in keys become _.
figures() {
    awk -v by="$1" -v kind="${2:-}" -F '":[[:space:]]*' '
        { key = $1; value = $2; gsub(/^[[:space:]]*"|"$/, "", key); gsub(/^"|"?,?$/, "", value); got[key] = value }
        key == "within_25" && got["by"] == by && (kind == "" || got["kind"] == kind) {
            gsub(/ /, "_", got["key"])
            print got["key"], got["median_ape"], got["within_25"]
        }'
}

# at_most LIMIT WHAT VALUE: says so when it is more.
at_most() {
    awk -v limit="$1" -v what="$2" -v value="$3" 'BEGIN {
        if (!(value + 0 <= limit + 0) || value == "" || value == "null") print what ": " value ", wanted at most " limit }'
}

need_measured() {
    MEASURED=$SHARED/data/measured
    [[ -n $SHARED && -e $MEASURED/collectives.csv ]] || { echo "no ../shared/data/measured"; exit 77; }
}

# left_out TABLE BY LIMIT: the median of what was left out, in %, is at most LIMIT.
left_out() {
    local status=0 median
    timeout 50 "$SPECTER" validate "$1" --leave-one-out "$2" --format md --worst 0 >out.md || status=$?
    [[ $status != 124 ]] || { echo "the fits take more than 50 s here"; exit 77; }
    [[ $status == 0 ]] || exit "$status"
    median=$(grep -m 1 '^| each row alike' out.md | awk -F' *[|] *' '{ print $4 + 0 }')
    at_most "$3" "median of ${1##*/} in %" "$median"
}
