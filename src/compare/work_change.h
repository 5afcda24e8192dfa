/* SPDX-License-Identifier: MIT
 *
 * By what factor the work of two sides differs, kind by kind: what all ranks share, each rank's
 * own, CPU time, and how strongly communication slows down the work beside it.
 *
 *     struct work_change change;
 *     work_change_init(&change, &base, base_run, &test, test_run, &arena);
 *     change.common[kind]
 */
#ifndef SPECTER_COMPARE_WORK_CHANGE_H
#define SPECTER_COMPARE_WORK_CHANGE_H

#include "compare/work_times.h"
#include "trace/run.h"

/* In the arena; what it was made of must outlive it. */
struct work_change {
    const struct work_times *base, *test;
    size_t nranks;       /* of the base */
    uint32_t *test_rank; /* [nranks] the same rank of the test; PROGRAM_NONE */
    uint32_t *test_kind; /* [base->kinds.count] the same work; IDMAP_NONE */
    double *common;      /* [base->kinds.count] test / base that all ranks share */
    double *launch;      /* [base->kinds.count] test / base of the launches that its time includes
                            where it ran on an idle stream: the host's work. 1: as often idle */
    double *beside;      /* [base->kinds.count] how strongly communication slows it in the test
                            (sim/target/overlap.h); NAN: the test has none beside it */
    double *rank_factor; /* [nranks] by how much more than that its GEMMs and kernels changed */
    double *cpu_factor;  /* [nranks] */
    bool no_cpu_times;   /* a side does not hold when the host called */
};

void work_change_init(struct work_change *out, const struct work_times *base,
                      const struct run *base_run, const struct work_times *test,
                      const struct run *test_run, struct arena *arena);

/* What a rank's own computation takes in a step: in the base, changed as on all ranks, and in the
 * test. Only work that both sides have. */
void work_change_of_rank(const struct work_change *c, size_t r, double *shared_ns, double *own_ns);

/* Returns the factor limited to 1/1000 to 1000; 1 if it is not a positive number. */
double bounded_factor(double factor);

#endif
