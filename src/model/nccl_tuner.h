/* SPDX-License-Identifier: MIT
 *
 * NCCL's own estimate of each algorithm and protocol, by which it chooses: what NCCL believes, not
 * what a collective takes (comm.c prices the choice). The tables and formulas are those of NCCL
 * 2.19 to 2.30's tuner (src/graph/tuning.cc, src/enqueue.cc), on AMD GPUs RCCL's. An older NCCL is
 * taken as 2.19 without the algorithms that it lacks, a newer one as 2.30.
 *
 *     nccl_comm_init(&topo, nccl_layout(net, layout), &comm);         // once a communicator
 *     nccl_tune(&comm, SPECTER_ALLREDUCE, &nccl_any, &tuning);        // once an operation
 *     nccl_choose(&comm, &tuning, bytes, &choice);                    // for each size
 *
 * which takes 0.2 us in all.
 * Estimates are time = lat_us + bytes / (1000 bw_GBps), bw being algorithm bandwidth (S / t).
 * Pure functions that need no memory; operations without an estimate in NCCL (Send, Recv, AlltoAll,
 * Gather, Scatter) are refused with false.
 */
#ifndef SPECTER_MODEL_NCCL_TUNER_H
#define SPECTER_MODEL_NCCL_TUNER_H

#include "model/nccl_graph.h"
#include "specter/nccl_names.h"

/* NCCL's numbers: equal estimates go to the lower one. */
enum nccl_algo {
#define X(id, name, setting) NCCL_##id,
    SPECTER_NCCL_ALGOS(X) NCCL_ALGOS
};

enum nccl_proto { SPECTER_NCCL_PROTOS(X) NCCL_PROTOS };
#undef X

struct nccl_name {
    const char *name;    /* as struct comm_cost and all outputs have it: "nvls_tree" */
    const char *setting; /* as NCCL_ALGO and NCCL_PROTO spell it: "NVLSTree" */
};

extern const struct nccl_name nccl_algos[NCCL_ALGOS], nccl_protos[NCCL_PROTOS];

/* The number of a name of `len` letters in either spelling, or NCCL's profiler's (NVLS_TREE): case
 * does not matter. -1: NCCL has no such. */
int nccl_algo_parse(const char *name, size_t len);
int nccl_proto_parse(const char *name, size_t len);

/* A version as NCCL writes it: "2.28.9" of 22809, but "2.28" of 22899. Returns out. */
const char *nccl_version_text(int version, char out[16]);

/* A list as NCCL_ALGO and NCCL_PROTO take it, as bits 1 << number: "ring,tree", or "^nvls" for all
 * but that. Returns NULL, or the first name of the list that `parse` (one of the above, of `count`
 * names) does not know. */
const char *nccl_list_parse(const char *list, int (*parse)(const char *name, size_t len), int count,
                            unsigned *bits);

/* The values that NCCL_ALGO and NCCL_PROTO allow: bits 1 << algo and 1 << proto. */
struct nccl_allowed {
    unsigned algos, protos;
};

/* No restriction. */
extern const struct nccl_allowed nccl_any;

/* From lists as NCCL_ALGO and NCCL_PROTO take them: "Ring,Tree", "^NVLS"; NULL: no restriction.
 * Letter case does not matter. False, and *out is left alone, for a name that NCCL does not know.
 * Naming protocols also switches LL128 on where it is off by default, as in NCCL. */
bool nccl_allowed_parse(const char *algos, const char *protos, struct nccl_allowed *out);

/* Operations that cost alike. */
enum nccl_class {
    NCCL_CLASS_ALLREDUCE,
    NCCL_CLASS_GATHER, /* AllGather, ReduceScatter */
    NCCL_CLASS_ROOTED, /* Broadcast, Reduce */
};

struct nccl_comm {
    struct nccl_topo topo;
    struct layout where; /* nodes in NCCL's sense: NVLink domains */
    struct nccl_graphs graphs;
};

/* The reason why a candidate is out. */
enum nccl_why {
    NCCL_ON,
    NCCL_NOT_FOR_OP,    /* the algorithm does not do this operation */
    NCCL_NO_PROTO,      /* the algorithm has no such protocol */
    NCCL_ONE_NODE,      /* works between nodes only */
    NCCL_NO_NVLS,       /* needs NVSwitch and compute capability 9.0 */
    NCCL_NO_SHARP,      /* needs reduction in the network's switches */
    NCCL_NODE_TOO_BIG,  /* too many ranks of a node for it */
    NCCL_GPUS_PER_NODE, /* PAT: one rank a node only */
    NCCL_LL128_PATH,    /* LL128 needs NVLink in a node and a NIC beside the GPU */
    NCCL_LL128_GPU,     /* LL128 needs compute capability 7.0 */
    NCCL_LL128_OLD,     /* this version of NCCL leaves it off on such GPUs */
    NCCL_RCCL_NO_PAT,   /* RCCL has PAT off, and its use is not modelled */
    NCCL_RCCL_OFF,      /* RCCL has no Tree with Simple within an MI300X node */
    NCCL_TOO_OLD,       /* this version of NCCL does not have it */
    NCCL_PRESET_OFF,    /* by the network's own settings, see nccl_tuner.c */
    NCCL_FORBIDDEN,     /* by struct nccl_allowed */
    NCCL_NO_GRAPH,      /* the search found no channel */
    NCCL_WHYS,
};

/* A sentence's part: "needs NVSwitch and compute capability 9.0"; "" for NCCL_ON. */
extern const char *const nccl_why_text[NCCL_WHYS];

/* One (algorithm, protocol) for an operation, before its size is known. */
struct nccl_estimate {
    double lat_us;
    double bw_GBps;    /* 0: not possible */
    enum nccl_why why; /* NCCL_ON: a candidate */
};

struct nccl_tuning {
    enum specter_comm_op op;
    struct nccl_estimate of[NCCL_ALGOS][NCCL_PROTOS];
};

/* One priced for a size. */
struct nccl_candidate {
    enum nccl_algo algo;
    enum nccl_proto proto;
    enum nccl_why why;
    double lat_us;  /* with what NCCL adds for this size */
    double bw_GBps; /* with NCCL's corrections for this size */
    double us;      /* HUGE_VAL when out */
};

struct nccl_choice {
    enum nccl_algo algo;
    enum nccl_proto proto;
    int channels;  /* that the kernel runs with at this size, nccl_channels() */
    bool by_tuner; /* a row of the network's tuner chose, not the estimates */
    double lat_us, bw_GBps, us;
};

/* Returns whether NCCL is older than that version. */
bool nccl_before(const struct nccl_topo *topo, int version);

/* The search graph that an algorithm runs on. */
const struct nccl_graph *nccl_graph_of(const struct nccl_comm *comm, enum nccl_algo algo);

void nccl_comm_init(const struct nccl_topo *topo, struct layout where, struct nccl_comm *out);

/* Presets of the network's operator count only where `allowed` says nothing of algorithms, or of
 * protocols. False for operations that NCCL has no estimate for. */
bool nccl_tune(const struct nccl_comm *comm, enum specter_comm_op op,
               const struct nccl_allowed *allowed, struct nccl_tuning *out);

/* The network's tuner (struct tuner_row), or the smallest estimate. A single rank takes Ring and
 * Simple with 0 us. False when nothing is allowed. */
bool nccl_choose(const struct nccl_comm *comm, const struct nccl_tuning *tuning, double bytes,
                 struct nccl_choice *out);

/* All NCCL_ALGOS x NCCL_PROTOS in NCCL's order, with those that are out. */
void nccl_candidates(const struct nccl_comm *comm, const struct nccl_tuning *tuning, double bytes,
                     struct nccl_candidate out[NCCL_ALGOS * NCCL_PROTOS]);

/* The kernel that NCCL takes where the buffers are in symmetric windows (ncclCommWindowRegister()).
 */
struct nccl_symmetric {
    const char *kernel; /* "multicast" */
    int blocks;
    double us; /* NCCL's estimate */
};

/* False: NCCL has none there. They are of 2.27 and later, for AllReduce, AllGather and
 * ReduceScatter among GPUs of one node. */
bool nccl_symmetric(const struct nccl_comm *comm, enum specter_comm_op op, double bytes,
                    struct nccl_symmetric *out);

/* Channels that a kernel runs with: few for few bytes. */
int nccl_channels(const struct nccl_comm *comm, enum nccl_algo algo, enum nccl_proto proto,
                  double bytes);

#endif
