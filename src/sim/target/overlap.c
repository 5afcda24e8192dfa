/* SPDX-License-Identifier: MIT */
#include "sim/target/overlap.h"

#include "base/hash.h"
#include "base/kernel_class.h"
#include "base/order.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PPM 1e6
#define ROUNDS_MAX 4       /* until the recording comes out again */
#define CLOSE_ENOUGH 1e-4  /* of a duration, */
#define CLOSE_NS 5         /* or so much: the engine rounds to whole ns at each change of rate */
#define SLOWEST (1.0 / 20) /* as the engine limits rates */

/* ---- kinds of costs ---- */

/* Kinds are told apart by 64 bits of what they are: of a billion pairs not one is mistaken. */
struct keyed {
    uint64_t key;
    uint32_t cost;
};

static uint64_t key_of_gemm(const struct op *op)
{
    uint64_t trans = 0;
    memcpy(&trans, op->gemm.trans, sizeof op->gemm.trans);
    return hash_mix(
        hash_mix(hash_mix(hash_mix(op->gemm.m, op->gemm.n), op->gemm.k), op->gemm.batch),
        hash_mix(hash_mix(hash_mix(trans, op->gemm.dtype_b), op->gemm.dtype_c), op->gemm.compute));
}

static uint64_t key_of_op(const struct program_cost *c, const struct op *op)
{
    uint64_t key =
        hash_mix(hash_mix(hash_mix(2, op->class), op->dtype), (uintptr_t)op->name); /* interned */
    switch ((enum op_class)op->class) {
    case OP_GEMM:
        return hash_mix(key, key_of_gemm(op));
    case OP_MEMORY:
        return hash_mix(key, op->bytes);
    case OP_GRAPH:
        return hash_mix(hash_mix(key, (uint32_t)op->graph), c->rank);
    case OP_COLL:
    case OP_P2P:
        return hash_mix(hash_mix(hash_mix(key, op->coll.op), (uint32_t)op->coll.comm), op->bytes);
    case OP_KERNEL:
        break;
    }
    return key;
}

static uint64_t key_of(const struct program *p, const struct program_cost *c)
{
    uint64_t key = 3;
    if (c->match != PROGRAM_NONE) {
        const struct match *m = &p->matches.list[c->match];
        const struct op *op = &p->run->ranks[c->rank].ops[c->op];
        key = hash_mix(hash_mix(hash_mix(1, (uint32_t)m->comm), m->op), m->bytes);
        if (specter_comm_op_is_p2p((enum specter_comm_op)m->op)) /* who they are tells the way */
            key = hash_mix(hash_mix(key, c->rank), (uint32_t)op->coll.peer);
        return key;
    }
    if (c->op != PROGRAM_NONE)
        return key_of_op(c, &p->run->ranks[c->rank].ops[c->op]);
    for (int class = 0; class < SPECTER_KERNEL_CLASS_COUNT; class ++)
        key = hash_mix(key, c->classes[class]);
    return key;
}

static int by_key(const void *pa, const void *pb)
{
    const struct keyed *a = pa, *b = pb;
    return a->key != b->key ? ORDER(a->key, b->key) : ORDER(a->cost, b->cost);
}

static void cost_classes_init(struct cost_classes *k, const struct program *p)
{
    struct keyed *list = array_new(p->ncosts, sizeof *list);
    k->of = array_new(p->ncosts, sizeof *k->of);
    k->first = array_new(p->ncosts, sizeof *k->first);
    k->count = 0;
    for (uint32_t i = 0; i < p->ncosts; i++)
        list[i] = (struct keyed){key_of(p, &p->costs[i]), i};
    if (p->ncosts > 0)
        qsort(list, p->ncosts, sizeof *list, by_key);
    for (size_t i = 0; i < p->ncosts; i++) {
        if (i == 0 || list[i].key != list[i - 1].key)
            k->first[k->count++] = list[i].cost;
        k->of[list[i].cost] = k->count - 1;
    }
    free(list);
}

static void cost_classes_release(struct cost_classes *k)
{
    free(k->of);
    free(k->first);
    memset(k, 0, sizeof *k);
}

/* ---- life ---- */

void overlap_init(struct overlap *o, struct program *p)
{
    memset(o, 0, sizeof *o);
    o->program = p;
    o->strength = 1;
    cost_classes_init(&o->kinds, p);
    port_contention_init(&o->links, p);
    o->channels = array_new(o->kinds.count, sizeof *o->channels);
    o->kind_factors = array_new(o->kinds.count, sizeof *o->kind_factors);
    o->kind_shown = array_new(o->kinds.count, sizeof *o->kind_shown);
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
    free(o->kind_factors);
    free(o->kind_shown);
    o->program = NULL;
}

/* ---- multiprocessors that communication kernels hold: how many, and for how long ---- */

/* Parts per million of a share, a million at most. */
static uint32_t overlap_ppm(double share)
{
    return share > 0 ? (uint32_t)lround(fmin(1, share) * PPM) : 0;
}

/* Fills o->channels from those that NCCL's profiler reported for the first member: the mean over
 * the transfers of a kind, so that an exception does not decide. It is a ratio, since a limit that
 * the job set (NCCL_MAX_CTAS) holds on the target as well. own: as for overlap_learn(). */
static void overlap_count_channels(struct overlap *o, const struct retarget *own)
{
    const struct program *p = o->program;
    uint64_t *sum = array_new(o->kinds.count, sizeof *sum);
    uint32_t *seen = array_new(o->kinds.count, sizeof *seen);
    for (size_t i = 0; i < p->ncosts; i++) {
        const struct program_cost *c = &p->costs[i];
        const struct comm_detail *detail =
            c->match == PROGRAM_NONE ? NULL : rank_detail(&p->run->ranks[c->rank], c->op);
        uint32_t n = detail != NULL ? detail->channels : 0; /* 0: not known */
        sum[o->kinds.of[i]] += n;
        seen[o->kinds.of[i]] += n > 0;
    }
    for (uint32_t k = 0; k < o->kinds.count; k++) {
        struct comm_cost price;
        o->transfers += p->costs[o->kinds.first[k]].match != PROGRAM_NONE;
        if (seen[k] == 0 || !retarget_price(own, &p->costs[o->kinds.first[k]], &price) ||
            price.channels <= 0)
            continue;
        o->channels[k] = (double)sum[k] / seen[k] / price.channels;
        o->counted++;
    }
    free(sum);
    free(seen);
}

static uint32_t item_of(const struct program *p, struct match_member m)
{
    return p->ranks[m.rank].item[m.op];
}

/* One more than the last item of a transfer. */
static uint32_t items_end(const struct program *p)
{
    uint32_t end = 0;
    for (size_t i = 0; i < p->matches.nmembers; i++) {
        uint32_t item = item_of(p, p->matches.members[i]);
        if (item != PROGRAM_NONE && item >= end)
            end = item + 1;
    }
    return end;
}

static bool is_message(const struct program *p, const struct program_cost *c)
{
    return specter_comm_op_is_p2p((enum specter_comm_op)p->matches.list[c->match].op);
}

/* Returns how many messages each item of the engine takes part in; up to the last item that takes
 * part in a transfer. Owned by the caller. */
static uint32_t *overlap_messages(const struct program *p)
{
    uint32_t *messages = array_new(items_end(p), sizeof *messages);
    for (size_t i = 0; i < p->ncosts; i++) {
        const struct program_cost *c = &p->costs[i];
        const struct match *match;
        if (c->match == PROGRAM_NONE || !is_message(p, c))
            continue;
        match = &p->matches.list[c->match];
        for (uint32_t k = 0; k < match->nmembers; k++) {
            uint32_t item = item_of(p, p->matches.members[match->first + k]);
            if (item != PROGRAM_NONE)
                messages[item]++;
        }
    }
    return messages;
}

/* Returns the share of the SMs that a message takes while its data moves: those of one group share
 * the channels of one kernel. 0 of a collective, which holds them all the time. */
static double overlap_moving_sm(const struct overlap *o, const struct program_cost *c,
                                const struct overlap_load *load, const uint32_t *messages)
{
    const struct program *p = o->program;
    const struct match *match = &p->matches.list[c->match];
    uint32_t most = 1;
    if (!is_message(p, c))
        return 0;
    for (uint32_t k = 0; k < match->nmembers; k++) {
        uint32_t item = item_of(p, p->matches.members[match->first + k]);
        if (item != PROGRAM_NONE && messages[item] > most)
            most = messages[item];
    }
    return load->sm / most;
}

/* Tells the engine what each kernel of a collective holds. Collectives of one group share the
 * channels of one kernel: the largest counts. loads: by kind. */
static void overlap_hold(struct overlap *o, const struct overlap_load *loads)
{
    struct program *p = o->program;
    uint32_t *ppm = array_new(items_end(p), sizeof *ppm);
    for (size_t i = 0; i < p->ncosts; i++) {
        const struct program_cost *c = &p->costs[i];
        const struct match *match;
        uint32_t holds;
        if (c->match == PROGRAM_NONE || is_message(p, c))
            continue;
        match = &p->matches.list[c->match];
        holds = overlap_ppm(loads[o->kinds.of[i]].sm * o->strength);
        for (size_t k = match->first; k < match->first + match->nmembers; k++) {
            uint32_t item = item_of(p, p->matches.members[k]);
            if (item == PROGRAM_NONE)
                continue;
            if (holds > ppm[item])
                ppm[item] = holds;
            sim_set_hold(p->sim, item, ppm[item]);
        }
    }
    free(ppm);
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

static struct overlap_need need_of(const struct program *p, const struct program_cost *c,
                                   const struct retarget *t)
{
    const struct op *op;
    if (c->match != PROGRAM_NONE)
        return (struct overlap_need){0, 0};
    if (c->op == PROGRAM_NONE) { /* kernels that were counted: the mean over them */
        struct overlap_need sum = {0, 0};
        double all = 0;
        for (int class = 0; class < SPECTER_KERNEL_CLASS_COUNT; class ++) {
            struct overlap_need need = need_of_class((enum specter_kernel_class) class);
            sum.sm += (double)c->classes[class] * need.sm;
            sum.memory += (double)c->classes[class] * need.memory;
            all += (double)c->classes[class];
        }
        return all > 0 ? (struct overlap_need){sum.sm / all, sum.memory / all} : by_share(0);
    }
    op = &p->run->ranks[c->rank].ops[c->op];
    switch ((enum op_class)op->class) {
    case OP_GEMM:
        return by_share(retarget_memory_bound(t, op) ? 0 : 1);
    case OP_KERNEL:
        return need_of_class(kernel_class(op->name));
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

/* ---- loads ---- */

/* Ranks of a transfer on the target. */
static int members_of(const struct retarget *t, const struct program_cost *cost)
{
    const struct match *match = &t->program->matches.list[cost->match];
    if (specter_comm_op_is_p2p((enum specter_comm_op)match->op))
        return 2;
    return t->to_where[match->comm].ranks;
}

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
                                        retarget_bytes(t, c), members_of(t, c));
    }
    return loads;
}

static void set_loads(struct overlap *o, const struct retarget *t, const struct overlap_load *loads)
{
    uint32_t *messages = overlap_messages(o->program);
    for (size_t i = 0; i < o->program->ncosts; i++) {
        const struct program_cost *c = &o->program->costs[i];
        const struct overlap_load *l = &loads[o->kinds.of[i]];
        double sm, rate, memory;
        if (c->match == PROGRAM_NONE)
            continue;
        sm = overlap_moving_sm(o, c, l, messages);
        rate = c->set_ns > 0 ? l->bytes / (double)c->set_ns : 0; /* bytes a ns are GB/s */
        memory = t->to.gpu->mem_GBps > 0 ? rate / t->to.gpu->mem_GBps : 0;
        sim_set_load(o->program->sim, c->target, overlap_ppm(sm * o->strength),
                     overlap_ppm(fmin(1, memory) * o->strength));
    }
    free(messages);
    overlap_hold(o, loads);
}

static void set_needs(const struct overlap *o, const struct overlap_need *needs)
{
    const struct overlap_need none = {0, 0};
    for (size_t i = 0; i < o->program->ncosts; i++) {
        const struct program_cost *c = &o->program->costs[i];
        struct overlap_need need =
            needs != NULL && !(o->fixed != NULL && o->fixed[i]) ? needs[o->kinds.of[i]] : none;
        double factor = o->by_kind && needs != NULL ? o->kind_factors[o->kinds.of[i]]
                                                    : o->factors[overlap_bound_of(need)];
        factor /= o->strength;
        if (c->match == PROGRAM_NONE)
            sim_set_need(o->program->sim, c->target, (uint32_t)lround(need.sm * factor * PPM),
                         (uint32_t)lround(need.memory * factor * PPM));
    }
}

static void find_shares(struct overlap *o, const struct retarget *t,
                        const struct overlap_load *loads)
{
    struct port_contention *l = &o->links;
    port_contention_place(l, t);
    for (size_t i = 0, end; i < l->count; i = end) {
        const struct program_cost *c = &o->program->costs[l->uses[i].cost];
        const struct overlap_load *load = &loads[o->kinds.of[l->uses[i].cost]];
        struct comm_cost price = load->price;
        bool known;
        for (end = i; end < l->count && l->uses[end].cost == l->uses[i].cost;)
            end++;
        /* Messages of a group share ports with each other all the time, which their own time holds:
         * what one of them uses is its bytes' time over that, not over what it would take alone. */
        if (load->known && o->program->run->ranks[c->rank].ops[c->op].coll.group >= 0 &&
            is_message(o->program, c))
            price.us = fmax(price.us, (double)c->set_ns / 1e3);
        /* The share that the transfer uses of its NICs. */
        known = load->known && price.nic_us > 0 && price.us > 0;
        for (size_t k = i; k < end; k++)
            l->uses[k].share = known && !l->uses[k].unshared ? fmin(1, price.nic_us / price.us) : 0;
    }
}

void overlap_apply(struct overlap *o, const struct retarget *t)
{
    struct overlap_load *loads = find_loads(o, t);
    struct overlap_need *needs = find_needs(o, t);
    o->strength = 1; /* needs are told over the largest factor, and loads times it: shares */
    for (int b = 0; b < OVERLAP_BOUNDS; b++) {
        bool unused;
        o->factors[b] = overlap_factor(o, &t->from, &t->to, (enum overlap_bound)b, &unused);
        o->strength = fmax(o->strength, o->factors[b]);
    }
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
        const uint32_t kind = o->kinds.of[i];
        const struct overlap_need need = needs[kind];
        const double factor =
            o->by_kind ? o->kind_factors[kind] : o->shown[overlap_bound_of(need)].factor;
        double taken;
        if (c->match != PROGRAM_NONE || c->measured_ns == UNKNOWN_NS)
            continue;
        taken = overlap_taken(need, sim_beside(p->sim, c->target)) * factor;
        if (!(taken >= 1))
            continue;
        o->beside++;
        o->taken_ns += c->measured_ns - alone(c->measured_ns, taken);
        c->measured_ns = alone(c->measured_ns, taken);
    }
}

/* Corrects the costs of operations that did not last as recorded. False: all did. */
static bool correct(struct overlap *o, const int64_t *recorded_ns)
{
    bool changed = false;
    for (size_t i = 0; i < o->program->ncosts; i++) {
        struct program_cost *c = &o->program->costs[i];
        struct sim_span span = c->match != PROGRAM_NONE
                                   ? sim_transfer_span(o->program->sim, c->target)
                                   : sim_span(o->program->sim, c->target);
        int64_t off_ns;
        if (recorded_ns[i] == UNKNOWN_NS || span.end_ns < 0)
            continue;
        off_ns = recorded_ns[i] - (span.end_ns - span.start_ns);
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

/* Sets every cost of the program, which is the one that t was made for. */
static int set_costs(struct retarget *t, struct program *program, struct err *e)
{
    for (size_t i = 0; i < program->ncosts; i++) {
        int64_t ns;
        if (retarget_cost(t, &program->costs[i], &ns, e) < 0)
            return -1;
        program_set_cost(program, i, ns);
    }
    return 0;
}

/* The recording must come out again. It does so at once, but where rates were limited. */
static int close_gap(struct overlap *o, struct retarget *own, const int64_t *recorded_ns,
                     struct err *e)
{
    for (o->rounds = 1; o->rounds <= ROUNDS_MAX; o->rounds++) {
        if (set_costs(own, o->program, e) < 0)
            return -1;
        overlap_apply(o, own);
        if (program_run(o->program, e) < 0)
            return -1;
        if (!correct(o, recorded_ns))
            break;
    }
    return 0;
}

/* Two passes where NICs were shared: loads follow from what transfers take alone, while spans stay
 * as recorded. */
static int derive(struct overlap *o, struct retarget *own, const struct overlap_load *loads,
                  const struct overlap_need *needs, struct err *e)
{
    /* The recording: nothing slowed down. */
    if (set_costs(own, o->program, e) < 0)
        return -1;
    set_loads(o, own, loads);
    set_needs(o, NULL);
    port_contention_set(&o->links, o->program, true);
    if (program_run(o->program, e) < 0)
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
    /* The GPU profile's figures count where the recording shows nothing. */
    for (int b = 0; b < OVERLAP_BOUNDS; b++) {
        struct overlap_shown *s = &o->shown[b];
        s->from_profile = s->pairs < OVERLAP_PAIRS_MIN;
        if (s->from_profile)
            s->factor = overlap_figure(own->to.gpu, (enum overlap_bound)b);
    }
    for (uint32_t k = 0; k < o->kinds.count; k++) {
        if (!o->kind_shown[k])
            o->kind_factors[k] = o->shown[overlap_bound_of(needs[k])].factor;
    }
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
