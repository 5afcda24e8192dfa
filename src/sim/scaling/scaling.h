/* SPDX-License-Identifier: MIT
 *
 * Weak scaling: one axis of the job's parallel grid becomes `scale` times as long, and every GPU
 * keeps its work. Communicators that span the axis get that many times the members; the others are
 * repeated. Axes outside the one that grows keep their place in the numbering of ranks, so that
 * their strides grow with it.
 *
 * - dp, fsdp: more replicas, or shards, of the same model. Where the recording has shards only, dp
 *   is fsdp; where it has neither, replicas are added where frameworks number them: outside tp, cp
 *   and ep, inside pp.
 * - tp: a wider model. Heads and inner width grow with the axis, the hidden size stays, so that
 *   products keep their shapes on each GPU and activations their size.
 * - ep: more experts, as many on each GPU. Exchanges spread with their recorded imbalance, also
 *   where they are made of messages.
 * - pp: a deeper model, in stages like those recorded (below).
 * - cp: refused, as attention grows with the context, and no recording tells by how much.
 *
 * Strong scaling divides the batch instead: below.
 *
 * Only the recorded ranks are simulated. A grown communicator is priced with all its members, on
 * the nodes that they occupy under the placement.
 */
#ifndef SPECTER_SIM_SCALING_SCALING_H
#define SPECTER_SIM_SCALING_SCALING_H

#include "base/arena.h"
#include "base/err.h"
#include "model/cost.h"
#include "model/profile.h"
#include "sim/grid/grid.h"
#include "sim/program/program.h"
#include "sim/step/step_measure.h"
#include "trace/run.h"

/* The placement of ranks: the node of each, as the launcher laid them out, or as it is to.
 *
 *   block      rank r on node r / GPUs of a node (the default of launchers)
 *   cyclic     round robin over the nodes, as srun --distribution=cyclic does
 *   spread=K   blocks of K ranks: nodes have more GPUs than are used
 *   file=PATH  a list: lines of `HOST`, `HOST slots=K` or `HOST:K`, filled in order as a
 *              hostfile is; or `RANK HOST`, one for each rank. `#` begins a comment
 *
 * A recording that names the hosts of all its ranks tells how it was laid out itself.
 *
 *     struct placement p;
 *     if (placement_parse(&p, "spread=4", &arena, e) == 0 && placement_check(&p, net, 64, e) == 0)
 *         node = placement_node(&p, net, 17, 64);
 */

enum placement_kind { PLACE_BLOCK, PLACE_CYCLIC, PLACE_LISTED };

/* All zero: block, as many ranks on a node as it has GPUs. */
struct placement {
    enum placement_kind kind;
    int per_node;  /* ranks on a node; 0: as many as it has GPUs */
    const int *of; /* PLACE_LISTED: [count] node of each rank; in the arena */
    int64_t count;
};

/* Parses --placement. 0, or -1 with e filled: ERR_USAGE, or ERR_INPUT for a file. */
int placement_parse(struct placement *p, const char *text, struct arena *arena, struct err *e);

/* Checks that so many ranks fit. A node must not hold more than it has GPUs, a list must name all
 * ranks. 0, or -1 with e filled (ERR_USAGE). */
int placement_check(const struct placement *p, const struct network_profile *net, int64_t world,
                    struct err *e);

/* Ranks on a full node. */
int placement_per_node(const struct placement *p, const struct network_profile *net);

/* The node of a rank, of 0 .. nodes-1. */
int64_t placement_node(const struct placement *p, const struct network_profile *net, int64_t rank,
                       int64_t world);

/* Its number among the ranks of its node, from 0. */
int64_t placement_slot(const struct placement *p, const struct network_profile *net, int64_t rank,
                       int64_t world);

/* Returns how many nodes so many ranks take. */
int64_t placement_nodes(const struct placement *p, const struct network_profile *net,
                        int64_t world);

/* Finds the layout of the run by the hosts of its ranks. False where they do not tell: some rank's
 * is not known, all are on one host, or a host holds more ranks than the network's nodes have GPUs,
 * which *why then says (else NULL). */
bool placement_of_hosts(struct placement *p, const struct run *run, int world,
                        const struct network_profile *net, struct arena *arena, const char **why);

/* "block", "cyclic", "blocks of 4 a node", "as listed"; in the arena. */
const char *placement_text(const struct placement *p, struct arena *arena);

#define GROW_GPUS_MAX (1 << 30)
#define GROW_STAGES_MAX 4096

struct weak_scaling;

/* An operation of a recording. */
struct weak_scaling_op {
    uint32_t rank, op; /* indices; op UINT32_MAX: kernels that were counted */
};

/* Of a run that was made of another one (pipeline.c): where what is in it was recorded. All
 * borrowed. */
struct weak_scaling_origin {
    const struct weak_scaling *growth; /* of the recording */
    const int *comm; /* [ncomms] its communicator; -1: that of messages between stages */
    struct weak_scaling_op *const *op; /* [nranks][nops] */
};

struct weak_scaling {
    const struct run *run;                    /* borrowed */
    const struct grid *grid;                  /* borrowed; must be complete */
    int world;                                /* ranks of the recorded job */
    int axis;                                 /* of the grid, which grows; -1: none, see refused */
    bool shards;                              /* weak_scaling_shards() */
    const char *refused;                      /* why no scale but 1 is possible; NULL */
    struct placement source, target;          /* weak_scaling_place(); block before */
    bool source_given;                        /* by the hosts of the recording */
    const char *source_doubt;                 /* why they do not tell, where that is odd; NULL */
    const struct weak_scaling_origin *origin; /* of a run that was made; NULL */
    int **sorted; /* [run->ncomms] members in order; NULL when they are not known; owned */
    struct arena arena;
};

/* Sets the axis that grows; grid and run are borrowed until weak_scaling_release(). */
void weak_scaling_init(struct weak_scaling *g, const struct run *run, const struct grid *grid,
                       enum grid_role axis);

/* Of a run that was made: nothing grows any more, and what is measured is the recording's. */
void weak_scaling_init_made(struct weak_scaling *g, const struct run *run,
                            const struct weak_scaling_origin *origin);

void weak_scaling_release(struct weak_scaling *g);

/* The scales at which the job has that many GPUs in all. 0, or -1 with e filled (ERR_USAGE): a size
 * that is no multiple of the recorded job's, with the nearest that are. */
int weak_scaling_scales(const struct weak_scaling *g, const int64_t *gpus, size_t n,
                        int64_t *scales, struct err *e);

/* Checks that the scale is possible, and that the network holds it. -1 with e filled
 * (ERR_USAGE). */
int weak_scaling_check(const struct weak_scaling *g, const struct network_profile *net,
                       int64_t scale, struct err *e);

/* Returns whether it gets more members. */
bool weak_scaling_grows(const struct weak_scaling *g, int comm);

/* Returns whether all-to-alls that are made of messages get more members. Each rank then sends as
 * much as before to as many members as there are: a recorded member's messages are spread over
 * those in its place. */
bool weak_scaling_alltoalls(const struct weak_scaling *g);

/* Returns whether the optimizer works on shards that shrink as the axis grows. It does where dp or
 * fsdp grows and its ranks ReduceScatter more bytes of gradients than they AllReduce: shards of
 * parameters, or of the optimizer's state alone. */
bool weak_scaling_shards(const struct weak_scaling *g);

/* The recorded communicator that one of the run stands for; -1: the messages between stages. The
 * same, unless the run was made of another one. */
int weak_scaling_recorded_comm(const struct weak_scaling *g, int comm);

/* Its members as global ranks, by comm rank: as recorded or as the grid has them; NULL: not known.
 */
const int *weak_scaling_members(const struct weak_scaling *g, int comm);

/* The other end of a message as a global rank; -1: not known. */
int weak_scaling_peer(const struct weak_scaling *g, const struct op *op);

/* The number that a recorded rank has at that scale. */
int64_t weak_scaling_rank(const struct weak_scaling *g, int rank, int64_t scale);

/* The recorded rank that does what `rank` does at that scale, in [0, world): 0 <= rank < world *
 * scale. */
int weak_scaling_kind(const struct weak_scaling *g, int64_t rank, int64_t scale);

/* Sets how the recording was laid out, by the hosts of its ranks (`from`: its network), and how the
 * target is to be: `given` by the user, or NULL: as recorded, where that is known and the network
 * is the same, else in blocks. */
void weak_scaling_place(struct weak_scaling *g, const struct placement *given,
                        const struct network_profile *from, const struct network_profile *to);

/* The layout of the job's ranks: their placement on the nodes of a network, and the scale of the
 * axis that grows. */
struct layout_side {
    const struct placement *placement; /* borrowed */
    const struct network_profile *net;
    int64_t scale;
};

/* The layout of a communicator's members there, and as recorded. */
struct layout weak_scaling_layout(const struct weak_scaling *g, int comm,
                                  const struct layout_side *on);
struct layout weak_scaling_recorded_layout(const struct weak_scaling *g, int comm,
                                           const struct network_profile *net);

/* Returns whether both ends of a message sit on different nodes. rank, op: indices in the run. */
bool weak_scaling_across(const struct weak_scaling *g, uint32_t rank, uint32_t op,
                         const struct layout_side *on);
bool weak_scaling_recorded_across(const struct weak_scaling *g, uint32_t rank, uint32_t op,
                                  const struct network_profile *net);

/* ---- strong scaling (--strong) ----
 *
 * The batch of the job stays and is divided over N times as many
 * data-parallel ranks, so that each has 1/N of the tokens. By operation:
 *
 * - products: the dimension that counts tokens is divided: measured x model(divided) /
 *   model(whole). Of batched products the batch is divided.
 * - tp, cp, ep, pp: transfers of activations carry 1/N of the bytes. All-to-alls and messages are
 *   such; of others those whose elements are a multiple of the tokens.
 * - dp, fsdp: gradients and parameters, as in weak scaling.
 * - attention, elementwise, reductions, copies: of the time, what the smallest kernel takes stays,
 *   as it takes that to start and drain whatever it does, and the rest is divided by N. The
 *   optimizer's work is on parameters and stays.
 * - host, memsets, copies between host and device: stay.
 *
 * The dimension that counts tokens follows from how the factors lie in memory. Activations are
 * [tokens, features] in row-major order (all frameworks), which column-major BLAS reads as features
 * x tokens. So the factor whose inner index is summed over (features) is an activation whose other
 * index counts tokens: B not transposed makes it n, A transposed makes it m. Where neither is so (A
 * not transposed, B transposed), the sum goes over the outer index of both: the gradient of a
 * weight, tokens is k. Where both are (A transposed, B not), it is m or n. One number must be
 * tokens in every product of an iteration: the tokens of a micro-batch. Otherwise it is refused,
 * and so it is where several numbers are.
 *
 * Work in no class that a rule knows (other kernels, graphs, operations of unknown size) keeps its
 * time; if it takes more than STRONG_UNTOLD_MAX of the device time, strong scaling is refused. */

#define STRONG_UNTOLD_MAX 0.2

struct strong_scaling {
    const struct weak_scaling *growth; /* borrowed */
    uint32_t tokens;                   /* of a micro-batch */
    uint32_t batch;      /* common divisor of the batches of batched products; 0: none */
    bool tied_n;         /* where m and n are both the tokens, n counts them */
    const char *refused; /* why not; in the arena that it was made with; NULL */
};

/* iterations: by rank. */
void strong_scaling_find(struct strong_scaling *s, const struct weak_scaling *growth,
                         const struct rank_steps *iterations, struct arena *arena);

/* Checks that N divides what it has to. 0, or -1 with e filled (ERR_USAGE). */
int strong_scaling_check(const struct strong_scaling *s, int64_t scale, struct err *e);

/* The product that is left to each rank. */
void strong_scaling_divide(const struct strong_scaling *s, const struct op *op, int64_t scale,
                           struct gemm_shape *shape);

/* Returns whether a transfer carries activations. */
bool strong_scaling_divides(const struct strong_scaling *s, int comm, enum specter_comm_op what,
                            uint64_t bytes, enum specter_dtype dtype);

/* Returns the time of kernels of a class: `least_ns` is what as many kernels take at least. */
double strong_scaling_kernel_ns(enum specter_kernel_class kind, double ns, double least_ns,
                                int64_t scale);

/* ---- pipeline.c ----
 *
 * Pipelines of more stages than were recorded (--grow pp): the model gets deeper by stages like
 * those in the middle, each with as many layers, micro-batches and tokens as before, and every
 * stage does its work in the order of the recorded schedule, laid out anew for the new number of
 * stages.
 *
 * The step of one rank of each recorded stage is taken apart into prologue, forward and backward
 * passes, messages and epilogue, by its messages to neighbours, which must come in the order of a
 * known schedule (enum pipe_schedule). A run is made of these pieces: one rank a stage, with the
 * host's times between its calls, device times without waits, and communicators that have the
 * members which the longer job's have. It goes through program.h and the engine like any other;
 * replicas and tensor-parallel ranks of a stage are not simulated, as nothing tells them apart.
 *
 * A new stage is the recorded middle stage, of several by turns. Of two recorded stages the first
 * one tells what is common, as long as the last one does the same; products that only one of them
 * does make it impossible to tell.
 *
 *     struct pipeline *pl = pipeline_new(&input, &why);
 *     if (pl == NULL) refuse(why);
 *     rc = pipeline_write(pl, 16, &longer, e);   the run, and where what is in it was recorded
 *     longer_run_release(&longer);
 *     pipeline_free(pl); */

/* Of the recording; all borrowed until pipeline_free(). */
struct pipeline_input {
    const struct program *program; /* with what transfers take without waits (program_learn) */
    const struct rank_steps *iterations; /* by rank */
    const struct weak_scaling *growth;   /* whose axis is pp */
};

struct pipeline;

/* NULL when the recording cannot be laid out anew; *why then says so, in `arena`. */
struct pipeline *pipeline_new(const struct pipeline_input *in, struct arena *arena,
                              const char **why);
void pipeline_free(struct pipeline *pl);

/* "1F1B of 2 stages and 8 micro-batches", in the arena. */
const char *pipeline_text(const struct pipeline *pl, struct arena *arena);

struct longer_run {
    struct run run;
    struct weak_scaling growth; /* of it; scale 1 is all there is */
    struct weak_scaling_origin origin;
    int *comm; /* owned: what origin points to */
    size_t ncomms, cap_comms;
    struct weak_scaling_op **op; /* owned with what it points to; [run.nranks] */
};

/* The job with that many stages: a multiple of the recorded ones. 0, or -1 with e filled. To be
 * released in either case. */
int pipeline_write(const struct pipeline *pl, int stages, struct longer_run *out, struct err *e);
void longer_run_release(struct longer_run *longer);

#endif
