/* SPDX-License-Identifier: MIT
 *
 * Blocked time of hosts is not replayed but made anew: launches that wait for room in a queue,
 * allocations that wait for the device.
 */
#include "test.h"

#include "made_device.h"
#include "made_job.h"
#include "sim/program/program.h"
#include "trace/api_calls.h"

#define KERNELS 3000
#define KERNEL_NS 10000
#define CALL_NS 1000

static void start_run(struct run *run)
{
    device_run_on(run, 1, "", COVER_NCCL | COVER_DEPS);
}

static void add_kernel(struct run *run, int64_t host_ns, int64_t host_end_ns)
{
    device_op(run, 0, 1, host_ns, host_end_ns, host_ns, host_ns + KERNEL_NS);
}

static void add_sync_call(struct run *run, enum sync_call_kind kind, int64_t host_ns,
                          int64_t host_end_ns)
{
    device_sync_call(run, 0, kind, -1, -1, host_ns, host_end_ns);
}

/* A host that is faster than its device: from the 1,023rd launch on each call waits until a kernel
 * is over. By recurrence: when each kernel ends, when each call returns. */
static void make_full_queue(struct run *run)
{
    static int64_t end_ns[KERNELS];
    int64_t t_ns = 0;
    start_run(run);
    for (int i = 0; i < KERNELS; i++) {
        int64_t begin_ns = t_ns, room_ns = i >= BACKLOG_DEPTH ? end_ns[i - BACKLOG_DEPTH] : 0;
        if (room_ns > t_ns)
            t_ns = room_ns;
        end_ns[i] = (i > 0 && end_ns[i - 1] > t_ns ? end_ns[i - 1] : t_ns) + KERNEL_NS;
        t_ns += CALL_NS;
        add_kernel(run, begin_ns, t_ns);
    }
}

static int64_t end_with(struct program *p, int64_t kernel_ns)
{
    struct err e;
    program_measured(p);
    for (size_t i = 0; i < p->ncosts; i++)
        program_set_cost(p, i, kernel_ns);
    CHECK_INT(program_run(p, &e), 0);
    return program_span(p, 0, KERNELS - 1).end_ns;
}

TEST(host_waits_for_room_are_made_anew)
{
    struct run run;
    struct program p;
    int64_t host_ns;
    make_full_queue(&run);
    program_init(&p, &run, 0, false);
    sim_set_queue_depth(p.sim, BACKLOG_DEPTH);
    /* A call can but wait for what was launched, so that some wait 0. */
    CHECK(p.facts.blocked > KERNELS - BACKLOG_DEPTH - KERNELS / 10 - 100);
    CHECK_INT(end_with(&p, KERNEL_NS), KERNELS * (int64_t)KERNEL_NS);
    host_ns = sim_host_end(p.sim, 0);
    CHECK_DOUBLE((double)host_ns, (double)run.ranks[0].ops[KERNELS - 1].host_end_ns, 20000);
    /* A device of five times the speed keeps the host waiting for less long: with the recorded
     * waits as CPU time, all would take as long as before. */
    CHECK_INT(end_with(&p, KERNEL_NS / 5), KERNELS * (int64_t)KERNEL_NS / 5);
    CHECK(sim_host_end(p.sim, 0) < host_ns / 4);
    program_release(&p);
    run_release(&run);
}

/* A replay knows how deep queues are: NVIDIA's, by the profile; those of others have no end. */
TEST(host_queues_of_a_replay)
{
    static const char *const gpus[] = {"NVIDIA H100 80GB HBM3", "AMD Instinct MI300X"};
    for (int other = 0; other < 2; other++) {
        struct replay_opts opts = {.calibrate = true};
        struct recorded_job s;
        double recorded_ns, host_ns;
        make_full_queue(&s.run);
        s.run.format = s.run.source = "made";
        s.run.ranks[0].gpu = gpus[other];
        s.run.ranks[0].complete = true;
        recorded_job_init(&s, &opts);
        recorded_ns = (double)s.run.ranks[0].ops[KERNELS - 1].host_end_ns;
        on(&s, s.rep.from, 1);
        host_ns = (double)sim_host_end(s.job.program.sim, 0);
        if (other)
            CHECK(host_ns < recorded_ns / 4);
        else
            CHECK_DOUBLE(host_ns, recorded_ns, 0.01 * recorded_ns);
        recorded_job_release(&s);
    }
}

/* Long calls in front of an empty queue are CPU time, however long. */
TEST(host_long_calls_with_room_are_cpu_time)
{
    struct run run;
    struct program p;
    int64_t t_ns = 0;
    start_run(&run);
    for (int i = 0; i < KERNELS; i++) {
        add_kernel(&run, t_ns, t_ns + (i % 100 == 99 ? 50000 : CALL_NS));
        t_ns = run.ranks[0].ops[i].host_end_ns;
        if (i % 1000 == 999)
            add_sync_call(&run, SYNC_CALL_DEVICE, t_ns, t_ns + 1);
        t_ns++;
    }
    program_init(&p, &run, 0, false);
    CHECK_INT((int64_t)p.facts.blocked, 0);
    program_release(&p);
    run_release(&run);
}

/* Kernel 0-10000 launched at 0; an allocation of 500 of its own at 1000 returns after it; on a
 * device that takes 2000, after that. The second has nothing to wait for. */
TEST(host_allocations_wait_for_the_device)
{
    struct run run;
    struct program p;
    struct err e;
    start_run(&run);
    add_kernel(&run, 0, CALL_NS);
    add_sync_call(&run, SYNC_CALL_FREE, 1000, 10500);
    add_sync_call(&run, SYNC_CALL_FREE, 20000, 20500);
    host_waits_find(&run.ranks[0]);
    program_init(&p, &run, 0, false);
    program_measured(&p);
    CHECK_INT(program_run(&p, &e), 0);
    CHECK_INT((int64_t)p.facts.allocations, 1);
    CHECK_INT(sim_host_end(p.sim, 0), 20500);
    program_set_cost(&p, 0, 2000);
    CHECK_INT(program_run(&p, &e), 0);
    CHECK_INT(sim_host_end(p.sim, 0), 12500);
    program_release(&p);
    run_release(&run);
}

/* A call that returns while the device still works has not waited for it, however long it took. */
TEST(host_long_allocation_is_cpu_time)
{
    struct run run;
    struct program p;
    struct err e;
    start_run(&run);
    add_kernel(&run, 0, CALL_NS);
    add_sync_call(&run, SYNC_CALL_ALLOC, 1000, 7500);
    host_waits_find(&run.ranks[0]);
    program_init(&p, &run, 0, false);
    program_measured(&p);
    program_set_cost(&p, 0, 2000);
    CHECK_INT(program_run(&p, &e), 0);
    CHECK_INT(sim_host_end(p.sim, 0), 7500);
    program_release(&p);
    run_release(&run);
}
