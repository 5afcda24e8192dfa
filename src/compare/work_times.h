/* SPDX-License-Identifier: MIT
 *
 * What the work of a side takes in a step: each rank's own device work by what it is (a GEMM by its
 * shape, a kernel by its name), communication by operation and size, and the ranks' CPU time. Times
 * are those of work alone: without waits, and without what overlapping work took from it.
 *
 *     struct work_times w = {0};
 *     work_times_add(&w, altered);                  repeats of a side are added up
 *     uint32_t kind = work_times_find(&w, work_key(program, cost));
 *     w.ns[kind][rank] / w.runs
 *     work_times_release(&w);
 */
#ifndef SPECTER_COMPARE_WORK_TIMES_H
#define SPECTER_COMPARE_WORK_TIMES_H

#include "base/arena.h"
#include "base/idmap.h"
#include "sim/replay/altered.h"

/* What communication beside it took of a kind of work in a step, sums over ranks and runs. */
struct work_beside {
    double taken_ns;
    double loaded_ns; /* what that would be at factor 1 (sim/target/overlap.h) */
    bool not_shown;   /* a side does not show it of this kind */
};

/* How often a kind of own work runs in a step and what it takes, sums over ranks and runs. On an
 * idle stream its time includes that of its launch (OP_UPPER_BOUND). */
struct work_launches {
    double queued, queued_ns; /* behind other work of its stream */
    double idle;
};

struct work_times {
    struct idmap kinds; /* of work, by work_key() */
    double **ns;        /* [kinds.count][nranks] a step, sums over the runs; owned. A transfer is
                           its first member's, times its members: the mean over ranks is right */
    uint8_t *class;     /* [kinds.count] enum op_class; owned */
    struct work_beside *beside;     /* [kinds.count] owned */
    struct work_launches *launches; /* [kinds.count] owned */
    size_t cap, cap_class, cap_beside, cap_launches;
    double *cpu_ns; /* [nranks] of the host, without what it waited; NAN: not known */
    size_t nranks;  /* of the first run; later ones are taken by position */
    size_t runs;
    struct arena arena;
};

/* One number for equal work in all runs. cost: of the program; one with an operation. */
int64_t work_key(const struct program *p, const struct program_cost *cost);

/* The same of communication. bytes 0: not known. */
int64_t work_key_of_comm(int op, int dtype, uint64_t bytes, int ranks);

/* Adds the steps that count. A run of another number of ranks than the first is not added. */
void work_times_add(struct work_times *w, const struct altered *a);
void work_times_release(struct work_times *w);

/* Returns what a kind takes of a rank's time in a step, mean of ranks and runs; 0 of IDMAP_NONE. */
double work_times_mean(const struct work_times *w, uint32_t kind);

/* Of enum op_class: GEMMs, kernels and graphs. */
bool work_is_computation(int class);

/* IDMAP_NONE: there is no such work. */
uint32_t work_times_find(const struct work_times *w, int64_t key);

#endif
