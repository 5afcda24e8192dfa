# shellcheck shell=bash
# SPDX-License-Identifier: MIT
#
# Checks that are a line each and are counted. Sourced by check-inside.sh and check-image.sh.

passed=0 failed=0
check_log=$(mktemp)

check() { # WHAT COMMAND...
    local what=$1
    shift
    if "$@" >"$check_log" 2>&1; then
        echo "ok $what"
        passed=$((passed + 1))
    else
        echo "fail $what: $*"
        tail -n 10 "$check_log" | sed 's/^/    /'
        failed=$((failed + 1))
    fi
}

# The last line, and the status.
counts() {
    rm -f "$check_log"
    echo "$passed passed, $failed failed"
    [[ $failed == 0 && $passed != 0 ]]
}
