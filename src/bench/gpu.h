/* SPDX-License-Identifier: MIT
 *
 * One GPU for benchmarks: memory, a stream, events and graphs, by the runtime library of its maker
 * (libcudart, libamdhip64), which is opened at run time. Both have the same functions with another
 * prefix.
 *
 *     struct bench_gpu gpu;
 *     if (bench_gpu_open(&gpu, 0, e) < 0) ...
 *     bench_gpu_event(&gpu, &begin, e); ...; bench_gpu_event(&gpu, &end, e);
 *     bench_gpu_wait(&gpu, NULL, NULL, e);
 *     us = bench_gpu_us(&gpu, begin, end);
 *     bench_gpu_close(&gpu);
 *
 * Functions return 0, or -1 with e filled (ERR_INPUT): what was tried, and what the library said.
 */
#ifndef SPECTER_BENCH_GPU_H
#define SPECTER_BENCH_GPU_H

#include "base/err.h"
#include "specter/trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bench_gpu_calls; /* the library's functions */

struct bench_gpu {
    const struct bench_gpu_calls *calls;
    int index;           /* among those that the process sees */
    char name[256];      /* as the driver gives it: "NVIDIA H100 80GB HBM3" */
    char bus_id[32];     /* of PCI: "0000:1b:00.0" */
    int driver, runtime; /* versions, as 13000 for 13.0; 0: not known */
    void *stream;        /* its own, which waits for no other */
};

/* Number of GPUs that this process sees; 0 where there is no library or no GPU, with the reason in
 * e. */
int bench_gpu_count(struct err *e);

int bench_gpu_open(struct bench_gpu *gpu, int index, struct err *e);
void bench_gpu_close(struct bench_gpu *gpu);

/* ---- memory ---- */

int bench_gpu_free_bytes(struct bench_gpu *gpu, size_t *bytes, struct err *e);
int bench_gpu_alloc(struct bench_gpu *gpu, size_t bytes, void **memory, struct err *e);
void bench_gpu_release(struct bench_gpu *gpu, void *memory); /* NULL is fine */

/* In the stream's order; they return when the bytes are there. */
int bench_gpu_put(struct bench_gpu *gpu, void *to, const void *from, size_t bytes, struct err *e);
int bench_gpu_get(struct bench_gpu *gpu, void *to, const void *from, size_t bytes, struct err *e);
/* Within the device, and to one value; they return at once. */
int bench_gpu_copy(struct bench_gpu *gpu, void *to, const void *from, size_t bytes, struct err *e);
int bench_gpu_set(struct bench_gpu *gpu, void *to, int value, size_t bytes, struct err *e);

/* ---- time ---- */

/* Puts an event on the stream; makes it first where *event is NULL. */
int bench_gpu_event(struct bench_gpu *gpu, void **event, struct err *e);
/* Makes work that is put on the stream from now on wait for the event, of another stream. */
int bench_gpu_await(struct bench_gpu *gpu, void *event, struct err *e);
bool bench_gpu_event_is_over(const struct bench_gpu *gpu, void *event);
void bench_gpu_forget_event(struct bench_gpu *gpu, void *event);

/* Waits until the stream has nothing left to do. `alive` (may be NULL) is asked meanwhile: where it
 * returns -1, with e filled, the wait ends so. */
int bench_gpu_wait(struct bench_gpu *gpu, int (*alive)(void *arg, struct err *e), void *arg,
                   struct err *e);

/* Microseconds between two events that are over; below 0: the library reports an error. */
double bench_gpu_us(const struct bench_gpu *gpu, void *begin, void *end);

/* The host's clock in ns since 1970 (CLOCK_REALTIME, which logs have), and a pause, which a signal
 * ends. Of stand-ins whose time is virtual: theirs. */
int64_t bench_gpu_host_ns(const struct bench_gpu *gpu);
void bench_gpu_pause(const struct bench_gpu *gpu, double seconds);

/* ---- graphs ---- */

/* Work that is put on the stream between the two becomes a graph, and is not run. */
int bench_gpu_capture(struct bench_gpu *gpu, struct err *e);
int bench_gpu_captured(struct bench_gpu *gpu, void **graph, struct err *e);
int bench_gpu_launch(struct bench_gpu *gpu, void *graph, struct err *e);
void bench_gpu_forget_graph(struct bench_gpu *gpu, void *graph); /* NULL is fine */

/* ---- libraries ----
 *
 * Libraries of GPUs, opened at run time by name: where the loader finds them, else in the usual
 * folders of their makers (CUDA_HOME, /usr/local/cuda, ROCM_PATH, /opt/rocm). */

/* The first of `names` (ends with NULL) that can be opened; it stays open. *name: which (may be
 * NULL). NULL with e filled (ERR_INPUT): what the loader said of the last that it found, else that
 * there is none. */
void *bench_lib_open(const char *const *names, const char **name, struct err *e);

/* A function of a library: its name and where its address goes. */
struct bench_symbol {
    const char *name;
    size_t offset; /* of a pointer to a function within the table */
};

/* Fills `table` from the library, prefix + name each. 0, or -1 with e filled: one is missing. */
int bench_lib_bind(void *library, const char *prefix, const struct bench_symbol *functions,
                   size_t count, void *table, struct err *e);

/* ---- blas.c ----
 *
 * cuBLAS and cublasLt on one GPU, with memory for GEMMs: random operands of each type, results, and
 * more bytes than any L2 holds. Both libraries are opened at run time.
 *
 *     struct bench_blas blas;
 *     if (bench_blas_open(&blas, &gpu, types, e) < 0) ...
 *     bench_blas_gemm(&blas, &shape, 0, 0, e);
 *     bench_blas_close(&blas);
 *
 * Functions return 0, or -1 with e filled (ERR_INPUT). */

/* The element types that are multiplied, as cuBLAS and as the table name them, and random numbers
 * in each of them. Random, because zeros take less power, and with it run at a higher clock. */

struct bench_gemm_type {
    const char *name; /* in the table: "tf32" are fp32 operands that the library may round */
    enum specter_dtype dtype;
    int in, out;        /* cudaDataType of both operands, of the result */
    int compute, scale; /* cublasComputeType_t, cudaDataType of alpha and beta */
    size_t in_size, out_size;
    int exponent, mantissa; /* bits; 0: an integer */
    int memory;             /* types with the same number share the operands' memory */
    unsigned multiple;      /* of k and n: what the library asks of this type */
    double flops_max;       /* larger GEMMs take too long in it */
    unsigned every;         /* of the plan's shapes this type has one in so many */
    bool light;             /* by cublasLtMatmul: cublasGemmEx does not take it */
};

#define BENCH_GEMM_TYPES 7
#define BENCH_GEMM_MEMORIES 6

/* By its name, or any other that measured tables have for it ("half"); NULL: none of them. */
const struct bench_gemm_type *bench_gemm_type_find(const char *name);

extern const struct bench_gemm_type bench_gemm_types[BENCH_GEMM_TYPES];

/* One GEMM y = x w as deep learning writes it, all matrices by rows: x has m rows, w n columns.
 * Libraries count by columns: to them it is w x, and `w_trans`, `x_trans` are their transpositions.
 */
struct bench_gemm_shape {
    const struct bench_gemm_type *type;
    int64_t m, n, k, batch;
    bool w_trans, x_trans;
};

struct bench_blas {
    struct bench_gpu *gpu; /* borrowed */
    size_t version;        /* cublasLt's, as 130100 */
    void *handle, *light, *preference, *workspace;
    char *operands[BENCH_GEMM_MEMORIES]; /* random; of operand_bytes each; NULL: not wanted */
    char *results;                       /* of result_bytes */
    char *flush;                         /* of flush_bytes: more than any L2 holds */
    size_t operand_bytes, result_bytes, flush_bytes;
};

/* wanted: which of bench_gemm_types get operands. */
int bench_blas_open(struct bench_blas *b, struct bench_gpu *gpu,
                    const bool wanted[BENCH_GEMM_TYPES], struct err *e);
void bench_blas_close(struct bench_blas *b); /* also of one that could not be opened */

/* Puts a GEMM on the GPU's stream. w and x lie in the operands' memory of the type from byte `at`
 * on, y in the results from `y_at` on. */
int bench_blas_gemm(struct bench_blas *b, const struct bench_gemm_shape *s, size_t at, size_t y_at,
                    struct err *e);

/* Bytes from one w to the next set's w, and from one y to the next. */
size_t bench_blas_operand_set(const struct bench_gemm_shape *s);
size_t bench_blas_result_set(const struct bench_gemm_shape *s);

#endif
