/* SPDX-License-Identifier: MIT */
#include "bench/findings.h"

#include "base/buf.h"
#include "base/order.h"
#include "model/nccl_tuner.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FORCED_MIN 1.25  /* slower than NCCL's own choice by more than the models' usual error */
#define FEW_ROWS 6       /* below this, no_single_fault says that there are too few sizes */
#define FIT_ROWS_MAX 256 /* curves are compared at so many rows */
#define EXPLAINED 0.9    /* A fault explains rows where so many lie in the interval of its curve, */
#define NEARER 0.6       /* and the curve's distance is at most so much of the sound machine's; */
#define MUCH_NEARER 0.33 /* at so little it does wherever they lie: real logs are not smooth. */
#define AS_NEAR 1.3      /* two faults that the times do not tell apart */
#define GENERAL 2  /* a fault that fits its number to the rows must be nearer by this factor */
#define ROWS_MIN 3 /* one or two times are explained by many faults, */
#define GENERAL_ROWS_MIN 6 /* and few by any number that is fitted to them */
#define SMALL_SHARE 0.5    /* latency is so much of a small size's time */
#define LARGE_SHARE 0.2

/* Writes the form with `what` in the place of its {}. */
static void put_sentence(const char *form, const char *what, char *out, size_t len)
{
    const char *hole = strstr(form, "{}");
    if (hole == NULL)
        snprintf(out, len, "%s", form);
    else
        snprintf(out, len, "%.*s%s%s", (int)(hole - form), form, what, hole + 2);
}

/* ---- rules that look at the rows ---- */

typedef bool (*rule)(const struct bench_study *s, struct buf *what);

/* "64 MiB", without the report's helpers, which this layer does not know. */
static void put_size(struct buf *out, const struct bench_study *s, size_t row)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double bytes = (double)s->rows[row].row->bytes;
    size_t unit = 0;
    for (; bytes >= 1024 && unit + 1 < sizeof units / sizeof *units; unit++)
        bytes /= 1024;
    buf_printf(out, "%.*f %s", bytes == floor(bytes) ? 0 : 1, bytes, units[unit]);
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
    const bool across = s->where.nodes > 1;
    bool rdma;
    if (s->count[BENCH_SLOW] == 0 || bench_study_is_sound(s))
        return false;
    rdma = strcmp(s->net->inter, "ethernet") != 0;
    if (across && rdma && strcmp(p->network, "Socket") == 0)
        put_part(what, "it uses TCP sockets, no RDMA");
    if (across && p->nics > 0 && p->nics < s->net->nics_per_node)
        buf_printf(what, "%sit uses %d NIC%s of %g", what->len > 0 ? "; " : "", p->nics,
                   plural((size_t)p->nics), s->net->nics_per_node);
    if (across && rdma && p->net > 0 && p->gdr == 0)
        put_part(what, "no path between nodes has GPUDirect RDMA");
    if (p->host > 0 && !network_on_pcie(s->net))
        put_part(what, "GPUs of a node reach each other through host memory (SHM)");
    return what->len > 0;
}

static bool rule_other_gpu(const struct bench_study *s, struct buf *what)
{
    if (s->run->other_gpu[0] == '\0')
        return false;
    buf_printf(what, "%s and %s", s->run->gpu, s->run->other_gpu);
    if (s->gpu != NULL)
        buf_printf(what, "; predicted for %s", s->gpu->name);
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

/* ---- faults as changed machines ----
 *
 * Each fault_NAME() tries the changes that such a fault can be, and keeps the one whose predicted
 * times are nearest to the measured ones. */

/* A machine with one fault, and what the fault does to the times beside that. */
struct fault_effect {
    struct gpu_profile gpu;
    struct network_profile net;
    struct comm_choice forced;
    bool no_nvls;
    double add_us, factor, bytes_factor; /* of all of a time; of what grows with bytes */
};

struct fault_fit {
    double distance;  /* mean |log(measured / predicted)|; HUGE_VAL: the change is not possible */
    double explained; /* share of rows in the interval around the curve */
};

/* The best change of a kind so far. */
struct best {
    const struct bench_study *study;
    struct fault_fit fit;
    char what[96];
};

static struct fault_effect no_change(const struct bench_study *s)
{
    return (struct fault_effect){.gpu = *s->gpu, .net = *s->net, .factor = 1, .bytes_factor = 1};
}

static struct fault_fit fit_of(const struct bench_study *s, const struct fault_effect *c)
{
    struct fault_fit f = {HUGE_VAL, 0};
    const bool message = specter_comm_op_is_p2p(s->op);
    const size_t stride = s->nmain / FIT_ROWS_MAX + 1;
    double sum = 0;
    size_t n = 0, inside = 0;
    for (size_t i = 0; i < s->nmain; i += stride, n++) {
        const struct bench_row *row = s->rows[i].row;
        struct measured_row q = bench_question(s->run, row, &c->gpu, &c->net);
        struct row_prediction p;
        struct bench_interval in;
        double us;
        if (c->forced.algo != NULL)
            q.forced.algo = c->forced.algo;
        if (c->forced.proto != NULL)
            q.forced.proto = c->forced.proto;
        q.no_nvls |= c->no_nvls;
        if (predict_row(&q, &c->gpu, &c->net, &p, NULL) < 0)
            return f;
        us = (p.lat_us + (p.us - p.lat_us) * c->bytes_factor) * c->factor + c->add_us;
        if (!(us > 0))
            return f;
        in = bench_interval(s->net, message, us);
        inside += row->time_us >= in.low_us && row->time_us <= in.high_us;
        sum += fabs(log(row->time_us / us));
    }
    return n == 0 ? f : (struct fault_fit){sum / (double)n, (double)inside / (double)n};
}

__attribute__((format(printf, 3, 4))) static void try(struct best *b, const struct fault_effect *c,
                                                      const char *fmt, ...)
{
    struct fault_fit f = fit_of(b->study, c);
    va_list args;
    if (!(f.distance < b->fit.distance))
        return;
    b->fit = f;
    va_start(args, fmt);
    vsnprintf(b->what, sizeof b->what, fmt, args);
    va_end(args);
}

static bool between_nodes(const struct bench_study *s)
{
    return nccl_layout(s->net, s->where).nodes > 1;
}

static void fault_nics(struct best *b)
{
    const int nics = (int)b->study->net->nics_per_node;
    for (int k = 1; between_nodes(b->study) && k < nics; k++) {
        struct fault_effect c = no_change(b->study);
        c.net.nics_per_node = k;
        try(b, &c, "%d of %d", k, nics);
    }
}

/* Host memory passes on as much to NICs as it does between GPUs without P2P. */
static void fault_no_gdr(struct best *b)
{
    struct fault_effect c = no_change(b->study);
    struct network_profile staged = c.net;
    struct node_params node;
    double staged_Gbps;
    staged.intra = "pcie_shm";
    staged.node = (struct node_params){0};
    node = params_node(&c.gpu, &staged);
    staged_Gbps = 8 * params_host_GBps(&c.gpu, &staged, &node) / c.net.nics_per_node;
    if (!between_nodes(b->study) || !(staged_Gbps < c.net.nic_Gbps))
        return;
    c.net.nic_Gbps = staged_Gbps;
    try(b, &c, "%s", "");
}

static void fault_tcp(struct best *b)
{
    static const int rates[] = {1, 10, 25, 40, 50, 100, 200}; /* of Ethernet ports, Gb/s */
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        struct fault_effect c = no_change(b->study);
        if (!between_nodes(b->study) || strcmp(c.net.inter, "ethernet") == 0)
            return;
        c.net.inter = "ethernet";
        c.net.net = (struct net_params){0};
        c.net.nics_per_node = 1;
        c.net.nic_Gbps = rates[i];
        try(b, &c, "%d", rates[i]);
    }
}

static void without_nvlink(struct best *b, const char *intra)
{
    struct fault_effect c = no_change(b->study);
    if (b->study->where.per_node < 2 || strcmp(c.net.intra, intra) == 0 || !(c.gpu.pcie_GBps > 0))
        return;
    c.net.intra = intra;
    c.net.node = (struct node_params){0};
    c.net.intra_GBps = c.net.pair_GBps = c.gpu.pcie_GBps;
    c.net.domain_gpus = 0;
    try(b, &c, "%s", "");
}

static void fault_pcie(struct best *b)
{
    if (!network_on_pcie(b->study->net))
        without_nvlink(b, "pcie");
}

static void fault_host_memory(struct best *b)
{
    without_nvlink(b, "pcie_shm");
}

static void fault_no_nvls(struct best *b)
{
    struct fault_effect c = no_change(b->study);
    c.no_nvls = true;
    try(b, &c, "%s", "");
}

static void fault_proto(struct best *b)
{
    for (int i = 0; i < NCCL_PROTOS; i++) {
        struct fault_effect c = no_change(b->study);
        c.forced.proto = nccl_protos[i].name;
        try(b, &c, "NCCL_PROTO=%s", nccl_protos[i].setting);
    }
}

static void fault_algo(struct best *b)
{
    static const enum nccl_algo algos[] = {NCCL_RING, NCCL_TREE};
    for (size_t i = 0; i < sizeof algos / sizeof *algos; i++) {
        struct fault_effect c = no_change(b->study);
        c.forced.algo = nccl_algos[algos[i]].name;
        try(b, &c, "NCCL_ALGO=%s", nccl_algos[algos[i]].setting);
    }
}

/* Median of value(row) over the main rows for which it is a number; NAN: there are none. */
static double median(const struct bench_study *s, double (*value)(const struct bench_judged *j))
{
    double *list = array_new(s->nmain, sizeof *list), middle;
    size_t n = 0;
    for (size_t i = 0; i < s->nmain; i++) {
        const double v = isfinite(s->rows[i].ratio) ? value(&s->rows[i]) : NAN;
        if (isfinite(v))
            list[n++] = v;
    }
    qsort(list, n, sizeof *list, order_doubles);
    middle = n == 0 ? NAN : (list[(n - 1) / 2] + list[n / 2]) / 2;
    free(list);
    return middle;
}

static double extra_us(const struct bench_judged *j)
{
    const struct row_prediction *p = &j->expected.of;
    return p->lat_us > SMALL_SHARE * p->us ? j->row->time_us - p->us : NAN;
}

static double times_longer(const struct bench_judged *j)
{
    return 1 / j->ratio;
}

/* Of the time that grows with bytes. */
static double bytes_longer(const struct bench_judged *j)
{
    const struct row_prediction *p = &j->expected.of;
    return p->lat_us < LARGE_SHARE * p->us ? (j->row->time_us - p->lat_us) / (p->us - p->lat_us)
                                           : NAN;
}

static void fault_latency(struct best *b)
{
    struct fault_effect c = no_change(b->study);
    c.add_us = median(b->study, extra_us);
    if (c.add_us > 0)
        try(b, &c, c.add_us < 1000 ? "%.3g us" : "%.0f us", c.add_us);
}

static void fault_slower(struct best *b)
{
    struct fault_effect c = no_change(b->study);
    c.factor = median(b->study, times_longer);
    if (c.factor > 1)
        try(b, &c, c.factor < 100 ? "%.2g" : "%.0f", c.factor);
}

static void fault_bandwidth(struct best *b)
{
    struct fault_effect c = no_change(b->study);
    c.bytes_factor = median(b->study, bytes_longer);
    if (c.bytes_factor > 1)
        try(b, &c, "%.2f", 1 / c.bytes_factor);
}

static const struct fault_kind {
    const char *name;
    bool general;
    const char *sentence, *look_at;
    void (*try_all)(struct best *b);
} faults[] = {
#define X(name, general, sentence, look_at) {#name, general, sentence, look_at, fault_##name},
    BENCH_FAULTS(X)
#undef X
};

#define FAULTS (sizeof faults / sizeof *faults)

static int compare_findings(const void *a, const void *b)
{
    const struct bench_finding *x = a, *y = b;
    return ORDER(x->fit, y->fit);
}

/* Those of BENCH_FAULTS: up to `max` that explain the main rows, best first. */
static size_t find_faults(const struct bench_study *s, struct bench_finding *out, size_t max)
{
    struct bench_finding found[FAULTS];
    const struct fault_effect none = no_change(s);
    const struct fault_fit sound = fit_of(s, &none);
    size_t n = 0, given;
    for (size_t i = 0; i < FAULTS; i++) {
        struct best b = {.study = s, .fit = {HUGE_VAL, 0}};
        bool explained;
        double fit;
        if (s->nmain < (faults[i].general ? GENERAL_ROWS_MIN : ROWS_MIN))
            continue;
        faults[i].try_all(&b);
        fit = b.fit.distance * (faults[i].general ? GENERAL : 1);
        explained = b.fit.explained >= EXPLAINED && b.fit.distance <= NEARER * sound.distance;
        if (!explained && !(fit <= MUCH_NEARER * sound.distance))
            continue;
        found[n] = (struct bench_finding){
            .name = faults[i].name, .look_at = faults[i].look_at, .fit = fit, .rough = !explained};
        put_sentence(faults[i].sentence, b.what, found[n].text, sizeof found[n].text);
        n++;
    }
    qsort(found, n, sizeof *found, compare_findings);
    for (given = 0; given < n && given < max; given++) {
        if (found[given].fit > AS_NEAR * found[0].fit + 0.01)
            break;
        out[given] = found[given];
    }
    return given;
}

/* ---- what is said ---- */

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
        buf_printf(out,
                   s->rows[first].ratio > 0.01 ? " calls take %.2g times as long as predicted"
                                               : " calls take %.0f times as long as predicted",
                   1 / s->rows[first].ratio);
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
    n = find_faults(s, out, max);
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
            put_sentence(rules[i].sentence, what.data, out[n].text, sizeof out[n].text);
            explained |= rules[i].holds == rule_one_size || rules[i].holds == rule_one_rank;
            n++;
        }
        buf_release(&what);
    }
    return explained ? n : n + add_faults(s, &out[n], BENCH_FINDINGS_MAX - n);
}
