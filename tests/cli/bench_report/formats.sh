# SPDX-License-Identifier: MIT
# The rows as CSV and Markdown, all of it as JSON; several runs of one file; bench's own JSON.
logs=$TESTDATA/nccl_tests
cd "$logs" || exit
cat mpirun.log mpirun.log | "$SPECTER" bench report - --format csv 2>/dev/null
"$SPECTER" bench report own.json --format md 2>/dev/null
"$SPECTER" bench report per_iteration.json --json - 2>/dev/null
"$SPECTER" bench report mpirun.log --fail-on 'ratio<0.9' 2>&1 >/dev/null
echo "status $?"
"$SPECTER" bench report mpirun.log --fail-on 'ratio<0.1,wrong>0' >/dev/null 2>&1
echo "status $?"
