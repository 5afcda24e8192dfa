/* SPDX-License-Identifier: MIT
 *
 * Programs whose ranks exchange parts of their data.
 */
#include "programs.h"

/* ---- moe: tokens go to experts of four ranks, as many as chose them: others in each step and
 * layer ---- */

static void four_start(struct job *j)
{
    make_two_groups(j, 4);
}

/* Returns the bytes that `from` sends to `to`, of about 24 MiB in all. */
static size_t tokens(const struct job *j, int layer, int from, int to)
{
    int group = j->rank / 4;

    return MIB *
           (3 + pick((unsigned)(layer + 16 * j->at), (unsigned)(from + 4 * to + 16 * group), 7));
}

static void dispatch(struct job *j, int layer, bool back)
{
    NCCL(ncclGroupStart());
    for (int peer = 0; peer < 4; peer++) {
        put(j, j->in.inner, COMPUTE,
            back ? tokens(j, layer, peer, j->inner_rank) : tokens(j, layer, j->inner_rank, peer),
            peer);
        take(j, j->in.inner, COMPUTE,
             back ? tokens(j, layer, j->inner_rank, peer) : tokens(j, layer, peer, j->inner_rank),
             peer);
    }
    NCCL(ncclGroupEnd());
}

static void moe_layer(struct job *j, int layer, int passes)
{
    size_t here = 0;

    for (int from = 0; from < 4; from++)
        here += tokens(j, layer, from, j->inner_rank);
    host_work(14000);
    for (int i = 0; i < passes; i++)
        product(j, 4096, 2048, 2048);
    kernel(j, COMPUTE, "topk_router", 16 * MIB);
    dispatch(j, layer, false);
    for (int i = 0; i < 2 * passes; i++)
        product(j, (int)(here / 4096), 4096, 2048);
    dispatch(j, layer, true);
    kernel(j, COMPUTE, "layer_norm", 48 * MIB);
}

static void moe(struct job *j)
{
    for (int i = 0; i < 4; i++)
        moe_layer(j, i, 1);
    for (int i = 3; i >= 0; i--) {
        moe_layer(j, i, 2);
        order(j, COMPUTE, COMM);
        all_reduce(j, j->in.outer, COMM, 32 * MIB);
        all_reduce(j, j->all, COMM, 8 * MIB);
    }
    order(j, COMM, COMPUTE);
    kernel(j, COMPUTE, "fused_adam", 7 * 160 * MIB);
}

/* ---- dlrm: tables over all ranks, whose rows are exchanged while dense layers compute, and whose
 * gradients while dense gradients are summed ---- */

static void all_in_one(struct job *j)
{
    (void)j;
}

static void dlrm(struct job *j)
{
    host_work(20000);
    kernel(j, OTHER, "embedding_bag_forward", 128 * MIB);
    all_to_all(j, j->all, OTHER, 48 * MIB);
    for (int i = 0; i < 3; i++)
        product(j, 16384, 1024, 512 << (2 - i));
    order(j, OTHER, COMPUTE);
    kernel(j, COMPUTE, "interaction_arch", 96 * MIB);
    for (int i = 0; i < 4; i++)
        product(j, 16384, 1024, 1024);
    host_work(20000);
    for (int i = 0; i < 4; i++) {
        product(j, 16384, 1024, 1024);
        product(j, 1024, 1024, 16384);
    }
    order(j, COMPUTE, COMM);
    order(j, COMPUTE, OTHER);
    all_reduce(j, j->all, COMM, 16 * MIB);
    all_to_all(j, j->all, OTHER, 48 * MIB);
    kernel(j, OTHER, "embedding_bag_backward", 256 * MIB);
    for (int i = 0; i < 3; i++) {
        product(j, 16384, 512 << i, 1024);
        product(j, 1024, 512 << i, 16384);
    }
    order(j, COMPUTE, COMM);
    all_reduce(j, j->all, COMM, 24 * MIB);
    order(j, COMM, COMPUTE);
    order(j, OTHER, COMPUTE);
    kernel(j, COMPUTE, "fused_sgd", 120 * MIB);
    order(j, COMPUTE, OTHER);
}

/* ---- halo: a mesh in slices around a ring; borders go both ways while the inside is computed, and
 * dot products are summed over all ---- */

static void halo(struct job *j)
{
    int next = (j->rank + 1) % j->world, last = (j->rank + j->world - 1) % j->world;

    for (int i = 0; i < 10; i++) {
        size_t border = (size_t)(2 + i % 3) * 4 * MIB;

        host_work(6000);
        kernel(j, COMPUTE, "pack_borders", 4 * border);
        order(j, COMPUTE, COMM);
        NCCL(ncclGroupStart());
        put(j, j->all, COMM, border, next);
        take(j, j->all, COMM, border, last);
        put(j, j->all, COMM, border, last);
        take(j, j->all, COMM, border, next);
        NCCL(ncclGroupEnd());
        kernel(j, COMPUTE, "stencil_inside", 900 * MIB);
        order(j, COMM, COMPUTE);
        kernel(j, COMPUTE, "stencil_border", 80 * MIB);
        all_reduce(j, j->all, COMPUTE, 64);
        kernel(j, COMPUTE, "axpy", 400 * MIB);
    }
}

const struct program exchange_programs[] = {
    {"moe", four_start, moe}, {"dlrm", all_in_one, dlrm}, {"halo", all_in_one, halo}, {0}};
