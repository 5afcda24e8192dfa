/* SPDX-License-Identifier: MIT
 *
 * The report of `specter calibrate`: what a fit gains, found, and could not determine
 * (calib_report.h).
 */
#include "report/calib_report.h"

#include "base/buf.h"
#include "report/screen.h"
#include "report/table.h"

#include <math.h>
#include <string.h>

#define SD_UNKNOWN 4 /* of log(value): more than a factor of 50 either way */

/* The same group of another score; NULL. */
static const struct score_stats *same_group(const struct score *s, const struct score_group *g)
{
    for (size_t k = 0; k < s->ngroups; k++) {
        const struct score_group *other = &s->groups[k];
        if (other->kind == g->kind && strcmp(other->by, g->by) == 0 &&
            strcmp(other->key, g->key) == 0)
            return &other->stats;
    }
    return NULL;
}

/* The scores of a table: before and after a fit, and of rows that had no part in it. */
#define SCORES 3

static void error_row(struct table *t, const char *key, const struct score_stats *stats[SCORES],
                      bool left_out)
{
    table_cell(t, "%s", key);
    table_cell(t, "%zu", stats[0]->n);
    for (int i = 0; i < (left_out ? SCORES : SCORES - 1); i++) {
        const bool known = stats[i] != NULL && stats[i]->n > 0;
        table_cell(t, known ? "%.1f %%" : "-", known ? 100 * stats[i]->median_ape : 0);
        table_cell(t, known ? "%.1f %%" : "-", known ? 100 * stats[i]->p90_ape : 0);
    }
}

void calibrate_text_errors(const struct score *before, const struct score *after,
                           const struct score *left_out, FILE *out)
{
    static const char *const titles[SCORES] = {"before", "after", "left out"};
    const struct score *scores[SCORES] = {before, after, left_out};
    const struct score_stats *stats[SCORES];
    struct table t;
    table_init(&t);
    table_column(&t, "median error", TABLE_LEFT);
    table_column(&t, "rows", TABLE_RIGHT);
    for (int i = 0; i < SCORES && scores[i] != NULL; i++) {
        table_column(&t, titles[i], TABLE_RIGHT);
        table_column(&t, "p90", TABLE_RIGHT);
        stats[i] = &scores[i]->all;
    }
    error_row(&t, "all", stats, left_out != NULL);
    for (size_t i = 0; i < before->ngroups; i++) {
        const struct score_group *g = &before->groups[i];
        if (strcmp(g->by, "size") != 0 && strcmp(g->by, "flops") != 0 &&
            strcmp(g->by, "collective") != 0)
            continue;
        for (int k = 0; k < SCORES && scores[k] != NULL; k++)
            stats[k] = same_group(scores[k], g);
        error_row(&t, g->key, stats, left_out != NULL);
    }
    table_print(&t, out);
    table_release(&t);
}

static void param_row(struct table *t, const struct calibration *c,
                      const struct calibration_param *p)
{
    bool fitted = p->held == CALIBRATION_FITTED;
    table_cell(t, "%s", p->param->name);
    table_cell(t, "%.4g", p->before);
    table_cell(t, fitted ? "%.4g" : " ", p->fit.value);
    if (p->held != CALIBRATION_FITTED)
        table_cell(t, " ");
    else if (!(p->fit.sd < SD_UNKNOWN))
        table_cell(t, "?");
    else if (p->fit.sd >= 1)
        table_cell(t, "x %.2g", exp(p->fit.sd));
    else
        table_cell(t, "%.2g", p->fit.value * p->fit.sd);
    table_cell(t, "%s", p->param->unit);
    if (fitted && p->fit.verdict == FIT_CORRELATED) {
        table_cell(t, "not to be told from %s", c->params[p->fit.with].param->name);
    } else {
        static const char *const words[] = {
            [CALIBRATION_FITTED] = "",
            [CALIBRATION_NO_ROWS] = "no rows of its kind",
            [CALIBRATION_NO_SENSE] = "not on this machine",
            [CALIBRATION_FIXED] = "fixed",
            [CALIBRATION_NO_GAIN] = "left-out rows do not gain by it",
        };
        table_cell(t, "%s", fitted ? fit_verdict_name(p->fit.verdict) : words[p->held]);
    }
}

static void print_params(const struct calibration *c, FILE *out)
{
    struct table t;
    table_init(&t);
    table_column(&t, "parameter", TABLE_LEFT);
    table_column(&t, "before", TABLE_RIGHT);
    table_column(&t, "after", TABLE_RIGHT);
    table_column(&t, "+-", TABLE_RIGHT);
    table_column(&t, "unit", TABLE_LEFT);
    table_column(&t, "verdict", TABLE_LEFT);
    for (size_t i = 0; i < c->nparams; i++) {
        if (c->params[i].held != CALIBRATION_NO_ROWS && c->params[i].held != CALIBRATION_NO_SENSE)
            param_row(&t, c, &c->params[i]);
    }
    table_print(&t, out);
    table_release(&t);
}

void calibrate_text_classes(const struct fitted_classes *c, FILE *out)
{
    struct table t;
    table_init(&t);
    table_column(&t, "group", TABLE_LEFT);
    table_column(&t, "class", TABLE_LEFT);
    table_column(&t, "rows", TABLE_RIGHT);
    table_column(&t, "median error", TABLE_RIGHT);
    table_column(&t, "parameters fitted", TABLE_RIGHT);
    for (size_t i = 0; i < c->nrows; i++) {
        table_cell(&t, "%s", param_tables[c->rows[i].group].name);
        table_cell(&t, "%s", c->rows[i].key);
        table_cell(&t, "%.0f", c->rows[i].range.rows);
        table_cell(&t, "%.1f %%", 100 * c->rows[i].range.median_ape);
        size_t n = 0;
        for (size_t k = 0; k < param_tables[c->rows[i].group].count; k++)
            n += c->rows[i].fits[k].verdict != FIT_HELD;
        table_cell(&t, "%zu of %zu", n, param_tables[c->rows[i].group].count);
    }
    table_print(&t, out);
    table_release(&t);
}

static void print_figure(const char *name, const struct overlap_figure *f, const char *of,
                         FILE *out)
{
    char off[32] = "";
    if (f->rows == 0)
        return;
    if (!isnan(f->off))
        snprintf(off, sizeof off, " +- %.2f", f->off);
    fprintf(out, "  %-14s  %.3f%s of %s (%zu rows)\n", name, f->factor, off, of, f->rows);
}

void calibrate_text_overlap(const struct overlap_fit *fit, FILE *out)
{
    if (fit->sm.rows + fit->memory.rows > 0)
        fputs("\n  kernels overlapped by communication lose\n", out);
    print_figure("overlap_sm", &fit->sm, "the SMs that channels hold", out);
    print_figure("overlap_memory", &fit->memory, "the memory bandwidth that it takes", out);
}

void calibrate_text(const struct calibrate_report *r, FILE *out)
{
    fprintf(out, "%s%s%s: %zu rows\n\n", r->gpu, r->network != NULL ? " in " : "",
            r->network != NULL ? r->network : "", r->before->nrows);
    calibrate_text_errors(r->before, r->after, &r->v->left_out, out);
    fputc('\n', out);
    print_params(r->c, out);
    calibrate_text_overlap(r->overlap, out);
}

/* ---- the first screen ---- */

#define DIFFERS 1.25 /* times as long, of the same: more than a machine repeats itself */
#define ROWS_SHOWN 5
#define HEADING 2 /* lines of a table above its rows */

static bool fits_any(const struct cross_validation *v)
{
    return v->took[0] != CALIBRATION_NONE || v->took[1] != CALIBRATION_NONE;
}

static void put_answer(struct screen *s, const struct calibrate_report *r)
{
    const struct score_stats *before = &r->v->before.all, *after = &r->v->left_out.all;
    struct buf b = BUF_INIT;
    buf_printf(&b, "%s%s%s: ", r->gpu, r->network != NULL ? " in " : "",
               r->network != NULL ? r->network : "");
    if (fits_any(r->v))
        buf_printf(&b,
                   "median error %.1f %%, %.1f %% before, of %zu rows that had no part in the fit.",
                   100 * after->median_ape, 100 * before->median_ape, after->n);
    else
        buf_printf(
            &b,
            "a fit would not predict left-out rows better. All values are kept: median error "
            "%.1f %% of %zu rows.",
            100 * before->median_ape, before->n);
    screen_line(s, SCREEN_STRONG, b.data, 0);
    buf_release(&b);
}

static bool is_shown(const struct score_group *g)
{
    return strcmp(g->by, "collective") == 0 || strcmp(g->by, "dtype") == 0;
}

/* `kept`: lines that others need below. */
static void put_errors(struct screen *s, const struct cross_validation *v, size_t kept)
{
    struct table t;
    size_t n = 0;
    table_init(&t);
    table_column(&t, "left-out rows", TABLE_LEFT);
    table_column(&t, "rows", TABLE_RIGHT);
    table_column(&t, fits_any(v) ? "median before" : "median", TABLE_RIGHT);
    table_column(&t, "p90", TABLE_RIGHT);
    if (fits_any(v)) {
        table_column(&t, "after", TABLE_RIGHT);
        table_column(&t, "p90", TABLE_RIGHT);
    }
    for (size_t i = 0; i < v->before.ngroups; i++) {
        const struct score_group *g = &v->before.groups[i];
        const struct score_stats *after = same_group(&v->left_out, g);
        if (!is_shown(g) || n == ROWS_SHOWN || n + HEADING + kept >= screen_left(s))
            continue;
        table_cell(&t, "%s", g->key);
        table_cell(&t, "%zu", g->stats.n);
        table_cell(&t, "%.1f %%", 100 * g->stats.median_ape);
        table_cell(&t, "%.1f %%", 100 * g->stats.p90_ape);
        n++;
        if (!fits_any(v))
            continue;
        const bool known = after != NULL && after->n > 0;
        table_cell(&t, known ? "%.1f %%" : "-", known ? 100 * after->median_ape : 0);
        table_cell(&t, known ? "%.1f %%" : "-", known ? 100 * after->p90_ape : 0);
    }
    if (n > 1)
        screen_table(s, &t);
    table_release(&t);
}

/* Lists the parameters for which `of` says so, by names and values; "" where there are none.
 */
static void list_params(struct buf *b, const struct calibration *c, const char *what,
                        bool (*of)(const struct calibration_param *p), bool values)
{
    size_t n = 0;
    for (size_t i = 0; i < c->nparams; i++) {
        const struct calibration_param *p = &c->params[i];
        if (!of(p))
            continue;
        buf_printf(b, "%s%s", n++ == 0 ? what : ", ", p->param->name);
        if (values)
            buf_printf(b, " %.4g (%.4g)", p->fit.value, p->before);
    }
    buf_puts(b, n > 0 ? "." : "");
}

static bool is_determined(const struct calibration_param *p)
{
    return p->held == CALIBRATION_FITTED && p->fit.verdict == FIT_DETERMINED;
}

static bool is_at_bound(const struct calibration_param *p)
{
    return p->held == CALIBRATION_FITTED &&
           (p->fit.verdict == FIT_AT_LOW || p->fit.verdict == FIT_AT_HIGH);
}

/* Writes which measurement would determine the first open parameter. */
static void put_advice(struct buf *b, const struct calibration *c)
{
    char text[128];
    for (size_t i = 0; i < c->nparams; i++) {
        const struct calibration_param *p = &c->params[i];
        const struct fit_machine *m = NULL;
        for (size_t k = 0; k < c->rows->nmachines; k++) {
            if ((c->rows->machines[k].of_net == NULL) == (p->group == PARAMS_GEMM))
                m = &c->rows->machines[k];
        }
        if (!calibration_is_open(p) || m == NULL ||
            !calibration_advice(m, p->group, (size_t)(p->param - param_tables[p->group].params),
                                text, sizeof text))
            continue;
        buf_printf(b, " To know %s, measure %s.", p->param->name, text);
        return;
    }
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static void put_differences(struct buf *b, const struct measured_pair *d)
{
    char fast[128], slow[128];
    if (d->ratio < DIFFERS)
        return;
    buf_printf(
        b,
        "Rows contradict each other: %s:%zu took %.3g times as long as %s:%zu, which measured "
        "the same.",
        text_safe(slow, sizeof slow, base_name(d->slow->file), 24), d->slow->line, d->ratio,
        text_safe(fast, sizeof fast, base_name(d->fast->file), 24), d->fast->line);
}

void calibrate_summary(const struct calibrate_report *r, FILE *out)
{
    enum { FITTED, BOUND, UNDETERMINED, DIFFER, LINES };
    struct buf lines[LINES] = {BUF_INIT, BUF_INIT, BUF_INIT, BUF_INIT};
    struct screen s;
    size_t kept = 1;
    screen_init(&s, out, COLOR_AUTO);
    list_params(&lines[FITTED], r->c, "Fitted (before): ", is_determined, true);
    list_params(&lines[BOUND], r->c, "At its bound: is a unit or the profile wrong? ", is_at_bound,
                true);
    list_params(&lines[UNDETERMINED], r->c,
                "Not determined, near the value before: ", calibration_is_open, false);
    if (lines[UNDETERMINED].len > 0)
        put_advice(&lines[UNDETERMINED], r->c);
    put_differences(&lines[DIFFER], &r->contradiction);
    put_answer(&s, r);
    for (int i = 0; i < LINES; i++)
        kept += lines[i].len > 0 ? screen_height(&s, lines[i].data, 2) : 0;
    put_errors(&s, r->v, kept);
    for (int i = 0; i < LINES; i++) {
        if (lines[i].len > 0)
            screen_line(&s, i == BOUND || i == DIFFER ? SCREEN_BAD : SCREEN_PLAIN, lines[i].data,
                        2);
        buf_release(&lines[i]);
    }
    screen_line(&s, SCREEN_SOFT, "More: --full (every class of rows, every parameter)", 0);
    screen_release(&s);
    calibrate_text_overlap(r->overlap, out);
}
