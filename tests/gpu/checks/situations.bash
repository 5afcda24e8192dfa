# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# What a process may do with a driver, survived as untraced.

# A situation ends as it does untraced.
situation() {
    local name=$1 plain status=0
    plain=$("$PYTHON" "$HERE/api.py" "$name" 2>&1) || { echo "untraced: $plain"; return 1; }
    traced "$name" "$PYTHON" "$HERE/api.py" "$name" || status=$?
    echo "status $status"
    return $status
}

check_no_context() { situation no_context; }
check_reset() { situation reset; }
check_exit() { situation exit; }
check_nccl_by_handle() { situation nccl && "$PYTHON" "$HERE/checks.py" ranks "$OUT/traces/nccl" 1; }
check_group_exit() { situation group_exit; }

check_doctor() { "$SPECTER" doctor; }
