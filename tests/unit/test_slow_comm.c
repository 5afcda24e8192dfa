/* SPDX-License-Identifier: MIT
 *
 * Communicators of one kind, of which one is slower: pairs of ranks, three collectives each.
 */
#include "made_analysis.h"

#include "analysis/comm_rows.h"

#define PAIRS 3

static const char *const near[2 * PAIRS] = {"a", "a", "a", "a", "a", "a"};
static const char *const apart[2 * PAIRS] = {"a", "a", "a", "a", "b", "c"}; /* only the last pair */

/* The transfer of pair p's k-th collective is ns[p] + k; its first rank waits 50 longer. */
static void make_run(struct run *run, const char *const *hosts, const int64_t ns[PAIRS], int times)
{
    static const char *const names[PAIRS] = {"x", "y", "z"};
    device_run_on(run, 2 * PAIRS, "", COVER_NCCL);
    for (int r = 0; r < 2 * PAIRS; r++)
        run->ranks[r].host = hosts[r];
    for (int p = 0; p < PAIRS; p++) {
        int comm = device_comm(run, names[p], 2 * p, 1, 2);
        for (int i = 0; i < 2; i++) {
            for (int k = 0; k < times; k++) {
                int64_t start = 1000 * k, end = start + ns[p] + k + (i == 0 ? 50 : 0);
                struct op *op = device_at(run, 2 * p + i, start, end);
                device_coll(op, SPECTER_ALLREDUCE, comm, k, 4096);
            }
        }
    }
}

static void find(struct run *run, struct slow_comm *slow, char *text, size_t size)
{
    struct analysis a;
    struct findings f;
    struct err e;
    run_finish(run);
    CHECK_INT(analysis_init(&a, run, ANALYSIS_ALL_RANKS, &e), 0);
    slow_comm_find(slow, &a.comm, &a.node_map, 1.3);
    findings_init(&f, &a);
    snprintf(text, size, "%s", finding_text(&f, "slow_group"));
    findings_release(&f);
    analysis_release(&a);
}

TEST(slow_comm_by_hand)
{
    struct run run;
    struct slow_comm slow;
    char text[1024];
    make_run(&run, near, (const int64_t[]){100, 200, 110}, 3);
    find(&run, &slow, text, sizeof text);
    CHECK(slow.sample != NULL);
    CHECK_INT((int64_t)slow.alike, 2);
    CHECK_INT((int64_t)slow.count, 3);
    CHECK_DOUBLE(slow.median_ns, 201, 0);
    CHECK_DOUBLE(slow.usual_ns, (101 + 111) / 2.0, 0);
    CHECK_DOUBLE(slow.lost_ns, 3 * (201 - 106), 0);
    CHECK_HAS(text, "AllReduce of 4 KiB takes 201 ns among ranks 2, 3, and 106 ns in the 2 other");
    CHECK_HAS(text, "1.90 times as long. Over 3 of them");
    run_release(&run);
}

/* Nothing is said of 1.2 times, of two collectives, or of a pair that is the only one on two
 * nodes. */
TEST(slow_comm_not_of_what_differs)
{
    for (int which = 0; which < 3; which++) {
        struct run run;
        struct slow_comm slow;
        char text[1024];
        make_run(&run, which == 2 ? apart : near,
                 (const int64_t[]){100, 100, which == 0 ? 120 : 300}, which == 1 ? 2 : 3);
        find(&run, &slow, text, sizeof text);
        CHECK(slow.sample == NULL);
        CHECK_STR(text, "");
        run_release(&run);
    }
}

/* One that a rank is missing of is not judged; of the two that are left one is named. */
TEST(slow_comm_of_two)
{
    struct run run;
    struct slow_comm slow;
    char text[1024];
    make_run(&run, near, (const int64_t[]){100, 200, 900}, 3);
    run.ranks[5].nops = 0;
    find(&run, &slow, text, sizeof text);
    CHECK_INT((int64_t)slow.alike, 1);
    CHECK_DOUBLE(slow.usual_ns, 101, 0);
    CHECK_HAS(text, "among ranks 2, 3, and 101 ns in the other group like it");
    run_release(&run);
}
