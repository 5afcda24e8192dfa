/* SPDX-License-Identifier: MIT */
#include "sim/grow.h"

#include <stdlib.h>
#include <string.h>

static int by_number(const void *pa, const void *pb)
{
    int a, b;
    memcpy(&a, pa, sizeof a);
    memcpy(&b, pb, sizeof b);
    return (a > b) - (a < b);
}

/* The members in order, or NULL when one of them is not known. */
static int *sort_members(const struct comm *comm)
{
    int *sorted;
    for (int i = 0; i < comm->size; i++) {
        if (comm->ranks[i] < 0)
            return NULL;
    }
    sorted = malloc((size_t)(comm->size > 0 ? comm->size : 1) * sizeof *sorted);
    if (sorted == NULL)
        die("out of memory");
    for (int i = 0; i < comm->size; i++)
        sorted[i] = comm->ranks[i];
    qsort(sorted, (size_t)comm->size, sizeof *sorted, by_number);
    return sorted;
}

static enum grow_rule rule_of(const struct comm *comm, const int *sorted, int world)
{
    if (comm->size >= world)
        return GROW_WORLD;
    if (comm->size <= 1)
        return STAY_ALONE;
    if (sorted == NULL)
        return STAY_UNKNOWN;
    return sorted[comm->size - 1] - sorted[0] == comm->size - 1 ? STAY_ADJACENT : GROW_STRIDED;
}

void growth_make(struct growth *g, const struct run *run)
{
    size_t n = run->ncomms > 0 ? run->ncomms : 1;
    *g = (struct growth){.run = run};
    g->world = run->world_size > (int)run->nranks ? run->world_size : (int)run->nranks;
    g->rule = calloc(n, sizeof *g->rule);
    g->sorted = calloc(n, sizeof *g->sorted);
    if (g->rule == NULL || g->sorted == NULL)
        die("out of memory");
    for (size_t c = 0; c < run->ncomms; c++) {
        g->sorted[c] = sort_members(&run->comms[c]);
        g->rule[c] = (uint8_t)rule_of(&run->comms[c], g->sorted[c], g->world);
    }
}

void growth_release(struct growth *g)
{
    for (size_t c = 0; g->sorted != NULL && c < g->run->ncomms; c++)
        free(g->sorted[c]);
    free(g->sorted);
    free(g->rule);
    memset(g, 0, sizeof *g);
}

bool growth_grows(const struct growth *g, int comm)
{
    return g->rule[comm] == GROW_WORLD || g->rule[comm] == GROW_STRIDED;
}

bool growth_any(const struct growth *g)
{
    for (size_t c = 0; c < g->run->ncomms; c++) {
        if (growth_grows(g, (int)c))
            return true;
    }
    return false;
}

static int gpus_per_node(const struct network_profile *net)
{
    return net->gpus_per_node >= 1 ? (int)net->gpus_per_node : 1;
}

int growth_check(const struct growth *g, const struct network_profile *net, int64_t scale,
                 struct err *e)
{
    if (scale < 1)
        return err_set(e, ERR_USAGE, "scale %lld: the smallest is 1", (long long)scale);
    if (scale > GROW_GPUS_MAX / g->world)
        return err_set(e, ERR_USAGE, "scale %lld: %d ranks times that is more than %d GPUs",
                       (long long)scale, g->world, GROW_GPUS_MAX);
    if (g->world * scale > gpus_per_node(net) && !(net->nics_per_node >= 1))
        return err_set(
            e, ERR_USAGE,
            "scale %lld needs %lld GPUs, but network '%s' is a single node of %d: it has "
            "no NIC",
            (long long)scale, (long long)(g->world * scale), net->name, gpus_per_node(net));
    return 0;
}

static int common_divisor(int a, int b)
{
    while (b != 0) {
        int rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Adds the nodes that the first `replicas` copies of the members occupy. */
static void count_nodes(struct layout *where, const int *sorted, int n, int replicas, int world,
                        int per_node)
{
    int64_t node = -1;
    int here = 0;
    for (int64_t i = 0; i < (int64_t)replicas * n; i++) {
        int64_t next = (sorted[i % n] + i / n * world) / per_node;
        where->nodes += next != node;
        here = next == node ? here + 1 : 1;
        node = next;
        if (here > where->per_node)
            where->per_node = here;
    }
}

/* Replicas fill nodes in a pattern that comes again every `period` of them, so that a million costs
 * no more than that. */
struct layout growth_layout(const struct growth *g, int comm, const struct network_profile *net,
                            int64_t scale)
{
    const struct comm *c = &g->run->comms[comm];
    int per_node = gpus_per_node(net), period = per_node / common_divisor(g->world, per_node);
    int copies = growth_grows(g, comm) ? (int)scale : 1;
    struct layout where = {.ranks = c->size * copies}, rest = {0};
    if (g->sorted[comm] == NULL || c->size == 0)
        return layout_dense(net, where.ranks > 0 ? where.ranks : 1);
    if (copies / period > 0)
        count_nodes(&where, g->sorted[comm], c->size, period, g->world, per_node);
    where.nodes *= copies / period;
    count_nodes(&rest, g->sorted[comm], c->size, copies % period, g->world, per_node);
    where.nodes += rest.nodes;
    if (rest.per_node > where.per_node)
        where.per_node = rest.per_node;
    return where;
}
