/* SPDX-License-Identifier: MIT
 *
 * A library that finds the driver as a static CUDA runtime within it would: dlopen() of
 * libcuda.so.1, dlsym() of cuGetProcAddress and nothing else, and every function from that, in the
 * versions and with the flags that the runtime of CUDA 13.0 asks for. `lookups runtime` opens it.
 */
#include <cuda.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#undef cuGetProcAddress

#define PER_THREAD 2

/* X(member, name, version, flags, parameters) */
#define FUNCTIONS(X)                                                                               \
    X(init, "cuInit", 2000, 0, (unsigned))                                                         \
    X(retain, "cuDevicePrimaryCtxRetain", 7000, 0, (CUcontext *, CUdevice))                        \
    X(set, "cuCtxSetCurrent", 4000, 0, (CUcontext))                                                \
    X(alloc, "cuMemAlloc", 3020, 0, (CUdeviceptr *, size_t))                                       \
    X(stream, "cuStreamCreate", 2000, 0, (CUstream *, unsigned))                                   \
    X(wait, "cuStreamSynchronize", 2000, 0, (CUstream))                                            \
    X(load, "cuLibraryLoadData", 12000, 0,                                                         \
      (CUlibrary *, const void *, void *, void *, unsigned, void *, void *, unsigned))             \
    X(kernel, "cuLibraryGetKernel", 12000, 0, (CUkernel *, CUlibrary, const char *))               \
    X(module, "cuModuleLoadData", 2000, 0, (CUmodule *, const void *))                             \
    X(function, "cuModuleGetFunction", 2000, 0, (CUfunction *, CUmodule, const char *))            \
    X(launch, "cuLaunchKernel", 4000, 0,                                                           \
      (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, \
       void **, void **))                                                                          \
    X(launch_own, "cuLaunchKernel", 7000, PER_THREAD,                                              \
      (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, \
       void **, void **))                                                                          \
    X(together, "cuLaunchCooperativeKernel", 9000, 0,                                              \
      (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, \
       void **))                                                                                   \
    X(launch_ex, "cuLaunchKernelEx", 11060, 0,                                                     \
      (const CUlaunchConfig *, CUfunction, void **, void **))                                      \
    X(launch_ex_own, "cuLaunchKernelEx", 11060, PER_THREAD,                                        \
      (const CUlaunchConfig *, CUfunction, void **, void **))                                      \
    X(fill, "cuMemsetD8Async", 3020, 0, (CUdeviceptr, unsigned char, size_t, CUstream))            \
    X(begin, "cuStreamBeginCapture", 10010, 0, (CUstream, CUstreamCaptureMode))                    \
    X(end, "cuStreamEndCapture", 10000, 0, (CUstream, CUgraph *))                                  \
    X(make, "cuGraphInstantiateWithFlags", 11040, 0, (CUgraphExec *, CUgraph, unsigned long long)) \
    X(run, "cuGraphLaunch", 10000, 0, (CUgraphExec, CUstream))

struct runtime {
#define X(_member, _name, _version, _flags, _params) CUresult(*_member) _params;
    FUNCTIONS(X)
#undef X
    CUcontext context;
    CUstream s;
    CUdeviceptr memory;
    CUfunction softmax, fused; /* a CUkernel, and a function of a module */
};

static const char code[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
                           ".visible .entry softmax_warp_forward() { ret; }\n"
                           ".visible .entry vectorized_elementwise_kernel() { ret; }\n";

/* ---- finding ---- */

static CUresult (*get_v2)(const char *, void **, int, cuuint64_t, void *);
static CUresult (*get_v1)(const char *, void **, int, cuuint64_t);
static int newer; /* what every version is replaced by, unless 0 */

static bool ask(const char *name, int version, cuuint64_t flags, void *slot)
{
    int status = -1;
    void *found = NULL;
    if (newer != 0)
        version = newer;
    if (get_v2 != NULL ? get_v2(name, &found, version, flags, &status) != 0
                       : get_v1(name, &found, version, flags) != 0)
        fprintf(stderr, "no %s of %d\n", name, version);
    memcpy(slot, &found, sizeof found);
    return found != NULL && (get_v2 == NULL || status == 0);
}

static bool find(struct runtime *r)
{
    bool all = true;
#define X(_member, _name, _version, _flags, _params) \
    all &= ask(_name, _version, _flags, &r->_member);
    FUNCTIONS(X)
#undef X
    return all;
}

static bool open_driver(bool old)
{
    void *cuda = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    void *found =
        cuda != NULL ? dlsym(cuda, old ? "cuGetProcAddress" : "cuGetProcAddress_v2") : NULL;
    memcpy(old ? (void *)&get_v1 : (void *)&get_v2, &found, sizeof found);
    return found != NULL;
}

/* ---- launching ---- */

static bool prepare(struct runtime *r)
{
    CUlibrary library;
    CUmodule module;
    CUkernel kernel;
    if (r->init(0) != 0 || r->retain(&r->context, 0) != 0 || r->set(r->context) != 0 ||
        r->stream(&r->s, CU_STREAM_NON_BLOCKING) != 0 || r->alloc(&r->memory, 4096) != 0 ||
        r->load(&library, code, NULL, NULL, 0, NULL, NULL, 0) != 0 ||
        r->kernel(&kernel, library, "softmax_warp_forward") != 0 || r->module(&module, code) != 0 ||
        r->function(&r->fused, module, "vectorized_elementwise_kernel") != 0)
        return false;
    memcpy(&r->softmax, &kernel, sizeof r->softmax);
    return true;
}

/* Six on the stream, then a fill, and six on the thread's own default stream. */
static bool launch(const struct runtime *r)
{
    CUlaunchConfig config = {.gridDimX = 1,
                             .gridDimY = 1,
                             .gridDimZ = 1,
                             .blockDimX = 32,
                             .blockDimY = 1,
                             .blockDimZ = 1,
                             .hStream = r->s};
    bool good = r->together(r->softmax, 1, 1, 1, 32, 1, 1, 0, r->s, NULL) == 0;
    for (int i = 0; i < 3; i++)
        good &= r->launch(r->softmax, 1, 1, 1, 32, 1, 1, 0, r->s, NULL, NULL) == 0;
    for (int i = 0; i < 2; i++)
        good &= r->launch_ex(&config, r->fused, NULL, NULL) == 0;
    good &= r->fill(r->memory, 0, 4096, r->s) == 0;
    config.hStream = NULL;
    for (int i = 0; i < 5; i++)
        good &= r->launch_own(r->fused, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL) == 0;
    good &= r->launch_ex_own(&config, r->softmax, NULL, NULL) == 0;
    return good && r->wait(r->s) == 0;
}

static bool capture(const struct runtime *r)
{
    CUgraph graph;
    CUgraphExec exec;
    if (r->begin(r->s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL) != 0 ||
        r->launch(r->fused, 1, 1, 1, 32, 1, 1, 0, r->s, NULL, NULL) != 0 ||
        r->end(r->s, &graph) != 0 || r->make(&exec, graph, 0) != 0)
        return false;
    return r->run(exec, r->s) == 0 && r->run(exec, r->s) == 0 && r->wait(r->s) == 0;
}

#define THREADS 8

static void *find_and_launch(void *from)
{
    struct runtime r = *(const struct runtime *)from;
    if (r.set(r.context) != 0)
        return NULL;
    for (int i = 0; i < 50; i++) {
        if (!find(&r) || r.launch(r.fused, 1, 1, 1, 32, 1, 1, 0, r.s, NULL, NULL) != 0)
            return NULL;
    }
    return from;
}

static bool in_threads(struct runtime *r)
{
    pthread_t thread[THREADS];
    bool good = true;
    void *result;
    for (int i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, find_and_launch, r);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], &result);
        good &= result != NULL;
    }
    return good;
}

/* The parent finds, and only the child uses. */
static bool in_child(struct runtime *r)
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        bool good = prepare(r) && launch(r);
        fflush(NULL);
        if (!good)
            _exit(1);
        return true; /* the child goes on to its end */
    }
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

__attribute__((visibility("default"))) int runtime_run(const char *scenario);
int runtime_run(const char *scenario)
{
    struct runtime r;
    bool old = strcmp(scenario, "old") == 0;
    if (strcmp(scenario, "newer") == 0)
        newer = 13010;
    if (!open_driver(old))
        return 2;
    if (strcmp(scenario, "again") == 0 && !ask("cuGetProcAddress", 12000, 0, &get_v2))
        return 2;
    if (!find(&r))
        return 2;
    if (strcmp(scenario, "fork") == 0)
        return !in_child(&r);
    if (!prepare(&r))
        return 2;
    if (strcmp(scenario, "capture") == 0)
        return !capture(&r);
    if (strcmp(scenario, "threads") == 0)
        return !in_threads(&r);
    return !launch(&r);
}
