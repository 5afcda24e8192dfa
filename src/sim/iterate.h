/* SPDX-License-Identifier: MIT
 *
 * The iterations of a run, and what one of them takes. Recorded and simulated times go through the
 * same functions.
 *
 * Found in this order, for each rank: the steps that the trace marks; else the stretch of
 * operations that repeats itself (same class, operation, communicator, bytes or shape, stream) and
 * covers most of them, with what comes before and after left out; else the whole trace is one
 * iteration.
 */
#ifndef SPECTER_SIM_ITERATE_H
#define SPECTER_SIM_ITERATE_H

#include "sim/program.h"
#include "sim/slices.h"

#define ITERATION_NONE UINT32_MAX

enum iteration_source { ITERATIONS_STEPS, ITERATIONS_PERIOD, ITERATIONS_WHOLE };

/* Of one rank. */
struct iterations {
    enum iteration_source source;
    uint32_t count; /* at least 1 */
    size_t period;  /* operations in one, when source is ITERATIONS_PERIOD */
    uint32_t *of;   /* [nops] iteration of each operation; ITERATION_NONE; owned */
    bool *ends; /* [nops] the operation can end one: it has a recorded time, or none has; owned */
};

void iterations_find(struct iterations *it, const struct rank *rank,
                     const struct program_rank *program);
void iterations_release(struct iterations *it);

/* Of an operation that communicates: when its data moved, and what it otherwise waited for. */
struct movement {
    struct sim_span moved; /* start_ns UNKNOWN_NS: all the time, as far as is known */
    bool pipeline;         /* it waits for its neighbour in a pipeline */
};

/* Something that no operation of the trace stands for. */
struct slice {
    struct sim_span when;
    enum slice_kind kind;
};

/* When things happened on one rank; spans[op].start_ns is UNKNOWN_NS for what has no time. */
struct timeline {
    const struct sim_span *spans;
    int64_t begin_ns, end_ns;     /* the host's window */
    const struct movement *moves; /* [nops]; NULL: not known of any */
    const struct slice *beside;   /* [nbeside] */
    size_t nbeside;
};

/* One iteration, in ns. With several, what lies between the end of the first (which warms up) and
 * the end of the last, divided by their number less one; with one, from the host's begin to the
 * later of the host's and the device's end. Each moment of the device counts once (slices.h):
 *
 *     span = compute + untraced + exposed communication + exposed memory + idle
 *     idle = host bound + stream wait + bubble + other
 *
 * Of a recording no waits are known: all communication moves data there, and all idling is other.
 */
struct iteration_time {
    double span_ns, compute_ns;
    double untraced_ns; /* kernels that were counted, not timed; beside compute not counted */
    double comm_ns, exposed_comm_ns;
    double comm_wait_ns; /* of exposed_comm_ns: waits for other ranks; the pipeline's apart */
    double memory_ns, exposed_memory_ns;
    double idle_ns;
    double host_bound_ns;  /* what comes next was not launched yet */
    double stream_wait_ns; /* it was, and awaited another stream */
    double bubble_ns;      /* a message along the pipeline axis waited for its other end */
    double other_idle_ns;
};

/* The stretch of time that is measured, and how many iterations it holds. */
struct window {
    int64_t start_ns, end_ns;
    uint32_t iterations;
};

struct window iteration_window(const struct iterations *it, size_t nops,
                               const struct timeline *when);

/* End of the last operation of an iteration (ITERATION_NONE: of all); UNKNOWN_NS. Operations
 * without a recorded time end none where others have one: the recording would not show that end. */
int64_t iteration_end(const struct iterations *it, size_t nops, const struct timeline *when,
                      uint32_t iteration);

void iteration_measure(struct iteration_time *out, const struct iterations *it,
                       const struct rank *rank, const struct timeline *when);

/* A stretch of symbols that repeats itself: length, in which every symbol equals the one `period`
 * before it. period 0: none that covers at least half. */
struct stretch {
    size_t first, length, period;
    uint64_t compared; /* equal symbols that were compared on the way: linear in the sequence */
};

struct stretch stretch_find(const uint64_t *symbols, size_t n);

#endif
