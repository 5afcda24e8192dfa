/* SPDX-License-Identifier: MIT
 *
 * Programs whose ranks divide the model, and beside it the data.
 */
#include "programs.h"

#define ACTIVATIONS ((size_t)2048 * 3072 * 2)

/* ---- megatron: layers over two ranks, stages over two, the rest data parallel: three axes ---- */

#define MICRO 4

static void megatron_start(struct job *j)
{
    int block = j->world / 2, at = j->rank % block;

    /* inner: neighbours; third: replicas; outer: stages */
    make_three_groups(j, 2, block / 2);
    j->third_rank = at / 2;
}

static void megatron_layers(struct job *j, int passes)
{
    for (int i = 0; i < 3; i++) {
        host_work(10000);
        for (int k = 0; k < passes; k++) {
            product(j, 2048, 6144, 3072);
            kernel(j, COMPUTE, "gelu", 2 * 2048 * 6144 * 2);
            product(j, 2048, 3072, 6144);
        }
        all_reduce(j, j->in.inner, COMPUTE, ACTIVATIONS);
    }
}

/* All forward, then all backward (GPipe). */
static void megatron(struct job *j)
{
    bool first = j->rank < j->world / 2;

    for (int i = 0; i < MICRO; i++) {
        if (!first)
            take(j, j->in.outer, COMPUTE, ACTIVATIONS, 0);
        megatron_layers(j, 1);
        if (first)
            put(j, j->in.outer, COMPUTE, ACTIVATIONS, 1);
    }
    for (int i = 0; i < MICRO; i++) {
        if (first)
            take(j, j->in.outer, COMPUTE, ACTIVATIONS, 1);
        megatron_layers(j, 2);
        if (!first)
            put(j, j->in.outer, COMPUTE, ACTIVATIONS, 0);
    }
    for (int i = 0; i < 3; i++) {
        order(j, COMPUTE, COMM);
        all_reduce(j, j->in.third, COMM, 36 * MIB);
    }
    order(j, COMM, COMPUTE);
    kernel(j, COMPUTE, "fused_adam", 7 * 108 * MIB);
}

/* ---- sequence: activations in parts of the sequence over four ranks, gathered before each product
 * and scattered after it ---- */

static void four_start(struct job *j)
{
    make_two_groups(j, 4);
}

static void sequence(struct job *j)
{
    for (int i = 0; i < 12; i++) {
        bool backward = i >= 6;

        host_work(10000);
        all_gather(j, j->in.inner, COMPUTE, 4 * ACTIVATIONS / 2);
        product(j, 4096, 2304, 3072);
        kernel(j, COMPUTE, "flash_attention_forward", 80 * MIB);
        product(j, 4096, 3072, 768);
        if (backward)
            product(j, 3072, 2304, 4096);
        reduce_scatter(j, j->in.inner, COMPUTE, 4 * ACTIVATIONS / 2);
        kernel(j, COMPUTE, "layer_norm", 20 * MIB);
        if (backward) {
            order(j, COMPUTE, COMM);
            all_reduce(j, j->in.outer, COMM, 18 * MIB);
        }
    }
    order(j, COMM, COMPUTE);
    kernel(j, COMPUTE, "fused_adam", 7 * 108 * MIB);
}

/* ---- far: replicas are neighbours, and what shares a layer sits on other nodes where there are
 * several ---- */

static void far_start(struct job *j)
{
    make_two_groups(j, j->world / 2);
}

static void far(struct job *j)
{
    for (int i = 0; i < 12; i++) {
        bool backward = i >= 6;

        host_work(10000);
        product(j, 2048, 6144, 3072);
        if (backward)
            product(j, 3072, 6144, 2048);
        product(j, 2048, 3072, 6144);
        all_reduce(j, j->in.outer, COMPUTE, ACTIVATIONS);
        kernel(j, COMPUTE, "layer_norm", 20 * MIB);
        if (backward) {
            order(j, COMPUTE, COMM);
            all_reduce(j, j->in.inner, COMM, 36 * MIB);
        }
    }
    order(j, COMM, COMPUTE);
    kernel(j, COMPUTE, "fused_adam", 7 * 216 * MIB);
}

/* ---- context: a long sequence in parts over four ranks; keys and values go round while attention
 * works on those that are there ---- */

static void context(struct job *j)
{
    int next = (j->inner_rank + 1) % 4, last = (j->inner_rank + 3) % 4;

    for (int i = 0; i < 8; i++) {
        bool backward = i >= 4;

        host_work(9000);
        product(j, 4096, 6144, 2048);
        for (int hop = 0; hop < 4; hop++) {
            order(j, COMPUTE, COMM);
            if (hop < 3)
                swap(j, j->in.inner, COMM, 32 * MIB, next, last);
            /* causal: a rank has less to do of those after it */
            fixed_kernel(j, COMPUTE,
                         backward ? "flash_attention_backward" : "flash_attention_forward",
                         (backward ? 220000u : 90000u) / (hop > j->inner_rank ? 2 : 1));
            order(j, COMM, COMPUTE);
        }
        product(j, 4096, 2048, 6144);
        if (backward)
            all_reduce(j, j->all, COMM, 48 * MIB);
    }
    order(j, COMM, COMPUTE);
    kernel(j, COMPUTE, "fused_adam", 7 * 192 * MIB);
}

const struct program model_programs[] = {{"megatron", megatron_start, megatron},
                                         {"sequence", four_start, sequence},
                                         {"far", far_start, far},
                                         {"context", four_start, context},
                                         {0}};
