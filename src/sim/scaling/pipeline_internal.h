/* SPDX-License-Identifier: MIT
 *
 * Shared by pipeline.c (the ranks and schedule of a pipeline, messages and work of a stage),
 * pipeline_split.c (its passes) and pipeline_write.c (the longer run).
 */
#ifndef SPECTER_SIM_SCALING_PIPELINE_INTERNAL_H
#define SPECTER_SIM_SCALING_PIPELINE_INTERNAL_H

#include "base/arena.h"
#include "sim/program/process.h"
#include "sim/scaling/scaling.h"

#include <stdbool.h>
#include <stddef.h>

/* The order of work on one stage of a pipeline, for any number of stages and micro-batches.
 *
 * 1F1B (Narayanan et al., PipeDream-Flush, "Efficient Large-Scale Language Model Training", 2021):
 * min(m, p-1-s) forward passes ahead on stage s of p, then one forward and one backward by turns,
 * then the backward passes that are left. GPipe: all forward passes, then all backward ones. Of
 * balanced stages both idle (p-1)/(m+p-1) of the time.
 *
 * Messages to and from neighbours between two pieces of work go in one group, or in two where the
 * schedule says so. The first stage exchanges nothing with a stage before it, nor the last with one
 * after it; work that nothing separates is one token. */

enum pipe_schedule {
    PIPE_1F1B,       /* a message is grouped with the one that comes the other way */
    PIPE_1F1B_APART, /* each message alone */
    PIPE_GPIPE,
    PIPE_SCHEDULES
};

/* The messages of an exchange, as bits. */
enum pipe_message {
    PIPE_ACT_IN = 1,
    PIPE_ACT_OUT = 2,
    PIPE_GRAD_IN = 4,
    PIPE_GRAD_OUT = 8,
};

enum pipe_part_kind { PART_PROLOGUE, PART_FORWARD, PART_BACKWARD, PART_EPILOGUE };

struct pipe_part {
    enum pipe_part_kind kind;
    int nth; /* micro-batch */
};

#define PIPE_PARTS_MAX 4

struct pipe_token {
    unsigned exchange; /* bits of enum pipe_message; 0: work */
    int nparts;
    struct pipe_part parts[PIPE_PARTS_MAX];
};

struct pipe_plan {
    struct pipe_token *list; /* owned; begins and ends with work */
    size_t count, cap;
};

/* stages >= 2, micro >= 1. */
void pipe_plan_init(struct pipe_plan *plan, enum pipe_schedule schedule, int stage, int stages,
                    int micro);
void pipe_plan_release(struct pipe_plan *plan);

/* Calls [first, end) of a stage. */
struct pipe_piece {
    uint32_t first, end;
};

/* Messages in one launch with the host's other calls right after them, or work. */
struct pipe_found {
    unsigned exchange; /* as of a token */
    struct pipe_piece calls;
};

/* One recorded iteration of a stage. */
struct pipe_iteration {
    struct pipe_found *list; /* begins and ends with work, which may be empty; owned */
    size_t count, cap;
    struct pipe_piece prologue, epilogue;
    /* [micro] in the arena; NULL where the passes are not told apart */
    struct pipe_piece *forward, *backward;
};

struct pipe_stage {
    uint32_t r; /* index in run->ranks */
    const struct rank *rank;
    struct host_calls calls;
    int64_t *clock_ns; /* [calls.count] the host's clock before each; in the arena */
    struct pipe_iteration *iterations; /* [pl->niterations]; in the arena */
    int32_t compute, device;           /* stream and device of its GEMMs; -1 */
};

struct pipeline {
    struct pipeline_input in;
    const struct run *run;
    const struct grid_axis *axis;
    struct pipe_stage *stages; /* [nstages]; in the arena */
    int nstages, micro;
    uint32_t niterations;
    enum pipe_schedule schedule;
    /* [niterations] of a pipeline of two stages: the part of a pass that both stages have, which a
     * stage between them has, too */
    struct pipe_piece *middle_forward, *middle_backward;
    int64_t **clean_ns;   /* [run->nranks][nops] device times without waits; UNKNOWN_NS */
    int64_t **untimed_ns; /* [run->nranks][nlaunches] time of the kernels; 0: none is known */
    int64_t **gap_ns;     /* [run->nranks][nops] in front of the operation (untimed.c); 0: none */
    const uint64_t ***untimed_classes; /* the kernels that share that time */
    const char *why;                   /* the reason of pipe_refuse(); in the arena */
    struct arena arena;
};

/* Sets `why`: the reason why the pipeline cannot be made longer. Returns -1. */
int pipe_refuse(struct pipeline *pl, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Returns the kind of a message (enum pipe_message), as seen from that stage; 0: it is none of the
 * pipeline; -1: it skips stages. */
int pipe_message_of(const struct pipeline *pl, int stage, const struct op *op);

/* pipeline_split.c: finds the forward and backward passes, prologue and epilogue of all stages that
 * are not copied as a whole. 0, or -1 with `why` set. */
int pipe_split(struct pipeline *pl);

static inline bool pipe_is_work(const struct pipe_stage *s, uint32_t call)
{
    const struct host_call *c = &s->calls.list[call];
    return c->what == HOST_CALL_LAUNCHES ||
           (c->what == HOST_CALL_OP && s->rank->ops[c->index].timing != SPECTER_TIMING_CAPTURED);
}

#endif
