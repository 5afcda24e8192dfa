/* SPDX-License-Identifier: MIT */
#include "sim/program/one_way.h"

#include <math.h>
#include <stdlib.h>

/* ---- places ---- */

static int rank_in_comm(const struct rank *rank, int comm)
{
    for (size_t i = 0; i < rank->nin; i++) {
        if (rank->in[i].comm == comm)
            return rank->in[i].rank;
    }
    return -1;
}

/* Returns the operation's position in the chain; -1: not known, or in none. */
static int64_t place_of(const struct program *p, const struct match *match, struct match_member m)
{
    const struct rank *rank = &p->run->ranks[m.rank];
    const struct op *op = &rank->ops[m.op];
    int64_t n = p->run->comms[match->comm].size, root = op->coll.peer, behind;
    int self = rank_in_comm(rank, match->comm);
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

static bool may_go_one_way(const struct program *p, const struct match *match)
{
    return (match->op == SPECTER_BROADCAST || match->op == SPECTER_REDUCE) && match->consistent &&
           match->bytes > 0 && match->bytes <= ONE_WAY_ROOM && p->run->comms[match->comm].size > 1;
}

void one_way_find(struct program *p)
{
    for (uint32_t i = 0; i < p->matches.count; i++) {
        const struct match *match = &p->matches.list[i];
        int64_t first = may_go_one_way(p, match) ? first_place(p, match) : -1;
        if (first < 0)
            continue;
        p->one_ways[i] = (struct program_one_way){(uint32_t)p->run->comms[match->comm].size - 1,
                                                  (uint32_t)first, UNKNOWN_NS};
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

void one_way_learn(struct program *p, const struct program *isolated,
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
        sim_set_fill(p->sim, cost->match, way->fill_ns);
    }
    free(parts);
}
