#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Prints docs/accuracy.md: the errors of the models on the measured tables, as `specter validate` has
# them. The same tables and the same models give the same bytes.
#
#   BUILD=build scripts/accuracy.sh [--in-sample] [FOLDER] >docs/accuracy.md
#
# --in-sample leaves out what needs fits, which take a minute. FOLDER holds collectives.csv, gemm.csv and p2p.csv; default: ../shared/data/measured. Status 77: it is
# not there.
set -euo pipefail
export LC_ALL=C

ROOT=$(cd "$(dirname "$0")/.." && pwd)
SPECTER=$(realpath "${BUILD:-$ROOT/build}")/specter
IN_SAMPLE=
[[ ${1:-} != --in-sample ]] || { IN_SAMPLE=1; shift; }
FOLDER=${1:-$ROOT/../shared/data/measured}

if [[ ! -d $FOLDER ]]; then
    echo "accuracy.sh: no measured tables: '$FOLDER' is not there" >&2
    exit 77
fi
cd "$FOLDER" # the document names the tables without their folder

# Runs a command of specter, shows it and what it says.
show() {
    printf '\n    specter %s\n\n' "$*"
    "$SPECTER" "$@" --format md || [[ $? == 4 ]]
}

cat <<'EOF'
# Accuracy

How far the models are from measurements. `make accuracy` wrote this page; each table is what the command
above it prints. [validate.md](validate.md) says what the figures mean, src/model/README.md what the
models are and where they are wrong.

An error is |predicted - measured| / measured; the bias is the median with its sign. In sample: the
parameters were fitted on these rows, too. Left out: each row is predicted by parameters that were fitted
without it, without all that its source says of its GPU where two sources have measured the machine, and
without all rows of its GPU elsewhere. The latter is what to expect of a machine that nobody measured.

## Collectives, in sample
EOF
show validate collectives.csv --worst 10
if [[ -z $IN_SAMPLE ]]; then
    printf '\n## Collectives, left out\n'
    show validate collectives.csv --leave-one-out source --worst 0
fi
printf '\n## GEMMs, in sample\n'
show validate gemm.csv --worst 10
if [[ -z $IN_SAMPLE ]]; then
    printf '\n## GEMMs, left out\n'
    show validate gemm.csv --leave-one-out gpu --worst 0
fi
printf '\n## Messages between two GPUs, in sample\n'
show validate p2p.csv --worst 0
printf '\n## The fitted parameters\n\nThose that all of the above rest on; src/model/params.h says what each is.\n'
printf '\n    specter validate collectives.csv gemm.csv p2p.csv --parameters\n\n'
"$SPECTER" validate collectives.csv gemm.csv p2p.csv --parameters --worst 0 --format md | sed -n '/^| group/,/^$/{ /./p; }'
