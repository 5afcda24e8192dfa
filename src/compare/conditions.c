/* SPDX-License-Identifier: MIT
 *
 * `specter compare --fail-on`: conditions on what differs (compare.h).
 */
#include "compare/compare.h"

#include "analysis/fail_on.h"
#include "base/condition.h"
#include "compare/side.h"
#include "metrics/metrics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- numbers of the comparison itself ---- */

static double value_of_step(const struct comparison *c)
{
    return compare_change(c->step);
}

static double value_of_step_low(const struct comparison *c)
{
    return c->step->noise.low - 1;
}

static double value_of_step_high(const struct comparison *c)
{
    return c->step->noise.high - 1;
}

static double value_of_worse(const struct comparison *c)
{
    double n = 0;
    for (size_t i = 0; i < c->nrows; i++)
        n += c->rows[i].verdict == COMPARE_IS_WORSE;
    return n;
}

static const struct {
    const char *name;
    enum condition_kind kind;
    double (*value)(const struct comparison *);
    const char *lacks;
} own[] = {
#define X(name, kind, lacks, help) {#name, CONDITION_##kind, value_of_##name, lacks},
    COMPARE_CONDITIONS(X)
#undef X
};

#define OWN (sizeof own / sizeof *own)

/* ---- numbers of one run ---- */

static const struct {
    const char *name, *unit;
} metrics[] = {
#define X(name, unit, definition) {#name, unit},
    METRICS(X)
#undef X
};

#define METRIC_COUNT (sizeof metrics / sizeof *metrics)

static double metric_of(const struct compare_sides *of, const struct analysis *a, const char *name,
                        const char **lacks)
{
    struct card card;
    struct metrics m = {0};
    struct err e = {0};
    double value = NAN;
    const struct metrics_input in = {a->run, a, &card, NULL};
    if (card_find(&card, a->run->source, &e) == 0 && metrics_init(&m, &in, &e) == 0 &&
        metrics_add(&m, name, strlen(name), &e) == 0)
        value = m.list[0].value;
    if (isnan(value))
        *lacks = arena_printf(&of->c->arena, "%s: %s", name,
                              e.code != ERR_NONE ? e.msg : m.list[0].reason);
    metrics_release(&m);
    return value;
}

/* i: among the names of analyze, behind them those of metrics. */
static double value_of_run(const struct compare_sides *of, const struct analysis *a, size_t i,
                           const char **lacks)
{
    const struct condition_table *analyze = fail_on_table();
    return i < analyze->n ? analyze->value(a, i, lacks)
                          : metric_of(of, a, metrics[i - analyze->n].name, lacks);
}

/* Mean of a side's runs; NAN: one of them does not have it. *samples takes each. */
static double value_of_side(const struct compare_sides *of, const struct compare_runs *side,
                            size_t i, struct time_series *samples, const char **lacks)
{
    double sum = 0;
    if (side->predicted != NULL) {
        *lacks = "such number: a side is a prediction, which has its step alone";
        return NAN;
    }
    for (size_t k = 0; k < side->n; k++) {
        const double value = value_of_run(of, side->list[k], i, lacks);
        sum += value;
        time_series_add(samples, value);
    }
    return sum / (double)side->n;
}

/* ---- changes ---- */

/* The share of a step that the name is of; NAN: no step has it. */
static double share_of_step(const struct step_row *row, const char *name)
{
    const double all =
        row->compute_ns + row->exposed_comm_ns + row->exposed_memory_ns + row->idle_ns;
#define X(part)                   \
    if (strcmp(name, #part) == 0) \
        return all > 0 ? row->part##_ns / all : NAN;
    STEP_TIMES(X)
#undef X
    return NAN;
}

/* Of one run a side the samples are its steps. */
static void add_steps(struct time_series *samples, const struct compare_runs *side,
                      const char *name)
{
    for (size_t k = 0; k < side->n; k++) {
        const struct steps *steps = &side->list[k]->steps;
        for (size_t i = 0; i < steps->count; i++) {
            const double share = share_of_step(&steps->list[i], name);
            if (steps->list[i].counts && steps->list[i].timed > 0 && isfinite(share))
                time_series_add(samples, share);
        }
    }
}

static struct condition_change change_of_step(const struct comparison *c)
{
    return (struct condition_change){
        compare_change(c->step), c->step->noise.low - 1, c->step->noise.high - 1,
        c->base_is_predicted || c->test_is_predicted ? PREDICTION_LEVEL : 95};
}

static struct condition_change change_of(const struct compare_sides *of, size_t i, const char *name,
                                         enum condition_kind kind, const char **lacks)
{
    struct time_series base = {0}, test = {0};
    struct condition_change is;
    struct sample_test noise;
    const double b = value_of_side(of, &of->base, i, &base, lacks);
    const double t = value_of_side(of, &of->test, i, &test, lacks);
    if (of->base.n == 1 || of->test.n == 1) {
        base.n = test.n = 0;
        add_steps(&base, &of->base, name);
        add_steps(&test, &of->test, name);
    }
    sample_test(&noise, &base, &test, COMPARE_LEVEL);
    is = (struct condition_change){b == 0 && t == 0 ? 0 : t / b - 1, noise.low - 1, noise.high - 1,
                                   95};
    if (b == 0 && t != 0) {
        is.change = NAN;
        *lacks = arena_printf(&of->c->arena, "%s in the base, so no change of it", name);
    }
    if (kind == CONDITION_COUNT)
        is.low = is.high = is.change;
    time_series_release(&base);
    time_series_release(&test);
    return is;
}

/* ---- all of them ---- */

static const struct condition_table *table(void);

/* In milliseconds. */
static bool is_step_time(const char *name)
{
    return strcmp(name, "step_ms") == 0 || strcmp(name, "iter_time") == 0;
}

static double value_at(const void *arg, size_t i, const char **lacks)
{
    const struct compare_sides *of = arg;
    const size_t of_runs = table()->n - OWN;
    struct time_series samples = {0};
    double value;
    if (i >= of_runs) {
        *lacks = own[i - of_runs].lacks;
        return own[i - of_runs].value(of->c);
    }
    if (of->test.predicted != NULL && is_step_time(table()->names[i].name))
        return of->c->step->test_ns / 1e6;
    value = value_of_side(of, &of->test, i, &samples, lacks);
    time_series_release(&samples);
    return value;
}

static struct condition_change change_at(const void *arg, size_t i, const char **lacks)
{
    const struct compare_sides *of = arg;
    const struct condition_name *name = &table()->names[i];
    if (i >= table()->n - OWN || is_step_time(name->name)) {
        *lacks = "step time";
        return change_of_step(of->c);
    }
    return change_of(of, i, name->name, name->kind, lacks);
}

static enum condition_kind kind_of_unit(const char *unit)
{
    return strcmp(unit, "share") == 0                                 ? CONDITION_SHARE
           : strcmp(unit, "calls") == 0 || strcmp(unit, "bytes") == 0 ? CONDITION_COUNT
                                                                      : CONDITION_TIME;
}

/* Names of analyze, of metrics, and of the comparison, of which the first alone has a change. */
static const struct condition_table *table(void)
{
    static struct condition_name names[64];
    static struct condition_table made = {.names = names,
                                          .example = "step_ms>+2%",
                                          .holder = "comparison",
                                          .value = value_at,
                                          .change = change_at};
    const struct condition_table *analyze = fail_on_table();
    _Static_assert(METRIC_COUNT + OWN + 32 <= sizeof names / sizeof *names, "names fit");
    if (made.n > 0)
        return &made;
    for (size_t i = 0; i < analyze->n; i++)
        names[made.n++] = analyze->names[i];
    for (size_t i = 0; i < METRIC_COUNT; i++)
        names[made.n++] = (struct condition_name){metrics[i].name, kind_of_unit(metrics[i].unit)};
    for (size_t i = 0; i < OWN; i++)
        names[made.n++] = (struct condition_name){own[i].name, own[i].kind};
    made.nchanges = made.n - OWN + 1;
    return &made;
}

int compare_check_conditions(const char *expr, struct err *e)
{
    return conditions_check(table(), expr, e);
}

int compare_apply_conditions(const char *expr, const struct compare_sides *of, struct err *e)
{
    return conditions_apply(table(), expr, of, e);
}
