/* SPDX-License-Identifier: MIT
 *
 * Learns the variation of a recording. The same operation (position in its rank's iteration) is
 * compared over the warm iterations, as logarithms of its own time: waits for others are no part of
 * it. All estimates are medians, weighted by time, so that neither a hiccup nor a thousand tiny
 * kernels decide; all use differences between successive iterations, which need no centre and have
 * no bias in short series.
 *
 * x is the logarithm of an operation's own time, r the rank, k the step, i the operation:
 *
 *     x(r,k,i) = level(r,i) + iteration(k) + step(r,k) + operation(r,k,i)
 *
 * Levels are medians over k, iteration(k) and step(r,k) medians weighted by time. Standard
 * deviations are median |d| / 0.954 of differences d between successive steps, less the noise of
 * medians (pi/2/n of the variance, n = (sum of times)^2 / sum of squares). CPU time varies as its
 * sum over a step. Fewer than 3 steps: nothing is assumed.
 */
#include "sim/whatif/whatif.h"

#include "base/order.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- which costs of the program are the same operation in the iterations of its rank ---- */

/* Costs of a rank in one iteration, counted: computation and transfers apart. */
struct counter {
    uint32_t *count; /* [K] */
    uint32_t first;  /* slot of the first */
    uint32_t usual;  /* how many most iterations have */
};

struct slot_counters {
    struct counter *list; /* [2 * nranks] */
    uint32_t *counts;
    uint32_t *latest; /* [nranks] iteration of the rank's operation before */
    uint32_t k;       /* iterations */
};

static struct counter *counter_of(struct slot_counters *c, const struct program_cost *cost)
{
    return &c->list[2 * cost->rank + (cost->match != PROGRAM_NONE)];
}

/* The count that most warm iterations have: the median. */
static uint32_t usual_count(const struct counter *c, uint32_t k)
{
    double *list = array_new(k, sizeof *list);
    uint32_t usual;
    for (uint32_t i = 1; i < k; i++)
        list[i - 1] = c->count[i];
    if (k > 1)
        qsort(list, k - 1, sizeof *list, order_doubles);
    usual = k > 1 ? (uint32_t)list[(k - 1) / 2] : 0;
    free(list);
    return usual;
}

/* Fills v->of: slots are positions in a step; those of steps that differ from most have none. */
static void jitter_assign_slots(struct whatif *v)
{
    const struct program *p = v->program;
    struct slot_counters c = {.k = v->steps->count};
    size_t nranks = p->run->nranks;
    v->of = array_new(p->ncosts, sizeof *v->of);
    c.list = array_new(2 * nranks, sizeof *c.list);
    c.counts = array_new(2 * nranks * c.k, sizeof *c.counts);
    c.latest = array_new(nranks, sizeof *c.latest);
    for (size_t i = 0; i < 2 * nranks; i++)
        c.list[i].count = c.counts + i * c.k;
    for (size_t r = 0; r < nranks; r++)
        c.latest[r] = STEP_NONE;
    for (size_t i = 0; i < p->ncosts; i++) {
        const struct program_cost *cost = &p->costs[i];
        uint32_t k;
        if (cost->op != PROGRAM_NONE)
            c.latest[cost->rank] = v->steps->ranks[cost->rank].of[cost->op];
        k = c.latest[cost->rank];
        v->of[i] = (struct jitter_slot){JITTER_NONE, k};
        if (k < c.k)
            v->of[i].slot = counter_of(&c, &p->costs[i])->count[k]++;
    }
    for (size_t i = 0; i < 2 * nranks; i++) {
        c.list[i].usual = usual_count(&c.list[i], c.k);
        c.list[i].first = v->nslots;
        v->nslots += c.list[i].usual;
    }
    for (size_t i = 0; i < p->ncosts; i++) {
        const struct counter *at = counter_of(&c, &p->costs[i]);
        if (v->of[i].slot == JITTER_NONE)
            continue;
        v->of[i].slot =
            at->count[v->of[i].iteration] == at->usual ? at->first + v->of[i].slot : JITTER_NONE;
    }
    free(c.list);
    free(c.counts);
    free(c.latest);
}

#define HALF_DIFFERENCE 0.953872552 /* median |a - b| of two normals, in standard deviations */
#define MEDIAN_VARIANCE (3.14159265358979 / 2) /* of a median, x variance / n */

/* ---- weighted medians ---- */

struct weighed {
    double value, weight;
};

struct weighed_sample {
    struct weighed *list; /* owned */
    size_t n, cap;
};

static void add(struct weighed_sample *s, double value, double weight)
{
    if (isnan(value))
        return;
    ARRAY_GROW(s->list, s->cap, s->n + 1);
    s->list[s->n++] = (struct weighed){value, weight};
}

static int by_value(const void *pa, const void *pb)
{
    const struct weighed *a = pa, *b = pb;
    return ORDER(a->value, b->value);
}

/* Empties the sample; 0 for an empty one. */
static double median(struct weighed_sample *s)
{
    double all = 0, sum = 0, value = 0;
    if (s->n > 0)
        qsort(s->list, s->n, sizeof *s->list, by_value);
    for (size_t i = 0; i < s->n; i++)
        all += s->list[i].weight;
    for (size_t i = 0; i < s->n; i++) {
        sum += s->list[i].weight;
        value = s->list[i].value;
        if (sum > all / 2)
            break;
        if (sum == all / 2 && i + 1 < s->n) {
            value = (value + s->list[i + 1].value) / 2;
            break;
        }
    }
    s->n = 0;
    return value;
}

/* ---- times by slot and iteration ---- */

struct times {
    size_t nslots, nranks;
    uint32_t k;
    double *log;       /* [nslots][k] of what is left of it; NaN: not there */
    double *level;     /* [nslots] median over warm iterations */
    uint32_t *rank;    /* [nslots] */
    bool *is_transfer; /* [nslots] */
    uint64_t *what;    /* [nslots] equal for the same operation on several ranks */
    double *common;    /* [k] */
    double *step;      /* [nranks][k] */
    size_t *first;     /* [nranks + 1] a rank's slots: computation, then transfers */
    double *count;     /* [nranks] slots of computation, as many as if all took as long */
    struct weighed_sample sample;
};

static uint64_t what_of(const struct whatif *from, const struct program_cost *cost)
{
    const struct op *op;
    if (cost->op == PROGRAM_NONE)
        return 1;
    op = &from->program->run->ranks[cost->rank].ops[cost->op];
    if (op->class == OP_GEMM)
        return random_key(random_key(random_key(op->class, op->gemm.m), op->gemm.n), op->gemm.k);
    return random_key(op->class, (uintptr_t)op->name); /* interned */
}

static void times_init(struct times *t, const struct whatif *from)
{
    size_t n = from->nslots, nranks = from->program->run->nranks;
    const struct program *p = from->program;
    *t = (struct times){.nslots = n, .nranks = nranks, .k = from->steps->count};
    t->log = array_new(n * t->k, sizeof *t->log);
    t->level = array_new(n, sizeof *t->level);
    t->rank = array_new(n, sizeof *t->rank);
    t->is_transfer = array_new(n, sizeof *t->is_transfer);
    t->what = array_new(n, sizeof *t->what);
    t->common = array_new(t->k, sizeof *t->common);
    t->step = array_new(nranks * t->k, sizeof *t->step);
    t->count = array_new(nranks, sizeof *t->count);
    t->first = array_new(nranks + 1, sizeof *t->first);
    for (size_t i = 0; i < n * t->k; i++)
        t->log[i] = NAN;
    for (size_t i = 0; i < p->ncosts; i++) {
        struct jitter_slot at = from->of[i];
        if (at.slot == JITTER_NONE)
            continue;
        t->rank[at.slot] = p->costs[i].rank;
        t->is_transfer[at.slot] = p->costs[i].match != PROGRAM_NONE;
        t->what[at.slot] = what_of(from, &p->costs[i]);
        if (p->costs[i].measured_ns > 0)
            t->log[(size_t)at.slot * t->k + at.iteration] = log((double)p->costs[i].measured_ns);
    }
    for (size_t s = 0; s < n; s++)
        t->first[t->rank[s] + 1] = s + 1;
    for (size_t r = 0; r < nranks; r++)
        t->first[r + 1] = t->first[r + 1] > t->first[r] ? t->first[r + 1] : t->first[r];
}

static double weight(const struct times *t, size_t slot)
{
    return exp(t->level[slot]);
}

/* Takes the level of each slot out. */
static void take_levels(struct times *t)
{
    for (size_t s = 0; s < t->nslots; s++) {
        double *log = t->log + s * t->k;
        for (uint32_t k = 1; k < t->k; k++)
            add(&t->sample, log[k], 1);
        if (t->sample.n == 0)
            t->level[s] = NAN;
        else
            t->level[s] = median(&t->sample);
        for (uint32_t k = 0; k < t->k; k++)
            log[k] -= t->level[s];
    }
}

/* The computation of one rank, or (SIZE_MAX) of all ranks, in an iteration. */
static double middle(struct times *t, size_t rank, uint32_t k)
{
    for (size_t s = 0; s < t->nslots; s++) {
        if (!t->is_transfer[s] && (rank == SIZE_MAX || t->rank[s] == rank))
            add(&t->sample, t->log[s * t->k + k], weight(t, s));
    }
    return median(&t->sample);
}

static void count_slots(struct times *t)
{
    double *sum = array_new(2 * t->nranks, sizeof *sum);
    for (size_t s = 0; s < t->nslots; s++) {
        if (t->is_transfer[s] || isnan(t->level[s]))
            continue;
        sum[2 * t->rank[s]] += weight(t, s);
        sum[2 * t->rank[s] + 1] += weight(t, s) * weight(t, s);
    }
    for (size_t r = 0; r < t->nranks; r++)
        t->count[r] = sum[2 * r + 1] > 0 ? sum[2 * r] * sum[2 * r] / sum[2 * r + 1] : 0;
    free(sum);
}

static void rank_slots(const struct times *t, size_t rank, size_t *first, size_t *end)
{
    *first = t->first[rank];
    *end = t->first[rank + 1];
}

/* Takes out what all ranks, then what each rank has in common in an iteration. Of a single rank the
 * two cannot be told apart: it is the rank's. */
static void take_common(struct times *t)
{
    for (uint32_t k = 1; k < t->k && t->nranks > 1; k++)
        t->common[k] = middle(t, SIZE_MAX, k);
    for (size_t s = 0; s < t->nslots; s++) {
        for (uint32_t k = 1; k < t->k && !t->is_transfer[s]; k++)
            t->log[s * t->k + k] -= t->common[k];
    }
    for (size_t r = 0, first, end; r < t->nranks; r++) {
        rank_slots(t, r, &first, &end);
        for (uint32_t k = 1; k < t->k; k++) {
            for (size_t s = first; s < end; s++) {
                if (!t->is_transfer[s])
                    add(&t->sample, t->log[s * t->k + k], weight(t, s));
            }
            t->step[r * t->k + k] = median(&t->sample);
            for (size_t s = first; s < end; s++) {
                if (!t->is_transfer[s])
                    t->log[s * t->k + k] -= t->step[r * t->k + k];
            }
        }
    }
}

/* ---- what is learned ---- */

static void add_differences(struct times *t, const double *series, double how_much)
{
    for (uint32_t k = 2; k < t->k; k++)
        add(&t->sample, fabs(series[k] - series[k - 1]), how_much);
}

static double deviation(struct times *t)
{
    return median(&t->sample) / HALF_DIFFERENCE;
}

static double of_slots(struct times *t, bool transfers)
{
    for (size_t s = 0; s < t->nslots; s++) {
        if (t->is_transfer[s] == transfers && !isnan(t->level[s]))
            add_differences(t, t->log + s * t->k, weight(t, s));
    }
    return deviation(t);
}

/* Returns the rest of a variance without the parts of other causes. */
static double without(double total, double others)
{
    return total * total > others ? sqrt(total * total - others) : 0;
}

/* Mean over ranks of 1 / slots. */
static double per_slot(const struct times *t)
{
    double sum = 0;
    int n = 0;
    for (size_t r = 0; r < t->nranks; r++) {
        sum += t->count[r] > 0 ? 1 / t->count[r] : 0;
        n += t->count[r] > 0;
    }
    return n > 0 ? sum / n : 0;
}

static void learn_steps(struct times *t, struct jitter *v)
{
    double own = MEDIAN_VARIANCE * v->work * v->work * per_slot(t), n = 0;
    for (size_t r = 0; r < t->nranks; r++) {
        n += t->count[r] > 0;
        if (t->count[r] > 0)
            add_differences(t, t->step + r * t->k, 1);
    }
    v->step = without(deviation(t), own);
    if (n < 2)
        return;
    v->step /= sqrt(1 - 1 / n); /* part of it went into what all have in common */
    add_differences(t, t->common, 1);
    v->iteration = without(deviation(t), (MEDIAN_VARIANCE * v->step * v->step + own) / n);
}

static bool alike(const struct times *t, size_t a, size_t b)
{
    size_t fa, ea, fb, eb;
    rank_slots(t, a, &fa, &ea);
    rank_slots(t, b, &fb, &eb);
    while (fa < ea && t->is_transfer[fa]) /* a transfer is noted at one of its ranks only */
        fa++;
    if (fa == ea || t->count[a] <= 0)
        return false;
    for (;; fa++, fb++) {
        bool end_a = fa == ea || t->is_transfer[fa], end_b = fb == eb || t->is_transfer[fb];
        if (end_a || end_b)
            return end_a && end_b;
        if (t->what[fa] != t->what[fb])
            return false;
    }
}

/* Returns by how much rank b is slower than a. */
static double slower_by(struct times *t, size_t a, size_t b)
{
    size_t fa, ea, fb, eb;
    rank_slots(t, a, &fa, &ea);
    rank_slots(t, b, &fb, &eb);
    for (; fa < ea && fb < eb && !t->is_transfer[fa] && !t->is_transfer[fb]; fa++, fb++)
        add(&t->sample, t->level[fb] - t->level[fa], weight(t, fa));
    return median(&t->sample);
}

/* Differences between each rank and the next one that is like it, around: n of n ranks. */
static void learn_ranks(struct times *t, struct jitter *v)
{
    struct weighed_sample differences = {0};
    double noise, n = t->k - 1;
    bool *seen = array_new(t->nranks, sizeof *seen);
    for (size_t r = 0; r < t->nranks; r++) {
        uint32_t same = 1;
        size_t last = r;
        for (size_t q = r + 1; q < t->nranks && !seen[r]; q++) {
            if (seen[q] || !alike(t, r, q))
                continue;
            seen[q] = true;
            same++;
            add(&differences, fabs(slower_by(t, last, q)), 1);
            last = q;
        }
        if (same > 2)
            add(&differences, fabs(slower_by(t, last, r)), 1);
        v->alike = same > v->alike ? same : v->alike;
    }
    noise =
        MEDIAN_VARIANCE * (v->step * v->step + MEDIAN_VARIANCE * v->work * v->work * per_slot(t));
    v->rank = without(median(&differences) / HALF_DIFFERENCE, noise / n);
    free(differences.list);
    free(seen);
}

/* ---- hosts ---- */

/* Returns whether the host waited between two moments. Sync calls are in order. */
static bool waited(const struct rank *rank, size_t *sync, int64_t from_ns, int64_t to_ns)
{
    bool found = false;
    while (*sync < rank->nsync_calls && rank->sync_calls[*sync].host_ns < to_ns) {
        const struct sync_call *a = &rank->sync_calls[(*sync)++];
        found = found || (a->host_ns >= from_ns && a->kind >= SYNC_CALL_STREAM);
    }
    return found;
}

/* CPU time of a rank by iteration: its calls, and what lies between two calls of one thread without
 * a wait. */
static void cpu_times(const struct whatif *from, size_t r, double *cpu_ns)
{
    const struct rank *rank = &from->program->run->ranks[r];
    const struct program_rank *place = &from->program->ranks[r];
    const struct op *before = NULL;
    size_t sync = 0;
    for (size_t i = 0; i < place->nissued; i++) {
        const struct op *op = &rank->ops[place->issue[i]];
        uint32_t k = from->steps->ranks[r].of[place->issue[i]];
        bool timed = op->host_ns != UNKNOWN_NS && op->host_end_ns != UNKNOWN_NS;
        bool waits =
            timed && before != NULL && waited(rank, &sync, before->host_end_ns, op->host_ns);
        if (timed && k < from->steps->count && op->class != OP_MEMORY &&
            op->timing != SPECTER_TIMING_SYNC) {
            cpu_ns[k] += (double)(op->host_end_ns - op->host_ns);
            if (before != NULL && !waits && before->tid == op->tid &&
                op->host_ns > before->host_end_ns)
                cpu_ns[k] += (double)(op->host_ns - before->host_end_ns);
        }
        if (timed)
            before = op;
    }
}

static void learn_hosts(struct times *t, const struct whatif *from, struct jitter *v)
{
    double *cpu = array_new(t->k, sizeof *cpu);
    for (size_t r = 0; r < t->nranks; r++) {
        memset(cpu, 0, t->k * sizeof *cpu);
        cpu_times(from, r, cpu);
        for (uint32_t k = 0; k < t->k; k++)
            cpu[k] = cpu[k] > 0 ? log(cpu[k]) : NAN;
        add_differences(t, cpu, 1);
    }
    v->host = deviation(t);
    free(cpu);
}

void jitter_learn(struct whatif *v)
{
    struct jitter *out = &v->variation;
    struct times t;
    *out = (struct jitter){.iterations = v->steps->count};
    jitter_assign_slots(v);
    if (v->opts.jitter == JITTER_GIVEN)
        out->work = v->opts.cv;
    if (v->opts.jitter == JITTER_GIVEN || out->iterations < JITTER_STEPS_MIN)
        return;
    times_init(&t, v);
    take_levels(&t);
    count_slots(&t);
    take_common(&t);
    out->work = of_slots(&t, false);
    out->transfer = of_slots(&t, true);
    learn_steps(&t, out);
    learn_ranks(&t, out);
    learn_hosts(&t, v, out);
    free(t.log);
    free(t.level);
    free(t.rank);
    free(t.is_transfer);
    free(t.what);
    free(t.common);
    free(t.step);
    free(t.count);
    free(t.first);
    free(t.sample.list);
}
