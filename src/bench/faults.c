/* SPDX-License-Identifier: MIT
 *
 * Faults as changed machines: each fault_NAME() tries the changes that such a fault can be, and
 * keeps the one whose predicted times are nearest to the measured ones.
 */
#include "bench/findings.h"
#include "model/nccl_graph.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIT_ROWS_MAX 256 /* that curves are compared at */
#define EXPLAINED 0.9    /* of the rows lie in the interval around a fault's curve, */
#define NEARER 0.6       /* which is nearer to them than the sound machine's by this factor */
#define MUCH_NEARER 0.33 /* or by this one, wherever the rows lie: real logs are not smooth */
#define AS_NEAR 1.3      /* two faults that the times do not tell apart */
#define GENERAL 2  /* a fault that fits its number to the rows must be nearer by this factor */
#define ROWS_MIN 3 /* one or two times are explained by many faults, */
#define GENERAL_ROWS_MIN 6 /* and few by any number that is fitted to them */
#define SMALL_SHARE 0.5    /* latency is so much of a small size's time */
#define LARGE_SHARE 0.2

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

static size_t stride_of(const struct bench_study *s)
{
    return s->nmain / FIT_ROWS_MAX + 1;
}

static int changed_us(const struct bench_study *s, const struct bench_row *row,
                      const struct fault_effect *c, double *us)
{
    struct measured_row q = bench_question(s->run, row, &c->gpu, &c->net);
    struct row_prediction p;
    if (c->forced.algo != NULL)
        q.forced.algo = c->forced.algo;
    if (c->forced.proto != NULL)
        q.forced.proto = c->forced.proto;
    q.no_nvls |= c->no_nvls;
    if (predict_row(&q, &c->gpu, &c->net, &p, NULL) < 0)
        return -1;
    *us = (p.lat_us + (p.us - p.lat_us) * c->bytes_factor) * c->factor + c->add_us;
    return *us > 0 ? 0 : -1;
}

static struct fault_fit fit_of(const struct bench_study *s, const struct fault_effect *c)
{
    struct fault_fit f = {HUGE_VAL, 0};
    const bool message = specter_comm_op_is_p2p(s->op);
    double sum = 0;
    size_t n = 0, inside = 0;
    for (size_t i = 0; i < s->nmain; i += stride_of(s), n++) {
        const double measured = s->rows[i].row->time_us;
        struct bench_interval in;
        double us;
        if (changed_us(s, s->rows[i].row, c, &us) < 0)
            return f;
        in = bench_interval(s->net, message, us);
        inside += measured >= in.low_us && measured <= in.high_us;
        sum += fabs(log(measured / us));
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

/* ---- the machine ---- */

static bool between_nodes(const struct bench_study *s)
{
    return nccl_layout(s->net, s->where).nodes > 1;
}

static bool is_pcie(const struct network_profile *net)
{
    return strncmp(net->intra, "pcie", strlen("pcie")) == 0;
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
static double host_GBps(const struct bench_study *s)
{
    struct network_profile staged = *s->net;
    staged.intra = "pcie_shm";
    staged.node = (struct node_params){0};
    return params_node(s->gpu, &staged).host_GBps;
}

static void fault_no_gdr(struct best *b)
{
    struct fault_effect c = no_change(b->study);
    const double staged_Gbps = 8 * host_GBps(b->study) / c.net.nics_per_node;
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
    if (!is_pcie(b->study->net))
        without_nvlink(b, "pcie");
}

static void fault_host_memory(struct best *b)
{
    without_nvlink(b, "pcie_shm");
}

/* ---- algorithm and protocol ---- */

static void fault_no_nvls(struct best *b)
{
    struct fault_effect c = no_change(b->study);
    c.no_nvls = true;
    try(b, &c, "%s", "");
}

static void fault_proto(struct best *b)
{
    static const char *const protos[] = {"LL", "LL128", "Simple"};
    for (size_t i = 0; i < sizeof protos / sizeof *protos; i++) {
        struct fault_effect c = no_change(b->study);
        c.forced.proto = protos[i];
        try(b, &c, "NCCL_PROTO=%s", protos[i]);
    }
}

static void fault_algo(struct best *b)
{
    static const struct {
        const char *name, *nccl;
    } algos[] = {{"ring", "Ring"}, {"tree", "Tree"}};
    for (size_t i = 0; i < sizeof algos / sizeof *algos; i++) {
        struct fault_effect c = no_change(b->study);
        c.forced.algo = algos[i].name;
        try(b, &c, "NCCL_ALGO=%s", algos[i].nccl);
    }
}

/* ---- what all rows have in common ---- */

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
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
    qsort(list, n, sizeof *list, compare_doubles);
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
        try(b, &c, "%.3g us", c.add_us);
}

static void fault_slower(struct best *b)
{
    struct fault_effect c = no_change(b->study);
    c.factor = median(b->study, times_longer);
    if (c.factor > 1)
        try(b, &c, "%.2g", c.factor);
}

static void fault_bandwidth(struct best *b)
{
    struct fault_effect c = no_change(b->study);
    c.bytes_factor = median(b->study, bytes_longer);
    if (c.bytes_factor > 1)
        try(b, &c, "%.2f", 1 / c.bytes_factor);
}

/* ---- all of them ---- */

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
    return compare_doubles(&((const struct bench_finding *)a)->fit,
                           &((const struct bench_finding *)b)->fit);
}

size_t bench_faults(const struct bench_study *s, struct bench_finding *out, size_t max)
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
        bench_sentence(faults[i].sentence, b.what, found[n].text, sizeof found[n].text);
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
