/* SPDX-License-Identifier: MIT
 *
 * Multiprocessors that communication kernels hold: how many channels they have, and for how long.
 */
#include "sim/target/overlap.h"

#include <stdlib.h>

/* The channels that NCCL's profiler reported for the first member; 0 unknown. */
static uint32_t recorded_channels(const struct program *p, const struct program_cost *c)
{
    const struct comm_detail *detail = rank_detail(&p->run->ranks[c->rank], c->op);
    return detail != NULL ? detail->channels : 0;
}

/* The mean over the transfers of a kind, so that an exception does not decide. It is a ratio, since
 * a limit that the job set (NCCL_MAX_CTAS) holds on the target as well. */
void overlap_count_channels(struct overlap *o, const struct retarget *own)
{
    const struct program *p = o->program;
    uint64_t *sum = array_new(o->kinds.count, sizeof *sum);
    uint32_t *seen = array_new(o->kinds.count, sizeof *seen);
    for (size_t i = 0; i < p->ncosts; i++) {
        uint32_t n = p->costs[i].match != PROGRAM_NONE ? recorded_channels(p, &p->costs[i]) : 0;
        sum[o->kinds.of[i]] += n;
        seen[o->kinds.of[i]] += n > 0;
    }
    for (uint32_t k = 0; k < o->kinds.count; k++) {
        struct comm_cost price;
        o->transfers += p->costs[o->kinds.first[k]].match != PROGRAM_NONE;
        if (seen[k] == 0 || !retarget_price(own, &p->costs[o->kinds.first[k]], &price) ||
            price.channels <= 0)
            continue;
        o->channels[k] = (double)sum[k] / seen[k] / price.channels;
        o->counted++;
    }
    free(sum);
    free(seen);
}

static uint32_t item_of(const struct program *p, struct match_member m)
{
    return p->ranks[m.rank].item[m.op];
}

/* One more than the last item of a transfer. */
static uint32_t items_end(const struct program *p)
{
    uint32_t end = 0;
    for (size_t i = 0; i < p->matches.nmembers; i++) {
        uint32_t item = item_of(p, p->matches.members[i]);
        if (item != PROGRAM_NONE && item >= end)
            end = item + 1;
    }
    return end;
}

static bool is_message(const struct program *p, const struct program_cost *c)
{
    return specter_comm_op_is_p2p((enum specter_comm_op)p->matches.list[c->match].op);
}

uint32_t *overlap_messages(const struct program *p)
{
    uint32_t *messages = array_new(items_end(p), sizeof *messages);
    for (size_t i = 0; i < p->ncosts; i++) {
        const struct program_cost *c = &p->costs[i];
        const struct match *match;
        if (c->match == PROGRAM_NONE || !is_message(p, c))
            continue;
        match = &p->matches.list[c->match];
        for (uint32_t k = 0; k < match->nmembers; k++) {
            uint32_t item = item_of(p, p->matches.members[match->first + k]);
            if (item != PROGRAM_NONE)
                messages[item]++;
        }
    }
    return messages;
}

double overlap_moving_sm(const struct overlap *o, const struct program_cost *c,
                         const struct overlap_load *load, const uint32_t *messages)
{
    const struct program *p = o->program;
    const struct match *match = &p->matches.list[c->match];
    uint32_t most = 1;
    if (!is_message(p, c))
        return 0;
    for (uint32_t k = 0; k < match->nmembers; k++) {
        uint32_t item = item_of(p, p->matches.members[match->first + k]);
        if (item != PROGRAM_NONE && messages[item] > most)
            most = messages[item];
    }
    return load->sm / most;
}

/* Collectives of one group share the channels of one kernel: the largest counts. */
void overlap_hold(struct overlap *o, const struct overlap_load *loads)
{
    struct program *p = o->program;
    uint32_t *ppm = array_new(items_end(p), sizeof *ppm);
    for (size_t i = 0; i < p->ncosts; i++) {
        const struct program_cost *c = &p->costs[i];
        const struct match *match;
        uint32_t holds;
        if (c->match == PROGRAM_NONE || is_message(p, c))
            continue;
        match = &p->matches.list[c->match];
        holds = overlap_ppm(loads[o->kinds.of[i]].sm * o->strength);
        for (size_t k = match->first; k < match->first + match->nmembers; k++) {
            uint32_t item = item_of(p, p->matches.members[k]);
            if (item == PROGRAM_NONE)
                continue;
            if (holds > ppm[item])
                ppm[item] = holds;
            sim_set_hold(p->sim, item, ppm[item]);
        }
    }
    free(ppm);
}
