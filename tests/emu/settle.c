/* SPDX-License-Identifier: MIT
 *
 * See settle.h.
 */
#include "settle.h"

#include <stdlib.h>

#include "collective.h"
#include "core.h"
#include "hash.h"

static bool same(const struct ask *a, const struct ask *b)
{
    return a->op == b->op && a->type == b->type && a->redop == b->redop && a->root == b->root &&
           a->bytes == b->bytes && a->algorithm == b->algorithm && a->protocol == b->protocol;
}

/* Of two limits, where 0 is none. */
static double tighter(double a, double b)
{
    return a > 0 && b > 0 ? (a < b ? a : b) : a + b;
}

static void fill_ends(struct segment *s, uint64_t number, struct collective *c, unsigned *nodes,
                      unsigned *gpus, uint64_t *times)
{
    unsigned n = segment_ranks(s);
    const struct calendar **busy = emu_alloc(n * sizeof *busy);
    struct calendar **used = emu_alloc(n * sizeof *used);
    for (unsigned i = 0; i < n; i++) {
        struct ask *ask = segment_ask(s, number, i);
        nodes[i] = segment_node(s, i);
        gpus[i] = segment_member(s, i)->gpu;
        times[i] = ask->start;
        c->rate_max = tighter(c->rate_max, ask->rate_max);
        busy[i] = &ask->busy;
        used[i] = &ask->used;
    }
    c->busy = busy;
    c->used = used;
    collective_play(emu_fabric(), c);
    for (unsigned i = 0; i < n; i++)
        segment_ask(s, number, i)->end = c->end[i];
    free(busy);
    free(used);
}

int settle_collective(struct segment *s, uint64_t key, uint64_t number, unsigned *who)
{
    unsigned n = segment_ranks(s), *nodes;
    const struct ask *first = segment_ask(s, number, 0);
    uint64_t *times;
    for (*who = 0; *who < n; ++*who)
        if (!same(first, segment_ask(s, number, *who)))
            return -1;
    nodes = emu_alloc(2 * n * sizeof *nodes);
    times = emu_alloc(2 * n * sizeof *times);
    fill_ends(s, number,
              &(struct collective){.op = (enum collective_op)first->op,
                                   .algorithm = (enum collective_algorithm)first->algorithm,
                                   .protocol = (enum collective_protocol)first->protocol,
                                   .ranks = n,
                                   .root = (unsigned)first->root,
                                   .bytes = first->bytes,
                                   .key = emu_hash(key, number),
                                   .nodes = nodes,
                                   .gpus = nodes + n,
                                   .start = times,
                                   .end = times + n},
              nodes, nodes + n, times);
    free(nodes);
    free(times);
    return 0;
}

uint64_t settle_message(struct segment *s, uint64_t key, unsigned from, unsigned to,
                        uint32_t number, bool sends, struct calendar *used)
{
    const struct channel *c = segment_channel(s, from, to);
    const struct post *send = &c->send[number % 2], *recv = &c->recv[number % 2];
    uint64_t pair = (uint64_t)from << 32 | to;
    const struct collective_message m = {
        .start = send->start > recv->start ? send->start : recv->start,
        .bytes = send->bytes,
        .near = segment_node(s, from) == segment_node(s, to),
        .from_gpu = segment_member(s, from)->gpu,
        .to_gpu = segment_member(s, to)->gpu,
        .rate_max = tighter(send->rate_max, recv->rate_max),
        .sharing = send->sharing > recv->sharing ? send->sharing : recv->sharing,
        .key = emu_hash(emu_hash(key, pair), number),
        .from = &send->busy,
        .to = &recv->busy,
    };
    return collective_message(emu_fabric(), &m, sends, used);
}
