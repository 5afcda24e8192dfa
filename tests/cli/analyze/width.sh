# SPDX-License-Identifier: MIT
# No line of any report is wider than a terminal.
cp -r "$ROOT"/tests/cli/analyze/data/two_ranks traces
{ "$SPECTER" analyze --full && "$SPECTER" analyze --full --rank 0 && "$SPECTER" help analyze; } |
    awk 'length($0) > 80 { print; bad = 1 } END { exit bad }'
