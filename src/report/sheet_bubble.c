/* SPDX-License-Identifier: MIT
 *
 * The sheet of pipeline stages, the object about the pipeline in JSON, and what the bubble is for.
 */
#include "base/buf.h"
#include "report/analyze_json_internal.h"
#include "report/analyze_sheets.h"
#include "report/findings_rules.h"
#include "report/json_add.h"
#include "report/table.h"

#include <cjson/cJSON.h>
#include <math.h>

#define RANKS_LISTED 3

/* "0, 4, 8, ...": the ranks of a stage. */
static void put_ranks(struct buf *text, const struct stages *s, int stage)
{
    for (size_t c = 0; c < s->nchains && c < RANKS_LISTED; c++)
        buf_printf(text, "%s%d", c > 0 ? "," : "", s->chains[c * (size_t)s->count + (size_t)stage]);
    if (s->nchains > RANKS_LISTED)
        buf_puts(text, ",...");
    buf_putc(text, '\0');
}

static void add_row(struct sheet *s, const struct bubbles *b, int stage)
{
    const struct bubble_stage *row = &b->list[stage];
    const struct bubble_times *t = &row->times;
    double n = row->windows > 0 ? (double)row->windows : NAN;
    struct buf ranks = BUF_INIT;
    put_ranks(&ranks, &b->stages, stage);
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

static void add_ideal_note(struct sheet *s, const struct bubbles *b)
{
    if (isnan(b->ideal))
        sheet_note(s, "how many micro-batches a step has is not known, so no ideal share is given");
    else if (b->stages.parts > 1)
        sheet_note(s,
                   "ideal share %.1f %%: (p-1)/(v m+p-1), %d stages of %d parts, %g micro-batches",
                   100 * b->ideal, b->stages.count, b->stages.parts, b->stages.micro);
    else
        sheet_note(s, "ideal share %.1f %%: (p-1)/(m+p-1), %d stages, %g micro-batches",
                   100 * b->ideal, b->stages.count, b->stages.micro);
}

static void add_notes(struct sheet *s, const struct analysis *a)
{
    const struct bubbles *b = &a->bubbles;
    add_ideal_note(s, b);
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
    for (int stage = 0; stage < b->stages.count; stage++)
        add_row(s, b, stage);
    add_notes(s, a);
}

/* ---- JSON ---- */

void add_pipeline_json(struct cJSON *doc, const struct analysis *a)
{
    const struct bubbles *b = &a->bubbles;
    bool found = b->why == NULL;
    cJSON *o;
    if (b->why != NULL && b->why[0] == '\0') {
        cJSON_AddNullToObject(doc, "pipeline");
        return;
    }
    o = cJSON_AddObjectToObject(doc, "pipeline");
    json_add_number(o, "stages", found ? b->stages.count : NAN);
    json_add_number(o, "pipelines", found ? (double)b->stages.nchains : NAN);
    json_add_number(o, "virtual_stages", found ? b->stages.parts : NAN);
    json_add_number(o, "micro_batches", found ? b->stages.micro : NAN);
    json_add_number(o, "fraction", found ? share_of(b->total.bubble_ns, b->total.window_ns) : NAN);
    json_add_number(o, "ideal", found ? b->ideal : NAN);
    json_add_number(o, "slowest_stage", isfinite(b->imbalance) ? b->slowest : NAN);
    json_add_number(o, "imbalance", b->imbalance);
    json_add_number(o, "schedule_us", b->schedule_ns / (double)b->windows / 1e3);
    json_add_number(o, "uneven_us", b->uneven_ns / (double)b->windows / 1e3);
    json_add_number(o, "rest_us", b->rest_ns / (double)b->windows / 1e3);
    if (found)
        cJSON_AddNullToObject(o, "reason");
    else
        cJSON_AddStringToObject(o, "reason", b->why);
}

/* ---- in words ---- */

static void put_schedule(struct buf *b, const struct bubbles *x)
{
    double twice = bubble_ideal(x->stages.count, x->stages.parts, 2 * x->stages.micro);
    buf_printf(
        b,
        " Most of it is the schedule: %d stages with %g micro-batches leave %.0f %% even when "
        "they are equal, %g would leave %.0f %%.",
        x->stages.count, x->stages.micro, 100 * x->ideal, 2 * x->stages.micro, 100 * twice);
}

bool rule_bubble(const struct analysis *a, double threshold, struct finding *f, struct buf *b)
{
    const struct bubbles *x = &a->bubbles;
    char part[32], whole[32];
    if (x->why != NULL)
        return false;
    f->value = f->weight = share_of(x->total.bubble_ns, x->total.window_ns);
    if (!(f->value > threshold))
        return false;
    buf_printf(b,
               "Pipeline bubble: for %.0f %% of a step (%s of %s) a stage neither computes nor "
               "moves data.",
               100 * f->value,
               text_ns(part, sizeof part, (double)x->total.bubble_ns / (double)x->windows),
               text_ns(whole, sizeof whole, (double)x->total.window_ns / (double)x->windows));
    if (isnan(x->schedule_ns))
        return true;
    if (x->schedule_ns >= x->uneven_ns && x->schedule_ns >= x->rest_ns)
        put_schedule(b, x);
    else if (x->uneven_ns >= x->rest_ns)
        buf_printf(
            b,
            " Most of it is waiting for stage %d, which works %.2f times as long as the mean "
            "stage.",
            x->slowest, x->imbalance);
    else if ((double)x->total.idle_ns >= x->rest_ns / 2)
        buf_puts(b,
                 a->coverage & COVER_KERNELS
                     ? " Most of it is the host, which launches late: no message is awaited then."
                     : " Most of it is time between operations, when no message is awaited: "
                       "kernels that were not timed, or a late host.");
    else
        buf_puts(b, " Most of it is waiting for messages that are under way to other stages, or "
                    "for collectives.");
    return true;
}
