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
           a->bytes == b->bytes;
}

int settle_collective(struct segment *s, uint64_t key, uint64_t number, unsigned *who)
{
    unsigned n = segment_ranks(s), *nodes = emu_alloc(n * sizeof(*nodes));
    uint64_t *times = emu_alloc(2 * n * sizeof(*times));
    const struct ask *first = segment_ask(s, number, 0);
    struct collective c = {(enum collective_op)first->op,
                           n,
                           (unsigned)first->root,
                           first->bytes,
                           emu_hash(key, number),
                           nodes,
                           times,
                           times + n};
    int result = 0;

    for (*who = 0; *who < n; ++*who) {
        const struct ask *ask = segment_ask(s, number, *who);

        if (!same(first, ask)) {
            result = -1;
            goto out;
        }
        nodes[*who] = segment_member(s, *who)->node;
        times[*who] = ask->start;
    }
    collective_play(emu_fabric(), &c);
    for (unsigned i = 0; i < n; i++)
        segment_ask(s, number, i)->end = c.end[i];
out:
    free(nodes);
    free(times);
    return result;
}

uint64_t settle_message(struct segment *s, uint64_t key, unsigned from, unsigned to,
                        uint32_t number)
{
    const struct channel *c = segment_channel(s, from, to);
    const struct post *send = &c->send[number % 2], *recv = &c->recv[number % 2];
    uint64_t start = send->start > recv->start ? send->start : recv->start;
    uint64_t pair = (uint64_t)from << 32 | to;

    return collective_message(emu_fabric(), start, send->bytes, segment_member(s, from)->node,
                              segment_member(s, to)->node,
                              send->sharing > recv->sharing ? send->sharing : recv->sharing,
                              emu_hash(emu_hash(key, pair), number));
}
