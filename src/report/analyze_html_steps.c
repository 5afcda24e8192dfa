/* SPDX-License-Identifier: MIT
 *
 * Steps over time: a bar a step, as long as on its slowest rank. Where there are more than a screen
 * has room for, the longest of several in a row.
 */
#include "report/analyze_html_internal.h"

#include <math.h>

#define BARS_MAX 320
#define HEIGHT 1000.0
#define TICKS 4

/* Whatever stands for one bar: steps [first, end), of which `longest` is the longest. */
struct bar {
    size_t first, end;
    const struct step_row *longest;
};

static struct bar bar_at(const struct steps *s, size_t first, size_t end)
{
    struct bar bar = {first, end < s->count ? end : s->count, &s->list[first]};
    for (size_t i = first + 1; i < bar.end; i++) {
        if (s->list[i].max_ns > bar.longest->max_ns)
            bar.longest = &s->list[i];
    }
    return bar;
}

static void put_name(struct buf *b, const struct step_row *row)
{
    html_text(b, row->name);
    if (row->nth > 0)
        buf_printf(b, " #%u", row->nth);
}

static void put_title(struct buf *b, const struct bar *bar)
{
    const struct step_row *row = bar->longest;
    char most[32], least[32];
    buf_puts(b, "<title>");
    if (bar->end - bar->first > 1)
        buf_printf(b, "steps %zu to %zu, the longest: ", bar->first + 1, bar->end);
    put_name(b, row);
    buf_printf(b, ": %s", text_ns(most, sizeof most, (double)row->max_ns));
    if (row->max_ns > row->min_ns)
        buf_printf(b, " on rank %d, %s on rank %d", row->slowest,
                   text_ns(least, sizeof least, (double)row->min_ns), row->lightest);
    if (row->device_max_ns != UNKNOWN_NS)
        buf_printf(b, "; device %s", text_ns(most, sizeof most, (double)row->device_max_ns));
    buf_puts(b, "</title>");
}

static double height_of(double ns, double top)
{
    return HEIGHT * fmin(fmax(ns / top, 0), 1);
}

static void put_bar(struct buf *b, const struct bar *bar, size_t nth, double top)
{
    const struct step_row *row = bar->longest;
    double x = 10.0 * (double)nth, most = height_of((double)row->max_ns, top);
    double least = row->ranks > 1 ? height_of((double)row->min_ns, top) : most;
    buf_puts(b, "<g>");
    put_title(b, bar);
    if (most > least)
        buf_printf(b, "<rect class=k4 x=%.1f width=8 y=%.1f height=%.1f />", x + 1, HEIGHT - most,
                   most - least);
    buf_printf(b, "<rect class=k1 x=%.1f width=8 y=%.1f height=%.1f />", x + 1, HEIGHT - least,
               least);
    if (row->device_max_ns != UNKNOWN_NS)
        buf_printf(b, "<path class=tick d=\"M%.1f %.1fh8\"/>", x + 1,
                   HEIGHT - height_of((double)row->device_max_ns, top));
    buf_puts(b, "</g>\n");
}

/* Labels stand beside the drawing, which is stretched to the page's width. */
static void put_labels(struct buf *b, double top)
{
    char label[32];
    buf_puts(b, "<div class=plot><div class=y>");
    for (int i = TICKS; i >= 0; i--)
        buf_printf(b, "<span>%s</span>", text_ns(label, sizeof label, top * i / TICKS));
    buf_puts(b, "</div>");
}

static void put_drawing(struct buf *b, const struct steps *s, size_t each, double top)
{
    size_t bars = (s->count + each - 1) / each;
    buf_printf(b,
               "<svg viewBox=\"0 0 %zu %.0f\" preserveAspectRatio=none role=img "
               "aria-label=\"Length of each step\">",
               10 * bars, HEIGHT);
    for (int i = 0; i <= TICKS; i++)
        buf_printf(b, "<path class=axis d=\"M0 %.1fh%zu\"/>", HEIGHT * i / TICKS, 10 * bars);
    for (size_t i = 0; i < bars; i++) {
        struct bar bar = bar_at(s, i * each, (i + 1) * each);
        put_bar(b, &bar, i, top);
    }
    buf_puts(b, "</svg><div class=x><span>");
    put_name(b, &s->list[0]);
    buf_puts(b, "</span><span>");
    if (s->count > 1)
        put_name(b, &s->list[s->count - 1]);
    buf_puts(b, "</span></div></div>");
}

static void put_keys(struct buf *b, bool several, bool device)
{
    buf_puts(b, "<div class=keys>");
    html_key(b, 1, several ? "range of the host, on the fastest rank" : "range of the host");
    if (several)
        html_key(b, 4, "so much longer on the slowest");
    if (device)
        buf_puts(b, "<span class=key><i class=line></i>the device, slowest rank</span>");
    buf_puts(b, "</div>");
}

void html_steps(struct buf *b, const struct analysis *a)
{
    const struct steps *s = &a->steps;
    double longest = 0;
    bool several = false, device = false;
    size_t each = (s->count + BARS_MAX - 1) / BARS_MAX;
    if (s->count == 0)
        return;
    for (size_t i = 0; i < s->count; i++) {
        const struct step_row *row = &s->list[i];
        longest = fmax(longest, (double)row->max_ns);
        if (row->device_max_ns != UNKNOWN_NS)
            longest = fmax(longest, (double)row->device_max_ns);
        device |= row->device_max_ns != UNKNOWN_NS;
        several |= row->ranks > 1;
    }
    put_keys(b, several, device);
    put_labels(b, html_round_up(longest));
    put_drawing(b, s, each, html_round_up(longest));
    if (each > 1)
        buf_printf(b, "<p class=soft>%zu steps; a bar is the longest of %zu in a row.</p>",
                   s->count, each);
    if (!a->run->clock_aligned)
        buf_puts(b,
                 "<p class=soft>Clocks of the ranks cannot be compared: steps stand in the order "
                 "in which they were read.</p>");
}
