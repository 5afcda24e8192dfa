/* SPDX-License-Identifier: MIT
 *
 * Steps of a run as a run of its own.
 */
#include "made_analysis.h"
#include "trace/step_time.h"

#define STEPS 12
#define STEP_NS INT64_C(1000000)

/* Each step an AllReduce and a product, and a device that is synchronised; steps 2, 5 and 8 take
 * twice as long as others. */
static void make_run(struct run *run)
{
    device_world(run, 2);
    for (int r = 0; r < 2; r++) {
        int64_t at = 1000;
        for (int k = 0; k < STEPS; k++) {
            const int64_t dur = k % 3 == 2 && k < 9 ? 2 * STEP_NS : STEP_NS;
            device_step(run, r, "step", at, at + dur);
            device_reduce(run, r, k, at, dur / 4, 1 << 20);
            device_product(run, r, at + dur / 4, dur / 2, 1024);
            device_sync_call(run, r, SYNC_CALL_DEVICE, 1, 0, at + dur / 4, at + dur - 1000);
            at += dur;
        }
    }
}

TEST(run_part_is_some_of_the_steps)
{
    struct run run, part;
    struct analysis a;
    struct job_steps steps;
    struct step_time time;
    make_run(&run);
    device_analyze(&a, &run);
    CHECK_INT(a.job_steps.count, STEPS);
    for (int k = 0; k < STEPS; k++) {
        struct comm_detail *detail = rank_add_detail(&run.ranks[1]);
        detail->op = 2 * (uint32_t)k;
        detail->channels = (uint32_t)k;
    }
    CHECK_INT(run_part_init(&part, &run, &a.job_steps, 4, 7), 0);
    for (int r = 0; r < 2; r++) {
        CHECK_INT(part.ranks[r].nops, 8);
        CHECK_INT(part.ranks[r].nsteps, 4);
        CHECK_INT(part.ranks[r].nsync_calls, 4);
        CHECK_INT(part.ranks[r].ops[0].coll.seq, 4);
        CHECK_INT(run.ranks[r].nops, 2 * STEPS);
    }
    CHECK_INT(part.ranks[1].ndetails, 4);
    CHECK_INT(rank_detail(&part.ranks[1], 6)->channels, 7);
    job_steps_find(&steps, &part);
    step_time_measure(&time, &steps, &part);
    CHECK_INT(steps.count, 4);
    CHECK_DOUBLE(time.ns, 4.0 * STEP_NS / 3, 1); /* of steps 5, 6, 7 */
    step_time_release(&time);
    job_steps_release(&steps);
    run_part_release(&part);
    device_done(&a, &run);
}

TEST(run_part_takes_steps_that_are_as_long_as_all)
{
    struct run run;
    struct analysis a;
    uint32_t first, last;
    make_run(&run);
    device_analyze(&a, &run); /* steps 1 to 11 are 14 * STEP_NS long: 1.27 each */
    CHECK(run_part_typical(&a.job_steps, &a.step_time, 5, &first, &last));
    CHECK_INT(first, 2); /* 3 to 7: 1.2 */
    CHECK_INT(last, 7);
    CHECK(run_part_typical(&a.job_steps, &a.step_time, 10, &first, &last));
    CHECK_INT(last - first, 10);
    CHECK(!run_part_typical(&a.job_steps, &a.step_time, 11, &first, &last));
    device_done(&a, &run);
}
