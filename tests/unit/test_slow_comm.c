/* SPDX-License-Identifier: MIT
 *
 * Communicators of one kind, of which one is slower: pairs of ranks, three collectives each.
 */
#include "test.h"

#include "analysis/analysis.h"
#include "analysis/slow_comm.h"
#include "report/findings.h"

#include <stdio.h>
#include <string.h>

#define PAIRS 3

static const char *const near[2 * PAIRS] = {"a", "a", "a", "a", "a", "a"};
static const char *const apart[2 * PAIRS] = {"a", "a", "a", "a", "b", "c"}; /* only the last pair */

static void add(struct run *run, int rank, int comm, int64_t seq, int64_t dur_ns)
{
    struct op *op = rank_add_op(&run->ranks[rank]);
    op->class = OP_COLL;
    op->name = "AllReduce";
    op->start_ns = op->host_ns = 1000 * seq;
    op->dur_ns = dur_ns;
    op->timing = SPECTER_TIMING_DEVICE;
    op->bytes = 4096;
    op->dtype = SPECTER_FP32;
    op->coll.op = SPECTER_ALLREDUCE;
    op->coll.comm = comm;
    op->coll.count = 1024;
    op->coll.seq = seq;
    op->coll.p2p_seq = op->coll.group = op->coll.peer = -1;
}

/* The transfer of pair p's k-th collective is ns[p] + k; its first rank waits 50 longer. */
static void make_run(struct run *run, const char *const *hosts, const int64_t ns[PAIRS], int times)
{
    static const char *const names[PAIRS] = {"x", "y", "z"};
    run_init(run);
    run->format = "memory";
    run->source = "test";
    run->world_size = 2 * PAIRS;
    for (int r = 0; r < 2 * PAIRS; r++) {
        struct rank *rank = run_add_rank(run);
        rank->rank = r;
        rank->complete = true;
        rank->host = hosts[r];
        rank->gpu = "";
        rank->coverage = COVER_NCCL;
    }
    for (int p = 0; p < PAIRS; p++) {
        int comm = run_comm(run, names[p], 1, 2);
        for (int i = 0; i < 2; i++) {
            run->comms[comm].ranks[i] = 2 * p + i;
            for (int k = 0; k < times; k++)
                add(run, 2 * p + i, comm, k, ns[p] + k + (i == 0 ? 50 : 0));
        }
    }
}

static const char *text_of(const struct findings *f)
{
    for (size_t i = 0; i < f->count; i++) {
        if (strcmp(f->list[i].rule, "slow_group") == 0)
            return f->list[i].text;
    }
    return "";
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
    snprintf(text, size, "%s", text_of(&f));
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
