/* SPDX-License-Identifier: MIT
 *
 * Facts that a program infers where the recording does not have them: waits of streams, and the
 * work that a synchronisation waited for.
 */
#include "made_program.h"

/* As PyTorch's profiler shows it: no events. The kernel on stream 1 started right after the
 * collective, long after its launch; the collective after the kernel issued before it. */
static void kineto_like(struct run *run)
{
    start_run(run, 1);
    run->ranks[0].coverage = COVER_NCCL | COVER_KERNELS;
    add_kernel(run, 0, 1, 0, 50000);
    add_coll(run, 0, 2, 20000, 100000, 0)->start_ns = 50100;
    add_kernel(run, 0, 1, 30000, 1000)->start_ns = 150200;
}

TEST(program_infers_waits)
{
    struct run run;
    struct program p;
    kineto_like(&run);
    replay_measured(&p, &run);
    check_span(&p, 0, 1, 50000, 150000);
    check_span(&p, 0, 2, 150000, 151000);
    CHECK_INT((int64_t)p.facts.inferred[INFER_BY_GAP], 2);
    CHECK_INT((int64_t)p.facts.inferred[INFER_BY_ISSUE], 1);
    CHECK_INT((int64_t)p.facts.ranks_inferred, 1);
    program_done(&p, &run);
}

/* No wait is inferred that the recording contradicts: one collective that did not wait clears the
 * rule for its stream. */
TEST(program_infers_no_more_than_was_seen)
{
    struct run run;
    struct program p;
    kineto_like(&run);
    run.ranks[0].ops[1].start_ns = 30000;  /* overlapped the kernel: did not wait for it */
    run.ranks[0].ops[2].start_ns = 190000; /* long after anything */
    replay_measured(&p, &run);
    check_span(&p, 0, 1, 20000, 120000);
    check_span(&p, 0, 2, 50000, 51000);
    CHECK_INT((int64_t)p.facts.inferred[INFER_BY_GAP], 0);
    CHECK_INT((int64_t)p.facts.inferred[INFER_BY_ISSUE], 0);
    program_done(&p, &run);
}

TEST(program_with_events_infers_nothing)
{
    struct run run;
    struct program p;
    kineto_like(&run);
    run.ranks[0].coverage |= COVER_DEPS;
    replay_measured(&p, &run);
    check_span(&p, 0, 1, 20000, 120000);
    check_span(&p, 0, 2, 50000, 51000);
    program_done(&p, &run);
}

/* A synchronisation that does not name its stream means the one that its thread used last. */
TEST(program_guesses_the_stream_of_a_sync)
{
    struct run run;
    struct program p;
    start_run(&run, 1);
    run.ranks[0].coverage = COVER_KERNELS;
    add_kernel(&run, 0, 2, 0, 900000);
    add_kernel(&run, 0, 1, 10, 50000);
    device_sync_call(&run, 0, SYNC_CALL_STREAM, -1, -1, 20, 50010);
    add_kernel(&run, 0, 1, 50110, 5);
    replay_measured(&p, &run);
    check_span(&p, 0, 2, 50110, 50115);
    CHECK_INT((int64_t)p.facts.syncs_guessed, 1);
    program_done(&p, &run);
}

/* A synchronisation that tells neither stream nor event waited for the work that ended when it
 * returned; where none did the wait is not known, and its time stays the CPU's. */
TEST(program_finds_what_a_sync_waited_for)
{
    struct run run;
    struct program p;
    start_run(&run, 1);
    run.ranks[0].coverage = COVER_KERNELS;
    add_kernel(&run, 0, 1, 0, 900000);
    add_kernel(&run, 0, 2, 10, 50000);
    device_sync_call(&run, 0, SYNC_CALL_EVENT, -1, -1, 20, 50012);
    add_kernel(&run, 0, 2, 50110, 5);
    device_sync_call(&run, 0, SYNC_CALL_EVENT, -1, -1, 50200, 150200);
    add_kernel(&run, 0, 2, 150300, 5);
    replay_measured(&p, &run);
    CHECK_INT((int64_t)p.facts.syncs_found, 1);
    CHECK_INT((int64_t)p.facts.syncs_untold, 1);
    CHECK_INT(p.facts.untold_ns, 100000);
    check_span(&p, 0, 3, 150300, 150305);
    program_done(&p, &run);
}
