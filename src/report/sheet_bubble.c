/* SPDX-License-Identifier: MIT
 *
 * The sheet of pipeline stages.
 */
#include "base/buf.h"
#include "report/analyze_sheets.h"

#include <math.h>

#define RANKS_LISTED 3

static void add_notes(struct sheet *s, const struct analysis *a)
{
    const struct bubbles *b = &a->bubbles;
    if (isnan(b->ideal))
        sheet_note(s, "how many micro-batches a step has is not known, so no ideal share is given");
    else if (b->stages.parts > 1)
        sheet_note(s,
                   "ideal share %.1f %%: (p-1)/(v m+p-1), %d stages of %d parts, %g micro-batches",
                   100 * b->ideal, b->stages.count, b->stages.parts, b->stages.micro);
    else
        sheet_note(s, "ideal share %.1f %%: (p-1)/(m+p-1), %d stages, %g micro-batches",
                   100 * b->ideal, b->stages.count, b->stages.micro);
    if (b->imbalance >= 1.005)
        sheet_note(s, "stage %d works longest: %.2f times the mean stage", b->slowest,
                   b->imbalance);
    if (b->steps->source != STEPS_MARKED)
        sheet_note(s, "%s: the window is the whole trace",
                   b->steps->doubt != NULL ? b->steps->doubt : "no steps are marked");
    if (!b->aligned)
        sheet_note(s, "clocks of the ranks cannot be compared: each has a window of its own");
    if (!(a->coverage & COVER_KERNELS))
        sheet_note(s, "kernels that were not timed read as bubble");
    if (b->alone > 0)
        sheet_note(s, "%llu messages whose other end has no times count as transfer throughout",
                   (unsigned long long)b->alone);
    if (b->stages.others > 0)
        sheet_note(s, "messages of %zu other groups of ranks form no pipeline", b->stages.others);
}

void sheet_of_bubble(struct sheet *s, const struct analysis *a)
{
    static const struct sheet_column columns[] = {
        {"stage", "stage", SHEET_COUNT, 0},      {"ranks", "ranks", SHEET_TEXT, 10},
        {"window_us", NULL, SHEET_TIME, 0},      {"compute_us", "compute", SHEET_TIME, 0},
        {"other_us", NULL, SHEET_TIME, 0},       {"p2p_us", "p2p", SHEET_TIME, 0},
        {"bubble_us", "bubble", SHEET_TIME, 0},  {"fraction", "share", SHEET_SHARE, 0},
        {"warmup_us", "warm-up", SHEET_TIME, 0}, {"steady_us", "steady", SHEET_TIME, 0},
        {"drain_us", "drain", SHEET_TIME, 0},    {"waiting_us", NULL, SHEET_TIME, 0},
        {"host_idle_us", NULL, SHEET_TIME, 0},   {"ideal", NULL, SHEET_SHARE, 0},
    };
    const struct bubbles *b = &a->bubbles;
    sheet_init(s, "bubble", "Pipeline stages: mean of a rank and step; share: bubble of the step",
               SHEET_COLUMNS(columns));
    if (b->why != NULL)
        return;
    for (int stage = 0; stage < b->stages.count; stage++) {
        const struct bubble_stage *row = &b->list[stage];
        const struct bubble_times *t = &row->times;
        double n = row->windows > 0 ? (double)row->windows : NAN;
        struct buf ranks = BUF_INIT;
        /* "0, 4, 8, ...": the ranks of a stage. */
        for (size_t c = 0; c < b->stages.nchains && c < RANKS_LISTED; c++)
            buf_printf(&ranks, "%s%d", c > 0 ? "," : "",
                       b->stages.chains[c * (size_t)b->stages.count + (size_t)stage]);
        if (b->stages.nchains > RANKS_LISTED)
            buf_puts(&ranks, ",...");
        buf_putc(&ranks, '\0');
        sheet_number(s, stage);
        sheet_text(s, ranks.data);
        sheet_number(s, (double)t->window_ns / n);
        sheet_number(s, (double)t->compute_ns / n);
        sheet_number(s, (double)t->other_ns / n);
        sheet_number(s, (double)t->p2p_ns / n);
        sheet_number(s, (double)t->bubble_ns / n);
        sheet_number(s, row->windows > 0 ? share_of(t->bubble_ns, t->window_ns) : NAN);
        sheet_number(s, (double)t->warmup_ns / n);
        sheet_number(s, (double)t->steady_ns / n);
        sheet_number(s, (double)t->drain_ns / n);
        sheet_number(s, (double)t->waiting_ns / n);
        sheet_number(s, (double)t->idle_ns / n);
        sheet_number(s, b->ideal);
        buf_release(&ranks);
    }
    add_notes(s, a);
}
