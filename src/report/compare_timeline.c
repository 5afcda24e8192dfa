/* SPDX-License-Identifier: MIT
 *
 * The timelines on the page of `specter compare`: the base above, the test below, on one scale,
 * from the begin of the median step of each.
 */
#include "report/compare_page.h"

#include "base/arena.h"
#include "report/html.h"
#include "report/run_timeline.h"
#include "report/table.h"

#include <inttypes.h>

#define OP_BYTES_MIN 8 /* of an operation in the data of a timeline, at least */

/* One side while it is drawn. */
struct drawn_side {
    const struct analysis *a;
    size_t run; /* of its runs, which */
    const struct compare_runs *runs;
    const char *label;
    struct run_timeline drawn;
    struct timeline_part part;
    int64_t step_ns; /* 0: no step is known */
};

static double step_of(const struct analysis *a)
{
    return step_window_mean(&a->step_time.window);
}

/* Of several runs the one whose step is the median. */
static size_t median_run(const struct compare_runs *runs)
{
    for (size_t i = 0; i < runs->n; i++) {
        size_t less = 0;
        for (size_t k = 0; k < runs->n; k++)
            less += step_of(runs->list[k]) < step_of(runs->list[i]) ||
                    (k < i && !(step_of(runs->list[k]) > step_of(runs->list[i])));
        if (less == (runs->n - 1) / 2)
            return i;
    }
    return 0;
}

static void side_init(struct drawn_side *s, const struct compare_runs *runs, const char *label,
                      const char *name)
{
    const int64_t *ends;
    *s = (struct drawn_side){.runs = runs, .label = label, .run = median_run(runs)};
    s->a = runs->list[s->run];
    ends = s->a->step_time.ends_ns;
    run_timeline_init(&s->drawn, s->a, STEP_NONE);
    s->part = (struct timeline_part){.step = run_timeline_median(s->a), .every = 1, .side = name};
    if (s->part.step != STEP_NONE) {
        s->part.zero_ns = ends[s->part.step - 1];
        s->step_ns = ends[s->part.step] - s->part.zero_ns;
    } else {
        s->part.zero_ns = run_timeline_first(s->a, STEP_NONE);
    }
}

static size_t operations(const struct analysis *a)
{
    size_t n = 0;
    for (size_t i = 0; i < a->run->nranks; i++)
        n += a->run->ranks[i].nops;
    return n;
}

static void draw(struct page_timeline *out, struct drawn_side sides[2])
{
    page_timeline_release(out);
    page_timeline_init(out);
    for (int i = 0; i < 2; i++) {
        struct drawn_side *s = &sides[i];
        s->part.first_link = i > 0 ? (int64_t)sides[0].a->comm.matches.count : 0;
        page_timeline_panel(out, s->part.side, s->label, s->step_ns);
        run_timeline_add(out, &s->drawn, &s->part);
    }
}

/* What is larger than COMPARE_TIMELINE_MAX shrinks to the median steps, and then to some of the
 * ranks: the same on both sides. */
static void choose(struct page_timeline *out, struct drawn_side sides[2])
{
    const size_t base = sides[0].a->run->nranks, test = sides[1].a->run->nranks;
    const size_t ops = operations(sides[0].a) + operations(sides[1].a);
    const size_t ranks = base > test ? base : test;
    if (ops < COMPARE_TIMELINE_MAX / OP_BYTES_MIN)
        draw(out, sides);
    if (out->nops > 0 && page_timeline_size(out) <= COMPARE_TIMELINE_MAX)
        return;
    for (int i = 0; i < 2; i++) {
        run_timeline_release(&sides[i].drawn);
        run_timeline_init(&sides[i].drawn, sides[i].a, sides[i].part.step);
    }
    draw(out, sides);
    while (page_timeline_size(out) > COMPARE_TIMELINE_MAX && 2 * sides[0].part.every <= ranks) {
        for (int i = 0; i < 2; i++)
            sides[i].part.every *= 2;
        draw(out, sides);
    }
}

/* "step 7 of 10 of base", "run 2 of base" */
static void put_which(struct buf *b, const struct drawn_side *s)
{
    char label[64];
    if (s->part.step != STEP_NONE)
        buf_printf(b, "step %" PRIu32 " of %" PRIu32 " of ", s->part.step + 1,
                   s->a->job_steps.count);
    if (s->runs->n > 1)
        buf_printf(b, "run %zu of ", s->run + 1);
    buf_puts(b, text_safe(label, sizeof label, s->label, 30));
}

static void put_notes(struct page *p, const struct drawn_side sides[2])
{
    struct buf b = BUF_INIT;
    const bool steps = sides[0].part.step != STEP_NONE && sides[1].part.step != STEP_NONE;
    buf_puts(&p->body, "<p class=note>");
    buf_puts(&b, "Above ");
    put_which(&b, &sides[0]);
    buf_puts(&b, ", below ");
    put_which(&b, &sides[1]);
    buf_puts(&b, steps ? ": steps of median length, between dashed lines, both from 0 on."
                       : ", both from 0 on.");
    if (sides[0].drawn.only != STEP_NONE && steps)
        buf_puts(&b, " The recordings are too large for a page: these steps are shown alone.");
    if (sides[0].part.every > 1)
        buf_printf(&b, " One of %zu ranks is shown.", sides[0].part.every);
    buf_puts(&b, " Pointing at an operation shows it on both sides.");
    for (int i = 0; i < 2; i++) {
        if (sides[i].a->job_steps.apart) {
            buf_puts(&b, " Clocks of ranks cannot be compared: each begins at its own step.");
            break;
        }
    }
    html_text(&p->body, b.data);
    buf_puts(&p->body, "</p>\n");
    buf_release(&b);
}

void compare_put_timeline(struct page *p, const struct compare_report *r)
{
    struct page_timeline out;
    struct drawn_side sides[2];
    if (r->base_runs.n == 0 || r->test_runs.n == 0)
        return;
    side_init(&sides[0], &r->base_runs, r->base, "base");
    side_init(&sides[1], &r->test_runs, r->test, "test");
    page_timeline_init(&out);
    choose(&out, sides);
    if (out.nops > 0) {
        page_heading(p, "timeline", "Timeline", "Timelines of both sides");
        put_notes(p, sides);
        page_timeline_put(&p->body, &out, true);
    }
    page_timeline_release(&out);
    for (int i = 0; i < 2; i++)
        run_timeline_release(&sides[i].drawn);
}
