/* SPDX-License-Identifier: MIT
 *
 * Numbers out of the closing records of a run (trace/closing.h), added up while they are read: of
 * each process its shares of time, of each operation and size of communicator the durations, of
 * each communicator the members that spend least and most time in it. The result is the same for
 * any order of the processes, except where there are more than CLOSING_COMMS_MAX communicators:
 * those of the processes that come first have a place, and what is told of communicators and of
 * caused waits is of these.
 *
 *     struct closing_sums s;
 *     closing_sums_init(&s);
 *     closing_sums_add(&s, &closing) for each process
 *     closing_sums_finish(&s);
 *     closing_sums_release(&s);
 *
 * Durations on a device include waiting. The member of a collective that arrives last does not
 * wait, so that of all members its device time is the shortest.
 */
#ifndef SPECTER_ANALYSIS_CLOSING_SUMS_H
#define SPECTER_ANALYSIS_CLOSING_SUMS_H

#include "trace/closing.h"

/* Sums over a hundred thousand processes do not fit 64 bits: high * 10^9 + low. */
struct long_sum {
    uint64_t high, low;
};

double long_sum_value(struct long_sum sum);

/* One process. */
struct closing_rank {
    int64_t rank;            /* -1 unknown */
    const char *host, *file; /* in the arena */
    int64_t recorded_ns;     /* last end - first start of device work; 0: none */
    int64_t devices;
    struct closing_sum kinds[SPECTER_SUM_KIND_COUNT];
    uint64_t launches, dropped;
    double caused_ns; /* waits of others, at least, where this one had the shortest time */
};

/* Classes of communicators by size: 0 unknown, 1 one rank, 2 two ranks, 3: 3 or 4, 4: 5 to 8, and
 * so on by powers of two. */
#define CLOSING_SIZES 23

/* The processes that spend least and most time in something: the time, and the rank. Processes
 * without device times of it have no part in this. */
struct closing_extremes {
    uint64_t timed; /* processes with device times; 0: the rest says nothing */
    int64_t least_ns, most_ns;
    int64_t least, most;
};

/* An operation on communicators of a class of sizes, over all processes. */
struct closing_class {
    uint64_t comms, ranks; /* that have it; communicators without an id count as none */
    int32_t size_min, size_max;
    uint64_t count, timed, spans;
    struct long_sum bytes, timed_bytes, bus_bytes; /* the last: timed ones x the bus factor */
    struct long_sum ns;
    int64_t min_ns, max_ns; /* of one interval */
    struct closing_extremes of_ranks;
    uint64_t hist[SPECTER_HIST_BINS];
};

/* An operation on one communicator, over its members. */
struct closing_comm {
    uint64_t id;
    int32_t size;
    uint8_t op;
    uint32_t members; /* processes that have a row of it */
    uint64_t count, spans_min, spans_max;
    struct long_sum bytes, ns;
    struct closing_extremes of_ranks;
};

#define CLOSING_COMMS_MAX ((size_t)1 << 20)

/* The spread of a value over the ranks that have one: of shares of the recorded time, of ns. */
struct closing_spread {
    double median, least, most;    /* NAN without ranks */
    int64_t least_rank, most_rank; /* -1 unknown */
};

struct closing_sums {
    struct arena arena;
    struct intern hosts;
    struct closing_rank *ranks; /* owned; by rank after closing_sums_finish() */
    size_t nranks, cap_ranks;
    struct closing_class classes[SPECTER_COMM_OP_COUNT][CLOSING_SIZES];
    struct closing_comm *comms; /* owned; after closing_sums_finish() by waiting, longest first */
    size_t ncomms, cap_comms;
    uint32_t *slots; /* owned: where a communicator's operation is found */
    size_t nslots;
    uint64_t rows_left_out; /* rows without a place, beyond CLOSING_COMMS_MAX */

    /* filled by closing_sums_finish() */
    struct closing_spread kinds[SPECTER_SUM_KIND_COUNT], communication, recorded; /* recorded: ns */
    size_t straggler; /* the rank that causes most waiting; SIZE_MAX: none causes any */
};

void closing_sums_init(struct closing_sums *s);
void closing_sums_release(struct closing_sums *s);

/* Adds a process. The record is not needed afterwards. */
void closing_sums_add(struct closing_sums *s, const struct closing *c);

/* After the last process: sorts ranks and communicators, counts the latter in their classes, and
 * fills the rest. */
void closing_sums_finish(struct closing_sums *s);

/* The part of a process's recorded time that collectives and messages took together; NAN. */
double closing_comm_share(const struct closing_rank *rank);

/* Returns the time that the members of a communicator waited for others, at least: each has waited
 * for so long as its time exceeds that of the member with the shortest. NAN where members are
 * missing or differ in their number of operations, and for operations that a member may leave
 * early. */
double closing_wait_ns(const struct closing_comm *comm);

/* Finds the two times around the q-quantile of the durations, 0 < q <= 1. false: none. */
bool closing_quantile(const struct closing_class *c, double q, double *from_ns, double *to_ns);

#endif
