/* SPDX-License-Identifier: MIT
 *
 * Communicators that leave a GPU, or a node, through the same port; groups that share channels.
 */
#include "test.h"

#include "made_device.h"
#include "made_job.h"
#include "made_run.h"

#include <math.h>

#define EACH 4 /* transfers of each communicator */

static void make_ranks(struct run *run, int ranks)
{
    device_run_on(run, ranks, MADE_H100, COVER_NCCL | COVER_GEMM | COVER_DEPS);
}

static struct op *add_reduce(struct run *run, int r, int comm, int seq, uint64_t bytes,
                             double start_ns, double end_ns)
{
    struct op *op = device_op(run, r, 1 + comm, 97000 + 2 * seq, 97001 + 2 * seq, llround(start_ns),
                              llround(end_ns));
    return device_coll(op, SPECTER_ALLREDUCE, comm, seq, bytes);
}

/* Two ranks, two communicators on streams of their own, each EACH AllReduces in a row, launched
 * together: each takes work_ns alone, and `shared` times that beside the other. The second
 * communicator does only `second` of them. */
static void make_two_comms(struct run *run, uint64_t bytes, double work_ns, double shared,
                           int second)
{
    double end_ns[2] = {100000, 100000};
    make_ranks(run, 2);
    device_comm(run, "a", 0, 1, 2);
    device_comm(run, "b", 0, 1, 2);
    for (int i = 0; i < EACH; i++) {
        for (int c = 0; c < (i < second ? 2 : 1); c++) {
            double start = end_ns[c];
            end_ns[c] += work_ns * (i < second ? shared : 1);
            for (int r = 0; r < 2; r++)
                add_reduce(run, r, c, i, bytes, start, end_ns[c]);
        }
    }
}

/* Two nodes of two GPUs: each GPU reduces with its like on the other node, all at once,
 * on its only stream. */
static void make_sisters(struct run *run, uint64_t bytes, double each_ns)
{
    make_ranks(run, 4);
    device_comm(run, "a", 0, 2, 2);
    device_comm(run, "b", 1, 2, 2);
    for (int i = 0; i < EACH; i++) {
        for (int r = 0; r < 4; r++) {
            double start = 100000 + i * each_ns;
            add_reduce(run, r, r % 2, i, bytes, start, start + each_ns)->stream = 1;
        }
    }
}

static void check_transfers(const struct recorded_job *s, double ns)
{
    const struct program *p = &s->job.program;
    for (size_t i = 0; i < p->ncosts; i++)
        CHECK_DOUBLE((double)p->costs[i].measured_ns, ns, 3);
}

/* Transfers of one rank on several streams keep their times: recordings do not show that they share
 * its ports. */
TEST(overlap_own_ports_are_not_shared)
{
    const double work_ns = 4e6;
    struct recorded_job s;
    make_two_comms(&s.run, 1u << 30, work_ns, 1.6, EACH);
    recorded_job_init(&s, &calibrated);
    CHECK_INT((int64_t)s.job.overlap.contended, 0);
    check_transfers(&s, 1.6 * work_ns);
    recorded_job_release(&s);
}

/* One of many transfers waited in a queue: what it took longer than the others is not scaled. */
TEST(overlap_a_wait_in_a_queue_is_not_scaled)
{
    const double work_ns = 230000, queue_ns = 5100000;
    const struct network_profile *net = network_profile_find("dgx_h100_400g", NULL);
    struct network_profile half = *net;
    double longest_ns = 0, usual_ns = 0;
    struct recorded_job s;
    half.intra_GBps /= 2;
    half.pair_GBps /= 2;
    make_two_comms(&s.run, 64u << 20, work_ns, 1, 0);
    for (int r = 0; r < 2; r++) {
        for (int i = 0; i < EACH; i++)
            s.run.ranks[r].ops[i].start_ns += i < 2 ? 0 : (int64_t)(queue_ns - work_ns);
        s.run.ranks[r].ops[1].dur_ns = (int64_t)queue_ns;
    }
    recorded_job_init(&s, &calibrated);
    CHECK_INT((int64_t)s.job.overlap.queued, 1);
    CHECK_DOUBLE((double)s.job.overlap.queued_ns, queue_ns - work_ns, 1);
    on(&s, (struct hardware){s.rep.from.gpu, &half}, 1);
    for (size_t i = 0; i < s.job.program.ncosts; i++) {
        double ns = (double)s.job.program.costs[i].set_ns;
        longest_ns = fmax(longest_ns, ns);
        usual_ns = i == 0 ? ns : usual_ns;
    }
    CHECK(usual_ns > 1.2 * work_ns);
    CHECK_DOUBLE(longest_ns, usual_ns + queue_ns - work_ns, 1);
    recorded_job_release(&s);
}

/* Rank 0 sends a message on each of two streams, to rank 1 (`back`: it receives the second one). */
static void make_message(struct op *op, bool sends, int peer)
{
    device_coll(op, sends ? SPECTER_SEND : SPECTER_RECV, op->coll.comm, op->coll.seq, op->bytes);
    op->coll.peer = peer;
}

static void make_messages(struct run *run, double ns, bool back)
{
    make_two_comms(run, 1u << 30, ns, 1, EACH);
    for (int r = 0; r < 2; r++) {
        for (size_t i = 0; i < run->ranks[r].nops; i++) {
            struct op *op = &run->ranks[r].ops[i];
            make_message(op, (r == 0) != (back && op->coll.comm == 1), 1 - r);
        }
    }
}

/* NICs have two directions: GPUs of one node both send, or one of them receives. */
TEST(overlap_messages_both_ways_do_not_meet)
{
    struct replay_opts opts = {.calibrate = true,
                               .from_network = network_profile_find("consumer_pcie", NULL)};
    for (int back = 0; back < 2; back++) {
        struct recorded_job s;
        make_sisters(&s.run, 1u << 28, 8e7);
        for (int r = 0; r < 4; r++) {
            for (int i = 0; i < EACH; i++)
                make_message(&s.run.ranks[r].ops[i], (r < 2) != (back && r % 2 == 1), 1 - r / 2);
        }
        recorded_job_init(&s, &opts);
        CHECK_INT((int64_t)s.job.overlap.contended, back ? 0 : 2 * EACH);
        recorded_job_release(&s);
    }
}

/* A kernel of rank 0 on a stream of its own, from the first message to the end of the last. */
static struct op *add_product(struct run *run)
{
    const struct op *first = &run->ranks[0].ops[0];
    const struct op *last = &run->ranks[0].ops[run->ranks[0].nops - 1];
    int64_t start_ns = first->start_ns, end_ns = last->start_ns + last->dur_ns;
    struct op *op = device_op(run, 0, 3, 97000, 97001, start_ns, end_ns);
    return device_gemm(op, SPECTER_FP16, 4096, 4096, 4096);
}

/* Returns the multiprocessors that messages beside computation hold, integrated over its time. */
static double held_beside_product(struct recorded_job *s)
{
    const struct program *p = &s->job.program;
    double held_ns = 0;
    sim_keep_beside(p->sim, true);
    on(s, s->rep.from, 1);
    for (size_t i = 0; i < p->ncosts; i++) {
        if (p->costs[i].match == PROGRAM_NONE)
            held_ns += (double)sim_beside(p->sim, p->costs[i].target).sm_ns;
    }
    return held_ns;
}

/* Messages of one group are one kernel, whose channels they share: it holds no more than one of
 * them would. */
TEST(overlap_messages_of_a_group_share_channels)
{
    double held[2] = {0, 0};
    for (int grouped = 0; grouped < 2; grouped++) {
        struct recorded_job s;
        make_messages(&s.run, 8e6, true);
        for (int r = 0; r < 2 && grouped; r++) {
            for (int i = 0; i < (int)s.run.ranks[r].nops; i++) {
                s.run.ranks[r].ops[i].stream = 1;
                s.run.ranks[r].ops[i].coll.group = i / 2;
            }
        }
        add_product(&s.run);
        recorded_job_init(&s, &calibrated);
        held[grouped] = held_beside_product(&s);
        recorded_job_release(&s);
    }
    CHECK(held[0] > 0);
    CHECK_DOUBLE(held[1], held[0] / 2, 0.02 * held[0]);
}

/* Returns by how much all transfers of the last simulation were longer than alone. */
static int64_t contended_ns(const struct recorded_job *s)
{
    int64_t sum = 0;
    for (size_t i = 0; i < s->job.program.ncosts; i++) {
        const struct program_cost *c = &s->job.program.costs[i];
        struct sim_span span = sim_transfer_span(s->job.program.sim, c->target);
        sum += span.end_ns - span.start_ns - c->set_ns;
    }
    return sum;
}

static double nic_share(const struct network_profile *net, uint64_t bytes)
{
    struct layout apart = {2, 2, 1};
    struct comm_cost cost;
    struct err e;
    CHECK_INT(model_collective(gpu_profile_find("h100_sxm", NULL), net, SPECTER_ALLREDUCE,
                               (double)bytes, apart, &cost, &e),
              0);
    return cost.nic_us / cost.us;
}

/* A node with fewer NICs than GPUs: communicators of different ranks meet. With a NIC for each GPU
 * they do not; and where there were two and is one, they meet anew. */
TEST(overlap_ranks_of_a_node_share_its_nics)
{
    const struct network_profile *one = network_profile_find("consumer_pcie", NULL);
    struct replay_opts opts = {.calibrate = true, .from_network = one};
    const uint64_t bytes = 1u << 28;
    const double work_ns = 8e7;
    struct network_profile more;
    struct recorded_job s;
    struct iteration_time t;
    double share = nic_share(one, bytes);
    CHECK(share > 0.7 && share <= 1);
    make_sisters(&s.run, bytes, work_ns * 2 * share);
    recorded_job_init(&s, &opts);
    CHECK_INT((int64_t)s.job.overlap.contended, 2 * EACH);
    check_transfers(&s, work_ns);
    more = *s.rep.from.network;
    more.nics_per_node = 2;
    for (int again = 0; again < 2; again++) {
        on(&s, (struct hardware){s.rep.from.gpu, &more}, 1);
        CHECK_INT(contended_ns(&s), 0);
        t = on(&s, s.rep.from, 1);
        CHECK_DOUBLE(t.span_ns, job_measure(&s.job, false).span_ns, 1e-5 * t.span_ns);
        CHECK(contended_ns(&s) > 0);
    }
    recorded_job_release(&s);
}

/* The calls of the second communicator lie behind those of the first. */
static void issue_apart(struct run *run)
{
    for (size_t r = 0; r < run->nranks; r++) {
        for (size_t i = 0; i < run->ranks[r].nops; i++) {
            struct op *op = &run->ranks[r].ops[i];
            op->host_ns += op->coll.comm;
            op->host_end_ns += op->coll.comm;
        }
    }
}

/* No recorded start is looked at on crowded NICs. */
TEST(overlap_scrambled_starts_change_nothing_on_crowded_nics)
{
    struct replay_opts apart = {.calibrate = true,
                                .from_network = network_profile_find("consumer_pcie", NULL)};
    double before = 0;
    for (uint64_t seed = 0; seed < 4; seed++) {
        struct recorded_job s;
        double ns;
        make_sisters(&s.run, 1u << 28, 1.4e8);
        issue_apart(&s.run);
        if (seed > 0)
            made_scramble(&s.run, seed);
        recorded_job_init(&s, &apart);
        CHECK(s.job.overlap.contended > 0);
        ns = on(&s, s.rep.from, 1).span_ns;
        before = seed == 0 ? ns : before;
        CHECK_DOUBLE(ns, before, 1);
        recorded_job_release(&s);
    }
}
