# SPDX-License-Identifier: MIT
# A call that fails on one rank ends the job at once, while the others wait for it, with what the library said.
. "$ROOT/tests/cli/bench_collective/common.bash"
export EMU_CLOCK=real
cat >bad.c <<'C'
#include <dlfcn.h>
#include <stdlib.h>

int ncclAllReduce(const void *send, void *receive, size_t count, int type, int op, void *comm, void *stream)
{
    int (*real)(const void *, void *, size_t, int, int, void *, void *) = dlsym(RTLD_NEXT, "ncclAllReduce");
    static int calls;
    return ++calls > 30 && *getenv("RANK") == '1' ? 1 : real(send, receive, count, type, op, comm, stream);
}
C
${CC:-cc} -shared -fPIC -o libbad.so bad.c -L"$BUILD/emu/lib" -Wl,--no-as-needed -l:libnccl.so.2 -ldl || exit 1
# refused COMMAND...: within 45 s, where exchanges would wait for 60.
refused() {
    local began=$SECONDS
    rm -rf emu/*
    "$SPECTER" bench "$@" --lib "$PWD/libbad.so" --gpus 3 >out 2>err
    echo "$1: status $?, at once: $((SECONDS - began < 45))"
    grep -v '^specter: no \|^specter: note\|^emu:' err
    left_behind
}
refused collective --op all_reduce --elements 1000,2000 --iters 20
refused overlap --op all_reduce --bytes 1M
refused drift --seconds 60
exit 0
