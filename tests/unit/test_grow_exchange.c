/* SPDX-License-Identifier: MIT
 *
 * All-to-alls made of messages, and more members in them (--grow ep).
 */
#include "test.h"

#include "made_device.h"
#include "sim/target/retarget.h"
#include "sim/replay/replay.h"

#include <math.h>
#include <stdlib.h>

#define MEMBERS 2
#define EXCHANGE_NS 100000
#define PRODUCT_NS 400000

/* Rank 0 sends three times as much to rank 1 as it keeps, rank 1 as much to both. */
static const uint64_t sizes[MEMBERS][MEMBERS] = {{4 << 20, 12 << 20}, {2 << 20, 2 << 20}};

static struct op *add(struct run *run, int rank, int64_t *t_ns, int64_t dur_ns)
{
    ++*t_ns;
    return device_op(run, rank, 1, *t_ns, *t_ns, *t_ns, *t_ns + dur_ns);
}

static void add_exchange(struct run *run, int rank, int comm, int nth, int64_t *t_ns)
{
    for (int k = 0; k < 2 * MEMBERS; k++) {
        bool send = k % 2 == 0;
        uint64_t bytes = send ? sizes[rank][k / 2] : sizes[k / 2][rank];
        struct op *op = device_coll(add(run, rank, t_ns, EXCHANGE_NS),
                                    send ? SPECTER_SEND : SPECTER_RECV, comm, nth, bytes);
        op->coll.peer = k / 2;
        op->coll.group = nth;
    }
}

static void make_run(struct run *run)
{
    int comm;
    device_run_on(run, MEMBERS, MADE_H100, COVER_NCCL | COVER_GEMM | COVER_DEPS | COVER_KERNELS);
    comm = device_comm(run, "experts", 0, 1, MEMBERS);
    run->comms[comm].name = "ep";
    for (int r = 0; r < MEMBERS; r++) {
        int64_t t_ns = 0;
        for (int i = 0; i < 5; i++) {
            device_gemm(add(run, r, &t_ns, PRODUCT_NS), SPECTER_BF16, 2048, 2048, 2048);
            add_exchange(run, r, comm, i, &t_ns);
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

/* The bytes that a rank sends stay the same, over more members; the rank with the longest exchange
 * decides. */
TEST(grow_exchanges_of_messages)
{
    static const int64_t scales[] = {1, 2, 4, 16};
    struct replay_opts opts = {
        .scales = scales, .nscales = 4, .calibrate = true, .grow_given = true, .grow = GRID_EP};
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
