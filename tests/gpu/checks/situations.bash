# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# What a process may do with a driver, survived as untraced.

# A situation ends as it does untraced.
situation() {
    local name=$1 plain status=0
    plain=$("$PYTHON" "$HERE/api.py" "$name" 2>&1) || { echo "untraced: $plain"; return 1; }
    traced "$name" "$PYTHON" "$HERE/api.py" "$name" || status=$?
    equal "status of $name, which is 0 untraced" "$status" 0
}

check_no_context() { situation no_context; }
check_reset() { situation reset; }
check_exit() { situation exit; }
check_group_exit() { situation group_exit; }

check_doctor() {
    local status=0
    "$SPECTER" doctor || status=$?
    equal "status of specter doctor" $status 0
}
