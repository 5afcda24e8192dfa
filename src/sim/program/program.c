/* SPDX-License-Identifier: MIT */
#include "sim/program/program.h"

#include "base/buf.h"
#include "base/idmap.h"
#include "base/order.h"
#include "sim/program/process.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Broadcast and Reduce around a ring ----
 *
 * Data go one way, from the root past all members or past all
 * members to the root. A member waits for those before it on the way alone; what it sends lies in
 * buffers until the next one takes it. NCCL has eight slots of 512 KiB a channel, sixteen channels
 * and more on links within a node: ONE_WAY_ROOM bytes. More data than that keep all members
 * together, as do operations in groups, and such of which root, size or members are not known.
 *
 * The time of a member once data are there is the transfer's cost, the shortest recorded time of
 * any member (the source never waits). From its end to that of the member after it data take one
 * hop, or more where that one came late; the sum of all hops is the fill. Hops of members that
 * waited for data count as they are, those of others at most as the mean of these, or as the
 * shortest. */

#define ONE_WAY_ROOM (UINT64_C(64) << 20)

/* ---- places ---- */

/* Returns the operation's position in the chain; -1: not known, or in none. */
static int64_t place_of(const struct program *p, const struct match *match, struct match_member m)
{
    const struct rank *rank = &p->run->ranks[m.rank];
    const struct op *op = &rank->ops[m.op];
    int64_t n = p->run->comms[match->comm].size, root = op->coll.peer, behind;
    const struct membership *in = rank_member(rank, match->comm);
    int self = in != NULL ? in->rank : -1;
    if (op->coll.group >= 0 || root < 0 || root >= n || self < 0 || self >= n ||
        p->ranks[m.rank].item[m.op] == PROGRAM_NONE || op->timing == SPECTER_TIMING_CAPTURED)
        return -1;
    behind = (self - root + n) % n;
    return match->op == SPECTER_REDUCE ? n - 1 - behind : behind;
}

static int64_t first_place(const struct program *p, const struct match *match)
{
    int64_t first = INT64_MAX;
    for (uint32_t k = 0; k < match->nmembers; k++) {
        int64_t place = place_of(p, match, p->matches.members[match->first + k]);
        if (place < first)
            first = place;
    }
    return first;
}

/* Finds the transfers of the program that go one way, and tells the engine. All ranks are in
 * place. */
static void one_way_find(struct program *p)
{
    for (uint32_t i = 0; i < p->matches.count; i++) {
        const struct match *match = &p->matches.list[i];
        int64_t first = (match->op == SPECTER_BROADCAST || match->op == SPECTER_REDUCE) &&
                                match->consistent && match->bytes > 0 &&
                                match->bytes <= ONE_WAY_ROOM && p->run->comms[match->comm].size > 1
                            ? first_place(p, match)
                            : -1;
        if (first < 0)
            continue;
        p->one_ways[i] = (struct program_one_way){(uint32_t)p->run->comms[match->comm].size - 1,
                                                  (uint32_t)first, UNKNOWN_NS, 0};
        sim_set_one_way(p->sim, i, p->one_ways[i].span);
        for (uint32_t k = 0; k < match->nmembers; k++) {
            struct match_member m = p->matches.members[match->first + k];
            sim_set_place(p->sim, p->ranks[m.rank].item[m.op], (uint32_t)place_of(p, match, m));
        }
    }
}

/* ---- the recorded fill ---- */

#define WAITED 1.02      /* times what it takes when data are there, */
#define WAITED_NS 1000.0 /* and so much: a member has waited for data */

struct one_way_member {
    int64_t place, end_ns;
    bool waited;
};

static int by_place(const void *pa, const void *pb)
{
    const struct one_way_member *a = pa, *b = pb;
    return (a->place > b->place) - (a->place < b->place);
}

static double hop_ns(const struct one_way_member *part)
{
    int64_t ns = part->end_ns - part[-1].end_ns;
    return ns > 0 ? (double)ns : 0;
}

/* The time from one position to the next, of members that waited for data; else the shortest there
 * is. */
static double usual_hop(const struct one_way_member *parts, uint32_t n)
{
    double waited_ns = 0, places = 0, least_ns = HUGE_VAL;
    for (uint32_t k = 1; k < n; k++) {
        double far = fmax((double)(parts[k].place - parts[k - 1].place), 1);
        waited_ns += parts[k].waited ? hop_ns(&parts[k]) : 0;
        places += parts[k].waited ? far : 0;
        least_ns = fmin(least_ns, hop_ns(&parts[k]) / far);
    }
    return places > 0 ? waited_ns / places : least_ns;
}

static double fill_of(const struct one_way_member *parts, uint32_t n)
{
    double usual_ns = usual_hop(parts, n), sum_ns = 0;
    for (uint32_t k = 1; k < n; k++) {
        double far = fmax((double)(parts[k].place - parts[k - 1].place), 1), ns = hop_ns(&parts[k]);
        sum_ns += parts[k].waited ? ns : fmin(ns, usual_ns * far);
    }
    return sum_ns / (double)(parts[n - 1].place - parts[0].place);
}

/* The fill of a transfer all of whose members are timed on one clock, out of the program in which
 * ranks are apart, which has run; tells the engine. */
static void one_way_learn(struct program *p, const struct program *isolated,
                          const struct program_cost *cost)
{
    const struct match *match = &p->matches.list[cost->match];
    struct program_one_way *way = &p->one_ways[cost->match];
    struct one_way_member *parts;
    if (match->nmembers < 2)
        return;
    parts = array_new(match->nmembers, sizeof *parts);
    for (uint32_t k = 0; k < match->nmembers; k++) {
        struct match_member m = p->matches.members[match->first + k];
        struct sim_span span = program_span(isolated, m.rank, m.op);
        double usual_ns = (double)cost->measured_ns;
        parts[k] = (struct one_way_member){place_of(p, match, m), span.end_ns,
                                           (double)(span.end_ns - span.start_ns) >
                                               fmax(WAITED * usual_ns, usual_ns + WAITED_NS)};
    }
    qsort(parts, match->nmembers, sizeof *parts, by_place);
    if (parts[match->nmembers - 1].place - parts[0].place + 1 >= match->nmembers) {
        way->fill_ns = llround(fill_of(parts, match->nmembers) * way->span);
        program_set_fill(p, cost->match, way->fill_ns);
    }
    free(parts);
}

/* ---- transfers ---- */

static uint32_t root_of(const struct program *p, uint32_t match)
{
    while (p->tied[match] != match) {
        p->tied[match] = p->tied[p->tied[match]];
        match = p->tied[match];
    }
    return match;
}

void program_tie(struct program *p, uint32_t match_a, uint32_t match_b)
{
    uint32_t a = root_of(p, match_a), b = root_of(p, match_b);
    if (a < b)
        p->tied[b] = a;
    else
        p->tied[a] = b;
}

/* A transfer for every match, with the same index; and which operation belongs to which. */
static void add_transfers(struct program *p)
{
    if (p->matches.count >= PROGRAM_NONE)
        die("too many collectives to replay");
    p->lag_ns = arena_alloc(&p->arena, p->matches.nmembers * sizeof *p->lag_ns);
    p->absent_ns = arena_alloc(&p->arena, p->matches.count * sizeof *p->absent_ns);
    p->doubt_ns = arena_alloc(&p->arena, p->matches.count * sizeof *p->doubt_ns);
    p->wait_ns = arena_alloc(&p->arena, p->matches.count * sizeof *p->wait_ns);
    p->one_ways = arena_alloc(&p->arena, p->matches.count * sizeof *p->one_ways);
    p->tied = arena_alloc(&p->arena, p->matches.count * sizeof *p->tied);
    for (uint32_t i = 0; i < p->matches.count; i++) {
        const struct match *match = &p->matches.list[i];
        p->tied[i] = i;
        sim_add_transfer(p->sim, 0);
        for (uint32_t k = 0; k < match->nmembers; k++) {
            struct match_member m = p->matches.members[match->first + k];
            p->ranks[m.rank].match[m.op] = i;
        }
    }
}

/* Sets each transfer time: the shortest recorded time of the members. Members of a group share
 * one time, which includes their waits for third parties; so the shortest time of all transfers
 * that are tied together by groups counts. */
static void cost_transfers(struct program *p)
{
    int64_t *least = arena_alloc(&p->arena, p->matches.count * sizeof *least);
    for (uint32_t i = 0; i < p->matches.count; i++)
        least[i] = UNKNOWN_NS;
    for (uint32_t i = 0; i < p->matches.count; i++) {
        int64_t ns = p->matches.list[i].transfer_ns;
        uint32_t root = root_of(p, i);
        if (ns != UNKNOWN_NS && (least[root] == UNKNOWN_NS || ns < least[root]))
            least[root] = ns;
    }
    ARRAY_GROW(p->costs, p->cap_costs, p->ncosts + p->matches.count);
    for (uint32_t i = 0; i < p->matches.count; i++) {
        struct match_member first = p->matches.members[p->matches.list[i].first];
        if (p->run->ranks[first.rank].ops[first.op].timing == SPECTER_TIMING_CAPTURED)
            continue; /* it did not run then */
        p->costs[p->ncosts++] = (struct program_cost){.rank = first.rank,
                                                      .op = first.op,
                                                      .target = i,
                                                      .match = i,
                                                      .measured_ns = least[root_of(p, i)]};
    }
}

/* ---- ranks ---- */

/* The ranks that one process drives, and what it did. */
struct program_process {
    uint32_t *ranks; /* [n] */
    uint32_t n;
    struct host_calls calls;
};

/* list has room for all ranks; how many processes they are. */
static size_t find_processes(struct program *p, struct program_process *list)
{
    const struct run *run = p->run;
    struct idmap seen = {0};
    uint32_t *of = arena_alloc(&p->arena, run->nranks * sizeof *of);
    uint32_t *ranks = arena_alloc(&p->arena, run->nranks * sizeof *ranks);
    size_t n;
    for (size_t r = 0; r < run->nranks; r++) {
        int process = run->ranks[r].process;
        of[r] = idmap_add(&seen, process >= 0 ? process : -1 - (int64_t)r);
        list[of[r]].n++;
    }
    n = seen.count;
    idmap_release(&seen);
    for (size_t i = 0; i < n; i++) {
        list[i].ranks = ranks;
        ranks += list[i].n;
        list[i].n = 0;
    }
    for (uint32_t r = 0; r < run->nranks; r++)
        list[of[r]].ranks[list[of[r]].n++] = r;
    return n;
}

static void place_process(struct program *p, struct program_process *process)
{
    const struct rank **ranks = arena_alloc(&p->arena, process->n * sizeof *ranks);
    for (uint32_t i = 0; i < process->n; i++)
        ranks[i] = &p->run->ranks[process->ranks[i]];
    host_calls_init(&process->calls, ranks, process->n);
    for (uint32_t i = 0; i < process->n; i++) {
        struct program_rank *rank = &p->ranks[process->ranks[i]];
        rank->origin_ns = process->calls.first_ns;
        rank->end_ns = process->calls.last_ns;
        rank->match = arena_alloc(&p->arena, ranks[i]->nops * sizeof *rank->match);
        for (size_t op = 0; op < ranks[i]->nops; op++)
            rank->match[op] = PROGRAM_NONE;
    }
}

/* Ranks whose times can be compared have a zero in common. */
static size_t domain_of(const struct run *run, const struct rank *rank)
{
    return rank->domain > 0 && !run->clock_aligned ? (size_t)rank->domain : 0;
}

/* Processes of one clock, or of clocks that are aligned, keep their offsets; the first of each
 * domain begins at 0, as does one of which no time is known. */
static void place_origins(struct program *p, const struct program_process *list, size_t n)
{
    const struct run *run = p->run;
    size_t ndomains = 1;
    int64_t *zero_ns;
    for (size_t r = 0; r < run->nranks; r++) {
        if (domain_of(run, &run->ranks[r]) >= ndomains)
            ndomains = domain_of(run, &run->ranks[r]) + 1;
    }
    zero_ns = arena_alloc(&p->arena, ndomains * sizeof *zero_ns);
    for (size_t d = 0; d < ndomains; d++)
        zero_ns[d] = INT64_MAX;
    for (size_t i = 0; i < n; i++) {
        int64_t *zero = &zero_ns[domain_of(run, &run->ranks[list[i].ranks[0]])];
        if (list[i].calls.timed && list[i].calls.first_ns < *zero)
            *zero = list[i].calls.first_ns;
    }
    for (size_t i = 0; i < n; i++) {
        int64_t zero = zero_ns[domain_of(run, &run->ranks[list[i].ranks[0]])];
        for (uint32_t k = 0; k < list[i].n && list[i].calls.timed; k++)
            p->ranks[list[i].ranks[k]].begin_ns = list[i].calls.first_ns - zero;
    }
}

static void add_processes(struct program *p, const struct program_process *list, size_t n,
                          int64_t latency_ns)
{
    uint32_t streams = 0, hosts = 0;
    for (size_t i = 0; i < n; i++) {
        const struct program_process *process = &list[i];
        for (uint32_t k = 0; k < process->n; k++) {
            p->ranks[process->ranks[k]].first_host = hosts;
            p->ranks[process->ranks[k]].nhosts = process->calls.nhosts;
        }
        build_process(p, process->ranks, process->n, &process->calls, latency_ns);
        hosts += process->calls.nhosts;
        for (uint32_t k = 0; k < process->n; k++) {
            p->ranks[process->ranks[k]].first_stream = streams;
            streams += (uint32_t)p->ranks[process->ranks[k]].nstreams;
        }
    }
    p->nhosts = hosts;
}

void program_init(struct program *p, const struct run *run, int64_t latency_ns, bool isolated)
{
    program_init_filled(p, run, latency_ns, isolated, NULL, false);
}

void program_init_filled(struct program *p, const struct run *run, int64_t latency_ns,
                         bool isolated, const struct match_standins *standins, bool keeps_all)
{
    struct program_process *list;
    size_t n;
    memset(p, 0, sizeof *p);
    p->run = run;
    p->isolated = isolated;
    p->keeps_all = keeps_all;
    p->sim = sim_new();
    arena_init(&p->arena);
    sim_set_launch_latency(p->sim, latency_ns);
    p->ranks = arena_alloc(&p->arena, run->nranks * sizeof *p->ranks);
    list = arena_alloc(&p->arena, run->nranks * sizeof *list);
    n = find_processes(p, list);
    for (size_t i = 0; i < n; i++)
        place_process(p, &list[i]);
    place_origins(p, list, n);
    matches_make_filled(&p->matches, run, standins);
    add_transfers(p);
    add_processes(p, list, n, latency_ns);
    if (!isolated) {
        cost_transfers(p);
        one_way_find(p);
    }
    for (size_t i = 0; i < n; i++)
        host_calls_release(&list[i].calls);
}

void program_release(struct program *p)
{
    sim_free(p->sim);
    matches_release(&p->matches);
    free(p->costs);
    free(p->syncs);
    free(p->cpu);
    arena_release(&p->arena);
    memset(p, 0, sizeof *p);
}

void program_set_cost(struct program *p, size_t cost, int64_t ns)
{
    struct program_cost *c = &p->costs[cost];
    const struct match *match;
    double ratio;
    c->set_ns = ns;
    if (c->match == PROGRAM_NONE) {
        sim_set_work(p->sim, c->target, ns);
        return;
    }
    sim_set_transfer(p->sim, c->target, ns);
    match = &p->matches.list[c->match];
    ratio = c->measured_ns > 0 ? (double)ns / (double)c->measured_ns : 1;
    for (uint32_t k = 0; k < match->nmembers; k++) {
        struct match_member m = p->matches.members[match->first + k];
        uint32_t item = p->ranks[m.rank].item[m.op], lag_ns = p->lag_ns[match->first + k];
        if (p->set_lag_ns != NULL)
            sim_set_lag(p->sim, item, p->set_lag_ns[match->first + k]);
        else
            sim_set_lag(p->sim, item, ns == c->measured_ns ? lag_ns : llround(lag_ns * ratio));
    }
}

void program_set_cpu(struct program *p, const int64_t *cpu_ns)
{
    for (size_t i = 0; i < p->ncpu;) {
        const uint32_t action = p->cpu[i].action;
        int64_t ns = 0;
        for (; i < p->ncpu && p->cpu[i].action == action; i++)
            ns += cpu_ns != NULL ? cpu_ns[i] : p->cpu[i].ns;
        sim_set_cpu(p->sim, action, ns);
    }
}

void program_set_wait(struct program *p, uint32_t match, int64_t ns)
{
    p->wait_ns[match] = ns;
    sim_set_delay(p->sim, match, ns);
}

void program_set_fill(struct program *p, uint32_t match, int64_t ns)
{
    p->one_ways[match].set_ns = ns;
    sim_set_fill(p->sim, match, ns);
}

void program_measured(struct program *p)
{
    for (size_t i = 0; i < p->ncosts; i++) {
        int64_t ns = p->costs[i].measured_ns;
        program_set_cost(p, i, ns == UNKNOWN_NS ? 0 : ns);
    }
}

struct sim_span program_span(const struct program *p, size_t rank, size_t op)
{
    uint32_t item = p->ranks[rank].item[op];
    return item == PROGRAM_NONE ? (struct sim_span){-1, -1} : sim_span(p->sim, item);
}

/* A member's lag is part of its transfer; members of groups have none, and wait for each other. */
struct sim_span program_moved(const struct program *p, size_t rank, size_t op)
{
    struct sim_span span = program_span(p, rank, op), moved;
    uint32_t match = p->ranks[rank].match[op];
    if (match == PROGRAM_NONE || p->isolated || span.end_ns < 0)
        return (struct sim_span){-1, -1};
    moved = sim_transfer_span(p->sim, match);
    if (sim_moved_from(p->sim, p->ranks[rank].item[op]) >= 0)
        moved.start_ns = sim_moved_from(p->sim, p->ranks[rank].item[op]);
    if (p->run->ranks[rank].ops[op].coll.group < 0)
        moved.end_ns = span.end_ns;
    return moved;
}

/* ---- launch latency ---- */

/* The time by which the recorded host took longer than the simulated one from one synchronisation
 * (or its begin) to the next: the median over those that blocked and that something launched could
 * block; 0 of none. */
static int64_t median_excess(const struct program *p)
{
    int64_t *excess = NULL, median_ns = 0;
    size_t n = 0, cap = 0;
    for (size_t i = 0; i < p->nsyncs; i++) {
        const struct program_sync *sync = &p->syncs[i], *before = sync->first ? NULL : sync - 1;
        int64_t recorded_ns = sync->end_ns - (before ? before->end_ns : 0);
        int64_t begin_ns = before ? sim_mark_time(p->sim, before->after) : sync->base_ns;
        if (!sync->launched || sync->end_ns - sync->start_ns <= sync->cost_ns)
            continue;
        ARRAY_GROW(excess, cap, n + 1);
        excess[n++] = recorded_ns - (sim_mark_time(p->sim, sync->after) - begin_ns);
    }
    if (n > 0) {
        qsort(excess, n, sizeof *excess, order_int64s);
        median_ns = excess[(n - 1) / 2];
    }
    free(excess);
    return median_ns;
}

int64_t program_fit_latency(struct program *isolated, int64_t latency_ns)
{
    int64_t fitted_ns;
    program_measured(isolated);
    sim_run(isolated->sim); /* ranks apart cannot get stuck but on an event that never comes */
    fitted_ns = latency_ns + median_excess(isolated);
    if (fitted_ns == latency_ns || fitted_ns < 0 || fitted_ns > PROGRAM_LATENCY_MAX_NS)
        return latency_ns;
    sim_set_launch_latency(isolated->sim, fitted_ns);
    sim_run(isolated->sim);
    return fitted_ns;
}

/* ---- parts in a transfer ---- */

/* When the last member of the match started, apart; -1 when one of them did not, or is not timed.
 */
static int64_t last_start(const struct program *isolated, const struct match *match)
{
    int64_t last_ns = -1;
    const struct run *run = isolated->run;
    size_t domain = domain_of(run, &run->ranks[isolated->matches.members[match->first].rank]);
    for (uint32_t k = 0; k < match->nmembers; k++) {
        struct match_member m = isolated->matches.members[match->first + k];
        const struct rank *rank = &run->ranks[m.rank];
        struct sim_span span = program_span(isolated, m.rank, m.op);
        if (span.end_ns < 0 || !op_timed(&rank->ops[m.op]) || domain_of(run, rank) != domain)
            return -1;
        if (span.start_ns > last_ns)
            last_ns = span.start_ns;
    }
    return last_ns;
}

/* Of transfers that groups tie, the shortest recorded time is all one's cost at first. The end of a
 * group that is later than that allows (some messages leave the node, and some do not) belongs to
 * those whose members all end so late. */
#define TIED_SLACK 0.1 /* of the cost: what members of one transfer may differ by */

/* By item of the program: when its group is over at these costs. Owned by the caller. */
static int64_t *find_group_ends(const struct program *p, const int64_t *last_ns)
{
    int64_t *over_ns = NULL;
    size_t cap = 0;
    for (size_t i = 0; i < p->ncosts; i++) {
        const struct program_cost *cost = &p->costs[i];
        const struct match *match;
        if (cost->match == PROGRAM_NONE || cost->measured_ns == UNKNOWN_NS)
            continue;
        match = &p->matches.list[cost->match];
        for (uint32_t k = 0; k < match->nmembers; k++) {
            struct match_member m = p->matches.members[match->first + k];
            uint32_t item = p->ranks[m.rank].item[m.op];
            int64_t ns = last_ns[i] < 0 ? INT64_MAX : last_ns[i] + cost->measured_ns;
            if (item == PROGRAM_NONE)
                continue;
            ARRAY_GROW(over_ns, cap, (size_t)item + 1);
            if (ns > over_ns[item])
                over_ns[item] = ns;
        }
    }
    return over_ns;
}

/* Returns what a transfer whose last member started at last_ns took, by the ends of its groups; 0
 * where one of them is over when the costs allow it. */
static int64_t late_ns(const struct program *p, const struct program *isolated,
                       const struct program_cost *cost, const int64_t *over_ns, int64_t last_ns)
{
    const struct match *match = &p->matches.list[cost->match];
    int64_t least_ns = INT64_MAX;
    for (uint32_t k = 0; k < match->nmembers; k++) {
        struct match_member m = p->matches.members[match->first + k];
        uint32_t item = p->ranks[m.rank].item[m.op];
        int64_t end_ns = program_span(isolated, m.rank, m.op).end_ns;
        if (p->run->ranks[m.rank].ops[m.op].coll.group < 0 || item == PROGRAM_NONE ||
            (double)end_ns <= (double)over_ns[item] + TIED_SLACK * (double)cost->measured_ns)
            return 0;
        if (end_ns - last_ns < least_ns)
            least_ns = end_ns - last_ns;
    }
    return least_ns;
}

static void learn_tied(struct program *p, const struct program *isolated)
{
    int64_t *last_ns = array_new(p->ncosts, sizeof *last_ns), *over_ns;
    for (size_t i = 0; i < p->ncosts; i++) {
        const struct program_cost *cost = &p->costs[i];
        const struct match *match =
            cost->match != PROGRAM_NONE ? &p->matches.list[cost->match] : NULL;
        bool is_whole = match != NULL && match->nmembers > 0 && match->nmembers == match->expected;
        last_ns[i] = is_whole ? last_start(isolated, match) : -1;
    }
    over_ns = find_group_ends(p, last_ns);
    for (size_t i = 0; i < p->ncosts; i++) {
        struct program_cost *cost = &p->costs[i];
        int64_t ns;
        if (cost->measured_ns == UNKNOWN_NS || last_ns[i] < 0)
            continue;
        ns = late_ns(p, isolated, cost, over_ns, last_ns[i]);
        if (ns > cost->measured_ns)
            cost->measured_ns = ns;
    }
    free(over_ns);
    free(last_ns);
}

void program_learn(struct program *p, const struct program *isolated)
{
    learn_tied(p, isolated);
    for (size_t i = 0; i < p->ncosts; i++) {
        struct program_cost *cost = &p->costs[i];
        struct match_member first;
        const struct match *match;
        int64_t last_ns, least_ns = INT64_MAX;
        if (cost->match == PROGRAM_NONE || cost->measured_ns == UNKNOWN_NS ||
            p->tied[cost->match] != cost->match)
            continue;
        match = &p->matches.list[cost->match];
        first = p->matches.members[match->first];
        if (p->run->ranks[first.rank].ops[first.op].coll.group >= 0)
            continue; /* it is tied to others: the shortest recorded time stays */
        last_ns = last_start(isolated, match);
        if (p->one_ways[cost->match].span > 0) {
            if (last_ns >= 0)
                one_way_learn(p, isolated, cost);
            continue;
        }
        for (uint32_t k = 0; k < match->nmembers; k++) {
            struct match_member m = p->matches.members[match->first + k];
            int64_t part_ns = program_span(isolated, m.rank, m.op).end_ns - last_ns;
            if (part_ns < least_ns)
                least_ns = part_ns;
        }
        if (last_ns < 0 || least_ns < match->transfer_ns / 2)
            continue;
        cost->measured_ns = least_ns;
        for (uint32_t k = 0; k < match->nmembers; k++) {
            struct match_member m = p->matches.members[match->first + k];
            int64_t lag_ns = program_span(isolated, m.rank, m.op).end_ns - last_ns - least_ns;
            p->lag_ns[match->first + k] = lag_ns > UINT32_MAX ? UINT32_MAX : (uint32_t)lag_ns;
        }
    }
}

/* ---- what waits for what ---- */

#define BLOCKED_SHOWN 4 /* ranks in the message */

struct where {
    size_t rank, op;
};

static bool find_item(const struct program *p, uint32_t item, struct where *out)
{
    for (size_t r = 0; r < p->run->nranks; r++) {
        for (size_t i = 0; i < p->run->ranks[r].nops; i++) {
            *out = (struct where){r, i};
            if (p->ranks[r].item[i] == item)
                return true;
        }
    }
    return false;
}

/* The rank whose streams include `index`. */
static size_t rank_of_stream(const struct program *p, uint32_t index)
{
    size_t r = 0;
    while (r + 1 < p->run->nranks && index - p->ranks[r].first_stream >= p->ranks[r].nstreams)
        r++;
    return r;
}

/* The first rank of the process whose hosts include `index`. */
static size_t rank_of_host(const struct program *p, uint32_t index)
{
    size_t r = 0;
    while (r + 1 < p->run->nranks && index - p->ranks[r].first_host >= p->ranks[r].nhosts)
        r++;
    return r;
}

/* Stream number of the trace. */
static int stream_name(const struct program *p, uint32_t item)
{
    uint32_t stream = sim_item_stream(p->sim, item);
    const struct program_rank *rank = &p->ranks[rank_of_stream(p, stream)];
    return rank->streams[stream - rank->first_stream];
}

static void describe_transfer(const struct program *p, const struct sim_stuck *stuck,
                              struct buf *out)
{
    const struct match *match = &p->matches.list[stuck->on];
    const char *op = specter_comm_op_name((enum specter_comm_op)match->op);
    struct where missing;
    uint32_t n = 0, item;
    buf_printf(out, "%s (communicator '%s', seq %lld) on stream %d waits for", op,
               p->run->comms[match->comm].id, (long long)match->seq, stream_name(p, stuck->who));
    while ((item = sim_transfer_member(p->sim, stuck->on, n)) != SIM_NONE &&
           sim_arrived(p->sim, item))
        n++;
    if (item != SIM_NONE && find_item(p, item, &missing))
        buf_printf(out, " rank %d", p->run->ranks[missing.rank].rank);
    buf_printf(out, " (%u of %u arrived)", stuck->arrived, stuck->members);
}

int program_run(struct program *p, struct err *e)
{
    struct buf text = BUF_INIT, safe = BUF_INIT;
    struct sim_stuck stuck;
    size_t at = 0, shown = 0, last = SIZE_MAX;
    if (sim_run(p->sim) == 0)
        return 0;
    while (shown < BLOCKED_SHOWN && sim_stuck(p->sim, &at, &stuck)) {
        bool host = stuck.kind == SIM_HOST_WAITS_EVENT || stuck.kind == SIM_HOST_WAITS_ITEM;
        size_t r = host ? rank_of_host(p, stuck.who)
                        : rank_of_stream(p, sim_item_stream(p->sim, stuck.who));
        if (r == last)
            continue;
        buf_printf(&text, "%s rank %d: ", shown ? ";" : "", p->run->ranks[r].rank);
        switch (stuck.kind) {
        case SIM_ITEM_WAITS_TRANSFER:
            describe_transfer(p, &stuck, &text);
            break;
        case SIM_ITEM_WAITS_EVENT:
            buf_printf(&text, "stream %d waits for an event", stream_name(p, stuck.who));
            break;
        case SIM_HOST_WAITS_ITEM:
            buf_printf(&text, "the host waits for stream %d", stream_name(p, stuck.on));
            break;
        case SIM_HOST_WAITS_EVENT:
            buf_puts(&text, "the host waits for an event");
            break;
        }
        last = r;
        shown++;
    }
    buf_put_printable(&safe, text.data, text.len);
    err_set(e, ERR_INPUT, "the replay cannot proceed:%s", safe.data);
    buf_release(&text);
    buf_release(&safe);
    return -1;
}
