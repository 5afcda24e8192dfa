# SPDX-License-Identifier: MIT
# A grid that is told, and what then can grow; what the recording contradicts is a row that says so.
. "$ROOT"/tests/cli/sweep/grid.bash
cat >grid.json <<'END'
{"parallel": [null, "dp=2", "tp=2", "dp=3", "what=2"], "grow": ["dp", "tp"],
 "from_network": "dgx_a100_200g", "scales": 2}
END
"$SPECTER" sweep grid.json 2>/dev/null | cut -d, -f6,7,13,22-24,44-
