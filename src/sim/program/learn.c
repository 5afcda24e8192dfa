/* SPDX-License-Identifier: MIT */
#include "base/order.h"
#include "sim/program/program.h"

#include <math.h>
#include <stdlib.h>

/* ---- Broadcast and Reduce around a ring ----
 *
 * Data go one way, from the root past all members or past all members to the root. A member waits
 * for those before it on the way alone; what it sends lies in buffers until the next one takes it.
 * NCCL has eight slots of 512 KiB a channel, sixteen channels and more on links within a node:
 * ONE_WAY_ROOM bytes. More data than that keep all members together, as do operations in groups,
 * and such of which root, size or members are not known.
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

void program_find_one_ways(struct program *p)
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
    return ORDER(a->place, b->place);
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
    uint32_t first = isolated->matches.members[match->first].rank;
    for (uint32_t k = 0; k < match->nmembers; k++) {
        struct match_member m = isolated->matches.members[match->first + k];
        struct sim_span span = program_span(isolated, m.rank, m.op);
        if (span.end_ns < 0 || !op_timed(&run->ranks[m.rank].ops[m.op]) ||
            !ranks_comparable(run, m.rank, first))
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
