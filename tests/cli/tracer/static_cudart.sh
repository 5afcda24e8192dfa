# A real static CUDA runtime asks for the driver's functions through ours: of a driver that says who
# asks, and has nothing to give but the function to ask by, as the runtime asks for that, too.
. "$ROOT/tests/cli/tracer/common.bash"
PATH=$PATH:${CUDA_HOME:-/usr/local/cuda}/bin
command -v nvcc >/dev/null || { echo "no nvcc"; exit 77; }
cc=${CC:-cc}
command -v "$cc" >/dev/null || { echo "no compiler"; exit 77; }
cat >program.cu <<'EOF2'
#include <cstdio>
__global__ void kernel(float *x) { x[threadIdx.x] = 1; }
int main()
{
    kernel<<<1, 32>>>(nullptr);
    std::printf("status %d\n", (int)cudaGetLastError());
}
EOF2
nvcc -cudart static -o program program.cu >nvcc.txt 2>&1 || { cat nvcc.txt; exit 77; }
cat >driver.c <<'EOF2'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
static int nothing(void) { return 100; }
int cuGetProcAddress_v2(const char *symbol, void **found, int version, unsigned long long flags, int *status)
{
    Dl_info info;
    dladdr(__builtin_return_address(0), &info);
    if (strncmp(symbol, "cuLaunch", 8) == 0)
        printf("%s %d %llu asked by %s\n", symbol, version, flags,
               strstr(info.dli_fname, "libspecter") ? "the tracer" : "the program");
    *found = strcmp(symbol, "cuGetProcAddress") == 0 ? (void *)cuGetProcAddress_v2 : (void *)nothing;
    if (status)
        *status = 0;
    return 0;
}
int cuDriverGetVersion(int *version) { *version = 13000; return 0; }
EOF2
mkdir lib
"$cc" -shared -fPIC -Wl,-soname,libcuda.so.1 -o lib/libcuda.so.1 driver.c -ldl 2>cc.txt || { cat cc.txt; exit 1; }
LD_LIBRARY_PATH=$PWD/lib ./program >plain
LD_LIBRARY_PATH=$PWD/lib traced out ./program >asked
grep -q '^status [1-9]' asked || fail "there is no device, and yet: $(grep status asked)"
diff <(sed 's/ asked by .*//' plain) <(sed 's/ asked by .*//' asked) || fail "the program is told other things"
grep -q '^cuLaunchKernel [0-9]* 0 asked by' asked || fail "cuLaunchKernel was not asked for"
grep -v 'asked by the tracer$' asked | grep -v '^status'
grep -v 'asked by the program$' plain | grep -v '^status'
exit 0
