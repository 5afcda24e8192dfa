/* SPDX-License-Identifier: MIT
 *
 * The first screen of `specter replay`: source and target side by side, the sizes, and what the
 * result rests on.
 */
#include "report/replay_report.h"

#include "base/buf.h"
#include "report/replay_internal.h"
#include "report/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_SHOWN 6
#define TABLE_HEAD 2
#define BLANKS 2
#define LIMIT_MOST 34 /* columns of what limits a step, */
#define LIMIT_LEAST 12

static void limit_cell(struct table *t, const struct replay_scale *s, size_t columns)
{
    struct buf b = BUF_INIT;
    replay_limit_text(&b, s, columns);
    table_text(t, b.data, columns);
    buf_release(&b);
}

/* The columns of the screen that the other columns of the table leave; 0: too few for one more. */
static size_t limit_columns(const struct screen *screen, const struct replay *rep, bool rates)
{
    size_t gpus = 4, interval = strlen("80 % interval"), used;
    char text[80];
    for (size_t i = 0; i < rep->nscales; i++) {
        const struct replay_scale *s = &rep->scales[i];
        size_t n = (size_t)snprintf(text, sizeof text, "%lld", (long long)s->gpus);
        gpus = n > gpus ? n : gpus;
        n = strlen(replay_interval(text, sizeof text, s->error.interval80)) +
            (replay_unmeasured(s) ? 2 : 0);
        interval = n > interval ? n : interval;
    }
    used = 2 + gpus + 2 + strlen("4.18 ms") + 2 + interval + 2 + strlen("efficiency") + 2 +
           (rates ? strlen("tokens/s") + 2 : 0);
    return screen->width < used + LIMIT_LEAST  ? 0
           : screen->width > used + LIMIT_MOST ? LIMIT_MOST
                                               : screen->width - used;
}

/* At most `rows` of the scales, the first and the last among them. */
static void put_table(struct screen *screen, const struct replay *rep, size_t rows)
{
    const struct workload *w = &rep->workload;
    const size_t n = rep->nscales < rows ? rep->nscales : rows;
    const bool rates = w->tokens > 0;
    const size_t limit = limit_columns(screen, rep, rates);
    struct table t;
    char text[80];
    table_init(&t);
    table_column(&t, "GPUs", TABLE_RIGHT);
    table_column(&t, "step", TABLE_RIGHT);
    table_column(&t, "80 % interval", TABLE_RIGHT);
    table_column(&t, "efficiency", TABLE_RIGHT);
    if (rates)
        table_column(&t, "tokens/s", TABLE_RIGHT);
    if (limit > 0)
        table_column(&t, "limited by", TABLE_LEFT);
    for (size_t k = 0; k < n; k++) {
        const struct replay_scale *s = &rep->scales[n > 1 ? k * (rep->nscales - 1) / (n - 1) : 0];
        table_cell(&t, "%lld", (long long)s->gpus);
        table_cell(&t, "%s", text_ns(text, sizeof text, s->time.span_ns));
        table_cell(&t, "%s%s", replay_interval(text, sizeof text, s->error.interval80),
                   replay_unmeasured(s) ? " ?" : "");
        table_cell(&t, isfinite(s->efficiency) ? "%.0f %%" : "-", 100 * s->efficiency);
        if (rates)
            table_cell(&t, "%s", replay_rate(text, sizeof text, s->rate.tokens_per_s));
        if (limit > 0)
            limit_cell(&t, s, limit);
    }
    screen_table(screen, &t);
    table_release(&t);
}

void replay_summary(struct replay *rep, struct screen *screen)
{
    const char **notes = replay_notes(rep);
    size_t nnotes = 0, others, left; /* lines beside the table's rows */
    struct buf answer = BUF_INIT, basis = BUF_INIT, last = BUF_INIT, note = BUF_INIT;
    if (rep->nscales == 0)
        return;
    while (notes[nnotes] != NULL)
        nnotes++;
    replay_answer_text(&answer, rep);
    screen_line(screen, SCREEN_STRONG, answer.data, 0);
    if (rep->own_error > REPLAY_ERROR_MAX)
        screen_line(screen, SCREEN_BAD, REPLAY_NOT_TRUSTED, 0);
    replay_basis_text(&basis, rep);
    buf_puts(&last, "More: --full (assumptions");
    if (nnotes > 0)
        buf_printf(&last, ", %zu note%s", nnotes, nnotes == 1 ? "" : "s");
    buf_puts(&last, "), --html FILE, --timeline FILE");
    others = TABLE_HEAD + BLANKS + screen_height(screen, basis.data, 0) +
             screen_height(screen, last.data, 0);
    left = screen_left(screen) > others ? screen_left(screen) - others : 1;
    if (nnotes > 0)
        buf_printf(&note, "Note: %s.", notes[0]);
    /* One that must be read takes rows of the table, but for the last. */
    const size_t height = nnotes > 0 ? screen_height(screen, note.data, 2) : 0;
    const bool first = replay_first_note(rep) && left > height;
    left -= first ? height : 0;
    screen_line(screen, SCREEN_PLAIN, "", 0);
    put_table(screen, rep, left < ROWS_SHOWN ? left : ROWS_SHOWN);
    screen_line(screen, SCREEN_PLAIN, "", 0);
    screen_line(screen, SCREEN_PLAIN, basis.data, 0);
    if (first ||
        (nnotes > 0 && screen_left(screen) >= height + screen_height(screen, last.data, 0)))
        screen_line(screen, SCREEN_PLAIN, note.data, 2);
    screen_line(screen, SCREEN_SOFT, last.data, 0);
    buf_release(&answer);
    buf_release(&basis);
    buf_release(&last);
    buf_release(&note);
}
