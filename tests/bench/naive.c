/* SPDX-License-Identifier: MIT
 *
 * The tracer that one writes first, to compare with: wrappers from the same hook table that read
 * the clock before and after the real call, take one mutex and print a JSON line of the same keys
 * to the file $NAIVE_OUTPUT.
 */
#include "specter/trace.h"

#include <dlfcn.h>
#include <half.h>
#include <cublasLt.h>
#include <cublas_v2.h>
#include <inttypes.h>
#include <nccl.h>
#include "../../tracer/hooks/calls.h"
#include "../../tracer/hooks/nccl_types.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

struct span {
    uint64_t start_ns, end_ns;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static FILE *file;
static uint64_t next_id, next_seq; /* under the mutex, as the file */

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

__attribute__((constructor)) static void open_file(void)
{
    const char *path = getenv("NAIVE_OUTPUT");
    file = fopen(path != NULL ? path : "/dev/null", "w");
    if (file == NULL)
        abort();
}

typedef void (*function)(void);

static function find(_Atomic(void *) *found, const char *name)
{
    void *real = atomic_load_explicit(found, memory_order_acquire);
    function f;
    if (real == NULL)
        atomic_store(found, real = dlsym(RTLD_NEXT, name));
    memcpy(&f, &real, sizeof f);
    return f;
}

/* Writes the end of a line, which is alike in all. */
static void print_call(const struct span *s, const void *stream)
{
    fprintf(file,
            "\"device\":0,\"stream\":%" PRIuPTR ",\"tid\":%lu,\"host_us\":%.3f,"
            "\"host_end_us\":%.3f,\"timing\":\"host\"}\n",
            (uintptr_t)stream, (unsigned long)pthread_self(), (double)s->start_ns / 1e3,
            (double)s->end_ns / 1e3);
}

static void log_comm_op(struct span s, const char *op, size_t count, int type, int redop, int root,
                        ncclComm_t comm, const void *stream)
{
    enum specter_dtype dtype = specter_dtype_from_nccl(type);
    s.end_ns = now();
    pthread_mutex_lock(&mutex);
    fprintf(file,
            "{\"id\":%" PRIu64 ",\"type\":\"nccl\",\"op\":\"%s\",\"start_us\":%.3f,"
            "\"duration_us\":%.3f,\"bytes\":%zu,\"count\":%zu,\"dtype\":\"%s\",\"redop\":\"%s\","
            "\"comm\":\"%p\",\"comm_rank\":0,\"comm_size\":8,\"seq\":%" PRIu64 ",\"root\":%d,"
            "\"group\":null,",
            next_id++, op, (double)s.start_ns / 1e3, (double)(s.end_ns - s.start_ns) / 1e3,
            count * specter_dtype_bits(dtype) / 8, count, specter_dtype_name(dtype),
            specter_redop_name(specter_redop_from_nccl(redop)), (void *)comm, next_seq++, root);
    print_call(&s, stream);
    pthread_mutex_unlock(&mutex);
}

static void log_gemm(struct span s, const char *op, const void *handle, int transa, int transb,
                     int64_t m, int64_t n, int64_t k, int64_t batch, int a, int b, int c,
                     int64_t lda, int64_t ldb, int64_t ldc, double beta)
{
    double ns;
    s.end_ns = now();
    ns = (double)(s.end_ns - s.start_ns);
    pthread_mutex_lock(&mutex);
    fprintf(file,
            "{\"id\":%" PRIu64 ",\"type\":\"cublas\",\"op\":\"%s\",\"start_us\":%.3f,"
            "\"duration_us\":%.3f,\"m\":%" PRId64 ",\"n\":%" PRId64 ",\"k\":%" PRId64
            ",\"batch\":%" PRId64 ",\"dtype\":\"%s\","
            "\"dtype_b\":\"%s\",\"dtype_c\":\"%s\",\"compute\":\"fp32\",\"trans\":\"%c%c\","
            "\"lda\":%" PRId64 ",\"ldb\":%" PRId64 ",\"ldc\":%" PRId64
            ",\"beta\":%g,\"epilogue\":\"none\",\"tflops\":%.1f,",
            next_id++, op, (double)s.start_ns / 1e3, ns / 1e3, m, n, k, batch,
            specter_dtype_name(specter_dtype_from_cuda(a)),
            specter_dtype_name(specter_dtype_from_cuda(b)),
            specter_dtype_name(specter_dtype_from_cuda(c)), transa != 0 ? 'T' : 'N',
            transb != 0 ? 'T' : 'N', lda, ldb, ldc, beta,
            2e-3 * (double)m * (double)n * (double)k * (double)batch / ns);
    print_call(&s, handle);
    pthread_mutex_unlock(&mutex);
}

/* The last column of the table: what is logged, and nothing for calls of which there is no line.
 * A NAIVE_CALL_* that is defined makes a second argument, which PICK takes. */
#define NAIVE_CALL_COLL(_op, _count, _type, _redop, _root, _send, _recv, _comm, _stream) \
    ~, log_comm_op(span, #_op, _count, (int)(_type), _redop, _root, _comm, _stream)
#define NAIVE_CALL_P2P(_op, _count, _type, _peer, _buffer, _comm, _stream) \
    ~, log_comm_op(span, #_op, _count, (int)(_type), -1, _peer, _comm, _stream)
#define NAIVE_CALL_GEMM(_int, _handle, _transa, _transb, _m, _n, _k, _batch, _a, _b, _c, _compute, \
                        _complex, _lda, _ldb, _ldc, _beta)                                         \
    ~, log_gemm(span, __func__, _handle, (int)(_transa), (int)(_transb), _m, _n, _k, _batch, _a,   \
                _b, _c, _lda, _ldb, _ldc, (_c) == CUDA_R_32F ? *(const float *)(_beta) : 0)
#define SECOND(_first, _second, ...) _second
#define PICK(...) SECOND(__VA_ARGS__, (void)span, ~)

/* clang-format off */
#define HOOK(_lib, _ret, _fn, _params, _args, _record)                   \
    _ret _fn _params                                                     \
    {                                                                    \
        static _Atomic(void *) found;                                    \
        _ret(*real) _params = (_ret(*) _params)find(&found, #_fn);       \
        struct span span = {.start_ns = now()};                          \
        _ret result = real _args;                                        \
        PICK(NAIVE_##_record);                                           \
        return result;                                                   \
    }
/* clang-format on */
#include "../../tracer/hooks/cublas.def"
#include "../../tracer/hooks/nccl.def"
