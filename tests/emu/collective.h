/* SPDX-License-Identifier: MIT
 *
 * When each rank's part of a collective ends, by playing the steps of its algorithm over the links
 * of the fabric: no closed form. A rank takes part from when its kernel starts, so a late rank
 * delays those that wait for it, as far as they do.
 *
 *   ring  large AllReduce, AllGather, ReduceScatter: chunks go round, cut into slices that are
 *         passed on as they arrive; Broadcast and Reduce as a chain
 *   tree  small AllReduce, Broadcast, Reduce: up and down a binary tree
 *   pairs AlltoAll: rounds in which each rank sends to one and receives from one
 *   root  Gather, Scatter: one after the other through the root's link
 *
 * Pure: the same input gives the same output.
 */
#ifndef EMU_COLLECTIVE_H
#define EMU_COLLECTIVE_H

#include <stdint.h>

#include "fabric.h"

enum collective_op {
    COLLECTIVE_ALLREDUCE,
    COLLECTIVE_REDUCE,
    COLLECTIVE_BROADCAST,
    COLLECTIVE_ALLGATHER,
    COLLECTIVE_REDUCESCATTER,
    COLLECTIVE_ALLTOALL,
    COLLECTIVE_GATHER,
    COLLECTIVE_SCATTER
};

struct collective {
    enum collective_op op;
    unsigned ranks;
    unsigned root;
    uint64_t bytes;        /* the full buffer: ranks * count * size where a call counts a part */
    uint64_t key;          /* of the jitter: communicator and number of the operation */
    const unsigned *nodes; /* of each rank */
    const uint64_t *start; /* of each rank's kernel, ns */
    uint64_t *end;         /* out */
};

void collective_play(const struct emu_fabric *f, const struct collective *c);

/* The end of one message between two ranks whose kernels started at the later of their times;
 * `sharing`: how many messages share the busier end's link. */
uint64_t collective_message(const struct emu_fabric *f, uint64_t start, uint64_t bytes,
                            unsigned from_node, unsigned to_node, unsigned sharing, uint64_t key);

#endif
