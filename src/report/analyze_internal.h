/* SPDX-License-Identifier: MIT
 *
 * Inside the report of `specter analyze`: what its writers (analyze_*.c) and the rules of its
 * findings (findings*.c) share.
 */
#ifndef SPECTER_REPORT_ANALYZE_INTERNAL_H
#define SPECTER_REPORT_ANALYZE_INTERNAL_H

#include "analysis/analysis.h"
#include "report/findings.h"
#include "report/table.h"

/* ---- the rules of findings.h: a function each ---- */

#define SHARE_TEXT "%.0f %%"
#define TIME_TEXT_SIZE 32

static inline double percent(double share)
{
    return 100 * share;
}

/* True when the rule has a finding: value, weight and text are set. */
#define X(name, limit, what) \
    bool rule_##name(const struct analysis *a, double threshold, struct finding *f, struct buf *b);
RULES(X)
#undef X

double rule_threshold(enum rule_id id);

/* Returns whether the rule has a finding, so that a related rule does not repeat it. */
bool rule_applies(const struct analysis *a, enum rule_id id);

/* Idle more than anything else, and mostly because the host launches late; every kernel was timed.
 */
bool findings_host_bound(const struct analysis *a);

/* The rank in which most waiting for stragglers has its origin: an index into run->ranks. */
size_t top_straggler(const struct analysis *a);

/* Returns the rank (index into run->ranks) that holds most of the critical path and for which
 * others waited, and its share of the path; SIZE_MAX: no rank stands out. */
size_t critical_holder(const struct analysis *a, double *share);

/* ---- the answer of first screen and page ----
 *
 * The answer: the input, what bounds the job, the parts of a step, the cost of each finding, and
 * advice.
 *
 *     struct answer x;
 *     answer_init(&x, &analysis);
 *     puts(x.verdict);
 *     answer_release(&x);
 */

#define ANSWER_PARTS 4
#define ANSWER_PART_MIN 0.005 /* of the step: a smaller part has no row */

struct answer_part {
    const char *name, *verdict; /* what is said where it is the largest */
    int64_t ns;                 /* sum over the selected ranks, in the steps that count */
    const char *why;            /* behind its row; "" */
    int colour;                 /* of pages: page.h */
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

/* Returns such a sum per rank and step. */
double answer_mean_ns(const struct analysis *a, int64_t ns);

/* "8 ranks, Tesla V100-SXM2-32GB, PyTorch trace, 1 step: 19.9 ms", safe for a terminal. */
void answer_head(struct buf *b, const struct analysis *a);

/* "up to 5.1 ms, 25 % of the step": what a finding costs, where its headline does not say so. */
void answer_cost(struct buf *b, const struct analysis *a, const struct finding *f);

/* Returns advice on the finding: names of tables stand behind "--table", with commas between. */
const char *answer_advice(const struct analysis *a, const struct finding *f);

/* ---- what text and page share ---- */

/* The GPU's name when all ranks have the same, "" when they have none. */
const char *analyze_gpu(const struct analysis *a);

/* "clocks of 2 hosts" where each has a host of its own name, else "2 clocks": dumps of processes
 * may name no host, and each has a clock. In buf, which it returns. */
char *clock_text(char *buf, size_t size, const struct run *run);

/* Many ranks in few lines: the spread of each time, and the ranks that are extreme in one. */
#define RANK_EXTREMES 5 /* of span, compute, exposed communication and copies, idle time */

/* Smallest, middle and largest of one time, an int64_t at `offset` in struct time_breakdown, over
 * the timed ranks, of which there must be one at least; written into the three breakdowns at the
 * same place. */
void rank_spread(const struct analysis *a, size_t offset, struct time_breakdown spread[3]);

/* The ranks that a user wants to see by number: places in a->ranks of those where one of the times
 * is largest, each once. Returns how many. */
size_t rank_extremes(const struct analysis *a, size_t list[RANK_EXTREMES]);

/* ---- charts of the page ---- */

/* Each rank's time and each step as bars, bus bandwidth by size, ranks by steps, the roofline of
 * GEMMs, each with its heading. One that has nothing to show is left out. */
struct page;
void analyze_put_charts(struct page *p, const struct analysis *a);

#endif
