# SPDX-License-Identifier: MIT
# Numbers are read and written the same way everywhere.
cp -r "$ROOT"/tests/cli/replay/data/two_ranks traces
"$SPECTER" replay --json - >plain
LC_ALL=de_DE.UTF-8 "$SPECTER" replay --json - >german
cmp plain german
