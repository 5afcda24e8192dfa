# SPDX-License-Identifier: MIT
# Traces of somebody else: watch says which it cannot read and ends; where some can be read, it shows these.
. "$ROOT/tests/cli/watch/common.bash"
as_other() { setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }
as_other "$SPECTER" --version >/dev/null 2>&1 || { echo "cannot run specter as another user"; exit 77; }
chmod 755 . ..
mkdir traces
(init 0 2; op 0 2 1) >${trace}0.jsonl
chmod 000 ${trace}0.jsonl
as_other "$SPECTER" watch "$PWD/traces" --once >out 2>err
echo "status $?"
timeout 20 setpriv --reuid 65534 --regid 65534 --clear-groups "$SPECTER" watch "$PWD/traces" >>out 2>>err
echo "status $?"
sed "s|$PWD/||" err
cat out
(init 1 2; op 1 2 1) >${trace}1.jsonl
as_other "$SPECTER" watch "$PWD/traces" --once --json >one.json
echo "status $?"
python3 -c 'import json; print([r["rank"] for r in json.load(open("one.json"))["ranks"]])'
# A JSON file that may be written, in a folder where nothing can be made, is written in place.
touch given.json && chmod 666 given.json
as_other "$SPECTER" analyze "$ROOT/tests/cli/analyze/data/two_ranks" --json "$PWD/given.json" >/dev/null
echo "status $?"
python3 -c 'import json; print(json.load(open("given.json"))["schema"])'
