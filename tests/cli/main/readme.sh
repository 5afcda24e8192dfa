# The README's terminal session is what `make demo` prints: times are virtual, so they are the same
# everywhere.
"$ROOT/scripts/demo.sh" >demo.txt 2>&1 || { cat demo.txt; exit 1; }
awk '/^```console/ { inside = 1; next } /^```/ { inside = 0 } inside && $0 != "..." && $0 != ""' \
    "$ROOT/README.md" >session.txt
[[ $(wc -l <session.txt) -gt 20 ]] || { echo "the README holds no session"; exit 1; }
while IFS= read -r line; do
    grep -qxF -- "$line" demo.txt || { echo "not printed by make demo: $line"; missing=1; }
done <session.txt
exit "${missing:-0}"
