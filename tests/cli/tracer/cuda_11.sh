# Two functions of the runtime take more in CUDA 11 than in CUDA 12: all of it arrives.
. "$ROOT/tests/cli/tracer/common.bash"
command -v "${CC:-cc}" >/dev/null || { echo "no compiler"; exit 77; }
cat >cudart.c <<'C'
#include <stdio.h>
#include <stdint.h>
int cudaGraphInstantiate(void **exec, void *graph, void **node, char *log, size_t size)
{
    *exec = graph, *node = graph;
    return snprintf(log, size, "log of %zu bytes", size) < 0;
}
int cudaGraphExecUpdate(void *exec, void *graph, void **node, int *result)
{
    *node = graph, *result = exec == graph ? 1 : 2;
    return 0;
}
C
cat >main.c <<'C'
#include <stdio.h>
#include <stdint.h>
int cudaGraphInstantiate(void **exec, void *graph, void **node, char *log, size_t size);
int cudaGraphExecUpdate(void *exec, void *graph, void **node, int *result);
int main(void)
{
    char graph[8], other[8], log[100];
    void *exec, *node;
    int result;
    if (cudaGraphInstantiate(&exec, graph, &node, log, sizeof log) || exec != graph || node != graph)
        return 1;
    puts(log);
    if (cudaGraphExecUpdate(exec, other, &node, &result) || node != other)
        return 2;
    printf("%d\n", result);
    return 0;
}
C
"${CC:-cc}" -shared -fPIC -Wl,-soname,libcudart.so.11.0 -o libcudart.so.11.0 cudart.c &&
    "${CC:-cc}" -o main main.c ./libcudart.so.11.0 || exit 1
export LD_LIBRARY_PATH=$PWD
./main >plain && traced out ./main
