/* SPDX-License-Identifier: MIT */
#include "bench/judge.h"

#include "base/err.h"
#include "calib/measured.h"
#include "model/accuracy.h"
#include "specter/nccl_names.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what the models expect ---- */

struct measured_row bench_question(const struct bench_run *run, const struct bench_row *row,
                                   const struct gpu_profile *gpu, const struct network_profile *net)
{
    const char *algo = bench_setting(run, "NCCL_ALGO"), *proto = bench_setting(run, "NCCL_PROTO");
    const char *nvls = bench_setting(run, "NCCL_NVLS_ENABLE");
    struct measured_row q = {
        .kind = specter_comm_op_is_p2p(row->op) ? MEASURED_P2P : MEASURED_COLLECTIVE,
        .gpu = gpu,
        .net = net,
        .time_us = row->time_us,
        .notes = "",
        .dtype = row->dtype,
        .op = row->op,
        .bytes = (double)row->bytes,
        .where = row->where,
        .nccl = specter_nccl_version_of_library(run->library),
        .no_nvls = nvls != NULL && strcmp(nvls, "0") == 0,
    };
    /* NCCL_ALGO=Ring; a list leaves the choice to NCCL, and so does a name that we do not know. */
    if (algo != NULL)
        q.forced.algo = measured_algo(algo, strlen(algo));
    if (proto != NULL)
        q.forced.proto = measured_proto(proto, strlen(proto));
    return q;
}

#define LEVEL 0.9

static struct bench_interval interval_of(enum accuracy_kind kind, const char *profile, double us)
{
    struct bench_interval in = {.level = LEVEL};
    const double p = accuracy_p90_of(kind, profile, &in.known);
    in.low_us = us / (1 + p);
    in.high_us = p < 1 ? us / (1 - p) : HUGE_VAL;
    return in;
}

struct bench_interval bench_interval(const struct network_profile *net, bool message, double us)
{
    return interval_of(message ? ACCURACY_P2P : ACCURACY_COLLECTIVE, net->name, us);
}

struct bench_interval bench_interval_gemm(const struct gpu_profile *gpu, double us)
{
    return interval_of(ACCURACY_GEMM, gpu->name, us);
}

int bench_expect(const struct bench_run *run, const struct bench_row *row,
                 const struct gpu_profile *gpu, const struct network_profile *net,
                 struct bench_expected *out, struct err *e)
{
    struct measured_row q;
    if (run->backend[0] != '\0' && strstr(run->backend, "ccl") == NULL)
        return err_set(e, ERR_INPUT, "the models are of NCCL and RCCL, not of %s", run->backend);
    if (row->op == SPECTER_COMM_OP_COUNT)
        return err_set(e, ERR_INPUT, "the models do not know '%s'", run->program);
    q = bench_question(run, row, gpu, net);
    if (predict_row(&q, gpu, net, &out->of, e) < 0)
        return -1;
    out->interval = bench_interval(net, q.kind == MEASURED_P2P, out->of.us);
    return 0;
}

/* ---- verdicts ---- */

const char *bench_verdict_word(enum bench_verdict verdict)
{
    static const char *const words[] = {
#define X(id, word) word,
        BENCH_VERDICTS(X)
#undef X
    };
    return words[verdict];
}

static void judge(struct bench_study *s, struct bench_judged *j)
{
    const struct bench_interval *in = &j->expected.interval;
    const double us = j->row->time_us;
    struct err e = {.msg = ""};
    j->ratio = NAN;
    j->verdict = BENCH_UNKNOWN;
    if (s->gpu == NULL) {
        snprintf(s->unknown, sizeof s->unknown, "the GPU has no profile");
    } else if (bench_expect(s->run, j->row, s->gpu, s->net, &j->expected, &e) == 0) {
        j->ratio = j->expected.of.us / us;
        j->verdict = us > in->high_us ? BENCH_SLOW : us < in->low_us ? BENCH_FAST : BENCH_NORMAL;
    } else if (s->unknown[0] == '\0') {
        snprintf(s->unknown, sizeof s->unknown, "%.255s", e.msg);
    }
    if (j->row->wrong > 0)
        j->verdict = BENCH_WRONG;
}

static int compare(const void *a, const void *b)
{
    const struct bench_row *x = ((const struct bench_judged *)a)->row;
    const struct bench_row *y = ((const struct bench_judged *)b)->row;
    if (x->in_place != y->in_place)
        return x->in_place ? 1 : -1;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? -1 : 1;
    return x < y ? -1 : x > y;
}

static bool is_of(const struct bench_row *row, enum specter_comm_op op, struct layout where)
{
    return row->op == op && row->where.ranks == where.ranks && row->where.nodes == where.nodes &&
           row->where.per_node == where.per_node;
}

void bench_study_init(struct bench_study *s, const struct bench_run *run, enum specter_comm_op op,
                      struct layout where, const struct gpu_profile *gpu,
                      const struct network_profile *net)
{
    *s = (struct bench_study){.run = run, .op = op, .gpu = gpu, .net = net, .where = where};
    s->rows = array_new(run->nrows, sizeof *s->rows);
    for (size_t i = 0; i < run->nrows; i++) {
        if (is_of(&run->rows[i], op, where))
            s->rows[s->nrows++].row = &run->rows[i];
    }
    qsort(s->rows, s->nrows, sizeof *s->rows, compare);
    while (s->nmain < s->nrows && s->rows[s->nmain].row->in_place == s->rows[0].row->in_place)
        s->nmain++;
    for (size_t i = 0; i < s->nrows; i++)
        judge(s, &s->rows[i]);
    for (size_t i = 0; i < s->nmain; i++)
        s->count[s->rows[i].verdict]++;
}

void bench_study_release(struct bench_study *s)
{
    free(s->rows);
}

struct bench_interval bench_study_interval(const struct bench_study *s)
{
    if (s->net == NULL)
        return (struct bench_interval){.level = LEVEL};
    return bench_interval(s->net, specter_comm_op_is_p2p(s->op), 1);
}

bool bench_study_is_sound(const struct bench_study *s)
{
    const double outside = 1 - bench_study_interval(s).level;
    return s->count[BENCH_WRONG] == 0 && (double)s->count[BENCH_SLOW] <= outside * (double)s->nmain;
}

static bool has_study(const struct bench_studies *s, const struct bench_run *run,
                      const struct bench_row *row)
{
    for (size_t i = 0; i < s->n; i++) {
        if (s->list[i].run == run && is_of(row, s->list[i].op, s->list[i].where))
            return true;
    }
    return false;
}

void bench_studies_add(struct bench_studies *s, const struct bench_run *run,
                       const struct gpu_profile *gpu, const struct network_profile *net)
{
    for (size_t i = 0; i < run->nrows; i++) {
        const struct bench_row *row = &run->rows[i];
        if (has_study(s, run, row))
            continue;
        ARRAY_GROW(s->list, s->cap, s->n + 1);
        bench_study_init(&s->list[s->n++], run, row->op, row->where, gpu, net);
    }
}

void bench_studies_release(struct bench_studies *s)
{
    for (size_t i = 0; i < s->n; i++)
        bench_study_release(&s->list[i]);
    free(s->list);
}

struct bench_correlation bench_studies_heat(const struct bench_studies *s)
{
    struct bench_heat heat;
    size_t most = 0;
    for (size_t i = 0; i < s->n; i++)
        most += s->list[i].nrows;
    bench_heat_init(&heat, most);
    for (size_t i = 0; i < s->n; i++) {
        for (size_t k = 0; k < s->list[i].nrows; k++) {
            const struct bench_judged *j = &s->list[i].rows[k];
            if (j->row->bytes >= BENCH_HEAT_FROM)
                bench_heat_add(&heat, j->row->celsius, 1 / j->ratio);
        }
    }
    return bench_heat_end(&heat);
}

enum bench_shape bench_shape_of(const struct bench_study *s, enum bench_verdict verdict,
                                size_t *first, size_t *last)
{
    size_t found = 0;
    for (size_t i = 0; i < s->nmain; i++) {
        if (s->rows[i].verdict != verdict)
            continue;
        if (found++ == 0)
            *first = i;
        *last = i;
    }
    if (found == 0)
        return BENCH_SHAPE_NONE;
    if (found == s->nmain)
        return BENCH_SHAPE_ALL;
    if (found <= *last - *first)
        return BENCH_SHAPE_MIXED;
    return *last + 1 == s->nmain ? BENCH_SHAPE_LARGE
           : *first == 0         ? BENCH_SHAPE_SMALL
                                 : BENCH_SHAPE_SPAN;
}
