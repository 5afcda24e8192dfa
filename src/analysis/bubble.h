/* SPDX-License-Identifier: MIT
 *
 * The time in which stages of a pipeline do nothing, stage by stage (stages.h). Definitions:
 * docs/analyze.md, "Pipeline stages".
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
#ifndef SPECTER_ANALYSIS_BUBBLE_H
#define SPECTER_ANALYSIS_BUBBLE_H

#include "analysis/stages.h"
#include "trace/match.h"

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

/* The fraction of a pipeline of p stages that hold v parts each, with m micro-batches. */
double bubble_ideal(int stages, int parts, double micro);

#endif
