/* SPDX-License-Identifier: MIT
 *
 * The time of a step of a run, and its parts: recorded and simulated times go through the same
 * functions. trace/step_time.h finds the steps, and where each begins and ends.
 */
#ifndef SPECTER_SIM_STEP_STEP_MEASURE_H
#define SPECTER_SIM_STEP_STEP_MEASURE_H

#include "base/interval.h"
#include "sim/program/program.h"
#include "trace/step_time.h"

/* The kinds of time of a rank's device in a window: the work that it does, or the reason why it
 * does none. Each moment belongs to one kind, the first that is true of it, so that the kinds add
 * up to the window to the nanosecond. */
enum slice_kind {
    SLICE_COMPUTE,     /* GEMMs, other kernels, graphs */
    SLICE_UNTRACED,    /* kernels that were counted, not timed */
    SLICE_TRANSFER,    /* communication that moves data */
    SLICE_MEMBER_WAIT, /* communication that waits for other ranks */
    SLICE_ABSENT_WAIT, /* communication that waits for ranks that were not recorded */
    SLICE_MEMORY,      /* copies and memsets */
    SLICE_BUBBLE,      /* a message along the pipeline that waits for its other end */
    SLICE_HOST_BOUND,  /* the next work had not been launched */
    SLICE_STREAM_WAIT, /* it had, and waited for an event of another stream */
    SLICE_KINDS
};

/* The times in which an operation's data moved, and its other waits. */
struct movement {
    struct sim_span moved; /* start_ns UNKNOWN_NS: all the time, as far as is known */
    bool pipeline;         /* it waits for its neighbour in a pipeline */
    bool absent;           /* it waits for ranks that were not recorded */
};

/* Something that no operation of the trace stands for. */
struct untraced_slice {
    struct sim_span when;
    enum slice_kind kind;
};

/* The times of one rank; spans[op].start_ns is UNKNOWN_NS for an operation without a time. */
struct rank_timeline {
    const struct sim_span *spans;
    int64_t begin_ns, end_ns;            /* the host's part of the steps */
    const struct movement *moves;        /* [nops]; NULL: not known of any */
    const struct untraced_slice *beside; /* [nbeside] */
    size_t nbeside;
    const int64_t *launched; /* [nops] when the host launched each; UNKNOWN_NS; NULL: not known */
};

/* One step, in ns. Each moment of a device counts once (enum slice_kind):
 *
 *     span = compute + untraced + exposed communication + absent wait + exposed memory + idle
 *     idle = host bound + stream wait + bubble + other
 *
 * Of a recording no waits are known: all communication moves data there, and all idling is other.
 * Of a job, the parts are the means over its ranks. */
struct iteration_time {
    double span_ns, compute_ns;
    double untraced_ns; /* kernels that were counted, not timed; beside compute not counted */
    double comm_ns, exposed_comm_ns;
    double comm_wait_ns;   /* of exposed_comm_ns: waits for other ranks; the pipeline's apart */
    double absent_wait_ns; /* exposed: waits for ranks that were not recorded, which the recording
                              does not tell from transfers with certainty (retarget.h) */
    double memory_ns, exposed_memory_ns;
    double idle_ns;
    double host_bound_ns;  /* what comes next was not launched yet */
    double stream_wait_ns; /* it was, and awaited another stream */
    double bubble_ns;      /* a message along the pipeline axis waited for its other end */
    double other_idle_ns;
};

/* Writes the begin and end of the rank's steps in these times into list[nparts]. Operations without
 * a recorded time end none where others have one: the recording would not show that end. */
void iteration_bounds(struct step_bounds *list, const struct rank_steps *it, size_t nops,
                      const struct rank_timeline *when);

/* End of the last operation of a step; UNKNOWN_NS. */
int64_t iteration_end(const struct rank_steps *it, size_t nops, const struct rank_timeline *when,
                      uint32_t step);

/* The mean step of a window on one rank. */
void iteration_measure(struct iteration_time *out, const struct step_window *window,
                       const struct rank *rank, const struct rank_timeline *when);

/* out += one x factor, part by part. */
void iteration_add(struct iteration_time *out, const struct iteration_time *one, double factor);

/* The spread of a recording's steps: of the lengths whose mean is the step time
 * (trace/step_time.h). */
struct iteration_spread {
    size_t count; /* 0: fewer than two steps */
    double mean_ns, median_ns, min_ns, max_ns;
    double mean_off_ns; /* how far the mean may be off the mean of all steps of such a job, at 80 %:
                           1.28 x standard deviation / sqrt(count); 0 of one */
    double p5_ns, p95_ns; /* nearest rank; with fewer than 20 iterations min and max */
};

void spread_measure(struct iteration_spread *out, const struct job_steps *steps,
                    const struct step_time *time);

/* Waits inside collectives, as recorded and as they came out of a simulation on the hardware of the
 * recording. A member's wait is what it spends in a collective beyond the member that spends least:
 * the last one to come. No recorded wait is an input of a replay, so that waits tell how well it
 * understands who is late. */

/* A collective in which members waited for less than this, on average, is not compared: that is the
 * scatter of links, not lateness. */
#define WAITS_LEAST_NS 1000

struct waits {
    uint64_t collectives; /* compared: all members recorded with a time, with waits as above */
    double recorded_ns, replayed_ns; /* of all their members together */
    double median_off;               /* median over them of |replayed - recorded| / recorded; 0 */
};

/* Of one rank: what it waits in all collectives that are compared. */
struct rank_waits {
    double recorded_ns, replayed_ns;
};

/* p has run under its measured costs. `ranks`, one a rank of the run, is filled. */
void waits_compare(struct waits *out, struct rank_waits *ranks, const struct program *p);

#endif
