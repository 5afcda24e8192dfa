/* SPDX-License-Identifier: MIT */
#include "sim/target/overlap.h"

#include "base/idmap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PPM 1e6

/* ---- NICs that several GPUs of a node share ---- */

/* A NIC of the target, in one direction: 2 x its number + the direction. */
struct nic {
    uint32_t link, rank; /* of the first use: its link stands for the NIC */
    bool shared;         /* by several ranks */
};

/* By rank; owned by the caller. */
static int64_t *list_nics(const struct retarget *t)
{
    int64_t *list = array_new(t->run->nranks, sizeof *list);
    for (size_t r = 0; r < t->run->nranks; r++) {
        const struct weak_scaling *g = t->growth;
        const struct network_profile *net = t->to.network;
        int64_t gpus = (int64_t)net->gpus_per_node, nics = (int64_t)net->nics_per_node;
        int64_t world = g->world * t->scale;
        int64_t self = weak_scaling_rank(g, t->run->ranks[r].rank, t->scale);
        int64_t node = placement_node(t->there.placement, net, self, world);
        /* The NIC of a rank, numbered through all nodes. */
        list[r] = node * nics + placement_slot(t->there.placement, net, self, world) * nics / gpus;
    }
    return list;
}

/* When one transfer uses a NIC several times, the first use stands for all: the model's load on the
 * node's NICs is for each of them. */
static bool is_again(const struct port_contention *l, size_t i)
{
    const struct link_use *u = &l->uses[i];
    for (size_t k = i; k > 0 && l->uses[k - 1].cost == u->cost; k--) {
        if (l->uses[k - 1].link == u->link)
            return true;
    }
    return false;
}

void port_contention_place(struct port_contention *l, const struct retarget *t)
{
    const struct network_profile *net = t->to.network;
    struct nic *nics;
    int64_t *number;
    struct idmap seen = {0};
    for (size_t i = 0; i < l->count; i++) {
        l->uses[i].link = l->uses[i].own;
        l->uses[i].unshared = true;
    }
    if (!(net->nics_per_node >= 1 && net->nics_per_node < net->gpus_per_node))
        return;
    nics = array_new(l->count, sizeof *nics);
    number = list_nics(t);
    for (size_t i = 0; i < l->count; i++) {
        const struct link_use *u = &l->uses[i];
        size_t known = seen.count;
        struct nic *nic;
        nic = &nics[idmap_add(&seen, number[u->rank] * 2 + u->direction)];
        if (seen.count > known)
            *nic = (struct nic){u->own, u->rank, false};
        nic->shared = nic->shared || nic->rank != u->rank;
    }
    for (size_t i = 0; i < l->count; i++) {
        struct link_use *u = &l->uses[i];
        const struct nic *nic;
        nic = &nics[idmap_add(&seen, number[u->rank] * 2 + u->direction)];
        u->link = nic->link;
        u->unshared = !nic->shared || is_again(l, i);
    }
    idmap_release(&seen);
    free(nics);
    free(number);
}

/* ---- which links a transfer uses ---- */

/* Directions of a NIC. */
enum direction { OUT, IN, DIRECTIONS };

/* The links of a rank; SIM_NONE until one is used. */
struct ports {
    uint32_t link[DIRECTIONS];
};

struct contention_builder {
    struct port_contention *links;
    struct program *p;
    bool messages;
    struct ports *ports; /* by rank */
};

static void use(struct contention_builder *m, uint32_t cost, uint32_t rank,
                enum direction direction)
{
    struct port_contention *l = m->links;
    uint32_t *link = &m->ports[rank].link[direction];
    if (*link == SIM_NONE) {
        *link = sim_add_link(m->p->sim);
        l->nlinks++;
    }
    ARRAY_GROW(l->uses, l->cap, l->count + 1);
    l->uses[l->count++] = (struct link_use){.cost = cost,
                                            .rank = rank,
                                            .own = *link,
                                            .link = *link,
                                            .set_link = SIM_NONE,
                                            .direction = (uint8_t)direction,
                                            .unshared = true};
}

void port_contention_init(struct port_contention *l, struct program *p)
{
    struct contention_builder m = {.links = l, .p = p};
    memset(l, 0, sizeof *l);
    m.ports = array_new(p->run->nranks, sizeof *m.ports);
    for (size_t r = 0; r < p->run->nranks; r++)
        memset(&m.ports[r], 0xff, sizeof m.ports[r]); /* SIM_NONE */
    for (size_t i = 0; i < p->matches.count; i++)
        m.messages =
            m.messages || specter_comm_op_is_p2p((enum specter_comm_op)p->matches.list[i].op);
    for (uint32_t i = 0; i < p->ncosts; i++) {
        const struct match *match;
        const struct match_member *members;
        bool message;
        if (p->costs[i].match == PROGRAM_NONE)
            continue;
        match = &p->matches.list[p->costs[i].match];
        members = &p->matches.members[match->first];
        message = specter_comm_op_is_p2p((enum specter_comm_op)match->op);
        if (message && match->nmembers == 2 && members[0].rank == members[1].rank)
            continue; /* to itself: past the NICs */
        /* In a job without messages both directions are used alike, and one of them tells all. */
        for (uint32_t k = 0; k < match->nmembers && k < PORT_CONTENTION_MEMBERS; k++) {
            struct match_member member = members[k];
            bool sends = p->run->ranks[member.rank].ops[member.op].coll.op == SPECTER_SEND;
            if (!message || sends)
                use(&m, i, member.rank, OUT);
            if (message ? !sends : m.messages)
                use(&m, i, member.rank, IN);
        }
    }
    free(m.ports);
}

void port_contention_release(struct port_contention *l)
{
    free(l->uses);
    memset(l, 0, sizeof *l);
}

/* ---- how much of them ---- */

static uint32_t ppm_of(const struct link_use *u)
{
    return (uint32_t)lround(u->share * PPM);
}

/* Two passes: on another target two uses of a transfer may change places. */
void port_contention_set(struct port_contention *l, struct program *p, bool off)
{
    for (size_t i = 0; i < l->count; i++) {
        struct link_use *u = &l->uses[i];
        if (u->set_link == SIM_NONE || (!off && u->set_link == u->link && ppm_of(u) > 0))
            continue;
        sim_use_link(p->sim, p->costs[u->cost].target, u->set_link, 0);
        u->set_link = SIM_NONE;
    }
    for (size_t i = 0; i < l->count && !off; i++) {
        struct link_use *u = &l->uses[i];
        uint32_t ppm = ppm_of(u);
        if (ppm == 0 || (u->set_link == u->link && u->set_ppm == ppm))
            continue;
        sim_use_link(p->sim, p->costs[u->cost].target, u->link, ppm);
        u->set_link = u->link;
        u->set_ppm = ppm;
    }
}

/* ---- what sharing took ---- */

/* A transfer starts or ends. */
struct transfer_event {
    int64_t t_ns;
    uint32_t first, end; /* its uses */
    bool starts;
};

/* A transfer under way. */
struct active_transfer {
    int64_t since_ns;
    double work_ns, rate;
};

struct contention_sweep {
    const struct port_contention *links;
    struct active_transfer *flows; /* by first use */
    uint64_t *load;                /* by link, ppm: shares of what is under way on it */
    uint32_t *under_way;           /* by link: a use, SIM_NONE */
    uint32_t *next; /* by use: the next one under way on its link, and the one before it */
    uint32_t *before;
    uint32_t *touched; /* links whose load changes at this time, */
    size_t ntouched;
    bool *is_touched;   /* by link: it is one of them */
    uint32_t *first_of; /* by use: first use of its transfer */
    uint32_t *end_of;   /* by first use: after the last */
};

static int by_change(const void *pa, const void *pb)
{
    const struct transfer_event *a = pa, *b = pb;
    if (a->t_ns != b->t_ns)
        return a->t_ns < b->t_ns ? -1 : 1;
    if (a->starts != b->starts)
        return a->starts ? 1 : -1;
    return (a->first > b->first) - (a->first < b->first);
}

static void advance(struct contention_sweep *s, uint32_t first, int64_t t_ns)
{
    struct active_transfer *f = &s->flows[first];
    uint64_t most;
    f->work_ns += (double)(t_ns - f->since_ns) * f->rate;
    f->since_ns = t_ns;
    most = (uint64_t)PPM;
    for (uint32_t i = first; i < s->end_of[first]; i++) {
        if (ppm_of(&s->links->uses[i]) > 0 && s->load[s->links->uses[i].link] > most)
            most = s->load[s->links->uses[i].link];
    }
    f->rate = PPM / (double)most;
}

static void touch(struct contention_sweep *s, uint32_t link)
{
    if (!s->is_touched[link])
        s->touched[s->ntouched++] = link;
    s->is_touched[link] = true;
}

static void enter(struct contention_sweep *s, uint32_t use)
{
    uint32_t link = s->links->uses[use].link, *head = &s->under_way[link];
    s->next[use] = *head;
    s->before[use] = SIM_NONE;
    if (*head != SIM_NONE)
        s->before[*head] = use;
    *head = use;
    s->load[link] += ppm_of(&s->links->uses[use]);
    touch(s, link);
}

static void leave(struct contention_sweep *s, uint32_t use)
{
    uint32_t link = s->links->uses[use].link, next = s->next[use], before = s->before[use];
    *(before == SIM_NONE ? &s->under_way[link] : &s->next[before]) = next;
    if (next != SIM_NONE)
        s->before[next] = before;
    s->load[link] -= ppm_of(&s->links->uses[use]);
    touch(s, link);
}

static void apply(struct contention_sweep *s, const struct transfer_event *c, int64_t *work_ns)
{
    struct active_transfer *flow = &s->flows[c->first];
    if (c->starts) {
        *flow = (struct active_transfer){.since_ns = c->t_ns, .rate = 1};
    } else {
        advance(s, c->first, c->t_ns);
        work_ns[s->links->uses[c->first].cost] = llround(flow->work_ns);
    }
    for (uint32_t i = c->first; i < c->end; i++) {
        if (ppm_of(&s->links->uses[i]) == 0)
            continue;
        if (c->starts)
            enter(s, i);
        else
            leave(s, i);
    }
}

/* The starts and ends of all transfers that use links, in order. */
static size_t list_changes(const struct contention_sweep *s, const struct program *p,
                           struct transfer_event *list)
{
    const struct port_contention *l = s->links;
    size_t n = 0;
    for (uint32_t i = 0; i < l->count; i = s->end_of[i]) {
        struct sim_span span = sim_transfer_span(p->sim, p->costs[l->uses[i].cost].target);
        if (span.end_ns <= span.start_ns || span.start_ns < 0)
            continue;
        list[n++] = (struct transfer_event){span.start_ns, i, s->end_of[i], true};
        list[n++] = (struct transfer_event){span.end_ns, i, s->end_of[i], false};
    }
    if (n > 0)
        qsort(list, n, sizeof *list, by_change);
    return n;
}

void port_contention_undo(const struct port_contention *l, const struct program *p,
                          int64_t *work_ns)
{
    struct contention_sweep s;
    struct transfer_event *list = array_new(2 * l->count, sizeof *list);
    size_t n;
    s.links = l;
    s.flows = array_new(l->count, sizeof *s.flows);
    s.load = array_new(l->nlinks, sizeof *s.load);
    s.under_way = array_new(l->nlinks, sizeof *s.under_way);
    s.next = array_new(l->count, sizeof *s.next);
    s.before = array_new(l->count, sizeof *s.before);
    s.touched = array_new(l->nlinks, sizeof *s.touched);
    s.ntouched = 0;
    s.is_touched = array_new(l->nlinks, sizeof *s.is_touched);
    s.first_of = array_new(l->count, sizeof *s.first_of);
    s.end_of = array_new(l->count, sizeof *s.end_of);
    memset(s.under_way, 0xff, l->nlinks * sizeof *s.under_way); /* SIM_NONE */
    for (uint32_t i = 0; i < l->count; i++) {
        s.first_of[i] = i > 0 && l->uses[i].cost == l->uses[i - 1].cost ? s.first_of[i - 1] : i;
        s.end_of[s.first_of[i]] = i + 1;
    }
    n = list_changes(&s, p, list);
    for (size_t i = 0; i < n; i++) {
        apply(&s, &list[i], work_ns);
        if (i + 1 < n && list[i + 1].t_ns == list[i].t_ns)
            continue; /* once for all that happens then */
        /* All that are under way on links whose load has changed go on at their new rate. */
        while (s.ntouched > 0) {
            uint32_t link = s.touched[--s.ntouched];
            s.is_touched[link] = false;
            for (uint32_t use = s.under_way[link]; use != SIM_NONE; use = s.next[use])
                advance(&s, s.first_of[use], list[i].t_ns);
        }
    }
    free(list);
    free(s.flows);
    free(s.load);
    free(s.under_way);
    free(s.next);
    free(s.before);
    free(s.touched);
    free(s.is_touched);
    free(s.first_of);
    free(s.end_of);
}
