# SPDX-License-Identifier: MIT
#
# The functions of the cases nccl_<version>.bash, which set VERSION: NVIDIA's own library without a
# driver, as a linked C program, one that loads it RTLD_LOCAL, one that closes it, and Python's ctypes have it.
CALLS=yes

nccl_folder() { echo "$PROGRAMS/nccl/$VERSION/nvidia/nccl/lib"; }

prepare() {
    [[ -e $(nccl_folder)/libnccl.so.2 ]] || missing "no NCCL $VERSION in build/programs (GET=1 fetches it)"
    need_python ctypes
    cat >calls.h <<'C'
#include <stdio.h>
#include <string.h>
typedef struct { char bytes[128]; } id_t_;
typedef struct comm *comm_t;
#define CALLS(_) \
    _(ncclGetVersion, (int *)) _(ncclGetUniqueId, (id_t_ *)) _(ncclGroupStart, (void)) _(ncclGroupEnd, (void)) \
    _(ncclCommInitRank, (comm_t *, int, id_t_, int)) _(ncclCommInitAll, (comm_t *, int, const int *)) \
    _(ncclAllReduce, (const void *, void *, size_t, int, int, comm_t, void *)) \
    _(ncclSend, (const void *, size_t, int, int, comm_t, void *)) _(ncclCommCount, (comm_t, int *)) \
    _(ncclCommDestroy, (comm_t)) _(ncclCommAbort, (comm_t))
C
    cat >body.h <<'C'
    int version = 0, count = -1, done;
    float data[4] = {0};
    comm_t comm = NULL;
    id_t_ id;
    memset(&id, 0, sizeof id);
    done = ncclGetVersion(&version);
    printf("version %d %d\n", done, version);
    printf("id %d\n", ncclGetUniqueId(&id));
    printf("group %d", ncclGroupStart());
    printf(" %d\n", ncclGroupEnd());
    printf("init %d", ncclCommInitRank(&comm, 1, id, 0));
    printf(" %s\n", comm == NULL ? "none" : "some");
    comm = NULL;
    printf("all %d\n", ncclCommInitAll(&comm, 1, NULL));
    printf("allreduce %d\n", ncclAllReduce(data, data, 4, 7, 0, NULL, NULL));
    printf("send %d\n", ncclSend(data, 4, 7, 0, NULL, NULL));
    printf("group %d", ncclGroupStart());
    printf(" %d", ncclAllReduce(data, data, 4, 7, 0, NULL, NULL));
    printf(" %d\n", ncclGroupEnd());
    done = ncclCommCount(NULL, &count);
    printf("count %d %d\n", done, count);
    printf("end %d", ncclCommAbort(NULL));
    printf(" %d\n", ncclCommDestroy(NULL));
C
    cat >linked.c <<'C'
#include "calls.h"
#define DECLARE(_name, _params) extern int _name _params;
CALLS(DECLARE)
int main(void)
{
#include "body.h"
    return 3;
}
C
    cat >opened.c <<'C'
#include "calls.h"
#include <dlfcn.h>
#define DECLARE(_name, _params) static int (*_name) _params;
CALLS(DECLARE)
int main(int argc, char **argv)
{
    void *library = dlopen(argv[argc - 1], RTLD_NOW | RTLD_LOCAL);
#define FIND(_name, _params) *(void **)&_name = dlsym(library, #_name);
    CALLS(FIND)
    {
#include "body.h"
    }
    return 4; /* without dlclose(): a thread of ncclGetUniqueId() may still run in the library */
}
C
    # Without a thread of the library's the library can go, and goes where it lets itself be unloaded.
    cat >closed.c <<'C'
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    void *library = dlopen(argv[argc - 1], RTLD_NOW | RTLD_LOCAL);
    int (*start)(void), (*end)(void);
    *(void **)&start = dlsym(library, "ncclGroupStart");
    *(void **)&end = dlsym(library, "ncclGroupEnd");
    printf("group %d", start());
    printf(" %d\n", end());
    printf("closed %d", dlclose(library));
    printf(" %s\n", dlopen(argv[argc - 1], RTLD_NOW | RTLD_NOLOAD) != NULL ? "stays" : "gone");
    return 5;
}
C
    cat >ctypes_nccl.py <<'PY'
import ctypes, sys

nccl = ctypes.CDLL(sys.argv[1])
version, unique = ctypes.c_int(), ctypes.create_string_buffer(128)
nccl.ncclGetErrorString.restype = ctypes.c_char_p
print(nccl.ncclGetVersion(ctypes.byref(version)), version.value, nccl.ncclGetUniqueId(unique))
for status in range(8):
    print(status, nccl.ncclGetErrorString(status).decode())
print(nccl.ncclAllReduce(None, None, ctypes.c_size_t(1), 7, 0, None, None))
try:
    nccl.ncclNoSuchCall
except AttributeError as error:
    print("no such call" if "ncclNoSuchCall" in str(error) else error)
PY
    compile -o linked linked.c "$(nccl_folder)/libnccl.so.2" && compile -o opened opened.c -ldl &&
        compile -o closed closed.c -ldl
}

program() {
    export NCCL_DEBUG=WARN NCCL_SOCKET_IFNAME=lo NCCL_IB_DISABLE=1
    LD_LIBRARY_PATH=$(nccl_folder) "$MADE/linked"
    echo "status $?"
    "$MADE/opened" "$(nccl_folder)/libnccl.so.2"
    echo "status $?"
    "$MADE/closed" "$(nccl_folder)/libnccl.so.2"
    echo "status $?"
    python "$MADE/ctypes_nccl.py" "$(nccl_folder)/libnccl.so.2"
    echo "status $?"
}

# Warnings begin with the time, the host, the process, the thread, and a device that was never set.
normalize() {
    sed -E 's/^\[?[0-9]{4}-[0-9-]+[ T][0-9:.]+\]? //; s/^[^ ]+:[0-9]+:[0-9]+ \[-?[0-9]+\] /HOST /' |
        without_addresses
}
