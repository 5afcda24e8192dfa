# SPDX-License-Identifier: MIT
# SPECTER_OUTPUT names the folder when no DIR is given.
cp -r "$ROOT"/tests/cli/analyze/data/two_ranks elsewhere
SPECTER_OUTPUT=elsewhere "$SPECTER" analyze --full >text
head -n 2 text
