/* SPDX-License-Identifier: MIT */
#include "analysis/step_grid.h"

#include "base/arena.h"
#include "base/order.h"

#include <math.h>
#include <stdlib.h>

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

static int by_start(const void *pa, const void *pb)
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

/* By instance its place among the collectives that can be compared, in the order of their starts;
 * SIZE_MAX: it is none. The caller frees it. */
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
        qsort(list, n, sizeof *list, by_start);
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
