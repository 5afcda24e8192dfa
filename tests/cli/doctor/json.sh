# JSON: the same findings, in a form that does not change.
. "$ROOT/tests/cli/doctor/common.bash"
"$SPECTER" doctor --json - -o traces >doc.json || exit 1
grep -E '"(schema|problems)"' doc.json
grep -c '"check"' doc.json >n && grep -c '"level"' doc.json | cmp n - && grep -c '"advice"' doc.json | cmp n -
"$SPECTER" doctor --json file.json -o traces >text || exit 1
grep -c '^[a-z]' text | cmp n -
same() { sed 's/[0-9.]* GB free//' "$1"; } # others write to the disk meanwhile
cmp <(same doc.json) <(same file.json)
SPECTER_LIB=none "$SPECTER" doctor --json - | grep -E '"(problems|level)"' | sort | uniq -c | grep problem
"$SPECTER" doctor --json no/such/file.json >/dev/null
