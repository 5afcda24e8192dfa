# SPDX-License-Identifier: MIT
# The text is printed as ever, the file holds what --json - prints.
cp -r "$ROOT"/tests/cli/analyze/data/two_ranks traces
"$SPECTER" analyze --json out.json >text
"$SPECTER" analyze >only_text
"$SPECTER" analyze --json - >direct.json
cmp text only_text && cmp out.json direct.json
