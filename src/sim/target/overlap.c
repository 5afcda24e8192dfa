/* SPDX-License-Identifier: MIT */
#include "sim/target/overlap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PPM 1e6
#define ROUNDS_MAX 4       /* until the recording comes out again */
#define CLOSE_ENOUGH 1e-4  /* of a duration, */
#define CLOSE_NS 5         /* or so much: the engine rounds to whole ns at each change of rate */
#define SLOWEST (1.0 / 20) /* as the engine limits rates */

void overlap_init(struct overlap *o, struct program *p)
{
    memset(o, 0, sizeof *o);
    o->program = p;
    o->strength = 1;
    cost_classes_init(&o->kinds, p);
    port_contention_init(&o->links, p);
    o->channels = array_new(o->kinds.count, sizeof *o->channels);
    for (uint32_t k = 0; k < o->kinds.count; k++)
        o->channels[k] = 1;
}

void overlap_release(struct overlap *o)
{
    if (o->program == NULL)
        return;
    cost_classes_release(&o->kinds);
    port_contention_release(&o->links);
    free(o->channels);
    o->program = NULL;
}

/* ---- needs ---- */

static struct overlap_need by_share(double compute)
{
    return (struct overlap_need){compute, 1 - compute};
}

static struct overlap_need need_of_class(enum specter_kernel_class class)
{
    return class == SPECTER_KERNEL_COMM ? (struct overlap_need){0, 0}
                                        : by_share(model_compute_share(class));
}

/* Of kernels that were counted: the mean over them. */
static struct overlap_need need_of_counted(const uint64_t *classes)
{
    struct overlap_need sum = {0, 0};
    double all = 0;
    for (int class = 0; class < SPECTER_KERNEL_CLASS_COUNT; class ++) {
        struct overlap_need need = need_of_class((enum specter_kernel_class) class);
        sum.sm += (double)classes[class] * need.sm;
        sum.memory += (double)classes[class] * need.memory;
        all += (double)classes[class];
    }
    return all > 0 ? (struct overlap_need){sum.sm / all, sum.memory / all} : by_share(0);
}

static struct overlap_need need_of(const struct program *p, const struct program_cost *c,
                                   const struct retarget *t)
{
    const struct op *op;
    if (c->match != PROGRAM_NONE)
        return (struct overlap_need){0, 0};
    if (c->op == PROGRAM_NONE)
        return need_of_counted(c->classes);
    op = &p->run->ranks[c->rank].ops[c->op];
    switch ((enum op_class)op->class) {
    case OP_GEMM:
        return by_share(retarget_memory_bound(t, op) ? 0 : 1);
    case OP_KERNEL:
        return need_of_class(specter_kernel_class_of(op->name));
    case OP_MEMORY:
        return retarget_over_host_link(op) ? (struct overlap_need){0, 0} : by_share(0);
    case OP_GRAPH:
        return op->flags & OP_COMM_ONLY ? (struct overlap_need){0, 0} : by_share(0.5);
    case OP_COLL:
    case OP_P2P:
        break;
    }
    return (struct overlap_need){0, 0}; /* communication of this rank alone */
}

/* By kind; owned by the caller. */
static struct overlap_need *find_needs(const struct overlap *o, const struct retarget *t)
{
    struct overlap_need *needs = array_new(o->kinds.count, sizeof *needs);
    for (uint32_t k = 0; k < o->kinds.count; k++)
        needs[k] = need_of(o->program, &o->program->costs[o->kinds.first[k]], t);
    return needs;
}

enum overlap_bound overlap_bound_of(struct overlap_need need)
{
    return need.sm >= 0.75 ? OVERLAP_SM : need.memory >= 0.75 ? OVERLAP_MEMORY : OVERLAP_BOTH;
}

double overlap_figure(const struct gpu_profile *gpu, enum overlap_bound bound)
{
    switch (bound) {
    case OVERLAP_SM:
        return gpu->overlap_sm;
    case OVERLAP_MEMORY:
        return gpu->overlap_memory;
    default:
        return gpu->overlap_sm > 0 && gpu->overlap_memory > 0
                   ? (gpu->overlap_sm + gpu->overlap_memory) / 2
                   : 0;
    }
}

double overlap_factor(const struct overlap *o, const struct hardware *from,
                      const struct hardware *to, enum overlap_bound bound, bool *by_profile)
{
    const struct overlap_shown *s = &o->shown[bound];
    const bool known = s->factor > 0 || s->pairs >= OVERLAP_PAIRS_MIN || s->untold == 0;
    const double figure = overlap_figure(to->gpu, bound);
    *by_profile = known && figure > 0 && figure != overlap_figure(from->gpu, bound);
    return *by_profile ? figure : s->factor;
}

/* Needs are told over the largest factor, and loads times it, as both are shares. */
static void find_factors(struct overlap *o, const struct retarget *t)
{
    o->strength = 1;
    for (int b = 0; b < OVERLAP_BOUNDS; b++) {
        bool unused;
        o->factors[b] = overlap_factor(o, &t->from, &t->to, (enum overlap_bound)b, &unused);
        o->strength = fmax(o->strength, o->factors[b]);
    }
}

double overlap_taken(struct overlap_need need, struct sim_beside beside)
{
    return need.sm * (double)beside.sm_ns + need.memory * (double)beside.memory_ns;
}

/* ---- loads ---- */

/* By kind; owned by the caller. */
static struct overlap_load *find_loads(const struct overlap *o, const struct retarget *t)
{
    const struct program *p = o->program;
    struct overlap_load *loads = array_new(o->kinds.count, sizeof *loads);
    for (uint32_t k = 0; k < o->kinds.count; k++) {
        const struct program_cost *c = &p->costs[o->kinds.first[k]];
        struct overlap_load *load = &loads[k];
        const struct match *match;
        if (c->match == PROGRAM_NONE || !retarget_price(t, c, &load->price))
            continue;
        match = &p->matches.list[c->match];
        load->known = true;
        if (t->to.gpu->sms > 0)
            load->sm = o->channels[k] * load->price.channels / t->to.gpu->sms;
        load->bytes = comm_memory_bytes((enum specter_comm_op)match->op, load->price.algo,
                                        retarget_bytes(t, c), retarget_members(t, c));
    }
    return loads;
}

uint32_t overlap_ppm(double share)
{
    return share > 0 ? (uint32_t)lround(fmin(1, share) * PPM) : 0;
}

/* Bytes a ns are GB/s. */
static void set_load(const struct overlap *o, const struct retarget *t,
                     const struct overlap_load *l, const struct program_cost *c,
                     const uint32_t *messages)
{
    double sm = overlap_moving_sm(o, c, l, messages);
    double rate = c->set_ns > 0 ? l->bytes / (double)c->set_ns : 0;
    double memory = t->to.gpu->mem_GBps > 0 ? rate / t->to.gpu->mem_GBps : 0;
    sim_set_load(o->program->sim, c->target, overlap_ppm(sm * o->strength),
                 overlap_ppm(fmin(1, memory) * o->strength));
}

static void set_need(const struct overlap *o, const struct program_cost *c,
                     struct overlap_need need)
{
    double factor = o->factors[overlap_bound_of(need)] / o->strength;
    sim_set_need(o->program->sim, c->target, overlap_ppm(need.sm * factor),
                 overlap_ppm(need.memory * factor));
}

static void set_loads(struct overlap *o, const struct retarget *t, const struct overlap_load *loads)
{
    uint32_t *messages = overlap_messages(o->program);
    for (size_t i = 0; i < o->program->ncosts; i++) {
        if (o->program->costs[i].match != PROGRAM_NONE)
            set_load(o, t, &loads[o->kinds.of[i]], &o->program->costs[i], messages);
    }
    free(messages);
    overlap_hold(o, loads);
}

static void set_needs(const struct overlap *o, const struct overlap_need *needs)
{
    const struct overlap_need none = {0, 0};
    for (size_t i = 0; i < o->program->ncosts; i++) {
        if (o->program->costs[i].match == PROGRAM_NONE)
            set_need(o, &o->program->costs[i], needs != NULL ? needs[o->kinds.of[i]] : none);
    }
}

/* Messages of a group share ports with each other all the time, which their own time holds: what
 * one of them uses is its bytes' time over that, not over what it would take alone. */
static void share_time(const struct program *p, const struct program_cost *c,
                       struct comm_cost *price)
{
    if (p->run->ranks[c->rank].ops[c->op].coll.group >= 0 &&
        specter_comm_op_is_p2p((enum specter_comm_op)p->matches.list[c->match].op))
        price->us = fmax(price->us, (double)c->set_ns / 1e3);
}

static void find_shares(struct overlap *o, const struct retarget *t,
                        const struct overlap_load *loads)
{
    struct port_contention *l = &o->links;
    port_contention_place(l, t);
    for (size_t i = 0, end; i < l->count; i = end) {
        const struct overlap_load *load = &loads[o->kinds.of[l->uses[i].cost]];
        struct comm_cost price = load->price;
        for (end = i; end < l->count && l->uses[end].cost == l->uses[i].cost;)
            end++;
        if (load->known)
            share_time(o->program, &o->program->costs[l->uses[i].cost], &price);
        port_contention_share(&l->uses[i], end - i, load->known ? &price : NULL);
    }
}

void overlap_apply(struct overlap *o, const struct retarget *t)
{
    struct overlap_load *loads = find_loads(o, t);
    struct overlap_need *needs = find_needs(o, t);
    find_factors(o, t);
    set_loads(o, t, loads);
    set_needs(o, needs);
    find_shares(o, t, loads);
    port_contention_set(&o->links, o->program, false);
    free(loads);
    free(needs);
}

/* ---- what the recording took ---- */

static int64_t alone(int64_t recorded_ns, double taken_ns)
{
    double ns = fmax((double)recorded_ns - taken_ns, (double)recorded_ns * SLOWEST);
    return llround(ns);
}

/* Transfers as recorded, less what NICs that ranks share took. */
static void undo_sharing(struct overlap *o)
{
    struct program *p = o->program;
    int64_t *work_ns = array_new(p->ncosts, sizeof *work_ns);
    for (size_t i = 0; i < p->ncosts; i++)
        work_ns[i] = UNKNOWN_NS;
    port_contention_undo(&o->links, p, work_ns);
    for (size_t i = 0; i < p->ncosts; i++) {
        struct program_cost *c = &p->costs[i];
        if (work_ns[i] == UNKNOWN_NS || c->measured_ns == UNKNOWN_NS ||
            work_ns[i] >= c->measured_ns)
            continue;
        o->contended++;
        o->shared_ns += c->measured_ns - work_ns[i];
        c->measured_ns = work_ns[i];
    }
    free(work_ns);
}

/* Work as recorded, less what communication beside it took. */
static void undo_slowdown(struct overlap *o, const struct overlap_need *needs)
{
    struct program *p = o->program;
    for (size_t i = 0; i < p->ncosts; i++) {
        struct program_cost *c = &p->costs[i];
        struct overlap_need need = needs[o->kinds.of[i]];
        double taken;
        if (c->match != PROGRAM_NONE || c->measured_ns == UNKNOWN_NS)
            continue;
        taken = overlap_taken(need, sim_beside(p->sim, c->target)) *
                o->shown[overlap_bound_of(need)].factor;
        if (!(taken >= 1))
            continue;
        o->beside++;
        o->taken_ns += c->measured_ns - alone(c->measured_ns, taken);
        c->measured_ns = alone(c->measured_ns, taken);
    }
}

static int64_t lasted(const struct program *p, const struct program_cost *c)
{
    struct sim_span span = c->match != PROGRAM_NONE ? sim_transfer_span(p->sim, c->target)
                                                    : sim_span(p->sim, c->target);
    return span.end_ns < 0 ? UNKNOWN_NS : span.end_ns - span.start_ns;
}

/* Corrects the costs of operations that did not last as recorded. False: all did. */
static bool correct(struct overlap *o, const int64_t *recorded_ns)
{
    bool changed = false;
    for (size_t i = 0; i < o->program->ncosts; i++) {
        struct program_cost *c = &o->program->costs[i];
        int64_t off_ns, lasted_ns = lasted(o->program, c);
        if (recorded_ns[i] == UNKNOWN_NS || lasted_ns == UNKNOWN_NS)
            continue;
        off_ns = recorded_ns[i] - lasted_ns;
        if (llabs(off_ns) <= CLOSE_NS ||
            fabs((double)off_ns) <= CLOSE_ENOUGH * (double)recorded_ns[i])
            continue;
        c->measured_ns = alone(c->measured_ns, -(double)off_ns);
        if (c->measured_ns > recorded_ns[i])
            c->measured_ns = recorded_ns[i];
        changed = true;
    }
    return changed;
}

/* The recording must come out again. It does so at once, but where rates were limited. */
static int close_gap(struct overlap *o, struct retarget *own, const int64_t *recorded_ns,
                     struct err *e)
{
    for (o->rounds = 1; o->rounds <= ROUNDS_MAX; o->rounds++) {
        if (retarget_set_costs(own, o->program, e) < 0)
            return -1;
        overlap_apply(o, own);
        if (program_run(o->program, e) < 0)
            return -1;
        if (!correct(o, recorded_ns))
            break;
    }
    return 0;
}

/* The recording: nothing slowed down. */
static int run_as_recorded(struct overlap *o, struct retarget *own,
                           const struct overlap_load *loads, struct err *e)
{
    if (retarget_set_costs(own, o->program, e) < 0)
        return -1;
    set_loads(o, own, loads);
    set_needs(o, NULL);
    port_contention_set(&o->links, o->program, true);
    return program_run(o->program, e);
}

/* Takes the GPU profile's figures where the recording shows nothing. */
static void take_figures(struct overlap *o, const struct gpu_profile *gpu)
{
    for (int b = 0; b < OVERLAP_BOUNDS; b++) {
        struct overlap_shown *s = &o->shown[b];
        s->from_profile = s->pairs < OVERLAP_PAIRS_MIN;
        if (s->from_profile)
            s->factor = overlap_figure(gpu, (enum overlap_bound)b);
    }
}

/* Two passes where NICs were shared: loads follow from what transfers take alone, while spans stay
 * as recorded. */
static int derive(struct overlap *o, struct retarget *own, const struct overlap_load *loads,
                  const struct overlap_need *needs, struct err *e)
{
    if (run_as_recorded(o, own, loads, e) < 0)
        return -1;
    overlap_show_queues(o, loads);
    find_shares(o, own, loads);
    undo_sharing(o);
    if (o->contended > 0) {
        for (size_t i = 0; i < o->program->ncosts; i++)
            o->program->costs[i].set_ns = o->program->costs[i].measured_ns;
        set_loads(o, own, loads);
        if (program_run(o->program, e) < 0)
            return -1;
    }
    overlap_show(o, needs);
    take_figures(o, own->to.gpu);
    undo_slowdown(o, needs);
    return 0;
}

int overlap_learn(struct overlap *o, struct retarget *own, struct err *e)
{
    struct program *p = o->program;
    struct overlap_need *needs = find_needs(o, own);
    int64_t *recorded_ns = array_new(p->ncosts, sizeof *recorded_ns);
    struct overlap_load *loads;
    int rc;
    overlap_count_channels(o, own);
    loads = find_loads(o, own);
    for (size_t i = 0; i < p->ncosts; i++)
        recorded_ns[i] = p->costs[i].measured_ns;
    sim_keep_beside(p->sim, true);
    rc = derive(o, own, loads, needs, e);
    sim_keep_beside(p->sim, false);
    if (rc == 0 && o->beside + o->contended > 0)
        rc = close_gap(o, own, recorded_ns, e);
    free(recorded_ns);
    free(loads);
    free(needs);
    return rc;
}
