/* SPDX-License-Identifier: MIT */
#include "analysis/steps.h"

#include "analysis/comm.h"
#include "analysis/time_breakdown.h"
#include "base/arena.h"
#include "base/order.h"
#include "trace/activity.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- a rank ---- */

/* A set of times that tells at once how much of it lies before a moment. */
struct ruler {
    struct intervals set;
    int64_t *before; /* owned [set.count + 1]: length of all intervals in front of each */
};

/* Operations come by their starts, so that most touch the one before. */
static void add_time(struct intervals *set, int64_t start, int64_t end)
{
    struct interval *last = set->count > 0 ? &set->list[set->count - 1] : NULL;
    if (last == NULL || start < last->start || start > last->end)
        intervals_add(set, start, end);
    else if (end > last->end)
        last->end = end;
}

static int64_t length_before(const struct ruler *r, int64_t t_ns)
{
    struct bisect find = {.high = r->set.count};
    while (bisect_next(&find))
        bisect_take(&find, r->set.list[find.mid].end <= t_ns);
    if (find.low == r->set.count || r->set.list[find.low].start >= t_ns)
        return r->before[find.low];
    return r->before[find.low] + t_ns - r->set.list[find.low].start;
}

static int64_t length_in(const struct ruler *r, const struct step *step)
{
    return length_before(r, step->end_ns) - length_before(r, step->start_ns);
}

/* Compute; that and communication; everything. */
enum { RULER_COMPUTE, RULER_COMM, RULER_ALL, RULERS };

/* True when the rank has device times. */
static bool make_rulers(struct ruler rulers[RULERS], const struct rank *rank)
{
    static const int first[ACTIVITY_KINDS] = {[ACTIVITY_COMPUTE] = RULER_COMPUTE,
                                              [ACTIVITY_COMM] = RULER_COMM,
                                              [ACTIVITY_MEMORY] = RULER_ALL};
    int64_t start, end;
    bool timed = false;
    for (size_t i = 0; i < rank->nops; i++) {
        if (!op_device_time(&rank->ops[i], &start, &end))
            continue;
        timed = true;
        for (int k = first[activity_kind_of(&rank->ops[i])]; k < RULERS; k++)
            add_time(&rulers[k].set, start, end);
    }
    for (int k = 0; k < RULERS; k++) {
        struct ruler *r = &rulers[k];
        intervals_merge(&r->set);
        r->before = array_new(r->set.count + 1, sizeof *r->before);
        for (size_t i = 0; i < r->set.count; i++)
            r->before[i + 1] = r->before[i] + r->set.list[i].end - r->set.list[i].start;
    }
    return timed;
}

/* ---- over ranks ---- */

/* The rows of the job's steps come by their number, the others by name and occurrence. */
static struct step_row *row_of(struct steps *s, const struct step *step, uint32_t nth, uint32_t job,
                               int rank)
{
    uint32_t at = job != STEP_NONE ? name_index_add(&s->names, "", job)
                                   : name_index_add(&s->names, step->name, nth);
    if (at == s->count) {
        ARRAY_GROW(s->list, s->cap, s->count + 1);
        s->list[s->count++] = (struct step_row){.name = step->name,
                                                .nth = nth,
                                                .start_ns = step->start_ns,
                                                .min_ns = INT64_MAX,
                                                .max_ns = INT64_MIN,
                                                .device_max_ns = UNKNOWN_NS,
                                                .step = job,
                                                .job_ns = UNKNOWN_NS,
                                                .slowest = rank,
                                                .lightest = rank};
    }
    return &s->list[at];
}

/* State of adding one rank. */
struct step_collector {
    struct ruler rulers[RULERS];
    bool timed;
    struct name_index seen; /* how often each name was there: rows of `times` */
    uint32_t *times;
    size_t cap_times;
    struct sample host, device;
};

static void add_step(struct steps *s, struct step_collector *a, const struct rank *rank,
                     const struct step *step, uint32_t job, int64_t device_ns)
{
    uint32_t at = name_index_add(&a->seen, step->name, 0);
    int64_t ns = step->end_ns - step->start_ns;
    struct step_row *row;
    ARRAY_GROW(a->times, a->cap_times, (size_t)at + 1);
    row = row_of(s, step, a->times[at]++, job, rank->rank);
    row->ranks++;
    row->sum_ns += (double)ns;
    row->start_ns = step->start_ns < row->start_ns ? step->start_ns : row->start_ns;
    if (ns > row->max_ns) {
        row->max_ns = ns;
        row->slowest = rank->rank;
    }
    if (ns < row->min_ns) {
        row->min_ns = ns;
        row->lightest = rank->rank;
    }
    sample_add(&a->host, ns);
    if (a->timed) {
        int64_t compute = length_in(&a->rulers[RULER_COMPUTE], step);
        int64_t comm = length_in(&a->rulers[RULER_COMM], step);
        int64_t all = length_in(&a->rulers[RULER_ALL], step);
        row->timed++;
        row->compute_ns += (double)compute;
        row->exposed_comm_ns += (double)(comm - compute);
        row->exposed_memory_ns += (double)(all - comm);
        row->idle_ns += (double)(ns - all);
    }
    if (device_ns == UNKNOWN_NS)
        return;
    row->ended++;
    row->device_sum_ns += (double)device_ns;
    row->device_max_ns = device_ns > row->device_max_ns ? device_ns : row->device_max_ns;
    sample_add(&a->device, device_ns);
}

void steps_add_rank(struct steps *s, const struct run *run, size_t r, const struct job_steps *job)
{
    const struct rank *rank = &run->ranks[r];
    struct step_collector a = {0};
    struct step_rank *result;
    int64_t *ends;
    if (rank->nsteps == 0)
        return;
    a.timed = make_rulers(a.rulers, rank);
    ends = rank_step_ends(job, run, r);
    for (size_t i = 0; i < rank->nsteps; i++) {
        const struct step *step = &rank->steps[i];
        uint32_t k = job->source == STEPS_MARKED && step_believable(step)
                         ? job_steps_at(job, r, step->start_ns)
                         : STEP_NONE;
        bool both =
            k != STEP_NONE && step_has_length(job, k) && ends[k - 1] != UNKNOWN_NS && !job->untimed;
        if (step_believable(step))
            add_step(s, &a, rank, step, k, both ? ends[k] - ends[k - 1] : UNKNOWN_NS);
    }
    ARRAY_GROW(s->ranks, s->cap_ranks, s->nranks + 1);
    result = &s->ranks[s->nranks++];
    *result = (struct step_rank){.rank = rank, .steps = a.host.count};
    sample_measure(&a.host, &result->host);
    sample_measure(&a.device, &result->device);
    free(ends);
    for (int k = 0; k < RULERS; k++) {
        intervals_release(&a.rulers[k].set);
        free(a.rulers[k].before);
    }
    name_index_release(&a.seen);
    free(a.times);
    sample_release(&a.host);
    sample_release(&a.device);
}

/* ---- the job ---- */

static int by_start(const void *x, const void *y)
{
    const struct step_row *a = x, *b = y;
    if (a->start_ns != b->start_ns)
        return ORDER(a->start_ns, b->start_ns);
    if (a->nth != b->nth)
        return ORDER(a->nth, b->nth);
    return strcmp(a->name, b->name);
}

/* Counts how often each rank was slowest; the ranks are in order. */
static void count_slowest(struct steps *s, const struct step_row *row)
{
    struct bisect find = {.high = s->nranks};
    if (row->ranks < 2 || row->max_ns == row->min_ns)
        return;
    while (bisect_next(&find))
        bisect_take(&find, s->ranks[find.mid].rank->rank < row->slowest);
    if (find.low < s->nranks && s->ranks[find.low].rank->rank == row->slowest)
        s->ranks[find.low].slowest++;
}

void steps_finish(struct steps *s, const struct run *run, const struct job_steps *job,
                  const struct step_time *time)
{
    struct sample steps = {0}, host = {0};
    bool several = time->window.several;
    if (s->count > 0 && run->clock_aligned)
        qsort(s->list, s->count, sizeof *s->list, by_start);
    for (size_t i = 0; i < s->count; i++) {
        struct step_row *row = &s->list[i];
        count_slowest(s, row);
        if (row->step == STEP_NONE)
            continue;
        row->counts = !several || step_counts(job, row->step);
        if (several && step_has_length(job, row->step) &&
            time->ends_ns[row->step - 1] != UNKNOWN_NS)
            row->job_ns = time->ends_ns[row->step] - time->ends_ns[row->step - 1];
    }
    for (uint32_t k = 1; several && k < job->count; k++) {
        if (step_counts(job, k) && time->ends_ns[k - 1] != UNKNOWN_NS)
            sample_add(&steps, time->ends_ns[k] - time->ends_ns[k - 1]);
    }
    if (!several && job->source != STEPS_WHOLE && time->window.steps > 0)
        sample_add(&steps, (int64_t)time->ns);
    s->job.steps = steps.count;
    s->job.warm_up = job->warm_up;
    s->job.first_ns = time->warm_up_ns;
    sample_measure(&steps, &s->job.of);
    s->host.first_ns = NAN;
    for (size_t i = 0; i < s->count; i++) { /* all, or those that count where the first warm up */
        if (s->list[i].counts || !job->warm_up)
            sample_add(&host, s->list[i].max_ns);
    }
    s->host.steps = host.count;
    sample_measure(&host, &s->host.of);
    sample_release(&host);
    sample_release(&steps);
    name_index_release(&s->names);
}

void steps_release(struct steps *s)
{
    free(s->list);
    free(s->ranks);
    name_index_release(&s->names);
    memset(s, 0, sizeof *s);
}

/* ---- ranks by steps ---- */

static void find_steps(struct step_grid *g, const struct job_steps *job)
{
    g->steps = array_new((size_t)job->count + 1, sizeof *g->steps);
    for (uint32_t k = 0; job->several && k < job->count; k++) {
        if (step_counts(job, k))
            g->steps[g->nsteps++] = k;
    }
    if (g->nsteps < 2)
        g->nsteps = 0;
}

static void measure_steps(struct step_grid *g, const struct run *run, const struct job_steps *job)
{
    g->step_ns = array_new(g->nranks * g->nsteps, sizeof *g->step_ns);
    for (size_t r = 0; r < g->nranks && g->nsteps > 0; r++) {
        int64_t *ends = rank_step_ends(job, run, r);
        for (size_t i = 0; i < g->nsteps; i++) {
            const uint32_t k = g->steps[i];
            const bool known = k > 0 && ends[k] != UNKNOWN_NS && ends[k - 1] != UNKNOWN_NS;
            g->step_ns[r * g->nsteps + i] = known ? (double)(ends[k] - ends[k - 1]) : NAN;
        }
        free(ends);
    }
}

/* A collective of which members can be compared. */
struct grid_collective {
    int64_t first_ns;
    size_t at; /* in study->list */
};

static int instances_by_start(const void *pa, const void *pb)
{
    const struct grid_collective *a = pa, *b = pb;
    return a->first_ns != b->first_ns ? ORDER(a->first_ns, b->first_ns) : ORDER(a->at, b->at);
}

static size_t column_of(const struct step_grid *g, uint32_t step)
{
    for (size_t i = 0; i < g->nsteps; i++) {
        if (g->steps[i] == step)
            return i;
    }
    return SIZE_MAX;
}

/* The match that an instance was made of: both lists are in the order of communicator and number.
 */
static const struct match *match_of(const struct comm_study *study, const struct comm_instance *in,
                                    size_t *from)
{
    const struct matches *m = &study->matches;
    for (; *from < m->count; ++*from) {
        const struct match *match = &m->list[*from];
        const struct match_member *first = &m->members[match->first];
        if (match->nmembers > 0 && first->rank == in->first.rank && first->op == in->first.op)
            return match;
    }
    return NULL;
}

/* While skews are added up. */
struct skew_work {
    struct step_grid *g;
    const struct comm_study *study;
    const struct job_steps *job;
    uint32_t *counts; /* owned: by cell */
};

/* Adds the lateness of each member to its rank's cell. Column: SIZE_MAX: by the member's step. */
static void add_skews(struct skew_work *w, const struct match *match, int64_t first_ns,
                      size_t column)
{
    struct step_grid *g = w->g;
    for (uint32_t k = 0; k < match->nmembers; k++) {
        const struct match_member *m = &w->study->matches.members[match->first + k];
        const struct op *op = &w->study->run->ranks[m->rank].ops[m->op];
        size_t at = column;
        if (at == SIZE_MAX)
            at = column_of(g, op_step(w->job, m->rank, m->op));
        if (at == SIZE_MAX || !op_timed(op) || op->start_ns == UNKNOWN_NS)
            continue;
        at += m->rank * g->nskews;
        g->skew_ns[at] += (double)(op->start_ns - first_ns);
        w->counts[at]++;
    }
}

/* Returns, by instance, its place among the collectives that can be compared, in the order of their
 * starts; SIZE_MAX: it is none of them. The caller frees the list. */
static size_t *order_collectives(const struct comm_study *study, size_t *count)
{
    struct grid_collective *list = array_new(study->count, sizeof *list);
    size_t *order = array_new(study->count, sizeof *order), n = 0;
    for (size_t i = 0; i < study->count; i++) {
        const struct comm_instance *in = &study->list[i];
        order[i] = SIZE_MAX;
        if (!in->p2p && in->matched && in->timing.first_start_ns != UNKNOWN_NS &&
            in->timing.last_start_ns != UNKNOWN_NS)
            list[n++] = (struct grid_collective){in->timing.first_start_ns, i};
    }
    if (n > 0)
        qsort(list, n, sizeof *list, instances_by_start);
    for (size_t i = 0; i < n; i++)
        order[list[i].at] = i;
    free(list);
    *count = n;
    return order;
}

static void measure_skews(struct step_grid *g, const struct comm_study *study,
                          const struct job_steps *job)
{
    struct skew_work w = {g, study, job, NULL};
    size_t n, from = 0, *order = order_collectives(study, &n);
    g->by_collective = g->nsteps == 0;
    g->nskews = n == 0 ? 0 : g->by_collective ? n : g->nsteps;
    g->skew_ns = array_new(g->nranks * g->nskews, sizeof *g->skew_ns);
    w.counts = array_new(g->nranks * g->nskews, sizeof *w.counts);
    for (size_t i = 0; i < study->count; i++) {
        const struct match *match;
        if (order[i] == SIZE_MAX)
            continue;
        match = match_of(study, &study->list[i], &from);
        if (match != NULL)
            add_skews(&w, match, study->list[i].timing.first_start_ns,
                      g->by_collective ? order[i] : SIZE_MAX);
    }
    for (size_t i = 0; i < g->nranks * g->nskews; i++)
        g->skew_ns[i] = w.counts[i] > 0 ? g->skew_ns[i] / w.counts[i] : NAN;
    free(w.counts);
    free(order);
}

void step_grid_init(struct step_grid *g, const struct comm_study *study,
                    const struct job_steps *job)
{
    *g = (struct step_grid){.nranks = study->run->nranks};
    find_steps(g, job);
    measure_steps(g, study->run, job);
    measure_skews(g, study, job);
}

void step_grid_release(struct step_grid *g)
{
    free(g->steps);
    free(g->step_ns);
    free(g->skew_ns);
}
