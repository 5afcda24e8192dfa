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
