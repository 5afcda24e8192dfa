# The programs of `make release` need no newer glibc than it names.
set -- "$ROOT"/build/release/*/libspecter.so
[[ -e $1 ]] || { echo "no library of make release"; exit 77; }
"$ROOT/scripts/release.sh" --check "$@"
