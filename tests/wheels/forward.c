/* SPDX-License-Identifier: MIT
 *
 * Calls every function of the hook table in a real library, where there is no GPU:
 *
 *     forward FAMILY LIBRARY plain|local|global
 *
 * plain   the library's own functions, without the tracer
 * local   the library is opened RTLD_LOCAL, as Python opens it; calls go to what the tracer
 * exports, which SPECTER_NO_DLSYM=1 lets dlsym() find here global  the same, with the library
 * preloaded after the tracer, which is as if linked
 *
 * A line a function: its name, whether the library has it, and what came back. Arguments are all 0,
 * so that each call ends in the library's own check of them; it is made in a child, so that one
 * that crashes is a line as well. Any function of up to 30 words takes such a call, because what is
 * passed in registers and on the stack is 0 for all of them (x86-64 and AArch64). Then a few calls
 * with real arguments, some of which have no hook.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIMIT_S 30

static const struct {
    const char *family, *name;
} hooks[] = {
#define HOOK(_lib, _ret, _fn, ...) {#_lib, #_fn},
#include "../../tracer/hooks.def"
};

typedef int any_function(long, long, long, long, long, long, long, long, long, long, long, long,
                         long, long, long, long, long, long, long, long, long, long, long, long,
                         long, long, long, long, long, long);

/* In a child; 10000 and more: the signal that ended it. */
static int result_of(void *address)
{
    any_function *call;
    int pipes[2], result = -1, status = 0;
    pid_t child;

    memcpy(&call, &address, sizeof(call));
    fflush(stdout);
    if (pipe(pipes) != 0 || (child = fork()) < 0)
        exit(2);
    if (child == 0) {
        alarm(LIMIT_S);
        result = call(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                      0, 0, 0, 0);
        exit(write(pipes[1], &result, sizeof(result)) != sizeof(result)); /* leaves a whole trace */
    }
    close(pipes[1]);
    if (read(pipes[0], &result, sizeof(result)) != sizeof(result))
        result = -1;
    close(pipes[0]);
    waitpid(child, &status, 0);
    return WIFSIGNALED(status) ? 10000 + WTERMSIG(status) : result;
}

/* ---- calls with arguments ---- */

static void *library;
static bool plain;

/* Returns the function that the program calls by this name: the tracer's, or the library's where
 * there is no hook. */
static void *called(const char *name)
{
    void *exported = plain ? NULL : dlsym(RTLD_DEFAULT, name);

    return exported ? exported : dlsym(library, name);
}

/* FIND(type of pointer, name): declares the function as a variable. */
#define FIND(_ret, _name, _params) \
    _ret(*_name) _params;          \
    *(void **)&_name = called(#_name)

static void call_nccl(void)
{
    char id[128], other[128];
    int version = 0, sum = 0;

    FIND(int, ncclGetVersion, (int *));
    FIND(int, ncclGetUniqueId, (char *));
    FIND(const char *, ncclGetErrorString, (int));
    FIND(int, ncclGroupStart, (void));
    FIND(int, ncclGroupEnd, (void));
    FIND(int, ncclAllReduce, (const void *, void *, size_t, int, int, void *, void *));
    printf("ncclGetVersion there %d", ncclGetVersion(&version));
    printf(" %d\nncclGetErrorString there %s\n", version, ncclGetErrorString(4));
    printf("ncclGetUniqueId there %d", ncclGetUniqueId(id) + ncclGetUniqueId(other));
    printf(" %d\n", memcmp(id, other, sizeof(id)) != 0);
    for (int i = 0; i < 100; i++)
        sum += ncclGroupStart() + ncclGroupStart() + ncclGroupEnd() + ncclGroupEnd();
    printf("groups there %d\n", sum);
    printf("ncclAllReduce-in-group there %d", ncclGroupStart());
    printf(" %d", ncclAllReduce(id, other, 1, 7, 0, NULL, NULL));
    printf(" %d\n", ncclGroupEnd());
}

static void call_cublas(void)
{
    void *handle = NULL;

    FIND(int, cublasCreate_v2, (void **));
    FIND(int, cublasDestroy_v2, (void *));
    printf("cublasCreate there %d", cublasCreate_v2(&handle));
    printf(" %d\n", handle ? cublasDestroy_v2(handle) : 0);
}

static void call_cublas_lt(void)
{
    void *handle = NULL;

    FIND(int, cublasLtCreate, (void **));
    FIND(size_t, cublasLtGetVersion, (void));
    printf("cublasLtCreate there %d", cublasLtCreate(&handle));
    printf(" %zu\n", cublasLtGetVersion());
}

static void call_cudart(void)
{
    int count = 0;

    FIND(int, cudaGetDeviceCount, (int *));
    FIND(int, cudaDeviceSynchronize, (void));
    printf("cudaGetDeviceCount there %d", cudaGetDeviceCount(&count));
    printf(" %d %d\n", count, cudaDeviceSynchronize());
}

static const struct {
    const char *family;
    void (*call)(void);
} families[] = {
    {"NCCL", call_nccl},
    {"CUBLAS", call_cublas},
    {"CUBLASLT", call_cublas_lt},
    {"CUDART", call_cudart},
};

int main(int argc, char **argv)
{
    library = argc == 4 ? dlopen(argv[2], RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!library) {
        fprintf(stderr, "forward: %s\n", argc == 4 ? dlerror() : "three arguments are needed");
        return 2;
    }
    plain = strcmp(argv[3], "plain") == 0;
    for (size_t i = 0; i < sizeof(hooks) / sizeof(hooks[0]); i++) {
        void *own = dlsym(library, hooks[i].name);
        void *address = plain ? own : dlsym(RTLD_DEFAULT, hooks[i].name);

        if (strcmp(hooks[i].family, argv[1]) == 0)
            printf("%s %s %d\n", hooks[i].name, own ? "there" : "absent",
                   address ? result_of(address) : -1);
    }
    for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++)
        if (strcmp(families[i].family, argv[1]) == 0)
            families[i].call();
    return 0;
}
