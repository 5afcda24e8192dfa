/* SPDX-License-Identifier: MIT
 *
 * Single numbers of a run, by the names that the benchmark community uses for them; docs/metrics.md
 * defines each and says where the original counts otherwise.
 *
 *     struct metrics_input in = {&run, &analysis, &card, parallel};
 *     struct metrics m;
 *     if (metrics_init(&m, &in, e) < 0) ...
 *     if (metrics_add(&m, "iter_time", e) < 0) ...
 *     metrics_release(&m);
 *
 * To add one: a line in METRICS, a function metric_<name>() in metrics.c, a section in the
 * document.
 */
#ifndef SPECTER_METRICS_METRICS_H
#define SPECTER_METRICS_METRICS_H

#include "analysis/analysis.h"
#include "base/arena.h"
#include "metrics/card.h"
#include "sim/grid/grid_input.h"

/* X(name, unit, definition of the value) */
#define METRICS(X)                                                                               \
    X(coll_call_num, "calls",                                                                    \
      "collectives and messages that a rank calls: device operations, each once; mean over the " \
      "ranks")                                                                                   \
    X(throughput_tokens, "tokens/s", "tokens of a step of the whole job (card) / iter_time")     \
    X(iter_time, "ms",                                                                           \
      "mean step time, from the end of the last rank in a step to its end in the next: marked "  \
      "steps without a first one that warms up, else the period that the operations repeat")     \
    X(pipeline_bubble, "share",                                                                  \
      "of the steps' time, mean over the stages: waiting of a pipeline stage for others")        \
    X(comm_comp_overlap, "share",                                                                \
      "of the time of communication: beside which the same device computes; unions, all ranks")  \
    X(straggler_lag, "ms", "mean over the collectives of latest - earliest start of a member")   \
    X(traffic_distribution, "share",                                                             \
      "of the bytes that leave GPUs: those of the parallel axis that sends most; all axes are "  \
      "listed")                                                                                  \
    X(comm_volume, "bytes", "that leave the GPUs of the traced ranks, all operations")           \
    X(mfu, "share",                                                                              \
      "model FLOPs of a step (card) / what all GPUs could do in iter_time at their dense peak")  \
    X(variability, "share", "standard deviation of the steps / their mean")                      \
    X(hardware_saturation, "share",                                                              \
      "FLOPs of the recorded GEMMs, convolutions and attention / what the devices "              \
      "could "                                                                                   \
      "do in their time at their dense peaks")

struct metric_field {
    const char *key;  /* says its unit */
    const char *text; /* NULL: a number */
    double value;     /* NAN: not known */
};

struct metric {
    const char *name, *unit;
    double value;                /* NAN: not known */
    const char *reason;          /* why it is not known; NULL */
    struct metric_field *fields; /* owned */
    size_t nfields, cap_fields;
};

struct metrics_input {
    const struct run *run;           /* all borrowed */
    const struct analysis *analysis; /* of all ranks */
    const struct card *card;
    const char *parallel; /* the grid, as replay's --parallel takes it; NULL: card, else found */
};

struct metrics {
    struct metrics_input in;
    struct arena arena; /* texts */
    struct recorded_grid recorded;
    struct metric *list; /* owned */
    size_t count, cap;
};

/* 0, or -1 with e filled (ERR_USAGE): the grid does not fit. To be released in either case. */
int metrics_init(struct metrics *m, const struct metrics_input *in, struct err *e);
void metrics_release(struct metrics *m);

/* The name as METRICS has it, or with the suffix _16 of older scripts. 0, or -1 with e filled
 * (ERR_USAGE): there is no such metric. Without values known it is there, with a reason. */
int metrics_check(const char *name, size_t len, struct err *e);
int metrics_add(struct metrics *m, const char *name, size_t len, struct err *e);

#endif
