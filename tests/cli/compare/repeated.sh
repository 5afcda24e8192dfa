# SPDX-License-Identifier: MIT
# Steps that nothing marks, and that are found because they repeat, are samples as marked ones are.
. "$ROOT"/tests/cli/compare/traces.bash
trace base 50
trace test 70
"$SPECTER" compare base test 2>/dev/null | sed -n '1,/^$/p'

# Repeats as folders in one: the same answer as with commas between them.
mkdir many_base many_test
for i in 1 2 3; do
    trace many_base/run$i $((50 + i))
    trace many_test/run$i $((70 + i))
done
touch many_base/run1.log
"$SPECTER" compare --all-runs many_base many_test --json all.json 2>/dev/null | sed -n '1,/^$/p'
"$SPECTER" compare many_base/run1,many_base/run2,many_base/run3 many_test/run1,many_test/run2,many_test/run3 --name many_base,many_test --json commas.json >/dev/null 2>&1
cmp all.json commas.json
"$SPECTER" compare --all-runs many_base base 2>&1 | tail -n 1
"$SPECTER" compare --all-runs many_base missing 2>&1 | tail -n 1
