/* SPDX-License-Identifier: MIT
 *
 * The first screen of `specter analyze --summary`.
 */
#include "report/closing_report.h"
#include "report/table.h"

#include <math.h>
#include <string.h>

#define SHARE_MIN 0.005 /* of the recorded time: a smaller kind has no row */
#define OPS_SHOWN 5
#define RUN_COLUMNS 24
#define TIME_TEXT 32
#define ROW_FORMAT "  %-13s%6s%8s%9s%*s%14s%7s"

static const char *const kind_names[] = {[SPECTER_SUM_COLLECTIVES] = "collectives",
                                         [SPECTER_SUM_MESSAGES] = "messages",
                                         [SPECTER_SUM_GEMMS] = "GEMMs",
                                         [SPECTER_SUM_COPIES] = "copies",
                                         [SPECTER_SUM_GRAPHS] = "graph launches"};

static void put_head(const struct closing_report *r, struct screen *s)
{
    const struct closing_sums *sums = r->sums;
    struct buf b = BUF_INIT;
    char run[4 * RUN_COLUMNS], time[TIME_TEXT];
    buf_printf(&b, "%zu", sums->nranks);
    if (r->run->world_size > 0 && sums->nranks != (size_t)r->run->world_size)
        buf_printf(&b, " of %d", r->run->world_size);
    buf_printf(&b, " %s, %u host%s", r->run->world_size == 1 ? "rank" : "ranks",
               (unsigned)sums->hosts.count, sums->hosts.count == 1 ? "" : "s");
    if (r->run->id[0] != '\0')
        buf_printf(&b, ", run %s", text_safe(run, sizeof run, r->run->id, RUN_COLUMNS));
    if (!isnan(sums->recorded.median))
        buf_printf(&b, ": %s recorded%s", text_ns(time, sizeof time, sums->recorded.median),
                   sums->nranks > 1 ? " (median)" : "");
    screen_line(s, SCREEN_PLAIN, b.data, 2);
    buf_release(&b);
}

static void put_verdict(const struct closing_report *r, struct screen *s)
{
    const struct closing_share *kinds = r->sums->kinds;
    struct buf b = BUF_INIT;
    int largest = 0;
    bool untimed = false;
    for (int kind = 1; kind < SPECTER_SUM_KIND_COUNT; kind++) {
        if (kinds[kind].median > kinds[largest].median)
            largest = kind;
    }
    for (size_t i = 0; i < r->sums->nranks; i++)
        untimed |= r->sums->ranks[i].launches > 0;
    if (isnan(kinds[largest].median) || kinds[largest].median == 0)
        buf_puts(&b, "No operation has a device time.");
    else
        buf_printf(&b, "Most time: %s, %.0f %% of the recorded time.", kind_names[largest],
                   100 * kinds[largest].median);
    buf_puts(&b, untimed ? " Other kernels have no times." : "");
    screen_line(s, SCREEN_STRONG, b.data, 0);
    buf_release(&b);
}

static void put_rank(struct buf *b, double share, int64_t rank)
{
    char name[24] = "-";
    if (rank >= 0)
        snprintf(name, sizeof name, "%lld", (long long)rank);
    buf_printf(b, "%6.0f %%%8s", 100 * share, name);
}

static void put_shares(const struct closing_report *r, struct screen *s)
{
    bool several = r->sums->nranks > 1;
    struct buf b = BUF_INIT;
    if (isnan(r->sums->recorded.median))
        return;
    buf_printf(&b, "  %-14s%8s", "device time", several ? "median" : "share");
    if (several)
        buf_printf(&b, "%8s%8s%8s%8s", "least", "rank", "most", "rank");
    screen_row(s, b.data);
    for (int kind = 0; kind < SPECTER_SUM_KIND_COUNT; kind++) {
        const struct closing_share *x = &r->sums->kinds[kind];
        if (!(x->most >= SHARE_MIN))
            continue;
        buf_reset(&b);
        buf_printf(&b, "  %-14s%6.0f %%", kind_names[kind], 100 * x->median);
        if (several) {
            put_rank(&b, x->least, x->least_rank);
            put_rank(&b, x->most, x->most_rank);
        }
        screen_row(s, b.data);
    }
    buf_release(&b);
}

static void put_waits(const struct closing_report *r, struct screen *s)
{
    const struct closing_sums *sums = r->sums;
    const struct closing_share *x = &sums->communication;
    struct buf b = BUF_INIT;
    char time[TIME_TEXT];
    if (sums->nranks < 2 || !(x->most >= SHARE_MIN) || x->most_rank < 0 || x->least_rank < 0)
        return;
    buf_printf(
        &b,
        "Communication: most on rank %lld (%.0f %%), least on rank %lld (%.0f %%). The last to "
        "arrive in a collective has the shortest device time",
        (long long)x->most_rank, 100 * x->most, (long long)x->least_rank, 100 * x->least);
    if (sums->by_wait != SIZE_MAX) {
        const struct closing_rank *last = &sums->ranks[sums->by_wait];
        buf_printf(&b, "; waits for rank %lld: %s a rank or more", (long long)last->rank,
                   text_ns(time, sizeof time, last->caused_ns / (double)(sums->nranks - 1)));
    }
    buf_putc(&b, '.');
    screen_line(s, SCREEN_PLAIN, b.data, 0);
    buf_release(&b);
}

/* "1.02-2.05 ms", in the unit of the upper end. */
static char *range_text(char *buf, size_t size, const struct closing_class *c, double q)
{
    double from, to;
    char high[TIME_TEXT];
    const char *unit;
    if (!closing_quantile(c, q, &from, &to)) {
        snprintf(buf, size, "-");
        return buf;
    }
    unit = strchr(text_ns(high, sizeof high, to), ' ');
    double scale = unit == NULL               ? 1
                   : strcmp(unit, " s") == 0  ? 1e9
                   : strcmp(unit, " ms") == 0 ? 1e6
                   : strcmp(unit, " us") == 0 ? 1e3
                                              : 1;
    snprintf(buf, size, "%.3g-%.3g%s", from / scale, to / scale, unit != NULL ? unit : "");
    return buf;
}

static char *count_text(char *buf, size_t size, uint64_t count)
{
    if (count < 10000000)
        snprintf(buf, size, "%llu", (unsigned long long)count);
    else
        snprintf(buf, size, "%.3g%s", (double)count / (count < 1000000000 ? 1e6 : 1e9),
                 count < 1000000000 ? "M" : "G");
    return buf;
}

static void put_ops(const struct closing_report *r, struct screen *s, size_t kept)
{
    struct closing_place places[OPS_SHOWN];
    size_t n = closing_by_time(r->sums, places, OPS_SHOWN), left = screen_left(s);
    bool wide = s->width >= 80;
    char row[256], count[32], mean[TIME_TEXT], half[2 * TIME_TEXT], most[2 * TIME_TEXT];
    char sizes[32], rate[16];
    if (n == 0 || left < kept + 2)
        return;
    snprintf(row, sizeof row, ROW_FORMAT, "operation", "ranks", "count", "mean", wide ? 16 : 0,
             wide ? "p50 within" : "", "p90 within", "GB/s");
    screen_row(s, row);
    for (size_t i = 0; i < n && i < OPS_SHOWN && screen_left(s) > kept; i++) {
        const struct closing_class *c = &r->sums->classes[places[i].op][places[i].size];
        double GBps = closing_GBps(c->bus_bytes, c);
        snprintf(rate, sizeof rate, isnan(GBps) ? "-" : GBps < 0.01 ? "<0.01" : "%.3g", GBps);
        snprintf(
            row, sizeof row, ROW_FORMAT, specter_comm_op_name((enum specter_comm_op)places[i].op),
            closing_sizes_text(sizes, sizeof sizes, c), count_text(count, sizeof count, c->count),
            text_ns(mean, sizeof mean, long_sum_value(c->ns) / (double)c->spans), wide ? 16 : 0,
            wide ? range_text(half, sizeof half, c, 0.5) : "",
            range_text(most, sizeof most, c, 0.9), rate);
        screen_row(s, row);
    }
}

void closing_screen(const struct closing_report *r, struct screen *s)
{
    static const char last[] =
        "Need the records, without --summary: steps, waits, idle, kernels, critical path";
    size_t kept = screen_height(s, last, 0);
    put_head(r, s);
    put_verdict(r, s);
    put_shares(r, s);
    put_waits(r, s);
    put_ops(r, s, kept);
    screen_line(s, SCREEN_SOFT, last, 0);
}
