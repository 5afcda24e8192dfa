/* SPDX-License-Identifier: MIT
 *
 * The cost of one operation on one kind of hardware. Pure functions: no I/O, no globals, no clock.
 * Derivations, assumptions and where each is wrong: src/model/README.md.
 *
 * All return 0, or -1 with e filled when the profile lacks a figure that is needed (the message
 * names profile and field) or the request makes no sense.
 */
#ifndef SPECTER_MODEL_COST_H
#define SPECTER_MODEL_COST_H

#include "model/profile.h"

/* cost = lat + bytes / bw: the value that alpha-beta models are built from.
 * (the idea of a linear function as a value: UCX linear_func) */
struct linear {
    double lat_us;
    double us_per_byte;
};

struct linear linear_make(double lat_us, double bw_GBps);
struct linear linear_add(struct linear a, struct linear b);
double linear_us(struct linear f, double bytes);

/* Where a communicator's ranks sit: `nodes` nodes with `per_node` ranks each (the largest share). */
struct layout {
    int ranks;
    int nodes;
    int per_node;
};

/* n ranks laid onto nodes in order, as a launcher does. */
struct layout layout_dense(const struct network_profile *net, int ranks);

struct comm_cost {
    double us;           /* total */
    double lat_us;       /* of it: what does not depend on bytes */
    double bw_GBps;      /* the bandwidth term's rate, as bus bandwidth */
    const char *algo;    /* "ring", "tree", "p2p", ... */
    const char *bound;   /* "latency", "intra", "inter": what the time is made of */
};

/* bytes: full buffer S (specter/trace.h). For AlltoAllv the bytes this rank sends. */
int model_collective(const struct gpu_profile *gpu, const struct network_profile *net,
                     enum specter_comm_op op, double bytes, struct layout where,
                     struct comm_cost *out, struct err *e);

/* One message between two ranks; `across`: they sit on different nodes. */
int model_p2p(const struct gpu_profile *gpu, const struct network_profile *net, double bytes,
              bool across, struct comm_cost *out, struct err *e);

struct gemm_shape {
    uint64_t m, n, k, batch;
    enum specter_dtype type;    /* of A and B */
    enum specter_dtype type_c;
    enum specter_dtype compute; /* SPECTER_DTYPE_UNKNOWN: follows type */
};

struct gemm_cost {
    double us;
    double flops;
    double tflops;     /* achieved: flops / us; never above the dense peak */
    double compute_us; /* bounds: us >= each */
    double memory_us;
    const char *bound; /* "compute", "memory", "launch" */
};

int model_gemm(const struct gpu_profile *gpu, const struct gemm_shape *shape,
               struct gemm_cost *out, struct err *e);

/* Other device work, known only by its recorded time: how that time changes from one GPU to
 * another. memory_bound: copies and memsets, and kernels of unknown kind, follow the memory
 * bandwidth. Returns the factor target/source. */
int model_other_ratio(const struct gpu_profile *from, const struct gpu_profile *to, double *ratio,
                      struct err *e);

#endif
