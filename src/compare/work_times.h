/* SPDX-License-Identifier: MIT
 *
 * The time that a side's work takes in a step: each rank's own device work by what it is (a GEMM by
 * its shape, a kernel by its name), communication by operation and size, and the ranks' CPU time.
 * Times are those of work alone: without waits, and without what overlapping work took from it.
 *
 *     struct work_times w = {0};
 *     work_times_add(&w, altered);                  repeats of a side are added up
 *     uint32_t kind = work_times_find(&w, work_key(program, cost));
 *     w.list[kind].ns[rank] / w.runs
 *     work_times_release(&w);
 */
#ifndef SPECTER_COMPARE_WORK_TIMES_H
#define SPECTER_COMPARE_WORK_TIMES_H

#include "base/arena.h"
#include "base/idmap.h"
#include "compare/work_places.h"

/* Numbers and times of a kind of own work in a step, sums over ranks and runs. On an idle stream
 * its time includes that of its launch (OP_UPPER_BOUND). */
struct work_launches {
    double queued, queued_ns; /* behind other work of its stream */
    double idle;
};

/* The work of one kind, by work_key(). Times are of a step, sums over the runs. */
struct kind_times {
    double *ns;         /* [nranks] in the arena. A transfer is its first member's, times its
                           members: the mean over ranks is right */
    double modelled_ns; /* of ns: of work that never ran without overlapping communication */
    double taken_ns;    /* what other communication took of transfers */
    struct work_launches launches;
    uint8_t class; /* enum op_class */
};

struct work_times {
    struct idmap kinds;      /* by work_key(): index into list */
    struct kind_times *list; /* [kinds.count] owned */
    size_t cap;
    struct work_places places; /* of work, and of CPU time: of each call's parts */
    double *cpu_ns;            /* [nranks] of the host, without what it waited; NAN: not known */
    size_t nranks;             /* of the first run; later ones are taken by position */
    size_t recorded;           /* of them, those that means are of: run_recorded_ranks() */
    size_t runs;
    struct arena arena;
};

/* Adds the steps that count. A run of another number of ranks than the first is not added. */
void work_times_add(struct work_times *w, const struct altered *a);
void work_times_release(struct work_times *w);

/* Returns what a kind takes of a rank's time in a step, mean of ranks and runs; 0 of IDMAP_NONE. */
double work_times_mean(const struct work_times *w, uint32_t kind);

/* Returns whether the side tells the kind's own time from what overlapping communication took: no
 * more than a hundredth of it is a model's. */
bool work_times_own_known(const struct work_times *w, uint32_t kind);

/* Returns what other, overlapping communication took of a kind of communication, as
 * work_times_mean(); 0 of IDMAP_NONE. */
double work_times_taken(const struct work_times *w, uint32_t kind);

/* Returns the CPU time of a rank without its waits, of the steps that count, in one of them; NAN
 * where the trace does not hold when the host called. rank: index into run->ranks. */
double work_cpu_ns(const struct altered *a, size_t rank);

/* IDMAP_NONE: there is no such work. */
uint32_t work_times_find(const struct work_times *w, int64_t key);

#endif
