/* SPDX-License-Identifier: MIT */
#include "sim/target/retarget.h"

#include "base/order.h"
#include "sim/target/overlap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the shortest of a kind ---- */

/* Returns whether it is a transfer with a measured time of which some member was not recorded. */
static bool lacks_members(const struct program *p, const struct program_cost *c)
{
    const struct match *match = c->match == PROGRAM_NONE ? NULL : &p->matches.list[c->match];
    return match != NULL && match->nmembers < match->expected && c->measured_ns > 0;
}

/* By kind: the shortest such transfer; INT64_MAX. */
static int64_t *find_shortest(const struct program *p, const struct cost_classes *kinds)
{
    int64_t *least = array_new(kinds->count, sizeof *least);
    for (uint32_t k = 0; k < kinds->count; k++)
        least[k] = INT64_MAX;
    for (size_t i = 0; i < p->ncosts; i++) {
        int64_t *shortest = &least[kinds->of[i]];
        if (lacks_members(p, &p->costs[i]) && p->costs[i].measured_ns < *shortest)
            *shortest = p->costs[i].measured_ns;
    }
    return least;
}

/* ---- contention: transfers of one rank beside each other ---- */

/* Communication of a rank with known times, by start. */
struct comm_list {
    uint32_t *op;      /* [n] */
    int64_t *until_ns; /* [n] the latest end so far */
    size_t n;
};

struct contention {
    const struct program *p;
    struct comm_list *lists; /* by rank */
    int64_t *transfer_ns;    /* by match: the shortest of its kind; INT64_MAX */
};

/* The first that begins at t_ns or later. */
static size_t first_behind(const struct comm_list *list, const struct rank *rank, int64_t t_ns)
{
    struct bisect find = {.high = list->n};
    while (bisect_next(&find))
        bisect_take(&find, rank->ops[list->op[find.mid]].start_ns < t_ns);
    return find.low;
}

/* Returns whether both may use the port of the rank in one direction. */
static bool may_share(const struct op *a, const struct op *b)
{
    bool one_way = a->class == OP_P2P && b->class == OP_P2P;
    return (a->stream != b->stream || a->device != b->device) &&
           !(one_way && a->coll.op != b->coll.op);
}

/* Returns how much longer a transfer may have taken because others of its rank used the port: as
 * long as they overlapped it, and no more than each takes by itself. */
static int64_t contention_ns(struct contention *w, const struct program_cost *cost)
{
    const struct rank *rank = &w->p->run->ranks[cost->rank];
    const struct op *op = &rank->ops[cost->op];
    struct comm_list *list = &w->lists[cost->rank];
    int64_t ns = 0;
    int32_t group = -1;
    size_t k;
    if (list->op == NULL) {
        list->op = array_new(rank->nops, sizeof *list->op);
        list->until_ns = array_new(rank->nops, sizeof *list->until_ns);
        for (uint32_t i = 0; i < rank->nops; i++) {
            const struct op *o = &rank->ops[i];
            int64_t before = list->n > 0 ? list->until_ns[list->n - 1] : INT64_MIN;
            if (!op_is_comm(o) || !op_timed(o) || o->start_ns == UNKNOWN_NS)
                continue;
            list->op[list->n] = i;
            list->until_ns[list->n++] = op_end_ns(o) > before ? op_end_ns(o) : before;
        }
    }
    k = first_behind(list, rank, op_end_ns(op));
    while (k-- > 0 && list->until_ns[k] > op->start_ns) {
        const struct op *other = &rank->ops[list->op[k]];
        uint32_t match = w->p->ranks[cost->rank].match[list->op[k]];
        int64_t from = other->start_ns > op->start_ns ? other->start_ns : op->start_ns;
        int64_t beside =
            (op_end_ns(other) < op_end_ns(op) ? op_end_ns(other) : op_end_ns(op)) - from;
        int64_t alone = match != PROGRAM_NONE ? w->transfer_ns[match] : other->dur_ns;
        bool again = group >= 0 && other->coll.group == group; /* one kernel, with one time */
        group = other->coll.group;
        if (beside > 0 && !again && may_share(op, other))
            ns += beside < alone ? beside : alone;
    }
    return ns;
}

/* ---- all ---- */

void absent_wait_find(struct program *p, const struct cost_classes *kinds,
                      const struct retarget *own)
{
    int64_t *least = find_shortest(p, kinds);
    int64_t *most = array_new(kinds->count, sizeof *most); /* that the model allows a transfer */
    struct contention contention = {.p = p};
    for (uint32_t k = 0; k < kinds->count; k++) {
        struct comm_cost price;
        most[k] = least[k];
        if (least[k] < INT64_MAX && retarget_price(own, &p->costs[kinds->first[k]], &price))
            most[k] = (int64_t)fmin((double)least[k], price.us * 1e3 * ABSENT_MODEL_MAX);
    }
    contention.lists = array_new(p->run->nranks, sizeof *contention.lists);
    contention.transfer_ns = array_new(p->matches.count, sizeof *contention.transfer_ns);
    for (size_t i = 0; i < p->matches.count; i++)
        contention.transfer_ns[i] = INT64_MAX;
    for (size_t i = 0; i < p->ncosts; i++) {
        if (p->costs[i].match != PROGRAM_NONE)
            contention.transfer_ns[p->costs[i].match] = least[kinds->of[i]];
    }
    for (size_t i = 0; i < p->ncosts; i++) {
        struct program_cost *c = &p->costs[i];
        const struct op *op;
        uint32_t kind = kinds->of[i];
        int64_t wait_ns, taken_ns = 0;
        if (!lacks_members(p, c) || c->measured_ns <= most[kind])
            continue;
        wait_ns = c->measured_ns - least[kind];
        op = &p->run->ranks[c->rank].ops[c->op];
        if (wait_ns > 0 && op->start_ns != UNKNOWN_NS && op_timed(op))
            taken_ns = contention_ns(&contention, c);
        wait_ns -= taken_ns < wait_ns ? taken_ns : wait_ns;
        p->doubt_ns[c->match] = least[kind] - most[kind];
        p->absent_ns[c->match] = wait_ns + p->doubt_ns[c->match];
        c->measured_ns -= p->absent_ns[c->match];
    }
    for (size_t r = 0; r < p->run->nranks; r++) {
        free(contention.lists[r].op);
        free(contention.lists[r].until_ns);
    }
    free(contention.lists);
    free(contention.transfer_ns);
    free(least);
    free(most);
}

double absent_wait_ratio(const struct retarget *t)
{
    static const enum cost_rule rules[] = {COST_GEMM, COST_KERNEL, COST_GRAPH, COST_MEMORY};
    double from_ns = 0, to_ns = 0;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        from_ns += t->sums[rules[i]].measured_ns;
        to_ns += t->sums[rules[i]].target_ns;
    }
    return from_ns > 0 && to_ns > 0 ? to_ns / from_ns : 1;
}

void absent_wait_apply(struct program *p, const struct retarget *t)
{
    double ratio = absent_wait_ratio(t);
    for (uint32_t i = 0; i < p->matches.count; i++)
        program_set_wait(p, i, llround((double)p->absent_ns[i] * ratio));
}
