/* SPDX-License-Identifier: MIT */
#include "report/calibrate_report.h"

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
    if (calibration_is_unlike(p)) {
        table_cell(t, "unlike before");
    } else if (fitted && p->fit.verdict == FIT_CORRELATED) {
        table_cell(t, "not to be told from %s", c->params[p->fit.with].param->name);
    } else {
        static const char *const words[] = {
            [CALIBRATION_FITTED] = "",
            [CALIBRATION_NO_ROWS] = "no rows of its kind",
            [CALIBRATION_NO_SENSE] = "not on this machine",
            [CALIBRATION_FIXED] = "fixed",
        };
        table_cell(t, "%s", fitted ? fit_verdict_name(p->fit.verdict) : words[p->held]);
    }
}

void calibrate_text_params(const struct calibration *c, FILE *out)
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
