/* SPDX-License-Identifier: MIT
 *
 * Clocks whose truth is known: jobs are made on one true time line, then each host's times are read
 * off a clock of its own, which is ahead by an offset and runs too fast.
 */
#include "trace/align.h"
#include "trace/run.h"

#include "made_device.h"
#include "made_random.h"
#include "trace_load.h"

#include <math.h>
#include <string.h>

struct true_clocks {
    int hosts, gpus;     /* ranks: hosts * gpus */
    int count;           /* collectives */
    double offset_ns[4]; /* of each host's clock at true time 0 */
    double drift[4];
    int64_t noise_ns;     /* an end is seen so much earlier or later, at most */
    int late_percent;     /* so many ends are seen 2 ms late and more */
    int64_t straggler_ns; /* the last rank starts so much later than the others */
    int64_t step_ns;      /* the last host's clock is set forward halfway */
    int64_t every_ns;
    enum specter_comm_op op;
    bool chain; /* collectives join neighbouring hosts only */
    bool undated;
};

static const struct true_clocks two_hosts = {
    .hosts = 2,
    .gpus = 4,
    .count = 512,
    .offset_ns = {0, 11e9},
    .drift = {0, 20e-6},
    .noise_ns = 2000,
    .every_ns = 10000000,
    .op = SPECTER_ALLREDUCE,
};

static int64_t between(uint64_t *seed, int64_t from, int64_t to)
{
    return from + (int64_t)(made_random(seed) % (uint64_t)(to - from + 1));
}

#define TRUE_ZERO ((int64_t)5000000000)

static int64_t on_clock(const struct true_clocks *t, int host, int64_t true_ns)
{
    double ahead = t->offset_ns[host] + t->drift[host] * (double)(true_ns - TRUE_ZERO);
    if (host == t->hosts - 1 && true_ns - TRUE_ZERO > t->count * t->every_ns / 2)
        ahead += (double)t->step_ns;
    return true_ns + llround(ahead);
}

static void add_end(struct run *run, const struct true_clocks *t, int r, int comm, int64_t seq,
                    int64_t start_ns, int64_t end_ns)
{
    int host = r / t->gpus;
    int64_t host_ns = on_clock(t, host, start_ns - 5000);
    struct op *op = device_op(run, r, -1, host_ns, host_ns, on_clock(t, host, start_ns),
                              on_clock(t, host, end_ns));
    device_coll(op, t->op, comm, seq, 1 << 20)->dtype = SPECTER_FP16;
    op->coll.peer = t->op == SPECTER_BROADCAST ? 0 : -1;
}

/* One collective of ranks [from, to), truly at t_ns. */
static void add_collective(struct run *run, const struct true_clocks *t, int from, int to, int comm,
                           int64_t seq, int64_t t_ns, uint64_t *seed)
{
    for (int r = from; r < to; r++) {
        int64_t start_ns = t_ns + between(seed, 0, 50000), end_ns = t_ns + 400000;
        start_ns += r == t->hosts * t->gpus - 1 ? t->straggler_ns : 0;
        end_ns += between(seed, -t->noise_ns, t->noise_ns);
        if (between(seed, 0, 99) < t->late_percent)
            end_ns += between(seed, 2000000, 9000000);
        add_end(run, t, r, comm, seq, start_ns, end_ns);
    }
}

static void made_hosts(struct run *run, const struct true_clocks *t)
{
    static const char *const names[] = {"a", "b", "c", "d"};
    uint64_t seed = 1;
    int world = t->hosts * t->gpus;
    device_run(run, world);
    for (int r = 0; r < world; r++) {
        struct rank *rank = &run->ranks[r];
        int host = r / t->gpus;
        rank->host = names[host];
        rank->mono_ns = t->undated ? UNKNOWN_NS : on_clock(t, host, 0);
        /* boots that lie a day apart, wall clocks that agree to a second or two */
        rank->real_ns = t->undated ? UNKNOWN_NS : 1700000000000000000 + (int64_t)host * 1500000000;
    }
    for (int c = 0; c < (t->chain ? t->hosts - 1 : 1); c++) {
        int from = t->chain ? c * t->gpus : 0, to = t->chain ? (c + 2) * t->gpus : world;
        char name = (char)('A' + c);
        int comm = run_comm(run, &name, 1, to - from);
        for (int r = from; r < to; r++)
            rank_add_member(&run->ranks[r], comm, r - from, 0);
        for (int k = 0; k < t->count; k++)
            add_collective(run, t, from, to, comm, k,
                           TRUE_ZERO + k * t->every_ns + c * t->every_ns / 2, &seed);
    }
    run_finish(run);
}

/* Returns how far the mapping of a host is from the truth at true time t_ns. */
static double off_by(const struct run *run, const struct true_clocks *t, int host, int64_t t_ns)
{
    const struct domain *d = &run->domains[host];
    struct clock_line line = {d->offset_ns, d->at_ns, d->drift};
    return fabs((double)(clock_line_map(&line, on_clock(t, host, t_ns)) - on_clock(t, 0, t_ns)));
}

static void check_truth(const struct run *run, const struct true_clocks *t, double within_ns,
                        double ppm)
{
    int64_t last_ns = TRUE_ZERO + t->count * t->every_ns;
    CHECK(run->clock_aligned);
    CHECK_INT(run->ndomains, t->hosts);
    for (int h = 1; h < t->hosts; h++) {
        CHECK(run->domains[h].aligned);
        CHECK(off_by(run, t, h, TRUE_ZERO) < within_ns);
        CHECK(off_by(run, t, h, last_ns) < within_ns);
        CHECK(fabs(run->domains[h].drift - (1 / (1 + t->drift[h]) * (1 + t->drift[0]) - 1)) <
              ppm * 1e-6);
    }
}

TEST(align_two_hosts)
{
    struct run run;
    made_hosts(&run, &two_hosts);
    check_truth(&run, &two_hosts, 1000, 0.1);
    CHECK_INT((int64_t)run.domains[1].anchors, 512);
    CHECK(run.domains[1].residual_ns < 2000);
    CHECK(run.domains[1].offset_err_ns < 500);
    CHECK(run.clock_residual_ns >= run.domains[1].residual_ns && run.clock_residual_ns < 5000);
    CHECK_STR(run.domains[1].host, "b");
    CHECK_HAS(all_notes(&run), "clocks of 2 hosts aligned by 512 collectives: offset -11.00");
    CHECK_HAS(all_notes(&run), "drift -20.0 ppm, residual 0.");
    /* host times, and starts, lie on the first clock */
    CHECK(llabs(run.ranks[4].ops[7].start_ns - run.ranks[0].ops[7].start_ns) < 55000);
    CHECK(llabs(run.ranks[4].ops[511].host_ns - run.ranks[0].ops[511].host_ns) < 55000);
    run_release(&run);
}

/* Ends count, not starts: a rank that is always late moves nothing. */
TEST(align_constant_straggler)
{
    struct true_clocks t = two_hosts;
    struct run run;
    t.straggler_ns = 250000;
    made_hosts(&run, &t);
    check_truth(&run, &t, 1000, 0.1);
    run_release(&run);
}

TEST(align_one_rank_a_host_with_late_ends)
{
    struct true_clocks t = two_hosts;
    struct run run;
    t.gpus = 1;
    t.late_percent = 20;
    made_hosts(&run, &t);
    check_truth(&run, &t, 1000, 0.2);
    CHECK_INT((int64_t)run.domains[1].anchors, 512);
    run_release(&run);
}

TEST(align_chain_of_hosts)
{
    struct true_clocks t = two_hosts;
    struct run run;
    t.hosts = 3;
    t.gpus = 2;
    t.chain = true;
    t.offset_ns[2] = -3600e9;
    t.drift[2] = -35e-6;
    made_hosts(&run, &t);
    check_truth(&run, &t, 2000, 0.2);
    CHECK(run.domains[2].error_ns >= run.domains[1].error_ns);
    CHECK_HAS(all_notes(&run), "clocks of 3 hosts aligned by 512 or more collectives");
    run_release(&run);
}

TEST(align_processes_without_dates)
{
    struct true_clocks t = two_hosts;
    struct run run;
    t.gpus = 1;
    t.undated = true;
    made_hosts(&run, &t);
    check_truth(&run, &t, 1000, 0.2);
    CHECK_HAS(all_notes(&run), "clocks of 2 processes aligned");
    run_release(&run);
}

/* Eight collectives within a millisecond say nothing of a drift: what 100 ppm could do is little
 * there. */
TEST(align_few_give_no_drift)
{
    struct true_clocks t = two_hosts;
    struct run run;
    t.count = 8;
    t.every_ns = 500000;
    made_hosts(&run, &t);
    CHECK(run.clock_aligned);
    CHECK_DOUBLE(run.domains[1].drift, 0, 0);
    CHECK(off_by(&run, &t, 1, TRUE_ZERO + 2000000) < 3000);
    CHECK_HAS(all_notes(&run), "drift under 100.0 ppm");
    run_release(&run);
    t.count = 7;
    made_hosts(&run, &t);
    CHECK(!run.clock_aligned);
    CHECK(!run.domains[1].aligned);
    CHECK(isnan(run.clock_residual_ns));
    CHECK_HAS(all_notes(&run), "7 common collectives with device times, 8 are needed");
    run_release(&run);
}

TEST(align_broadcasts_do_not_align)
{
    struct true_clocks t = two_hosts;
    struct run run;
    t.op = SPECTER_BROADCAST;
    made_hosts(&run, &t);
    CHECK(!run.clock_aligned);
    CHECK_INT((int64_t)run.domains[1].anchors, 0);
    CHECK_HAS(all_notes(&run), "2 machines");
    CHECK_HAS(all_notes(&run), "only messages and operations with a root");
    run_release(&run);
}

TEST(align_clock_that_is_set_halfway)
{
    struct true_clocks t = two_hosts;
    struct run run;
    t.step_ns = 1000000;
    made_hosts(&run, &t);
    CHECK(!run.clock_aligned);
    CHECK_HAS(all_notes(&run), "from a steady clock, 100.0 us are allowed");
    run_release(&run);
}

/* The clock runs as fast as the first one's, and the collectives stop early: what it may have done
 * since then is not known. */
TEST(align_does_not_reach_far_behind_the_last_collective)
{
    struct true_clocks t = two_hosts;
    struct run run;
    int64_t late_ns;
    t.count = 20;
    t.every_ns = 1000000;
    made_hosts(&run, &t);
    CHECK(run.clock_aligned);
    run_release(&run);
    made_hosts(&run, &t);
    late_ns = on_clock(&t, 0, 100 * (int64_t)1000000000);
    device_op(&run, 7, -1, late_ns, late_ns, late_ns, late_ns + 1000);
    for (size_t r = 4; r < 8; r++)
        rank_shift(&run.ranks[r], -run.domains[1].offset_ns);
    run.nnotes = 0;
    run_finish(&run);
    CHECK(!run.clock_aligned);
    CHECK_HAS(all_notes(&run), "tell times to");
    run_release(&run);
}

/* Two machines that are both called localhost and were started half a minute apart. */
TEST(align_machines_of_one_name)
{
    struct true_clocks t = two_hosts;
    struct run run;
    for (int near = 0; near < 2; near++) {
        t.offset_ns[1] = 30e9;
        made_hosts(&run, &t);
        for (size_t r = 0; r < 8; r++) {
            run.ranks[r].host = "localhost";
            run.ranks[r].real_ns = 1700000000000000000;
            run.ranks[r].mono_ns = r < 4 ? 0 : 30000000000;
            if (r >= 4 && near == 0)
                rank_shift(&run.ranks[r], -run.domains[1].offset_ns);
        }
        run_finish(&run);
        CHECK(run.clock_aligned);
        CHECK_INT(run.ndomains, near == 0 ? 2 : 1); /* dates apart, but one clock: one start */
        run_release(&run);
    }
}

/* A loop of three hosts, of which one pair contradicts the other two. */
TEST(align_contradiction)
{
    struct true_clocks t = two_hosts, apart = two_hosts;
    struct run run;
    uint64_t seed = 3;
    t.hosts = 3;
    t.gpus = 1;
    t.chain = true;
    apart.hosts = 3;
    apart.gpus = 1;
    made_hosts(&run, &t);
    int comm = run_comm(&run, "Z", 1, 2);
    rank_add_member(&run.ranks[0], comm, 0, 0);
    rank_add_member(&run.ranks[2], comm, 1, 0);
    memset(apart.offset_ns, 0, sizeof apart.offset_ns);
    memset(apart.drift, 0, sizeof apart.drift);
    for (int k = 0; k < 64; k++) {
        int64_t t_ns = TRUE_ZERO + k * t.every_ns + 3000000;
        add_end(&run, &apart, 0, comm, k, t_ns, t_ns + 1000 + between(&seed, 0, 9000));
        add_end(&run, &apart, 2, comm, k, t_ns + 700000, t_ns + 701000 + between(&seed, 0, 9000));
    }
    run_finish(&run);
    CHECK(!run.clock_aligned);
    CHECK_HAS(all_notes(&run), "from a steady clock");
    run_release(&run);
}

TEST(align_thousand_hosts)
{
    struct true_clocks t = two_hosts;
    struct run run;
    uint64_t seed = 5;
    int comm;
    t.gpus = 1024; /* all on the clock of the first, which is moved below */
    device_run(&run, 1024);
    comm = device_comm(&run, "w", 0, 1, 1024);
    for (int r = 0; r < 1024; r++) {
        run.ranks[r].mono_ns = run.ranks[r].real_ns = UNKNOWN_NS;
        rank_add_member(&run.ranks[r], comm, r, 0);
    }
    for (int k = 0; k < 64; k++)
        add_collective(&run, &t, 0, 1024, comm, k, TRUE_ZERO + k * t.every_ns, &seed);
    for (size_t r = 1; r < 1024; r++)
        rank_shift(&run.ranks[r], (int64_t)r * 1000000000);
    run_finish(&run);
    CHECK(run.clock_aligned);
    CHECK_INT(run.ndomains, 1024);
    for (size_t r = 1; r < 1024; r++)
        CHECK(llabs(run.domains[r].offset_ns + (int64_t)r * 1000000000) < 4000);
    run_release(&run);
}

/* ---- the parts ---- */

TEST(align_median)
{
    CHECK(isnan(fit_median(NULL, 0)));
    CHECK_DOUBLE(fit_median((double[]){3, 1, 2}, 3), 2, 0);
    CHECK_DOUBLE(fit_median((double[]){4, 1, 9, 2}, 4), 3, 0);
    CHECK_DOUBLE(fit_median((double[]){5, 5, 5, 5, 1, 9}, 6), 5, 0);
    CHECK_DOUBLE(fit_median((double[]){7, 1}, 2), 4, 0);
}

/* y = 3 + 0.5 (x - 4), one of nine points far off: hand-made. */
TEST(align_line_by_hand)
{
    struct fit_point p[9];
    struct clock_fit f;
    for (int i = 0; i < 9; i++)
        p[i] = (struct fit_point){i * 1000, 3000 + 0.5 * (i * 1000 - 4000), 1, 0};
    p[6].y += 90000;
    CHECK(fit_line(&f, p, 9, 1));
    CHECK_INT((int64_t)f.used, 8);
    CHECK_DOUBLE(f.slope, 0.5, 1e-12);
    CHECK_DOUBLE(f.offset, 3000 + 0.5 * (f.at - 4000), 1e-12);
    CHECK_DOUBLE(f.at, 30000 / 8.0, 1e-12);
    CHECK_DOUBLE(f.residual, 0, 1e-9);
    CHECK(!fit_line(&f, p, 7, 1));
}

/* Four points on either side of a level line: standard error of the mean of eight values of +-8 is
 * sqrt(8 * 64 / 6 / 8), of the slope that over the root of the sum of squared distances / 8. */
TEST(align_errors_by_hand)
{
    struct fit_point p[8];
    struct clock_fit f;
    for (int i = 0; i < 8; i++)
        p[i] = (struct fit_point){i * 100, (i % 4 == 0 || i % 4 == 3) ? 8 : -8, 1, 0};
    CHECK(fit_line(&f, p, 8, 1));
    CHECK_DOUBLE(f.slope, 0, 0);
    CHECK_DOUBLE(f.offset, 0, 1e-12);
    CHECK_DOUBLE(f.offset_err, sqrt(64 / 6.0), 1e-9);
    CHECK_DOUBLE(f.slope_err, sqrt(64 / 6.0) / sqrt(420000 / 8.0), 1e-9);
    CHECK_DOUBLE(f.residual, 8, 1e-12);
}

/* Class 0 lies on the line y = x / 10, class 1 is 7000 above it and comes more and more often: the
 * slope is not drawn up. Class 0 is expected to lie less to one side, so the offset is its own. */
TEST(align_classes_by_hand)
{
    struct fit_point p[40];
    struct clock_fit f;
    size_t n = 0;
    for (int i = 0; i < 20; i++) {
        double x = i * 100000;
        p[n++] = (struct fit_point){x, x / 10, 2000, 0};
        if (i % 4 == 0 || i >= 12)
            p[n++] = (struct fit_point){x + 10, x / 10 + 7001, 9000, 1};
    }
    CHECK_INT((int64_t)n, 31);
    CHECK(fit_line(&f, p, n, 2));
    CHECK_DOUBLE(f.slope, 0.1, 1e-9);
    CHECK_DOUBLE(f.offset - f.slope * f.at, 0, 1e-3);
    CHECK_DOUBLE(f.aside, 2000, 0);
    CHECK_INT((int64_t)f.used, 31);
}

TEST(align_map_by_hand)
{
    struct clock_line line = {.offset_ns = -1000, .at_ns = 5000000, .drift = 20e-6}, back, both;
    CHECK_INT(clock_line_map(&line, 5000000), 4999000);
    CHECK_INT(clock_line_map(&line, 5000000 + 100000), 5099002); /* 20 ppm of 100 us: 2 ns */
    CHECK_INT(clock_line_map(&line, 0), -1000 - 100);
    CHECK_INT(clock_line_map(&line, UNKNOWN_NS), UNKNOWN_NS);
    CHECK_INT(clock_line_map(&line, RUN_TIME_MAX - 1), UNKNOWN_NS);
    back = clock_line_inverse(&line);
    CHECK_INT(clock_line_map(&back, 5099002), 5100000);
    both = clock_line_join(&line, &back);
    CHECK_INT(clock_line_map(&both, 123456789), 123456789);
}
