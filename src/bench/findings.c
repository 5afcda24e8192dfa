/* SPDX-License-Identifier: MIT
 *
 * The rules that look at the rows themselves, and the sentence that a fault becomes.
 */
#include "bench/findings.h"

#include "base/buf.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define FORCED_MIN 1.25 /* slower than NCCL's own choice by more than the models' usual error */

#define FEW_ROWS 6 /* that a cause is not asked of */

typedef bool (*rule)(const struct bench_study *s, struct buf *what);

/* "64 MiB", without the report's helpers, which this layer does not know. */
static void put_bytes(struct buf *out, double bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    size_t unit = 0;
    for (; bytes >= 1024 && unit + 1 < sizeof units / sizeof *units; unit++)
        bytes /= 1024;
    buf_printf(out, "%.*f %s", bytes == floor(bytes) ? 0 : 1, bytes, units[unit]);
}

static void put_size(struct buf *out, const struct bench_study *s, size_t row)
{
    put_bytes(out, (double)s->rows[row].row->bytes);
}

static const char *plural(size_t n)
{
    return n == 1 ? "" : "s";
}

static size_t count_of(const struct bench_study *s, enum bench_verdict verdict, size_t from)
{
    size_t n = 0;
    for (size_t i = from; i < s->nrows; i++)
        n += s->rows[i].verdict == verdict;
    return n;
}

static bool rule_wrong(const struct bench_study *s, struct buf *what)
{
    const size_t n = count_of(s, BENCH_WRONG, 0);
    buf_printf(what, "%zu of %zu measurements", n, s->nrows);
    return n > 0;
}

static bool rule_one_rank(const struct bench_study *s, struct buf *what)
{
    (void)what;
    return s->where.ranks == 1;
}

/* Predicted with the run's settings, over what NCCL would choose without them. */
static double forced_ratio(const struct bench_study *s, const struct bench_judged *j)
{
    struct measured_row q = bench_question(s->run, j->row, s->gpu, s->net);
    struct row_prediction free_choice;
    q.forced = (struct comm_choice){0};
    q.no_nvls = false;
    if (!isfinite(j->ratio) || predict_row(&q, s->gpu, s->net, &free_choice, NULL) < 0)
        return NAN;
    return j->expected.of.us / free_choice.us;
}

static bool rule_forced(const struct bench_study *s, struct buf *what)
{
    static const char *const names[] = {"NCCL_ALGO", "NCCL_PROTO", "NCCL_NVLS_ENABLE"};
    double worst = FORCED_MIN;
    size_t at = s->nmain;
    for (size_t i = 0; i < s->nmain; i++) {
        const double ratio = forced_ratio(s, &s->rows[i]);
        if (ratio > worst) {
            worst = ratio;
            at = i;
        }
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = bench_setting(s->run, names[i]);
        if (value != NULL)
            buf_printf(what, "%s%s=%s", what->len > 0 ? ", " : "", names[i], value);
    }
    if (at == s->nmain || what->len == 0)
        return false;
    buf_printf(what, " is set: predicted %.2g times slower at ", worst);
    put_size(what, s, at);
    buf_puts(what, " than NCCL's own choice");
    return true;
}

static bool rule_one_size(const struct bench_study *s, struct buf *what)
{
    size_t first, last;
    if (bench_shape_of(s, BENCH_SLOW, &first, &last) != BENCH_SHAPE_SPAN || first != last)
        return false;
    put_size(what, s, first);
    return true;
}

static void put_part(struct buf *out, const char *text)
{
    buf_printf(out, "%s%s", out->len > 0 ? "; " : "", text);
}

/* Ways that the profile's machine would not take, where sizes are slow. */
static bool rule_nccl_says(const struct bench_study *s, struct buf *what)
{
    const struct bench_paths *p = &s->run->paths;
    const bool across = s->where.nodes > 1, rdma = strcmp(s->net->inter, "ethernet") != 0;
    if (s->count[BENCH_SLOW] == 0 || bench_study_is_sound(s))
        return false;
    if (across && rdma && strcmp(p->network, "Socket") == 0)
        put_part(what, "it uses TCP sockets, no RDMA");
    if (across && p->nics > 0 && p->nics < s->net->nics_per_node)
        buf_printf(what, "%sit uses %d NIC%s of %g", what->len > 0 ? "; " : "", p->nics,
                   plural((size_t)p->nics), s->net->nics_per_node);
    if (across && rdma && p->net > 0 && p->gdr == 0)
        put_part(what, "no path between nodes has GPUDirect RDMA");
    if (p->host > 0 && strncmp(s->net->intra, "pcie", strlen("pcie")) != 0)
        put_part(what, "GPUs of a node reach each other through host memory (SHM)");
    return what->len > 0;
}

static bool rule_other_gpu(const struct bench_study *s, struct buf *what)
{
    if (s->run->other_gpu[0] == '\0')
        return false;
    buf_printf(what, "%s and %s; predicted for %s", s->run->gpu, s->run->other_gpu, s->gpu->name);
    return true;
}

static bool rule_in_place(const struct bench_study *s, struct buf *what)
{
    const size_t n = count_of(s, BENCH_SLOW, s->nmain), of = s->nrows - s->nmain;
    buf_printf(what, "%zu of %zu size%s %s slow", n, of, plural(of), n == 1 ? "is" : "are");
    return n > 0 && s->count[BENCH_SLOW] == 0;
}

static bool rule_faster(const struct bench_study *s, struct buf *what)
{
    const size_t n = s->count[BENCH_FAST];
    buf_printf(what, "%zu of %zu size%s %s faster than predicted", n, s->nmain, plural(s->nmain),
               n == 1 ? "is" : "are");
    return 2 * n >= s->nmain && n > 0;
}

static const struct {
    const char *name, *sentence, *look_at;
    rule holds;
} rules[] = {
#define X(name, sentence, look_at) {#name, sentence, look_at, rule_##name},
    BENCH_RULES(X)
#undef X
};

#define RULES (sizeof rules / sizeof *rules)

void bench_sentence(const char *form, const char *what, char *out, size_t len)
{
    const char *hole = strstr(form, "{}");
    if (hole == NULL)
        snprintf(out, len, "%s", form);
    else
        snprintf(out, len, "%.*s%s%s", (int)(hole - form), form, what, hole + 2);
}

/* Two digits. */
static void put_ratio(struct buf *out, double ratio)
{
    buf_printf(out, ratio < 0.1 ? "%.1g of the predicted rate" : "%.2f of the predicted rate",
               ratio);
}

/* "From 64 MiB on at 0.47 of the predicted rate". */
static void put_shape(const struct bench_study *s, struct buf *out)
{
    size_t first, last, worst;
    const enum bench_shape shape = bench_shape_of(s, BENCH_SLOW, &first, &last);
    worst = first;
    for (size_t i = first; i <= last; i++) {
        if (s->rows[i].verdict == BENCH_SLOW && s->rows[i].ratio < s->rows[worst].ratio)
            worst = i;
    }
    switch (shape) {
    case BENCH_SHAPE_LARGE:
        buf_puts(out, "From ");
        put_size(out, s, first);
        buf_puts(out, " on at ");
        put_ratio(out, s->rows[last].ratio);
        return;
    case BENCH_SHAPE_SMALL:
        buf_puts(out, "Up to ");
        put_size(out, s, last);
        buf_printf(out, " calls take %.2g times as long as predicted", 1 / s->rows[first].ratio);
        return;
    case BENCH_SHAPE_ALL:
        buf_puts(out, "Every size is slow, the largest at ");
        put_ratio(out, s->rows[last].ratio);
        return;
    default:
        buf_puts(out, "Between ");
        put_size(out, s, first);
        buf_puts(out, " and ");
        put_size(out, s, last);
        buf_puts(out, " down to ");
        put_ratio(out, s->rows[worst].ratio);
    }
}

/* Of the rows that are slow: which faults explain them. */
static size_t add_faults(const struct bench_study *s, struct bench_finding *out, size_t max)
{
    const bool few = s->nmain < FEW_ROWS;
    struct buf shape = BUF_INIT;
    size_t n;
    if (s->count[BENCH_SLOW] == 0 || max == 0)
        return 0;
    put_shape(s, &shape);
    n = bench_faults(s, out, max);
    for (size_t i = 0; i < n; i++) {
        char cause[sizeof out[i].text];
        snprintf(cause, sizeof cause, "%s", out[i].text);
        snprintf(out[i].text, sizeof out[i].text, "%s: %s%.200s.", i == 0 ? shape.data : "Or",
                 out[i].rough ? "roughly " : "", cause);
    }
    if (n == 0 && !bench_study_is_sound(s)) {
        out[n] = (struct bench_finding){
            .name = "no_single_fault",
            .look_at = few ? "a sweep over sizes: -b 8 -e 8G -f 2"
                           : "NCCL_DEBUG=INFO (paths, channels, network), other jobs, throttling",
            .fit = NAN,
        };
        snprintf(out[n].text, sizeof out[n].text, "%.200s; %s.", shape.data,
                 few ? "so few sizes do not tell why" : "no single fault explains it");
        n++;
    }
    buf_release(&shape);
    return n;
}

size_t bench_findings(const struct bench_study *s, struct bench_finding out[BENCH_FINDINGS_MAX])
{
    size_t n = 0;
    bool explained = false; /* why rows are slow */
    for (size_t i = 0; i < RULES && n < BENCH_FINDINGS_MAX; i++) {
        struct buf what = BUF_INIT;
        if (rules[i].holds(s, &what)) {
            out[n] = (struct bench_finding){
                .name = rules[i].name, .look_at = rules[i].look_at, .fit = NAN};
            bench_sentence(rules[i].sentence, what.data, out[n].text, sizeof out[n].text);
            explained |= rules[i].holds == rule_one_size || rules[i].holds == rule_one_rank;
            n++;
        }
        buf_release(&what);
    }
    return explained ? n : n + add_faults(s, &out[n], BENCH_FINDINGS_MAX - n);
}
