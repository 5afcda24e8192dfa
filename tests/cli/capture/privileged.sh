# The loader preloads nothing into a setuid program: said.
target=$(command -v su) && [[ -u $target ]] || { echo "no setuid program here"; exit 77; }
if [[ $(id -u) == 0 ]]; then
    chmod 777 .
    cp "$SPECTER" "$LIBSPECTER" .
    export SPECTER=$PWD/specter
    as_user=(setpriv --reuid=65534 --regid=65534 --clear-groups)
    "${as_user[@]}" test -x "$SPECTER" || { echo "no other user can run specter here"; exit 77; }
fi
"${as_user[@]}" "$SPECTER" capture -o traces -- su --version 2>err >/dev/null
grep -qF "specter: '$target' is setuid: the loader preloads nothing into it" err
