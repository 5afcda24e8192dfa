# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# A traced process survives everything that it may do with a driver, as it does untraced.

# situation NAME...: each ends as it does untraced, says the same, and leaves the trace it should.
situation() {
    local name plain with plain_status status
    for name; do
        plain_status=0 status=0
        plain=$("$PYTHON" "$HERE/api.py" "$name") || plain_status=$?
        [[ $plain == *done ]] || { echo "$name untraced: status $plain_status $plain"; return 1; }
        with=$(traced "$name" "$PYTHON" "$HERE/api.py" "$name") || status=$?
        [ "$with" = "$plain" ] || { echo "it says '$with', untraced '$plain'"; return 1; }
        equal "$name: status, as untraced" $status $plain_status || return 1
        "$PYTHON" "$HERE/situations.py" "$name" "$OUT/traces/$name" || return 1
    done
}

check_no_context() { situation no_context; }
check_contexts() { situation contexts; }
check_reset() { situation reset; }
check_exit() { situation exit os_exit sigterm exception; }
check_processes() { situation fork spawn; }
check_threads() { situation threads per_thread; }
check_group_exit() { situation group_exit; }

check_doctor() { "$PYTHON" "$HERE/doctor.py" "$SPECTER"; }
