# SPDX-License-Identifier: MIT
# One row a point, in the order of the grid; what cannot be is a row that says why.
. "$ROOT"/tests/cli/sweep/grid.bash
"$SPECTER" sweep grid.json
