# The loader preloads nothing into a setuid program: it is not started. As a child of a traced one it runs as untraced.
target=$(command -v su) && [[ -u $target ]] || { echo "no setuid program here"; exit 77; }
if [[ $(id -u) == 0 ]]; then
    chmod 777 .
    cp "$SPECTER" "$LIBSPECTER" .
    export SPECTER=$PWD/specter
    as_user=(setpriv --reuid=65534 --regid=65534 --clear-groups)
    "${as_user[@]}" test -x "$SPECTER" || { echo "no other user can run specter here"; exit 77; }
fi
"${as_user[@]}" "$SPECTER" capture -o traces -- su --version 2>err && echo "it was started"
grep -qxF "specter: '$target' is setuid: the loader preloads nothing into it; run a copy without those rights, or specter with them (sudo specter ...)" err || cat err
"${as_user[@]}" "$SPECTER" capture -o traces -- sh -c 'su --version' >traced 2>/dev/null || echo "status $?"
su --version | cmp - traced
# where no rights are gained, there is nothing to refuse
"${as_user[@]}" setpriv --no-new-privs "$SPECTER" capture -o traces -- su --version >traced 2>/dev/null || echo "status $?"
su --version | cmp - traced
