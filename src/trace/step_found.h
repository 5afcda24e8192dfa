/* SPDX-License-Identifier: MIT
 *
 * Inside step_find.c: the steps of each rank by itself, as marks name them (step_marks.c) or as
 * operations repeat (step_repeats.c), before the ranks are compared (step_common.c).
 */
#ifndef SPECTER_TRACE_STEP_FOUND_H
#define SPECTER_TRACE_STEP_FOUND_H

#include "trace/step_time.h"

struct found_step {
    int64_t from_ns;
    const char *name; /* "" when the operations repeat */
    size_t first;     /* when operations repeat: index into the order of issue */
};

struct found {
    struct found_step *list; /* owned [count] */
    size_t count;
    int64_t end_ns; /* where the last one ends on the host */
    size_t period;
    uint32_t *issue; /* owned: operations in the order in which they were called for */
    size_t nissued;
    bool cut;      /* a further one is cut by the recording's end */
    bool holds;    /* the rank has operations of its own */
    int64_t shift; /* step k of the job is list[k + shift] */
};

/* When an operation was called for; UNKNOWN_NS. Where the rank's recording holds no call at all,
 * which host_times tells, when it began. */
int64_t step_called_ns(const struct op *op, bool host_times);
bool step_has_host_times(const struct rank *rank);

/* The marked steps of a rank, up to one that the recording's end cuts. */
void step_find_marks(struct found *f, const struct rank *rank);

/* The rank's order of issue, and the repetitions in it. Or steps->doubt says why what repeats is no
 * step. */
void step_find_issue(struct found *f, const struct rank *rank);
void step_find_repeats(struct found *f, const struct rank *rank, struct job_steps *steps);

/* Over all ranks, list[run->nranks]: lets steps of one rank be those of the others, by their
 * `shift`. Returns how many steps all ranks hold; 0: they have none in common. */
uint32_t step_align_ranks(struct found *list, const struct run *run);

/* Returns whether repetitions of all ranks take equally long: else they are not the same steps. */
bool step_same_lengths(const struct found *list, size_t n);

/* Gives marks to ranks that lack them, where their clock is that of one that has some. */
void step_lend_marks(struct found *list, const struct run *run);

#endif
