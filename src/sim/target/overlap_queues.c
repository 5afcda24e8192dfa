/* SPDX-License-Identifier: MIT
 *
 * Transfers of the recording that waited in a queue: what one took longer than others of its
 * communicator, in proportion to what the model says of each, is a wait, which no other hardware
 * makes shorter in the proportion of transfers.
 */
#include "sim/target/overlap.h"

#include "base/order.h"

#include <math.h>
#include <stdlib.h>

#define OTHERS_MIN 3    /* of a communicator and operation, to tell what is usual */
#define QUEUE_TIMES 4.0 /* what is usual, */
#define QUEUE_NS 50000  /* and so much more: it waited */

/* A transfer of the recording. */
struct recorded_transfer {
    uint32_t group, cost; /* group: communicator and operation */
    double ns, ratio;     /* ratio: measured / modelled */
};

static int by_ratio(const void *pa, const void *pb)
{
    const struct recorded_transfer *a = pa, *b = pb;
    int order = ORDER(a->group, b->group);
    if (order == 0)
        order = ORDER(a->ratio, b->ratio);
    return order != 0 ? order : ORDER(a->cost, b->cost);
}

/* The transfers that have a time and a model. */
static size_t collect(const struct overlap *o, const struct overlap_load *loads,
                      struct recorded_transfer *list)
{
    const struct program *p = o->program;
    size_t n = 0;
    for (uint32_t i = 0; i < p->ncosts; i++) {
        const struct program_cost *c = &p->costs[i];
        const struct overlap_load *load = &loads[o->kinds.of[i]];
        const struct match *m;
        if (c->match == PROGRAM_NONE || c->measured_ns == UNKNOWN_NS || c->measured_ns <= 0 ||
            !load->known || !(load->price.us > 0))
            continue;
        m = &p->matches.list[c->match];
        list[n++] =
            (struct recorded_transfer){.group = (uint32_t)m->comm * SPECTER_COMM_OP_COUNT + m->op,
                                       .cost = i,
                                       .ns = (double)c->measured_ns,
                                       .ratio = (double)c->measured_ns / (load->price.us * 1e3)};
    }
    if (n > 0)
        qsort(list, n, sizeof *list, by_ratio);
    return n;
}

/* list[0..n): of one communicator and operation, by ratio. */
static void find_waits(struct overlap *o, const struct recorded_transfer *list, size_t n)
{
    double usual = list[(n - 1) / 2].ratio;
    for (size_t i = 0; i < n && usual > 0; i++) {
        struct program_cost *c = &o->program->costs[list[i].cost];
        double ns = list[i].ns / list[i].ratio * usual;
        if (!(list[i].ratio > QUEUE_TIMES * usual) || list[i].ns < ns + QUEUE_NS)
            continue;
        c->wait_ns = c->measured_ns - llround(ns);
        o->queued++;
        o->queued_ns += c->wait_ns;
    }
}

void overlap_show_queues(struct overlap *o, const struct overlap_load *loads)
{
    struct recorded_transfer *list = array_new(o->program->ncosts, sizeof *list);
    size_t n = collect(o, loads, list);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i; end < n && list[end].group == list[i].group;)
            end++;
        if (end - i >= OTHERS_MIN)
            find_waits(o, &list[i], end - i);
    }
    free(list);
}
