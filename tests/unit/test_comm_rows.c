/* SPDX-License-Identifier: MIT
 *
 * Collectives and messages of runs that were counted by hand: instances, bandwidths, the rank that
 * came last.
 */
#include "made_analysis.h"

static struct op *add_p2p(struct run *run, int rank, enum specter_comm_op which, int peer,
                          int64_t start, int64_t dur, uint64_t bytes)
{
    struct op *op = device_coll(device_work(run, rank, OP_P2P, start, dur), which, 0, 0, bytes);
    op->coll.peer = peer;
    return op;
}

/* Two AllReduce of 8000 bytes on two ranks. Rank 1 comes 60 ns late to the first, rank 0 30 ns late
 * to the second; the data takes 40 and 80 ns. */
static void make_late(struct run *run)
{
    device_world(run, 2);
    device_reduce(run, 0, 0, 0, 100, 8000);
    device_reduce(run, 1, 0, 60, 40, 8000);
    device_reduce(run, 0, 1, 230, 80, 8000);
    device_reduce(run, 1, 1, 200, 110, 8000);
}

TEST(comm_rows_count_instances_and_take_the_shortest)
{
    struct run run;
    struct analysis a;
    make_late(&run);
    device_analyze(&a, &run);
    CHECK_INT((int64_t)a.collectives.count, 1);
    const struct comm_row *row = &a.collectives.list[0];
    CHECK_INT((int64_t)row->count, 2);
    CHECK_INT((int64_t)row->records, 4);
    CHECK_INT(row->comm_size, 2);
    CHECK_DOUBLE(row->min_ns, 40, 0);
    CHECK_DOUBLE(row->median_ns, 60, 0);
    CHECK_DOUBLE(row->mean_ns, 60, 0);
    CHECK_DOUBLE(row->max_ns, 80, 0);
    CHECK_DOUBLE(row->wait_ns, (30.0 + 15.0) / 2, 0);
    CHECK_DOUBLE(row->algbw_GBps, 8000 / 60.0, 1e-15);
    CHECK_DOUBLE(row->busbw_GBps, 8000 / 60.0, 1e-15);  /* 2(n-1)/n is 1 for two ranks */
    CHECK_INT(a.ranks[0].breakdown.exposed_wait_ns, 0); /* what ranks start apart is in no step */
    CHECK_INT(a.ranks[1].breakdown.exposed_wait_ns, 30);
    check_identity(&a);
    device_done(&a, &run);
}

TEST(arrival_names_who_was_last)
{
    struct run run;
    struct analysis a;
    make_late(&run);
    device_analyze(&a, &run);
    CHECK_INT((int64_t)a.stragglers.arrivals[0].last, 1);
    CHECK_INT((int64_t)a.stragglers.arrivals[1].last, 1);
    CHECK_DOUBLE(a.stragglers.arrivals[1].late_ns, 60, 0);
    CHECK_DOUBLE(a.stragglers.arrivals[1].caused_ns, 60, 0);
    CHECK_DOUBLE(a.stragglers.arrivals[0].caused_ns, 30, 0);
    device_done(&a, &run);
}

TEST(arrival_needs_comparable_clocks)
{
    struct run run;
    struct analysis a;
    struct err e;
    make_late(&run);
    run_finish(&run);
    run.clock_aligned = false;
    CHECK_INT(analysis_init(&a, &run, ANALYSIS_ALL_RANKS, &e), 0);
    CHECK_INT((int64_t)a.stragglers.arrivals[1].collectives, 0);
    CHECK_INT((int64_t)a.stragglers.arrivals[1].last, 0);
    CHECK_INT(a.ranks[0].breakdown.exposed_wait_ns, 60); /* durations need no common clock */
    cJSON *doc = analysis_json(&a);
    const cJSON *rank = cJSON_GetArrayItem(cJSON_GetObjectItem(doc, "ranks"), 1);
    CHECK(cJSON_IsNull(cJSON_GetObjectItem(rank, "arrived_last")));
    cJSON_Delete(doc);
    device_done(&a, &run);
}

TEST(arrival_of_four_ranks)
{
    struct run run;
    struct analysis a;
    struct findings f;
    static const int64_t starts[] = {0, 100, 50, 1000};
    device_world(&run, 4);
    for (int64_t seq = 0; seq < 3; seq++) {
        for (int r = 0; r < 4; r++)
            device_reduce(&run, r, seq, 2000 * seq + starts[r], 1100 - starts[r], 64);
    }
    device_analyze(&a, &run);
    CHECK_INT((int64_t)a.stragglers.arrivals[3].last, 3);
    CHECK_DOUBLE(a.stragglers.arrivals[3].late_ns, 3000, 0);
    CHECK_DOUBLE(a.stragglers.arrivals[3].caused_ns, 3 * (1000 + 900 + 950) / 3.0, 1e-12);
    findings_init(&f, &a);
    const char *late = finding_text(&f, "straggler");
    CHECK_HAS(late, "rank 3 starts last in 3 of its 3 collectives");
    CHECK_HAS(late, "950 ns on average, 2.85 us in all");
    CHECK_HAS(late, "100 % of all waiting");
    findings_release(&f);
    device_done(&a, &run);
}

TEST(arrival_of_equals_has_no_last)
{
    struct run run;
    struct analysis a;
    device_world(&run, 3);
    for (int r = 0; r < 3; r++)
        device_reduce(&run, r, 0, r == 0 ? 0 : 10, 100, 64);
    device_analyze(&a, &run);
    for (int r = 0; r < 3; r++)
        CHECK_INT((int64_t)a.stragglers.arrivals[r].last, 0);
    device_done(&a, &run);
}

TEST(comm_rows_unknown_bytes_have_no_bandwidth)
{
    struct run run;
    struct analysis a;
    device_world(&run, 2);
    for (int r = 0; r < 2; r++)
        device_reduce(&run, r, 0, 0, 10, 0)->flags = OP_BYTES_UNKNOWN;
    device_analyze(&a, &run);
    CHECK(isnan(a.collectives.list[0].algbw_GBps));
    cJSON *doc = analysis_json(&a);
    const cJSON *row = cJSON_GetArrayItem(cJSON_GetObjectItem(doc, "collectives"), 0);
    CHECK(cJSON_IsNull(cJSON_GetObjectItem(row, "bytes")));
    CHECK(cJSON_IsNull(cJSON_GetObjectItem(row, "busbw_GBps")));
    CHECK_DOUBLE(cJSON_GetObjectItem(row, "median_us")->valuedouble, 0.010, 1e-12);
    cJSON_Delete(doc);
    device_done(&a, &run);
}

TEST(comm_rows_unmatched_operations_stand_alone)
{
    struct run run;
    struct analysis a;
    device_world(&run, 2);
    for (int r = 0; r < 2; r++) {
        struct op *op = device_reduce(&run, r, -1, 0, 10 + r, 4000);
        op->coll.comm = -1;
    }
    device_analyze(&a, &run);
    const struct comm_row *row = &a.collectives.list[0];
    CHECK_INT((int64_t)row->count, 2);
    CHECK_INT(row->comm_size, 0);
    CHECK_DOUBLE(row->algbw_GBps, 4000 / 10.5, 1e-12);
    CHECK(isnan(row->busbw_GBps)); /* needs the communicator's size */
    CHECK(isnan(row->wait_ns));
    CHECK_INT((int64_t)a.comm.unnumbered, 2);
    CHECK(!a.ranks[0].breakdown.wait_known);
    device_done(&a, &run);
}

/* Two AllReduce of 1000 and 3000 bytes in one group of 40 ns: 4000 bytes moved. */
TEST(comm_rows_group_bandwidth_is_of_the_whole_group)
{
    struct run run;
    struct analysis a;
    device_world(&run, 2);
    for (int r = 0; r < 2; r++) {
        device_reduce(&run, r, 0, 0, 40, 1000)->coll.group = 5;
        device_reduce(&run, r, 1, 0, 40, 3000)->coll.group = 5;
        device_reduce(&run, r, 2, 100, 10, 500)->coll.group = 6; /* alone in its group */
    }
    device_analyze(&a, &run);
    CHECK_INT((int64_t)a.collectives.count, 3);
    for (size_t i = 0; i < a.collectives.count; i++) {
        const struct comm_row *row = &a.collectives.list[i];
        bool alone = row->bytes == 500;
        CHECK_INT((int64_t)row->count, 1);
        CHECK_INT((int64_t)row->grouped, alone ? 0 : 1);
        CHECK_DOUBLE(row->algbw_GBps, alone ? 50 : 100, 1e-12);
    }
    device_done(&a, &run);
}

TEST(comm_rows_mixed_group_has_no_bandwidth)
{
    struct run run;
    struct analysis a;
    device_world(&run, 2);
    for (int r = 0; r < 2; r++) {
        device_reduce(&run, r, 0, 0, 40, 1000)->coll.group = 5;
        struct op *op = device_reduce(&run, r, 1, 0, 40, 3000);
        op->coll.group = 5;
        op->coll.op = SPECTER_BROADCAST;
    }
    device_analyze(&a, &run);
    for (size_t i = 0; i < a.collectives.count; i++) {
        CHECK(isnan(a.collectives.list[i].algbw_GBps));
        CHECK_DOUBLE(a.collectives.list[i].median_ns, 40, 0);
    }
    device_done(&a, &run);
}

TEST(comm_rows_bandwidth_prefers_instances_launched_alone)
{
    struct run run;
    struct analysis a;
    device_world(&run, 2);
    for (int r = 0; r < 2; r++) {
        device_reduce(&run, r, 0, 0, 10, 1000);
        device_reduce(&run, r, 1, 50, 100, 1000)->coll.group = 1;
        device_reduce(&run, r, 2, 50, 100, 1000)->coll.group = 1;
    }
    device_analyze(&a, &run);
    CHECK_INT((int64_t)a.collectives.count, 1);
    CHECK_INT((int64_t)a.collectives.list[0].count, 3);
    CHECK_INT((int64_t)a.collectives.list[0].grouped, 2);
    CHECK_DOUBLE(a.collectives.list[0].algbw_GBps, 100, 1e-12);
    device_done(&a, &run);
}

/* A send and its receive are one instance; both directions of an exchange in one group run at the
 * same time, so each has the bytes of its own direction. */
TEST(comm_rows_pairs_sends_with_receives)
{
    struct run run;
    struct analysis a;
    device_world(&run, 2);
    for (int r = 0; r < 2; r++) {
        add_p2p(&run, r, SPECTER_SEND, 1 - r, 10 * r, 50 - 10 * r, 2000)->coll.group = 0;
        add_p2p(&run, r, SPECTER_RECV, 1 - r, 10 * r, 50 - 10 * r, 2000)->coll.group = 0;
        rank_add_member(&run.ranks[r], 0, r, -1);
    }
    device_analyze(&a, &run);
    CHECK_INT((int64_t)a.collectives.count, 0);
    CHECK_INT((int64_t)a.p2p.count, 1);
    const struct comm_row *row = &a.p2p.list[0];
    CHECK_INT(row->op, SPECTER_SEND);
    CHECK_INT((int64_t)row->count, 2);
    CHECK_DOUBLE(row->median_ns, 40, 0);
    CHECK_DOUBLE(row->algbw_GBps, 50, 1e-12);
    CHECK_DOUBLE(row->busbw_GBps, 50, 1e-12);
    CHECK_INT((int64_t)a.stragglers.arrivals[1].collectives, 0); /* arrival is of collectives */
    check_identity(&a);
    device_done(&a, &run);
}

TEST(comm_rows_by_communicator_name)
{
    struct run run;
    struct analysis a;
    device_world(&run, 2);
    int tp = run_comm(&run, "tp0", 3, 2);
    run.comms[0].name = "dp";
    run.comms[tp].name = "tp";
    for (int r = 0; r < 2; r++) {
        device_reduce(&run, r, 0, 0, 10, 1000);
        device_reduce(&run, r, 0, 20, 30, 1000)->coll.comm = tp;
    }
    device_analyze(&a, &run);
    CHECK(analysis_has_names(&a));
    CHECK_INT((int64_t)a.collectives.count, 1);
    CHECK_INT((int64_t)a.collectives_named.count, 2);
    CHECK_STR(a.collectives_named.list[0].name, "tp");
    char *text = analysis_text(&a);
    CHECK_HAS(text, "2 tp");
    free(text);
    device_done(&a, &run);
}

TEST(comm_rows_of_one_rank_chosen)
{
    struct run run;
    struct analysis a;
    struct err e;
    make_late(&run);
    run.ranks[1].rank = 6;
    run.world_size = 7;
    run_finish(&run);
    CHECK_INT(analysis_init(&a, &run, 6, &e), 0);
    CHECK_INT((int64_t)a.nranks, 1);
    CHECK_INT(a.total.span_ns, 250);
    CHECK_INT((int64_t)a.collectives.list[0].records, 4); /* communication is over all ranks */
    analysis_release(&a);
    CHECK_INT(analysis_init(&a, &run, 3, &e), -1);
    CHECK_INT(e.code, ERR_INPUT);
    CHECK_STR(e.msg, "no rank 3 in 'test': it holds ranks 0, 6");
    run_release(&run);
}
