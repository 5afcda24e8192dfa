/* SPDX-License-Identifier: MIT
 *
 * Measures how many collectives a second one core predicts. No answer is kept between predictions;
 * the mix walks over operations, sizes, layouts and profiles so that neighbours differ in all of
 * them. CPU time of the thread, best of several rounds.
 */
#include "model/cost.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define QUESTIONS 4096
#define ROUNDS 7
#define PASSES 25 /* of all questions, a round */

struct question {
    const struct gpu_profile *gpu;
    const struct network_profile *net;
    enum specter_comm_op op;
    double bytes;
    struct layout where;
};

static const enum specter_comm_op ops[] = {
    SPECTER_ALLREDUCE, SPECTER_ALLGATHER, SPECTER_REDUCESCATTER, SPECTER_BROADCAST,
    SPECTER_ALLREDUCE, SPECTER_ALLTOALL,  SPECTER_REDUCE,        SPECTER_ALLREDUCE,
};

static const int rank_counts[] = {8, 2, 16, 4, 64, 1024, 32, 512, 12, 4096, 256};

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* xorshift: the same questions on every machine. */
static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* 8 B to 16 GiB, odd ones too. */
static double some_bytes(uint64_t *state)
{
    uint64_t shift = 3 + next_random(state) % 31;
    return (double)(((uint64_t)1 << shift) + next_random(state) % ((uint64_t)1 << shift));
}

/* A GPU in the network that it usually sits in; ranks that fit there. */
static struct question some_question(uint64_t *state)
{
    const struct gpu_profile *gpu = &gpu_profiles[next_random(state) % gpu_profile_count];
    const struct network_profile *net = network_profile_find(gpu->network, NULL);
    int ranks = rank_counts[next_random(state) % COUNT(rank_counts)];
    if (net == NULL)
        net = network_profile_find(NETWORK_PROFILE_DEFAULT, NULL);
    if (!(net->nics_per_node >= 1) && ranks > (int)net->gpus_per_node)
        ranks = (int)net->gpus_per_node;
    return (struct question){
        .gpu = gpu,
        .net = net,
        .op = ops[next_random(state) % COUNT(ops)],
        .bytes = some_bytes(state),
        .where = layout_dense(net, ranks),
    };
}

static double cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* The sum keeps the compiler from leaving out predictions whose result is not used. */
static double ask_all(const struct question *list)
{
    double sum = 0;
    for (size_t i = 0; i < QUESTIONS; i++) {
        const struct question *q = &list[i];
        struct comm_cost cost;
        struct err e;
        if (model_collective(q->gpu, q->net, q->op, q->bytes, q->where, &cost, &e) < 0) {
            fprintf(stderr, "bench_model: %s on %s: %s\n", specter_comm_op_name(q->op),
                    q->net->name, e.msg);
            exit(1);
        }
        sum += cost.us;
    }
    return sum;
}

int main(void)
{
    static struct question list[QUESTIONS];
    uint64_t state = 88172645463325252u;
    double best = 0, sum = 0;
    for (size_t i = 0; i < QUESTIONS; i++)
        list[i] = some_question(&state);
    printf("round    predictions/s\n");
    for (int round = 0; round < ROUNDS; round++) {
        double begin = cpu_s(), rate;
        for (int pass = 0; pass < PASSES; pass++)
            sum += ask_all(list);
        rate = QUESTIONS * (double)PASSES / (cpu_s() - begin);
        printf("%5d  %15.0f\n", round + 1, rate);
        best = rate > best ? rate : best;
    }
    printf("mean of all predicted times: %.6g us\n", sum / (ROUNDS * (double)PASSES * QUESTIONS));
    printf("{\"predictions_per_s\": %.0f}\n", best);
    return 0;
}
