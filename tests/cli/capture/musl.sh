# A program of musl's own compiler: refused, and as a child of a traced shell it runs where the shell takes the preload
# away from it. Without that musl's loader does not start it.
command -v musl-gcc >/dev/null || { echo "no musl-gcc"; exit 77; }
musl-gcc -o musl -xc - <<<'int puts(const char *); int main(void) { return puts("ran") < 0; }' || exit 1
./musl || { echo "no musl loader here"; exit 77; }
"$SPECTER" capture -o traces -- ./musl 2>err || echo "status $?"
cat err
"$SPECTER" capture -o traces -- sh -c 'env -u LD_PRELOAD ./musl' 2>/dev/null || echo "status $?"
"$SPECTER" capture -o traces -- sh -c ./musl >/dev/null 2>&1 || echo "status $?"
musl-gcc -static -o musl -xc - <<<'int puts(const char *); int main(void) { return puts("ran") < 0; }' || exit 1
"$SPECTER" capture -o traces -- ./musl 2>err || echo "status $?"
head -n 1 err
