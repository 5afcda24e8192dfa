/* SPDX-License-Identifier: MIT
 *
 * All-to-alls made of messages, and more members in them (--grow ep).
 */
#include "test.h"

#include "sim/program/alltoall.h"
#include "sim/replay/replay.h"

#include <math.h>
#include <stdlib.h>

#define MEMBERS 2
#define EXCHANGE_NS 100000
#define PRODUCT_NS 400000

/* Rank 0 sends three times as much to rank 1 as it keeps, rank 1 as much to both. */
static const uint64_t sizes[MEMBERS][MEMBERS] = {{4 << 20, 12 << 20}, {2 << 20, 2 << 20}};

static struct op *add(struct rank *rank, enum op_class class, int64_t *host_ns, int64_t dur_ns)
{
    struct op *op = rank_add_op(rank);
    op->class = (uint8_t) class;
    op->stream = 1;
    op->timing = SPECTER_TIMING_DEVICE;
    op->host_ns = op->host_end_ns = op->start_ns = ++*host_ns;
    op->dur_ns = dur_ns;
    op->dtype = SPECTER_BF16;
    return op;
}

static void add_exchange(struct rank *rank, int comm, int nth, int64_t *host_ns)
{
    for (int k = 0; k < 2 * MEMBERS; k++) {
        struct op *op = add(rank, OP_P2P, host_ns, EXCHANGE_NS);
        bool send = k % 2 == 0;
        op->coll.op = send ? SPECTER_SEND : SPECTER_RECV;
        op->coll.peer = k / 2;
        op->bytes = send ? sizes[rank->rank][k / 2] : sizes[k / 2][rank->rank];
        op->coll.comm = comm;
        op->coll.group = nth;
        op->coll.p2p_seq = nth;
    }
}

static void make_run(struct run *run)
{
    int comm;
    run_init(run);
    run->source = "made";
    run->world_size = MEMBERS;
    run->ndomains = 1;
    comm = run_comm(run, "experts", 7, MEMBERS);
    run->comms[comm].name = "ep";
    for (int r = 0; r < MEMBERS; r++) {
        struct rank *rank = run_add_rank(run);
        int64_t host_ns = 0;
        run->comms[comm].ranks[r] = r;
        rank->rank = r;
        rank->gpu = "NVIDIA H100 80GB HBM3";
        rank->coverage = COVER_NCCL | COVER_GEMM | COVER_DEPS | COVER_KERNELS;
        rank->nthreads = 1;
        for (int i = 0; i < 5; i++) {
            struct op *op = add(rank, OP_GEMM, &host_ns, PRODUCT_NS);
            op->gemm.m = op->gemm.n = op->gemm.k = 2048;
            op->gemm.dtype_b = op->gemm.dtype_c = SPECTER_BF16;
            op->gemm.compute = SPECTER_FP32;
            add_exchange(rank, comm, i, &host_ns);
        }
    }
}

static double all_to_all_us(double bytes, int ranks, int nodes, int per_node)
{
    struct comm_cost cost;
    CHECK_INT(model_collective(gpu_profile_find("h100_sxm", NULL),
                               network_profile_find("dgx_h100_400g", NULL), SPECTER_ALLTOALLV,
                               bytes, (struct layout){ranks, nodes, per_node}, &cost, NULL),
              0);
    return cost.us;
}

TEST(exchange_of_a_group)
{
    struct run run;
    uint64_t *sent;
    make_run(&run);
    for (int r = 0; r < MEMBERS; r++) {
        sent = alltoall_bytes(&run.ranks[r]);
        for (size_t i = 0; i < run.ranks[r].nops; i++)
            CHECK_INT((int64_t)sent[i], run.ranks[r].ops[i].class == OP_P2P
                                            ? (int64_t)(sizes[r][0] + sizes[r][1])
                                            : 0);
        free(sent);
    }
    run_release(&run);
}

/* What a rank sends stays, over more members; the one with most of it decides. */
TEST(grow_exchanges_of_messages)
{
    static const int64_t scales[] = {1, 2, 4, 16};
    struct replay_opts opts = {.scales = scales, .nscales = 4, .calibrate = true, .grow = "ep"};
    struct replay rep;
    struct run run;
    struct err e;
    make_run(&run);
    CHECK_INT(replay_run(&rep, &run, &opts, &e), 0);
    for (size_t i = 0; i < rep.nscales; i++) {
        int ranks = MEMBERS * (int)scales[i], nodes = (ranks + 7) / 8;
        double longest = 0;
        for (int r = 0; r < MEMBERS; r++) {
            double bytes = (double)(sizes[r][0] + sizes[r][1]);
            double ratio = all_to_all_us(bytes, ranks, nodes, ranks < 8 ? ranks : 8) /
                           all_to_all_us(bytes, MEMBERS, 1, MEMBERS);
            longest = fmax(longest, EXCHANGE_NS * ratio);
        }
        CHECK_DOUBLE(rep.scales[i].time.span_ns, PRODUCT_NS + longest, 1e-5);
        CHECK(i == 0 || rep.scales[i].time.span_ns > rep.scales[i - 1].time.span_ns);
    }
    replay_release(&rep);
    run_release(&run);
}
