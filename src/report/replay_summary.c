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
#define LIMIT_MIN 0.1 /* of the critical path: the second largest part is named from here on */
#define LIMIT_MOST 34 /* columns of what limits a step, */
#define LIMIT_LEAST 12
#define BASIS_MIN 0.005

static double ratio_of(const struct replay *rep, const struct replay_scale *s)
{
    return rep->recorded.span_ns > 0 ? s->time.span_ns / rep->recorded.span_ns : NAN;
}

/* Returns whether the first row is the recording itself, with nothing changed. */
static bool is_own(const struct replay *rep)
{
    return rep->same_hardware && rep->calibrate && rep->host_speed == 1 &&
           rep->scales[0].scale == 1 && !(rep->scales[0].fault_free_ns > 0);
}

static void put_change(struct buf *b, const struct replay *rep, double span_ns)
{
    const double change = span_ns / rep->recorded.span_ns - 1;
    char text[32];
    if (isfinite(change))
        buf_printf(b, " (%s)", replay_change(text, sizeof text, change));
}

/* "8 h100_sxm: 4.18 ms a step, recorded. 8 a100_sxm: 10.0 ms, 2.40 times as long." */
static void put_answer(struct screen *screen, const struct replay *rep)
{
    const struct replay_scale *s = &rep->scales[0];
    const double ratio = ratio_of(rep, s);
    struct buf b = BUF_INIT;
    char time[32];
    buf_printf(&b, "%d %s: %s a step, recorded. ", rep->world,
               rep->gpu_known   ? rep->from.gpu->name
               : rep->world > 1 ? "unknown GPUs"
                                : "unknown GPU",
               text_ns(time, sizeof time, rep->recorded.span_ns));
    if (is_own(rep))
        buf_puts(&b, "Replayed there: ");
    else
        buf_printf(&b, "%lld %s: ", (long long)s->gpus,
                   rep->same_hardware ? "of them" : rep->to.gpu->name);
    buf_puts(&b, text_ns(time, sizeof time, s->time.span_ns));
    if (is_own(rep)) {
        put_change(&b, rep, s->time.span_ns);
        buf_putc(&b, '.');
    } else if (!rep->gpu_known) {
        buf_puts(&b, ", with the recorded times: --from-gpu NAME retargets.");
    } else if (fabs(ratio - 1) < 0.005) {
        buf_puts(&b, ", the same.");
    } else if (isfinite(ratio) && ratio > 0) {
        buf_printf(&b, ", %.3g times as %s.", fmax(ratio, 1 / ratio), ratio > 1 ? "long" : "fast");
    }
    screen_line(screen, SCREEN_STRONG, b.data, 0);
    if (rep->own_error > REPLAY_ERROR_MAX)
        screen_line(screen, SCREEN_BAD,
                    "Not to be trusted: on the recording's own hardware the replay is far off.", 0);
    buf_release(&b);
}

/* What limits a step: the largest parts of its critical path, as many as fit. */
static void limit_cell(struct table *t, const struct replay_scale *s, size_t columns)
{
    const struct path_summary *path = &s->path;
    struct buf b = BUF_INIT;
    for (int i = 0; i < path->count && i < 2 && (i == 0 || path->parts[i].share >= LIMIT_MIN);
         i++) {
        size_t before = b.len;
        buf_printf(&b, "%s%s %.0f %%", i == 0 ? "" : ", ", path->parts[i].name,
                   100 * path->parts[i].share);
        if (i > 0 && b.len > columns)
            b.data[before] = '\0';
    }
    table_text(t, b.len > 0 ? b.data : "-", columns);
    buf_release(&b);
}

/* What the other columns of the table leave of the screen; 0: too little for a column. */
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

/* "Own hardware replays to 4.18 ms (+0.0 %). At 64 GPUs the critical path rests on: measured times
 * 71 %, model of GEMMs 29 %." */
static void basis_text(struct buf *b, const struct replay *rep)
{
    static const char *const names[] = {[BASIS_KEPT] = "measured times",
                                        [BASIS_COLLECTIVE] = "model of collectives",
                                        [BASIS_P2P] = "model of messages",
                                        [BASIS_GEMM] = "model of GEMMs",
                                        [BASIS_RULE] = "ratios of hardware figures",
                                        [BASIS_WAIT] = "waits for absent ranks",
                                        [BASIS_UNSIZED] = "communication of unknown size"};
    const struct replay_scale *last = &rep->scales[rep->nscales - 1];
    const struct uncertainty *u = &last->error;
    bool told[BASIS_COUNT] = {false};
    char time[32];
    if (!is_own(rep)) {
        buf_printf(b, "%s replays to %s", rep->gpu_known ? "Own hardware" : "With its own times it",
                   text_ns(time, sizeof time, rep->own.span_ns));
        put_change(b, rep, rep->own.span_ns);
        buf_puts(b, ". ");
    }
    buf_printf(b, "At %lld GPU%s the critical path rests on: ", (long long)last->gpus,
               last->gpus > 1 ? "s" : "");
    for (int k = 0; k < BASIS_COUNT; k++) {
        int top = -1;
        for (int basis = 0; basis < BASIS_COUNT; basis++) {
            if (!told[basis] && u->shares[basis] >= BASIS_MIN &&
                (top < 0 || u->shares[basis] > u->shares[top]))
                top = basis;
        }
        if (top < 0)
            break;
        told[top] = true;
        buf_printf(b, "%s%s %.0f %%", k == 0 ? "" : ", ",
                   !rep->gpu_known && (top == BASIS_GEMM || top == BASIS_RULE)
                       ? "times of an unknown GPU"
                       : names[top],
                   100 * u->shares[top]);
    }
    buf_puts(b, replay_unmeasured(last) ? "; ?: assumed in part." : ".");
}

void replay_summary(struct replay *rep, struct screen *screen)
{
    const char **notes = replay_notes(rep);
    size_t nnotes = 0, others, left; /* lines beside the table's rows */
    struct buf basis = BUF_INIT, last = BUF_INIT, note = BUF_INIT;
    if (rep->nscales == 0)
        return;
    while (notes[nnotes] != NULL)
        nnotes++;
    put_answer(screen, rep);
    basis_text(&basis, rep);
    buf_printf(&last, "More: --full (assumptions, %zu note%s), --html FILE, --timeline FILE",
               nnotes, nnotes == 1 ? "" : "s");
    others = TABLE_HEAD + BLANKS + screen_height(screen, basis.data, 0) +
             screen_height(screen, last.data, 0);
    left = screen_left(screen) > others ? screen_left(screen) - others : 1;
    screen_line(screen, SCREEN_PLAIN, "", 0);
    put_table(screen, rep, left < ROWS_SHOWN ? left : ROWS_SHOWN);
    screen_line(screen, SCREEN_PLAIN, "", 0);
    screen_line(screen, SCREEN_PLAIN, basis.data, 0);
    if (nnotes > 0) {
        buf_printf(&note, "Note: %s.", notes[0]);
        if (screen_left(screen) >=
            screen_height(screen, note.data, 2) + screen_height(screen, last.data, 0))
            screen_line(screen, SCREEN_PLAIN, note.data, 2);
    }
    screen_line(screen, SCREEN_SOFT, last.data, 0);
    buf_release(&basis);
    buf_release(&last);
    buf_release(&note);
}
