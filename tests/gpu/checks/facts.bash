# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# The stand-ins against the truth.

# The answers and costs of calls, here and on the stand-ins; facts.tsv has all of them.
check_facts() {
    "$PYTHON" "$HERE/facts.py" "$BUILD/tests/gpu/facts" --real "$(wheel_libraries)" \
        --stand-ins "$BUILD/emu/lib" --table "$OUT/facts.tsv"
}
