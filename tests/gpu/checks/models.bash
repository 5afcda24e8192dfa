# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# The models against this GPU.

# A captured step, replayed on its own GPU, takes its own time.
check_identity() {
    traced identity "$PYTHON" "$HERE/workload.py" transformer --marks &&
        "$SPECTER" replay "$OUT/traces/identity" --scale 1 &&
        "$SPECTER" replay "$OUT/traces/identity" --scale 1 --json "$OUT/identity.json" >/dev/null &&
        "$PYTHON" "$HERE/checks.py" identity "$OUT/identity.json" 3
}
