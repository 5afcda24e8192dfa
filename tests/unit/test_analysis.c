/* SPDX-License-Identifier: MIT
 *
 * Hand-counted runs, built in memory. Times are nanoseconds and small, so that every expected
 * number can be checked on paper.
 */
#include "test.h"
#include "parsed_json.h"

#include "analysis/analysis.h"
#include "analysis/fail_on.h"
#include "report/analyze_report.h"
#include "report/findings.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ALL_COVERED \
    (COVER_NCCL | COVER_GEMM | COVER_DEPS | COVER_KERNELS | COVER_LAUNCHES | COVER_MEMORY)

static void make_run(struct run *run, int ranks)
{
    run_init(run);
    run->format = "memory";
    run->source = "test";
    run->world_size = ranks;
    for (int r = 0; r < ranks; r++) {
        struct rank *rank = run_add_rank(run);
        rank->rank = r;
        rank->complete = true;
        rank->mono_ns = rank->real_ns = 0; /* one host, one clock */
        rank->coverage = ALL_COVERED;
    }
    run_comm(run, "world", 5, ranks);
}

static struct op *add_op(struct run *run, int rank, enum op_class class, int64_t start, int64_t dur)
{
    struct op *op = rank_add_op(&run->ranks[rank]);
    op->class = (uint8_t) class;
    op->start_ns = op->host_ns = start;
    op->dur_ns = dur;
    op->timing = SPECTER_TIMING_DEVICE;
    op->name = class == OP_MEMORY ? "copy" : "kernel";
    return op;
}

/* An fp32 AllReduce of `bytes` in the communicator of all ranks. */
static struct op *add_coll(struct run *run, int rank, int64_t seq, int64_t start, int64_t dur,
                           uint64_t bytes)
{
    struct op *op = add_op(run, rank, OP_COLL, start, dur);
    op->name = "AllReduce";
    op->bytes = bytes;
    op->dtype = SPECTER_FP32;
    op->coll.op = SPECTER_ALLREDUCE;
    op->coll.count = bytes / 4;
    op->coll.seq = seq;
    op->coll.p2p_seq = op->coll.group = op->coll.peer = -1;
    return op;
}

static struct op *add_p2p(struct run *run, int rank, enum specter_comm_op which, int peer,
                          int64_t start, int64_t dur, uint64_t bytes)
{
    struct op *op = add_coll(run, rank, -1, start, dur, bytes);
    op->class = OP_P2P;
    op->name = specter_comm_op_name(which);
    op->coll.op = (uint8_t)which;
    op->coll.peer = peer;
    op->coll.p2p_seq = 0;
    return op;
}

static struct op *add_gemm(struct run *run, int rank, int64_t start, int64_t dur, uint32_t size)
{
    struct op *op = add_op(run, rank, OP_GEMM, start, dur);
    op->name = "GemmEx";
    op->dtype = SPECTER_FP16;
    op->gemm.m = op->gemm.n = op->gemm.k = size;
    op->gemm.batch = 1;
    op->gemm.compute = SPECTER_FP32;
    return op;
}

/* Finishes the run and analyzes it; a rank that is missing is the test's own mistake. */
static void analyze(struct analysis *a, struct run *run)
{
    struct err e;
    run_finish(run);
    if (analysis_init(a, run, ANALYSIS_ALL_RANKS, &e) < 0)
        test_fail(__FILE__, __LINE__, "%s", e.msg);
}

static void done(struct analysis *a, struct run *run)
{
    analysis_release(a);
    run_release(run);
}

/* The identity that every split obeys. */
static void check_identity(const struct analysis *a)
{
    for (size_t i = 0; i < a->nranks; i++) {
        const struct time_breakdown *s = &a->ranks[i].breakdown;
        CHECK_INT(s->compute_ns + s->exposed_comm_ns + s->exposed_memory_ns + s->idle_ns,
                  s->span_ns);
        CHECK_INT(s->overlap_ns + s->exposed_comm_ns, s->comm_ns);
        CHECK(s->exposed_wait_ns <= s->exposed_comm_ns);
        CHECK(s->idle_ns >= 0);
    }
}

static char *text_of(const struct analysis *a)
{
    struct findings f;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    findings_init(&f, a);
    analyze_text(a, &f, out);
    findings_release(&f);
    fclose(out);
    return text;
}

static cJSON *json_of(const struct analysis *a)
{
    struct findings f;
    findings_init(&f, a);
    cJSON *doc = parsed_analysis(a, &f);
    findings_release(&f);
    return doc;
}

static const struct finding *finding_of(const struct findings *f, const char *rule)
{
    for (size_t i = 0; i < f->count; i++) {
        if (strcmp(f->list[i].rule, rule) == 0)
            return &f->list[i];
    }
    return NULL;
}

/* One rank, one device:
 *
 *   compute  [0,100) [50,150)            [300,400) and an empty one at 500
 *   comm               [120,200)         [350,360)
 *   memory                  [180,260) [260,270)
 */
TEST(analysis_split_is_counted_by_hand)
{
    struct run run;
    struct analysis a;
    make_run(&run, 1);
    add_op(&run, 0, OP_KERNEL, 0, 100);
    add_gemm(&run, 0, 50, 100, 8);
    add_coll(&run, 0, 0, 120, 80, 4);
    add_op(&run, 0, OP_MEMORY, 180, 80);
    add_op(&run, 0, OP_MEMORY, 260, 10);
    add_op(&run, 0, OP_KERNEL, 300, 100);
    add_coll(&run, 0, 1, 350, 10, 4);
    add_op(&run, 0, OP_KERNEL, 500, 0);
    analyze(&a, &run);
    const struct time_breakdown *s = &a.ranks[0].breakdown;
    CHECK_INT(s->span_ns, 500);
    CHECK_INT(s->compute_ns, 250);
    CHECK_INT(s->comm_ns, 90);
    CHECK_INT(s->overlap_ns, 40);
    CHECK_INT(s->exposed_comm_ns, 50);
    CHECK_INT(s->memory_ns, 90);
    CHECK_INT(s->exposed_memory_ns, 70);
    CHECK_INT(s->idle_ns, 130);
    CHECK_INT((int64_t)s->timed_ops, 8);
    CHECK(!s->wait_known); /* one rank: nobody to wait for */
    check_identity(&a);
    done(&a, &run);
}

TEST(analysis_split_nested_touching_and_equal)
{
    struct run run;
    struct analysis a;
    make_run(&run, 1);
    add_op(&run, 0, OP_KERNEL, 10, 100);
    add_op(&run, 0, OP_KERNEL, 20, 10);  /* inside */
    add_op(&run, 0, OP_KERNEL, 10, 100); /* the same again */
    add_op(&run, 0, OP_KERNEL, 110, 5);  /* touches */
    add_coll(&run, 0, 0, 10, 100, 4);    /* wholly hidden */
    add_coll(&run, 0, 1, 115, 5, 4);     /* wholly exposed */
    add_op(&run, 0, OP_MEMORY, 60, 58);  /* behind both, to 118 */
    analyze(&a, &run);
    const struct time_breakdown *s = &a.ranks[0].breakdown;
    CHECK_INT(s->span_ns, 110);
    CHECK_INT(s->compute_ns, 105);
    CHECK_INT(s->overlap_ns, 100);
    CHECK_INT(s->exposed_comm_ns, 5);
    CHECK_INT(s->memory_ns, 58);
    CHECK_INT(s->exposed_memory_ns, 0);
    CHECK_INT(s->idle_ns, 0);
    check_identity(&a);
    done(&a, &run);
}

/* Every nanosecond of a small span looked at by itself, against the interval arithmetic. */
TEST(analysis_split_equals_counting_each_nanosecond)
{
    enum { SPAN = 120, COMPUTE = 1, COMM = 2, MEMORY = 4 };
    static const struct {
        enum op_class class;
        unsigned bit;
    } kinds[] = {{OP_KERNEL, COMPUTE},
                 {OP_GEMM, COMPUTE},
                 {OP_COLL, COMM},
                 {OP_P2P, COMM},
                 {OP_MEMORY, MEMORY}};
    uint32_t random = 12345;
    for (int round = 0; round < 300; round++) {
        unsigned at[SPAN] = {0};
        int64_t compute = 0, comm = 0, memory = 0, idle = 0, first = SPAN, last = 0;
        struct run run;
        struct time_breakdown s;
        make_run(&run, 1);
        for (int i = 0; i < 1 + round % 20; i++) {
            random = random * 1664525 + 1013904223;
            unsigned kind = (random >> 24) % 5;
            int64_t start = (random >> 8) % (SPAN - 30), dur = (random >> 16) % 30;
            add_op(&run, 0, kinds[kind].class, start, dur);
            for (int64_t t = start; t < start + dur; t++)
                at[t] |= kinds[kind].bit;
            first = start < first ? start : first;
            last = start + dur > last ? start + dur : last;
        }
        for (int64_t t = first; t < last; t++) {
            compute += at[t] & COMPUTE ? 1 : 0;
            comm += (at[t] & (COMM | COMPUTE)) == COMM;
            memory += at[t] == MEMORY;
            idle += at[t] == 0;
        }
        time_breakdown_init(&s, &run.ranks[0], NULL, NULL);
        CHECK_INT(s.span_ns, last - first);
        CHECK_INT(s.compute_ns, compute);
        CHECK_INT(s.exposed_comm_ns, comm);
        CHECK_INT(s.exposed_memory_ns, memory);
        CHECK_INT(s.idle_ns, idle);
        run_release(&run);
    }
}

TEST(analysis_leaves_out_what_has_no_device_time)
{
    struct run run;
    struct analysis a;
    struct findings f;
    make_run(&run, 1);
    add_op(&run, 0, OP_KERNEL, 100, 10);
    add_op(&run, 0, OP_KERNEL, 0, 1000)->timing = SPECTER_TIMING_HOST;
    add_op(&run, 0, OP_KERNEL, 0, 1000)->timing = SPECTER_TIMING_CAPTURED;
    add_op(&run, 0, OP_KERNEL, 0, 1000)->timing = SPECTER_TIMING_UNKNOWN;
    add_op(&run, 0, OP_KERNEL, 0, UNKNOWN_NS)->timing = SPECTER_TIMING_NONE;
    add_op(&run, 0, OP_KERNEL, 0, -5);             /* damage */
    add_op(&run, 0, OP_KERNEL, INT64_MAX - 5, 10); /* damage: ends after the end of time */
    add_op(&run, 0, OP_KERNEL, 200, 10)->timing = SPECTER_TIMING_SYNC;
    add_op(&run, 0, OP_KERNEL, 220, 10)->timing = SPECTER_TIMING_GRAPH;
    analyze(&a, &run);
    CHECK_INT(a.total.span_ns, 230); /* from the first call on */
    CHECK_INT(a.total.compute_ns, 30);
    CHECK_INT((int64_t)a.total.timed_ops, 3);
    CHECK_INT((int64_t)a.total.untimed_ops[SPECTER_TIMING_HOST], 1);
    CHECK_INT((int64_t)a.total.untimed_ops[SPECTER_TIMING_CAPTURED], 1);
    CHECK_INT((int64_t)a.total.untimed_ops[SPECTER_TIMING_NONE], 1);
    CHECK_INT((int64_t)a.total.untimed_ops[SPECTER_TIMING_UNKNOWN], 3);
    check_identity(&a);
    findings_init(&f, &a);
    const struct finding *one = finding_of(&f, "untimed");
    CHECK(one != NULL);
    if (one != NULL)
        CHECK_HAS(one->text, "6 of 9 operations are excluded: they have no device time");
    findings_release(&f);
    done(&a, &run);
}

TEST(analysis_says_when_there_is_no_device_time)
{
    struct run run;
    struct analysis a;
    struct err e;
    make_run(&run, 2);
    for (int r = 0; r < 2; r++)
        add_coll(&run, r, 0, 100, 10, 64)->timing = SPECTER_TIMING_HOST;
    analyze(&a, &run);
    char *text = text_of(&a);
    CHECK_HAS(text, "1. The trace holds no device times");
    CHECK(strstr(text, "Time per rank") == NULL);
    CHECK_HAS(text, "AllReduce"); /* what was called is known all the same */
    free(text);
    cJSON *doc = json_of(&a);
    const cJSON *rank = cJSON_GetArrayItem(cJSON_GetObjectItem(doc, "ranks"), 0);
    CHECK(cJSON_IsNull(cJSON_GetObjectItem(rank, "span_us")));
    CHECK(cJSON_IsNull(cJSON_GetObjectItem(rank, "idle_us")));
    const cJSON *row = cJSON_GetArrayItem(cJSON_GetObjectItem(doc, "collectives"), 0);
    CHECK_INT(cJSON_GetObjectItem(row, "count")->valueint, 1);
    CHECK(cJSON_IsNull(cJSON_GetObjectItem(row, "median_us")));
    CHECK(cJSON_IsNull(cJSON_GetObjectItem(row, "algbw_GBps")));
    cJSON_Delete(doc);
    CHECK_INT(fail_on_apply("idle>0", &a, &e), -1);
    CHECK_INT(e.code, ERR_INPUT);
    done(&a, &run);
}

TEST(analysis_of_ranks_without_operations)
{
    struct run run;
    struct analysis a;
    make_run(&run, 3);
    analyze(&a, &run);
    char *text = text_of(&a);
    CHECK_HAS(text, "1. The trace holds no operation");
    free(text);
    cJSON_Delete(json_of(&a));
    done(&a, &run);
}

/* Two AllReduce of 8000 bytes on two ranks. Rank 1 comes 60 ns late to the first, rank 0 30 ns late
 * to the second; the data takes 40 and 80 ns. */
static void make_late(struct run *run)
{
    make_run(run, 2);
    add_coll(run, 0, 0, 0, 100, 8000);
    add_coll(run, 1, 0, 60, 40, 8000);
    add_coll(run, 0, 1, 230, 80, 8000);
    add_coll(run, 1, 1, 200, 110, 8000);
}

TEST(analysis_collectives_count_instances_and_take_the_shortest)
{
    struct run run;
    struct analysis a;
    make_late(&run);
    analyze(&a, &run);
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
    done(&a, &run);
}

TEST(analysis_arrival_names_who_was_last)
{
    struct run run;
    struct analysis a;
    make_late(&run);
    analyze(&a, &run);
    CHECK_INT((int64_t)a.stragglers.arrivals[0].last, 1);
    CHECK_INT((int64_t)a.stragglers.arrivals[1].last, 1);
    CHECK_DOUBLE(a.stragglers.arrivals[1].late_ns, 60, 0);
    CHECK_DOUBLE(a.stragglers.arrivals[1].caused_ns, 60, 0);
    CHECK_DOUBLE(a.stragglers.arrivals[0].caused_ns, 30, 0);
    done(&a, &run);
}

TEST(analysis_arrival_needs_comparable_clocks)
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
    cJSON *doc = json_of(&a);
    const cJSON *rank = cJSON_GetArrayItem(cJSON_GetObjectItem(doc, "ranks"), 1);
    CHECK(cJSON_IsNull(cJSON_GetObjectItem(rank, "arrived_last")));
    cJSON_Delete(doc);
    done(&a, &run);
}

TEST(analysis_arrival_of_four_ranks)
{
    struct run run;
    struct analysis a;
    struct findings f;
    static const int64_t starts[] = {0, 100, 50, 1000};
    make_run(&run, 4);
    for (int64_t seq = 0; seq < 3; seq++) {
        for (int r = 0; r < 4; r++)
            add_coll(&run, r, seq, 2000 * seq + starts[r], 1100 - starts[r], 64);
    }
    analyze(&a, &run);
    CHECK_INT((int64_t)a.stragglers.arrivals[3].last, 3);
    CHECK_DOUBLE(a.stragglers.arrivals[3].late_ns, 3000, 0);
    CHECK_DOUBLE(a.stragglers.arrivals[3].caused_ns, 3 * (1000 + 900 + 950) / 3.0, 1e-12);
    findings_init(&f, &a);
    const struct finding *late = finding_of(&f, "straggler");
    CHECK(late != NULL);
    if (late != NULL) {
        CHECK_HAS(late->text, "rank 3 starts last in 3 of its 3 collectives");
        CHECK_HAS(late->text, "950 ns on average, 2.85 us in all");
        CHECK_HAS(late->text, "100 % of all waiting");
    }
    findings_release(&f);
    done(&a, &run);
}

TEST(analysis_equal_arrival_has_no_last)
{
    struct run run;
    struct analysis a;
    make_run(&run, 3);
    for (int r = 0; r < 3; r++)
        add_coll(&run, r, 0, r == 0 ? 0 : 10, 100, 64);
    analyze(&a, &run);
    for (int r = 0; r < 3; r++)
        CHECK_INT((int64_t)a.stragglers.arrivals[r].last, 0);
    done(&a, &run);
}

TEST(analysis_unknown_bytes_have_no_bandwidth)
{
    struct run run;
    struct analysis a;
    make_run(&run, 2);
    for (int r = 0; r < 2; r++)
        add_coll(&run, r, 0, 0, 10, 0)->flags = OP_BYTES_UNKNOWN;
    analyze(&a, &run);
    CHECK(isnan(a.collectives.list[0].algbw_GBps));
    cJSON *doc = json_of(&a);
    const cJSON *row = cJSON_GetArrayItem(cJSON_GetObjectItem(doc, "collectives"), 0);
    CHECK(cJSON_IsNull(cJSON_GetObjectItem(row, "bytes")));
    CHECK(cJSON_IsNull(cJSON_GetObjectItem(row, "busbw_GBps")));
    CHECK_DOUBLE(cJSON_GetObjectItem(row, "median_us")->valuedouble, 0.010, 1e-12);
    cJSON_Delete(doc);
    done(&a, &run);
}

TEST(analysis_unmatched_operations_stand_alone)
{
    struct run run;
    struct analysis a;
    make_run(&run, 2);
    for (int r = 0; r < 2; r++) {
        struct op *op = add_coll(&run, r, -1, 0, 10 + r, 4000);
        op->coll.comm = -1;
    }
    analyze(&a, &run);
    const struct comm_row *row = &a.collectives.list[0];
    CHECK_INT((int64_t)row->count, 2);
    CHECK_INT(row->comm_size, 0);
    CHECK_DOUBLE(row->algbw_GBps, 4000 / 10.5, 1e-12);
    CHECK(isnan(row->busbw_GBps)); /* needs the communicator's size */
    CHECK(isnan(row->wait_ns));
    CHECK_INT((int64_t)a.comm.unnumbered, 2);
    CHECK(!a.ranks[0].breakdown.wait_known);
    done(&a, &run);
}

/* Two AllReduce of 1000 and 3000 bytes in one group of 40 ns: 4000 bytes moved. */
TEST(analysis_group_bandwidth_is_of_the_whole_group)
{
    struct run run;
    struct analysis a;
    make_run(&run, 2);
    for (int r = 0; r < 2; r++) {
        add_coll(&run, r, 0, 0, 40, 1000)->coll.group = 5;
        add_coll(&run, r, 1, 0, 40, 3000)->coll.group = 5;
        add_coll(&run, r, 2, 100, 10, 500)->coll.group = 6; /* alone in its group */
    }
    analyze(&a, &run);
    CHECK_INT((int64_t)a.collectives.count, 3);
    for (size_t i = 0; i < a.collectives.count; i++) {
        const struct comm_row *row = &a.collectives.list[i];
        bool alone = row->bytes == 500;
        CHECK_INT((int64_t)row->count, 1);
        CHECK_INT((int64_t)row->grouped, alone ? 0 : 1);
        CHECK_DOUBLE(row->algbw_GBps, alone ? 50 : 100, 1e-12);
    }
    done(&a, &run);
}

TEST(analysis_mixed_group_has_no_bandwidth)
{
    struct run run;
    struct analysis a;
    make_run(&run, 2);
    for (int r = 0; r < 2; r++) {
        add_coll(&run, r, 0, 0, 40, 1000)->coll.group = 5;
        struct op *op = add_coll(&run, r, 1, 0, 40, 3000);
        op->coll.group = 5;
        op->coll.op = SPECTER_BROADCAST;
    }
    analyze(&a, &run);
    for (size_t i = 0; i < a.collectives.count; i++) {
        CHECK(isnan(a.collectives.list[i].algbw_GBps));
        CHECK_DOUBLE(a.collectives.list[i].median_ns, 40, 0);
    }
    done(&a, &run);
}

TEST(analysis_bandwidth_prefers_instances_launched_alone)
{
    struct run run;
    struct analysis a;
    make_run(&run, 2);
    for (int r = 0; r < 2; r++) {
        add_coll(&run, r, 0, 0, 10, 1000);
        add_coll(&run, r, 1, 50, 100, 1000)->coll.group = 1;
        add_coll(&run, r, 2, 50, 100, 1000)->coll.group = 1;
    }
    analyze(&a, &run);
    CHECK_INT((int64_t)a.collectives.count, 1);
    CHECK_INT((int64_t)a.collectives.list[0].count, 3);
    CHECK_INT((int64_t)a.collectives.list[0].grouped, 2);
    CHECK_DOUBLE(a.collectives.list[0].algbw_GBps, 100, 1e-12);
    done(&a, &run);
}

/* A send and its receive are one instance; both directions of an exchange in one group run at the
 * same time, so each has the bytes of its own direction. */
TEST(analysis_pairs_sends_with_receives)
{
    struct run run;
    struct analysis a;
    make_run(&run, 2);
    for (int r = 0; r < 2; r++) {
        add_p2p(&run, r, SPECTER_SEND, 1 - r, 10 * r, 50 - 10 * r, 2000)->coll.group = 0;
        add_p2p(&run, r, SPECTER_RECV, 1 - r, 10 * r, 50 - 10 * r, 2000)->coll.group = 0;
        rank_add_member(&run.ranks[r], 0, r, -1);
    }
    analyze(&a, &run);
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
    done(&a, &run);
}

TEST(analysis_rows_by_communicator_name)
{
    struct run run;
    struct analysis a;
    make_run(&run, 2);
    int tp = run_comm(&run, "tp0", 3, 2);
    run.comms[0].name = "dp";
    run.comms[tp].name = "tp";
    for (int r = 0; r < 2; r++) {
        add_coll(&run, r, 0, 0, 10, 1000);
        add_coll(&run, r, 0, 20, 30, 1000)->coll.comm = tp;
    }
    analyze(&a, &run);
    CHECK(analysis_has_names(&a));
    CHECK_INT((int64_t)a.collectives.count, 1);
    CHECK_INT((int64_t)a.collectives_named.count, 2);
    CHECK_STR(a.collectives_named.list[0].name, "tp");
    char *text = text_of(&a);
    CHECK_HAS(text, "2 tp");
    free(text);
    done(&a, &run);
}

/* 2*100^3 = 2e6 flop in 1000 ns are 2 TFLOPS. */
TEST(analysis_gemms_by_shape)
{
    struct run run;
    struct analysis a;
    make_run(&run, 2);
    for (int r = 0; r < 2; r++) {
        run.ranks[r].gpu = "NVIDIA H100 80GB HBM3";
        add_gemm(&run, r, 0, 1000, 100);
        add_gemm(&run, r, 2000, 1000, 100);
        add_gemm(&run, r, 4000, 5000, 200)->gemm.batch = 3;
        add_gemm(&run, r, 4000, 5, 100)->timing = SPECTER_TIMING_HOST;
    }
    analyze(&a, &run);
    CHECK_INT((int64_t)a.work.ngemms, 2);
    const struct gemm_row *big = &a.work.gemms[0], *small = &a.work.gemms[1];
    CHECK_INT(big->m, 200);
    CHECK_INT(big->batch, 3);
    CHECK_DOUBLE(big->total_ns, 10000, 0);
    CHECK_DOUBLE(big->tflops, 2.0 * 200 * 200 * 200 * 3 / 5000 / 1e3, 1e-12);
    CHECK_INT((int64_t)small->count, 6);
    CHECK_INT((int64_t)small->timed, 4);
    CHECK_DOUBLE(small->tflops, 2, 1e-12);
    CHECK(small->peak_tflops > 900 && small->peak_tflops < 1000); /* dense, not sparse */
    done(&a, &run);
}

TEST(analysis_flags_gemms_above_the_peak)
{
    struct run run;
    struct analysis a;
    struct findings f;
    make_run(&run, 1);
    run.ranks[0].gpu = "NVIDIA H100 80GB HBM3";
    add_gemm(&run, 0, 0, 1000, 1000); /* 2e9 flop in 1 us: 2000 TFLOPS */
    analyze(&a, &run);
    findings_init(&f, &a);
    const struct finding *one = finding_of(&f, "gemm_peak");
    CHECK(one != NULL);
    if (one != NULL)
        CHECK_HAS(one->text, "1 shape runs faster than the dense peak (1000x1000x1000: 2000.0 of");
    findings_release(&f);
    done(&a, &run);
}

TEST(analysis_top_pools_by_name)
{
    struct run run;
    struct analysis a;
    char names[300][24];
    make_run(&run, 2);
    for (int i = 0; i < 300; i++) {
        snprintf(names[i], sizeof names[i], "kernel%d", i);
        add_op(&run, i % 2, OP_KERNEL, 10 * i, 1 + i)->name = names[i];
    }
    add_op(&run, 0, OP_KERNEL, 0, 1000)->name = names[7];
    analyze(&a, &run);
    CHECK_INT((int64_t)a.work.ntop, 300);
    CHECK_STR(a.work.top[0].name, "kernel7");
    CHECK_INT((int64_t)a.work.top[0].count, 2);
    CHECK_DOUBLE(a.work.top[0].total_ns, 1008, 0);
    CHECK_STR(a.work.top[1].name, "kernel299");
    done(&a, &run);
}

TEST(analysis_text_shortens_kernel_names)
{
    struct run run;
    struct analysis a;
    make_run(&run, 1);
    add_op(&run, 0, OP_KERNEL, 0, 30)->name =
        "void at::native::(anonymous namespace)::fill<4, at::native::Functor<float> >(int)";
    add_op(&run, 0, OP_KERNEL, 30, 20)->name = "plain_kernel:0";
    add_op(&run, 0, OP_KERNEL, 50, 10)->name = "::";
    analyze(&a, &run);
    char *text = text_of(&a);
    CHECK_HAS(text, "\n  fill<4, Functor<float> >(int)      1  ");
    CHECK_HAS(text, "\n  plain_kernel:0                     1  ");
    free(text);
    done(&a, &run);
}

TEST(analysis_one_rank_of_several)
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

TEST(analysis_gate_holds_and_does_not)
{
    struct run run;
    struct analysis a;
    struct err e;
    static const struct {
        const char *expr;
        int code;
    } cases[] = {
        {"exposed_comm>0.3", 0},
        {"exposed_comm>=0.25", ERR_NO},
        {"exposed_comm>0.25", 0},
        {"exposed_comm > 20 %", ERR_NO},
        {"idle<0.6", ERR_NO},
        {"idle<=0.5", ERR_NO},
        {"idle<0.5", 0},
        {"compute>0.9,idle>0.4", ERR_NO},
        {"compute>0.9,idle>0.6", 0},
        {"overlap<0.1", ERR_NO},
        {"memory>0", 0},
        {"", ERR_USAGE},
        {"idle", ERR_USAGE},
        {"idle>", ERR_USAGE},
        {"idle=0.3", ERR_USAGE},
        {"idle>nan", ERR_USAGE},
        {"idle>0.3x", ERR_USAGE},
        {"idel>0.3", ERR_USAGE},
        {"idle>0.3,", ERR_USAGE},
        {">0.3", ERR_USAGE},
        {"idle>1e999", ERR_USAGE},
        {"idle>0,3", ERR_USAGE},
        {"idle>%", ERR_USAGE},
    };
    make_run(&run, 1); /* 25 compute, 25 comm, 50 idle */
    add_op(&run, 0, OP_KERNEL, 0, 25);
    add_coll(&run, 0, 0, 75, 25, 64);
    analyze(&a, &run);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        e.code = ERR_NONE;
        e.msg[0] = '\0';
        int status = fail_on_check(cases[i].expr, &e);
        if (status == 0)
            status = fail_on_apply(cases[i].expr, &a, &e);
        if ((int)e.code != cases[i].code || (status < 0) != (cases[i].code != 0))
            test_fail(__FILE__, __LINE__, "'%s' gives %d, want %d (%s)", cases[i].expr, e.code,
                      cases[i].code, e.msg);
    }
    done(&a, &run);
}

TEST(analysis_gate_refuses_what_the_trace_cannot_tell)
{
    struct run run;
    struct analysis a;
    struct err e;
    make_run(&run, 1);
    add_op(&run, 0, OP_KERNEL, 0, 25);
    analyze(&a, &run);
    CHECK_INT(fail_on_apply("overlap<0.5", &a, &e), -1); /* no communication: overlap of nothing */
    CHECK_INT(e.code, ERR_INPUT);
    CHECK_HAS(e.msg, "the trace holds no such time");
    done(&a, &run);
}

TEST(analysis_gate_order_of_conditions_changes_nothing)
{
    static const char *const holding[] = {"overlap<0.5,compute>0.5", "compute>0.5,overlap<0.5"};
    static const char *const open[] = {"overlap<0.5,compute<0.5", "compute<0.5,overlap<0.5"};
    struct run run;
    struct analysis a;
    make_run(&run, 1);
    add_op(&run, 0, OP_KERNEL, 0, 25);
    analyze(&a, &run);
    for (int i = 0; i < 2; i++) {
        struct err e = {0};
        CHECK_INT(fail_on_apply(holding[i], &a, &e), -1);
        CHECK_INT(e.code, ERR_NO);
        CHECK_HAS(e.msg, "'compute>0.5' holds");
        CHECK_INT(fail_on_apply(open[i], &a, &e), -1);
        CHECK_INT(e.code, ERR_INPUT);
        CHECK_HAS(e.msg, "cannot judge 'overlap<0.5'");
    }
    done(&a, &run);
}

TEST(analysis_counts_known_devices)
{
    static const int32_t devices[] = {0, -1, 64, 0, -1, 64, 128};
    struct run run;
    struct time_breakdown s;
    make_run(&run, 1);
    for (int i = 0; i < 7; i++) {
        add_op(&run, 0, OP_KERNEL, 10 * i, 5);
        run.ranks[0].ops[i].device = devices[i];
    }
    time_breakdown_init(&s, &run.ranks[0], NULL, NULL);
    CHECK_INT(s.devices, 3);
    CHECK_INT((int64_t)s.timed_ops, 7);
    run_release(&run);
}

TEST(analysis_finding_order_and_words)
{
    struct run run;
    struct analysis a;
    struct findings f;
    make_run(&run, 2); /* 20 compute, 20 transfer, 40 idle; rank 0 waits 20, rank 1 idles */
    add_op(&run, 0, OP_KERNEL, 0, 20);
    add_op(&run, 1, OP_KERNEL, 0, 20);
    add_coll(&run, 0, 0, 60, 40, 64);
    add_coll(&run, 1, 0, 80, 20, 64);
    analyze(&a, &run);
    findings_init(&f, &a);
    CHECK_STR(f.list[0].rule, "idle");
    CHECK_DOUBLE(f.list[0].value, 0.50, 1e-12);
    CHECK_HAS(f.list[0].text, "Host-bound: GPUs are idle 50 % of the recording");
    CHECK_STR(f.list[1].rule, "exposed_comm");
    CHECK_DOUBLE(f.list[1].value, 0.30, 1e-12);
    CHECK_HAS(
        f.list[1].text,
        "0 % of communication is overlapped. 33 % of the exposed time is waiting for stragglers");
    findings_release(&f);
    for (int r = 0; r < 2; r++)
        run.ranks[r].coverage = COVER_NCCL | COVER_GEMM;
    analysis_release(&a);
    CHECK_INT(analysis_init(&a, &run, ANALYSIS_ALL_RANKS, NULL), 0);
    findings_init(&f, &a);
    CHECK_HAS(f.list[0].text, "No traced work runs in 50 %");
    CHECK_HAS(f.list[0].text, "how much of it is idle is not known");
    char *text = text_of(&a);
    CHECK_HAS(text, "kernels other than NCCL's and cuBLAS's were not traced");
    free(text);
    findings_release(&f);
    done(&a, &run);
}

/* A little idle time beside a lot of compute is no verdict on the host. */
TEST(analysis_host_bound_is_for_the_largest_part)
{
    struct run run;
    struct analysis a;
    struct findings f;
    make_run(&run, 1);
    add_op(&run, 0, OP_KERNEL, 0, 80);
    add_op(&run, 0, OP_KERNEL, 100, 0);
    analyze(&a, &run);
    findings_init(&f, &a);
    CHECK_STR(f.list[0].rule, "compute");
    CHECK_STR(f.list[1].rule, "idle");
    CHECK_HAS(f.list[1].text, "Idle: the GPU is idle 20 % of the recording (20 ns of 100 ns); 100 "
                              "% of that: host launches late.");
    findings_release(&f);
    done(&a, &run);
}

/* A host that is on the path is told of where the device is idle for it, and not once more where
 * the job is host-bound; what computes beside it is not the host's. */
TEST(analysis_host_on_the_path_costs_idle_time)
{
    static const struct {
        int64_t gap_ns;
        bool told;
    } cases[] = {{5, false}, {20, true}, {200, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct run run;
        struct analysis a;
        struct findings f;
        make_run(&run, 1);
        add_op(&run, 0, OP_KERNEL, 0, 80);
        add_op(&run, 0, OP_KERNEL, 80 + cases[i].gap_ns, 1);
        analyze(&a, &run);
        CHECK(share_of(path_kind_sum(&a.critical, PATH_HOST).all_ns, a.critical.length.all_ns) >
              0.9);
        findings_init(&f, &a);
        const struct finding *host = finding_of(&f, "critical_host");
        CHECK(cases[i].told == (host != NULL));
        if (host != NULL)
            CHECK_HAS(host->text, "GPUs are idle 20 % of the recording for that");
        findings_release(&f);
        done(&a, &run);
    }
}

/* Slow products are told once. */
TEST(analysis_slow_gemms_are_told_once)
{
    struct run run;
    struct analysis a;
    struct findings f;
    make_run(&run, 1);
    run.ranks[0].gpu = "NVIDIA H100 80GB HBM3";
    add_gemm(&run, 0, 0, 100000, 1000); /* 2e9 flop in 100 us: 20 TFLOPS */
    analyze(&a, &run);
    findings_init(&f, &a);
    const struct finding *slow = finding_of(&f, "gemm_efficiency");
    const struct finding *compute = finding_of(&f, "compute");
    CHECK(slow != NULL && compute != NULL);
    if (slow != NULL && compute != NULL) {
        CHECK_HAS(slow->text, "20.0 of");
        CHECK(strstr(compute->text, "TFLOPS") == NULL);
    }
    findings_release(&f);
    done(&a, &run);
}

TEST(analysis_finds_compute_bound_and_slow_ranks)
{
    struct run run;
    struct analysis a;
    struct findings f;
    make_run(&run, 3);
    for (int r = 0; r < 3; r++) {
        add_op(&run, r, OP_KERNEL, 0, r == 1 ? 150 : 100);
        add_op(&run, r, OP_KERNEL, 160, 1);
    }
    analyze(&a, &run);
    findings_init(&f, &a);
    CHECK_STR(f.list[0].rule, "compute");
    CHECK_HAS(f.list[0].text, "Compute-bound: GPUs compute for 73 % of the recording");
    const struct finding *slow = finding_of(&f, "slow_rank");
    CHECK(slow != NULL);
    if (slow != NULL)
        CHECK_HAS(slow->text, "rank 1 computes 1.50 times as long as the median rank (151 ns, "
                              "101 ns)");
    findings_release(&f);
    done(&a, &run);
}

/* Columns of the longest line. */
static size_t widest(const char *text)
{
    size_t most = 0;
    while (*text != '\0') {
        size_t len = strcspn(text, "\n");
        most = len > most ? len : most;
        text += len + (text[len] == '\n');
    }
    return most;
}

static size_t lines(const char *text)
{
    size_t n = 0;
    for (; *text != '\0'; text++)
        n += *text == '\n';
    return n;
}

TEST(analysis_of_1024_ranks_fits_a_page)
{
    struct run run;
    struct analysis a;
    make_run(&run, 1024);
    for (int r = 0; r < 1024; r++) {
        add_op(&run, r, OP_KERNEL, 0, 1000000 + r);
        add_coll(&run, r, 0, 1000000 + r, 5000000000 - r, 1 << 30);
    }
    analyze(&a, &run);
    check_identity(&a);
    CHECK_INT(a.total.compute_ns, 1024 * 1000000LL + 1023 * 1024 / 2);
    CHECK_INT((int64_t)a.collectives.list[0].count, 1);
    CHECK_DOUBLE(a.collectives.list[0].median_ns, 5000000000 - 1023, 0);
    CHECK_INT((int64_t)a.stragglers.arrivals[1023].last, 1);
    char *text = text_of(&a);
    CHECK(widest(text) <= 80);
    CHECK(lines(text) < 60);
    CHECK_HAS(text, "median");
    CHECK_HAS(text, " 1023 ");
    free(text);
    done(&a, &run);
}

TEST(analysis_text_stays_within_80_columns_and_safe)
{
    struct run run;
    struct analysis a;
    make_run(&run, 8);
    run.comms[0].name = "data_parallel_group_of_all";
    run.comms[run_comm(&run, "other", 5, 2)].name = "\x1b[2Jx";
    run.source = "/a/very/long/path/that/goes/on/and/on/and/on/until/it/does/not/fit/into/a/line/x";
    for (int r = 0; r < 8; r++) {
        run.ranks[r].gpu = "\x1b[31mA GPU";
        struct op *op = add_coll(&run, r, 0, 0, 99999999999, (uint64_t)1 << 62);
        op->coll.op = SPECTER_REDUCESCATTER;
        op->dtype = SPECTER_FP8E4M3;
        op->coll.group = 3;
        add_op(&run, r, OP_KERNEL, 99999999999, 999999999999)->name =
            "void cutlass::Kernel<cutlass_80_tensorop_s16816gemm_bf16_256x128_ldg8_f2f_stages_64>";
        add_gemm(&run, r, 0, 999999999999, 1000000)->gemm.batch = 65536;
        for (int i = 0; i < 20; i++)
            add_coll(&run, r, 1 + i, 0, 10, 100 + (uint64_t)i)->coll.comm = 1;
    }
    analyze(&a, &run);
    char *text = text_of(&a);
    CHECK(widest(text) <= 80);
    CHECK(strchr(text, '\x1b') == NULL);
    CHECK_HAS(text, "more (--table collectives_by_group)");
    free(text);
    done(&a, &run);
}

TEST(analysis_json_is_valid_whatever_the_names)
{
    struct run run;
    struct analysis a;
    make_run(&run, 1);
    add_op(&run, 0, OP_KERNEL, 0, 10)->name = "\xff\xfe\"quoted\"\n\x01";
    run.id = "\xc3";
    analyze(&a, &run);
    cJSON *doc = json_of(&a);
    char *text = cJSON_PrintUnformatted(doc);
    CHECK_HAS(text, "??\\\"quoted\\\"??");
    CHECK_HAS(text, "\"schema\":\"specter.analyze/1\"");
    CHECK_HAS(text, "\"id\":\"?\"");
    free(text);
    cJSON_Delete(doc);
    done(&a, &run);
}
