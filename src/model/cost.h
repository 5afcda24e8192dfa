/* SPDX-License-Identifier: MIT
 *
 * The cost of one operation on one kind of hardware. Pure functions: no I/O, no globals, no clock.
 * Each file derives its formulas at its top (collectives: comm_price.h, too); README.md says where
 * each is wrong.
 *
 * All return 0, or -1 with e filled when the profile lacks a figure that is needed (the message
 * names profile and field) or the request makes no sense.
 */
#ifndef SPECTER_MODEL_COST_H
#define SPECTER_MODEL_COST_H

#include "model/profile.h"

/* The layout of a communicator's ranks: `nodes` nodes, the fullest with `per_node` ranks. */
struct layout {
    int ranks;
    int nodes;
    int per_node;
};

/* n ranks laid onto nodes in order, as a launcher does: full nodes, the rest on the last one. */
struct layout layout_dense(const struct network_profile *net, int ranks);

struct comm_cost {
    double us;         /* total */
    double lat_us;     /* of it: what does not depend on bytes */
    double fill_us;    /* of it, where data go one way from member to member (Broadcast and Reduce
                        * around a ring): until the first of them reach the last member; else 0 */
    double bw_GBps;    /* the bandwidth term's rate, as bus bandwidth; 0 when nothing is sent */
    const char *algo;  /* "ring", "tree", "nvls", "nvls_tree", "collnet_direct", "collnet_chain",
                        * "pat",  "p2p"; "none" for a single rank */
    const char *proto; /* "LL", "LL128", "Simple"; "none" for a single rank */
    const char *bound; /* "latency", "intra", "inter": what the time is made of */
    int channels;      /* blocks that move data; 0 when nothing is sent */
    double link_us;    /* what its bytes take on the fabric's port of the busiest GPU, and */
    double nic_us;     /* on the NICs of the busiest node, each at the rate that data gets there:
                          us is longer, by as much as the operation leaves the port free */
};

/* The way an operation is done; 0 in a field: NCCL's tuner chooses. */
struct comm_choice {
    const char *algo, *proto; /* as in struct comm_cost; lists as NCCL_ALGO and NCCL_PROTO take
                               * them ("ring,tree", "^nvls") leave the choice among these */
    int channels;
};

/* One way to do an operation, as `specter predict --explain` shows it. */
struct comm_candidate {
    struct comm_cost cost; /* our time of it */
    double nccl_lat_us;    /* NCCL's own estimate, which makes the choice: us = lat + S / bw */
    double nccl_GBps;
    double nccl_us;
    const char *off; /* why NCCL does not take it into account; NULL when it does */
    bool chosen;
    bool by_tuner; /* by the network's tuner (struct tuner_row), whatever the estimates are */
};

#define COMM_CANDIDATES_MAX 24 /* algorithms x protocols, and more */

/* The basis of the figures, one sentence each, ended by NULL: printed beside every result. */
extern const char *const model_comm_assumptions[];
extern const char *const model_gemm_assumptions[];

/* bytes: full buffer S (specter/trace.h). For AlltoAllv the bytes this rank sends, taken as spread
 * evenly over its peers. The time of the way that NCCL's own tuner takes, which need not be the
 * fastest one. */
int model_collective(const struct gpu_profile *gpu, const struct network_profile *net,
                     enum specter_comm_op op, double bytes, struct layout where,
                     struct comm_cost *out, struct err *e);

/* As model_collective(), with what `choice` names forced, as NCCL_ALGO and NCCL_PROTO do. -1 when
 * the operation cannot be done in that way there. */
int model_collective_as(const struct gpu_profile *gpu, const struct network_profile *net,
                        enum specter_comm_op op, double bytes, struct layout where,
                        const struct comm_choice *choice, struct comm_cost *out, struct err *e);

/* All ways to do the operation, also those that are off. Returns their number, or -1. */
int model_collective_candidates(const struct gpu_profile *gpu, const struct network_profile *net,
                                enum specter_comm_op op, double bytes, struct layout where,
                                struct comm_candidate out[COMM_CANDIDATES_MAX], struct err *e);

/* The pattern of messages. */
enum comm_direction {
    COMM_TO_NEXT,   /* each rank sends to the next one and receives from the one before */
    COMM_ONE_WAY,   /* one alone */
    COMM_BOTH_WAYS, /* two ranks send to each other at once */
    COMM_ALL_PAIRS, /* each rank sends to every other one at once */
    COMM_DIRECTIONS
};

/* "to_next", "one_way", "both", "all"; COMM_DIRECTIONS: another word. */
const char *comm_direction_name(enum comm_direction direction);
enum comm_direction comm_direction_parse(const char *word);

struct comm_messages {
    enum comm_direction direction;
    struct layout where; /* one way and both: two ranks on one or two nodes */
    int flows; /* one way and both: that many GPUs of the node send at once, and share its NICs
                * between nodes */
};

/* Messages of `bytes` each. Between nodes, and within a node of NVLink, either direction has its
 * own rate; what shares the host's memory, a GPU's port or a node's NICs, shares their rate. */
int model_messages(const struct gpu_profile *gpu, const struct network_profile *net, double bytes,
                   const struct comm_messages *messages, struct comm_cost *out, struct err *e);

/* One message between two ranks; `across`: they sit on different nodes. */
int model_p2p(const struct gpu_profile *gpu, const struct network_profile *net, double bytes,
              bool across, struct comm_cost *out, struct err *e);

/* Kernels before a product that turn a bf16 or fp16 A into its type (fp8, fp4). */
enum gemm_quantize {
    GEMM_QUANTIZE_NONE,   /* A comes as it is */
    GEMM_QUANTIZE_STATIC, /* one kernel: the scale is known */
    GEMM_QUANTIZE_DYNAMIC /* three: clear the scale, find the largest value, convert */
};

struct gemm_shape {
    uint64_t m, n, k;
    uint64_t batch;             /* 0 counts as 1 */
    enum specter_dtype type;    /* of A and B */
    enum specter_dtype type_c;  /* SPECTER_DTYPE_UNKNOWN: as type */
    enum specter_dtype compute; /* SPECTER_DTYPE_UNKNOWN: follows type */
    uint32_t hot_sets; /* 0: cold, nothing is in L2 when the call begins. n: the call is one
                        * of a loop that goes round n copies of B over the same A and C, as
                        * benchmarks do; what fits in L2 is read from there. */
    enum gemm_quantize quantize;
};

struct gemm_cost {
    double us;         /* one call on an idle GPU: launch + busy_us */
    double busy_us;    /* of it: what the GPU is at work; all that a queued call adds, and what a
                        * benchmark loop measures */
    double quant_us;   /* of busy_us: the quantising kernels */
    double start_us;   /* of busy_us: first and last part of a kernel */
    double traffic_us; /* bytes at the sustained rates of memory and L2; work covers most of it */
    double flops;      /* 2*m*n*k*batch */
    double bytes;      /* A and B read once, C written once */
    double mem_bytes;  /* of them, what crosses the memory: all of them when cold */
    double tflops;     /* achieved: flops / us; never above the dense peak */
    double compute_us; /* flops at the dense peak: a bound, us >= it */
    double memory_us;  /* mem_bytes at the memory bandwidth: a bound, us >= it */
    double clock;      /* share of boost_MHz at which a large product runs (gemm_clock()) */
    double tile_m, tile_n, split; /* of C and of k, as the time assumes them; 0: no work */
    double waves;                 /* tiles / multiprocessors */
    const char *bound; /* what most of the time is: "compute", "memory", "l2" (operands from L2 to
                        * the multiprocessors), "latency" (steps and ends of tiles), "launch" */
};

/* One way to do a product, as `specter predict gemm --explain` shows it: a tile size and a number
 * of parts of k. The fastest is taken. */
struct gemm_candidate {
    double tile_m, tile_n, split, waves; /* as in struct gemm_cost */
    double compute_us, l2_us, steps_us;  /* inner loop of one tile: arithmetic, operands from L2,
                                          * depth of the pipeline; the longest counts */
    double ends_us;                      /* prologue and epilogue of one tile */
    double work_us;                      /* all tiles on the multiprocessors */
    double split_us;                     /* adding up the parts of k */
    double busy_us;                      /* as in struct gemm_cost */
    bool chosen;
};

#define GEMM_CANDIDATES_MAX 153 /* 17 tile sizes x 9 splits */

int model_gemm(const struct gpu_profile *gpu, const struct gemm_shape *shape, struct gemm_cost *out,
               struct err *e);

/* All ways to do a product that the GPU has; none for one without work. Returns their number, or
 * -1. */
int model_gemm_candidates(const struct gpu_profile *gpu, const struct gemm_shape *shape,
                          struct gemm_candidate out[GEMM_CANDIDATES_MAX], struct err *e);

/* `count` products of equal types, hot_sets and quantize in one launch (grouped GEMM): their tiles
 * share the multiprocessors, no k is split. clock and tile are those of the whole. */
int model_gemm_grouped(const struct gpu_profile *gpu, const struct gemm_shape *shapes, size_t count,
                       struct gemm_cost *out, struct err *e);

/* Share of boost_MHz at which a large GEMM of `type` runs, whose dense peak is peak_tflops: that of
 * clock_MHz where the profile has one, else what tdp_W lets it sustain of peak_W; 1 where neither
 * is known. Above 1 where the clock that is held is higher. */
double gemm_clock(const struct gpu_profile *gpu, double peak_tflops, enum specter_dtype type);

/* The type that libraries write C in by default: bf16 for fp8 and fp4, int32 for int8, else `type`.
 */
enum specter_dtype gemm_usual_type_c(enum specter_dtype type);

/* Sets what a row of a measured table does not tell, by the benchmark's name (its column `lib`;
 * NULL: not known). hot_sets and quantize: "torch_flow..." (TensorRT-LLM's linear layer under
 * aiconfigurator) goes round as many copies of B as exceed L2, 5 at most, and quantises A in each
 * call, dynamically to fp8, statically to fp4; any other takes the same operands in each call and
 * quantises nothing. type_c: gemm_usual_type_c() for 8 bits and less, as it is for others. Such
 * rows are loops: their time is gemm_cost.busy_us. */
void gemm_shape_of_bench(const struct gpu_profile *gpu, const char *lib, struct gemm_shape *shape);

/* The memory traffic of a collective or message (op) of S bytes among n ranks, in bytes read and
 * written on the busiest GPU: (w + p(n-1)/n) S, w of its own buffers, p of what comes in and is
 * read once more. (w, p) is (2, 3) for AllReduce, (2, 1) ReduceScatter, (1, 1) AllGather, (3, 0)
 * Reduce, (2, 0) AlltoAll(v) and Broadcast, (2, -1) Gather and Scatter (root), (1, 0) Send and
 * Recv. AllReduce in switches (NVLS, SHARP): 2 S. algo: as in struct comm_cost. */
double comm_memory_bytes(enum specter_comm_op op, const char *algo, double bytes, int ranks);

/* Share of a class's time that is bound by the multiprocessors; the rest is bound by memory. */
double model_compute_share(enum specter_kernel_class kind);

/* Sets how the time of other device work, known only by its recorded time and its class, changes
 * from one GPU to another: the factor target/source, 1 between equal GPUs. The class says what
 * bounds it (other.c): memory for elementwise, reduction, copy, optimizer and other kernels, the
 * tensor peak for GEMMs without a shape, half of either for attention. */
int model_other_ratio(const struct gpu_profile *from, const struct gpu_profile *to,
                      enum specter_kernel_class kind, double *ratio, struct err *e);

/* ---- bound.c ----
 *
 * A time that no communication can be below: the bytes that must cross each kind of link, at the
 * raw rates that profiles document. It knows no algorithm and no fitted parameter, so that a model
 * can be held against it.
 *
 * S bytes (full buffer) by n ranks; the links of one GPU, in one direction, must carry at least
 *
 *     AllReduce                    2(n-1)/n S: n sums become one in n-1 transfers of S over n GPUs,
 *                                  and reach all in n-1 more; S where switches reduce
 *     AllGather, ReduceScatter,    (n-1)/n S: what the other ranks hold, or get
 *     AlltoAll(v), Gather, Scatter
 *     Broadcast, Reduce            S
 *
 * and the network ports of one of M nodes, with g ranks on the fullest and h on the emptiest,
 *
 *     AllReduce                    2(M-1)/M S; S where switches reduce
 *     AllGather, ReduceScatter     (n-h)/n S
 *     Broadcast, Reduce            S
 *     AlltoAll(v)                  g(n-g)/n S, or the same of h when that is more
 *     Gather, Scatter              (n-g)/n S
 *
 * A GPU that also reaches others past its fabric, through its NIC, has both rates. Each GPU's
 * memory is read for what it gives and written for what it gets. An NVLink domain of several nodes
 * counts as one node. Assumed: nothing is compressed. */

struct comm_bound {
    double us; /* the largest of the others */
    double intra_us, inter_us, memory_us;
};

/* in_switch: switches may reduce (NVLS, SHARP). A rate that the profiles do not know bounds
 * nothing. `where` must fit the network, as model_collective() checks. */
struct comm_bound comm_bound(const struct gpu_profile *gpu, const struct network_profile *net,
                             enum specter_comm_op op, double bytes, struct layout where,
                             bool in_switch);

/* `flows` messages of different GPUs at once; across: between two nodes, each through the ports
 * beside its GPU as far as the node has them. */
struct comm_bound comm_bound_p2p(const struct gpu_profile *gpu, const struct network_profile *net,
                                 double bytes, bool across, int flows);

/* Returns whether this algorithm (struct comm_cost) reduces in switches. */
bool comm_in_switch(const char *algo);

#endif
