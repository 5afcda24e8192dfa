#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Prints profiles/accuracy.def: how far the models are from measurements, by class of hardware, as
# `specter validate` finds it. The same tables and the same models give the same bytes.
#
#   BUILD=build scripts/accuracy-table.sh [FOLDER] >profiles/accuracy.def
#
# FOLDER: as for accuracy.sh. Status 77: it is not there.
set -euo pipefail
export LC_ALL=C

ROOT=$(cd "$(dirname "$0")/.." && pwd)
SPECTER=$(realpath "${BUILD:-$ROOT/build}")/specter
FOLDER=${1:-$ROOT/../shared/data/measured}

if [[ ! -d $FOLDER ]]; then
    echo "accuracy-table.sh: no measured tables: '$FOLDER' is not there" >&2
    exit 77
fi
cd "$FOLDER"

# json TABLE [OPTION...]: one key a line.
json() {
    "$SPECTER" validate "$@" --worst 0 --json - || [[ $? == 4 ]]
}

# The first figures of a document are those of all its rows.
total() {
    awk -v kind="$1" '
        { key = $1; gsub(/[":,]/, "", key); value = $2; gsub(/[",]/, "", value) }
        key == "scored" { rows = value }
        key == "median_ape" { median = value }
        key == "p90_ape" && !ended++ { printf "ACCURACY(%s, \"any\", %d, %.4g, %.4g)\n", kind, rows, median, value }'
}

# Groups by that column.
groups() {
    awk -v kind="$1" -v column="$2" '
        { key = $1; gsub(/[":,]/, "", key); value = $2; gsub(/[",]/, "", value) }
        key == "by" { by = value }
        key == "key" { name = value }
        key == "n" { rows = value }
        key == "median_ape" { median = value }
        key == "p90_ape" && by == column {
            printf "ACCURACY(%s, \"%s\", %d, %.4g, %.4g)\n", kind, name, rows, median, value; by = "" }'
}

# The widths of intervals, with the operations that they rest on.
intervals() {
    awk '
        function value() { v = $2; gsub(/[",]/, "", v); return v }
        { key = $1; gsub(/[":,]/, "", key) }
        key == "class" { class = toupper(value()); list = ""; size = "ALL" }
        key == "size" { size = $2 ~ /<64/ ? "SMALL" : $2 ~ />=64/ ? "LARGE" : "MIDDLE" }
        key == "rows" { rows = value() }
        key == "machines" { machines = value() }
        key == "factor50" { half = value() }
        key == "factor80" { most = value() }
        key == "ops" {
            sub(/.*\[/, ""); gsub(/[]",]/, "")
            for (i = 1; i <= NF; i++)
                list = list (i > 1 ? " | " : "") "OP(" toupper($i) ")"
            printf "INTERVAL(%s, %s, %d, %d, %.4g, %.4g, %s)\n", class, size, rows, machines, half, most,
                list == "" ? 0 : list
            list = ""
        }'
}

cat <<'EOF'
/* SPDX-License-Identifier: MIT
 *
 * Errors of the models on measured tables: ACCURACY(kind, class, rows, median, 90th percentile), and
 * INTERVAL(class, size, rows, machines, factor of 50 %, of 80 %, operations).
 * Written by `make accuracy`; src/model/accuracy.h says what the classes are.
 */
/* clang-format off */

EOF
left_out=$(mktemp)
trap 'rm -f "$left_out"' EXIT
json collectives.csv collectives_more.csv --leave-one-out source >"$left_out"
total COLLECTIVE <"$left_out"
intervals <"$left_out"
json collectives.csv collectives_more.csv | groups COLLECTIVE network
json gemm.csv --leave-one-out gpu >"$left_out"
total GEMM <"$left_out"
intervals <"$left_out"
json gemm.csv | groups GEMM gpu
json p2p.csv | total P2P
json p2p.csv | groups P2P network
