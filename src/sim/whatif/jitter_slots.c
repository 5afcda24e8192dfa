/* SPDX-License-Identifier: MIT
 *
 * Which costs of the program are the same operation in the iterations of its rank.
 */
#include "sim/whatif/random.h"
#include "sim/whatif/whatif_job.h"

#include <stdlib.h>

/* Costs of a rank in one iteration, counted: computation and transfers apart. */
struct counter {
    uint32_t *count; /* [K] */
    uint32_t first;  /* slot of the first */
    uint32_t usual;  /* how many most iterations have */
};

struct slot_counters {
    struct counter *list; /* [2 * nranks] */
    uint32_t *counts;
    uint32_t *latest; /* [nranks] iteration of the rank's operation before */
    uint32_t k;       /* iterations */
};

static struct counter *counter_of(struct slot_counters *c, const struct program_cost *cost)
{
    return &c->list[2 * cost->rank + (cost->match != PROGRAM_NONE)];
}

static uint32_t iteration_of(const struct whatif *v, struct slot_counters *c,
                             const struct program_cost *cost)
{
    if (cost->op != PROGRAM_NONE)
        c->latest[cost->rank] = v->steps->ranks[cost->rank].of[cost->op];
    return c->latest[cost->rank];
}

/* The count that most warm iterations have: the median. */
static uint32_t usual_count(const struct counter *c, uint32_t k)
{
    double *list = array_new(k, sizeof *list);
    uint32_t usual;
    for (uint32_t i = 1; i < k; i++)
        list[i - 1] = c->count[i];
    random_sort(list, k - 1);
    usual = k > 1 ? (uint32_t)list[(k - 1) / 2] : 0;
    free(list);
    return usual;
}

static void number_slots(struct whatif *v, struct slot_counters *c, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        c->list[i].usual = usual_count(&c->list[i], c->k);
        c->list[i].first = v->nslots;
        v->nslots += c->list[i].usual;
    }
}

void jitter_assign_slots(struct whatif *v)
{
    const struct program *p = v->program;
    struct slot_counters c = {.k = v->steps->count};
    size_t nranks = p->run->nranks;
    v->of = array_new(p->ncosts, sizeof *v->of);
    c.list = array_new(2 * nranks, sizeof *c.list);
    c.counts = array_new(2 * nranks * c.k, sizeof *c.counts);
    c.latest = array_new(nranks, sizeof *c.latest);
    for (size_t i = 0; i < 2 * nranks; i++)
        c.list[i].count = c.counts + i * c.k;
    for (size_t r = 0; r < nranks; r++)
        c.latest[r] = STEP_NONE;
    for (size_t i = 0; i < p->ncosts; i++) {
        uint32_t k = iteration_of(v, &c, &p->costs[i]);
        v->of[i] = (struct jitter_slot){JITTER_NONE, k};
        if (k < c.k)
            v->of[i].slot = counter_of(&c, &p->costs[i])->count[k]++;
    }
    number_slots(v, &c, 2 * nranks);
    for (size_t i = 0; i < p->ncosts; i++) {
        const struct counter *at = counter_of(&c, &p->costs[i]);
        if (v->of[i].slot == JITTER_NONE)
            continue;
        v->of[i].slot =
            at->count[v->of[i].iteration] == at->usual ? at->first + v->of[i].slot : JITTER_NONE;
    }
    free(c.list);
    free(c.counts);
    free(c.latest);
}
