/* SPDX-License-Identifier: MIT
 *
 * Programs whose ranks divide the data.
 */
#include "programs.h"

/* ---- zero3: parameters in shards of all ranks, gathered two layers ahead; layers of all sizes,
 * embeddings first ---- */

#define ZERO_LAYERS 7
#define AHEAD 2
static const int zero_hidden[ZERO_LAYERS] = {4096, 1024, 1536, 1536, 2048, 1024, 2560};

static size_t zero_bytes(int layer)
{
    return (size_t)zero_hidden[layer] * (size_t)zero_hidden[layer] * 8;
}

static void all_in_one(struct job *j)
{
    (void)j;
}

/* The weights of layers up to first + AHEAD are on their way when layer `first` begins. */
static void zero_pass(struct job *j, bool backward)
{
    for (int i = 0; i < ZERO_LAYERS + AHEAD; i++) {
        int ask = backward ? ZERO_LAYERS - 1 - i : i, use = backward ? ask + AHEAD : ask - AHEAD;

        if (i < ZERO_LAYERS)
            all_gather(j, j->all, COMM, zero_bytes(ask));
        if (i < AHEAD)
            continue;
        host_work(12000);
        order(j, COMM, COMPUTE);
        for (int k = 0; k < (backward ? 2 : 1); k++) {
            product(j, 3072, zero_hidden[use] * 2, zero_hidden[use]);
            product(j, 3072, zero_hidden[use], zero_hidden[use] * 2);
        }
        kernel(j, COMPUTE, backward ? "rms_norm_backward" : "rms_norm_forward",
               (size_t)zero_hidden[use] * 3072 * 6);
        if (backward) {
            order(j, COMPUTE, COMM);
            reduce_scatter(j, j->all, COMM, zero_bytes(use));
        }
    }
}

static void zero3(struct job *j)
{
    size_t all = 0;

    for (int i = 0; i < ZERO_LAYERS; i++)
        all += zero_bytes(i);
    zero_pass(j, false);
    zero_pass(j, true);
    order(j, COMM, COMPUTE);
    kernel(j, COMPUTE, "fused_adam", 7 * all / (size_t)j->world);
    order(j, COMPUTE, COMM);
}

/* ---- hybrid: shards within four neighbours, their gradients summed over replicas on a stream of
 * its own, while the next layer's are scattered ---- */

#define HYBRID_LAYERS 5

static void hybrid_start(struct job *j)
{
    make_two_groups(j, 4);
}

static void hybrid(struct job *j)
{
    size_t bytes = 40 * MIB;

    for (int i = 0; i < HYBRID_LAYERS; i++) {
        host_work(9000);
        all_gather(j, j->in.inner, COMM, bytes);
        order(j, COMM, COMPUTE);
        product(j, 4096, 4096, 2560);
        kernel(j, COMPUTE, "gelu_forward", 64 * MIB);
    }
    for (int i = 0; i < HYBRID_LAYERS; i++) {
        host_work(9000);
        product(j, 4096, 2560, 4096);
        product(j, 2560, 4096, 4096);
        kernel(j, COMPUTE, "gelu_backward", 96 * MIB);
        order(j, COMPUTE, COMM);
        reduce_scatter(j, j->in.inner, COMM, bytes);
        order(j, COMM, OTHER);
        all_reduce(j, j->in.outer, OTHER, bytes / 4);
    }
    order(j, OTHER, COMPUTE);
    kernel(j, COMPUTE, "fused_adam", 7 * HYBRID_LAYERS * bytes / 4);
    order(j, COMPUTE, COMM);
}

/* ---- accumulate: gradients of several micro-batches in fp32, the last one a part; how many there
 * are changes from step to step ---- */

static void micro_batch(struct job *j, int tokens)
{
    for (int i = 0; i < 3; i++) {
        host_work(15000);
        product(j, tokens, 6144, 2048);
        kernel(j, COMPUTE, "silu_and_mul", (size_t)tokens * 6144 * 4);
        product(j, tokens, 2048, 6144);
    }
    for (int i = 0; i < 3; i++) {
        host_work(15000);
        product(j, tokens, 6144, 2048);
        product(j, 2048, 6144, tokens);
        product(j, tokens, 2048, 6144);
        product(j, 6144, 2048, tokens);
        kernel(j, COMPUTE, "add_gradients", 100 * MIB);
    }
}

static void accumulate(struct job *j)
{
    int micro = 3 + j->at % 2;

    for (int i = 0; i < micro; i++)
        micro_batch(j, i + 1 < micro ? 2048 : 640);
    for (int i = 0; i < 4; i++) {
        order(j, COMPUTE, COMM);
        all_reduce(j, j->all, COMM, 37 * MIB);
    }
    order(j, COMM, COMPUTE);
    kernel(j, COMPUTE, "fused_adam", 7 * 148 * MIB);
}

/* ---- server: rank 0 sends the weights of each layer to all and sums up their gradients ---- */

static void server(struct job *j)
{
    for (int i = 0; i < 6; i++) {
        broadcast(j, j->all, COMM, (size_t)(i + 2) * 3 * MIB);
        host_work(8000);
        order(j, COMM, COMPUTE);
        product(j, 4096, 1024 * (i + 2), 1536);
        kernel(j, COMPUTE, "relu_forward", 32 * MIB);
    }
    for (int i = 5; i >= 0; i--) {
        host_work(8000);
        product(j, 4096, 1536, 1024 * (i + 2));
        product(j, 1536, 1024 * (i + 2), 4096);
        order(j, COMPUTE, COMM);
        reduce(j, j->all, COMM, (size_t)(i + 2) * 3 * MIB);
    }
    order(j, COMM, COMPUTE);
    kernel(j, COMPUTE, "fused_sgd", 200 * MIB);
    order(j, COMPUTE, COMM);
}

const struct program data_programs[] = {{"zero3", all_in_one, zero3},
                                        {"hybrid", hybrid_start, hybrid},
                                        {"accumulate", all_in_one, accumulate},
                                        {"server", all_in_one, server},
                                        {0}};
