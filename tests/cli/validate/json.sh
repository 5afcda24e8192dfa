# SPDX-License-Identifier: MIT
. "$ROOT"/tests/cli/validate/common.bash
gemm >gemm.csv
"$SPECTER" validate gemm.csv --worst 1 --json - >out.json
# Keys and their order; what the models say is masked.
sed -E '/"parameter_list"/,/\]/d; s/("(median_ape|mean_ape|p90_ape|bias|within_25|predicted_us|error|parameters|outside_fit|line|m|n|k|measured_us)":).*[^,](,?)$/\1 N\3/; s/("dtype":).*"fp8e4m3".*|("dtype":).*"bf16".*/\1\2 N/' out.json
