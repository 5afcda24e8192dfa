/* SPDX-License-Identifier: MIT */
#include "sim/whatif/arrivals.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Members that each of those found stands for beside itself. Of data that go one way not all wait
 * for the latest. */
static double others_of(const struct whatif *v, const struct retarget *t, uint32_t match)
{
    const struct match *m = &v->program->matches.list[match];
    if (specter_comm_op_is_p2p((enum specter_comm_op)m->op) || m->nmembers == 0 ||
        v->program->run->comms[m->comm].size == 0 || v->program->one_ways[match].span > 0)
        return 0;
    return (double)t->to_where[m->comm].ranks / m->nmembers - 1;
}

static void add_arrivals(struct jitter_arrivals *out, const struct whatif *v, uint32_t match,
                         double others)
{
    const struct program *p = v->program;
    const struct match *m = &p->matches.list[match];
    struct sim_span span = sim_transfer_span(p->sim, match);
    ARRAY_GROW(out->list, out->cap, out->count + m->nmembers);
    for (uint32_t i = 0; i < m->nmembers && span.start_ns >= 0; i++) {
        struct match_member who = p->matches.members[m->first + i];
        out->list[out->count++] = (struct jitter_arrival){
            .rank = who.rank,
            .item = p->ranks[who.rank].item[who.op],
            .transfer = match,
            .parent = JITTER_NONE,
            .carrier = JITTER_NONE,
            .before = JITTER_NONE,
            .start_ns = span.start_ns,
            .others = others,
        };
    }
}

static int by_start(const void *pa, const void *pb)
{
    const struct jitter_arrival *a = pa, *b = pb;
    if (a->start_ns != b->start_ns)
        return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
    if (a->transfer != b->transfer)
        return (a->transfer > b->transfer) - (a->transfer < b->transfer);
    return (a->rank > b->rank) - (a->rank < b->rank);
}

/* The owners of the program's items and transfers, for following paths. */
struct path_index {
    const struct whatif *v;
    bool *arrivals;        /* [matches] members are missing */
    uint32_t *cost_of;     /* [items] JITTER_NONE */
    uint32_t *transfer_of; /* [matches] cost */
    uint32_t *carries;     /* [ncosts] the last arrival that it is the carrier of */
};

static uint32_t *list_of_none(size_t n)
{
    uint32_t *list = malloc((n > 0 ? n : 1) * sizeof *list);
    if (list == NULL)
        die("out of memory");
    for (size_t i = 0; i < n; i++)
        list[i] = JITTER_NONE;
    return list;
}

static void path_index_init(struct path_index *w, const struct whatif *v)
{
    const struct program *p = v->program;
    size_t items = 0;
    for (size_t i = 0; i < p->ncosts; i++) {
        if (p->costs[i].match == PROGRAM_NONE && p->costs[i].target >= items)
            items = (size_t)p->costs[i].target + 1;
    }
    *w = (struct path_index){.v = v, .cost_of = list_of_none(items)};
    w->transfer_of = list_of_none(p->matches.count);
    w->carries = list_of_none(p->ncosts);
    w->arrivals = calloc(p->matches.count + 1, sizeof *w->arrivals);
    if (w->arrivals == NULL)
        die("out of memory");
    for (size_t i = 0; i < p->ncosts; i++) {
        uint32_t *of = p->costs[i].match == PROGRAM_NONE ? w->cost_of : w->transfer_of;
        of[p->costs[i].target] = (uint32_t)i;
    }
}

static void path_index_release(struct path_index *w)
{
    free(w->arrivals);
    free(w->cost_of);
    free(w->transfer_of);
    free(w->carries);
}

static void pass(const struct path_index *w, struct jitter_arrival *arrival, uint32_t cost)
{
    if (arrival->carrier == JITTER_NONE)
        arrival->carrier = cost;
    if (arrival->before == JITTER_NONE)
        arrival->before = w->carries[cost];
}

static void pass_work(const struct path_index *w, struct jitter_arrival *arrival,
                      const struct sim_step *step)
{
    uint32_t cost = w->cost_of[step->who];
    int64_t ns = step->end_ns - step->start_ns;
    pass(w, arrival, cost);
    arrival->work_ns += (double)ns;
    arrival->work2 += pow((double)ns, 2);
    arrival->work3 += pow((double)ns, 3);
    arrival->slow_ns += (double)(faults_slowed(w->v, cost, ns) - ns);
}

static void follow(const struct path_index *w, struct jitter_arrival *arrival)
{
    const struct sim *sim = w->v->program->sim;
    struct sim_path path = sim_path_from_start(sim, arrival->item);
    struct sim_step step;
    arrival->ready = sim_awaited(sim, arrival->item);
    if (arrival->ready != SIM_NONE)
        path = sim_path_from_item(sim, arrival->ready);
    while (arrival->parent == JITTER_NONE && sim_path(sim, &path, &step)) {
        if (step.kind == SIM_STEP_WORK)
            pass_work(w, arrival, &step);
        else if (step.kind == SIM_STEP_TRANSFER && w->arrivals[step.who])
            arrival->parent = step.who;
        else if (step.kind == SIM_STEP_TRANSFER)
            pass(w, arrival, w->transfer_of[step.who]);
    }
}

/* Also groups arrivals by transfer, and counts the epochs of each rank. */
static void follow_all(const struct path_index *w, struct jitter_arrivals *m)
{
    size_t nranks = w->v->program->run->nranks;
    uint32_t *parent = list_of_none(nranks), *epoch = calloc(nranks + 1, sizeof *epoch);
    if (epoch == NULL)
        die("out of memory");
    for (size_t i = 0, first = 0; i < m->count; i++) {
        struct jitter_arrival *arrival = &m->list[i];
        if (arrival->transfer != m->list[first].transfer)
            first = i;
        arrival->first = (uint32_t)first;
        m->list[first].members = (uint32_t)(i - first) + 1;
        follow(w, arrival);
        if (arrival->carrier != JITTER_NONE)
            w->carries[arrival->carrier] = (uint32_t)i;
        epoch[arrival->rank] += arrival->parent != parent[arrival->rank];
        parent[arrival->rank] = arrival->parent;
        arrival->epoch = epoch[arrival->rank];
    }
    free(parent);
    free(epoch);
}

void arrivals_find(struct jitter_arrivals *m, const struct whatif *v, const struct retarget *t)
{
    struct path_index w;
    memset(m, 0, sizeof *m);
    path_index_init(&w, v);
    for (uint32_t i = 0; i < v->program->matches.count; i++) {
        double others = others_of(v, t, i);
        w.arrivals[i] = others > 0;
        if (others > 0)
            add_arrivals(m, v, i, others);
    }
    if (m->count > 0)
        qsort(m->list, m->count, sizeof *m->list, by_start);
    follow_all(&w, m);
    path_index_release(&w);
}

void arrivals_release(struct jitter_arrivals *m)
{
    free(m->list);
    memset(m, 0, sizeof *m);
}

double arrival_lateness(const struct jitter_arrival *arrival, const struct whatif *v)
{
    const struct sim *sim = v->program->sim;
    int64_t from_ns = 0;
    if (arrival->parent != JITTER_NONE)
        from_ns = sim_transfer_span(sim, arrival->parent).end_ns;
    if (arrival->ready != SIM_NONE)
        return (double)(sim_span(sim, arrival->ready).end_ns - from_ns);
    return (double)(sim_span(sim, arrival->item).start_ns - from_ns);
}
