# SPDX-License-Identifier: MIT
# A recording that is there under two names would give two rows one id.
. "$ROOT"/tests/cli/sweep/grid.bash
cp -r traces again
"$SPECTER" sweep grid.json traces again
