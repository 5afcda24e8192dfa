/* SPDX-License-Identifier: MIT
 *
 * The timeline on the page of `specter analyze`.
 */
#include "report/analyze_page.h"

#include "report/run_timeline.h"
#include "report/table.h"

#include <inttypes.h>

static void draw(struct page_timeline *out, const struct run_timeline *r,
                 struct timeline_part *part)
{
    page_timeline_release(out);
    page_timeline_init(out);
    part->zero_ns = run_timeline_first(r->a, part->step);
    run_timeline_add(out, r, part);
}

/* What is larger than PAGE_TIMELINE_MAX shrinks to the median step, and where that is still several
 * times as large, to some of the ranks. */
static void choose(struct page_timeline *out, struct run_timeline *r, struct timeline_part *part)
{
    draw(out, r, part);
    if (page_timeline_size(out) <= PAGE_TIMELINE_MAX)
        return;
    part->step = run_timeline_median(r->a);
    if (part->step != STEP_NONE) {
        const struct analysis *a = r->a;
        run_timeline_release(r);
        run_timeline_init(r, a, part->step);
        draw(out, r, part);
    }
    while (r->a->nranks > 1 && page_timeline_size(out) > ANALYZE_STEP_MAX &&
           2 * part->every <= r->a->run->nranks) {
        part->every *= 2;
        draw(out, r, part);
    }
}

void analyze_put_timeline(struct page *p, const struct analysis *a)
{
    struct run_timeline r;
    struct page_timeline out;
    struct timeline_part part = {.step = STEP_NONE, .every = 1, .side = ""};
    char time[32];
    run_timeline_init(&r, a, STEP_NONE);
    page_timeline_init(&out);
    choose(&out, &r, &part);
    if (out.nops > 0) {
        struct buf title = BUF_INIT;
        buf_printf(&title, "Timeline: %" PRIu64 " operations on %zu rank%s in %s", out.nops,
                   (a->nranks + part.every - 1) / part.every, a->nranks > part.every ? "s" : "",
                   text_ns(time, sizeof time, (double)out.end_ns));
        page_heading(p, "timeline", "Timeline", title.data);
        if (part.step != STEP_NONE)
            buf_printf(&p->body,
                       "<p class=note>The recording is too large for a page: this is step %" PRIu32
                       " of %" PRIu32 ", the one of median length, on each rank.</p>",
                       part.step + 1, a->job_steps.count);
        if (part.every > 1)
            buf_printf(&p->body, "<p class=note>One of %zu ranks is shown.</p>", part.every);
        if (a->run->nranks > 1 && !a->run->clock_aligned)
            buf_puts(&p->body, "<p class=note>Clocks of the ranks cannot be compared: each rank's "
                               "times are its own.</p>");
        page_timeline_put(&p->body, &out, true);
        buf_release(&title);
    }
    page_timeline_release(&out);
    run_timeline_release(&r);
}
