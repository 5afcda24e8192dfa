# SPDX-License-Identifier: MIT
# --gpu and --network stand in where a row names none, and nowhere else.
. "$ROOT"/tests/cli/validate/common.bash
collectives >t.csv
"$SPECTER" validate t.csv --gpu a100_sxm --worst 0 | sed -n '1p; /skipped  because/,$p'
