# A library that is not RCCL's and has a function of the same name: its arguments arrive unchanged, none
# is looked into, and what it calls in turn is the program's own.
. "$ROOT/tests/cli/tracer/common.bash"
command -v "${CC:-cc}" >/dev/null || { echo "no compiler"; exit 77; }
cc=${CC:-cc}
cat >nccl.c <<'C'
#include <stdio.h>
int ncclCommCount(void *comm, int *value) { (void)comm; *value = 4; return 0; }
int ncclCommUserRank(void *comm, int *value) { (void)comm; *value = 2; return 0; }
int ncclCommCuDevice(void *comm, int *value) { (void)comm; *value = 0; return 0; }
int ncclSend(const void *b, unsigned long n, int t, int peer, void *comm, void *stream)
{
    (void)b, (void)n, (void)t, (void)peer, (void)comm, (void)stream;
    return 0;
}
int ncclAllToAllv(long a, long b, long c, long d, long e, long f, long g, char *comm, long i)
{
    static char buffer[64];
    printf("%ld %ld %ld %ld %ld %ld %ld %d %ld\n", a, b, c, d, e, f, g, comm == 0, i);
    return ncclSend(buffer, 8, 7, 1, comm, 0);
}
int ncclAllToAll(long a, long b) { printf("%ld %ld\n", a, b); return 5; }
C
cat >main.c <<'C'
int ncclAllToAllv(long, long, long, long, long, long, long, char *, long);
int ncclAllToAll(long, long);
int main(void)
{
    static char comm[64];
    return ncclAllToAllv(1, 2, 3, 4, 5, 6, 7, comm, 9) + ncclAllToAll(10, 11) - 5;
}
C
$cc -shared -fPIC -Wl,-soname,libnccl.so.2 -o libnccl.so.2 nccl.c && $cc -o main main.c ./libnccl.so.2 || exit 1
LD_LIBRARY_PATH=$PWD traced out ./main || exit 1
check out/*
ops out/*.jsonl op count peer comm_rank comm_size
