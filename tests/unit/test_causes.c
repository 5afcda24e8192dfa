/* SPDX-License-Identifier: MIT
 *
 * Why a device idles, or waits: in recordings made so that the answer is known.
 */
#include "test.h"

#include "made_device.h"
#include "made_job.h"

#define ROUNDS 6
#define CALL_NS 1000
#define LATENCY_NS 3000 /* of the H100 profile */

/* Two ranks and communicator 0 of both. */
static void start_run(struct run *run)
{
    device_run_on(run, 2, MADE_H100, COVER_NCCL | COVER_GEMM | COVER_DEPS);
    device_comm(run, "w", 0, 1, 2);
}

static struct op *add_kernel(struct run *run, int r, int64_t host_ns, int64_t start_ns,
                             int64_t dur_ns)
{
    return device_op(run, r, 1, host_ns, host_ns + CALL_NS, start_ns, start_ns + dur_ns);
}

static void add_message(struct run *run, int r, enum specter_comm_op what, int64_t seq,
                        int64_t host_ns, int64_t start_ns, int64_t end_ns)
{
    struct op *op = add_kernel(run, r, host_ns, start_ns, end_ns - start_ns);
    device_coll(op, what, 0, seq, 1 << 20)->coll.peer = 1 - r;
}

#define SENDER_NS 200000
#define RECEIVER_NS 50000
#define MESSAGE_NS 30000

/* Rank 1 computes and sends, rank 0 receives and computes for less long: it waits for each message.
 * All is launched ahead of the devices. */
static void make_pipeline(struct run *run)
{
    int64_t sent_ns = CALL_NS + LATENCY_NS;
    start_run(run);
    for (int i = 0; i < ROUNDS; i++) {
        int64_t host_ns = i * 4 * CALL_NS, asked_ns = i > 0 ? sent_ns + RECEIVER_NS : LATENCY_NS;
        int64_t computed_ns = (i > 0 ? sent_ns : LATENCY_NS) + SENDER_NS;
        add_kernel(run, 1, host_ns, computed_ns - SENDER_NS, SENDER_NS);
        sent_ns = computed_ns + MESSAGE_NS;
        add_message(run, 1, SPECTER_SEND, i, host_ns + CALL_NS, computed_ns, sent_ns);
        add_message(run, 0, SPECTER_RECV, i, host_ns, asked_ns, sent_ns);
        add_kernel(run, 0, host_ns + CALL_NS, sent_ns, RECEIVER_NS);
    }
}

/* Along the pipeline such a wait is a bubble, and idle; in any other grid it is a wait for another
 * rank. */
TEST(causes_of_a_late_message)
{
    for (int pipeline = 0; pipeline < 2; pipeline++) {
        struct replay_opts opts = {.calibrate = true, .parallel = pipeline ? "pp=2" : "dp=2"};
        double wait_ns = (SENDER_NS - RECEIVER_NS) / 2.0;
        double compute_ns = (SENDER_NS + RECEIVER_NS) / 2.0;
        struct recorded_job s;
        struct iteration_time t;
        make_pipeline(&s.run);
        recorded_job_init(&s, &opts);
        t = on(&s, s.rep.from, 1);
        CHECK_DOUBLE(t.span_ns, SENDER_NS + MESSAGE_NS, 0);
        CHECK_DOUBLE(t.compute_ns, compute_ns, 5001); /* means over the two ranks; less the part of
                                                         the sender's first one in the window */
        CHECK_DOUBLE(t.bubble_ns, pipeline ? wait_ns : 0, 0);
        CHECK_DOUBLE(t.comm_wait_ns, pipeline ? 0 : wait_ns, 0);
        CHECK_DOUBLE(t.exposed_comm_ns, MESSAGE_NS + (pipeline ? 0 : wait_ns), 0);
        CHECK_DOUBLE(t.comm_ns, MESSAGE_NS + wait_ns, 0);
        recorded_job_release(&s);
    }
}

#define KERNEL_NS 10000
#define GAP_NS 100000

/* Each round: the host is late by GAP_NS, then launches a kernel on stream 2, whose event a kernel
 * on stream 1 awaits, and a third one there. */
static void make_waits(struct run *run)
{
    start_run(run);
    for (int r = 0; r < 2; r++) {
        for (int64_t i = 0; i < ROUNDS; i++) {
            int64_t host_ns = (i + 1) * GAP_NS, start_ns = host_ns + CALL_NS + LATENCY_NS;
            add_kernel(run, r, host_ns, start_ns, KERNEL_NS)->stream = 2;
            device_sync_call(run, r, SYNC_CALL_RECORD, 2, i, host_ns + CALL_NS, host_ns + CALL_NS);
            device_sync_call(run, r, SYNC_CALL_WAIT, 1, i, host_ns + CALL_NS + 1,
                             host_ns + CALL_NS + 1);
            add_kernel(run, r, host_ns + 2 * CALL_NS, start_ns + KERNEL_NS, KERNEL_NS);
        }
    }
}

/* The device waits for the host, and never for a stream that works. */
TEST(causes_of_an_idle_device)
{
    struct replay_opts opts = {.calibrate = true};
    struct recorded_job s;
    struct iteration_time t;
    make_waits(&s.run);
    recorded_job_init(&s, &opts);
    t = on(&s, s.rep.from, 1);
    CHECK_DOUBLE(t.span_ns, GAP_NS, 0);
    CHECK_DOUBLE(t.compute_ns, 2 * KERNEL_NS, 0);
    CHECK_DOUBLE(t.host_bound_ns, GAP_NS - 2 * KERNEL_NS, 0);
    CHECK_DOUBLE(t.stream_wait_ns, 0, 0);
    CHECK_DOUBLE(t.other_idle_ns, 0, 0);
    recorded_job_release(&s);
}
