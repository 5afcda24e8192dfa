# A communicator that another thread aborts inside a call is asked nothing afterwards.
. "$ROOT/tests/cli/tracer/common.bash"
command -v cc >/dev/null || { echo "no compiler"; exit 77; }
cat >nccl.c <<'C'
#include <stdlib.h>
static int gone;
int ncclCommCount(void *comm, int *value)
{
    (void)comm;
    if (gone)
        abort();
    *value = 1;
    return 0;
}
int ncclCommUserRank(void *comm, int *value) { int failed = ncclCommCount(comm, value); *value = 0; return failed; }
int ncclCommCuDevice(void *comm, int *value) { return ncclCommUserRank(comm, value); }
int ncclCommAbort(void *comm) { (void)comm; gone = 1; return 0; }
int ncclAllReduce(const void *s, void *r, unsigned long n, int t, int o, void *comm, void *stream)
{
    (void)s, (void)r, (void)n, (void)t, (void)o, (void)stream;
    return ncclCommAbort(comm);
}
C
cat >main.c <<'C'
int ncclAllReduce(const void *, void *, unsigned long, int, int, void *, void *);
int main(void)
{
    static char comm[64];
    return ncclAllReduce(comm, comm, 1, 7, 0, comm, 0);
}
C
cc -shared -fPIC -Wl,-Bsymbolic -Wl,-soname,libnccl.so.2 -o libnccl.so.2 nccl.c || exit 1
cc -o main main.c ./libnccl.so.2 || exit 1
LD_LIBRARY_PATH=$PWD traced out ./main || exit 1
check out/*
ops out/*.jsonl op comm_rank comm_size
