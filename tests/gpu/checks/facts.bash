# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# The stand-ins against the truth.

# What calls answer and cost here and on the stand-ins; all of it in facts.tsv.
check_facts() {
    "$PYTHON" "$HERE/facts.py" "$BUILD/tests/gpu/facts" --real "$(wheel_libraries)" \
        --stand-ins "$BUILD/emu/lib" --table "$OUT/facts.tsv"
}
