# SPDX-License-Identifier: MIT
# The text is printed as ever, the file holds what --json - prints.
cp -r "$ROOT"/tests/cli/analyze/data/two_ranks traces
"$SPECTER" analyze --full --json out.json >text
"$SPECTER" analyze --full >only_text
"$SPECTER" analyze --full --json - >direct.json
cmp text only_text && cmp out.json direct.json
