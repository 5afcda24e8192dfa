#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Writes profiles/fitted.def anew from measured tables (docs/calibrate.md). MEASURED names the folder
# that holds collectives*.csv, p2p.csv and gemm.csv; BUILD the one with the specter to fit with.
set -euo pipefail

cd "$(dirname "$0")/.."
BUILD=${BUILD:-build}
MEASURED=${MEASURED:-../shared/data/measured}

if [[ ! -e $MEASURED/collectives.csv ]]; then
    echo "make fit: no measured tables in $MEASURED (MEASURED=DIR says where they are): nothing is changed"
    exit 0
fi
suite=$(grep -ls '^specter_gpu_suite,' "$MEASURED"/{collectives*,p2p,gemm}.csv || true)
if [[ -n $suite ]]; then
    echo "make fit: $suite: rows of the GPU suite, by which the models are judged: nothing is changed" >&2
    exit 1
fi
"$BUILD/specter" calibrate "$MEASURED"/{collectives*,p2p,gemm}.csv --classes -o "$BUILD/fitted.def"
mv "$BUILD/fitted.def" profiles/fitted.def
echo "profiles/fitted.def is written: 'make' builds with it"
