/* SPDX-License-Identifier: MIT
 *
 * When each rank's part of a collective ends, by playing the steps of its algorithm over the links
 * of the fabric: no closed form. A rank takes part from when its kernel starts, so a late rank
 * delays those that wait for it, as far as they do.
 *
 *   ring  large AllReduce, AllGather, ReduceScatter: chunks go round, cut into slices that are
 *         passed on as they arrive; Broadcast and Reduce as a chain, as in NCCL, which has rings
 *         alone for these two
 *   tree  small AllReduce: up and down a binary tree; large ones that are told to: two trees that
 *         share the bytes, in slices that follow each other
 *   pairs AlltoAll: rounds in which each rank sends to one and receives from one
 *   root  Gather, Scatter: one after the other through the root's link
 *
 * Links lie between ports: those of a rank's GPU within its node, and its network card's, each way
 * for itself. From node to node the cards of all members side by side carry what goes round or up
 * and down. What other operations have taken of a port is gone; the rest is there to be used.
 *
 * Pure: the same input gives the same output.
 */
#ifndef EMU_COLLECTIVE_H
#define EMU_COLLECTIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "calendar.h"
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

enum collective_algorithm {
    COLLECTIVE_OWN_ALGORITHM, /* by tree_bytes of the fabric; the rest of them has one way */
    COLLECTIVE_TREE,
    COLLECTIVE_RING
};

/* As quick as LL and as fast as Simple, or what a real one costs. */
enum collective_protocol {
    COLLECTIVE_ANY_PROTOCOL,
    COLLECTIVE_LL,
    COLLECTIVE_LL128,
    COLLECTIVE_SIMPLE
};

/* Times of a link's latency, and bytes on it for a byte of data. */
struct collective_costs {
    double latency, wire;
};

struct collective_costs collective_costs(const struct emu_fabric *f,
                                         enum collective_protocol protocol);

struct collective {
    enum collective_op op;
    enum collective_algorithm algorithm;
    enum collective_protocol protocol;
    double rate_max; /* GB/s that the channels move; 0: no limit */
    unsigned ranks;
    unsigned root;
    uint64_t bytes;        /* the full buffer: ranks * count * size where a call counts a part */
    uint64_t key;          /* of the jitter: communicator and number of the operation */
    const unsigned *nodes; /* of each rank */
    const unsigned *gpus;  /* of each rank its GPU's number; NULL: all links are alike */
    const uint64_t *start; /* of each rank's kernel, ns */
    /* By rank: the use of its ports by others, and by this operation (out). NULL: all is free, and
     * the use is not wanted. */
    const struct calendar *const *busy;
    struct calendar *const *used;
    uint64_t *end; /* out */
};

void collective_play(const struct emu_fabric *f, const struct collective *c);

/* One message between two ranks. */
struct collective_message {
    uint64_t start; /* the later of their kernels' */
    uint64_t bytes;
    bool near;                        /* within a node */
    unsigned from_gpu, to_gpu;        /* numbers of the GPUs at its ends */
    double rate_max;                  /* as of a collective */
    unsigned sharing;                 /* how many messages of theirs share the busier end's link */
    uint64_t key;                     /* of the jitter */
    const struct calendar *from, *to; /* what others take of the ports of the ends */
};

/* Its end, and what it takes at one end: of the sender where `sends`. `used` may be NULL. */
uint64_t collective_message(const struct emu_fabric *f, const struct collective_message *m,
                            bool sends, struct calendar *used);

#endif
