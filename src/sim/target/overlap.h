/* SPDX-License-Identifier: MIT
 *
 * Work beside communication runs slower: channels hold multiprocessors, and data passes through
 * memory. And communicators that leave a node through one NIC share it (port_contention.c).
 *
 * A recorded duration contains what the recording took from it. So the recorded job is simulated
 * on its own hardware with durations as recorded and nothing slowed down, which shows what ran
 * beside what; taking the share that others took out of each duration leaves what it takes alone.
 * These are the measured costs that targets start from, and on each target the loads and needs of
 * that hardware slow the work down anew. On its own hardware the recording comes out again.
 *
 * A transfer's load on memory is its traffic there (model/cost.h) / its time / bandwidth, while it
 * is under way. Channels hold multiprocessors from the start of a member's kernel to its end, also
 * while it waits for other ranks: kernels of NCCL spin. A kernel's need says which of the two slows
 * it: products the multiprocessors, or memory where the model says that they are bound by it, other
 * kernels as their class is bound (model_compute_share), copies on the device the memory, graphs
 * half of either.
 *
 * The recording itself shows how strong this is: where the same kernel, of one rank and stream, ran
 * beside communication and away from it, the median of (excess / load) is the factor for all needs
 * of that bound. Of a bound of which it shows nothing, the figure of the recording's GPU counts
 * where its profile has one (overlap_sm, overlap_memory: `specter bench overlap`); else such
 * kernels are not slowed down. On a target whose profile has other figures these count.
 *
 * by_kind: each kind of kernel has a factor of its own, all that its kernels took longer / all that
 * was loaded of their time. It depends on how its tiles fill the multiprocessors that are left, and
 * on which part of it ran beside communication: right for this recording, no rule for others.
 *
 *     struct overlap o;
 *     overlap_init(&o, &program);
 *     if (overlap_learn(&o, &own, e) < 0) ...        own: of the recording's hardware
 *     ... set costs for a target ...
 *     overlap_apply(&o, &t);
 *     program_run(&program, e);
 *     overlap_release(&o);
 */
#ifndef SPECTER_SIM_TARGET_OVERLAP_H
#define SPECTER_SIM_TARGET_OVERLAP_H

#include "sim/target/retarget.h"

/* ---- port_contention.c ----
 *
 * Transfers of several communicators that leave a node through the same NIC: where a node has fewer
 * of them than GPUs, ranks that sit next to each other use the same one, and their communicators
 * meet there. GPU i of g has NIC i n / g of n (port_contention_place()); only ranks that are
 * simulated do. The model's time of a transfer is that of one of them alone. A NIC has two
 * directions: collectives use both, a message leaves its sender and enters its receiver. What a
 * transfer uses of one when it is alone there is the time that its bytes take at the NIC's rate /
 * its own time, both as the model says (comm_cost.nic_us, us): a small one waits for latencies, and
 * leaves room.
 *
 * Ports that a GPU has for itself are not shared here: of sixteen jobs at four times their size one
 * showed that transfers of one rank took time of each other there, and none was predicted better
 * for it (README.md, "Beside communication").
 *
 * Members of a collective are alike in this: the NICs of the first PORT_CONTENTION_MEMBERS stand
 * for all. */

#define PORT_CONTENTION_MEMBERS 32

/* A transfer on a link of the engine. */
struct link_use {
    uint32_t cost; /* of the program; its transfer is costs[cost].target */
    uint32_t rank; /* index into run->ranks */
    uint32_t own;  /* link of the rank's NIC, and */
    uint32_t link; /* the one that it is on, on the hardware that was placed last; the engine's */
    uint32_t set_link; /* the link that the engine has now; SIM_NONE */
    uint32_t set_ppm;  /* and the share of it */
    uint8_t direction; /* out of the node, or into it */
    bool unshared;     /* no other transfer is there, or another use of this one stands for it */
    double share;
};

struct port_contention {
    struct link_use *uses; /* owned; by cost */
    size_t count, cap;
    uint32_t nlinks;
};

/* Adds links to the program, with no shares. To be released. */
void port_contention_init(struct port_contention *l, struct program *p);
void port_contention_release(struct port_contention *l);

/* Finds which NIC each rank has on the target of t. To be done before shares are set. */
void port_contention_place(struct port_contention *l, const struct retarget *t);

/* Tells the engine; off: nothing is shared. */
void port_contention_set(struct port_contention *l, struct program *p, bool off);

/* For a run with nothing shared in which transfers lasted as recorded: computes what each would
 * have taken without those beside it, if these took their shares. work_ns: [p->ncosts], filled
 * where a transfer uses a link and happened; the rest is left alone. */
void port_contention_undo(const struct port_contention *l, const struct program *p,
                          int64_t *work_ns);

/* ---- overlap.c ---- */

#define OVERLAP_PAIRS_MIN 8 /* kernels beside communication that tell how strong it is */
#define OVERLAP_FACTOR_MAX 2.0
#define OVERLAP_KIND_MAX 16.0 /* of a kind: a short overlap may cost a wave of tiles */

/* Costs of a program that are alike: the same product, kernel, copy, collective. What a model says
 * of one it says of all; and what one of them took is a measure for the others. */
struct cost_classes {
    uint32_t *of;    /* [program.ncosts] kind of each cost; owned */
    uint32_t *first; /* [count] a cost of each kind: the first; owned */
    uint32_t count;
};

/* The bound of a kernel, for the strength of the effect. */
enum overlap_bound { OVERLAP_SM, OVERLAP_MEMORY, OVERLAP_BOTH, OVERLAP_BOUNDS };

/* The parts of a kernel's rate that depend on multiprocessors and on memory: 0 to 1 each. */
struct overlap_need {
    double sm, memory;
};

/* The effect that the recording shows for kernels with one bound. */
struct overlap_shown {
    uint64_t pairs;    /* kernels beside communication that also ran away from it */
    double longer;     /* the median of by how much longer they took, as a share */
    double factor;     /* on the modelled effect; 0 when neither recording nor profile tells it */
    double seen;       /* the recording's, of which no more than OVERLAP_FACTOR_MAX is taken */
    bool from_profile; /* too few pairs */
    uint64_t untold;   /* kernels beside communication, where the pairs are too few to tell */
};

/* A kind of transfer on a target: what does not depend on its time. */
struct overlap_load {
    bool known;
    struct comm_cost price;
    double sm, bytes; /* share of the multiprocessors; traffic in memory */
};

struct overlap {
    struct program *program; /* borrowed */
    struct cost_classes kinds;
    struct port_contention links;
    double *channels;   /* by kind: as recorded / as modelled; 1 where not recorded. Owned */
    uint32_t counted;   /* kinds of transfers whose channels were recorded, */
    uint32_t transfers; /* of so many */
    struct overlap_shown shown[OVERLAP_BOUNDS];
    bool by_kind;         /* set before overlap_learn(): kind_factors count */
    double *kind_factors; /* [kinds.count] what the recording shows of each kind alone, from
                             OVERLAP_PAIRS_MIN kernels on; else the factor of its bound. Owned */
    bool *kind_shown;     /* [kinds.count] the former; owned */
    const bool *fixed;    /* [ncosts] work that nothing slows down: its cost holds that already. Set
                             before overlap_apply(); borrowed; NULL: none */
    uint64_t beside;      /* kernels that ran beside communication */
    int64_t taken_ns;     /* device time that communication took from them, in the recording */
    uint64_t queued;      /* transfers that waited in a queue */
    int64_t queued_ns;
    uint64_t contended; /* transfers that met others on a NIC of several GPUs, in the recording */
    int64_t shared_ns;  /* what that took */
    double factors[OVERLAP_BOUNDS]; /* on the target that was set last */
    double strength; /* the largest of them: loads are told times this, needs divided by it */
    int rounds;      /* simulations that it took until the recording came out again */
};

/* The profile's factor for kernels with that bound; 0: none. */
double overlap_figure(const struct gpu_profile *gpu, enum overlap_bound bound);

/* The factor on the target, and in *by_profile whether its own profile says so. Nothing is put in
 * where something unknown was in the recording. */
double overlap_factor(const struct overlap *o, const struct hardware *from,
                      const struct hardware *to, enum overlap_bound bound, bool *by_profile);

void overlap_init(struct overlap *o, struct program *p);
void overlap_release(struct overlap *o);

/* own: what retargets to the recording's own hardware at scale 1. Replaces measured_ns of the
 * program's costs by what they would have been without others. 0, or -1 with e filled when the
 * program is stuck or a profile lacks a figure. */
int overlap_learn(struct overlap *o, struct retarget *own, struct err *e);

/* Tells the engine loads, needs and shares on the target of t, whose costs are set. */
void overlap_apply(struct overlap *o, const struct retarget *t);

/* Fills o->queued, and wait_ns of the program's costs. loads: by kind. */
void overlap_show_queues(struct overlap *o, const struct overlap_load *loads);

/* Shows what the run that was just made, with nothing slowed down, tells. needs: by kind. */
void overlap_show(struct overlap *o, const struct overlap_need *needs);

static inline enum overlap_bound overlap_bound_of(struct overlap_need need)
{
    return need.sm >= 0.75 ? OVERLAP_SM : need.memory >= 0.75 ? OVERLAP_MEMORY : OVERLAP_BOTH;
}

/* Returns how much a kernel's time grew, at factor 1, under these loads. */
static inline double overlap_taken(struct overlap_need need, struct sim_beside beside)
{
    return need.sm * (double)beside.sm_ns + need.memory * (double)beside.memory_ns;
}

#endif
