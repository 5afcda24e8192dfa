/* SPDX-License-Identifier: MIT
 *
 * The cost of an operation on other hardware: its measured time, waits removed, times
 * model(target)/model(source) where a model knows the operation; else by a stated rule. On the same
 * hardware at the recorded scale every measured time is kept exactly.
 *
 * Measured times are those alone (overlap.h). With M the ratio of memory bandwidths, source /
 * target:
 * - GEMM of known shape: measured x model(target) / model(source), both without launch
 * - collective, message of known size: measured x model(target, grown layout) / model(source,
 *   recorded layout); recorded with one rank alone: model(target)
 * - copies between host and device: measured x ratio of pcie_GBps (1: not known)
 * - other copies, memsets: measured x M
 * - other kernels, GEMMs without a shape: measured x ratio of the class
 * - counted kernels: the gap that nothing else explains x mean ratio of their classes; 0 where the
 *   device waited for the host
 * - gap in or right after a graph, or before an operation without a recorded call: the gap x M
 * - graph: captured GEMMs and communication, at most the measured time, by the models' ratio; the
 *   rest x M
 * - communication of unknown size: measured
 * - not timed, or --no-calibrate (GEMMs, communication): model(target)
 * - copy too small to be timed; neither timed nor modelled: 0; the latter counted, status 4
 *
 * The source GPU is the one that the trace names; unknown, measured times are kept (status 4 with
 * --gpu).
 */
#ifndef SPECTER_SIM_TARGET_RETARGET_H
#define SPECTER_SIM_TARGET_RETARGET_H

#include "model/accuracy.h"
#include "sim/program/program.h"
#include "sim/scaling/scaling.h"
#include "trace/graph.h"
#include "trace/run.h"

struct hardware {
    const struct gpu_profile *gpu; /* never NULL */
    const struct network_profile *network;
};

/* The rules by which times are scaled or kept: X(id, name in the JSON). */
#define COST_RULE_TABLE(X)                                                                      \
    X(GEMM, "gemms")         /* GEMM model */                                                   \
    X(COMM, "communication") /* communication model */                                          \
    X(MEMORY, "copies")      /* copies on the device and memsets: ratio of memory bandwidths */ \
    X(LINK, "host_copies")   /* copies between host and device: ratio of host links */          \
    X(GRAPH, "graphs")       /* what is in them by the models, the rest by the ratio */         \
    X(KERNEL, "kernels")     /* others: the ratio of their class (model/cost.h); no model */    \
    X(SMALL, "small_copies") /* too small to have been timed: 0 */                              \
    X(KEPT, "kept")          /* size or shape unknown: as measured */                           \
    X(NONE, "none")          /* neither a time nor a model: 0 */

enum cost_rule {
#define X(id, name) COST_##id,
    COST_RULE_TABLE(X)
#undef X
        COST_RULES
};

/* The operations that a rule was applied to. */
struct cost_sum {
    uint64_t count, timed; /* all, and those that have a measured time */
    double measured_ns;    /* of the timed ones, of all ranks */
    double target_ns;      /* of the same ones, on the target */
    double priced_ns;      /* measured, where the model's price as recorded was asked for, */
    double price_ns;       /* and that price */
};

const char *cost_rule_name(enum cost_rule rule);

/* From where, to what. */
struct retarget_sides {
    struct hardware from, to;
    bool calibrate;          /* false: GEMMs and communication take the model's own time */
    bool placed_as_recorded; /* ranks sit on nodes as in the recording, not as on the target */
    int64_t scale;
};

struct retarget {
    const struct run *run;             /* borrowed */
    const struct program *program;     /* borrowed */
    const struct weak_scaling *growth; /* borrowed */
    struct hardware from, to;
    bool calibrate;
    int64_t scale;
    struct layout_side there;                       /* how ranks sit on the target */
    double other_ratio[SPECTER_KERNEL_CLASS_COUNT]; /* source / target, by class (model/cost.h) */
    double link_ratio;                              /* of host links; 1 where not known */
    struct layout *from_where, *to_where;           /* by communicator; owned */
    uint64_t **sent;         /* by rank and operation, where all-to-alls of messages grow; NULL */
    const double *slow_link; /* by rank of the recorded job: the target's NICs of its node run at
                                1/that; NULL: all as the profile says. Set after init; borrowed */
    uint64_t slowed;         /* transfers that take longer for that */
    const struct strong_scaling *strong; /* retarget_divide(); NULL: weak scaling */
    double least_us;       /* what any kernel takes at least, there: the smallest product */
    double untold_ns;      /* measured, of kernels whose part in a divided batch is not known */
    struct graphs *graphs; /* by rank; owned with what they hold */
    struct cost_sum sums[COST_RULES]; /* of what retarget_cost() saw */
    double shard_ns;   /* measured time of the optimizer's kernels, where weak_scaling_shards() */
    uint64_t modelled; /* had no measured time, or were told not to use it: the model's */
};

/* To be released in either case. */
int retarget_init(struct retarget *t, const struct program *program,
                  const struct weak_scaling *growth, const struct retarget_sides *sides,
                  struct err *e);
/* The batch is divided over scale times as many ranks; strong is borrowed. */
int retarget_divide(struct retarget *t, const struct strong_scaling *strong, struct err *e);

void retarget_release(struct retarget *t);

/* *ns: what `cost` takes there. -1 with e filled when a profile lacks what a model needs. */
int retarget_cost(struct retarget *t, const struct program_cost *cost, int64_t *ns, struct err *e);

/* By which rule. */
enum cost_rule retarget_rule(const struct retarget *t, const struct program_cost *cost);

/* Returns whether it is communication that keeps its measured time though that may differ on the
 * target, because its size is not known, or its communicator. */
bool retarget_unsized(const struct retarget *t, const struct program_cost *cost);

/* The model's price of a transfer on the target. false: its size is not known, or the target's
 * profiles lack a figure that the model needs. */
bool retarget_price(const struct retarget *t, const struct program_cost *cost,
                    struct comm_cost *price);

/* The side that an operation is priced for: hardware and scale of the recording or the target. */
enum retarget_side { ON_SOURCE, ON_TARGET };

/* Tells by how much the model's price of a GEMM or transfer may be off on one side
 * (model/accuracy.h). */
void retarget_interval(const struct retarget *t, const struct program_cost *cost,
                       enum retarget_side side, struct accuracy_interval *out);

/* Returns the bytes of a transfer on the target: less than recorded where the batch is divided. */
double retarget_bytes(const struct retarget *t, const struct program_cost *cost);

/* Returns the share of a collective on the target that its other members may have done before the
 * last one is there, at most: that of a ring, for other algorithms, too. In a ring over nodes the
 * link that leaves the last one's node is up to per_node - 1 links behind it, and has done as many
 * of its steps: of 2 (n - 1) in an AllReduce, of n - 1 in an AllGather or ReduceScatter. 0 within a
 * node, where all links are alike and the last one's own has everything to do, and of other
 * communication. */
double retarget_done_early(const struct retarget *t, const struct program_cost *cost);

/* Returns whether memory bounds the rest of this product on the target, by the model. False where
 * its shape is not known. */
bool retarget_memory_bound(const struct retarget *t, const struct op *op);

/* A copy between host and device. */
bool retarget_over_host_link(const struct op *op);

/* Measured device time by all rules together. */
double retarget_measured_ns(const struct cost_sum sums[COST_RULES]);

/* Sets the fills of the program's one-way transfers (struct program_one_way) on the target: the
 * time until the first data reach the end of the way. */
void retarget_set_fills(const struct retarget *t, struct program *program);

/* Share of it that rests on no model; 0 when nothing was measured. */
double retarget_unmodelled(const struct retarget *t);

/* Share of it that keeps its time when the batch is divided, because its part is not known. */
double retarget_untold(const struct retarget *t);

/* All-to-alls that are made of messages: one to each member and one from each, in a group. PyTorch
 * makes them so. By operation: what its rank sends in the group that it is in, over the same
 * communicator; 0 where it is no message of a group. Owned by the caller, freed with free(). */
uint64_t *alltoall_bytes(const struct rank *rank);

/* ---- absent_wait.c ----
 *
 * Waits for ranks that were not recorded. What a collective or message took on the recorded ranks
 * holds the wait for its last member, and no other rank's time tells how long that was. The
 * shortest of all calls of its kind waited least: it stands for the transfer, and what a call took
 * longer is its wait. A kind of which even the shortest call takes several times what the model
 * says waited every time. But where other transfers of the rank ran beside a call they shared
 * its port: as long as they were beside it, though no more than each takes by itself, is part of
 * the transfer.
 *
 * On a target the transfer is scaled and the wait is kept, as the missing ranks do what the
 * recorded ones do; with the computation of another GPU it takes as much less or more as that does.
 * It is no part of a transfer's cost but a delay in front of it (sim_set_delay). */

struct cost_classes;

#define ABSENT_MODEL_MAX 2.0 /* a transfer takes no more than so many times what the model says */

/* Splits measured_ns of transfers that lack members into the transfer, which stays measured_ns, and
 * the wait. own: the recording on its own hardware. */
void absent_wait_find(struct program *p, const struct cost_classes *kinds,
                      const struct retarget *own);

/* Returns the wait on the target, as a multiple of the recorded one: how much longer computation
 * takes there. Of a simulation whose costs t has set. */
double absent_wait_ratio(const struct retarget *t);

/* Sets the delays of a simulation whose costs t has set. */
void absent_wait_apply(struct program *p, const struct retarget *t);

#endif
