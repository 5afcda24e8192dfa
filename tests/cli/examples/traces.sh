# Each folder of examples/traces is small, described, names nobody, and is read by every command. EXAMPLES names
# another folder.
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
export PYTHONDONTWRITEBYTECODE=1
. "$ROOT/tests/gpu/fixture.bash"
folders=$(find "${EXAMPLES:-$ROOT/examples/traces}" -mindepth 1 -maxdepth 1 -type d | sort)
[[ -n $folders ]] || { echo "no real trace yet: make check-gpu records them"; exit 77; }
for folder in $folders; do
    fixture "$folder"
    [[ -n ${EXAMPLES:-} ]] || ! grep -H 'stand-ins' "$folder/README.md" # real ones only
done
exit 0
