/* SPDX-License-Identifier: MIT
 *
 * The screen of `specter watch` (watch_report.h).
 */
#include "report/watch_report.h"

#include "base/arena.h"
#include "base/order.h"
#include "report/findings.h"
#include "report/op_text.h"
#include "report/table.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define HANGS_SHOWN 3
#define ROWS_SHOWN 6 /* collectives */
#define TABLE_HEAD 2 /* lines */
#define RANKS_MIN 2  /* rows of ranks, however small the terminal is */
#define OP_COLUMNS_MIN 12
#define OTHER_COLUMNS 62              /* characters of a rank's row without its operation */
#define NAMED_MAX 8                   /* ranks in a sentence */
#define STILL_NS INT64_C(10000000000) /* so long nothing is called in a job that stands still */

/* "0.1 s", "31 s", "2 min 14 s", "3 h 05 min", "12 d". */
static const char *age_text(char buf[32], int64_t ns)
{
    long long s = ns / 1000000000;
    if (ns == UNKNOWN_NS)
        snprintf(buf, 32, "-");
    else if (s < 10)
        snprintf(buf, 32, "%.1f s", (double)(ns / 100000000) / 10);
    else if (s < 120)
        snprintf(buf, 32, "%lld s", s);
    else if (s < 7200)
        snprintf(buf, 32, "%lld min %02lld s", s / 60, s % 60);
    else if (s < 172800)
        snprintf(buf, 32, "%lld h %02lld min", s / 3600, s / 60 % 60);
    else
        snprintf(buf, 32, "%lld d", s / 86400);
    return buf;
}

static const char *trend_text(char buf[32], const struct watch_steps *s)
{
    if (!isfinite(s->change))
        return "-";
    if (s->steady)
        return "steady";
    snprintf(buf, 32, "%+.0f %%", 100 * s->change);
    return buf;
}

static void put_step_time(struct buf *out, const struct watch *w)
{
    const struct watch_steps *s = &w->slowest->steps;
    char time[32], trend[32];
    buf_printf(out, ": %s (median of the last %zu", text_ns(time, sizeof time, s->median_ns),
               s->count);
    if (w->nranks > 1)
        buf_printf(out, ", rank %d", w->slowest->rank->rank);
    buf_puts(out, ")");
    if (isfinite(s->change))
        buf_printf(out, ", trend %s", trend_text(trend, s));
}

static void put_head(struct screen *s, const struct watch *w, const struct trace_folder *f)
{
    struct buf line = BUF_INIT;
    char age[32];
    buf_put_printable(&line, f->path, strlen(f->path));
    buf_printf(&line, ", %zu rank%s", w->nranks, w->nranks == 1 ? "" : "s");
    if (w->run.world_size > (int)w->nranks)
        buf_printf(&line, " of %d", w->run.world_size);
    buf_printf(&line, ", %s", age_text(age, w->since_ns));
    if (w->step >= 0)
        buf_printf(&line, ", step %lld", (long long)w->step);
    else if (w->slowest != NULL)
        buf_puts(&line, ", steps");
    if (w->slowest != NULL)
        put_step_time(&line, w);
    screen_line(s, SCREEN_STRONG, line.data, 2);
    if (f->other_runs > 0) {
        buf_reset(&line);
        buf_printf(&line, "  %zu file%s of older runs %s not shown.", f->other_runs,
                   f->other_runs == 1 ? "" : "s", f->other_runs == 1 ? "is" : "are");
        screen_line(s, SCREEN_SOFT, line.data, 2);
    }
    buf_release(&line);
}

/* ---- ranks ---- */

/* "AllReduce 64 MiB dp", "copy d2h" */
static void put_operation(struct buf *out, const struct watch *w, const struct op *op)
{
    char title[OP_TITLE_MAX], bytes[32];
    if (op == NULL) {
        buf_puts(out, "-");
        return;
    }
    buf_printf(out, "%s%s", op->class == OP_MEMORY ? "copy " : "", op_title(op, title));
    if (!op_is_comm(op))
        return;
    if (!(op->flags & OP_BYTES_UNKNOWN))
        buf_printf(out, " %s", text_bytes(bytes, sizeof bytes, (double)op->bytes));
    if (op->coll.comm >= 0 && w->run.comms[op->coll.comm].name[0] != '\0')
        buf_printf(out, " %s", w->run.comms[op->coll.comm].name);
}

static int by_state(const void *pa, const void *pb)
{
    static const int order[WATCH_STATE_COUNT] = {[WATCH_BLOCKED] = 0,
                                                 [WATCH_LOST] = 1,
                                                 [WATCH_WAITS] = 2,
                                                 [WATCH_RUNS] = 3,
                                                 [WATCH_ENDED] = 4};
    const struct watch_rank *a = *(const struct watch_rank *const *)pa;
    const struct watch_rank *b = *(const struct watch_rank *const *)pb;
    if (a->state != b->state)
        return ORDER(order[a->state], order[b->state]);
    return ORDER(a->rank->rank, b->rank->rank);
}

static int by_rank(const void *pa, const void *pb)
{
    const struct watch_rank *a = *(const struct watch_rank *const *)pa;
    const struct watch_rank *b = *(const struct watch_rank *const *)pb;
    return ORDER(a->rank->rank, b->rank->rank);
}

static void add_rank_row(struct table *t, const struct watch *w, const struct watch_rank *r,
                         size_t op_columns)
{
    struct buf op = BUF_INIT;
    char text[32];
    table_cell(t, "%d", r->rank->rank);
    if (r->step >= 0)
        table_cell(t, "%lld", (long long)r->step);
    else
        table_cell(t, "-");
    table_cell(t, "%s", text_ns(text, sizeof text, r->steps.median_ns));
    table_cell(t, "%s", trend_text(text, &r->steps));
    put_operation(&op, w, r->last);
    table_text(t, op.data, op_columns);
    table_cell(t, "%s", age_text(text, r->age_ns));
    table_cell(t, "%s", text_ns(text, sizeof text, r->skew_ns));
    table_cell(t, "%s", r->state == WATCH_RUNS ? "" : watch_state_name(r->state));
    buf_release(&op);
}

/* Shows as many ranks as there is room for, those that stand still before others, in the order of
 * their numbers. rows 0: all. */
static void put_ranks(struct screen *s, const struct watch *w, size_t rows)
{
    const struct watch_rank **list = array_new(w->nranks, sizeof *list);
    size_t shown = rows == 0 || w->nranks <= rows ? w->nranks : rows - 1;
    size_t op_columns =
        s->width > OTHER_COLUMNS + OP_COLUMNS_MIN ? s->width - OTHER_COLUMNS : OP_COLUMNS_MIN;
    struct table t;
    for (size_t i = 0; i < w->nranks; i++)
        list[i] = &w->ranks[i];
    qsort(list, w->nranks, sizeof *list, by_state);
    qsort(list, shown, sizeof *list, by_rank);
    table_init(&t);
    table_column(&t, "rank", TABLE_RIGHT);
    table_column(&t, "step", TABLE_RIGHT);
    table_column(&t, "time", TABLE_RIGHT);
    table_column(&t, "trend", TABLE_RIGHT);
    table_optional(&t);
    table_column(&t, "last operation", TABLE_LEFT);
    table_column(&t, "age", TABLE_RIGHT);
    table_column(&t, "skew", TABLE_RIGHT);
    table_optional(&t);
    table_column(&t, "state", TABLE_LEFT);
    for (size_t i = 0; i < shown; i++)
        add_rank_row(&t, w, list[i], op_columns);
    screen_table(s, &t);
    table_release(&t);
    if (shown < w->nranks) {
        char line[64];
        snprintf(line, sizeof line, "  and %zu more ranks", w->nranks - shown);
        screen_row(s, line);
    }
    free(list);
}

/* ---- collectives ---- */

static size_t shown_collectives(const struct watch *w)
{
    return w->rows.count < ROWS_SHOWN ? w->rows.count : ROWS_SHOWN;
}

static void put_collectives(struct screen *s, const struct watch *w)
{
    struct table t;
    size_t shown = shown_collectives(w);
    table_init(&t);
    table_column(&t, "collective", TABLE_LEFT);
    table_column(&t, "size", TABLE_RIGHT);
    table_column(&t, "ranks", TABLE_LEFT);
    table_column(&t, "busbw GB/s", TABLE_RIGHT);
    table_column(&t, "predicted", TABLE_RIGHT);
    table_optional(&t);
    table_column(&t, "ratio", TABLE_RIGHT);
    table_column(&t, "skew", TABLE_RIGHT);
    table_optional(&t);
    for (size_t i = 0; i < shown; i++) {
        const struct comm_row *row = &w->rows.list[i];
        char text[32];
        struct buf group = BUF_INIT;
        table_cell(&t, "%s", comm_op_text(row->op));
        table_cell(&t, "%s",
                   row->bytes_known ? text_bytes(text, sizeof text, (double)row->bytes) : "-");
        if (row->comm_size > 0)
            buf_printf(&group, "%d ", row->comm_size);
        buf_puts(&group, row->name);
        table_text(&t, group.data, 20);
        buf_release(&group);
        table_cell(&t, isfinite(row->busbw_GBps) ? "%.3g" : "-", row->busbw_GBps);
        table_cell(&t, isfinite(row->expected_busbw_GBps) ? "%.3g" : "-", row->expected_busbw_GBps);
        table_cell(&t, isfinite(row->of_expected) ? "%.2f" : "-", row->of_expected);
        table_cell(&t, "%s", text_ns(text, sizeof text, row->skew_ns));
    }
    screen_table(s, &t);
    table_release(&t);
}

/* ---- blocked ranks ---- */

static void put_hangs(struct screen *s, const struct watch *w)
{
    size_t shown = w->hangs.count < HANGS_SHOWN ? w->hangs.count : HANGS_SHOWN;
    for (size_t i = 0; i < shown; i++) {
        struct buf line = BUF_INIT;
        hang_text(&line, &w->hangs.list[i], &w->run);
        buf_putc(&line, '.');
        line.data[0] = (char)toupper((unsigned char)line.data[0]);
        screen_line(s, SCREEN_BAD, line.data, 2);
        buf_release(&line);
    }
    if (w->hangs.count > shown) {
        char line[64];
        snprintf(line, sizeof line, "%zu more operations hang.", w->hangs.count - shown);
        screen_line(s, SCREEN_BAD, line, 2);
    }
}

static void put_lost(struct screen *s, const struct watch *w)
{
    struct buf line = BUF_INIT;
    size_t n = 0;
    for (size_t r = 0; r < w->nranks; r++) {
        if (w->ranks[r].state != WATCH_LOST || n++ >= NAMED_MAX)
            continue;
        buf_printf(&line, "%s%d", n == 1 ? "" : ", ", w->ranks[r].rank->rank);
    }
    if (n > NAMED_MAX)
        buf_printf(&line, " and %zu more", n - NAMED_MAX);
    if (n > 0) {
        struct buf text = BUF_INIT;
        buf_printf(&text, "Rank%s %s ended without a closing record: killed, or crashed.",
                   n > 1 ? "s" : "", line.data);
        screen_line(s, SCREEN_BAD, text.data, 2);
        buf_release(&text);
    }
    buf_release(&line);
}

static void put_still(struct screen *s, const struct watch *w)
{
    char age[32], line[96];
    if (w->ended || w->hangs.count > 0 || w->still_ns == UNKNOWN_NS || w->still_ns < STILL_NS)
        return;
    snprintf(line, sizeof line, "No rank has called anything for %s; none is known to wait.",
             age_text(age, w->still_ns));
    screen_line(s, SCREEN_BAD, line, 2);
}

void watch_text(const struct watch *w, const struct trace_folder *f, struct screen *s, size_t lines)
{
    struct screen verdict = *s;
    size_t collectives = shown_collectives(w), others, rows = 0;
    verdict.text = (struct buf)BUF_INIT;
    verdict.lines = 0;
    put_hangs(&verdict, w);
    put_lost(&verdict, w);
    put_still(&verdict, w);
    put_head(s, w, f);
    screen_row(s, "");
    others = s->lines + TABLE_HEAD + (verdict.lines > 0) + verdict.lines;
    if (collectives > 0)
        others += 1 + TABLE_HEAD + collectives;
    if (lines > 0)
        rows = lines > others + RANKS_MIN ? lines - others : RANKS_MIN;
    put_ranks(s, w, rows);
    if (collectives > 0) {
        screen_row(s, "");
        put_collectives(s, w);
    }
    if (verdict.lines > 0)
        screen_row(s, "");
    buf_put(&s->text, verdict.text.data, verdict.text.len);
    s->lines += verdict.lines;
    buf_release(&verdict.text);
}
