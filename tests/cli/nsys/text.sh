# SPDX-License-Identifier: MIT
# An export of one process: what is said of it, and nothing of its environment.
. "$ROOT"/tests/cli/nsys/made.bash
make_export report.sqlite
"$SPECTER" analyze --full report.sqlite | sed -n '1,2p; /^Time per rank/,/^$/p; /^Copies/,/^$/p'
"$SPECTER" analyze --full --json all.json report.sqlite >/dev/null
! grep -c SECRET all.json
