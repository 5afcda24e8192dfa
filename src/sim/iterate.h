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

#define ITERATION_NONE UINT32_MAX

enum iteration_source { ITERATIONS_STEPS, ITERATIONS_PERIOD, ITERATIONS_WHOLE };

/* Of one rank. */
struct iterations {
    enum iteration_source source;
    uint32_t count; /* at least 1 */
    size_t period;  /* operations in one, when source is ITERATIONS_PERIOD */
    uint32_t *of;   /* [nops] iteration of each operation; ITERATION_NONE; owned */
};

void iterations_find(struct iterations *it, const struct rank *rank,
                     const struct program_rank *program);
void iterations_release(struct iterations *it);

/* When things happened on one rank; spans[op].start_ns is UNKNOWN_NS for what has no time. */
struct timeline {
    const struct sim_span *spans;
    int64_t begin_ns, end_ns; /* the host's window */
};

/* One iteration, in ns. With several, what lies between the end of the first (which warms up) and
 * the end of the last, divided by their number less one; with one, from the host's begin to the
 * later of the host's and the device's end. Shares of the device's time are lengths of interval
 * unions: span = compute + exposed communication + exposed memory + idle. */
struct iteration_time {
    double span_ns, compute_ns, comm_ns, exposed_comm_ns, memory_ns, exposed_memory_ns, idle_ns;
};

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
