# A library that is older than the hook table: what it lacks gives its family's error, once said, and
# does not disturb what it has.
. "$ROOT/tests/cli/tracer/common.bash"
command -v "${CC:-cc}" >/dev/null || { echo "no compiler"; exit 77; }
echo 'int ncclGroupStart(void) { return 0; } int ncclGroupEnd(void) { return 0; }' >old.c
{ cat old.c; echo 'int ncclGather(void) { return 0; } int ncclCommShrink(void) { return 0; }'; } >new.c
cat >main.c <<'C'
#include <stdio.h>
int ncclGroupStart(void), ncclGroupEnd(void), ncclCommShrink(void *, int *, int, void **, void *, int);
int ncclGather(void *, void *, long, int, int, void *, void *);
int main(void)
{
    ncclGroupStart();
    printf("%d ", ncclGather(0, 0, 1, 7, 0, 0, 0));
    printf("%d ", ncclGather(0, 0, 1, 7, 0, 0, 0));
    printf("%d\n", ncclCommShrink(0, 0, 0, 0, 0, 0));
    return ncclGroupEnd();
}
C
library() { "${CC:-cc}" -shared -fPIC -Wl,-soname,libnccl.so.2 -o libnccl.so.2 "$1"; }
library new.c && "${CC:-cc}" -o main main.c ./libnccl.so.2 && library old.c || exit 1
LD_LIBRARY_PATH=$PWD traced out ./main || exit 1
check out/*
ops out/*.jsonl op
