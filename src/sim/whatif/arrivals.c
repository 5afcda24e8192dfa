/* SPDX-License-Identifier: MIT */
#include "sim/whatif/arrivals.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Members that each of those found stands for beside itself. Of data that go one way not all wait
 * for the latest. */
static double others_of(const struct vary_job *v, const struct retarget *t, uint32_t match)
{
    const struct match *m = &v->program->matches.list[match];
    if (specter_comm_op_is_p2p((enum specter_comm_op)m->op) || m->nmembers == 0 ||
        v->program->run->comms[m->comm].size == 0 || v->program->ways[match].span > 0)
        return 0;
    return (double)t->to_where[m->comm].ranks / m->nmembers - 1;
}

static void add_meets(struct vary_meets *out, const struct vary_job *v, uint32_t match, double others)
{
    const struct program *p = v->program;
    const struct match *m = &p->matches.list[match];
    struct sim_span span = sim_transfer_span(p->sim, match);
    ARRAY_GROW(out->list, out->cap, out->count + m->nmembers);
    for (uint32_t i = 0; i < m->nmembers && span.start_ns >= 0; i++) {
        struct match_member who = p->matches.members[m->first + i];
        out->list[out->count++] = (struct vary_meet){
            .rank = who.rank,
            .item = p->ranks[who.rank].item[who.op],
            .transfer = match,
            .parent = VARY_NONE,
            .carrier = VARY_NONE,
            .before = VARY_NONE,
            .start_ns = span.start_ns,
            .others = others,
        };
    }
}

static int by_start(const void *pa, const void *pb)
{
    const struct vary_meet *a = pa, *b = pb;
    if (a->start_ns != b->start_ns)
        return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
    if (a->transfer != b->transfer)
        return (a->transfer > b->transfer) - (a->transfer < b->transfer);
    return (a->rank > b->rank) - (a->rank < b->rank);
}

/* What is known of the program's items and transfers while paths are followed. */
struct ways {
    const struct vary_job *v;
    bool *meets;           /* [matches] members are missing */
    uint32_t *cost_of;     /* [items] VARY_NONE */
    uint32_t *transfer_of; /* [matches] cost */
    uint32_t *carries;     /* [ncosts] the last meeting that it is the carrier of */
};

static uint32_t *list_of_none(size_t n)
{
    uint32_t *list = malloc((n > 0 ? n : 1) * sizeof *list);
    if (list == NULL)
        die("out of memory");
    for (size_t i = 0; i < n; i++)
        list[i] = VARY_NONE;
    return list;
}

static void ways_make(struct ways *w, const struct vary_job *v)
{
    const struct program *p = v->program;
    size_t items = 0;
    for (size_t i = 0; i < p->ncosts; i++) {
        if (p->costs[i].match == PROGRAM_NONE && p->costs[i].target >= items)
            items = (size_t)p->costs[i].target + 1;
    }
    *w = (struct ways){.v = v, .cost_of = list_of_none(items)};
    w->transfer_of = list_of_none(p->matches.count);
    w->carries = list_of_none(p->ncosts);
    w->meets = calloc(p->matches.count + 1, sizeof *w->meets);
    if (w->meets == NULL)
        die("out of memory");
    for (size_t i = 0; i < p->ncosts; i++) {
        uint32_t *of = p->costs[i].match == PROGRAM_NONE ? w->cost_of : w->transfer_of;
        of[p->costs[i].target] = (uint32_t)i;
    }
}

static void ways_release(struct ways *w)
{
    free(w->meets);
    free(w->cost_of);
    free(w->transfer_of);
    free(w->carries);
}

static void pass(const struct ways *w, struct vary_meet *meet, uint32_t cost)
{
    if (meet->carrier == VARY_NONE)
        meet->carrier = cost;
    if (meet->before == VARY_NONE)
        meet->before = w->carries[cost];
}

static void pass_work(const struct ways *w, struct vary_meet *meet, const struct sim_step *step)
{
    uint32_t cost = w->cost_of[step->who];
    int64_t ns = step->end_ns - step->start_ns;
    pass(w, meet, cost);
    meet->work_ns += (double)ns;
    meet->work2 += pow((double)ns, 2);
    meet->work3 += pow((double)ns, 3);
    meet->slow_ns += (double)(vary_slowed(w->v, cost, ns) - ns);
}

static void follow(const struct ways *w, struct vary_meet *meet)
{
    const struct sim *sim = w->v->program->sim;
    struct sim_path path = sim_path_from_start(sim, meet->item);
    struct sim_step step;
    meet->ready = sim_awaited(sim, meet->item);
    if (meet->ready != SIM_NONE)
        path = sim_path_from_item(sim, meet->ready);
    while (meet->parent == VARY_NONE && sim_path(sim, &path, &step)) {
        if (step.kind == SIM_STEP_WORK)
            pass_work(w, meet, &step);
        else if (step.kind == SIM_STEP_TRANSFER && w->meets[step.who])
            meet->parent = step.who;
        else if (step.kind == SIM_STEP_TRANSFER)
            pass(w, meet, w->transfer_of[step.who]);
    }
}

/* Also which meetings are of one transfer, and the epochs of each rank. */
static void follow_all(const struct ways *w, struct vary_meets *m)
{
    size_t nranks = w->v->program->run->nranks;
    uint32_t *parent = list_of_none(nranks), *epoch = calloc(nranks + 1, sizeof *epoch);
    if (epoch == NULL)
        die("out of memory");
    for (size_t i = 0, first = 0; i < m->count; i++) {
        struct vary_meet *meet = &m->list[i];
        if (meet->transfer != m->list[first].transfer)
            first = i;
        meet->first = (uint32_t)first;
        m->list[first].members = (uint32_t)(i - first) + 1;
        follow(w, meet);
        if (meet->carrier != VARY_NONE)
            w->carries[meet->carrier] = (uint32_t)i;
        epoch[meet->rank] += meet->parent != parent[meet->rank];
        parent[meet->rank] = meet->parent;
        meet->epoch = epoch[meet->rank];
    }
    free(parent);
    free(epoch);
}

void vary_meets_find(struct vary_meets *m, const struct vary_job *v, const struct retarget *t)
{
    struct ways w;
    memset(m, 0, sizeof *m);
    ways_make(&w, v);
    for (uint32_t i = 0; i < v->program->matches.count; i++) {
        double others = others_of(v, t, i);
        w.meets[i] = others > 0;
        if (others > 0)
            add_meets(m, v, i, others);
    }
    if (m->count > 0)
        qsort(m->list, m->count, sizeof *m->list, by_start);
    follow_all(&w, m);
    ways_release(&w);
}

void vary_meets_release(struct vary_meets *m)
{
    free(m->list);
    memset(m, 0, sizeof *m);
}

double vary_meet_lateness(const struct vary_meet *meet, const struct vary_job *v)
{
    const struct sim *sim = v->program->sim;
    int64_t from_ns = 0;
    if (meet->parent != VARY_NONE)
        from_ns = sim_transfer_span(sim, meet->parent).end_ns;
    if (meet->ready != SIM_NONE)
        return (double)(sim_span(sim, meet->ready).end_ns - from_ns);
    return (double)(sim_span(sim, meet->item).start_ns - from_ns);
}
