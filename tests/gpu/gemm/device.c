/* SPDX-License-Identifier: MIT */
#include "device.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK ((size_t)4 << 20)      /* random numbers are made for so much and then repeated */
#define WORKSPACE ((size_t)32 << 20) /* as frameworks give to cuBLAS on Hopper */
#define OPERANDS_MAX ((size_t)4 << 30)
#define FLUSH ((size_t)512 << 20)
#define ALIGNMENT 256

typedef void *pointer;

/* X(name here, parameters, symbol) */
#define DRIVER(X)                                       \
    X(Init, (unsigned), "cuInit")                       \
    X(Name, (char *, int, int), "cuDeviceGetName")      \
    X(BusId, (char *, int, int), "cuDeviceGetPCIBusId") \
    X(DriverVersion, (int *), "cuDriverGetVersion")
#define RUNTIME(X)                                                                        \
    X(SetDevice, (int), "cudaSetDevice")                                                  \
    X(MemGetInfo, (size_t *, size_t *), "cudaMemGetInfo")                                 \
    X(Malloc, (pointer *, size_t), "cudaMalloc")                                          \
    X(MemcpyAsync, (void *, const void *, size_t, int, pointer), "cudaMemcpyAsync")       \
    X(MemsetAsync, (void *, int, size_t, pointer), "cudaMemsetAsync")                     \
    X(StreamCreate, (pointer *, unsigned), "cudaStreamCreateWithFlags")                   \
    X(StreamSynchronize, (pointer), "cudaStreamSynchronize")                              \
    X(BeginCapture, (pointer, int), "cudaStreamBeginCapture")                             \
    X(EndCapture, (pointer, pointer *), "cudaStreamEndCapture")                           \
    X(GraphInstantiate, (pointer *, pointer, unsigned long long), "cudaGraphInstantiate") \
    X(GraphLaunch, (pointer, pointer), "cudaGraphLaunch")                                 \
    X(GraphExecDestroy, (pointer), "cudaGraphExecDestroy")                                \
    X(GraphDestroy, (pointer), "cudaGraphDestroy")                                        \
    X(EventCreate, (pointer *), "cudaEventCreate")                                        \
    X(EventRecord, (pointer, pointer), "cudaEventRecord")                                 \
    X(EventElapsedTime, (float *, pointer, pointer), "cudaEventElapsedTime")              \
    X(GetLastError, (void), "cudaGetLastError")
#define BLAS(X)                                                                                   \
    X(Create, (pointer *), "cublasCreate_v2")                                                     \
    X(SetStream, (pointer, pointer), "cublasSetStream_v2")                                        \
    X(SetWorkspace, (pointer, pointer, size_t), "cublasSetWorkspace_v2")                          \
    X(GemmEx,                                                                                     \
      (pointer, int, int, int, int, int, const void *, const void *, int, int, const void *, int, \
       int, const void *, void *, int, int, int, int),                                            \
      "cublasGemmEx")                                                                             \
    X(GemmBatched,                                                                                \
      (pointer, int, int, int, int, int, const void *, const void *, int, int, long long,         \
       const void *, int, int, long long, const void *, void *, int, int, long long, int, int,    \
       int),                                                                                      \
      "cublasGemmStridedBatchedEx")
#define LIGHT(X)                                                                                   \
    X(LightCreate, (pointer *), "cublasLtCreate")                                                  \
    X(DescCreate, (pointer *, int, int), "cublasLtMatmulDescCreate")                               \
    X(DescSet, (pointer, int, const void *, size_t), "cublasLtMatmulDescSetAttribute")             \
    X(DescDestroy, (pointer), "cublasLtMatmulDescDestroy")                                         \
    X(LayoutCreate, (pointer *, int, uint64_t, uint64_t, int64_t), "cublasLtMatrixLayoutCreate")   \
    X(LayoutSet, (pointer, int, const void *, size_t), "cublasLtMatrixLayoutSetAttribute")         \
    X(LayoutDestroy, (pointer), "cublasLtMatrixLayoutDestroy")                                     \
    X(PreferenceCreate, (pointer *), "cublasLtMatmulPreferenceCreate")                             \
    X(PreferenceSet, (pointer, int, const void *, size_t), "cublasLtMatmulPreferenceSetAttribute") \
    X(Heuristic,                                                                                   \
      (pointer, pointer, pointer, pointer, pointer, pointer, pointer, int, void *, int *),         \
      "cublasLtMatmulAlgoGetHeuristic")                                                            \
    X(Matmul,                                                                                      \
      (pointer, pointer, const void *, const void *, pointer, const void *, pointer, const void *, \
       const void *, pointer, void *, pointer, const void *, void *, size_t, pointer),             \
      "cublasLtMatmul")

enum { COPY_TO_DEVICE = 1, COPY_ON_DEVICE = 3 };
enum { NON_BLOCKING = 1, CAPTURE_RELAXED = 2 };
enum { OP_N = 0, OP_T = 1, ALGO_DEFAULT = -1 };
enum {
    DESC_TRANSA = 3,
    DESC_TRANSB = 4,
    LAYOUT_BATCH = 5,
    LAYOUT_STRIDE = 6,
    PREFER_WORKSPACE = 1
};

static struct {
#define X(_name, _params, _symbol) int(*_name) _params;
    DRIVER(X)
    RUNTIME(X)
    BLAS(X)
    LIGHT(X)
#undef X
    size_t (*LightVersion)(void);
} cu;

static pointer blas, light, preference, workspace;

/* ---- opening ---- */

static int failed(const char *what, int error)
{
    fprintf(stderr, "gemm: %s: error %d\n", what, error);
    return -1;
}

/* The newest that is there. */
static void *open_library(const char *const *names)
{
    for (; *names != NULL; names++) {
        void *library = dlopen(*names, RTLD_NOW | RTLD_GLOBAL);

        if (library != NULL)
            return library;
    }
    fprintf(stderr, "gemm: %s\n", dlerror());
    return NULL;
}

static int bind(void *library, const char *symbol, void *slot)
{
    void *found = dlsym(library, symbol);

    if (found == NULL) {
        fprintf(stderr, "gemm: no %s\n", symbol);
        return -1;
    }
    memcpy(slot, &found, sizeof found);
    return 0;
}

static int open_libraries(void)
{
    static const char *const drivers[] = {"libcuda.so.1", NULL};
    static const char *const runtimes[] = {"libcudart.so.13", "libcudart.so.12", NULL};
    static const char *const lights[] = {"libcublasLt.so.13", "libcublasLt.so.12", NULL};
    static const char *const whole[] = {"libcublas.so.13", "libcublas.so.12", NULL};
    void *driver = open_library(drivers), *runtime, *lt, *full;
    int missing = 0;

    if (driver == NULL || (runtime = open_library(runtimes)) == NULL ||
        (lt = open_library(lights)) == NULL || (full = open_library(whole)) == NULL)
        return -1;
#define X(_name, _params, _symbol) missing += bind(driver, _symbol, &cu._name);
    DRIVER(X)
#undef X
#define X(_name, _params, _symbol) missing += bind(runtime, _symbol, &cu._name);
    RUNTIME(X)
#undef X
#define X(_name, _params, _symbol) missing += bind(full, _symbol, &cu._name);
    BLAS(X)
#undef X
#define X(_name, _params, _symbol) missing += bind(lt, _symbol, &cu._name);
    LIGHT(X)
#undef X
    missing += bind(lt, "cublasLtGetVersion", &cu.LightVersion);
    return missing;
}

static int open_handles(struct device *d)
{
    size_t bytes = WORKSPACE;
    int error;

    if ((error = cu.StreamCreate(&d->stream, NON_BLOCKING)) != 0)
        return failed("a stream", error);
    if ((error = cu.Malloc(&workspace, WORKSPACE)) != 0)
        return failed("cuBLAS' workspace", error);
    if ((error = cu.Create(&blas)) != 0 || (error = cu.SetStream(blas, d->stream)) != 0 ||
        (error = cu.SetWorkspace(blas, workspace, WORKSPACE)) != 0)
        return failed("cuBLAS", error);
    if ((error = cu.LightCreate(&light)) != 0 || (error = cu.PreferenceCreate(&preference)) != 0 ||
        (error = cu.PreferenceSet(preference, PREFER_WORKSPACE, &bytes, sizeof bytes)) != 0)
        return failed("cublasLt", error);
    d->blas_version = cu.LightVersion();
    return 0;
}

/* The block on the host, once to the device, and there doubled until all is filled. */
static int fill_operands(struct device *d, const struct gemm_type *type, char *block)
{
    char *to = d->operands[type->memory];
    size_t have = BLOCK;
    int error;

    gemm_type_fill(type, block, BLOCK);
    error = cu.MemcpyAsync(to, block, BLOCK, COPY_TO_DEVICE, d->stream);
    for (; error == 0 && have < d->operand_bytes; have *= 2) {
        size_t left = d->operand_bytes - have;

        error = cu.MemcpyAsync(to + have, to, left < have ? left : have, COPY_ON_DEVICE, d->stream);
    }
    return error != 0 ? error : device_sync(d);
}

static int make_operands(struct device *d)
{
    char *block = malloc(BLOCK);
    int error = block != NULL ? 0 : -1;

    for (size_t i = 0; i < GEMM_TYPES && error == 0; i++) {
        char **operands = &d->operands[gemm_types[i].memory];

        if (*operands != NULL)
            continue;
        error = cu.Malloc((pointer *)operands, d->operand_bytes);
        if (error == 0)
            error = fill_operands(d, &gemm_types[i], block);
    }
    free(block);
    return error;
}

static int make_memory(struct device *d)
{
    size_t unused, all;
    int error = cu.MemGetInfo(&unused, &all);

    if (error != 0)
        return failed("the device's memory", error);
    d->operand_bytes = unused / 12 < OPERANDS_MAX ? unused / 12 : OPERANDS_MAX;
    d->operand_bytes -= d->operand_bytes % ALIGNMENT;
    d->result_bytes = d->operand_bytes;
    d->flush_bytes = FLUSH < d->operand_bytes ? FLUSH : d->operand_bytes;
    if (d->operand_bytes < BLOCK)
        return failed("too little free memory", 0);
    if ((error = cu.Malloc((pointer *)&d->results, d->result_bytes)) != 0 ||
        (error = cu.Malloc((pointer *)&d->flush, d->flush_bytes)) != 0 ||
        (error = make_operands(d)) != 0)
        return failed("memory for operands", error);
    return 0;
}

int device_open(struct device *d)
{
    int error;

    memset(d, 0, sizeof *d);
    if (open_libraries() < 0)
        return -1;
    if ((error = cu.Init(0)) != 0)
        return failed("cuInit", error);
    if ((error = cu.SetDevice(0)) != 0 || (error = cu.Name(d->name, sizeof d->name, 0)) != 0 ||
        (error = cu.BusId(d->bus_id, sizeof d->bus_id, 0)) != 0 ||
        (error = cu.DriverVersion(&d->cuda_version)) != 0)
        return failed("the device", error);
    return open_handles(d) < 0 ? -1 : make_memory(d);
}

/* ---- products ---- */

static size_t aligned(int64_t elements, size_t size)
{
    return ((size_t)elements * size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

size_t device_operand_set(const struct gemm_shape *s)
{
    return aligned(s->n * s->k * s->batch, s->type->in_size) +
           aligned(s->m * s->k * s->batch, s->type->in_size);
}

size_t device_result_set(const struct gemm_shape *s)
{
    return aligned(s->m * s->n * s->batch, s->type->out_size);
}

/* Factors of the sum, in the type that the library wants them in. */
static const void *one(const struct gemm_type *t)
{
    static const float f = 1;
    static const double d = 1;
    static const int32_t i = 1;

    return t->scale == 1 ? (const void *)&d : t->scale == 10 ? (const void *)&i : &f;
}

static const void *zero(void)
{
    static const double d = 0; /* of any type */

    return &d;
}

static int whole_gemm(const struct gemm_shape *s, const char *w, const char *x, char *y)
{
    const struct gemm_type *t = s->type;
    int opw = s->w_trans ? OP_T : OP_N, opx = s->x_trans ? OP_T : OP_N;
    int m = (int)s->m, n = (int)s->n, k = (int)s->k;
    int ldw = s->w_trans ? k : n, ldx = s->x_trans ? m : k;

    if (s->batch == 1)
        return cu.GemmEx(blas, opw, opx, n, m, k, one(t), w, t->in, ldw, x, t->in, ldx, zero(), y,
                         t->out, n, t->compute, ALGO_DEFAULT);
    return cu.GemmBatched(blas, opw, opx, n, m, k, one(t), w, t->in, ldw, s->n * s->k, x, t->in,
                          ldx, s->m * s->k, zero(), y, t->out, n, s->m * s->n, (int)s->batch,
                          t->compute, ALGO_DEFAULT);
}

/* A matrix of so many rows and columns, counted by columns, `batch` times. */
static int make_layout(pointer *layout, int type, int64_t rows, int64_t cols, int64_t batch)
{
    int32_t count = (int32_t)batch;
    int64_t stride = rows * cols;
    int error = cu.LayoutCreate(layout, type, (uint64_t)rows, (uint64_t)cols, rows);

    if (error == 0 && batch > 1)
        error = cu.LayoutSet(*layout, LAYOUT_BATCH, &count, sizeof count);
    if (error == 0 && batch > 1)
        error = cu.LayoutSet(*layout, LAYOUT_STRIDE, &stride, sizeof stride);
    return error;
}

/* As the library would choose: the first result of its heuristic, whose head is the algorithm. */
static int light_run(struct device *d, const struct gemm_shape *s, pointer desc,
                     pointer const layouts[3], const char *w, const char *x, char *y)
{
    union {
        char bytes[256]; /* cublasLtMatmulHeuristicResult_t has 104 */
        double alignment;
    } result;
    int found = 0;
    int error = cu.Heuristic(light, desc, layouts[0], layouts[1], layouts[2], layouts[2],
                             preference, 1, &result, &found);

    if (error != 0 || found == 0)
        return error != 0 ? error : -1;
    return cu.Matmul(light, desc, one(s->type), w, layouts[0], x, layouts[1], zero(), y, layouts[2],
                     y, layouts[2], &result, workspace, WORKSPACE, d->stream);
}

static int light_gemm(struct device *d, const struct gemm_shape *s, const char *w, const char *x,
                      char *y)
{
    const struct gemm_type *t = s->type;
    int32_t opw = s->w_trans ? OP_T : OP_N, opx = s->x_trans ? OP_T : OP_N;
    pointer desc = NULL, layouts[3] = {NULL, NULL, NULL};
    int error = cu.DescCreate(&desc, t->compute, t->scale);

    if (error != 0)
        return error;
    if ((error = cu.DescSet(desc, DESC_TRANSA, &opw, sizeof opw)) == 0 &&
        (error = cu.DescSet(desc, DESC_TRANSB, &opx, sizeof opx)) == 0 &&
        (error = make_layout(&layouts[0], t->in, s->w_trans ? s->k : s->n, s->w_trans ? s->n : s->k,
                             s->batch)) == 0 &&
        (error = make_layout(&layouts[1], t->in, s->x_trans ? s->m : s->k, s->x_trans ? s->k : s->m,
                             s->batch)) == 0 &&
        (error = make_layout(&layouts[2], t->out, s->n, s->m, s->batch)) == 0)
        error = light_run(d, s, desc, layouts, w, x, y);
    for (int i = 0; i < 3; i++)
        if (layouts[i] != NULL)
            cu.LayoutDestroy(layouts[i]);
    cu.DescDestroy(desc);
    return error;
}

int device_gemm(struct device *d, const struct gemm_shape *s, size_t at, size_t y_at)
{
    const char *w = d->operands[s->type->memory] + at;
    const char *x = w + aligned(s->n * s->k * s->batch, s->type->in_size);

    return s->type->light ? light_gemm(d, s, w, x, d->results + y_at)
                          : whole_gemm(s, w, x, d->results + y_at);
}

/* ---- the stream ---- */

int device_flush(struct device *d)
{
    return cu.MemsetAsync(d->flush, 0, d->flush_bytes, d->stream);
}

int device_event(struct device *d, void **event)
{
    int error = *event != NULL ? 0 : cu.EventCreate(event);

    return error != 0 ? error : cu.EventRecord(*event, d->stream);
}

int device_sync(struct device *d)
{
    return cu.StreamSynchronize(d->stream);
}

double device_us(void *begin, void *end)
{
    float ms;

    return cu.EventElapsedTime(&ms, begin, end) == 0 ? (double)ms * 1e3 : -1;
}

int device_capture(struct device *d)
{
    return cu.BeginCapture(d->stream, CAPTURE_RELAXED);
}

int device_captured(struct device *d, void **graph)
{
    pointer recorded = NULL;
    int error = cu.EndCapture(d->stream, &recorded);

    *graph = NULL;
    if (error == 0)
        error = cu.GraphInstantiate(graph, recorded, 0);
    if (recorded != NULL)
        cu.GraphDestroy(recorded);
    if (error != 0)
        cu.GetLastError(); /* or the next call would return it */
    return error;
}

int device_launch(struct device *d, void *graph)
{
    return cu.GraphLaunch(graph, d->stream);
}

void device_forget(void *graph)
{
    if (graph != NULL)
        cu.GraphExecDestroy(graph);
}
