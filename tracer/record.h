/* SPDX-License-Identifier: MIT
 *
 * The result of a hook: one fixed-size record in its thread's ring. The writer thread turns it into
 * a line of the trace; nothing here is text but the name of a mark.
 */
#ifndef SPECTER_TRACER_RECORD_H
#define SPECTER_TRACER_RECORD_H

#include "specter/trace.h"

#include <stdbool.h>
#include <stdint.h>

#define NO_TIME INT64_MIN  /* a time that is not known: null in the file */
#define NO_ID UINT32_MAX   /* likewise for streams, events, groups, graphs */
#define NO_SPAN UINT32_MAX /* the record waits for nothing */

enum record_kind {
    RECORD_NCCL,
    RECORD_GEMM,
    RECORD_EVENT, /* an event is recorded */
    RECORD_WAIT,  /* a stream waits for one */
    RECORD_SYNC,
    RECORD_COPY,
    RECORD_LAUNCH, /* kernels that no other kind has: counted */
    RECORD_GRAPH,
    RECORD_MARK,
    RECORD_KIND_COUNT
};

enum sync_kind { SYNC_STREAM, SYNC_EVENT, SYNC_DEVICE };

/* The type that a GEMM is computed in: enum specter_dtype, or a type that is emulated with another.
 */
enum gemm_compute {
    COMPUTE_BF16X9 = SPECTER_DTYPE_COUNT + 1, /* fp32 by nine products of bf16 */
    COMPUTE_FIXED_POINT,                      /* fp64 by products of int8 */
};

enum record_flag {
    RECORD_INPLACE = 1, /* NCCL: one buffer for input and output */
    RECORD_UPPER = 2,   /* the time includes launch work: the stream was idle */
};

#define MARK_NAME_MAX 64 /* bytes of a mark's name, the 0 included; longer ones are cut */

struct record {
    uint8_t kind;   /* enum record_kind */
    uint8_t timing; /* enum specter_timing; with a span: what remains when the span gives no time */
    uint16_t op;    /* enum specter_comm_op, enum hook_id (GEMM), enum sync_kind, enum
                       specter_copy or enum specter_mark */
    uint8_t dtype;  /* enum specter_dtype */
    uint8_t flags;  /* enum record_flag */
    int16_t device; /* CUDA ordinal; -1 unknown */
    uint16_t tid;
    uint16_t group_index; /* NCCL: position in its group, from 1 */
    uint32_t stream;      /* ids.h */
    uint32_t span;        /* device.h */
    uint32_t graph;       /* of captured work, and of a launch: the capture; else NO_ID */
    int64_t host_ns, host_end_ns;
    int64_t start_ns, dur_ns; /* from init.mono_ns; set by --sync, else by the writer */
    union {
        struct {
            uint64_t comm; /* identity; 0 unknown */
            uint64_t count;
            int64_t seq; /* or p2p_seq; -1 unknown */
            int32_t comm_rank, comm_size;
            int32_t peer; /* peer or root; -1 none */
            uint32_t group;
            uint8_t redop;
        } nccl;
        struct {
            union {
                int64_t m;     /* m, n, k, lda, ldb, ldc: -1 unknown */
                uint64_t flop; /* instead, with n -1: in all groups, which differ; UINT64_MAX */
            };
            int64_t n, k;
            int64_t lda, ldb, ldc;
            double beta; /* NAN unknown */
            uint32_t batch;
            union {
                uint32_t groups;  /* of a grouped call; 0: it is none */
                uint8_t order[4]; /* Lt call: cublasLtOrder_t of A, B and the result */
            };
            uint16_t epilogue; /* cublasLtEpilogue_t; 0: not an Lt call */
            uint8_t dtype_b, dtype_c;
            uint8_t compute; /* enum specter_dtype or enum gemm_compute */
            uint8_t unit;    /* operations for one m, n, k: 2; complex 8, or 6 */
            char trans[2];   /* 0 unknown */
        } gemm;
        struct {
            uint32_t event; /* ids.h */
        } dep;
        struct {
            uint64_t bytes;
        } copy;
        struct {
            uint32_t launches;
            uint32_t classes[SPECTER_KERNEL_CLASS_COUNT]; /* of the launches */
            int64_t max_gap_ns; /* longest time between two of them, on the host */
        } untraced;
        struct {
            uint32_t number; /* of this launch of the graph, from 0 */
        } launch;            /* RECORD_GRAPH */
        struct {
            char name[MARK_NAME_MAX];
        } mark; /* host_ns: when; host_end_ns: the end of a range, else NO_TIME */
    };
};

/* A record of which nothing is known. To be copied: a struct that is filled member by member costs
 * a hook several ns more. */
static const struct record record_blank = {.device = -1,
                                           .stream = NO_ID,
                                           .span = NO_SPAN,
                                           .graph = NO_ID,
                                           .host_ns = NO_TIME,
                                           .host_end_ns = NO_TIME,
                                           .start_ns = NO_TIME,
                                           .dur_ns = NO_TIME};

/* Operations of `batch` products, `unit` for one m, n, k; UINT64_MAX: unknown, or too many. */
static inline uint64_t record_flop(uint8_t unit, int64_t m, int64_t n, int64_t k, int64_t batch)
{
    const int64_t factors[] = {m, n, k, batch};
    uint64_t flop = unit;
    for (int i = 0; i < 4; i++) {
        if (factors[i] < 0 || __builtin_mul_overflow(flop, (uint64_t)factors[i], &flop))
            return UINT64_MAX;
    }
    return flop;
}

/* Returns whether it is an operation, which has an id and a time. */
static inline bool record_is_op(const struct record *r)
{
    return r->kind == RECORD_NCCL || r->kind == RECORD_GEMM || r->kind == RECORD_COPY ||
           r->kind == RECORD_GRAPH;
}

/* A graph's: its line lists what was captured, which must all have been numbered before. */
static inline bool record_is_first_launch(const struct record *r)
{
    return r->kind == RECORD_GRAPH && r->graph != NO_ID && r->launch.number == 0;
}

_Static_assert(sizeof(struct record) == 128, "two cache lines a record");

#endif
