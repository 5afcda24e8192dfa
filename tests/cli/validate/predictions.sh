# SPDX-License-Identifier: MIT
# Predictions as measurements have no error; twice as long ones, one of -50 %.
. "$ROOT"/tests/cli/validate/common.bash
collectives >a.csv
gemm >b.csv
"$SPECTER" validate a.csv b.csv --rows rows.csv >/dev/null
for factor in 1 2; do
    {
        echo collective,ranks,nodes,bytes,time_us,gpu_profile,network_profile
        awk -F, -v f=$factor '$5 == "collective" { print $9, $11, $12, $10, $19 * f, $7, $8 }' OFS=, \
            CONVFMT=%.17g OFMT=%.17g rows.csv
    } >again.csv
    {
        echo m,n,k,dtype,time_us,gpu_profile
        awk -F, -v f=$factor '$5 == "gemm" { print $14, $15, $16, $13, $19 * f, $7 }' OFS=, OFMT=%.17g rows.csv
    } >again_gemm.csv
    "$SPECTER" validate again.csv again_gemm.csv --full | sed -n '/each row alike/p' | tr -s ' '
done
