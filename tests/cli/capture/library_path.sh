# A path that LD_PRELOAD cannot say is refused, not misread by the loader.
mkdir 'a b' && cp "$LIBSPECTER" 'a b/'
SPECTER_LIB="a b/libspecter.so" "$SPECTER" capture -o traces -- touch started 2>err
echo "status $?"
grep -c "cannot preload '.*/a b/libspecter.so': its path holds a space, ':' or '\$'" err
ls
# Installed: ../lib/specter of the program's folder.
mkdir -p root/bin root/lib/specter && cp "$SPECTER" root/bin/ && cp "$LIBSPECTER" root/lib/specter/
root/bin/specter capture -o traces -- sh -c 'echo "${LD_PRELOAD#"$PWD"}"' 2>/dev/null
