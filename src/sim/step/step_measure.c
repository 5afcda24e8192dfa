/* SPDX-License-Identifier: MIT */
#include "sim/step/step_measure.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/order.h"
#include "trace/activity.h"
#include "trace/run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the kinds of a window ---- */

struct step_parts {
    int64_t start_ns, end_ns;
    struct intervals sets[SLICE_KINDS];
};

struct slice_times {
    int64_t all_ns[SLICE_KINDS];   /* length of each kind, whatever else goes on */
    int64_t shown_ns[SLICE_KINDS]; /* of it, what no kind before it covers */
    int64_t comm_ns;               /* of TRANSFER, both waits and BUBBLE together */
    int64_t rest_ns;               /* of the window, what no kind covers */
};

/* into: becomes the union of both. */
static void unite(struct intervals *into, const struct intervals *more)
{
    struct intervals both;
    intervals_init(&both);
    intervals_union(&both, into, more);
    intervals_release(into);
    *into = both;
}

static void step_parts_measure(struct step_parts *s, struct slice_times *out)
{
    struct intervals covered, comm;
    int64_t before_ns = 0;
    intervals_init(&covered);
    for (int k = 0; k < SLICE_KINDS; k++) {
        intervals_merge(&s->sets[k]);
        unite(&covered, &s->sets[k]);
        out->all_ns[k] = intervals_length(&s->sets[k]);
        out->shown_ns[k] = intervals_length(&covered) - before_ns;
        before_ns += out->shown_ns[k];
    }
    intervals_release(&covered);
    intervals_init(&comm);
    unite(&comm, &s->sets[SLICE_TRANSFER]);
    unite(&comm, &s->sets[SLICE_MEMBER_WAIT]);
    unite(&comm, &s->sets[SLICE_ABSENT_WAIT]);
    unite(&comm, &s->sets[SLICE_BUBBLE]);
    out->comm_ns = intervals_length(&comm);
    intervals_release(&comm);
    out->rest_ns = s->end_ns - s->start_ns - before_ns;
}

/* ---- a step ---- */

int64_t iteration_end(const struct rank_steps *it, size_t nops, const struct rank_timeline *when,
                      uint32_t step)
{
    int64_t end_ns = UNKNOWN_NS;
    for (size_t i = 0; i < nops; i++) {
        if (when->spans[i].start_ns != UNKNOWN_NS && it->ends[i] && it->of[i] == step &&
            when->spans[i].end_ns > end_ns)
            end_ns = when->spans[i].end_ns;
    }
    return end_ns;
}

void iteration_bounds(struct step_bounds *list, const struct rank_steps *it, size_t nops,
                      const struct rank_timeline *when)
{
    for (size_t p = 0; p < it->nparts; p++)
        list[p] = (struct step_bounds){when->begin_ns, when->end_ns, UNKNOWN_NS,
                                       UNKNOWN_NS,     UNKNOWN_NS,   UNKNOWN_NS};
    for (size_t i = 0; i < nops; i++) {
        int64_t end_ns = when->spans[i].end_ns;
        if (when->launched != NULL)
            step_bounds_add_call(list, it, i, when->launched[i]);
        if (when->spans[i].start_ns == UNKNOWN_NS || !it->ends[i] || it->of[i] == STEP_NONE)
            continue;
        for (size_t p = 0; p < it->nparts; p++) {
            if (it->of[i] <= it->parts[p].last && end_ns > list[p].last_ns)
                list[p].last_ns = end_ns;
            if (it->of[i] <= it->parts[p].before && end_ns > list[p].before_ns)
                list[p].before_ns = end_ns;
        }
    }
}

static enum slice_kind slice_of(const struct op *op, const struct movement *move)
{
    switch (activity_kind_of(op)) {
    case ACTIVITY_COMM:
        if (move == NULL || move->moved.start_ns == UNKNOWN_NS)
            return SLICE_TRANSFER;
        if (move->absent)
            return SLICE_ABSENT_WAIT;
        return move->pipeline ? SLICE_BUBBLE : SLICE_MEMBER_WAIT;
    case ACTIVITY_MEMORY:
        return SLICE_MEMORY;
    default:
        return SLICE_COMPUTE;
    }
}

static void add(struct step_parts *slices, const struct step_window *w, enum slice_kind kind,
                struct sim_span span)
{
    int64_t start_ns = step_window_at(w, span.start_ns);
    int64_t end_ns = step_window_at(w, span.end_ns);
    intervals_add(&slices->sets[kind], start_ns > slices->start_ns ? start_ns : slices->start_ns,
                  end_ns < slices->end_ns ? end_ns : slices->end_ns);
}

/* Waiting communication is all that does not move data: what moves it counts before what waits. */
static void collect(struct step_parts *slices, const struct step_window *w, const struct rank *rank,
                    const struct rank_timeline *when)
{
    for (size_t i = 0; i < rank->nops; i++) {
        struct sim_span span = when->spans[i];
        const struct movement *move = when->moves != NULL ? &when->moves[i] : NULL;
        if (span.start_ns == UNKNOWN_NS)
            continue;
        add(slices, w, slice_of(&rank->ops[i], move), span);
        if (move != NULL && move->moved.start_ns != UNKNOWN_NS)
            add(slices, w, SLICE_TRANSFER, move->moved);
    }
    for (size_t i = 0; i < when->nbeside; i++)
        add(slices, w, when->beside[i].kind, when->beside[i].when);
}

void iteration_measure(struct iteration_time *out, const struct step_window *window,
                       const struct rank *rank, const struct rank_timeline *when)
{
    struct step_parts slices;
    struct slice_times t;
    const int64_t *shown = t.shown_ns;
    const double n = window->steps;
    memset(out, 0, sizeof *out);
    if (window->steps == 0)
        return;
    slices.start_ns = 0;
    slices.end_ns = step_window_ns(window);
    for (int k = 0; k < SLICE_KINDS; k++)
        intervals_init(&slices.sets[k]);
    collect(&slices, window, rank, when);
    step_parts_measure(&slices, &t);
    for (int k = 0; k < SLICE_KINDS; k++)
        intervals_release(&slices.sets[k]);
    out->span_ns = step_window_mean(window);
    out->compute_ns = (double)shown[SLICE_COMPUTE] / n;
    out->untraced_ns = (double)shown[SLICE_UNTRACED] / n;
    out->comm_ns = (double)t.comm_ns / n;
    out->exposed_comm_ns = (double)(shown[SLICE_TRANSFER] + shown[SLICE_MEMBER_WAIT]) / n;
    out->comm_wait_ns = (double)shown[SLICE_MEMBER_WAIT] / n;
    out->absent_wait_ns = (double)shown[SLICE_ABSENT_WAIT] / n;
    out->memory_ns = (double)t.all_ns[SLICE_MEMORY] / n;
    out->exposed_memory_ns = (double)shown[SLICE_MEMORY] / n;
    out->host_bound_ns = (double)shown[SLICE_HOST_BOUND] / n;
    out->stream_wait_ns = (double)shown[SLICE_STREAM_WAIT] / n;
    out->bubble_ns = (double)shown[SLICE_BUBBLE] / n;
    out->other_idle_ns = (double)t.rest_ns / n;
    out->idle_ns = (double)(shown[SLICE_HOST_BOUND] + shown[SLICE_STREAM_WAIT] +
                            shown[SLICE_BUBBLE] + t.rest_ns) /
                   window->steps;
}

void iteration_add(struct iteration_time *out, const struct iteration_time *one, double factor)
{
    static const size_t fields = sizeof *out / sizeof(double);
    double *sum = (double *)out;
    const double *term = (const double *)one;
    for (size_t i = 0; i < fields; i++)
        sum[i] += term[i] * factor;
}

/* ---- how much steps differ ---- */

/* The value that `share` of the n sorted ones do not exceed. */
static double quantile(const double *sorted, size_t n, double share)
{
    size_t rank = (size_t)ceil(share * (double)n);
    return sorted[rank > 0 ? rank - 1 : 0];
}

#define SIGMAS_OF_80 1.28 /* of a normal distribution, to either side */

static double mean_off(const double *lengths, size_t n, double mean)
{
    double squares = 0;
    for (size_t i = 0; i < n; i++)
        squares += (lengths[i] - mean) * (lengths[i] - mean);
    return n > 1 ? SIGMAS_OF_80 * sqrt(squares / (double)(n - 1) / (double)n) : 0;
}

void spread_measure(struct iteration_spread *out, const struct job_steps *steps,
                    const struct step_time *time)
{
    double *lengths = array_new(steps->count, sizeof *lengths);
    size_t n = 0;
    memset(out, 0, sizeof *out);
    for (uint32_t k = 1; k < steps->count; k++) {
        if (step_counts(steps, k) && time->ends_ns[k - 1] != UNKNOWN_NS)
            lengths[n++] = (double)(time->ends_ns[k] - time->ends_ns[k - 1]);
    }
    if (n > 0) {
        double sum = 0;
        qsort(lengths, n, sizeof *lengths, order_doubles);
        for (size_t i = 0; i < n; i++)
            sum += lengths[i];
        *out = (struct iteration_spread){.count = n,
                                         .mean_ns = sum / (double)n,
                                         .median_ns = (lengths[(n - 1) / 2] + lengths[n / 2]) / 2,
                                         .min_ns = lengths[0],
                                         .max_ns = lengths[n - 1],
                                         .mean_off_ns = mean_off(lengths, n, sum / (double)n),
                                         .p5_ns = n < 20 ? lengths[0] : quantile(lengths, n, 0.05),
                                         .p95_ns =
                                             n < 20 ? lengths[n - 1] : quantile(lengths, n, 0.95)};
    }
    free(lengths);
}

/* ---- waits in collectives ---- */

/* The time of one member in a collective. */
struct spent {
    int64_t recorded_ns, replayed_ns;
};

static bool spent_by(const struct program *p, struct match_member m, struct spent *out)
{
    const struct op *op = &p->run->ranks[m.rank].ops[m.op];
    struct sim_span span = program_span(p, m.rank, m.op);
    if (!op_timed(op) || span.end_ns < 0)
        return false;
    *out = (struct spent){op->dur_ns, span.end_ns - span.start_ns};
    return true;
}

static int64_t less(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Finds the shortest time of a member; false where one was not recorded. */
static bool least(const struct program *p, const struct match *match, struct spent *out)
{
    struct spent one;
    if (match->nmembers < 2 || match->nmembers != match->expected ||
        specter_comm_op_is_p2p((enum specter_comm_op)match->op))
        return false;
    *out = (struct spent){INT64_MAX, INT64_MAX};
    for (uint32_t i = 0; i < match->nmembers; i++) {
        if (!spent_by(p, p->matches.members[match->first + i], &one))
            return false;
        out->recorded_ns = less(out->recorded_ns, one.recorded_ns);
        out->replayed_ns = less(out->replayed_ns, one.replayed_ns);
    }
    return true;
}

/* Waits of all members together. With `ranks` they are added to each one's. */
static struct rank_waits sum(const struct program *p, const struct match *match, struct spent base,
                             struct rank_waits *ranks)
{
    struct rank_waits all = {0, 0};
    struct spent one;
    for (uint32_t i = 0; i < match->nmembers; i++) {
        struct match_member m = p->matches.members[match->first + i];
        spent_by(p, m, &one);
        all.recorded_ns += (double)(one.recorded_ns - base.recorded_ns);
        all.replayed_ns += (double)(one.replayed_ns - base.replayed_ns);
        if (ranks == NULL)
            continue;
        ranks[m.rank].recorded_ns += (double)(one.recorded_ns - base.recorded_ns);
        ranks[m.rank].replayed_ns += (double)(one.replayed_ns - base.replayed_ns);
    }
    return all;
}

void waits_compare(struct waits *out, struct rank_waits *ranks, const struct program *p)
{
    double *off = array_new(p->matches.count, sizeof *off);
    *out = (struct waits){0};
    memset(ranks, 0, p->run->nranks * sizeof *ranks);
    for (size_t i = 0; i < p->matches.count; i++) {
        const struct match *match = &p->matches.list[i];
        struct rank_waits all;
        struct spent base;
        if (!least(p, match, &base))
            continue;
        all = sum(p, match, base, NULL);
        if (all.recorded_ns < (double)WAITS_LEAST_NS * match->nmembers)
            continue;
        sum(p, match, base, ranks);
        out->recorded_ns += all.recorded_ns;
        out->replayed_ns += all.replayed_ns;
        off[out->collectives++] = fabs(all.replayed_ns / all.recorded_ns - 1);
    }
    qsort(off, out->collectives, sizeof *off, order_doubles);
    out->median_off = out->collectives == 0
                          ? 0
                          : (off[(out->collectives - 1) / 2] + off[out->collectives / 2]) / 2;
    free(off);
}
