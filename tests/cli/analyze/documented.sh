# SPDX-License-Identifier: MIT
# Every table and key that analyze puts into JSON is in its documents, every top-level key but tables in the
# list at the end of docs/analyze.md; so are the columns of tables that these traces leave empty.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
"$SPECTER" analyze --full "$ROOT/tests/cli/analyze/data/two_ranks" --json two_ranks.json >page 2>log
work=$PWD ITERS=2
. "$ROOT/scripts/recordings.bash"
capture h100 pp 4
"$SPECTER" analyze --full "$trace" --json stand_ins.json >page 2>log || { cat log; exit 1; }
python3 "$ROOT/tests/cli/analyze/documented.py" "$ROOT" two_ranks.json stand_ins.json
