/* SPDX-License-Identifier: MIT
 *
 * The exact split of each rank's time as a bar. Lengths compare: the longest span is the full
 * width.
 */
#include "report/analyze_html_internal.h"
#include "report/rank_spread.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RANKS_SHOWN 64
#define WIDTH 1000

/* X(id, colour, words): what the bar is made of; together the span. */
#define PARTS(X)                                   \
    X(compute, 0, "compute")                       \
    X(moves, 2, "communication moves, exposed")    \
    X(waits, 4, "waiting for stragglers, exposed") \
    X(memory, 3, "copies, exposed")                \
    X(idle, 7, "no traced work runs")

enum {
#define X(id, colour, words) PART_##id,
    PARTS(X)
#undef X
        PART_COUNT
};

static const struct {
    int colour;
    const char *words;
} parts[] = {
#define X(id, colour, words) {colour, words},
    PARTS(X)
#undef X
};

static void parts_of(const struct time_breakdown *s, int64_t out[PART_COUNT])
{
    int64_t waits = s->wait_known ? s->exposed_wait_ns : 0;
    out[PART_compute] = s->compute_ns;
    out[PART_moves] = s->exposed_comm_ns - waits;
    out[PART_waits] = waits;
    out[PART_memory] = s->exposed_memory_ns;
    out[PART_idle] = s->idle_ns;
}

static void put_bar(struct buf *b, const struct time_breakdown *s, double scale)
{
    int64_t ns[PART_COUNT], at_ns = 0;
    char time[32];
    parts_of(s, ns);
    for (int k = 0; k < PART_COUNT; k++) {
        if (ns[k] > 0)
            buf_printf(b,
                       "<rect class=k%d x=%.2f width=%.2f height=10><title>%s: %s, %.1f "
                       "%%</title></rect>",
                       parts[k].colour, (double)at_ns * scale, (double)ns[k] * scale,
                       parts[k].words, text_ns(time, sizeof time, (double)ns[k]),
                       100 * share_of(ns[k], s->span_ns));
        at_ns += ns[k];
    }
}

static void put_rank(struct buf *b, const struct rank_result *r, double scale)
{
    char span[32];
    bool timed = r->breakdown.timed_ops > 0;
    buf_printf(b,
               "<div class=row><span>rank %d</span><svg viewBox=\"0 0 %d 10\" "
               "preserveAspectRatio=none>",
               r->rank->rank, WIDTH);
    if (timed)
        put_bar(b, &r->breakdown, scale);
    buf_printf(b, "</svg><span>%s</span></div>\n",
               timed ? text_ns(span, sizeof span, (double)r->breakdown.span_ns) : "no times");
}

/* The extreme ranks, and others evenly between first and last. */
static void choose(const struct analysis *a, bool *chosen)
{
    size_t list[RANK_EXTREMES], extremes, others, n = a->nranks;
    extremes = n > RANKS_SHOWN ? rank_extremes(a, list) : 0;
    others = n > RANKS_SHOWN ? RANKS_SHOWN - extremes : n;
    for (size_t i = 0; i < extremes; i++)
        chosen[list[i]] = true;
    for (size_t i = 0; i < others; i++)
        chosen[others > 1 ? i * (n - 1) / (others - 1) : 0] = true;
}

static void put_bars(struct buf *b, const struct analysis *a)
{
    int64_t longest_ns = 1;
    bool *chosen = calloc(a->nranks, sizeof *chosen);
    if (chosen == NULL)
        die("out of memory");
    choose(a, chosen);
    for (size_t i = 0; i < a->nranks; i++)
        longest_ns =
            a->ranks[i].breakdown.span_ns > longest_ns ? a->ranks[i].breakdown.span_ns : longest_ns;
    buf_puts(b, "<div class=bars>");
    for (size_t i = 0; i < a->nranks; i++) {
        if (chosen[i])
            put_rank(b, &a->ranks[i], (double)WIDTH / (double)longest_ns);
    }
    buf_puts(b, "</div>");
    free(chosen);
}

static void put_keys(struct buf *b, const struct time_breakdown *total)
{
    int64_t ns[PART_COUNT];
    parts_of(total, ns);
    buf_puts(b, "<div class=keys>");
    for (int k = 0; k < PART_COUNT; k++) {
        char words[64];
        snprintf(words, sizeof words, "%s %.1f %%", parts[k].words,
                 100 * share_of(ns[k], total->span_ns));
        if (ns[k] > 0)
            html_key(b, parts[k].colour, words);
    }
    buf_puts(b, "</div>");
}

/* Smallest, middle and largest of one time; `known`: the trace holds it. */
static void spread_row(struct table *t, const struct analysis *a, const char *name, size_t offset,
                       bool known)
{
    struct time_breakdown spread[3];
    char text[32];
    rank_spread(a, offset, spread);
    table_cell(t, "%s", name);
    for (int k = 0; k < 3; k++) {
        int64_t ns;
        memcpy(&ns, (const char *)&spread[k] + offset, sizeof ns);
        table_cell(t, "%s", text_ns(text, sizeof text, known ? (double)ns : NAN));
    }
}

/* Each column for itself. */
static void put_spread(struct buf *b, const struct analysis *a)
{
    struct table t;
    bool copies = a->coverage & COVER_MEMORY;
    table_init(&t);
    table_column(&t, "of all ranks", TABLE_LEFT);
    table_column(&t, "shortest", TABLE_RIGHT);
    table_column(&t, "median", TABLE_RIGHT);
    table_column(&t, "longest", TABLE_RIGHT);
    spread_row(&t, a, "total", offsetof(struct time_breakdown, span_ns), true);
    spread_row(&t, a, "compute", offsetof(struct time_breakdown, compute_ns), true);
    spread_row(&t, a, "exposed communication", offsetof(struct time_breakdown, exposed_comm_ns),
               true);
    spread_row(&t, a, "of it, waiting for stragglers",
               offsetof(struct time_breakdown, exposed_wait_ns), a->total.wait_known);
    spread_row(&t, a, "exposed copies", offsetof(struct time_breakdown, exposed_memory_ns), copies);
    spread_row(&t, a, "no traced work", offsetof(struct time_breakdown, idle_ns), true);
    html_table(b, &t);
    table_release(&t);
}

void html_ranks(struct buf *b, const struct analysis *a)
{
    if (!analysis_timed(a))
        return;
    put_keys(b, &a->total);
    put_bars(b, a);
    if (a->nranks <= RANKS_SHOWN)
        return;
    buf_printf(
        b,
        "<p class=soft>At most %d of %zu ranks: those with the longest total, compute, exposed "
        "communication, exposed copies and idle time, and others evenly between.</p>",
        RANKS_SHOWN, a->nranks);
    put_spread(b, a);
}
