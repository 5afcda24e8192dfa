/* SPDX-License-Identifier: MIT
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
#ifndef SPECTER_ANALYSIS_STAGES_H
#define SPECTER_ANALYSIS_STAGES_H

#include "base/arena.h"
#include "trace/run.h"
#include "trace/step_time.h"

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
    uint64_t passes;                       /* activations that the first stage sent, in all */
    size_t others;                         /* groups of ranks whose messages form no pipeline */
};

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

/* The global rank at the other end of a message; -1 unknown, or no message. */
int message_peer(const struct run *run, const struct op *op);

/* Returns whether a message is between neighbours of one pipeline. `r`: index into run->ranks. */
bool stages_is_message(const struct stages *s, const struct run *run, size_t r,
                       const struct op *op);

#endif
