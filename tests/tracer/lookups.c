/* SPDX-License-Identifier: MIT
 *
 * Programs that find functions with dlsym(): `lookups SCENARIO [ARGUMENT...]`. It is linked to no
 * GPU library. What a scenario prints must be the same with and without a tracer.
 */
#include "steps.h"

#include <cuda.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static float memory[16384];

static void *open_library(const char *name, int flags)
{
    void *library = dlopen(name, RTLD_NOW | flags);
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(2);
    }
    return library;
}

static bool look_up(void *handle, const char *name, void *slot)
{
    void *found = dlsym(handle, name);
    memcpy(slot, &found, sizeof found);
    if (found == NULL)
        fprintf(stderr, "%s\n", dlerror());
    return found != NULL;
}

/* Each function from a handle of its library. */
static int by_handle(int argc, char **argv)
{
    struct steps s;
    bool found = true;
    (void)argc, (void)argv;
#define X(_library, _function) \
    found &= look_up(open_library(_library, RTLD_LOCAL), #_function, &s._function);
    STEP_FUNCTIONS(X)
#undef X
    return found ? steps_run(&s, memory) : 1;
}

/* From the global scope, into which the libraries were opened. */
static int by_default(int argc, char **argv)
{
    struct steps s;
    bool found = true;
    (void)argc, (void)argv;
#define X(_library, _function)           \
    open_library(_library, RTLD_GLOBAL); \
    found &= look_up(RTLD_DEFAULT, #_function, &s._function);
    STEP_FUNCTIONS(X)
#undef X
    return found ? steps_run(&s, memory) : 1;
}

/* Opens a library that is linked to the others, which no other object can see. */
static int by_local(int argc, char **argv)
{
    int (*steps_linked)(float *), failed;
    void *library = open_library(argc > 0 ? argv[0] : "", RTLD_LOCAL);
    if (!look_up(library, "steps_linked", &steps_linked))
        return 1;
    failed = steps_linked(memory);
    dlclose(library);
    printf("closed\n");
    return failed;
}

/* LIBRARY...: calls of the same function, by turns, by pointers into each. They return numbers. */
static int versions(int argc, char **argv)
{
    int (*start[8])(void), (*finalize[8])(void *);
    for (int i = 0; i < argc && i < 8; i++) {
        void *library = open_library(argv[i], RTLD_LOCAL);
        if (!look_up(library, "ncclGroupStart", &start[i]) ||
            !look_up(library, "ncclCommFinalize", &finalize[i]))
            return 1;
    }
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < argc && i < 8; i++)
            printf("%d %d\n", start[i](), finalize[i](NULL));
    }
    return 0;
}

/* The object's name in a message differs where the tracer's own took its place. */
static void say(const char *what, void *found)
{
    const char *error = dlerror(), *text = error != NULL ? strstr(error, "undefined symbol") : NULL;
    printf("%s: %s%s%s\n", what, found != NULL ? "found" : "NULL", error != NULL ? ", " : "",
           error != NULL ? (text != NULL ? text : error) : "");
}

/* [LIBRARY]: what is not there is not found, in any way of asking. */
static int missing(int argc, char **argv)
{
    void *library = argc > 0 ? open_library(argv[0], RTLD_LOCAL) : NULL;
    dlerror();
    for (int i = 0; i < 2; i++) {
        const char *name = i == 0 ? "ncclGroupStart" : "ncclAllReduce";
        printf("%s\n", name);
        say("default", dlsym(RTLD_DEFAULT, name));
        say("program", dlsym(dlopen(NULL, RTLD_LAZY), name));
        say("next", dlsym(RTLD_NEXT, name));
        if (library != NULL)
            say("handle", dlsym(library, name));
    }
    say("none of ours", dlsym(RTLD_DEFAULT, "no_such_function"));
    say("version", dlvsym(RTLD_DEFAULT, "ncclGroupStart", "NONE_1"));
    return 0;
}

/* dlvsym() with the libraries' own versions, and a wrong one. */
static int by_version(int argc, char **argv)
{
    void *library = open_library("libcublas.so.13", RTLD_LOCAL);
    cublasStatus_t (*create)(cublasHandle_t *),
        (*gemm)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const float *,
                const float *, int, const float *, int, const float *, float *, int);
    cublasHandle_t handle;
    float one = 1;
    void *found = dlvsym(library, "cublasSgemm_v2", "libcublas.so.13");
    (void)argc, (void)argv;
    say("right", found);
    say("wrong", dlvsym(library, "cublasSgemm_v2", "libcublas.so.11"));
    memcpy(&gemm, &found, sizeof found);
    if (found == NULL || !look_up(library, "cublasCreate_v2", &create) || create(&handle) != 0)
        return 1;
    return gemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 8, 8, 8, &one, memory, 8, memory + 64, 8, &one,
                memory + 128, 8);
}

/* LIBRARY: closed and opened again between calls. */
static int closed(int argc, char **argv)
{
    for (int i = 0; i < 3 && argc > 0; i++) {
        void *library = open_library(argv[0], RTLD_LOCAL);
        int (*start)(void);
        if (!look_up(library, "ncclGroupStart", &start))
            return 1;
        printf("%d\n", start());
        dlclose(library);
    }
    return 0;
}

/* LIBRARY in a namespace of its own. */
static int namespaced(int argc, char **argv)
{
    void *library = argc > 0 ? dlmopen(LM_ID_NEWLM, argv[0], RTLD_NOW) : NULL;
    int (*start)(void);
    if (library == NULL || !look_up(library, "ncclGroupStart", &start))
        return 1;
    printf("%d\n", start());
    return 0;
}

/* LIBRARY OTHER: calls that are seen, one in a namespace of its own, and OTHER, loaded for nothing.
 */
static int apart(int argc, char **argv)
{
    if (argc < 2 || namespaced(1, argv) != 0 || by_handle(0, NULL) != 0)
        return 1;
    open_library(argv[1], RTLD_LOCAL); /* last: its SONAME is that of the one that is called */
    return 0;
}

/* A kernel and a copy by the driver's own functions, each by the name it has in the library, as
 * Triton and CuPy ask for them. */
static int driver(int argc, char **argv)
{
    void *cuda = open_library("libcuda.so.1", RTLD_LOCAL);
    void *runtime = open_library("libcudart.so.13", RTLD_LOCAL);
    CUresult (*launch)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                       unsigned, CUstream, void **, void **);
    CUresult (*copy)(CUdeviceptr, const void *, size_t, CUstream), (*await)(CUstream);
    cudaError_t (*stream_create)(cudaStream_t *), (*make)(void **, size_t);
    const void *(*kernel)(const char *, uint64_t), *function;
    CUfunction f;
    cudaStream_t stream;
    void *device;
    (void)argc, (void)argv;
    if (!look_up(cuda, "cuLaunchKernel", &launch) ||
        !look_up(cuda, "cuMemcpyHtoDAsync_v2", &copy) ||
        !look_up(cuda, "cuStreamSynchronize", &await) || !look_up(cuda, "emuKernel", &kernel) ||
        !look_up(runtime, "cudaStreamCreate", &stream_create) ||
        !look_up(runtime, "cudaMalloc", &make))
        return 1;
    function = kernel("triton_poi_fused_add_0", 5000);
    memcpy(&f, &function, sizeof f);
    if (stream_create(&stream) != 0 || make(&device, sizeof memory) != 0)
        return 1;
    for (int i = 0; i < 3; i++) {
        if (launch(f, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL) != 0)
            return 1;
    }
    if (copy((CUdeviceptr)(uintptr_t)device, memory, sizeof memory, stream) != 0)
        return 1;
    return (int)await(stream);
}

/* LIBRARY SCENARIO: runtime.c's. */
static int runtime(int argc, char **argv)
{
    int (*run)(const char *);
    if (argc < 2 || !look_up(open_library(argv[0], RTLD_LOCAL), "runtime_run", &run))
        return 2;
    return run(argv[1]);
}

/* RCCL's own functions and its messages. */
static int rccl(int argc, char **argv)
{
    void *library = open_library("librccl.so.1", RTLD_LOCAL);
    ncclResult_t (*get_id)(ncclUniqueId *), (*init)(ncclComm_t *, int, ncclUniqueId, int);
    ncclResult_t (*all)(const void *, void *, size_t, ncclDataType_t, ncclComm_t, cudaStream_t);
    ncclComm_t comm;
    ncclUniqueId id;
    (void)argc, (void)argv;
    if (!look_up(library, "ncclGetUniqueId", &get_id) ||
        !look_up(library, "ncclCommInitRank", &init) || !look_up(library, "ncclAllToAll", &all))
        return 1;
    return get_id(&id) != 0 || init(&comm, 2, id, 0) != 0 ||
           all(memory, memory + 64, 8, ncclFloat32, comm, NULL) != 0;
}

#define THREADS 16
static pthread_barrier_t together;

static void *ask_and_call(void *library)
{
    int (*start)(void);
    long sum = 0;
    pthread_barrier_wait(&together);
    for (int i = 0; i < 200; i++) {
        if (!look_up(library, "ncclGroupStart", &start))
            return NULL;
        sum += start();
    }
    return (void *)sum;
}

/* LIBRARY...: many threads ask at once, and each gets the function of its own library. */
static int threads(int argc, char **argv)
{
    pthread_t thread[THREADS];
    void *sum;
    pthread_barrier_init(&together, NULL, THREADS);
    for (int i = 0; i < THREADS && argc > 0; i++)
        pthread_create(&thread[i], NULL, ask_and_call, open_library(argv[i % argc], RTLD_LOCAL));
    for (int i = 0; i < THREADS && argc > 0; i++) {
        pthread_join(thread[i], &sum);
        printf("%ld\n", (long)sum);
    }
    return 0;
}

/* Functions of libc behind the program's own, as a wrapper of malloc() asks for them. */
int puts(const char *text)
{
    int (*next)(const char *);
    return look_up(RTLD_NEXT, "puts", &next) ? next(text) : EOF;
}

static int next(int argc, char **argv)
{
    (void)argc, (void)argv;
    return puts("behind") < 0 || dlvsym(RTLD_NEXT, "puts", "NONE_1") != NULL;
}

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
} scenarios[] = {
    {"handle", by_handle}, {"default", by_default}, {"local", by_local}, {"versions", versions},
    {"missing", missing},  {"version", by_version}, {"closed", closed},  {"namespace", namespaced},
    {"threads", threads},  {"next", next},          {"apart", apart},    {"driver", driver},
    {"rccl", rccl},        {"runtime", runtime},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc > 1 && i < sizeof scenarios / sizeof *scenarios; i++) {
        if (strcmp(argv[1], scenarios[i].name) == 0)
            return scenarios[i].run(argc - 2, argv + 2);
    }
    fprintf(stderr, "lookups: no such scenario\n");
    return 2;
}
