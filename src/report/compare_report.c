/* SPDX-License-Identifier: MIT */
#include "report/compare_report.h"

#include "base/buf.h"
#include "report/json_add.h"
#include "report/sheet.h"
#include "report/table.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_SHOWN 6
#define LABEL_COLUMNS 12 /* of the side's names above the table */
#define NAME_COLUMNS 32
#define FIGURES 27 /* columns of the table beside names and sides */
#define TIME_COLUMNS 7
#define OTHER_LINES 4 /* beside the rows: headings, rule, an empty line, the last one */
#define SHOWN_NS 1e3  /* of a step: a smaller change is in the tables alone */
#define SETTINGS_SHOWN 3
#define SETTING_COLUMNS 32
/* Of the step's change: a cause with so much of it is in the first sentence, where no more than
 * this is left unexplained. */
#define MOST 0.5
#define MOST_OF_KIND 0.75 /* of what its kind changed: one cause is named in place of the kind */

/* "exposed comm", "rank 3: compute", "AllReduce 64 MiB bf16, 8 ranks", "GEMM 128 x 256 x 64 fp16".
 */
const char *compare_row_name(struct buf *b, const struct compare_key *k)
{
    char size[32];
    buf_reset(b);
    switch ((enum compare_table)k->table) {
    case COMPARE_RANKS:
        buf_printf(b, "rank %d: ", k->rank);
        buf_puts(b, compare_part_name((enum compare_part)k->part));
        break;
    case COMPARE_RANK_COLLECTIVES:
    case COMPARE_COLLECTIVES:
    case COMPARE_MESSAGES:
        if (k->table == COMPARE_RANK_COLLECTIVES)
            buf_printf(b, "rank %d: ", k->rank);
        buf_puts(b, k->op < SPECTER_COMM_OP_COUNT
                        ? specter_comm_op_name((enum specter_comm_op)k->op)
                        : "communication");
        if (k->bytes >= 0)
            buf_printf(b, " %s", text_bytes(size, sizeof size, (double)k->bytes));
        if (k->dtype < SPECTER_DTYPE_UNKNOWN)
            buf_printf(b, " %s", specter_dtype_name((enum specter_dtype)k->dtype));
        if (k->ranks > 0)
            buf_printf(b, ", %d rank%s", k->ranks, k->ranks > 1 ? "s" : "");
        break;
    case COMPARE_GEMMS:
        buf_printf(b, "GEMM %u x %u x %u", k->m, k->n, k->k);
        if (k->batch > 1)
            buf_printf(b, " x %u", k->batch);
        buf_printf(b, " %s", specter_dtype_name((enum specter_dtype)k->dtype));
        break;
    case COMPARE_KERNELS:
    case COMPARE_MEMORY:
        buf_puts(b, k->name);
        break;
    case COMPARE_IDLE_CAUSES:
        buf_puts(b, idle_cause_text[k->cause]);
        break;
    case COMPARE_STRAGGLERS:
        buf_printf(b, "rank %d: %s", k->rank, compare_wait_name((enum compare_wait)k->part));
        break;
    case COMPARE_CRITICAL:
        buf_puts(b, path_category_name((size_t)k->cause));
        break;
    default:
        buf_puts(b, compare_part_name((enum compare_part)k->part));
        break;
    }
    return b->data;
}

/* "AllReduce 64 MiB bf16, 8 ranks", "GEMMs", "rank 3's compute". */
const char *compare_cause_name(struct buf *b, const struct cause *cause)
{
    static const char *const names[CAUSE_KIND_COUNT] = {[CAUSE_GEMMS] = "GEMMs",
                                                        [CAUSE_KERNELS] = "other kernels",
                                                        [CAUSE_COPIES] = "copies and memsets",
                                                        [CAUSE_HOST] = "CPU time"};
    if (cause->kind == CAUSE_COLLECTIVE)
        return compare_row_name(b, &cause->row->of);
    buf_reset(b);
    if (cause->kind == CAUSE_RANK)
        buf_printf(b, "rank %d's compute", cause->rank);
    else
        buf_puts(b, names[cause->kind]);
    return b->data;
}

static char *text_change(char *out, size_t size, double ns)
{
    char text[32];
    snprintf(out, size, "%c%s", ns < 0 ? '-' : '+', text_ns(text, sizeof text, fabs(ns)));
    return out;
}

/* ---- the first screen ---- */

/* The kind of work that made most of the change together, and what it made; CAUSE_KIND_COUNT. */
static enum cause_kind main_kind(const struct causes *causes, double *change_ns)
{
    for (int kind = 0; kind < CAUSE_KIND_COUNT; kind++) {
        *change_ns = 0;
        for (size_t i = 0; i < causes->n; i++)
            *change_ns += causes->list[i].kind == (enum cause_kind)kind
                              ? (double)causes->list[i].change_ns
                              : 0;
        if (*change_ns / (double)causes->change_ns >= MOST)
            return (enum cause_kind)kind;
    }
    return CAUSE_KIND_COUNT;
}

static bool is_sure(const struct compare_row *row)
{
    return row->verdict == COMPARE_IS_BETTER || row->verdict == COMPARE_IS_WORSE;
}

/* Returns the cause of most of the change, and in *change_ns its part; NULL: there is no such
 * cause. */
static const char *main_cause(struct buf *name, const struct causes *causes, double *change_ns)
{
    const enum cause_kind kind = main_kind(causes, change_ns);
    size_t top = 0; /* the first of the kind, which is its largest */
    if (causes->unknown != NULL || causes_are_rough(causes) || kind == CAUSE_KIND_COUNT ||
        llabs(causes->rest_ns) > MOST * (double)llabs(causes->change_ns))
        return NULL;
    while (causes->list[top].kind != kind)
        top++;
    if ((double)causes->list[top].change_ns / *change_ns < MOST_OF_KIND)
        return kind == CAUSE_RANK ? "ranks that differ" : "communication";
    *change_ns = (double)causes->list[top].change_ns;
    return compare_cause_name(name, &causes->list[top]);
}

/* Of a change that is no noise: " Mostly AllReduce 64 MiB: +0.21 ms of +0.30 ms." */
static void put_main_cause(struct buf *b, const struct compare_report *r)
{
    char part[48], all[48];
    struct buf name = BUF_INIT;
    double ns;
    const char *what = main_cause(&name, r->causes, &ns);
    if (what != NULL && is_sure(r->c->step))
        buf_printf(b, " Mostly %s: %s of %s.", what, text_change(part, sizeof part, ns),
                   text_change(all, sizeof all, (double)r->causes->change_ns));
    buf_release(&name);
}

static double step_change(const struct compare_row *row)
{
    const double base = row->verdict == COMPARE_IS_ADDED ? 0 : row->base_step_ns;
    const double test = row->verdict == COMPARE_IS_REMOVED ? 0 : row->test_step_ns;
    return test - base;
}

/* "replay predicts 4.26 ms a step (80 %: 4.05 ms to 4.47 ms), 1.9 % above what base took: 4.18 ms,
 * inside." */
static void predicted_text(struct buf *b, const struct compare_report *r)
{
    const struct comparison *c = r->c;
    const bool base = c->base_is_predicted;
    const double predicted = base ? c->step->base_ns : c->step->test_ns;
    const double measured = base ? c->step->test_ns : c->step->base_ns;
    char step[32], low[32], high[32], took[32];
    buf_printf(b, "%s predicts %s a step", base ? r->base : r->test,
               text_ns(step, sizeof step, predicted));
    if (isfinite(c->low_ns))
        buf_printf(b, " (80 %%: %s to %s)", text_ns(low, sizeof low, c->low_ns),
                   text_ns(high, sizeof high, c->high_ns));
    buf_printf(b, ", %.1f %% %s what %s %s: %s", 100 * fabs(predicted / measured - 1),
               predicted < measured ? "below" : "above", base ? r->test : r->base,
               base && c->test_is_predicted ? "does" : "took",
               text_ns(took, sizeof took, measured));
    if (isfinite(c->low_ns))
        buf_printf(b, ", %s.",
                   c->low_ns <= measured && measured <= c->high_ns ? "inside" : "outside");
    else
        buf_puts(b, ".");
}

/* "test is 6.2 % faster (95 %: -7.0 to -5.4 %): 4.18 ms -> 3.92 ms a step." */
void compare_answer_text(struct buf *b, const struct compare_report *r)
{
    const struct compare_row *step = r->c->step;
    const double change = compare_change(step);
    char base[32], test[32];
    if (r->c->base_is_predicted || r->c->test_is_predicted) {
        predicted_text(b, r);
        return;
    }
    if (step->verdict == COMPARE_IS_SIMILAR)
        buf_printf(b, "%s takes as long as %s", r->test, r->base);
    else if (is_sure(step))
        buf_printf(b, "%s is %.1f %% %s", r->test, 100 * fabs(change),
                   change < 0 ? "faster" : "slower");
    else if (isfinite(step->noise.low))
        buf_printf(b, "No change of %s against %s beyond the noise", r->test, r->base);
    else
        buf_printf(b, "Not known: %s looks %.1f %% %s", r->test, 100 * fabs(change),
                   change < 0 ? "faster" : "slower");
    if (isfinite(step->noise.low))
        buf_printf(b, " (95 %%: %+.1f to %+.1f %%)", without_minus(100 * (step->noise.low - 1), 1),
                   without_minus(100 * (step->noise.high - 1), 1));
    buf_printf(b, ": %s -> %s a step.", text_ns(base, sizeof base, step->base_ns),
               text_ns(test, sizeof test, step->test_ns));
    put_main_cause(b, r);
}

void compare_samples_text(struct buf *b, const struct compare_report *r)
{
    const struct compare_row *step = r->c->step;
    if (r->c->base_is_predicted || r->c->test_is_predicted)
        return;
    if (r->c->nbase == 1 || r->c->ntest == 1)
        buf_puts(b, "One run of a side: noise within runs is known, between runs it is not.");
    if (step->base_two_groups || step->test_two_groups)
        buf_printf(b, "%sSteps of %s%s%s fall into two groups.", b->len > 0 ? " " : "",
                   step->base_two_groups ? r->base : r->test,
                   step->base_two_groups && step->test_two_groups ? " and of " : "",
                   step->base_two_groups && step->test_two_groups ? r->test : "");
}

static void put_answer(struct screen *s, const struct compare_report *r)
{
    const bool worse = r->c->step->verdict == COMPARE_IS_WORSE && !r->c->base_is_predicted &&
                       !r->c->test_is_predicted;
    struct buf b = BUF_INIT;
    compare_answer_text(&b, r);
    screen_line(s, worse ? SCREEN_BAD : SCREEN_STRONG, b.data, 0);
    buf_reset(&b);
    compare_samples_text(&b, r);
    if (b.len > 0)
        screen_line(s, SCREEN_PLAIN, b.data, 0);
    buf_release(&b);
}

static void put_unknown_causes(struct screen *s, const struct compare_report *r)
{
    const struct causes *causes = r->causes;
    const double recorded_ns = causes->simulated_ns - causes->off_ns;
    struct buf b = BUF_INIT;
    if (causes->unknown != NULL)
        buf_printf(&b, "Causes are not simulated: %s.", causes->unknown);
    else if (causes_are_rough(causes) && is_sure(r->c->step))
        buf_printf(&b,
                   "Causes are uncertain: the simulated base step is %.1f %% %s than the recorded "
                   "one.",
                   100 * fabs(causes->off_ns) / recorded_ns,
                   causes->off_ns > 0 ? "longer" : "shorter");
    else if (causes->no_cpu_times)
        buf_puts(&b, "CPU time is not compared: the recording does not hold it.");
    if (b.len > 0)
        screen_line(s, SCREEN_PLAIN, b.data, 2);
    buf_release(&b);
}

const char *compare_setting_text(const char *value)
{
    return value == NULL ? "not set" : value[0] == '\0' ? "empty" : value;
}

/* "Settings that differ: NCCL_MAX_CTAS (32, 56)." */
static void put_settings(struct screen *s, const struct comparison *c)
{
    struct buf b = BUF_INIT;
    for (size_t i = 0; i < c->nsettings; i++) {
        const struct compare_setting *one = &c->settings[i];
        char name[SETTING_COLUMNS * 4 + 1], base[sizeof name], test[sizeof name];
        if (i == SETTINGS_SHOWN) {
            buf_printf(&b, " and %zu more", c->nsettings - i);
            break;
        }
        text_safe(name, sizeof name, one->name, SETTING_COLUMNS);
        text_safe(base, sizeof base, compare_setting_text(one->base), SETTING_COLUMNS);
        text_safe(test, sizeof test, compare_setting_text(one->test), SETTING_COLUMNS);
        buf_printf(&b, "%s%s (%s, %s)", i == 0 ? "Settings that differ: " : ", ", name, base, test);
    }
    if (b.len > 0) {
        buf_putc(&b, '.');
        screen_line(s, SCREEN_PLAIN, b.data, 2);
    }
    buf_release(&b);
}

/* side: of several tests the one that it is of; NULL. */
static void put_differences(struct screen *s, const struct comparison *c, const char *side)
{
    struct buf b = BUF_INIT;
    if (c->ndifferences == 0)
        return;
    buf_printf(&b, "%s%sard to compare: ", side != NULL ? side : "", side != NULL ? " is h" : "H");
    for (size_t i = 0; i < c->ndifferences; i++)
        buf_printf(&b, "%s%s", i > 0 ? "; " : "", c->differences[i]);
    buf_putc(&b, '.');
    screen_line(s, SCREEN_BAD, b.data, 2);
    buf_release(&b);
}

/* The step is the answer itself, and ranks are a table of their own. */
static bool is_shown(const struct compare_row *row)
{
    if (fabs(step_change(row)) < SHOWN_NS)
        return false;
    switch ((enum compare_part)row->of.part) {
    case COMPARE_COMPUTE:
    case COMPARE_COMM:
    case COMPARE_COPIES:
    case COMPARE_IDLE:
        return row->of.table == COMPARE_STEP;
    default:
        return compare_has_figures(row->of.table) || row->of.table == COMPARE_GEMMS ||
               row->of.table == COMPARE_KERNELS || row->of.table == COMPARE_MEMORY;
    }
}

static void cell_ns(struct table *t, double ns)
{
    char text[32];
    table_cell(t, "%s", isfinite(ns) ? text_ns(text, sizeof text, ns) : "-");
}

/* Returns how many columns the names in it may take. labels: outlive the table. */
static size_t table_begin(struct table *t, const struct screen *s, const struct compare_report *r,
                          const char *what, const char *change,
                          char labels[2][4 * LABEL_COLUMNS + 1])
{
    size_t used = FIGURES - strlen("change") + strlen(change);
    text_safe(labels[0], sizeof labels[0], r->base, LABEL_COLUMNS);
    text_safe(labels[1], sizeof labels[1], r->test, LABEL_COLUMNS);
    for (int i = 0; i < 2; i++)
        used += strlen(labels[i]) > TIME_COLUMNS ? strlen(labels[i]) : TIME_COLUMNS;
    table_init(t);
    table_column(t, what, TABLE_LEFT);
    table_column(t, labels[0], TABLE_RIGHT);
    table_column(t, labels[1], TABLE_RIGHT);
    table_column(t, change, TABLE_RIGHT);
    table_column(t, "verdict", TABLE_LEFT);
    return s->width - used < NAME_COLUMNS ? s->width - used : NAME_COLUMNS;
}

/* The verdict of a cause: of a collective its row's; of others no noise is known. */
const char *compare_cause_note(const struct compare_report *r, const struct cause *cause)
{
    if (cause_is_lateness(cause))
        return "late ranks";
    if (cause_is_hidden(cause, r->c->step->base_ns))
        return "hidden";
    return cause->row != NULL ? compare_verdict_name(cause->row->verdict) : "";
}

static void put_causes(struct screen *s, const struct compare_report *r, size_t rows)
{
    const struct causes *causes = r->causes;
    struct table t;
    struct buf name = BUF_INIT;
    char change[48], labels[2][4 * LABEL_COLUMNS + 1];
    double rest_ns = (double)causes->rest_ns;
    size_t names = table_begin(&t, s, r, "cause", "of the step", labels), n = 0;
    for (size_t i = 0; i < causes->n; i++) {
        const struct cause *cause = &causes->list[i];
        if (n + 1 >= rows) {
            rest_ns += (double)cause->change_ns;
            continue;
        }
        table_text(&t, compare_cause_name(&name, cause), names);
        cell_ns(&t, cause->base_ns);
        cell_ns(&t, cause->test_ns);
        table_cell(&t, "%s", text_change(change, sizeof change, (double)cause->change_ns));
        table_cell(&t, "%s", compare_cause_note(r, cause));
        n++;
    }
    table_text(&t, "rest", names);
    table_cell(&t, "%s", "");
    table_cell(&t, "%s", "");
    table_cell(&t, "%s", text_change(change, sizeof change, rest_ns));
    table_cell(&t, "%s", "");
    screen_table(s, &t);
    table_release(&t);
    buf_release(&name);
}

static void put_table(struct screen *s, const struct compare_report *r, size_t rows)
{
    struct table t;
    struct buf name = BUF_INIT;
    char change[48], labels[2][4 * LABEL_COLUMNS + 1];
    size_t n = 0, names = table_begin(&t, s, r, "changed, a step", "change", labels);
    for (size_t i = 0; i < r->c->nrows && n < rows; i++) {
        const struct compare_row *row = &r->c->rows[i];
        if (!is_shown(row))
            continue;
        table_text(&t, compare_row_name(&name, &row->of), names);
        cell_ns(&t, row->base_step_ns);
        cell_ns(&t, row->test_step_ns);
        table_cell(&t, "%s", text_change(change, sizeof change, step_change(row)));
        table_cell(&t, "%s", compare_verdict_name(row->verdict));
        n++;
    }
    if (n > 0)
        screen_table(s, &t);
    else
        screen_line(s, SCREEN_PLAIN, "No part of the step changed.", 0);
    table_release(&t);
    buf_release(&name);
}

void compare_summary(const struct compare_report *r, struct screen *screen)
{
    size_t rows;
    put_differences(screen, r->c, NULL);
    put_answer(screen, r);
    put_settings(screen, r->c);
    if (!r->c->base_is_predicted && !r->c->test_is_predicted)
        put_unknown_causes(screen, r);
    screen_line(screen, SCREEN_PLAIN, "", 0);
    rows = screen_left(screen) > OTHER_LINES ? screen_left(screen) - OTHER_LINES : 1;
    rows = rows < ROWS_SHOWN ? rows : ROWS_SHOWN;
    if (r->causes->unknown == NULL && r->causes->n > 0)
        put_causes(screen, r, rows);
    else
        put_table(screen, r, rows);
    screen_line(screen, SCREEN_PLAIN, "", 0);
    screen_line(screen, SCREEN_SOFT, "More: --table causes,collectives. All: specter help compare",
                0);
}

/* ---- several tests ---- */

/* NULL: the base. */
static const struct compare_report *report_of(const struct compare_report *const *reports,
                                              const struct ranked *ranked)
{
    return ranked->side > 0 ? reports[ranked->side - 1] : NULL;
}

static const char *label_of(const struct compare_report *const *reports,
                            const struct ranked *ranked)
{
    return ranked->side > 0 ? reports[ranked->side - 1]->test : reports[0]->base;
}

/* "ring is the fastest of 4, 6.2 % faster than base." */
void compare_fastest_text(struct buf *b, const struct compare_report *const *reports,
                          const struct ranking *ranking)
{
    const struct compare_report *best = report_of(reports, &ranking->list[0]);
    const struct compare_row *step = best != NULL ? best->c->step : NULL;
    const double faster = step != NULL ? -100 * compare_change(step) : NAN;
    size_t ties = 0;
    bool base = false;
    for (size_t i = 0; i < ranking->n; i++) {
        ties += ranking->list[i].place == 1;
        base = base || (ranking->list[i].place == 1 && ranking->list[i].side == 0);
    }
    if (step != NULL && !isfinite(step->noise.low))
        buf_printf(b, "Not known: %s looks %.1f %% faster than %s, and the noise is not known.",
                   best->test, faster, best->base);
    else if (step == NULL || base || !is_sure(step))
        buf_printf(b, "None of %zu is faster than %s beyond the noise.", ranking->n - 1,
                   reports[0]->base);
    else if (ties > 1)
        buf_printf(b, "%zu of %zu are the fastest; %s is %.1f %% faster than %s.", ties, ranking->n,
                   best->test, faster, best->base);
    else
        buf_printf(b, "%s is the fastest of %zu, %.1f %% faster than %s.", best->test, ranking->n,
                   faster, best->base);
}

static void put_ranked(struct table *t, const struct compare_report *const *reports,
                       const struct ranked *ranked, size_t names, size_t causes)
{
    const struct compare_report *r = report_of(reports, ranked);
    struct buf cause = BUF_INIT;
    const char *mostly = NULL;
    char time[32];
    double ns;
    table_cell(t, "%zu", ranked->place);
    table_text(t, label_of(reports, ranked), names);
    table_cell(t, "%s", text_ns(time, sizeof time, ranked->step_ns));
    if (r == NULL)
        table_cell(t, "%s", "base");
    else
        table_cell(t, "%+.1f %%", without_minus(100 * compare_change(r->c->step), 1));
    if (r == NULL || !isfinite(r->c->step->noise.low))
        table_cell(t, "%s", "");
    else
        table_cell(t, "%+.1f to %+.1f", without_minus(100 * (r->c->step->noise.low - 1), 1),
                   without_minus(100 * (r->c->step->noise.high - 1), 1));
    if (r != NULL && is_sure(r->c->step))
        mostly = main_cause(&cause, r->causes, &ns);
    table_text(t, mostly != NULL ? mostly : "", causes);
    buf_release(&cause);
}

/* "2 more in --json, the slowest channels_4: 5.10 ms." */
static void put_rest(struct screen *s, const struct compare_report *const *reports,
                     const struct ranking *ranking, size_t shown)
{
    const struct ranked *last = &ranking->list[ranking->n - 1];
    char label[4 * LABEL_COLUMNS + 1], time[32];
    struct buf b = BUF_INIT;
    text_safe(label, sizeof label, label_of(reports, last), LABEL_COLUMNS);
    buf_printf(&b, "%zu more in --json, the slowest %s: %s.", ranking->n - shown, label,
               text_ns(time, sizeof time, last->step_ns));
    screen_line(s, SCREEN_PLAIN, b.data, 0);
    buf_release(&b);
}

#define RANKING_FIGURES 48 /* columns beside names and causes */

void compare_ranking(const struct compare_report *const *reports, const struct ranking *ranking,
                     struct screen *screen)
{
    const size_t left = screen->width - RANKING_FIGURES;
    struct buf fastest = BUF_INIT;
    struct table t;
    size_t rows = 0;
    bool one = false;
    for (size_t i = 0; i + 1 < ranking->n; i++) {
        one = one || reports[i]->c->nbase == 1 || reports[i]->c->ntest == 1;
        if (screen_left(screen) > 12)
            put_differences(screen, reports[i]->c, reports[i]->test);
    }
    compare_fastest_text(&fastest, reports, ranking);
    screen_line(screen, SCREEN_STRONG, fastest.data, 0);
    buf_release(&fastest);
    if (one)
        screen_line(screen, SCREEN_PLAIN, "One run of a side: noise between runs is not known.", 0);
    screen_line(screen, SCREEN_PLAIN, "", 0);
    table_init(&t);
    table_column(&t, "place", TABLE_RIGHT);
    table_column(&t, "side", TABLE_LEFT);
    table_column(&t, "step", TABLE_RIGHT);
    table_column(&t, "change", TABLE_RIGHT);
    table_column(&t, "95 %", TABLE_RIGHT);
    table_column(&t, "mostly", TABLE_LEFT);
    for (; rows < ranking->n && screen_left(screen) > OTHER_LINES + 1 + rows; rows++)
        put_ranked(&t, reports, &ranking->list[rows], left / 2, left - left / 2);
    screen_table(screen, &t);
    table_release(&t);
    if (rows < ranking->n)
        put_rest(screen, reports, ranking, rows);
    screen_line(screen, SCREEN_PLAIN, "", 0);
    screen_line(screen, SCREEN_SOFT, "More: --table step,causes. All: specter help compare", 0);
}

cJSON *compare_ranking_json(const struct compare_report *const *reports,
                            const struct ranking *ranking)
{
    cJSON *list = cJSON_CreateArray();
    for (size_t i = 0; i < ranking->n; i++) {
        const struct ranked *ranked = &ranking->list[i];
        const struct compare_report *r = report_of(reports, ranked);
        cJSON *o = cJSON_CreateObject();
        cJSON_AddNumberToObject(o, "place", (double)ranked->place);
        json_add_text(o, "side", label_of(reports, ranked));
        json_add_us(o, "step_us", ranked->step_ns);
        json_add_number(o, "change", r != NULL ? compare_change(r->c->step) : NAN);
        cJSON_AddItemToArray(list, o);
    }
    return list;
}
