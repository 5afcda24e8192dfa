# clang links AddressSanitizer statically: nothing is in the way. Its shared runtime is as gcc's.
command -v clang >/dev/null || { echo "no clang"; exit 77; }
cat >main.c <<'C'
int puts(const char *);
int main(void) { return puts("ran") < 0; }
C
unset ASAN_OPTIONS
clang -fsanitize=address -o checked main.c 2>/dev/null && ./checked >/dev/null 2>&1 || { echo "clang has no AddressSanitizer here"; exit 77; }
"$SPECTER" capture -o traces -- ./checked 2>/dev/null || echo "status $?"
runtime=$(clang -print-file-name="libclang_rt.asan-$(uname -m).so")
if clang -fsanitize=address -shared-libsan -Wl,-rpath,"${runtime%/*}" -o checked main.c 2>/dev/null && ./checked >/dev/null 2>&1; then
    "$SPECTER" capture -o traces -- ./checked 2>&1 | grep -c "; export LD_PRELOAD=.*/libclang_rt.asan"
else
    echo 1
fi
