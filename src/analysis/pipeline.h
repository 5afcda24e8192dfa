/* SPDX-License-Identifier: MIT
 *
 * Pipelines: the stages of one, and the time in which a stage does nothing. docs/analyze.md,
 * "Pipeline stages". Interleaving over two ranks is taken for more micro-batches, a V-shaped
 * schedule for a plain one.
 */
#ifndef SPECTER_ANALYSIS_PIPELINE_H
#define SPECTER_ANALYSIS_PIPELINE_H

#include "base/arena.h"
#include "base/idmap.h"
#include "trace/match.h"
#include "trace/step_time.h"

/* ---- stages (stages.c) ----
 *
 * The stages of a pipeline, from the messages between its ranks.
 *
 * Two ranks are neighbours when the first message between them in a step goes one way: that is the
 * way of activations; gradients come back. Where the neighbours of each communicator (those of two
 * ranks taken together) form paths, each is one pipeline, and the n-th ranks of all paths are stage
 * n. A ring is a pipeline whose stages hold several parts of the model (interleaved, virtual
 * stages) when one of its edges carries fewer activations than the others: with m micro-batches and
 * v parts a stage, v m go over each edge and (v - 1) m over the one that closes the ring.
 *
 * Left out are messages to oneself and launches of messages to more than two others (an all-to-all
 * made of sends), pairs that begin with both ways at once, and rings in which all edges carry
 * equally much (keys and values of a context-parallel attention go round in one). Of two ranks a
 * pipeline with several parts a stage looks like one of more micro-batches.
 */

struct stage_position {
    uint32_t chain; /* index; STAGE_NOWHERE: in no pipeline */
    uint32_t stage;
};

#define STAGE_NOWHERE UINT32_MAX

struct stages {
    struct arena arena;
    const char *why; /* no pipeline was found: why; "" there are no messages; NULL: found */
    int count;       /* stages; 0 */
    size_t nchains;
    const int *chains;                     /* [nchains][count] global ranks, in the arena */
    const struct stage_position *position; /* [run->nranks], in the arena; NULL when not found */
    int parts;                             /* v: of the model a stage holds */
    double micro;                          /* m: micro-batches between two flushes; NAN unknown */
    size_t others;                         /* groups of ranks whose messages form no pipeline */
};

/* To be released, also where no pipeline is found. */
void stages_find(struct stages *s, const struct run *run, const struct job_steps *steps);
void stages_release(struct stages *s);

/* Returns the number of steps that pipelines are analysed in, one by one: the marked ones.
 * Repetition may be a micro-batch, so that without marks the whole recording is one step. */
static inline uint32_t stage_steps(const struct job_steps *steps)
{
    return steps->source == STEPS_MARKED ? steps->count : 1;
}

/* Step of an operation; STEP_NONE. */
static inline uint32_t stage_step_of(const struct job_steps *steps, size_t rank, size_t op)
{
    return steps->source == STEPS_MARKED ? steps->ranks[rank].of[op] : 0;
}

/* Returns whether a message is between neighbours of one pipeline. `r`: index into run->ranks. */
bool stages_is_message(const struct stages *s, const struct run *run, size_t r,
                       const struct op *op);

/* ---- pairs of ranks (stage_pairs.c), for stages.c ---- */

/* Messages between two ranks in one communicator, or in all communicators of exactly two ranks
 * together (STAGE_COMM_PAIRS). Index 0: from low to high, or low as the sender. `units` counts
 * micro-batches: sends without a computation between them are one. */
struct stage_pair {
    int32_t comm;      /* communicator; STAGE_COMM_PAIRS */
    int low, high;     /* global ranks */
    int64_t direction; /* > 0: first messages go from low to high */
    uint64_t units[2], received[2];
    uint64_t last_epoch[2]; /* of the sender's last one, plus 1 */
    size_t last_step[2];    /* in which low, high last voted for the direction, plus 1 */
    int64_t in_flight[2];   /* as seen by the sender: sent less what came back */
    uint64_t flushes[2];    /* times that this came back to 0 */
};

#define STAGE_COMM_PAIRS (-1)

struct stage_pairs {
    struct stage_pair *list; /* owned */
    size_t count, cap;
    struct idmap ids, keys; /* of two ranks; of them in a communicator */
    uint64_t messages;      /* all that were seen */
    uint64_t unknown;       /* of them with an unknown other end */
    uint64_t alltoalls;     /* of them in launches of messages to many */
};

void stage_pairs_init(struct stage_pairs *p, const struct run *run, const struct job_steps *steps);
void stage_pairs_release(struct stage_pairs *p);

/* The global rank at the other end of a message; -1 unknown, or no message. */
int stage_message_peer(const struct run *run, const struct op *op);

/* ---- bubbles (bubble.c) ----
 *
 * The time in which stages of a pipeline do nothing, stage by stage.
 *
 * A step's window is the same for all ranks of one pipeline: first start to last end of what they
 * were asked to do in it, after the window before. In it
 *
 *   window = compute + other + p2p + bubble          to the nanosecond, with
 *   compute  |C|            GEMMs, other kernels, graphs
 *   other    |(M u K) \ C|  copies; what moves in communication that is no message of the pipeline
 *   p2p      |P \ (C u M u K)|  what moves in messages between stages
 *   bubble                  the rest: waiting in a receive, send or collective, or nothing
 *
 * Data of a message move while both ends are in it, those of a collective in its shortest member's
 * time; what is before is waiting. bubble = warm-up + steady + drain: before the rank's first
 * message has come, after its last one, and between.
 *
 * Every time is a sum over the ranks of a stage and over all steps.
 */

/* X(name) */
#define BUBBLE_TIMES(X)                                                                         \
    X(window)                                                                                   \
    X(compute)                                                                                  \
    X(other)                                                                                    \
    X(p2p)                                                                                      \
    X(bubble)                                                                                   \
    X(warmup)                                                                                   \
    X(steady)                                                                                   \
    X(drain)                                                                                    \
    X(passes)  /* compute, and other before the last message: gradients are reduced after it */ \
    X(waiting) /* of the bubble: a receive, send or collective is under way */                  \
    X(idle) /* of it: nothing is, between the rank's first and last operation: the host is late */

struct bubble_times {
#define X(name) int64_t name##_ns;
    BUBBLE_TIMES(X)
#undef X
};

struct bubble_stage {
    struct bubble_times times;
    size_t ranks;   /* of the stage, with or without a trace */
    size_t windows; /* ranks with a trace times steps with work */
};

struct bubbles {
    const char *why; /* nothing to say: why; "": no pipeline at all; NULL */
    struct stages stages;
    const struct job_steps *steps; /* borrowed */
    struct bubble_stage *list;     /* owned [stages.count] */
    struct bubble_times total;     /* over all stages */
    size_t windows;
    bool aligned;     /* else windows are each rank's own */
    uint64_t alone;   /* messages of which the other end has no times: all of their time
                         is taken to be transfer */
    double ideal;     /* (p - 1) / (v m + p - 1); NAN unknown */
    int slowest;      /* stage that computes longest */
    double imbalance; /* its compute a window / the mean over stages; NAN */

    /* The bubble that a mean stage would have with equal stages; the part that unequal stages add;
     * the rest: transfer that others wait for, and the host. NAN unknown. Sums as above. */
    double schedule_ns, uneven_ns, rest_ns;
};

/* matches: of the run, borrowed for the call, and its steps, which must outlive the result. */
void bubbles_init(struct bubbles *b, const struct run *run, const struct matches *matches,
                  const struct job_steps *steps);
void bubbles_release(struct bubbles *b);

/* The share of a step in which a stage is idle by the schedule: of a pipeline of p stages that hold
 * v parts each, with m micro-batches. */
double bubble_ideal(int stages, int parts, double micro);

#endif
