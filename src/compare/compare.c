/* SPDX-License-Identifier: MIT */
#include "compare/compare.h"

#include "analysis/settings.h"
#include "base/order.h"
#include "compare/side.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- what makes sides hard to compare, and settings that are not the same ---- */

static void add_difference(struct comparison *c, const char *text)
{
    const char **more = arena_alloc(&c->arena, (c->ndifferences + 1) * sizeof *more);
    for (size_t i = 0; i < c->ndifferences; i++)
        more[i] = c->differences[i];
    more[c->ndifferences++] = text;
    c->differences = more;
}

static const char *or_unknown(const char *text)
{
    return text[0] != '\0' ? text : "unknown";
}

#define RANKS_NAMED 8 /* that one side alone has; more are counted */

/* Returns whether the rank's operations are known: means are over those ranks. */
static bool has_rank(const struct run *run, int rank)
{
    const int r = rank_index(run, rank);
    return r >= 0 && !steps_blank(run, (size_t)r);
}

/* "ranks 6, 7 in the base alone"; NULL: the other side has them all. */
static const char *ranks_alone(struct comparison *c, const struct run *run, const struct run *other,
                               const char *side)
{
    const char *list = "";
    size_t n = 0;
    for (size_t i = 0; i < run->nranks; i++) {
        const int rank = run->ranks[i].rank;
        if (!has_rank(run, rank) || has_rank(other, rank))
            continue;
        if (n++ < RANKS_NAMED)
            list = arena_printf(&c->arena, "%s%s%d", list, n > 1 ? ", " : "", rank);
    }
    if (n == 0)
        return NULL;
    if (n > RANKS_NAMED)
        list = arena_printf(&c->arena, "%s and %zu more", list, n - RANKS_NAMED);
    return arena_printf(&c->arena, "rank%s %s in the %s alone", n > 1 ? "s" : "", list, side);
}

/* Of equal jobs of which other ranks were recorded. Means are over the ranks of each side. */
static void find_other_ranks(struct comparison *c, const struct run *base, const struct run *test)
{
    const char *texts[] = {ranks_alone(c, base, test, "base"), ranks_alone(c, test, base, "test")};
    for (int i = 0; i < 2; i++) {
        if (texts[i] != NULL)
            add_difference(c, texts[i]);
    }
}

/* The value of a setting, or all of them where ranks differ; NULL: it is not set. */
static const char *values_of(struct comparison *c, const struct settings *s, const char *name)
{
    const char *text = NULL;
    for (size_t i = 0; i < s->n; i++) {
        if (strcmp(s->list[i].name, name) == 0)
            text = text == NULL ? s->list[i].value
                                : arena_printf(&c->arena, "%s and %s", text, s->list[i].value);
    }
    return text;
}

static void add_setting(struct comparison *c, const char *name, const char *base, const char *test)
{
    struct compare_setting *more = arena_alloc(&c->arena, (c->nsettings + 1) * sizeof *c->settings);
    if (c->nsettings > 0)
        memcpy(more, c->settings, c->nsettings * sizeof *more);
    more[c->nsettings++] = (struct compare_setting){name, base, test};
    c->settings = more;
}

/* Settings that are not the same on both sides, by name; first those of the base. */
static void find_settings(struct comparison *c, const struct run *base, const struct run *test)
{
    struct settings b, t;
    settings_init(&b, base);
    settings_init(&t, test);
    for (size_t i = 0; i < b.n + t.n && b.n > 0 && t.n > 0; i++) {
        const struct settings *of = i < b.n ? &b : &t;
        const size_t at = i < b.n ? i : i - b.n;
        const char *name = of->list[at].name, *old = values_of(c, &b, name),
                   *new = values_of(c, &t, name);
        if (settings_is_identity(name) || (at > 0 && strcmp(of->list[at - 1].name, name) == 0) ||
            (of == &t && old != NULL))
            continue;
        if (old == NULL || new == NULL || strcmp(old, new) != 0)
            add_setting(c, name, old, new);
    }
    settings_release(&b);
    settings_release(&t);
}

static int64_t gpus_of(struct compare_runs side)
{
    return side.predicted != NULL ? side.predicted->gpus : side.list[0]->run->world_size;
}

static void find_other_recording(struct comparison *c, const struct analysis *base,
                                 const struct analysis *test)
{
    const struct run *b = base->run, *t = test->run;
    if (b->world_size != t->world_size)
        add_difference(c, arena_printf(&c->arena, "ranks: %d, %d", b->world_size, t->world_size));
    else
        find_other_ranks(c, b, t);
    if (strcmp(b->ranks[0].gpu, t->ranks[0].gpu) != 0)
        add_difference(c, arena_printf(&c->arena, "GPU: %s, %s", or_unknown(b->ranks[0].gpu),
                                       or_unknown(t->ranks[0].gpu)));
    if (base->node_map.nodes > 0 && test->node_map.nodes > 0 &&
        base->node_map.nodes != test->node_map.nodes)
        add_difference(c, arena_printf(&c->arena, "nodes: %d, %d", base->node_map.nodes,
                                       test->node_map.nodes));
    if (strcmp(b->format, t->format) != 0)
        add_difference(c, arena_printf(&c->arena, "recorded by: %s, %s", b->format, t->format));
    if (base->coverage != test->coverage)
        add_difference(
            c, "what was recorded (coverage in analyze's JSON): a part may be missing on one "
               "side alone");
    if (base->job_steps.source != test->job_steps.source)
        add_difference(c, arena_printf(&c->arena, "steps: %s, %s",
                                       step_source_name(base->job_steps.source),
                                       step_source_name(test->job_steps.source)));
    find_settings(c, b, t);
}

/* Fills c->differences and c->settings, from the first run of each side. */
static void find_differences(struct comparison *c, struct compare_runs base,
                             struct compare_runs test)
{
    const long long b = gpus_of(base), t = gpus_of(test);
    if (base.predicted == NULL && test.predicted == NULL)
        find_other_recording(c, base.list[0], test.list[0]);
    else if (b != t)
        add_difference(c, arena_printf(&c->arena, "ranks: %lld, %lld", b, t));
}

/* ---- rows ---- */

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

static double step_change_of(const struct compare_row *row)
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
    if (step_change_of(a) != step_change_of(b))
        return step_change_of(a) > step_change_of(b) ? -1 : 1;
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

/* Adds a row for each entry of a side. Where one side is a prediction, which holds the step alone,
 * entries of the other side alone have none. */
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

/* ---- ranking ---- */

static int by_step(const void *pa, const void *pb)
{
    const struct ranked *a = pa, *b = pb;
    return a->step_ns != b->step_ns ? ORDER(a->step_ns, b->step_ns) : ORDER(a->side, b->side);
}

/* A side's step twice: with steps as samples, and with runs. */
struct step_samples {
    struct side steps, runs;
    bool several;
    const struct predicted_step *predicted; /* NULL */
};

static const struct entry *step_of(const struct side *s)
{
    return side_find(s, &(struct compare_key){.table = COMPARE_STEP, .part = COMPARE_WHOLE});
}

/* Returns whether b takes longer than a by more than noise and threshold. */
static bool is_slower(const struct step_samples *a, const struct step_samples *b, double level,
                      double threshold)
{
    const bool several = a->several && b->several;
    const struct entry *base = step_of(several ? &a->runs : &a->steps);
    const struct entry *test = step_of(several ? &b->runs : &b->steps);
    struct compare_row row = {.of = base->of,
                              .base_ns = base->one_ns / (double)base->runs,
                              .test_ns = test->one_ns / (double)test->runs};
    if (a->predicted != NULL || b->predicted != NULL)
        row.noise = prediction_noise(a->predicted, row.base_ns, b->predicted, row.test_ns);
    else
        sample_test(&row.noise, &base->samples, &test->samples, level);
    return compare_judge(&row, threshold) == COMPARE_IS_WORSE;
}

static void set_places(struct ranking *r, const struct step_samples *list, double threshold)
{
    const double level = 1 - (1 - COMPARE_LEVEL) / (double)(r->n > 1 ? r->n - 1 : 1);
    for (size_t i = 0; i < r->n; i++) {
        size_t first = 0; /* of a place */
        while (first < i &&
               (r->list[first].place != first + 1 ||
                is_slower(&list[r->list[first].side], &list[r->list[i].side], level, threshold)))
            first++;
        r->list[i].place = first + 1;
    }
}

void ranking_init(struct ranking *r, const struct compare_runs *sides, size_t n, double threshold)
{
    struct step_samples *list = array_new(n, sizeof *list);
    r->list = array_new(n, sizeof *r->list);
    r->n = n;
    for (size_t i = 0; i < n; i++) {
        const struct entry *step;
        list[i].several = list[i].runs.several = sides[i].n > 1;
        list[i].predicted = sides[i].predicted;
        for (size_t k = 0; k < sides[i].n; k++) {
            side_add_step(&list[i].steps, sides[i].list[k]);
            side_add_step(&list[i].runs, sides[i].list[k]);
        }
        if (sides[i].predicted != NULL)
            side_add_predicted(&list[i].steps, sides[i].predicted);
        step = step_of(&list[i].steps);
        r->list[i] = (struct ranked){.side = i, .step_ns = step->one_ns / (double)step->runs};
    }
    qsort(r->list, n, sizeof *r->list, by_step);
    set_places(r, list, threshold);
    for (size_t i = 0; i < n; i++) {
        side_release(&list[i].steps);
        side_release(&list[i].runs);
    }
    free(list);
}

void ranking_release(struct ranking *r)
{
    free(r->list);
}
