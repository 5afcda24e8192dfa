/* SPDX-License-Identifier: MIT
 *
 * The base's job with some of its work as in the test. What a kind of work takes alone is set apart
 * from what overlapping communication takes of it. Simulated with nothing set it is the base; with
 * all set, the test. Times are ns of a step.
 *
 *     struct cause_sim s;
 *     cause_sim_init(&s, altered, &work_change);
 *     cause_sim_set_class(&s, 1u << OP_GEMM);
 *     cause_sim_run(&s, &step_ns, e);                     all is as in the base again afterwards
 *     cause_sim_release(&s);
 */
#ifndef SPECTER_COMPARE_CAUSE_SIM_H
#define SPECTER_COMPARE_CAUSE_SIM_H

#include "compare/work_change.h"
#include "sim/replay/altered.h"

struct cause_sim {
    struct altered *altered; /* borrowed, as is the next */
    const struct work_change *change;
    struct work_where where; /* of its program */
    uint32_t *kind;          /* [ncosts] of the base; IDMAP_NONE: not an operation's. Owned */
    struct work_sample *base, *test; /* [ncosts] work_change_at(); owned */
    bool *fixed;                     /* [ncosts] a computation of which base and test are known;
                                        owned */
    bool *placed;                    /* [ncosts] base and test are known; owned */
    double *early_ns;   /* [ncosts] by how much a transfer is shorter because the others had done a
                           part of it before its last member was there; below 0: longer, as they had
                           not. Owned */
    double *untimed_ns; /* [ncosts] of kernels without times; 0: not known, or another's. Owned */
    /* of the next simulation */
    double *factors;  /* [ncosts] of what work takes alone; owned */
    double *more_ns;  /* [ncosts] added to that; owned */
    uint32_t *lag_ns; /* [matches.nmembers] owned */
    bool *moved;      /* [ncosts] transfers that are set; owned */
    bool host;        /* CPU times are the test's */
};

/* `altered` and `change` must outlive it. */
void cause_sim_init(struct cause_sim *s, struct altered *altered, const struct work_change *change);
void cause_sim_release(struct cause_sim *s);

/* From here on, the times of untimed kernels that the base does not show are not filled in. */
void cause_sim_drop_untimed(struct cause_sim *s);

/* Computations or copies of these classes (bits of enum op_class), alone, on all ranks. */
void cause_sim_set_class(struct cause_sim *s, unsigned classes);

/* CPU times, and the launches that times of work on an idle stream include. */
void cause_sim_set_host(struct cause_sim *s);

/* The change of the computation of the rank run->ranks[r] beyond the one that all ranks share. */
void cause_sim_set_rank(struct cause_sim *s, size_t r);

/* Returns what transfers of a kind of the base are shorter by because their last members come
 * later, as a share of what they take in the base; below 0: longer. */
double cause_sim_early(const struct cause_sim *s, uint32_t kind);

/* Transfers of a kind (work_key()), but for that. factor: test / base of those without a place on
 * both sides. */
void cause_sim_set_transfers(struct cause_sim *s, int64_t key, double factor);

/* To be called last: what overlapping communication takes in the test, transfers that are not set,
 * and launches that times include, as far as they follow from what was set before. */
void cause_sim_set_overlap(struct cause_sim *s);

/* Simulates the step with what was set, and forgets it. 0, or -1 with e filled. */
int cause_sim_run(struct cause_sim *s, double *step_ns, struct err *e);

#endif
