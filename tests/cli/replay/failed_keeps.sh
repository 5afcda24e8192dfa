# SPDX-License-Identifier: MIT
# A replay that fails, or whose file does not fit, leaves what an earlier one has written, and nothing beside it.
cp -r "$ROOT"/tests/cli/replay/data/two_ranks traces
mkdir out
"$SPECTER" replay traces --html out/page.html --timeline out/steps.json.gz --json out/all.json >/dev/null 2>&1 || echo "status $?"
cp -r out before
"$SPECTER" replay traces --grow pp --scale 2 --html out/page.html --timeline out/steps.json.gz --json out/all.json >/dev/null
echo "status $?"
diff -rq before out && echo "as before"
(ulimit -f 4 && trap '' XFSZ && "$SPECTER" replay traces --html out/page.html >/dev/null)
echo "status $?"
diff -rq before out && echo "as before"
exit 0
