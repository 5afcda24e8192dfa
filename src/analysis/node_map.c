/* SPDX-License-Identifier: MIT */
#include "analysis/node_map.h"

#include "base/order.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int by_host(const void *x, const void *y)
{
    const struct rank *a = *(const struct rank *const *)x, *b = *(const struct rank *const *)y;
    int order = strcmp(a->host, b->host);
    return order != 0 ? order : ORDER(a->rank, b->rank);
}

/* Numbers the known hosts as nodes. Returns how many ranks the fullest of them holds. */
static int number_hosts(struct node_map *p, const struct run *run)
{
    const struct rank **ranks = array_new(run->nranks + 1, sizeof *ranks);
    int fullest = 0, held = 0, node = -1;
    for (size_t r = 0; r < run->nranks; r++)
        ranks[r] = &run->ranks[r];
    qsort(ranks, run->nranks, sizeof *ranks, by_host);
    for (size_t r = 0; r < run->nranks; r++) {
        if (ranks[r]->host[0] == '\0')
            continue;
        if (node < 0 || strcmp(ranks[r]->host, ranks[r - 1]->host) != 0) {
            node++;
            held = 0;
        }
        if (ranks[r]->rank >= 0 && ranks[r]->rank < p->world)
            p->node[ranks[r]->rank] = node;
        fullest = ++held > fullest ? held : fullest;
    }
    free(ranks);
    return fullest;
}

/* The node of a member; -1 unknown. Of a communicator as large as the job all ranks are members,
 * in whichever order. */
static int node_of_member(const struct node_map *p, const struct comm *c, int i)
{
    int r = c->size == p->world ? i : c->ranks[i];
    return r >= 0 && r < p->world ? p->node[r] : -1;
}

/* Returns the nodes of a communicator's members; unknown where a member's node is. held [world] is
 * room for counts, zero before and after. */
static struct comm_nodes count_members(const struct node_map *p, const struct comm *c, int *held)
{
    static const struct comm_nodes unknown = {.across = NAN}, alone = {.nodes = 1, .per_node = 1};
    struct comm_nodes counted = {.nodes = 0};
    double together = 0; /* ordered pairs on one node */
    bool known = true;
    if (c->size == 1)
        return alone;
    for (int i = 0; i < c->size && known; i++)
        known = node_of_member(p, c, i) >= 0;
    if (!known || c->size < 1)
        return unknown;
    for (int i = 0; i < c->size; i++)
        held[node_of_member(p, c, i)]++;
    for (int i = 0; i < c->size; i++) {
        int node = node_of_member(p, c, i), n = held[node];
        held[node] = 0;
        counted.nodes += n > 0;
        counted.per_node = n > counted.per_node ? n : counted.per_node;
        together += (double)n * (n - 1);
    }
    counted.across = 1 - together / ((double)c->size * (c->size - 1));
    return counted;
}

/* Returns whether no communicator has another number of nodes by NCCL's count. */
static bool agrees_with_nccl(const struct node_map *p, const struct run *run, int *held)
{
    for (size_t i = 0; i < run->ncomms; i++) {
        const struct comm *c = &run->comms[i];
        struct comm_nodes counted;
        if (c->nodes <= 0 || c->nodes > c->size)
            continue;
        counted = count_members(p, c, held);
        if (counted.nodes > 0 && counted.nodes != c->nodes)
            return false;
    }
    return true;
}

/* Returns whether full nodes in order would put the ranks of one host together, and no others; also
 * true where no host is known. block [world] is room for each host's node + 1, zero before and
 * after. */
static bool hosts_are_blocks(const struct node_map *p, int per_node, int *block)
{
    bool fit = true;
    int last = -1;
    for (int r = 0; r < p->world && fit; r++) {
        int host = p->node[r], node = r / per_node + 1;
        if (host < 0)
            continue;
        fit = block[host] == node || (block[host] == 0 && node > last);
        block[host] = last = node;
    }
    for (int r = 0; r < p->world; r++) {
        if (p->node[r] >= 0)
            block[p->node[r]] = 0;
    }
    return fit;
}

static void forget_hosts(struct node_map *p)
{
    for (int r = 0; r < p->world; r++)
        p->node[r] = -1;
    p->by = NODE_MAP_UNKNOWN;
}

static bool all_known(const struct node_map *p)
{
    for (int r = 0; r < p->world; r++) {
        if (p->node[r] < 0)
            return false;
    }
    return true;
}

/* 0 where the node of a rank is not known. */
static int count_nodes(const struct node_map *p)
{
    int nodes = 0;
    for (int r = 0; r < p->world; r++)
        nodes = p->node[r] >= nodes ? p->node[r] + 1 : nodes;
    return all_known(p) ? nodes : 0;
}

static void find_nodes(struct node_map *p, const struct run *run, const struct network_profile *net,
                       int *held)
{
    int fullest = number_hosts(p, run);
    int gpus = run->nranks > 0 ? run->ranks[0].host_gpus : 0; /* where all traces tell as many */
    bool crowded = net != NULL && fullest > net->gpus_per_node;
    if (fullest > 0 && !crowded && agrees_with_nccl(p, run, held))
        p->by = NODE_MAP_HOSTS;
    else
        forget_hosts(p);
    if (p->by == NODE_MAP_HOSTS && all_known(p))
        return;
    for (size_t r = 1; r < run->nranks; r++) {
        if (run->ranks[r].host_gpus != run->ranks[0].host_gpus)
            gpus = 0;
    }
    if (gpus == 1 && strcmp(run->format, "kineto") == 0)
        gpus = 0; /* what the process sees (CUDA_VISIBLE_DEVICES), which may be one of many */
    if (gpus == 0 && crowded)
        gpus = (int)net->gpus_per_node;
    if (gpus < 1 || !hosts_are_blocks(p, gpus, held))
        return;
    for (int r = 0; r < p->world; r++)
        p->node[r] = r / gpus;
    p->by = NODE_MAP_LAYOUT;
    p->per_node = gpus;
    if (!agrees_with_nccl(p, run, held))
        forget_hosts(p);
}

void node_map_init(struct node_map *p, const struct run *run, const struct network_profile *net)
{
    int *held;
    *p = (struct node_map){.world = run->world_size};
    for (size_t r = 0; r < run->nranks; r++)
        p->world = run->ranks[r].rank >= p->world ? run->ranks[r].rank + 1 : p->world;
    if (p->world < 0 || p->world > RUN_RANKS_MAX)
        p->world = 0; /* damage */
    p->node = array_new((size_t)p->world + 1, sizeof *p->node);
    p->comms = array_new(run->ncomms + 1, sizeof *p->comms);
    held = array_new((size_t)p->world + run->nranks + 1, sizeof *held);
    forget_hosts(p);
    find_nodes(p, run, net, held);
    p->nodes = count_nodes(p);
    for (size_t i = 0; i < run->ncomms; i++) {
        const struct comm *c = &run->comms[i];
        struct comm_nodes *of = &p->comms[i];
        *of = count_members(p, c, held);
        if (c->nodes <= 0 || c->nodes > c->size || of->nodes == c->nodes)
            continue;
        of->nodes = c->nodes; /* NCCL's number is believed before the counted one */
        of->per_node = (c->size + c->nodes - 1) / c->nodes;
        of->across = 0;
        if (c->nodes > 1)
            of->across = (c->size - (double)c->size / c->nodes) / (c->size - 1);
    }
    free(held);
}

void node_map_release(struct node_map *p)
{
    free(p->node);
    free(p->comms);
    memset(p, 0, sizeof *p);
}

int node_map_across(const struct node_map *p, const struct run *run, int a, int b, int32_t comm)
{
    if (comm >= 0 && (size_t)comm < run->ncomms) {
        const struct comm_nodes *comm_nodes = &p->comms[comm];
        if (comm_nodes->nodes == 1)
            return 0;
        if (comm_nodes->nodes > 1 && comm_nodes->nodes == run->comms[comm].size)
            return a != b;
    }
    if (a < 0 || b < 0 || a >= p->world || b >= p->world || p->node[a] < 0 || p->node[b] < 0)
        return -1;
    return p->node[a] != p->node[b];
}

bool node_map_layout(const struct node_map *p, const struct run *run, int32_t comm,
                     struct layout *out)
{
    if (comm < 0 || (size_t)comm >= run->ncomms || p->comms[comm].nodes <= 0)
        return false;
    *out = (struct layout){run->comms[comm].size, p->comms[comm].nodes, p->comms[comm].per_node};
    return out->ranks > 0;
}
