/* SPDX-License-Identifier: MIT
 *
 * The time in which stages of a pipeline do nothing, stage by stage (pipeline.h).
 */
#include "analysis/pipeline.h"

#include "analysis/comm.h"
#include "analysis/time_breakdown.h"
#include "base/interval.h"
#include "trace/activity.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* When one rank does what, over the whole trace; all sets merged. */
struct rank_sets {
    struct intervals compute;
    struct intervals busy;    /* compute, copies, transfer of communication but for messages */
    struct intervals full;    /* busy, and the transfer of messages */
    struct intervals running; /* any operation, waiting or not */
};

/* One rank in one step: its own work, and its messages. */
struct stage_span {
    int64_t first, last;                 /* of any work; first > last: none */
    int64_t first_message, last_message; /* where its warm-up ends, and where its drain begins */
    int64_t begun;                       /* start of the first message; INT64_MAX: there is none */
};

struct bubble_builder {
    struct bubbles *b;
    const struct run *run;
    const struct matches *matches;
    uint32_t **match_of;      /* owned [nranks][nops]: index plus 1; 0 none */
    struct stage_span **span; /* owned [nranks][steps]; NULL: in no pipeline */
};

double bubble_ideal(int stages, int parts, double micro)
{
    return (stages - 1) / (parts * micro + stages - 1);
}

/* ---- when data move ---- */

/* Cuts [*from, *to) of an operation to the time in which data move: all members with a trace are in
 * it then. */
static void find_moving(const struct bubble_builder *m, uint32_t r, const struct op *op,
                        const struct match *match, int64_t *from, int64_t *to)
{
    int64_t start, end;
    if (match->op != SPECTER_SEND) {
        *from = match->transfer_ns != UNKNOWN_NS && *to - match->transfer_ns > *from
                    ? *to - match->transfer_ns
                    : *from;
        return;
    }
    for (uint32_t k = 0; k < match->nmembers; k++) {
        const struct match_member *member = &m->matches->members[match->first + k];
        const struct op *other = &m->run->ranks[member->rank].ops[member->op];
        if (other == op || !op_device_time(other, &start, &end))
            continue;
        if (!ranks_comparable(m->run, r, member->rank)) {
            *from = end - start < *to - *from ? *to - (end - start) : *from;
            continue;
        }
        *from = start > *from ? start : *from;
        *to = end < *to ? end : *to;
    }
}

static bool has_both_times(const struct bubble_builder *m, const struct match *match)
{
    int64_t start, end;
    uint32_t timed = 0;
    for (uint32_t k = 0; k < match->nmembers; k++) {
        const struct match_member *member = &m->matches->members[match->first + k];
        timed += op_device_time(&m->run->ranks[member->rank].ops[member->op], &start, &end);
    }
    return timed > 1;
}

static void add_comm(struct bubble_builder *m, uint32_t r, uint32_t i, struct rank_sets *sets)
{
    const struct op *op = &m->run->ranks[r].ops[i];
    uint32_t at = m->match_of[r][i];
    const struct match *match = at > 0 ? &m->matches->list[at - 1] : NULL;
    bool message = stages_is_message(&m->b->stages, m->run, r, op);
    int64_t from = op->start_ns, to = op_end_ns(op);
    intervals_add(&sets->running, from, to);
    if (match != NULL)
        find_moving(m, r, op, match, &from, &to);
    if (message && (match == NULL || !has_both_times(m, match)))
        m->b->alone++;
    intervals_add(message ? &sets->full : &sets->busy, from, to);
}

static void sets_init(struct bubble_builder *m, uint32_t r, struct rank_sets *sets)
{
    const struct rank *rank = &m->run->ranks[r];
    struct intervals both;
    int64_t start, end;
    for (uint32_t i = 0; i < rank->nops; i++) {
        enum activity_kind kind = activity_kind_of(&rank->ops[i]);
        if (!op_device_time(&rank->ops[i], &start, &end))
            continue;
        if (kind == ACTIVITY_COMM && rank->ops[i].class != OP_GRAPH) {
            add_comm(m, r, i, sets);
            continue;
        }
        intervals_add(&sets->busy, start, end);
        intervals_add(&sets->running, start, end);
        if (kind == ACTIVITY_COMPUTE)
            intervals_add(&sets->compute, start, end);
    }
    intervals_merge(&sets->compute);
    intervals_merge(&sets->busy);
    intervals_merge(&sets->full);
    intervals_merge(&sets->running);
    intervals_init(&both);
    intervals_union(&both, &sets->busy, &sets->full);
    intervals_release(&sets->full);
    sets->full = both;
}

/* ---- windows ---- */

static void spans_init(struct bubble_builder *m, uint32_t r)
{
    const struct rank *rank = &m->run->ranks[r];
    size_t n = stage_steps(m->b->steps);
    struct stage_span *spans = array_new(n, sizeof *spans);
    int64_t start, end;
    for (size_t k = 0; k < n; k++)
        spans[k] = (struct stage_span){INT64_MAX, INT64_MIN, INT64_MIN, INT64_MIN, INT64_MAX};
    for (size_t i = 0; i < rank->nops; i++) {
        const struct op *op = &rank->ops[i];
        uint32_t k = stage_step_of(m->b->steps, r, i);
        if (k == STEP_NONE || !op_device_time(op, &start, &end))
            continue;
        spans[k].first = start < spans[k].first ? start : spans[k].first;
        spans[k].last = end > spans[k].last ? end : spans[k].last;
        if (!stages_is_message(&m->b->stages, m->run, r, op))
            continue;
        if (start < spans[k].begun) {
            spans[k].begun = start;
            /* The warm-up ends when the first message has come, or begins to leave. */
            spans[k].first_message = op->coll.op == SPECTER_RECV ? end : start;
        }
        spans[k].last_message = end > spans[k].last_message ? end : spans[k].last_message;
    }
    m->span[r] = spans;
}

/* Returns the length of s within [start, end). *at: where the last call with it began to look, so
 * that `start` must not go back from call to call. */
static int64_t length_within(const struct intervals *s, size_t *at, int64_t start, int64_t end)
{
    int64_t sum = 0;
    while (*at < s->count && s->list[*at].end <= start)
        ++*at;
    for (size_t i = *at; i < s->count && s->list[i].start < end; i++) {
        int64_t from = s->list[i].start > start ? s->list[i].start : start;
        int64_t to = s->list[i].end < end ? s->list[i].end : end;
        sum += to - from;
    }
    return sum;
}

static int64_t clamp(int64_t t, int64_t low, int64_t high)
{
    return t < low ? low : t > high ? high : t;
}

/* One rank's sets while its windows are gone through: the place of each sum in its set
 * (length_within()). */
struct window_cursor {
    const struct rank_sets *sets;
    size_t compute, busy, full, running, idle, early, late;
};

/* Adds one window of one rank, which has three parts: warm-up, steady, drain. */
static void add_window(struct bubble_times *t, struct window_cursor *at,
                       const struct stage_span *span, int64_t start, int64_t end)
{
    bool messages = span->begun != INT64_MAX, works = span->first <= span->last;
    int64_t warm = messages ? clamp(span->first_message, start, end) : start;
    int64_t drains = messages ? clamp(span->last_message, warm, end) : end;
    int64_t cuts[] = {start, warm, drains, end}, bubble[3];
    int64_t from = works ? clamp(span->first, start, end) : start;
    int64_t to = works ? clamp(span->last, from, end) : from;
    int64_t full, busy, compute, running, sum = 0;
    for (int i = 0; i < 3; i++) {
        full = length_within(&at->sets->full, &at->full, cuts[i], cuts[i + 1]);
        bubble[i] = cuts[i + 1] - cuts[i] - full;
        sum += bubble[i];
    }
    ns_sum_add(&t->passes_ns, length_within(&at->sets->busy, &at->early, start, drains) +
                                  length_within(&at->sets->compute, &at->late, drains, end));
    compute = length_within(&at->sets->compute, &at->compute, start, end);
    busy = length_within(&at->sets->busy, &at->busy, start, end);
    running = length_within(&at->sets->running, &at->running, start, end);
    ns_sum_add(&t->window_ns, end - start);
    ns_sum_add(&t->compute_ns, compute);
    ns_sum_add(&t->other_ns, busy - compute);
    ns_sum_add(&t->p2p_ns, end - start - sum - busy);
    ns_sum_add(&t->bubble_ns, sum);
    ns_sum_add(&t->warmup_ns, bubble[0]);
    ns_sum_add(&t->steady_ns, bubble[1]);
    ns_sum_add(&t->drain_ns, bubble[2]);
    ns_sum_add(&t->waiting_ns, running - (end - start - sum));
    ns_sum_add(&t->idle_ns, to - from - length_within(&at->sets->running, &at->idle, from, to));
}

/* Adds all windows of ranks that have the same ones: those of a pipeline, or a single rank where
 * their clocks do not agree. */
static void add_ranks(struct bubble_builder *m, const uint32_t *ranks, size_t n)
{
    struct bubbles *b = m->b;
    struct rank_sets *sets = array_new(n, sizeof *sets);
    struct window_cursor *at = array_new(n, sizeof *at);
    int64_t after = INT64_MIN;
    for (size_t i = 0; i < n; i++) {
        sets_init(m, ranks[i], &sets[i]);
        at[i].sets = &sets[i];
    }
    for (size_t k = 0; k < stage_steps(b->steps); k++) {
        int64_t start = INT64_MAX, end = INT64_MIN; /* of all ranks, after the window before */
        for (size_t i = 0; i < n; i++) {
            const struct stage_span *span = &m->span[ranks[i]][k];
            start = span->first < start ? span->first : start;
            end = span->last > end ? span->last : end;
        }
        start = start < after ? after : start;
        if (start >= end)
            continue;
        after = end;
        for (size_t i = 0; i < n; i++) {
            struct bubble_stage *stage = &b->list[b->stages.position[ranks[i]].stage];
            add_window(&stage->times, &at[i], &m->span[ranks[i]][k], start, end);
            stage->windows++;
        }
    }
    for (size_t i = 0; i < n; i++) {
        intervals_release(&sets[i].compute);
        intervals_release(&sets[i].busy);
        intervals_release(&sets[i].full);
        intervals_release(&sets[i].running);
    }
    free(sets);
    free(at);
}

static void add_chains(struct bubble_builder *m)
{
    struct bubbles *b = m->b;
    size_t p = (size_t)b->stages.count;
    uint32_t *ranks = array_new(p, sizeof *ranks);
    b->aligned = true;
    for (size_t c = 0; c < b->stages.nchains; c++) {
        bool aligned = true;
        size_t n = 0;
        for (size_t s = 0; s < p; s++) {
            int r = rank_index(m->run, b->stages.chains[c * p + s]);
            if (r >= 0)
                ranks[n++] = (uint32_t)r;
        }
        for (size_t i = 1; i < n; i++)
            aligned = aligned && ranks_comparable(m->run, ranks[0], ranks[i]);
        for (size_t i = 0; i < n && !aligned; i++)
            add_ranks(m, &ranks[i], 1);
        if (aligned && n > 0)
            add_ranks(m, ranks, n);
        b->aligned = b->aligned && aligned;
    }
    free(ranks);
}

/* ---- the causes ---- */

/* Divides the bubble by its causes. The mean of p stages that take u for a micro-batch waits (p -
 * 1) mean(u) for the schedule and (m - 1) (max(u) - mean(u)) for the slowest one: the makespan of a
 * flow shop is sum(u) + (m - 1) max(u). */
static void explain(struct bubbles *b)
{
    double mean = 0, most = 0, p = b->stages.count;
    const double passes_per_step = b->stages.micro * b->stages.parts;
    for (int s = 0; s < b->stages.count; s++) {
        const struct bubble_stage *stage = &b->list[s];
        double each;
        if (stage->windows == 0)
            return; /* a stage without trace may be the slowest */
        each = (double)stage->times.passes_ns / (double)stage->windows;
        mean += each / p;
        b->slowest = each > most ? s : b->slowest;
        most = each > most ? each : most;
    }
    b->imbalance = mean > 0 ? most / mean : NAN;
    if (isnan(b->ideal) || b->steps->source != STEPS_MARKED)
        return;
    b->schedule_ns = (p - 1) * mean / passes_per_step * (double)b->windows;
    b->uneven_ns = (passes_per_step - 1) * (most - mean) / passes_per_step * (double)b->windows;
    b->rest_ns = (double)b->total.bubble_ns - b->schedule_ns - b->uneven_ns;
}

static void builder_init(struct bubble_builder *m, struct bubbles *b, const struct run *run,
                         const struct matches *matches)
{
    *m = (struct bubble_builder){.b = b, .run = run, .matches = matches};
    m->match_of = array_new(m->run->nranks, sizeof *m->match_of);
    m->span = array_new(m->run->nranks, sizeof *m->span);
    for (size_t r = 0; r < m->run->nranks; r++)
        m->match_of[r] = array_new(m->run->ranks[r].nops + 1, sizeof **m->match_of);
    for (size_t i = 0; i < m->matches->count; i++) {
        const struct match *match = &m->matches->list[i];
        for (uint32_t k = 0; k < match->nmembers; k++) {
            const struct match_member *member = &m->matches->members[match->first + k];
            m->match_of[member->rank][member->op] = (uint32_t)i + 1;
        }
    }
}

static void builder_release(struct bubble_builder *m)
{
    for (size_t r = 0; r < m->run->nranks; r++) {
        free(m->match_of[r]);
        free(m->span[r]);
    }
    free(m->match_of);
    free(m->span);
}

void bubbles_init(struct bubbles *b, const struct run *run, const struct matches *matches,
                  const struct job_steps *steps)
{
    struct bubble_builder m;
    memset(b, 0, sizeof *b);
    b->ideal = b->imbalance = b->schedule_ns = b->uneven_ns = b->rest_ns = NAN;
    b->steps = steps;
    stages_find(&b->stages, run, steps);
    b->why = b->stages.why;
    if (b->why != NULL)
        return;
    b->list = array_new((size_t)b->stages.count, sizeof *b->list);
    for (int s = 0; s < b->stages.count; s++)
        b->list[s].ranks = b->stages.nchains;
    builder_init(&m, b, run, matches);
    for (uint32_t r = 0; r < run->nranks; r++) {
        if (b->stages.position[r].chain != STAGE_NOWHERE)
            spans_init(&m, r);
    }
    add_chains(&m);
    builder_release(&m);
    for (int s = 0; s < b->stages.count; s++) {
        const struct bubble_times *t = &b->list[s].times;
#define X(name) ns_sum_add(&b->total.name##_ns, t->name##_ns);
        BUBBLE_TIMES(X)
#undef X
        b->windows += b->list[s].windows;
    }
    if (b->windows == 0)
        b->why = "messages between stages have no device times";
    b->ideal = bubble_ideal(b->stages.count, b->stages.parts, b->stages.micro);
    explain(b);
}

void bubbles_release(struct bubbles *b)
{
    stages_release(&b->stages);
    free(b->list);
    memset(b, 0, sizeof *b);
}
