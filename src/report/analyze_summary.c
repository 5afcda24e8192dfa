/* SPDX-License-Identifier: MIT
 *
 * The first screen of `specter analyze`: the answer (analyze_answer.c) in so many lines and
 * columns.
 */
#include "report/analyze_internal.h"
#include "report/analyze_report.h"

#include <math.h>
#include <string.h>

#define FINDINGS_SHOWN 3
#define BAR_COLUMNS 16

/* A bar for a share of 0 to 1, `columns` long, filled from the left, without trailing spaces; in
 * buf, of at least 4 * columns bytes, which it returns. */
static char *bar_text(const struct screen *s, char *buf, double share, size_t columns)
{
    static const char *const eighths[] = {"",       "\u258f", "\u258e", "\u258d",
                                          "\u258c", "\u258b", "\u258a", "\u2589"};
    long cells = lround(fmin(fmax(share, 0), 1) * (double)columns * 8);
    size_t full = (size_t)cells / 8;
    char *at = buf;
    if (!s->utf8) {
        full = (size_t)(cells + 4) / 8;
        memset(buf, '#', full);
        buf[full] = '\0';
        return buf;
    }
    for (size_t i = 0; i < full; i++)
        at = stpcpy(at, "\u2588");
    strcpy(at, eighths[cells % 8]);
    return buf;
}

static void put_parts(struct screen *s, const struct analysis *a, const struct answer *x)
{
    const struct time_unit unit = x->unit;
    const struct answer_part *parts = x->parts;
    char bar[4 * BAR_COLUMNS], time[TIME_TEXT_SIZE], row[512];
    const size_t columns = s->width >= 80 ? BAR_COLUMNS : BAR_COLUMNS / 2;
    for (int i = 0; i < ANSWER_PARTS; i++) {
        double share = share_of(parts[i].ns, a->total.span_ns);
        size_t used;
        if (!(share >= ANSWER_PART_MIN))
            continue;
        snprintf(time, sizeof time, "%.*f %s", unit.decimals,
                 answer_mean_ns(a, parts[i].ns) / unit.ns, unit.name);
        bar_text(s, bar, share, columns);
        used = (size_t)snprintf(row, sizeof row, "  %-14s %10s %3.0f %%  ", parts[i].name, time,
                                100 * share);
        if (used + columns + 1 + strlen(parts[i].why) <= s->width && parts[i].why[0] != '\0') {
            size_t filled = 0;
            for (const char *c = bar; *c != '\0'; c++)
                filled += ((unsigned char)*c & 0xc0) != 0x80;
            snprintf(row + used, sizeof row - used, "%s%*s %s", bar, (int)(columns - filled), "",
                     parts[i].why);
        } else {
            snprintf(row + used, sizeof row - used, "%s", bar);
        }
        screen_row(s, row);
    }
}

/* Where it fits above the last `kept` lines of the screen; a hang always. Returns whether it is
 * there. */
static bool put_finding(struct screen *s, const struct analysis *a, const struct finding *f,
                        int number, size_t kept)
{
    struct buf b = BUF_INIT, cost = BUF_INIT;
    size_t lines;
    answer_cost(&cost, a, f);
    buf_printf(&b, "%d. %.*s%s%s", number, (int)f->headline, f->text, cost.len > 0 ? ": " : "",
               cost.data);
    lines = screen_height(s, b.data, 3);
    const bool fits = isinf(f->weight) || screen_left(s) >= lines + kept;
    if (fits) {
        screen_line(s, isinf(f->weight) ? SCREEN_BAD : SCREEN_PLAIN, b.data, 3);
        buf_reset(&b);
        buf_printf(&b, "   %s", answer_advice(a, f));
        if (screen_left(s) >= screen_height(s, b.data, 3) + kept)
            screen_line(s, SCREEN_SOFT, b.data, 3);
    }
    buf_release(&b);
    buf_release(&cost);
    return fits;
}

void analyze_summary(const struct analysis *a, const struct findings *f, struct screen *s)
{
    struct answer x;
    const char *limits[COVERAGE_LIMITS];
    size_t nlimits = 0, kept;
    int number = 1;
    struct buf more = BUF_INIT, head = BUF_INIT;
    for (coverage_limits(a, limits); limits[nlimits] != NULL;)
        nlimits++;
    buf_puts(&more, "More: --full");
    if (nlimits > 0)
        buf_printf(&more, " (%zu note%s)", nlimits, nlimits > 1 ? "s" : "");
    buf_puts(&more, ", --list-tables, --html FILE");
    if (s->width >= 80 && analysis_timed(a))
        buf_puts(&more, "; other GPUs: specter replay");
    kept = screen_height(s, more.data, 0);
    answer_head(&head, a);
    screen_line(s, SCREEN_PLAIN, head.data, 2);
    if (a->run->job_note[0] != '\0')
        screen_line(s, SCREEN_SOFT, a->run->job_note, 2);
    if (analysis_timed(a)) {
        answer_init(&x, a);
        screen_line(s, SCREEN_STRONG, x.verdict, 0);
        put_parts(s, a, &x);
        answer_release(&x);
    }
    if (f->count > 0 && f->list[0].weight > 0)
        screen_line(s, SCREEN_PLAIN, "", 0);
    /* They are in the order of what they cost; those that cost nothing are in --full. */
    for (size_t i = 0; i < f->count && i < FINDINGS_SHOWN && f->list[i].weight > 0; i++)
        number += put_finding(s, a, &f->list[i], number, kept);
    screen_line(s, SCREEN_SOFT, more.data, 0);
    buf_release(&more);
    buf_release(&head);
}
