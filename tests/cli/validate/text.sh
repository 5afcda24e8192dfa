# SPDX-License-Identifier: MIT
. "$ROOT"/tests/cli/validate/common.bash
collectives >collectives.csv
gemm >gemm.csv
"$SPECTER" validate collectives.csv gemm.csv --worst 2 | mask
