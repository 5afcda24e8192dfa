# The wheels of `make release` are what their names say: for every glibc from 2.28 on, with no library from outside.
. "$ROOT"/tests/cli/python/common.bash
released=("$ROOT"/build/release/specter-*-manylinux_*.whl)
[[ ${#released[@]} -gt 0 ]] || { echo "no wheel of make release"; exit 77; }
with_tools auditwheel
for wheel in "${released[@]}"; do
    tag=${wheel##*-} tag=${tag%.whl}
    PATH=$(dirname "$tools"):$PATH "$tools" -m auditwheel show "$wheel" >log 2>&1
    tr -s ' \n' ' ' <log | grep -q "constrains the platform tag to \"$tag\"" || cat log
done
