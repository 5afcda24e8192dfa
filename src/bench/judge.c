/* SPDX-License-Identifier: MIT */
#include "bench/judge.h"

#include "base/err.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

const char *bench_verdict_word(enum bench_verdict verdict)
{
    static const char *const words[] = {
#define X(id, word) word,
        BENCH_VERDICTS(X)
#undef X
    };
    return words[verdict];
}

static enum bench_verdict verdict_of(const struct bench_judged *j)
{
    const struct bench_interval *in = &j->expected.interval;
    if (j->row->time_us > in->high_us)
        return BENCH_SLOW;
    return j->row->time_us < in->low_us ? BENCH_FAST : BENCH_NORMAL;
}

static void judge(struct bench_study *s, struct bench_judged *j)
{
    struct err e = {.msg = ""};
    j->ratio = NAN;
    j->verdict = BENCH_UNKNOWN;
    if (s->gpu == NULL) {
        snprintf(s->unknown, sizeof s->unknown, "no profile of its hardware is known");
    } else if (bench_expect(s->run, j->row, s->gpu, s->net, &j->expected, &e) == 0) {
        j->ratio = j->expected.of.us / j->row->time_us;
        j->verdict = verdict_of(j);
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
