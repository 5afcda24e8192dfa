/* SPDX-License-Identifier: MIT */
#include "compare/compare.h"

#include "base/order.h"
#include "compare/differences.h"
#include "compare/prediction.h"
#include "compare/side.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *title;
} tables[] = {
#define X(id, name, title) {name, title},
    COMPARE_TABLES(X)
#undef X
};

const char *compare_table_name(enum compare_table table)
{
    return tables[table].name;
}

const char *compare_table_title(enum compare_table table)
{
    return tables[table].title;
}

const char *compare_verdict_name(enum compare_verdict verdict)
{
    static const char *const names[] = {
#define X(id, name) name,
        COMPARE_VERDICTS(X)
#undef X
    };
    return names[verdict];
}

const char *compare_wait_name(enum compare_wait wait)
{
    static const char *const names[] = {
#define X(id, name) name,
        COMPARE_WAITS(X)
#undef X
    };
    return names[wait];
}

static const struct {
    const char *name;
    bool less; /* is better */
} parts[] = {
#define X(id, name, less) {name, less},
    COMPARE_PARTS(X)
#undef X
};

const char *compare_part_name(enum compare_part part)
{
    return parts[part].name;
}

double compare_change(const struct compare_row *row)
{
    if (row->test_ns == 0 && row->base_ns == 0)
        return 0;
    return (isfinite(row->noise.low) ? row->noise.ratio : row->test_ns / row->base_ns) - 1;
}

/* ---- rows ---- */

static double mean_of(double sum, const struct entry *e)
{
    return e != NULL && e->runs > 0 ? sum / (double)e->runs : NAN;
}

/* A run that does not have an operation has none of it in a step; of a part of the step that it
 * does not tell nothing is known. */
static size_t runs_of(const struct entry *e, size_t all)
{
    return e->of.table == COMPARE_STEP || e->of.table == COMPARE_RANKS ? e->runs : all;
}

static void add_row(struct comparison *c, const struct entry *base, const struct entry *test)
{
    static const struct time_series none;
    struct compare_row row = {.of = base != NULL ? base->of : test->of};
    row.base_ns = mean_of(base != NULL ? base->one_ns : 0, base);
    row.test_ns = mean_of(test != NULL ? test->one_ns : 0, test);
    row.base_count = base != NULL ? base->count / (double)runs_of(base, c->nbase) : NAN;
    row.test_count = test != NULL ? test->count / (double)runs_of(test, c->ntest) : NAN;
    row.base_step_ns = base != NULL ? base->step_ns / (double)runs_of(base, c->nbase) : NAN;
    row.test_step_ns = test != NULL ? test->step_ns / (double)runs_of(test, c->ntest) : NAN;
    for (int k = 0; k < COMPARE_FIGURE_COUNT; k++) {
        row.base_figures[k] = mean_of(base != NULL ? base->figures[k] : 0, base);
        row.test_figures[k] = mean_of(test != NULL ? test->figures[k] : 0, test);
    }
    row.base_two_groups = base != NULL && time_series_has_two_groups(&base->samples);
    row.test_two_groups = test != NULL && time_series_has_two_groups(&test->samples);
    sample_test(&row.noise, base != NULL ? &base->samples : &none,
                test != NULL ? &test->samples : &none, COMPARE_LEVEL);
    if ((row.of.table == COMPARE_IDLE_CAUSES || row.of.table == COMPARE_STRAGGLERS) &&
        !(row.base_ns > 0) && !(row.test_ns > 0))
        return;
    row.verdict = base == NULL ? COMPARE_IS_ADDED : test == NULL ? COMPARE_IS_REMOVED : 0;
    ARRAY_GROW(c->rows, c->cap_rows, c->nrows + 1);
    c->rows[c->nrows++] = row;
}

static bool is_known(const struct compare_row *row)
{
    return isfinite(row->noise.low);
}

static bool is_step(const struct compare_row *row)
{
    return row->of.table == COMPARE_STEP && row->of.part == COMPARE_WHOLE;
}

bool compare_less_is_better(const struct compare_key *of)
{
    return (of->table != COMPARE_STEP && of->table != COMPARE_RANKS) || parts[of->part].less;
}

enum compare_verdict compare_judge(const struct compare_row *row, double threshold)
{
    const double change = compare_change(row);
    if (row->base_ns == 0 && row->test_ns == 0)
        return COMPARE_IS_SIMILAR;
    if (!is_known(row) && row->base_ns == 0 && row->test_ns > 0)
        return COMPARE_IS_ADDED;
    if (!is_known(row) && row->test_ns == 0 && row->base_ns > 0)
        return COMPARE_IS_REMOVED;
    if (!is_known(row))
        return fabs(change) < threshold ? COMPARE_IS_SIMILAR : COMPARE_IS_UNKNOWN;
    if (row->noise.low > 1 || row->noise.high < 1)
        return fabs(row->noise.ratio - 1) < threshold ? COMPARE_IS_SIMILAR
               : !compare_less_is_better(&row->of)    ? COMPARE_IS_CHANGED
               : row->noise.ratio < 1                 ? COMPARE_IS_BETTER
                                                      : COMPARE_IS_WORSE;
    return row->noise.low >= 1 - threshold && row->noise.high <= 1 + threshold ? COMPARE_IS_SIMILAR
                                                                               : COMPARE_IS_UNKNOWN;
}

/* The verdicts of a table hold together: with n of them each is at a higher level (Bonferroni). The
 * step is the question itself, and alone. */
static void judge_all(struct comparison *c, const struct side *base, const struct side *test)
{
    size_t tested[COMPARE_TABLE_COUNT] = {0};
    for (size_t i = 0; i < c->nrows; i++)
        tested[c->rows[i].of.table] += is_known(&c->rows[i]) && !is_step(&c->rows[i]);
    for (size_t i = 0; i < c->nrows; i++) {
        struct compare_row *row = &c->rows[i];
        const size_t n = is_step(row) ? 1 : tested[row->of.table];
        if (row->verdict == COMPARE_IS_ADDED || row->verdict == COMPARE_IS_REMOVED)
            continue;
        if (is_known(row) && n > 1)
            sample_test(&row->noise, &side_find(base, &row->of)->samples,
                        &side_find(test, &row->of)->samples, 1 - (1 - COMPARE_LEVEL) / (double)n);
        row->verdict = compare_judge(row, c->threshold);
    }
}

static double weight(const struct compare_row *row)
{
    const double base = isfinite(row->base_step_ns) ? row->base_step_ns : 0;
    const double test = isfinite(row->test_step_ns) ? row->test_step_ns : 0;
    return fabs(test - base);
}

static int by_weight(const void *pa, const void *pb)
{
    const struct compare_row *a = pa, *b = pb;
    if (a->of.table != b->of.table)
        return ORDER(a->of.table, b->of.table);
    if (is_step(a) != is_step(b))
        return is_step(a) ? -1 : 1;
    if (weight(a) != weight(b))
        return weight(a) > weight(b) ? -1 : 1;
    if (a->of.name != NULL && strcmp(a->of.name, b->of.name) != 0)
        return strcmp(a->of.name, b->of.name);
    return memcmp(&a->of, &b->of, offsetof(struct compare_key, name));
}

static void add_side(struct side *s, struct compare_runs runs)
{
    for (size_t i = 0; i < runs.n; i++)
        side_add_run(s, runs.list[i]);
    if (runs.predicted != NULL)
        side_add_predicted(s, runs.predicted);
}

/* What one side alone has is no row where the other is a prediction, which holds nothing else. */
static void add_rows(struct comparison *c, const struct side *base, const struct side *test)
{
    const bool predicted = c->base_is_predicted || c->test_is_predicted;
    for (size_t i = 0; i < base->n; i++) {
        const struct entry *same = side_find(test, &base->list[i].of);
        if (same != NULL || !predicted)
            add_row(c, &base->list[i], same);
    }
    for (size_t i = 0; i < test->n && !predicted; i++) {
        if (side_find(base, &test->list[i].of) == NULL)
            add_row(c, NULL, &test->list[i]);
    }
}

/* The noise of a step that one side predicts is the prediction's interval. */
static void take_interval(struct comparison *c, const struct predicted_step *base,
                          const struct predicted_step *test)
{
    struct compare_row *step = &c->rows[0];
    const struct predicted_step *of = base != NULL ? base : test;
    c->low_ns = c->high_ns = NAN;
    if ((base == NULL) == (test == NULL))
        return;
    c->low_ns = of->low_ns;
    c->high_ns = of->high_ns;
    step->noise = prediction_noise(base, step->base_ns, test, step->test_ns);
    step->verdict = step->noise.low <= 1 && step->noise.high >= 1
                        ? COMPARE_IS_SIMILAR
                        : compare_judge(step, c->threshold);
}

void compare_init(struct comparison *c, struct compare_runs base, struct compare_runs test,
                  double threshold)
{
    struct side b, t;
    *c = (struct comparison){.threshold = threshold,
                             .nbase = base.predicted != NULL ? 1 : base.n,
                             .ntest = test.predicted != NULL ? 1 : test.n,
                             .base_is_predicted = base.predicted != NULL,
                             .test_is_predicted = test.predicted != NULL};
    arena_init(&c->arena);
    b = t = (struct side){.several = base.n > 1 && test.n > 1};
    add_side(&b, base);
    add_side(&t, test);
    add_rows(c, &b, &t);
    judge_all(c, &b, &t);
    qsort(c->rows, c->nrows, sizeof *c->rows, by_weight);
    c->step = &c->rows[0];
    take_interval(c, base.predicted, test.predicted);
    find_differences(c, base, test);
    side_release(&b);
    side_release(&t);
}

void compare_release(struct comparison *c)
{
    free(c->rows);
    arena_release(&c->arena);
}
