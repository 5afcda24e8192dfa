/* SPDX-License-Identifier: MIT
 *
 * The order of work on one stage of a pipeline, for any number of stages and micro-batches.
 *
 * 1F1B (Narayanan et al., PipeDream-Flush, "Efficient Large-Scale Language Model Training", 2021):
 * min(m, p-1-s) forward passes ahead on stage s of p, then one forward and one backward by turns,
 * then the backward passes that are left. GPipe: all forward passes, then all backward ones. Of
 * balanced stages both idle (p-1)/(m+p-1) of the time.
 *
 * What is exchanged with neighbours between two pieces of work goes in one group, or in two where
 * the schedule says so. The first stage exchanges nothing with a stage before it, nor the last with
 * one behind it; work that nothing separates is one token.
 */
#ifndef SPECTER_SIM_SCALING_PIPELINE_PLAN_H
#define SPECTER_SIM_SCALING_PIPELINE_PLAN_H

#include "base/arena.h"

#include <stdbool.h>
#include <stddef.h>

enum pipe_schedule {
    PIPE_1F1B,       /* what goes one way is grouped with what comes the other */
    PIPE_1F1B_APART, /* each message on its own */
    PIPE_GPIPE,
    PIPE_SCHEDULES
};

/* Bits of an exchange. */
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
    unsigned exchange; /* of an exchange; 0: work */
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

const char *pipe_schedule_name(enum pipe_schedule schedule);

#endif
