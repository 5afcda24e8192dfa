# SPDX-License-Identifier: MIT
cp -r "$ROOT"/tests/cli/analyze/data/two_ranks traces
"$SPECTER" analyze --full traces --rank 1
