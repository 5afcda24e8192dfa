/* SPDX-License-Identifier: MIT */
#include "comm_cases.h"

#include "test.h"

#include <math.h>

#define MAX_RANKS 16384

/* xorshift: explicit seed, the same numbers everywhere. */
static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Every order of magnitude as often as any other: 2^a <= result < 2^(b+1). */
static uint64_t some_power(uint64_t *state, unsigned a, unsigned b)
{
    uint64_t unit = (uint64_t)1 << (a + next_random(state) % (b - a + 1));
    return unit + next_random(state) % unit;
}

/* Half of them powers of two. */
static uint64_t some_number(uint64_t *state, unsigned a, unsigned b)
{
    if (next_random(state) % 2 == 0)
        return (uint64_t)1 << (a + next_random(state) % (b - a + 1));
    return some_power(state, a, b);
}

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

/* Filled node after node, or so many ranks on each. */
static struct layout some_layout(const struct network_profile *net, uint64_t *state)
{
    int most = (int)net->gpus_per_node;
    int ranks = smaller(MAX_RANKS, (int)some_number(state, 0, 14));
    int per_node = 1 + (int)(next_random(state) % (uint64_t)most);
    if (!(net->nics_per_node >= 1) && !(net->domain_gpus > most))
        return layout_dense(net, smaller(ranks, most));
    if (next_random(state) % 2 == 0)
        return layout_dense(net, ranks);
    per_node = smaller(per_node, ranks);
    return (struct layout){ranks, ranks / per_node + (ranks % per_node != 0), per_node};
}

static struct comm_case some_case(const struct gpu_profile *gpu, const struct network_profile *net,
                                  uint64_t *state)
{
    return (struct comm_case){
        .gpu = gpu,
        .net = net,
        .op = (enum specter_comm_op)(next_random(state) % COMM_OPS),
        .bytes = (double)some_number(state, 0, 36),
        .where = some_layout(net, state),
    };
}

static void see_pair(const struct gpu_profile *gpu, const struct network_profile *net, int count,
                     uint64_t *state,
                     void (*see)(const struct comm_case *c, const struct comm_cost *cost,
                                 const struct comm_choice *choice))
{
    for (int i = 0; i < count; i++) {
        struct comm_case c = some_case(gpu, net, state);
        struct comm_choice choice;
        struct comm_cost cost;
        struct err e;
        if (model_collective(gpu, net, c.op, c.bytes, c.where, &cost, &e) < 0) {
            test_fail(__FILE__, __LINE__, "%s by %d ranks on %s, %s: %s",
                      specter_comm_op_name(c.op), c.where.ranks, net->name, gpu->name, e.msg);
            continue;
        }
        choice = (struct comm_choice){cost.algo, cost.proto, cost.channels};
        see(&c, &cost, &choice);
    }
}

void comm_cases_each(int per_pair,
                     void (*see)(const struct comm_case *c, const struct comm_cost *cost,
                                 const struct comm_choice *choice))
{
    uint64_t state = 0x9e3779b97f4a7c15;
    for (size_t g = 0; g < gpu_profile_count; g++) {
        for (size_t n = 0; n < network_profile_count; n++)
            see_pair(&gpu_profiles[g], &network_profiles[n], per_pair, &state, see);
    }
}

double comm_case_us(const struct comm_case *c, const struct comm_choice *choice)
{
    struct comm_cost cost;
    if (model_collective_as(c->gpu, c->net, c->op, c->bytes, c->where, choice, &cost, NULL) < 0)
        return NAN;
    return cost.us;
}

void comm_case_fail(const char *file, int line, const char *law, const struct comm_case *c,
                    const struct comm_choice *choice, double before, double after)
{
    test_fail(file, line,
              "%s: %s of %.0f B by %d ranks on %d nodes (%d a node) of %s, %s, as %s %s on %d "
              "channels: %.9g us, then %.9g us",
              law, specter_comm_op_name(c->op), c->bytes, c->where.ranks, c->where.nodes,
              c->where.per_node, c->net->name, c->gpu->name, choice->algo, choice->proto,
              choice->channels, before, after);
}
