/* SPDX-License-Identifier: MIT */
#include "sim/absent_wait.h"

#include <math.h>
#include <stdlib.h>

/* Is it a transfer with a measured time of which some member was not recorded? */
static bool lacks_members(const struct program *p, const struct program_cost *c)
{
    const struct match *match = c->match == PROGRAM_NONE ? NULL : &p->matches.list[c->match];
    return match != NULL && match->nmembers < match->expected && c->measured_ns > 0;
}

/* By kind: the shortest such transfer; INT64_MAX. */
static int64_t *find_shortest(const struct program *p, const struct kinds *kinds)
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

void absent_wait_find(struct program *p, const struct kinds *kinds, const struct retarget *own)
{
    int64_t *least = find_shortest(p, kinds);
    int64_t *most = array_new(kinds->count, sizeof *most); /* that the model allows a transfer */
    for (uint32_t k = 0; k < kinds->count; k++) {
        struct comm_cost price;
        most[k] = least[k];
        if (least[k] < INT64_MAX && retarget_price(own, &p->costs[kinds->first[k]], &price))
            most[k] = (int64_t)fmin((double)least[k], price.us * 1e3 * ABSENT_MODEL_MAX);
    }
    for (size_t i = 0; i < p->ncosts; i++) {
        struct program_cost *c = &p->costs[i];
        uint32_t kind = kinds->of[i];
        if (!lacks_members(p, c) || c->measured_ns <= most[kind])
            continue;
        p->absent_ns[c->match] = c->measured_ns - most[kind];
        p->doubt_ns[c->match] = least[kind] - most[kind];
        c->measured_ns = most[kind];
    }
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
