# What `make release` built needs no newer glibc than it says.
set -- "$ROOT"/build/release/*/libspecter.so
[[ -e $1 ]] || { echo "no library of make release"; exit 77; }
"$ROOT/scripts/release.sh" --check "$@"
