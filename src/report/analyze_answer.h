/* SPDX-License-Identifier: MIT
 *
 * The answer of `specter analyze`, which its first screen and its page share: what was read, what
 * bounds it, the parts of a step, what each finding costs, and what to do about it.
 *
 *     struct answer x;
 *     answer_init(&x, &analysis);
 *     puts(x.verdict);
 *     answer_release(&x);
 */
#ifndef SPECTER_REPORT_ANALYZE_ANSWER_H
#define SPECTER_REPORT_ANALYZE_ANSWER_H

#include "analysis/analysis.h"
#include "report/findings.h"
#include "report/table.h"

#define ANSWER_PARTS 4
#define ANSWER_PART_MIN 0.005 /* of the step: a smaller part has no row */

struct answer_part {
    const char *name, *verdict; /* what is said where it is the largest */
    int64_t ns;                 /* over all ranks and steps */
    const char *why;            /* behind its row; "" */
    int colour;                 /* of pages: html.h */
};

struct answer {
    struct answer_part parts[ANSWER_PARTS]; /* compute, communication, copies, idle */
    const char *verdict;                    /* a sentence */
    struct time_unit unit;                  /* of all parts, with three digits of the whole */
    struct buf why[ANSWER_PARTS];           /* owned: behind `why` of the parts */
};

/* Of an analysis with device times (analysis_timed()). */
void answer_init(struct answer *x, const struct analysis *a);
void answer_release(struct answer *x);

/* The mean of a rank and of a step. */
double answer_mean_ns(const struct analysis *a, int64_t ns);

/* "8 ranks, Tesla V100-SXM2-32GB, PyTorch trace, 1 step: 19.9 ms", safe for a terminal. */
void answer_head(struct buf *b, const struct analysis *a);

/* "up to 5.1 ms, 25 % of the step": what a finding costs, where its headline does not say so. */
void answer_cost(struct buf *b, const struct analysis *a, const struct finding *f);

/* What to do about it: names of tables stand behind "--table", with commas between. */
const char *answer_advice(const struct analysis *a, const struct finding *f);

#endif
