/* SPDX-License-Identifier: MIT */
#include "compare/compare.h"

#include "base/order.h"
#include "compare/differences.h"
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
    if (row.of.table == COMPARE_IDLE_CAUSES && row.base_ns == 0 && row.test_ns == 0)
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

void compare_init(struct comparison *c, const struct analysis *const *base, size_t nbase,
                  const struct analysis *const *test, size_t ntest, double threshold)
{
    struct side b, t;
    *c = (struct comparison){.threshold = threshold, .nbase = nbase, .ntest = ntest};
    arena_init(&c->arena);
    b = t = (struct side){.several = nbase > 1 && ntest > 1};
    for (size_t i = 0; i < nbase; i++)
        side_add_run(&b, base[i]);
    for (size_t i = 0; i < ntest; i++)
        side_add_run(&t, test[i]);
    for (size_t i = 0; i < b.n; i++)
        add_row(c, &b.list[i], side_find(&t, &b.list[i].of));
    for (size_t i = 0; i < t.n; i++) {
        if (side_find(&b, &t.list[i].of) == NULL)
            add_row(c, NULL, &t.list[i]);
    }
    judge_all(c, &b, &t);
    qsort(c->rows, c->nrows, sizeof *c->rows, by_weight);
    c->step = &c->rows[0];
    find_differences(c, base[0], test[0]);
    side_release(&b);
    side_release(&t);
}

void compare_release(struct comparison *c)
{
    free(c->rows);
    arena_release(&c->arena);
}
