/* SPDX-License-Identifier: MIT
 *
 * NCCL's estimate of its kernels for symmetric memory, by which it takes one of them. It never
 * compares them with Ring, Tree or NVLS: where the buffers are in symmetric windows, one of them is
 * taken. The estimate ranks kernels; of large multicast AllReduces it is known to be too low.
 * Source: src/symmetric.cc, later src/sym_kernels.cc of NCCL 2.27 to 2.30.
 */
#include "model/nccl_tuner.h"

#include <math.h>

/* NCCL's GB/s here are 2^30 bytes each, as bytes/us. */
#define GBPS (1073741824.0 / 1e6)

#define CELL_BYTES 1024.0     /* sizes are rounded up to whole ones */
#define LL_BYTES_PER_BYTE 9.0 /* of a buffer that LL sends, with its flags */
#define LL_MOST 2147483647.0  /* bytes of all ranks */
#define MOST 68719476735.0    /* the same of every kernel */
#define BLOCKS_MOST 64
#define BLOCK_PENALTY .025 /* so much is a block worth, when kernels are compared */
#define MULTICAST_SHARE .55
#define LL_MULTICAST_GAIN 1.1

enum { LL = 1, MULTICAST = 2, REDUCES = 4 }; /* REDUCES: the switch does */

static const struct kernel {
    enum specter_comm_op op;
    unsigned flags;
    const char *name;
} kernels[] = {
    {SPECTER_ALLREDUCE, LL, "LL"},
    {SPECTER_ALLREDUCE, LL | MULTICAST, "LL multicast"},
    {SPECTER_ALLREDUCE, 0, "loads and stores"},
    {SPECTER_ALLREDUCE, MULTICAST | REDUCES, "multicast"},
    {SPECTER_ALLGATHER, LL, "LL"},
    {SPECTER_ALLGATHER, LL | MULTICAST, "LL multicast"},
    {SPECTER_ALLGATHER, 0, "stores"},
    {SPECTER_ALLGATHER, MULTICAST, "multicast"},
    {SPECTER_REDUCESCATTER, LL, "LL"},
    {SPECTER_REDUCESCATTER, 0, "loads"},
    {SPECTER_REDUCESCATTER, MULTICAST | REDUCES, "multicast"},
};

/* A kernel's cost on a communicator: base_us, and bus_bytes at so many bytes/us. */
struct cost {
    double base_us, bus_bytes, gain; /* gain: on what a block moves */
    double block, peak;              /* bytes/us */
    int blocks_most;
};

static struct cost cost_of(const struct nccl_comm *c, const struct kernel *k, double bytes)
{
    const bool reduce = k->op == SPECTER_ALLREDUCE, blackwell = c->topo.cc >= 100;
    const double ranks = c->where.ranks;
    const double n = ceil((reduce ? bytes : bytes / ranks) / CELL_BYTES) * CELL_BYTES;
    struct cost out = {.gain = 1, .blocks_most = BLOCKS_MOST};
    if (k->flags & LL) {
        out.base_us = !blackwell ? 4.5 : k->op == SPECTER_ALLGATHER ? 8.5 : 11;
        out.bus_bytes = LL_BYTES_PER_BYTE * ranks * n;
        out.gain = k->flags & MULTICAST ? LL_MULTICAST_GAIN : 1;
    } else {
        out.base_us = !blackwell ? 7.8 : reduce ? 19.5 : 13;
        out.bus_bytes = !reduce                ? (ranks - 1) * n
                        : k->flags & MULTICAST ? n / ranks + n
                                               : 2 * n * (ranks - 1) / ranks;
        if (k->flags & MULTICAST)
            out.gain = reduce ? ranks : MULTICAST_SHARE * ranks;
        if (k->flags & MULTICAST) /* enough to keep the switch busy */
            out.blocks_most = (int)ceil((blackwell ? 32 : 16) / ranks);
    }
    const bool all_in_switch = reduce && (k->flags & REDUCES) != 0;
    out.block = (blackwell ? 55 : reduce ? 65 : 44) * GBPS;
    out.peak = (blackwell ? (all_in_switch ? 1000 : 600) : all_in_switch ? 480 : 320) * GBPS;
    return out;
}

/* The time with so many blocks: their rates add up to nearly the peak, and the first bytes are
 * hidden in the base. */
static double time_us(const struct cost *k, int blocks)
{
    const double soft = k->block, ratio = k->peak / soft;
    const double rate =
        k->peak - soft * log1p(expm1(ratio) * exp(-blocks * k->block * k->gain / soft));
    const double over = k->bus_bytes / rate - 1;
    return k->base_us + (over < 100 ? log1p(exp(over)) : over);
}

/* The first number of blocks that is as good as most blocks but for their penalty. */
static int blocks_of(const struct cost *k)
{
    const double least = time_us(k, k->blocks_most);
    int blocks = 1;
    while (blocks < k->blocks_most && time_us(k, blocks) > (1 + BLOCK_PENALTY) * least)
        blocks++;
    return blocks;
}

bool nccl_symmetric(const struct nccl_comm *c, enum specter_comm_op op, double bytes,
                    struct nccl_symmetric *out)
{
    double best = HUGE_VAL;
    if (c->where.nodes > 1 || c->where.ranks < 2 || c->topo.cc == 0 ||
        c->topo.fabric >= NCCL_PCIE || nccl_before(&c->topo, 22700) || bytes > MOST)
        return false;
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        const struct kernel *k = &kernels[i];
        if (k->op != op || ((k->flags & LL) && bytes > LL_MOST) ||
            ((k->flags & MULTICAST) && c->graphs.nvls.channels < 2))
            continue;
        const struct cost cost = cost_of(c, k, bytes);
        const int blocks = blocks_of(&cost);
        const double us = time_us(&cost, blocks);
        if (us * (1 + BLOCK_PENALTY * blocks) >= best)
            continue;
        best = us * (1 + BLOCK_PENALTY * blocks);
        *out = (struct nccl_symmetric){.kernel = k->name, .blocks = blocks, .us = us};
    }
    return best < HUGE_VAL;
}
