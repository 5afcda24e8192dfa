# SPDX-License-Identifier: MIT
# A file beside the text, and nothing else on stdout.
cp -r "$ROOT"/tests/cli/replay/data/two_ranks traces
"$SPECTER" replay --full --scale 1 --json out.json >text
grep -c "\"schema\":.*specter.replay/1" out.json
grep -c "^iteration" text
