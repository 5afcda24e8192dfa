#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The facts that need no GPU, on every set of real libraries that is found, beside the stand-ins:
# those of the toolkit that nvcc belongs to, and those of CUDA's wheels in $PYTHON's packages.
#
#     BUILD=build tests/gpu/check-facts.sh     or: make check-facts
#
# Ends with `N passed, N failed`; status 77 where no real library is found.
set -uo pipefail

HERE=$(cd "$(dirname "$0")" && pwd)
BUILD=$(realpath "${BUILD:-$HERE/../../build}")
PYTHON=${PYTHON:-python3}
export PYTHONDONTWRITEBYTECODE=1
passed=0 failed=0

# facts_of NAME FOLDER[:FOLDER...]
facts_of() {
    echo "== $1"
    if "$PYTHON" "$HERE/facts.py" "$BUILD/tests/gpu/facts" --no-device --real "$2" --stand-ins "$BUILD/emu/lib"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
    fi
}

toolkit=${CUDA_HOME:-$(dirname "$(dirname "$(command -v nvcc || echo /none/bin/nvcc)")")}
for folder in "$toolkit/lib64" "$toolkit/lib"; do
    [ ! -e "$folder/libcudart.so" ] || { facts_of "the toolkit in $toolkit" "$folder"; break; }
done
wheels=$("$PYTHON" -c 'import glob, sys; print(*(f for p in sys.path for f in glob.glob(p + "/nvidia/*/lib")), sep=":")')
[ -z "$wheels" ] || facts_of "the wheels of $PYTHON" "$wheels"

if [ $((passed + failed)) = 0 ]; then
    echo "skip: no real library: neither nvcc and its toolkit, nor CUDA's wheels in $PYTHON's packages"
    exit 77
fi
echo "$passed passed, $failed failed"
[ $failed = 0 ]
