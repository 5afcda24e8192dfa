# SPDX-License-Identifier: MIT
# Without the measured tables there is one line that says so.
BUILD=$(dirname "$SPECTER") "$ROOT"/scripts/accuracy.sh absent 2>err
[[ $? == 77 ]] || echo "status is not 77"
grep -q "no measured tables: 'absent' is not there" err || cat err
