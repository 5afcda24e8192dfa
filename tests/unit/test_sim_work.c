/* SPDX-License-Identifier: MIT
 *
 * Device work beside operations of NCCL and cuBLAS in a replay: kernels that were counted and have
 * no times, copies, and launches of graphs.
 */
#include "test.h"

#include "made_device.h"
#include "made_replay.h"
#include "trace/api_calls.h"

#include <math.h>

#define US INT64_C(1000)

/* ---- one rank, call by call; a stream's operations start when they are said to ---- */

#define COVERED (COVER_NCCL | COVER_GEMM | COVER_DEPS | COVER_LAUNCHES | COVER_MEMORY)

static void open_run(struct run *run)
{
    device_run_on(run, 1, MADE_H100, COVERED);
}

static struct op *add_op(struct run *run, int stream, int64_t host_us, int64_t start_us,
                         int64_t dur_us)
{
    struct op *op = device_op(run, 0, stream, host_us * US, host_us * US + US, start_us * US,
                              (start_us + dur_us) * US);
    op->id = run->ranks[0].nops;
    return op;
}

static struct launches *add_launches(struct run *run, int stream, int64_t host_us)
{
    struct launches *l = rank_add_launches(&run->ranks[0]);
    l->stream = stream;
    l->host_ns = host_us * US;
    l->host_end_ns = host_us * US + 4 * US;
    l->count = 9;
    return l;
}

static void add_sync_call(struct run *run, enum sync_call_kind kind, int stream, int64_t event,
                          int64_t host_us, int64_t end_us)
{
    device_sync_call(run, 0, kind, stream, event, host_us * US, end_us * US);
}

static void check_start(const struct run *run, size_t op, int64_t start_us, uint64_t work,
                        uint64_t host)
{
    struct program p;
    struct err e;
    program_init(&p, run, 0, false);
    program_measured(&p);
    CHECK_INT(program_run(&p, &e), 0);
    CHECK_INT(program_span(&p, 0, op).start_ns, start_us * US);
    CHECK_INT(p.facts.untimed[UNTIMED_WORK], work);
    CHECK_INT(p.facts.untimed[UNTIMED_HOST], host);
    program_release(&p);
}

/* The second operation was launched at 10 and starts at 180, 80 after the end of the first. */
TEST(hidden_kernels_take_the_gap)
{
    struct run run;
    open_run(&run);
    add_op(&run, 1, 0, 0, 100);
    add_launches(&run, 1, 2);
    add_op(&run, 1, 10, 180, 50);
    check_start(&run, 1, 180, 9, 0);
    run.ranks[0].nlaunches = 0;
    check_start(&run, 1, 100, 0, 0);
    run_release(&run);
}

/* They cannot start before they are launched: what the stream was idle before that is not theirs.
 */
TEST(hidden_kernels_begin_with_their_launch)
{
    struct run run;
    open_run(&run);
    add_op(&run, 1, 0, 0, 100);
    add_launches(&run, 1, 150);
    add_op(&run, 1, 160, 180, 50);
    check_start(&run, 1, 180, 9, 0);
    struct program p;
    program_init(&p, &run, 0, false);
    CHECK_INT(p.facts.untimed_ns, 30 * US);
    program_release(&p);
    run_release(&run);
}

/* Of a hostile trace: the stream goes back in time, and each gap is a century long. */
TEST(hidden_times_that_leave_their_range)
{
    static const int64_t end_us = RUN_TIME_MAX / US - 1000;
    struct program p;
    struct run run;
    open_run(&run);
    for (int stream = 1; stream <= 3; stream++) {
        add_op(&run, stream, 0, -end_us, 1);
        add_launches(&run, stream, -end_us + 10);
        add_op(&run, stream, 20 - end_us, end_us, 1);
    }
    rank_sort(&run.ranks[0]);
    program_init(&p, &run, 0, false);
    CHECK_INT(p.facts.untimed[UNTIMED_WORK], 27);
    CHECK(p.facts.untimed_ns == INT64_MAX);
    program_release(&p);
    run_release(&run);
}

TEST(hidden_kernels_of_a_late_host)
{
    struct run run;
    open_run(&run);
    add_op(&run, 1, 0, 0, 100);
    add_launches(&run, 1, 120);
    add_op(&run, 1, 300, 302, 50);
    check_start(&run, 1, 300, 0, 9);
    run_release(&run);
}

/* The engine starts work from the start of its call on. An operation whose call took long, and that
 * started behind it, must not start earlier for that. */
TEST(hidden_kernels_beside_a_long_call)
{
    struct run run;
    open_run(&run);
    add_op(&run, 1, 0, 0, 100);
    add_launches(&run, 1, 105);
    add_op(&run, 1, 110, 134, 50)->host_end_ns = 130 * US;
    check_start(&run, 1, 134, 9, 0);
    run_release(&run);
}

/* Another stream is busy until 500, and this one was told to await it: before or after the wait,
 * the kernels have only the time that the wait does not explain. */
TEST(hidden_kernels_and_waits)
{
    static const struct {
        int64_t launch_us, start_us;
        uint64_t work;
    } cases[] = {{3, 500, 0}, {3, 580, 9}, {8, 580, 9}, {8, 502, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct run run;
        open_run(&run);
        add_op(&run, 1, 0, 0, 100);
        add_op(&run, 2, 1, 1, 499);
        add_launches(&run, 1, cases[i].launch_us);
        add_sync_call(&run, SYNC_CALL_RECORD, 2, 7, 5, 5);
        add_sync_call(&run, SYNC_CALL_WAIT, 1, 7, 6, 6);
        add_op(&run, 1, 10, cases[i].start_us, 50);
        check_start(&run, 2, cases[i].work > 0 ? cases[i].start_us : 500, cases[i].work,
                    9 - cases[i].work);
        run_release(&run);
    }
}

/* Kernels, an event, another stream's operation after it, and more kernels after that: what the
 * first ones took shows in when the operation started, unless something else explains that. */
TEST(hidden_kernels_that_another_stream_shows)
{
    static const struct {
        int64_t launch_us, busy_us; /* of the other stream's operation; its stream, before that */
        int64_t start_us;           /* in the replay; as recorded 130 */
        int64_t hidden_us;
    } cases[] = {
        {9, 20, 130, 90},   /* nothing else: then the kernels ended */
        {130, 20, 130, 60}, /* it was launched no earlier */
        {9, 127, 127, 60},  /* its stream was busy */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t late_us = cases[i].launch_us;
        struct program p;
        struct err e;
        struct run run;
        open_run(&run);
        add_op(&run, 1, 0, 0, 100);
        add_op(&run, 2, 1, 1, cases[i].busy_us - 1);
        add_launches(&run, 1, 3);
        add_sync_call(&run, SYNC_CALL_RECORD, 1, 7, 8, 8);
        add_sync_call(&run, SYNC_CALL_WAIT, 2, 7, 8, 8);
        add_op(&run, 2, late_us, 130, 370);
        add_sync_call(&run, SYNC_CALL_RECORD, 2, 8, late_us + 4, late_us + 4);
        add_sync_call(&run, SYNC_CALL_WAIT, 1, 8, late_us + 5, late_us + 5);
        add_launches(&run, 1, late_us + 6);
        add_op(&run, 1, late_us + 20, 560, 50);
        program_init(&p, &run, 0, false);
        program_measured(&p);
        CHECK_INT(program_run(&p, &e), 0);
        CHECK_INT(p.facts.untimed_ns, cases[i].hidden_us * US);
        CHECK_INT(program_span(&p, 0, 2).start_ns, cases[i].start_us * US);
        program_release(&p);
        run_release(&run);
    }
}

/* Kernels between two waits of their stream, of which an operation of another stream shows the end,
 * and kernels after the second wait: each have their own time. */
TEST(hidden_kernels_between_waits)
{
    struct program p;
    struct err e;
    struct run run;
    open_run(&run);
    add_op(&run, 1, 0, 0, 100);
    add_op(&run, 2, 1, 1, 19);
    add_sync_call(&run, SYNC_CALL_RECORD, 2, 6, 2, 2);
    add_sync_call(&run, SYNC_CALL_WAIT, 1, 6, 2, 2);
    add_launches(&run, 1, 3);
    add_sync_call(&run, SYNC_CALL_RECORD, 1, 7, 8, 8);
    add_sync_call(&run, SYNC_CALL_WAIT, 2, 7, 8, 8);
    add_op(&run, 2, 9, 130, 370);
    add_sync_call(&run, SYNC_CALL_RECORD, 2, 8, 13, 13);
    add_sync_call(&run, SYNC_CALL_WAIT, 1, 8, 14, 14);
    add_launches(&run, 1, 15);
    add_op(&run, 1, 29, 560, 50);
    program_init(&p, &run, 0, false);
    program_measured(&p);
    CHECK_INT(program_run(&p, &e), 0);
    CHECK_INT(p.facts.untimed_ns, 90 * US);
    CHECK_INT(program_span(&p, 0, 2).start_ns, 130 * US);
    CHECK_INT(program_span(&p, 0, 3).start_ns, 560 * US);
    program_release(&p);
    run_release(&run);
}

/* Kernels before and after a wait that was over before they were, and nothing shows when the first
 * ended: each of them has an equal part of the time. */
TEST(hidden_kernels_on_both_sides_of_a_wait)
{
    struct program p;
    struct err e;
    struct run run;
    open_run(&run);
    add_op(&run, 1, 0, 0, 100);
    add_op(&run, 2, 1, 1, 129);
    add_launches(&run, 1, 3);
    add_sync_call(&run, SYNC_CALL_RECORD, 2, 7, 8, 8);
    add_sync_call(&run, SYNC_CALL_WAIT, 1, 7, 9, 9);
    add_launches(&run, 1, 15)->count = 3;
    add_op(&run, 1, 29, 500, 50);
    program_init(&p, &run, 0, false);
    program_measured(&p);
    CHECK_INT(program_run(&p, &e), 0);
    CHECK_INT(p.facts.untimed[UNTIMED_WORK], 12);
    CHECK_INT(p.facts.untimed_ns, 400 * US);
    CHECK_INT(program_span(&p, 0, 2).start_ns, 500 * US);
    program_release(&p);
    run_release(&run);
}

/* Kernels, an event, an operation of a stream that was busy until 130 and awaited the event, and
 * more kernels after that operation: the first ones were over when it started, so that it starts no
 * later in the replay. */
TEST(hidden_kernels_over_before_another_stream_started)
{
    struct program p;
    struct err e;
    struct run run;
    open_run(&run);
    add_op(&run, 1, 0, 0, 100);
    add_op(&run, 2, 1, 1, 129);
    add_launches(&run, 1, 3);
    add_sync_call(&run, SYNC_CALL_RECORD, 1, 7, 8, 8);
    add_sync_call(&run, SYNC_CALL_WAIT, 2, 7, 8, 8);
    add_op(&run, 2, 9, 130, 20);
    add_sync_call(&run, SYNC_CALL_RECORD, 2, 8, 13, 13);
    add_sync_call(&run, SYNC_CALL_WAIT, 1, 8, 14, 14);
    add_launches(&run, 1, 15)->count = 3;
    add_op(&run, 1, 29, 500, 50);
    program_init(&p, &run, 0, false);
    program_measured(&p);
    CHECK_INT(program_run(&p, &e), 0);
    CHECK_INT(program_span(&p, 0, 2).start_ns, 130 * US);
    CHECK_INT(program_span(&p, 0, 3).start_ns, 500 * US);
    program_release(&p);
    run_release(&run);
}

/* A copy to the host whose call lasts from `at` to 400 us, and an operation behind it. */
static void add_copy_that_waits(struct run *run, int64_t at)
{
    struct op *copy = add_op(run, 1, at, at, 400 - at);
    copy->class = OP_MEMORY;
    copy->name = "d2h";
    copy->timing = SPECTER_TIMING_HOST;
    copy->host_end_ns = 400 * US;
    add_op(run, 1, 410, 410, 5);
    host_waits_find(&run->ranks[0]);
}

/* A small copy, which has no time of its own, and whose call came back when all before it was done.
 */
TEST(hidden_kernels_before_a_copy_that_waits)
{
    struct run run;
    open_run(&run);
    add_op(&run, 1, 0, 0, 100);
    add_launches(&run, 1, 5);
    add_copy_that_waits(&run, 12);
    check_start(&run, 2, 410, 9, 0);
    run_release(&run);
}

/* Behind a synchronisation nothing is on its way: a call that copies for 280 has no work to wait
 * for, and takes that itself, as where launches get to the device late. */
TEST(copy_that_waits_on_an_idle_stream)
{
    struct run run;
    open_run(&run);
    add_op(&run, 1, 0, 0, 100);
    add_sync_call(&run, SYNC_CALL_STREAM, 1, -1, 12, 101);
    add_copy_that_waits(&run, 120);
    check_start(&run, 2, 410, 0, 0);
    run_release(&run);
}

/* Nothing with a time follows, but the host waited for them until 400. */
TEST(hidden_kernels_before_a_synchronisation)
{
    static const enum sync_call_kind kinds[] = {SYNC_CALL_STREAM, SYNC_CALL_DEVICE,
                                                SYNC_CALL_EVENT};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct run run;
        open_run(&run);
        add_op(&run, 2, 0, 0, 30);
        add_op(&run, 1, 2, 2, 98);
        add_launches(&run, 1, 5);
        add_sync_call(&run, SYNC_CALL_RECORD, 1, 7, 11, 12);
        add_sync_call(&run, kinds[i], kinds[i] == SYNC_CALL_STREAM ? 1 : -1, 7, 12, 400);
        add_op(&run, 1, 410, 410, 5);
        check_start(&run, 2, 410, 9, 0);
        run_release(&run);
    }
}

/* Captured kernels did not run then. */
TEST(hidden_kernels_of_a_capture)
{
    struct run run;
    open_run(&run);
    add_op(&run, 1, 0, 0, 100);
    add_launches(&run, 1, 2)->graph = 1;
    add_op(&run, 1, 10, 180, 50);
    check_start(&run, 1, 100, 0, 0);
    run_release(&run);
}

/* ---- whole replays ---- */

static bool replay_on(struct replay *rep, const struct run *run, const char *gpu)
{
    static const int64_t scales[] = {1, 2};
    struct replay_opts opts = {.gpu = gpu ? gpu_profile_find(gpu, NULL) : NULL,
                               .calibrate = true,
                               .scales = scales,
                               .nscales = 2};
    return run_replay(rep, run, &opts);
}

/* Training steps of 8 GEMMs, each followed by untimed kernels of 60 us; the host is
 * far ahead, and waits at the end of the step for the kernels of the optimizer, 200 us. */
static void training(struct run *run, bool counted)
{
    int64_t host_us = 0, free_us = 0;
    open_run(run);
    for (int k = 0; k < 5; k++)
        rank_add_step(&run->ranks[0]);
    for (int step = 0; step < 5; step++) {
        run->ranks[0].steps[step].start_ns = host_us * US;
        for (int k = 0; k < 8; k++) {
            int64_t start_us = free_us > host_us + 3 ? free_us : host_us + 3;
            device_gemm(add_op(run, 1, host_us, start_us, 150), SPECTER_FP16, 4096, 4096, 4096);
            host_us += 4;
            if (counted)
                add_launches(run, 1, host_us);
            host_us += 6;
            free_us = start_us + 150 + (k < 7 ? 60 : 200);
        }
        add_sync_call(run, SYNC_CALL_DEVICE, -1, -1, host_us, free_us + 4);
        host_us = free_us + 4 + 5;
        run->ranks[0].steps[step].end_ns = host_us * US;
    }
}

TEST(replay_with_counted_kernels_gives_the_recorded_time_back)
{
    struct run run;
    struct replay rep;
    training(&run, true);
    if (replay_on(&rep, &run, NULL)) {
        CHECK_INT(rep.iterations, 5);
        CHECK_DOUBLE(rep.own.span_ns, rep.recorded.span_ns, 0.01);
        CHECK(says(replay_assumptions(&rep), "360 untimed kernels take the gap between"));
        CHECK(!says(replay_assumptions(&rep), "not traced for"));
    }
    replay_release(&rep);
    run_release(&run);
    /* Of a recording without counts, too, up to those that no operation follows. */
    for (int memory = 1; memory >= 0; memory--) {
        training(&run, false);
        run.ranks[0].coverage &= ~(unsigned)(COVER_LAUNCHES | (memory ? 0 : COVER_MEMORY));
        if (replay_on(&rep, &run, NULL)) {
            CHECK_DOUBLE(rep.own.span_ns / rep.recorded.span_ns, 0.89, 0.01);
            CHECK(says(replay_assumptions(&rep), "not count other kernels, explains"));
            CHECK(says(replay_assumptions(&rep),
                       memory ? "1 of 1 rank was not traced for other kernels: what waits"
                              : "not traced for copies and other kernels: what waits"));
        }
        replay_release(&rep);
        run_release(&run);
    }
}

/* On another GPU they take the ratio of memory bandwidths, as all that no model knows. */
TEST(replay_of_counted_kernels_on_another_gpu)
{
    struct run run;
    struct replay rep;
    double ratio;
    model_other_ratio(gpu_profile_find("h100_sxm", NULL), gpu_profile_find("a100_sxm", NULL),
                      SPECTER_KERNEL_OTHER, &ratio, NULL);
    training(&run, true);
    for (size_t i = 0; i < run.ranks[0].nops; i++)
        device_becomes(&run.ranks[0].ops[i], OP_KERNEL, "k");
    if (replay_on(&rep, &run, "a100_sxm"))
        CHECK_DOUBLE(rep.scales[0].time.span_ns, rep.own.span_ns * ratio, 0.01);
    replay_release(&rep);
    run_release(&run);
}

/* Each class by its own ratio, a mixture by its counts. */
TEST(replay_of_counted_kernels_scales_by_their_classes)
{
    const struct gpu_profile *h100 = gpu_profile_find("h100_sxm", NULL);
    const struct gpu_profile *a100 = gpu_profile_find("a100_sxm", NULL);
    struct run run;
    struct replay rep;
    double attention, memory;
    model_other_ratio(h100, a100, SPECTER_KERNEL_ATTENTION, &attention, NULL);
    model_other_ratio(h100, a100, SPECTER_KERNEL_ELEMENTWISE, &memory, NULL);
    training(&run, true);
    for (size_t i = 0; i < run.ranks[0].nops; i++)
        device_becomes(&run.ranks[0].ops[i], OP_KERNEL, "flash_fwd_kernel");
    for (size_t i = 0; i < run.ranks[0].nlaunches; i++)
        run.ranks[0].launches[i].classes[SPECTER_KERNEL_ATTENTION] = 3;
    if (replay_on(&rep, &run, "a100_sxm"))
        CHECK_DOUBLE(rep.scales[0].time.span_ns, rep.own.span_ns * attention, 0.01);
    replay_release(&rep);
    run_release(&run);
    training(&run, true);
    for (size_t i = 0; i < run.ranks[0].nlaunches; i++) {
        run.ranks[0].launches[i].classes[SPECTER_KERNEL_ATTENTION] = 1;
        run.ranks[0].launches[i].classes[SPECTER_KERNEL_ELEMENTWISE] = 3;
    }
    for (size_t i = 0; i < run.ranks[0].nops; i++)
        device_becomes(&run.ranks[0].ops[i], OP_KERNEL, "mystery");
    if (replay_on(&rep, &run, "a100_sxm")) {
        double mixed = (attention + 3 * memory) / 4, span = rep.own.span_ns;
        CHECK(rep.scales[0].time.span_ns > span * memory * 1.001);
        CHECK(rep.scales[0].time.span_ns < span * mixed);
    }
    replay_release(&rep);
    run_release(&run);
}

/* ---- an optimizer on shards ---- */

static void add_coll(struct run *run, enum specter_comm_op what, int comm, int64_t seq,
                     int64_t host_us)
{
    device_coll(add_op(run, 2, host_us, host_us + 1, 1), what, comm, seq,
                (uint64_t)(4096 << seq)); /* no two alike, which would be iterations */
}

/* Sharded by what its only communicator does: parameters gathered before use, gradients scattered,
 * or gradients summed whole. Two records of kernels, 1 of 4 of them the optimizer's, take the 400
 * us before the last operation. */
static void sharded_training(struct run *run, bool sharded)
{
    int comm;
    open_run(run);
    comm = device_comm(run, "c", 0, 1, 1);
    for (int64_t i = 0; i < 6; i++)
        add_coll(run,
                 !sharded ? SPECTER_ALLREDUCE
                 : i < 4  ? SPECTER_ALLGATHER
                          : SPECTER_REDUCESCATTER,
                 comm, i, 10 * i);
    add_op(run, 1, 100, 100, 100);
    add_launches(run, 1, 110)->classes[SPECTER_KERNEL_REDUCTION] = 3;
    add_launches(run, 1, 120)->classes[SPECTER_KERNEL_OPTIMIZER] = 1;
    add_op(run, 1, 130, 600, 200);
    add_sync_call(run, SYNC_CALL_STREAM, 1, -1, 140, 803);
}

/* Of 400 us a quarter, as kernels share it evenly: at scale 2 half of this is left. */
TEST(replay_scale_of_an_optimizer_on_shards)
{
    for (int sharded = 0; sharded < 2; sharded++) {
        struct run run;
        struct replay rep;
        sharded_training(&run, sharded != 0);
        if (replay_on(&rep, &run, "h100_sxm")) {
            CHECK_DOUBLE(rep.scales[0].time.span_ns - rep.scales[1].time.span_ns,
                         sharded ? 50e3 : 0, 1);
        }
        replay_release(&rep);
        run_release(&run);
    }
}

/* A kernel with a time shrinks by its name, on the hardware of the recording and elsewhere. */
TEST(replay_scale_of_a_named_optimizer)
{
    static const char *const gpus[] = {"h100_sxm", "a100_sxm"};
    for (size_t i = 0; i < sizeof gpus / sizeof *gpus; i++) {
        struct run run;
        struct replay rep;
        sharded_training(&run, true);
        run.ranks[0].nlaunches = 0;
        run.ranks[0].ops[7].name = "multi_tensor_apply_kernel<AdamFunctor>";
        if (replay_on(&rep, &run, gpus[i]))
            CHECK_DOUBLE(rep.scales[1].time.compute_ns / rep.scales[0].time.compute_ns, 2. / 3,
                         1e-3);
        replay_release(&rep);
        run_release(&run);
    }
}

/* The call of the first copy waited for it, and for the kernel before it: its 300 us are not the
 * CPU's. The second is too small to have been timed: nothing is lost by that. */
TEST(replay_of_copies)
{
    struct run run;
    struct replay rep;
    open_run(&run);
    add_op(&run, 1, 0, 3, 200);
    struct op *op = add_op(&run, 1, 5, 203, 100);
    op->class = OP_MEMORY;
    op->name = "d2h";
    op->host_end_ns = 305 * US;
    op = add_op(&run, 1, 310, 310, 2);
    op->class = OP_MEMORY;
    op->name = "h2d";
    op->timing = SPECTER_TIMING_HOST;
    add_op(&run, 1, 315, 318, 50);
    host_waits_find(&run.ranks[0]);
    if (replay_on(&rep, &run, NULL)) {
        CHECK_DOUBLE(rep.own.span_ns, rep.recorded.span_ns, 0.02);
        CHECK_DOUBLE(rep.own.memory_ns, (double)(100 * US), 0);
        CHECK(says(replay_assumptions(&rep), "1 calls of copies waited for the device"));
        CHECK(says(replay_assumptions(&rep), "1 small copies were not timed"));
        CHECK(*replay_losses(&rep, &rep.arena) == NULL);
    }
    replay_release(&rep);
    if (replay_on(&rep, &run, "v100_sxm")) {
        CHECK_DOUBLE(rep.scales[0].time.memory_ns, (double)(400 * US), 1e-6);
        CHECK(rep.scales[0].time.span_ns > rep.own.span_ns + (double)(300 * US));
    }
    replay_release(&rep);
    run_release(&run);
}

/* A graph of one AllReduce, launched five times. */
static void graphs(struct run *run, int ranks)
{
    device_run_on(run, ranks, MADE_H100, COVERED);
    device_comm(run, "world", 0, 1, ranks);
    for (int r = 0; r < ranks; r++) {
        struct op *op = device_op(run, r, 1, 0, 5 * US, UNKNOWN_NS, UNKNOWN_NS);
        op->dur_ns = UNKNOWN_NS;
        op->timing = SPECTER_TIMING_CAPTURED;
        op->graph = 3;
        device_coll(op, SPECTER_ALLREDUCE, 0, 0, 64u << 20)->dtype = SPECTER_FP16;
        for (int i = 0; i < 5; i++) {
            int64_t host_ns = (i + 1) * 20 * US, start_ns = 28 * US + i * 1000 * US;
            op = device_op(run, r, 1, host_ns, host_ns + 5 * US, start_ns, start_ns + 1000 * US);
            op->id = (uint64_t)(i + 1);
            op->class = OP_GRAPH;
            op->name = "graph";
            op->graph = 3;
            op->graph_launch.op_count = 1;
            op->graph_launch.launch = (uint64_t)i;
        }
    }
}

/* Ranks that sit apart: what a graph transfers takes longer, at the recorded scale, too. */
TEST(replay_of_graphs_elsewhere)
{
    static const struct placement isolated = {.kind = PLACE_BLOCK, .per_node = 1};
    static const int64_t scale = 1;
    struct replay_opts opts = {.calibrate = true, .scales = &scale, .nscales = 1};
    struct run run;
    struct replay rep;
    opts.placement = &isolated;
    graphs(&run, 8);
    CHECK_INT(replay_run(&rep, &run, &opts, NULL), 0);
    CHECK_DOUBLE(rep.own.span_ns, rep.recorded.span_ns, 0.01);
    CHECK(rep.scales[0].time.span_ns > 1.2 * rep.own.span_ns);
    replay_release(&rep);
    run_release(&run);
}

TEST(replay_of_graphs)
{
    struct run run;
    struct replay rep;
    graphs(&run, 8);
    if (replay_on(&rep, &run, NULL)) {
        CHECK_DOUBLE(rep.own.span_ns, rep.recorded.span_ns, 0.01);
        CHECK(says(replay_assumptions(&rep),
                   "40 launches of graphs are blocks of work that last as recorded"));
        CHECK(*replay_losses(&rep, &rep.arena) == NULL);
        CHECK(rep.scales[1].time.span_ns > 1.05 * rep.scales[0].time.span_ns); /* two nodes */
    }
    replay_release(&rep);
    if (replay_on(&rep, &run, "a100_sxm")) /* half of the links' rate */
        CHECK(rep.scales[0].time.span_ns > 1.2 * rep.own.span_ns);
    replay_release(&rep);
    for (size_t r = 0; r < run.nranks; r++) /* now their contents are unknown */
        run.ranks[r].ops[0].graph = -1;
    if (replay_on(&rep, &run, NULL))
        CHECK_DOUBLE(rep.scales[1].time.span_ns, rep.scales[0].time.span_ns, 0);
    replay_release(&rep);
    run_release(&run);
}
