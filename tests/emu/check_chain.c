/* SPDX-License-Identifier: MIT
 *
 * Broadcast and Reduce by their closed form. Data goes from member to member, slice after slice:
 * all of it over one link, then the last slice and the latency of each link after that.
 */
#include "collective.h"

#include <math.h>

#include "check.h"

#define RANKS_MAX 64

static uint64_t start[RANKS_MAX], end[RANKS_MAX];
static unsigned nodes[RANKS_MAX];

static const struct emu_fabric fabric = {.intra_GBps = 100,
                                         .intra_latency_ns = 1000,
                                         .memory_GBps = 1e3,
                                         .memory_efficiency = 1,
                                         .tree_bytes = 262144,
                                         .ring_chunk_bytes = 1 << 20};

/* Slices are quarters of what passes at once. */
static double expected(unsigned ranks, double bytes)
{
    double slice = bytes / fmax(1, ceil(bytes / (double)fabric.ring_chunk_bytes)) / 4;
    return (bytes + (ranks - 2) * slice) / fabric.intra_GBps +
           (double)(fabric.intra_latency_ns * (ranks - 1));
}

static void check(enum collective_op op, unsigned ranks, uint64_t bytes, unsigned root)
{
    unsigned last = op == COLLECTIVE_REDUCE ? root : (root + ranks - 1) % ranks;
    collective_play(&fabric, &(struct collective){.op = op,
                                                  .ranks = ranks,
                                                  .root = root,
                                                  .bytes = bytes,
                                                  .nodes = nodes,
                                                  .start = start,
                                                  .end = end});
    CHECK(end[last], llround(expected(ranks, (double)bytes)));
}

int main(void)
{
    for (unsigned ranks = 2; ranks <= RANKS_MAX; ranks *= 2)
        for (uint64_t bytes = 400; bytes < 20000000; bytes *= 16)
            for (unsigned root = 0; root < ranks; root += ranks / 2) {
                check(COLLECTIVE_BROADCAST, ranks, bytes, root);
                check(COLLECTIVE_REDUCE, ranks, bytes, root);
            }
    puts("chains take what they should");
    return 0;
}
