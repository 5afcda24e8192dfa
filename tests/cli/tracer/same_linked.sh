# A library that is linked and one that is opened RTLD_LOCAL: the same records with the same times.
. "$ROOT/tests/cli/tracer/common.bash"
command -v "${CC:-cc}" >/dev/null || { echo "no compiler"; exit 77; }
cat >linked.c <<'C'
int ext_init(int, int, const char *), ext_gemm(int, int, int), ext_allreduce(unsigned long), ext_sum(float *), ext_done(void);
int main(int argc, char **argv)
{
    float sum;
    int bad = argc < 2 || ext_init(0, 1, argv[1]);
    for (int i = 0; i < 10 && !bad; i++)
        bad = ext_gemm(512, 256, 1024) || ext_allreduce(65536);
    return bad || ext_sum(&sum) || ext_done();
}
C
"${CC:-cc}" -o linked linked.c "$BUILD/emu/libemuext.so" -Wl,--allow-shlib-undefined -Wl,-rpath,"$BUILD/emu" || exit 1
traced linked.d ./linked "$PWD/id1" || exit 1
traced local.d "$BUILD/emu/dlopen_local" "$BUILD/emu/libemuext.so" "$PWD/id2" 10 >/dev/null || exit 1
for dir in linked.d local.d; do
    grep '^{"id"' $dir/*.jsonl | sort >$dir.ops
done
cmp linked.d.ops local.d.ops && wc -l <linked.d.ops
