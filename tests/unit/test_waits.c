/* SPDX-License-Identifier: MIT
 *
 * Waits in collectives: as recorded, and as a replay finds them.
 */
#include "made_replay.h"

#define LATE_NS 40000

static struct waits waits_of(const struct run *run, struct rank_waits *last)
{
    struct waits out = {0};
    struct replay rep;
    run_replay(&rep, run, &calibrated);
    out = rep.waits;
    *last = rep.ranks[run->nranks - 1].waits;
    replay_release(&rep);
    return out;
}

static struct made one_stream(int64_t late_ns)
{
    struct made m = made_default;
    m.overlap = false;
    m.late_ns = late_ns;
    return m;
}

/* All but the last rank wait for it, each time as long as its product takes longer. */
TEST(waits_are_found_by_the_replay)
{
    struct made m = one_stream(LATE_NS);
    int64_t each = (int64_t)m.iterations * m.layers;
    struct rank_waits last;
    struct waits w;
    struct run run;
    made_run(&run, &m);
    w = waits_of(&run, &last);
    CHECK_INT((int64_t)w.collectives, each);
    CHECK_DOUBLE(w.recorded_ns, w.replayed_ns, 0);
    CHECK(w.recorded_ns >= (double)(each * (m.ranks - 1) * LATE_NS));
    CHECK_DOUBLE(w.median_off, 0, 0);
    CHECK_DOUBLE(last.recorded_ns, 0, 0);
    CHECK_DOUBLE(last.replayed_ns, 0, 0);
    run_release(&run);
}

/* Where a rank's work is longer than the recorded waits show, others wait longer in the replay. */
TEST(waits_that_differ_are_told)
{
    struct made m = one_stream(LATE_NS);
    struct rank_waits last;
    struct waits w;
    struct run run;
    made_run(&run, &m);
    for (size_t i = 0; i < run.ranks[m.ranks - 1].nops; i++) {
        struct op *op = &run.ranks[m.ranks - 1].ops[i];
        if (op->class == OP_GEMM)
            op->dur_ns += LATE_NS;
    }
    w = waits_of(&run, &last);
    CHECK(w.collectives > 0);
    CHECK(w.replayed_ns > 1.5 * w.recorded_ns);
    CHECK(w.median_off > 0.5);
    run_release(&run);
}

/* Where no rank waited there is nothing to compare. */
TEST(waits_below_a_microsecond_are_none)
{
    struct made m = one_stream(0);
    struct rank_waits last;
    struct waits w;
    struct run run;
    made_run(&run, &m);
    w = waits_of(&run, &last);
    CHECK_INT((int64_t)w.collectives, 0);
    CHECK_DOUBLE(w.median_off, 0, 0);
    run_release(&run);
}
