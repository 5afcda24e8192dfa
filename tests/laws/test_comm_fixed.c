/* SPDX-License-Identifier: MIT
 *
 * Laws of communication for a fixed algorithm, protocol, number of channels and layout. Between two
 * choices time may jump, as NCCL's does (test_comm_choice.c).
 */
#include "comm_cases.h"
#include "model/cost.h"
#include "model/nccl_graph.h"
#include "test.h"

#include <math.h>
#include <string.h>

#define CASES 40 /* of each pair of profiles */

static void check_sane(const struct comm_case *c, const struct comm_cost *cost,
                       const struct comm_choice *choice)
{
    double bound =
        comm_bound(c->gpu, c->net, c->op, c->bytes, c->where, comm_in_switch(cost->algo)).us;
    if (!(isfinite(cost->us) && cost->us > 0 && cost->lat_us >= 0 && cost->bw_GBps >= 0 &&
          isfinite(cost->bw_GBps)))
        comm_case_fail(__FILE__, __LINE__, "finite and positive", c, choice, cost->lat_us,
                       cost->us);
    CHECK_NOT_LESS("never less than its latency", c, choice, cost->lat_us, cost->us);
    CHECK_NOT_LESS("never faster than links and memory", c, choice, bound, cost->us);
}

TEST(comm_fixed_time_is_finite_and_within_the_bounds)
{
    comm_cases_each(4 * CASES, check_sane);
}

/* Checks an operation's load on memory, links and multiprocessors against its bytes and time. */
static void check_taken(const struct comm_case *c, const struct comm_cost *cost,
                        const struct comm_choice *choice)
{
    struct comm_bound bound =
        comm_bound(c->gpu, c->net, c->op, c->bytes, c->where, comm_in_switch(cost->algo));
    double bytes = comm_memory_bytes(c->op, cost->algo, c->bytes, c->where.ranks);
    CHECK_NOT_LESS("no less of the memory than must be read and written", c, choice,
                   bound.memory_us * c->gpu->mem_GBps * 1e3, bytes);
    CHECK_NOT_LESS("never longer on the fabric than it takes", c, choice, cost->link_us, cost->us);
    CHECK_NOT_LESS("never longer on the NICs than it takes", c, choice, cost->nic_us, cost->us);
    if (cost->channels > c->gpu->sms)
        comm_case_fail(__FILE__, __LINE__, "a multiprocessor for each channel", c, choice,
                       c->gpu->sms, cost->channels);
}

TEST(comm_fixed_loads_are_possible)
{
    comm_cases_each(4 * CASES, check_taken);
}

static void check_same(const struct comm_case *c, const struct comm_cost *cost,
                       const struct comm_choice *choice)
{
    double us = comm_case_us(c, choice);
    if (!(fabs(us - cost->us) <= 1e-9 * cost->us))
        comm_case_fail(__FILE__, __LINE__, "the choice that was made, forced", c, choice, cost->us,
                       us);
}

TEST(comm_fixed_choice_costs_what_it_cost_chosen)
{
    comm_cases_each(CASES, check_same);
}

static void check_bytes(const struct comm_case *c, const struct comm_cost *cost,
                        const struct comm_choice *choice)
{
    static const double factors[] = {1, 1.001, 1.5, 2, 16};
    double before = cost->us;
    for (size_t i = 0; i < sizeof factors / sizeof *factors; i++) {
        struct comm_case more = *c;
        double us;
        more.bytes = ceil(c->bytes * factors[i]) + 1;
        us = comm_case_us(&more, choice);
        CHECK_NOT_LESS("more bytes", &more, choice, before, us);
        before = us;
    }
}

TEST(comm_fixed_time_never_falls_with_bytes)
{
    comm_cases_each(CASES, check_bytes);
}

/* GPUs that only the network joins to others: of a node, or of an NVLink domain. */
static int domain_of(const struct network_profile *net)
{
    return (int)fmax(net->gpus_per_node, net->domain_gpus);
}

/* Of what each rank sends to all others, less stays in its node when there are more nodes: where a
 * node's PCIe is slower than its NICs, that is faster. */
static bool may_be_faster_outside(const struct comm_case *c, const struct comm_choice *choice)
{
    return strcmp(choice->algo, "p2p") == 0 && strncmp(c->net->intra, "pcie", 4) == 0;
}

/* A message to each rank has a block of its own, in which LL moves 5.8 GB/s: more and smaller
 * messages are faster, and measured times do fall (AlltoAll, H100, 64 KiB: 12.0 us by 2 ranks, 9.6
 * by 4, 8.7 by 8). */
static bool bound_by_blocks(const struct comm_choice *choice)
{
    return strcmp(choice->algo, "p2p") == 0 && strcmp(choice->proto, "LL") == 0;
}

/* Twice as many nodes (NVLink domains), all as full as before. (More ranks on a node have more
 * NICs, and in a mesh more links: they may be faster.) */
static void check_nodes(const struct comm_case *c, const struct comm_cost *cost,
                        const struct comm_choice *choice)
{
    struct comm_case more = *c;
    int trays = domain_of(c->net) / (int)c->net->gpus_per_node;
    if (c->where.nodes < 2 * trays || c->where.nodes % trays != 0 ||
        c->where.ranks != c->where.nodes * c->where.per_node || may_be_faster_outside(c, choice) ||
        bound_by_blocks(choice))
        return;
    more.where.nodes *= 2;
    more.where.ranks *= 2;
    CHECK_NOT_LESS("more nodes", &more, choice, cost->us, comm_case_us(&more, choice));
}

TEST(comm_fixed_time_never_falls_with_nodes)
{
    comm_cases_each(2 * CASES, check_nodes);
}

/* In one node behind a switch. Not of NVLS: there a GPU sends all of S to the switch and its own
 * part of the sum once more, S (1 + 1/n), and measured times do fall (H100, 256 MiB: 1181 us by 4
 * ranks, 1092 us by 8). */
static void check_ranks(const struct comm_case *c, const struct comm_cost *cost,
                        const struct comm_choice *choice)
{
    struct comm_case more = *c;
    if (c->where.nodes > 1 || c->where.ranks < 2 || strcmp(c->net->intra, "nvswitch") != 0 ||
        c->where.ranks >= c->net->gpus_per_node || strcmp(choice->algo, "nvls") == 0 ||
        bound_by_blocks(choice))
        return;
    more.where.ranks = more.where.per_node = c->where.ranks + 1;
    CHECK_NOT_LESS("more ranks", &more, choice, cost->us, comm_case_us(&more, choice));
}

TEST(comm_fixed_time_never_falls_with_ranks_behind_a_switch)
{
    comm_cases_each(4 * CASES, check_ranks);
}

/* ---- worse hardware ---- */

/* A factor that makes a quantity worse: times longer, rates and shares lower. 1: no law holds (a
 * count of GPUs or of NICs changes the layout). */
static double worse_factor(const char *name, const char *unit)
{
    if (strcmp(unit, "us") == 0 || strcmp(name, "oversubscription") == 0)
        return 1.5;
    if (strcmp(unit, "GB/s") == 0 || strcmp(unit, "Gb/s") == 0 || strstr(name, "efficiency") ||
        strstr(name, "_share"))
        return 2.0 / 3;
    return 1;
}

static struct nccl_graphs graphs_of(const struct comm_case *c)
{
    struct nccl_graphs graphs;
    struct nccl_topo topo;
    nccl_topo_of(c->gpu, c->net, &topo);
    nccl_graphs_find(&topo, nccl_layout(c->net, c->where), &graphs);
    return graphs;
}

/* NCCL's search may cover more NICs with slower channels: then the layout of the channels is
 * another one, and so is what it carries. */
static bool same_search(const struct nccl_graphs *x, const struct comm_case *c)
{
    struct nccl_graphs y = graphs_of(c);
    return x->ring.channels == y.ring.channels && x->tree.channels == y.tree.channels &&
           x->nvls.channels == y.nvls.channels && x->collnet.channels == y.collnet.channels;
}

static int compared, searched_anew;

static void check_worse(const char *name, const struct nccl_graphs *before,
                        const struct comm_case *worse, const struct comm_cost *cost,
                        const struct comm_choice *choice)
{
    if (!same_search(before, worse)) {
        searched_anew++;
        return;
    }
    CHECK_NOT_LESS(name, worse, choice, cost->us, comm_case_us(worse, choice));
}

/* Returns whether the profile is another one then: what it does not tell, as 0, stays so. */
static bool scale(void *profile, size_t offset, double factor)
{
    double value;
    memcpy(&value, (char *)profile + offset, sizeof value);
    value *= factor;
    memcpy((char *)profile + offset, &value, sizeof value);
    return value != 0;
}

static void check_fields(const struct comm_case *c, const struct comm_cost *cost,
                         const struct comm_choice *choice)
{
    const struct nccl_graphs before = graphs_of(c);
    for (size_t i = 0; i < network_field_count; i++) {
        const struct profile_field *f = &network_fields[i];
        double factor = worse_factor(f->name, f->unit);
        struct network_profile net = *c->net;
        struct comm_case worse = *c;
        compared++;
        worse.net = &net;
        if (factor != 1 && scale(&net, f->offset, factor))
            check_worse(f->name, &before, &worse, cost, choice);
    }
    for (size_t i = 0; i < gpu_field_count; i++) {
        const struct profile_field *f = &gpu_fields[i];
        double factor = worse_factor(f->name, f->unit);
        struct gpu_profile gpu = *c->gpu;
        struct comm_case worse = *c;
        compared++;
        worse.gpu = &gpu;
        if (factor != 1 && scale(&gpu, f->offset, factor))
            check_worse(f->name, &before, &worse, cost, choice);
    }
}

TEST(comm_fixed_time_never_falls_with_worse_hardware)
{
    compared = searched_anew = 0;
    comm_cases_each(CASES / 2, check_fields);
    CHECK(searched_anew < compared / 20);
}

/* The fitted parameters that a profile would hold of its own. */
static void check_params(const struct comm_case *c, const struct comm_cost *cost,
                         const struct comm_choice *choice)
{
    const struct nccl_graphs before = graphs_of(c);
    struct network_profile own = *c->net;
    own.node = params_node(c->gpu, c->net);
    own.net = params_net(c->net);
    struct comm_case same = *c;
    same.net = &own;
    check_worse("the same parameters", &before, &same, cost, choice);
    for (int group = PARAMS_NODE; group <= PARAMS_NET; group++) {
        const struct param_table *table = &param_tables[group];
        for (size_t i = 0; i < table->count; i++) {
            const struct param *p = &table->params[i];
            struct network_profile net = own;
            struct comm_case worse = *c;
            double *value =
                param_at(group == PARAMS_NODE ? (void *)&net.node : (void *)&net.net, p);
            if (worse_factor(p->name, p->unit) == 1 || *value == 0)
                continue;
            *value *= worse_factor(p->name, p->unit);
            worse.net = &net;
            check_worse(p->name, &before, &worse, cost, choice);
        }
    }
}

TEST(comm_fixed_time_never_falls_with_worse_parameters)
{
    comm_cases_each(CASES / 2, check_params);
}
