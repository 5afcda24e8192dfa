/* SPDX-License-Identifier: MIT
 *
 * By how much the work of two sides differs: kind by kind what all ranks share, each rank's own,
 * and place by place (work_places.h) transfers, what communication takes of work that it overlaps,
 * launches within times, and CPU time. Where a kind of work has not the same places on both sides,
 * all of it differs as its mean does.
 *
 *     struct work_change change;
 *     work_change_init(&change, &base, base_run, base_slots, &test, test_run, &arena);
 *     change.common[kind]
 *     work_change_at(&change, place, kind, &before, &after);
 */
#ifndef SPECTER_COMPARE_WORK_CHANGE_H
#define SPECTER_COMPARE_WORK_CHANGE_H

#include "compare/work_times.h"
#include "trace/run.h"

/* In the arena, but for what work_change_release() frees; what it was made of must outlive it. */
struct work_change {
    const struct work_times *base, *test;
    size_t nranks;       /* of the base */
    uint32_t *test_rank; /* [nranks] the same rank of the test; PROGRAM_NONE */
    uint32_t *test_kind; /* [base->kinds.count] the same work; IDMAP_NONE */
    double *common;      /* [base->kinds.count] test / base that all ranks share */
    double *launch;      /* [base->kinds.count] test / base of the launches that its time includes
                            where it ran on an idle stream: the host's work. 1: as often idle */
    double *rank_shared_ns; /* [nranks] a rank's own computation in a step as it would be changed as
                               on all ranks, */
    double *rank_own_ns;    /* [nranks] and in the test: work that both sides have */
    double *rank_factor;    /* [nranks] by how much more than that its GEMMs and kernels changed, */
    double *rank_untimed;   /* [nranks] and those that were counted */
    double *cpu_factor;     /* [nranks] */
    struct slot_range base_slots; /* of the base's run that is simulated */
    uint32_t *same;               /* [base->places.ids.count] the test's place; IDMAP_NONE */
    struct work_sample *shift;    /* [base->places.ids.count] */
    struct idmap works;           /* of work_place.work, */
    double *common_at; /* [works.count] test / base that all ranks share there; 0: not known */
    bool *aligned;     /* [base->places.groups.count] both sides have these places */
    double *odd_cpu;   /* [nranks] test / base of the CPU time that has no place on both sides, */
    double *all_cpu;   /* [nranks] and of all, where the base has too little of such */
    bool no_cpu_times; /* a side does not hold when the host called */
};

/* base_slots: where the samples of base_run are. */
void work_change_init(struct work_change *out, const struct work_times *base,
                      const struct run *base_run, struct slot_range base_slots,
                      const struct work_times *test, const struct run *test_run,
                      struct arena *arena);

/* The work there in the base's run, and what stands for it in the test: the step of the base that
 * counts as the n-th gets the test's n-th, so that how much times vary from step to step, and
 * together, is the test's, too. Shifted so that the differences have the mean of those of both
 * sides. Of a step that does not count: the means. kind: of the base. False: the sides have not the
 * same places. */
bool work_change_at(const struct work_change *c, struct work_place place, uint32_t kind,
                    struct work_sample *base, struct work_sample *test);

/* Test / base of what a computation there takes alone, as all ranks share it. kind: IDMAP_NONE of
 * kernels without times. */
double work_change_common(const struct work_change *c, struct work_place place, uint32_t kind);

/* Test / base of the launches that the time of a computation there includes. */
double work_change_launch(const struct work_change *c, struct work_place place, uint32_t kind);

/* The means of kernels without times there, ns 0: not known of the base. False: nor of the test. */
bool work_change_untimed(const struct work_change *c, struct work_place place,
                         struct work_sample *base, struct work_sample *test);

/* Adds what kernels without times take of a rank's step, mean of ranks, and would take with the
 * change that all ranks share: where that is known. */
void work_change_add_untimed(const struct work_change *c, double *base_ns, double *test_ns);

/* Returns what a CPU time of the base, ns, would be in the test. */
double work_change_cpu(const struct work_change *c, struct work_place place, double ns);

void work_change_release(struct work_change *c);

/* Returns the factor limited to 1/1000 to 1000; 1 if it is not a positive number. */
double bounded_factor(double factor);

#endif
