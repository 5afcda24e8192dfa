/* SPDX-License-Identifier: MIT
 *
 * The first screen of `specter validate`: how far the models are from these rows, whether the
 * stated intervals hold, and on what the models are worst.
 */
#include "report/calib_report.h"

#include "report/screen.h"
#include "report/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CLASSES_SHOWN 5
#define CLASS_MIN 10 /* rows: the median of fewer says little */
#define HEADING 2    /* lines of a table above its rows */
#define KEY_COLUMNS 24
#define PERCENT "%.1f %%"

/* Most of the error of what a row is of, rather than of who measured it. */
static bool tells_where(const struct score_group *g)
{
    return g->kind != MEASURED_KINDS && g->stats.n >= CLASS_MIN && strcmp(g->by, "source") != 0 &&
           strcmp(g->by, "lib") != 0;
}

static int worst_first(const void *a, const void *b)
{
    const struct score_group *x = *(const struct score_group *const *)a,
                             *y = *(const struct score_group *const *)b;
    if (x->stats.median_ape != y->stats.median_ape)
        return x->stats.median_ape < y->stats.median_ape ? 1 : -1;
    return x < y ? -1 : x > y;
}

/* `kept`: lines that others need below. */
static void put_classes(struct screen *s, const struct score *score, size_t kept)
{
    const struct score_group **list = array_new(score->ngroups, sizeof *list);
    size_t n = 0;
    struct table t;
    table_init(&t);
    table_column(&t, "largest errors", TABLE_LEFT);
    table_column(&t, "", TABLE_LEFT);
    table_column(&t, "rows", TABLE_RIGHT);
    table_column(&t, "median", TABLE_RIGHT);
    table_column(&t, "p90", TABLE_RIGHT);
    table_column(&t, "bias", TABLE_RIGHT);
    for (size_t i = 0; i < score->ngroups; i++) {
        if (tells_where(&score->groups[i]))
            list[n++] = &score->groups[i];
    }
    qsort(list, n, sizeof *list, worst_first);
    for (size_t i = 0; i < n && i < CLASSES_SHOWN && i + HEADING + kept < screen_left(s); i++) {
        table_cell(&t, "%s", list[i]->by);
        table_text(&t, list[i]->key, KEY_COLUMNS);
        table_cell(&t, "%zu", list[i]->stats.n);
        table_cell(&t, PERCENT, 100 * list[i]->stats.median_ape);
        table_cell(&t, PERCENT, 100 * list[i]->stats.p90_ape);
        table_cell(&t, "%+.1f %%", without_minus(100 * list[i]->stats.bias, 1));
    }
    if (n > 0)
        screen_table(s, &t);
    table_release(&t);
    free(list);
}

/* Of the rows that have one: how many lie in their interval of 80 %. */
static void put_coverage(struct screen *s, const struct score *score)
{
    struct buf b = BUF_INIT;
    size_t known = 0, inside = 0;
    for (size_t i = 0; i < score->nrows; i++) {
        struct accuracy_interval in;
        double ratio = score->rows[i].row->time_us / score->rows[i].predicted.us;
        if (!scored_row_interval(&score->rows[i], &in))
            continue;
        known++;
        inside += ratio <= in.factor80 && ratio >= 1 / in.factor80;
    }
    if (known > 0)
        buf_printf(&b, PERCENT " of %zu measured times lie in the interval that should hold 80 %%.",
                   100 * (double)inside / (double)known, known);
    else
        buf_puts(&b, "Nothing of this kind was measured before: predictions have no interval.");
    screen_line(s, SCREEN_PLAIN, b.data, 0);
    buf_release(&b);
}

/* The most frequent reason; "" where nothing was skipped. */
static void skip_text(struct buf *b, const struct measured *m)
{
    size_t count;
    struct skip_count *counts = validate_skip_counts(m, &count);
    char *reason;
    if (count > 0) {
        reason = text_safe_copy(counts[0].first->reason);
        buf_printf(b, "%zu row%s skipped", m->nskips, m->nskips == 1 ? "" : "s");
        if (count > 1)
            buf_printf(b, ", %zu of them", counts[0].n);
        buf_printf(b, ": %.80s", reason);
        free(reason);
    }
    free(counts);
}

void validate_summary(const struct validation *v, FILE *out)
{
    const struct score *score = v->score;
    struct screen s;
    struct buf b = BUF_INIT, skipped = BUF_INIT;
    const char *more = "More: --full, --worst N, --rows FILE (each row with its prediction)";
    screen_init(&s, out, COLOR_AUTO);
    skip_text(&skipped, v->measured);
    if (score->nrows > 0) {
        buf_printf(&b,
                   "Median error " PERCENT
                   " of %zu measured times; nine in ten are off by at most " PERCENT ".",
                   100 * score->all.median_ape, score->nrows, 100 * score->all.p90_ape);
        screen_line(&s, SCREEN_STRONG, b.data, 0);
        put_coverage(&s, score);
        screen_line(
            &s, SCREEN_PLAIN,
            v->left_out == NULL
                ? "Perhaps the models were fitted on these rows, too: --leave-one-out source"
            : strcmp(v->left_out, "gpu") == 0 ? "Each GPU is predicted by fits without it."
                                              : "Each source is predicted by fits without it.",
            0);
        put_classes(&s, score,
                    screen_height(&s, more, 0) +
                        (skipped.len > 0 ? screen_height(&s, skipped.data, 2) : 0));
    } else {
        screen_line(&s, SCREEN_STRONG, "No row could be scored.", 0);
    }
    if (skipped.len > 0)
        screen_line(&s, SCREEN_PLAIN, skipped.data, 2);
    screen_line(&s, SCREEN_SOFT, more, 0);
    screen_release(&s);
    buf_release(&b);
    buf_release(&skipped);
}
