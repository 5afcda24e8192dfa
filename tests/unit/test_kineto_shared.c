/* SPDX-License-Identifier: MIT
 *
 * Kineto traces that others recorded (../shared), against what others made of them.
 */
#include "made_kineto.h"

#include "base/json.h"
#include "trace/match.h"

static struct json_text find_key(struct json_text in, const char *name)
{
    struct json j;
    struct json_text key;
    json_init(&j, in.p, in.len);
    json_enter(&j, '{');
    while (json_next_key(&j, &key)) {
        const char *begin;
        json_peek(&j);
        begin = j.p;
        json_skip(&j);
        if (json_text_is(key, name))
            return (struct json_text){begin, (uint32_t)(j.p - begin), false};
    }
    return (struct json_text){"0", 1, false};
}

static int64_t number_of(struct json_text in, const char *name)
{
    struct json_text value = find_key(in, name);
    struct json j;
    json_init(&j, value.p, value.len);
    return json_i64(&j, -1);
}

static void check_rank(const struct rank *rank, struct json_text want)
{
    int64_t first = INT64_MAX, last = INT64_MIN, comm = 0, memory = 0, gemms = 0, linked = 0;
    for (size_t i = 0; i < rank->nops; i++) {
        const struct op *op = &rank->ops[i];
        first = op->start_ns < first ? op->start_ns : first;
        last = op->start_ns + op->dur_ns > last ? op->start_ns + op->dur_ns : last;
        comm += op->class == OP_COLL;
        memory += op->class == OP_MEMORY;
        gemms += op->class == OP_GEMM;
        linked += op->host_ns != UNKNOWN_NS;
    }
    CHECK_INT((last - first) / 1000, number_of(want, "span"));
    CHECK_INT(comm, number_of(want, "n_comm"));
    CHECK_INT(memory, number_of(want, "n_memory"));
    CHECK_INT((int64_t)rank->nops - comm - memory, number_of(want, "n_compute"));
    CHECK_INT(gemms, 23);
    CHECK_INT((int64_t)rank->nops - linked, rank->rank == 1 || rank->rank == 3 ? 64 : 0);
    CHECK_STR(rank->gpu, "Tesla V100-SXM2-32GB");
    CHECK_INT(rank->nsteps, 1);
}

static void check_collectives(const struct run *run, struct json_text want)
{
    static const uint64_t bytes[] = {24576, 192, 1536, 13568, 1576964, 24576, 448, 907840};
    struct matches m;
    struct json j;
    json_init(&j, want.p, want.len);
    json_enter(&j, '[');
    matches_init(&m, run);
    CHECK_INT(m.count, 8);
    CHECK_INT(m.incomplete + m.inconsistent + m.unnumbered, 0);
    for (size_t i = 0; i < m.count && json_next_item(&j); i++) {
        struct json_text item = {j.p, 0, false};
        json_skip(&j);
        item.len = (uint32_t)(j.p - item.p);
        CHECK_INT(m.list[i].nmembers, 8);
        CHECK_INT(m.list[i].op, i == 4 || i > 5 ? SPECTER_ALLREDUCE : SPECTER_ALLTOALL);
        CHECK_INT(m.list[i].bytes, bytes[i]);
        CHECK_INT(m.list[i].transfer_ns / 1000, number_of(item, "comm_latency_us"));
    }
    matches_release(&m);
}

TEST(kineto_dlrm)
{
    struct run run;
    struct json_text want, ranks;
    size_t len = 0;
    char *expected = read_whole(test_shared("data/expected/hta_dlrm8.json"), &len);
    if (expected == NULL)
        SKIP("no shared data");
    want = (struct json_text){expected, (uint32_t)len, false};
    ranks = find_key(want, "plain_interval_arithmetic_us");
    load_path(&run, test_shared("data/traces/param/dlrm_kineto.tar.gz"));
    CHECK_INT(run.nranks, 8);
    CHECK_INT(run.world_size, 8);
    CHECK(run.clock_aligned);
    CHECK(!run_partial(&run));
    for (size_t r = 0; r < run.nranks; r++) {
        char name[2] = {(char)('0' + r), '\0'};
        check_rank(&run.ranks[r], find_key(ranks, name));
    }
    CHECK_HAS(note_with(&run, "no launch call"), "128 of 2244 GPU operations");
    check_collectives(&run, find_key(want, "collectives_matched_by_order_us"));
    run_release(&run);
    free(expected);
}

/* Every other trace that is at hand: loads, with a word on what it lacks. */
TEST(kineto_other_traces)
{
    static const struct {
        const char *path, *note;
        size_t comm;
    } cases[] = {
        {"data/traces/param/linear_kineto.json.gz", "", 0},
        {"data/traces/hta/nccl_parser_config/nccl_data.json.gz", "1 of 2 ranks", 21},
        {"data/traces/hta/negative_queue_length_values_check/rank0.json.gz", "5 of 80 ", 80},
        {"data/traces/hta/cuda_event_sync_multi_stream/event_sync_trace.json.gz", "", 0},
        {"data/traces/tracelens/resnet_act_checkpoint.json.gz", "5 of 17 ", 17},
    };
    if (test_shared("data/traces") == NULL)
        SKIP("no shared data");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct run run;
        size_t comm = 0;
        load_path(&run, test_shared(cases[i].path));
        for (size_t op = 0; run.nranks > 0 && op < run.ranks[0].nops; op++)
            comm += run.ranks[0].ops[op].class == OP_COLL || run.ranks[0].ops[op].class == OP_P2P;
        CHECK_INT(comm, cases[i].comm);
        if (cases[i].note[0] != '\0')
            CHECK_HAS(note_with(&run, cases[i].note), cases[i].note);
        run_release(&run);
    }
}
