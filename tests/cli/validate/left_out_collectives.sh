# SPDX-License-Identifier: MIT
# The models' promise for measured collectives that no fit has seen: a median error of at most 10 %. Every
# third row is enough to tell; docs/accuracy.md has all.
. "$ROOT"/tests/cli/validate/common.bash
need_measured
awk 'NR == 1 || FNR % 3 == 2' "$MEASURED"/collectives.csv "$MEASURED"/collectives_more.csv >some.csv
left_out some.csv source 10
