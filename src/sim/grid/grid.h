/* SPDX-License-Identifier: MIT
 *
 * The parallel grid of a job, from the rank sets of its communicators and what each of them does.
 *
 * A grid is a mixed-radix numbering: rank = sum of coordinate x stride over its axes, and the
 * stride of an axis is the product of the sizes of the axes inside it. Each axis has a role:
 *
 *   tp    tensor: AllReduce, or AllGather and ReduceScatter by turns, all through the step
 *   cp    context: Send and Recv around a ring
 *   ep    expert: AlltoAll, or messages to every member
 *   fsdp  sharded data: AllGather of the parameters before use, ReduceScatter of the gradients
 *   dp    data: few large AllReduces, or ReduceScatter and AllGather (a sharded optimizer); parts
 *         of a mesh, whose borders neighbours exchange (halo exchange)
 *   pp    pipeline: Send and Recv between neighbours, both ways
 *
 * Sizes and strides of axes come from the sets alone: equal-stride sets that partition the world
 * give strides at which the numbering must break, and these must divide each other. The role of an
 * axis comes from names where a trace has them ("tp", "TENSOR_MODEL_PARALLEL_GROUP", "dp_shard"),
 * else from the operations. Expert-parallel groups usually lie within the data-parallel ranks: then
 * ep is one axis, what is left of them (expert data-parallel) is dp, and dense gradients are
 * reduced over dp x ep.
 *
 * Ambiguity is an answer: the candidates are named, in the words of --parallel.
 *
 *     struct grid g;
 *     grid_find(&g, &input);
 *     if (g.state == GRID_FOUND) for (int a = 0; a < g.naxes; a++) use(&g.axes[a]);
 *     grid_release(&g);
 *
 * Pure: knows nothing of traces but what grid_input.h put into its input.
 */
#ifndef SPECTER_SIM_GRID_GRID_H
#define SPECTER_SIM_GRID_GRID_H

#include "base/arena.h"
#include "base/err.h"
#include "specter/trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GRID_AXES_MAX 8
#define GRID_CANDIDATES_MAX 8

/* Calls of no more than that (losses, norms, flags) tell nothing of what a group is for. */
#define GRID_CONTROL_BYTES 1024

/* In the usual order of axes, innermost first (Megatron: tp-cp-ep-dp-pp; HSDP: shards inside). */
enum grid_role { GRID_TP, GRID_CP, GRID_EP, GRID_FSDP, GRID_DP, GRID_PP, GRID_ROLES };

/* Operations of a communicator's members in the iterations, control calls apart: of the member that
 * called most. */
struct grid_traffic {
    uint64_t calls[SPECTER_COMM_OP_COUNT], bytes[SPECTER_COMM_OP_COUNT];
    uint64_t control;     /* calls of GRID_CONTROL_BYTES and less */
    uint64_t placed;      /* AllReduces of which it is known where in their step's computation */
    uint64_t early;       /* of these: in its first quarter, where no gradient is ready */
    uint32_t gather_run;  /* most AllGathers one after another */
    uint32_t fewest_sent; /* of its members: different ones that it sends to, itself included */
    bool to_itself;       /* a member sends to itself, as all-to-alls made of messages do */
    bool one_way; /* a member sent, or received, what was not answered before it computed again: in
                     a pipeline, whose stages have an order, not where borders are exchanged */
};

struct grid_comm {
    const char *id, *name; /* name "" unknown; borrowed */
    int size;              /* at least 1 */
    const int *ranks;      /* [size] global rank by comm rank; -1 unknown; borrowed */
    int user;              /* a member that used it, where no member is known; -1: none */
    struct grid_traffic did;
};

/* A message between neighbours; all-to-alls made of messages are left out. */
struct grid_edge {
    int from, to; /* global ranks */
    bool one_way; /* as in grid_traffic, of the sender */
};

struct grid_input {
    int world;
    double steps; /* iterations in which calls were counted; at least 1 */
    const struct grid_comm *comms;
    size_t ncomms;
    const struct grid_edge *edges;
    size_t nedges;
};

enum grid_trust {
    GRID_ASSUMED, /* nothing speaks against it */
    GRID_LIKELY,  /* from what the operations look like */
    GRID_NAMED,   /* the trace names the group */
    GRID_TOLD,    /* by the user */
};

struct grid_axis {
    enum grid_role role;
    int size, stride;
    enum grid_trust trust;
    const char *why;   /* evidence, in words; in the grid's arena */
    const char *doubt; /* what else it may be, where it is assumed; NULL */
};

/* Position of a communicator in the grid. */
struct grid_place {
    const int *ranks; /* [size] global rank by comm rank: as recorded, or where the grid has them by
                         one that is known; NULL: not known. Borrowed, or in the grid's arena */
    unsigned axes;    /* bits: those it spans; 0: a single rank, or not known */
    bool known;
    bool part;              /* spans only some of their coordinates (neighbours of a pipeline) */
    bool by_messages;       /* its all-to-alls are made of messages, one to each member */
    uint64_t sharded_bytes; /* of gradients, where each member receives its shard of them; 0 */
    uint64_t whole_bytes;   /* reduced to all members */
};

enum grid_state {
    GRID_FOUND,
    GRID_AMBIGUOUS, /* strides are known, roles are not: see candidates */
    GRID_NONE,      /* the rank sets make no grid, or do not tell one: see problem */
};

struct grid {
    int world;
    enum grid_state state;
    struct grid_axis axes[GRID_AXES_MAX]; /* by stride; a role may have none */
    int naxes;
    struct grid_place *comms; /* [ncomms]; owned */
    size_t ncomms;
    const char *problem;                         /* why not GRID_FOUND; NULL */
    const char *candidates[GRID_CANDIDATES_MAX]; /* as --parallel takes them */
    int ncandidates;
    struct arena arena;
};

/* Never fails; `g` is to be released. */
void grid_find(struct grid *g, const struct grid_input *in);

/* The grid that the user tells: "tp=8,pp=2,dp=4", sizes of axes in any order. The order of strides
 * is that of the rank sets; where these leave a choice, what the operations look like decides, then
 * the usual order. A stride may be given, too: "dp=2:1,tp=2:2". The product of the sizes is the
 * world, ep counting as part of dp where the rest is the world without it. 0, or -1 with e filled
 * (ERR_USAGE): not a grid, another world, or a communicator that does not fit, which is named. To
 * be released in either case. */
int grid_from_text(struct grid *g, const struct grid_input *in, const char *text, struct err *e);

void grid_release(struct grid *g);

/* The axis of that role: of several the outermost that has more than one rank; NULL. */
const struct grid_axis *grid_axis_of(const struct grid *g, enum grid_role role);

/* Product of the sizes of all axes of that role; 1 where there is none. */
int grid_size(const struct grid *g, enum grid_role role);

static inline int grid_coordinate(const struct grid_axis *axis, int rank)
{
    return rank / axis->stride % axis->size;
}

/* Its number along all axes of that role, the outermost counting most; 0 where there is none. */
int grid_place_along(const struct grid *g, enum grid_role role, int rank);

/* "tp", "dp x ep", "world", "part of pp", "alone", "unknown"; in the grid's arena. */
const char *grid_comm_text(struct grid *g, size_t comm);

/* "tp=8 (ranks 0-7, stride 1, 96 AllReduce a step)"; in the grid's arena. */
const char *grid_axis_text(struct grid *g, const struct grid_input *in, int axis);

/* All axes so, with what is doubtful; or why there are none. */
const char *grid_sentence(struct grid *g, const struct grid_input *in);

/* "tp=8,pp=2", or "tp=2:1,dp=2:2" where sizes alone would leave a choice: the axes of more than one
 * rank as --parallel takes them; in the grid's arena. */
const char *grid_spell(struct grid *g);

const char *grid_trust_name(enum grid_trust trust);

const char *grid_role_name(enum grid_role role);

/* Returns whether the name, in either case, is that of a role, which *role becomes. */
bool grid_role_parse(enum grid_role *role, const char *name, size_t len);

#endif
