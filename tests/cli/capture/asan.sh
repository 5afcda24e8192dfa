# gcc's AddressSanitizer wants its runtime first: refused with the LD_PRELOAD to export, by which it is traced then. Where
# its check is off the program runs at once. The runtimes of gcc's other sanitizers do not care.
command -v gcc >/dev/null || { echo "no gcc"; exit 77; }
cat >main.c <<'C'
int puts(const char *);
int main(void) { return puts("ran") < 0; }
C
gcc -fsanitize=address -o checked main.c 2>/dev/null && ./checked >/dev/null 2>&1 || { echo "gcc has no AddressSanitizer here"; exit 77; }
unset ASAN_OPTIONS
LD_PRELOAD=$(gcc -print-file-name=libasan.so) "$SPECTER" --version >/dev/null 2>&1 ||
    { echo "specter has another AddressSanitizer's runtime"; exit 77; }
"$SPECTER" capture -o traces -- ./checked 2>err || echo "status $?"
sed 's|=/.*|=PATH|' err
"$SPECTER" doctor -- ./checked | grep -cF "$(sed 's/^specter: //; s/; .*//' err)"
way_out=$(sed 's/.*; export //' err)
env "$way_out" "$SPECTER" capture -o traces -- ./checked 2>/dev/null || echo "status $?"
env "$way_out" "$SPECTER" capture --print-env | grep -c "^export LD_PRELOAD=${way_out#*=}:$LIBSPECTER\$"
ASAN_OPTIONS=verify_asan_link_order=0 "$SPECTER" capture -o traces -- ./checked 2>/dev/null || echo "status $?"
# as a child
"$SPECTER" capture -o traces -- sh -c 'env -u LD_PRELOAD ./checked' 2>/dev/null || echo "status $?"
for kind in thread undefined leak; do
    gcc -fsanitize=$kind -o checked main.c 2>/dev/null && ./checked >/dev/null 2>&1 || { echo ran; continue; }
    "$SPECTER" capture -o traces -- ./checked 2>/dev/null || echo "$kind: status $?"
done
