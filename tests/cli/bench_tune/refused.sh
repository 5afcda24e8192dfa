# SPDX-License-Identifier: MIT
# Settings that give wrong results, hang on one rank, are ignored or refused are named, and never a gain. With
# the real clock: in virtual time the stand-in's own answers take up to 30 s where a rank hangs.
. "$ROOT/tests/cli/bench_collective/common.bash"
export EMU_FABRIC=$PWD/fabric.conf EMU_CLOCK=real
printf '%s\n' 'fill_bytes = 4096' 'tree_bytes = 0' 'll_bytes = 16777216' >fabric.conf
cat >bad.c <<'C'
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct id { char bytes[128]; };
static void *hanging, *wrong;

static int is(const char *name, const char *value)
{
    const char *is = getenv(name);
    return is != NULL && strcmp(is, value) == 0;
}

/* NCCL_PROTO=LL128 is not listened to where the ring is asked for; LL of trees is refused. */
int ncclCommInitRank(void **comm, int ranks, struct id id, int rank)
{
    int (*real)(void **, int, struct id, int) = dlsym(RTLD_NEXT, "ncclCommInitRank");
    int tree = is("NCCL_ALGO", "Tree"), ll128 = is("NCCL_PROTO", "LL128"), simple = is("NCCL_PROTO", "Simple");
    int error;
    if (tree && is("NCCL_PROTO", "LL"))
        return 5; /* ncclInvalidUsage */
    if (ll128 && !tree)
        unsetenv("NCCL_PROTO");
    error = real(comm, ranks, id, rank);
    if (tree && ll128 && rank == 1)
        hanging = *comm;
    if (tree && simple && rank == 2)
        wrong = *comm;
    return error;
}

/* Rank 1 leaves calls of one communicator out, rank 2 has a wrong byte by another. */
int ncclAllReduce(const void *send, void *receive, size_t count, int type, int op, void *comm, void *stream)
{
    int (*real)(const void *, void *, size_t, int, int, void *, void *) = dlsym(RTLD_NEXT, "ncclAllReduce");
    int (*set)(void *, int, size_t, void *) = dlsym(RTLD_DEFAULT, "cudaMemsetAsync");
    int error = comm == hanging ? 0 : real(send, receive, count, type, op, comm, stream);
    return error == 0 && comm == wrong ? set((char *)receive + 77 * 4, 0x55, 1, stream) : error;
}
C
${CC:-cc} -shared -fPIC -o libbad.so bad.c -L"$BUILD/emu/lib" -Wl,--no-as-needed -l:libnccl.so.2 -ldl || exit 1
"$SPECTER" bench tune --lib "$PWD/libbad.so" --gpus 4 --op all_reduce --bytes 16K --check 4K \
    --channels 0 --timeout 6 --json result.json >text
status=$?
sed -n '/^Wrong/,$p' text
python3 -c '
import json
size, = json.load(open("result.json"))["sizes"]
for trial in size["trials"]:
    if trial["state"] not in ("raced", "same"):
        assert trial["setting"] != size["best"] and trial["ratio"] is None, trial
        print(trial["setting"]["algorithm"], trial["setting"]["protocol"], trial["state"])'
left_behind
exit $status
