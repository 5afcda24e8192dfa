/* SPDX-License-Identifier: MIT
 *
 * Device work by what it was, pooled over the ranks that are added: operations by name, by kind and
 * by length, GEMMs by shape, and work by the operation of the framework that launched it.
 */
#ifndef SPECTER_ANALYSIS_WORK_H
#define SPECTER_ANALYSIS_WORK_H

#include "base/idmap.h"
#include "base/stats.h"
#include "model/profile.h"
#include "trace/run.h"

/* Kinds of device work beside the classes of kernels, which come first. */
enum work_kind {
    WORK_COMM = SPECTER_KERNEL_COMM,          /* collectives, sends, receives */
    WORK_MEMORY = SPECTER_KERNEL_CLASS_COUNT, /* copies and memsets, no kernels */
    WORK_GRAPH,
    WORK_KINDS
};

const char *work_kind_name(unsigned kind); /* "gemm", ..., "communication" */

/* All operations of one name and class. total_ns is the sum of their device times: where they
 * overlap it counts both, so shares of a span may add to more than one. */
struct top_row {
    const char *name; /* borrowed from the run */
    uint8_t class;    /* enum op_class */
    uint8_t kind;     /* enum work_kind, or the class of the kernel; after work_finish */
    uint64_t count;   /* with device time */
    double total_ns, min_ns, max_ns;
    double median_ns;        /* after work_finish */
    double std_ns;           /* likewise; of a sample, NAN with one */
    double mean_ns, squares; /* while it is added up: mean, and squares of the distances from it, */
    struct sample times;     /* and every time */
};

/* Kernels (no communication, copies or graphs) by how long they took: shorter than the bound, and
 * no shorter than the one before. */
#define WORK_LENGTHS(X) X(1000) X(2000) X(5000) X(10000) X(20000) X(50000) X(100000) X(1000000)
#define X(ns) +1
enum { WORK_LENGTH_COUNT = 1 WORK_LENGTHS(X) }; /* the last is without a bound */
#undef X

#define WORK_SHORT_NS 10000 /* one of the bounds: a kernel below it is short */

struct work_sum {
    uint64_t count;
    double total_ns;
};

/* All operations of a kind. */
struct kind_sum {
    uint64_t count;
    double total_ns;
    double min_ns, median_ns, max_ns; /* NAN without any */
};

/* All GEMMs of one shape. tflops = 2*m*n*k*batch*timed / total time: what was achieved. The time
 * is that of all kernels of a GEMM, a split one's sum included.
 *
 * The roofline: a GEMM's flops take flops / dense peak, its operands, each moved once, take
 * bytes / memory bandwidth; it takes at least the longer of both, limit_ns. Of GEMMs whose GPU
 * has a profile and whose types are known. */
struct gemm_row {
    uint32_t m, n, k, batch;
    uint8_t dtype, compute; /* enum specter_dtype */
    uint64_t count;         /* calls */
    uint64_t timed;         /* of them with device time */
    double total_ns;
    double tflops;      /* NAN unknown */
    double peak_tflops; /* dense, of the fastest GPU that ran it; NAN unknown */

    uint64_t limited;  /* of the timed ones, those with a limit: sums over them */
    double limited_ns; /* what they took */
    double limit_ns;   /* what they take at least */
    double flops_ns;   /* flops / peak */
    double bytes_ns;   /* bytes / bandwidth */
    double bytes;      /* A, B and C, each once */
};

/* FLOPs of one call. */
static inline double gemm_row_flops(const struct gemm_row *g)
{
    return 2.0 * g->m * g->n * g->k * g->batch;
}

/* Calls of an operator that is no plain GEMM, of one size: convolutions, attention, grouped
 * GEMMs. flops of a call as its inputs tell them; the time is that of all its kernels that
 * compute. */
struct flops_row {
    const char *op; /* "aten::_flash_attention_forward"; borrowed from the run */
    uint8_t dtype, compute;
    double flops;
    uint64_t count, timed;
    double total_ns;
    double tflops, peak_tflops; /* as of a GEMM */
};

/* Device work by the operation of the framework that launched it ("aten::mm"). Work of which no
 * operation is known has a row of its own, so that the rows add up to all device time. */
struct framework_op_row {
    const char *name;                 /* borrowed from the run; NULL: none is known */
    uint64_t count;                   /* kernels, copies and communication, with device times */
    double total_ns;                  /* sum of device times: what overlaps counts twice */
    double min_ns, median_ns, max_ns; /* after work_finish */
    double comm_ns, memory_ns;        /* parts of the total */
    struct sample times;              /* while it is added up: every time */
};

struct framework_ops {
    struct framework_op_row *list; /* owned; after work_finish by total_ns, largest first */
    size_t count, cap;
    double total_ns; /* of all */
    struct name_index names;
};

struct work {
    struct top_row *top; /* owned; after work_finish by total_ns, largest first */
    size_t ntop, cap_top;
    struct gemm_row *gemms; /* owned; after work_finish by total_ns, largest first */
    size_t ngemms, cap_gemms;
    size_t join_gemms_at;        /* at so many, equal shapes are joined: bounds memory */
    struct flops_row *sized_ops; /* owned; likewise */
    size_t nsized_ops, cap_sized_ops, join_sized_ops_at;
    struct name_index names;                    /* (name, class) -> index into top, until
                                              work_finish */
    struct work_sum lengths[WORK_LENGTH_COUNT]; /* of kernels */
    struct kind_sum kinds[WORK_KINDS];          /* after work_finish */
    struct framework_ops framework_ops;
};

void work_init(struct work *w);
void work_release(struct work *w);

/* Adds a rank's operations. The run must outlive w, which borrows names. */
void work_add_rank(struct work *w, const struct rank *rank);

/* After the last rank: sorts, and fills what is said to be there after work_finish. */
void work_finish(struct work *w);

/* Upper bound of lengths[i]; INT64_MAX for the last. */
int64_t work_length_ns(size_t i);

/* All GEMMs that have both a time and a peak: what they took and did, and what the peaks would
 * have done in that time. All 0: there are none. */
struct gemm_sum {
    double total_ns, flops, peak_flops;
};
struct gemm_sum work_gemms(const struct work *w);

/* Kernels shorter than WORK_SHORT_NS; all kernels. */
struct work_sum work_short(const struct work *w);
struct work_sum work_kernels(const struct work *w);

/* Returns whether any operation of the framework is known. */
bool framework_ops_known(const struct framework_ops *o);

/* ---- the rest (other_work.c) ----
 *
 * Device work that is neither communication nor a GEMM, pooled over the ranks that are added:
 * copies by kind, kernels that were only counted, and launches of graphs. Sizes and counts that a
 * damaged trace makes too large stop at UINT64_MAX.
 */

/* All copies of one kind. */
struct copy_row {
    const char *kind; /* "h2d", ...; or the profiler's name; borrowed from the run */
    uint64_t count;
    uint64_t timed;       /* of them with device times */
    uint64_t sized;       /* of them with a size */
    uint64_t bytes;       /* of those */
    uint64_t timed_bytes; /* of those with device times */
    double sized_ns;      /* device times of those with a size */
    double max_GBps;      /* of the fastest of them; 0: none has taken any time */
    double total_ns;      /* sum of device times */
    double exposed_ns;    /* in which such copies run, and neither compute nor communication */
};

/* Kernels that were counted and not timed, those in graphs apart. */
struct launch_sum {
    uint64_t count;
    uint64_t classes[SPECTER_KERNEL_CLASS_COUNT];
    int64_t max_gap_ns; /* on the host, between two of one stream; UNKNOWN_NS */
    uint64_t steps;     /* that the ranks mark */
    uint64_t in_steps;  /* launches in them */
    uint64_t in_steps_of[SPECTER_KERNEL_CLASS_COUNT];
};

/* All launches of the graphs with one number, and what is in them. */
struct graph_row {
    int32_t graph;
    uint64_t count, timed;
    double total_ns;
    uint64_t ops;        /* recorded operations that these launches ran */
    uint64_t comms;      /* of them communication */
    uint64_t comm_bytes; /* of that, as far as known */
    uint64_t kernels;    /* that they ran beside these */
};

#define OTHER_WORK_COPY_KINDS 32 /* more share the last row, "other kinds" */

struct other_work {
    struct copy_row
        copies[OTHER_WORK_COPY_KINDS]; /* after other_work_finish() by total_ns, largest first */
    size_t ncopies;
    struct launch_sum launches;
    struct graph_row *graphs;            /* owned; likewise */
    size_t ngraphs, cap_graphs, join_at; /* as join_gemms_at */
};

void other_work_init(struct other_work *x);
void other_work_release(struct other_work *x);
void other_work_add_rank(struct other_work *x, const struct rank *rank); /* names are borrowed */
void other_work_finish(struct other_work *x); /* after the last rank: sorts */

#endif
