# SPDX-License-Identifier: MIT
# --gpu and --network stand in where a row names none, and nowhere else; a profile of one's own takes the
# place of the one with its name.
. "$ROOT"/tests/cli/validate/common.bash
collectives >t.csv
"$SPECTER" validate t.csv --gpu a100_sxm --worst 0 | sed -n '1p; /skipped  because/,$p'

gemm >gemm.csv
echo '{"gpu": {"name": "h100_sxm", "base": "h100_sxm", "mem_GBps": 1000}}' >slow.json
"$SPECTER" validate gemm.csv --rows before.csv >/dev/null
"$SPECTER" validate gemm.csv --rows after.csv --gpu slow.json >/dev/null
paste -d, before.csv after.csv | awk -F, '$5 == "gemm" && $14 == 1 { print ($43 > 2 * $19 ? "slower" : $19 " " $43) }'
