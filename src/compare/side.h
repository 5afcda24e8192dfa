/* SPDX-License-Identifier: MIT
 *
 * What one side of a comparison has: an entry for each kind of thing that is compared, with sums
 * over the side's runs and samples of them.
 *
 *     struct side s = {.several = several runs on both sides};
 *     side_add_run(&s, &analysis);
 *     const struct entry *e = side_find(&s, &key);
 *     side_release(&s);
 */
#ifndef SPECTER_COMPARE_SIDE_H
#define SPECTER_COMPARE_SIDE_H

#include "analysis/analysis.h"
#include "compare/compare.h"

struct entry {
    struct compare_key of;
    struct time_series samples;
    double one_ns, count, step_ns; /* sums over the runs that have it */
    double figures[COMPARE_FIGURE_COUNT];
    size_t runs;
};

struct side {
    struct entry *list; /* owned; in order of first sight */
    size_t n, cap;
    uint32_t *slots; /* owned; by hash of the key: index into list plus one, 0 free */
    size_t nslots;
    bool several; /* both sides have several runs, whose means are the samples */
};

/* The analysis, whose names are borrowed, outlives the side. */
void side_add_run(struct side *s, const struct analysis *a);
void side_add_step(struct side *s, const struct analysis *a); /* the step and its parts alone */
void side_add_predicted(struct side *s, const struct predicted_step *step);
void side_release(struct side *s);

struct entry *side_find(const struct side *s, const struct compare_key *of); /* NULL: none */

#endif
