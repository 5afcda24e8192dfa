/* SPDX-License-Identifier: MIT
 *
 * Results of benchmarks in other files than logs: JSON of nccl-tests, profile_*.txt; and what is
 * worked out from rows: rates, operation and ranks.
 */
#include "base/arena.h"
#include "bench_text.h"
#include "report/bench_report.h"
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- JSON ---- */

#define DEVICE(host)                                         \
    "{\"rank\":0,\"group\":0,\"pid\":1,\"hostname\":\"" host \
    "\",\"device\":0,\"device_hex\":\"0000:04:00\",\"device_info\":\"NVIDIA H100 80GB HBM3\"}"

static const char json_run[] =
    "{\"version\":2,\"start_time\":\"2026-01-01 "
    "00:00:00\",\"args\":[\"./build\\/all_gather_perf\",\"-b\",\"8\"],"
    "\"env\":[\"HOME=\\/root\",\"TOKEN=secret\",\"NCCL_PROTO=LL\"],\"nccl_version\":22703,"
    "\"config\":{\"nthreads\":1,\"ngpus\":4,\"devices\":[" DEVICE("n1") "," DEVICE(
        "n2") "]},"
              "\"results\":[{\"size\":1048576,\"count\":32768,\"type\":\"float\",\"redop\":"
              "\"none\",\"root\":\"    -1\","
              "\"out_of_place\":{\"time\":27.1,\"alg_bw\":38.7,\"bus_bw\":33.9,\"nwrong\":2.000000}"
              ","
              "\"out_of_place_per_iter\":{\"min_us\":26.0,\"max_us\":29,\"p50_us\":27,\"p99_us\":"
              "29,\"cv_pct\":3.7,\"times_us\":[26.0,27.5,29]},"
              "\"in_place\":{\"cpu_time\":28.1,\"alg_bw\":38.7,\"bus_bw\":33.9,\"nwrong\":null},"
              "\"actual_iterations\":20},"
              "{\"size\":0,\"count\":0,\"type\":\"float\",\"out_of_place\":{\"time\":0.1}},"
              "{\"size\":2097152,\"count\":65536,\"type\":\"half\",\"redop\":\"none\",\"root\":\"  "
              "  -1\",\"out_of_place\":null,"
              "\"in_place\":{\"time\":40,\"alg_bw\":1,\"bus_bw\":1,\"nwrong\":0}}],"
              "\"out_of_bounds\":{\"count\":0,\"okay\":\"true\"}}";

TEST(bench_read_json_of_nccl_tests)
{
    struct buf twice = BUF_INIT;
    const struct bench_run *run;
    CHECK_INT(read_text(json_run), 0);
    run = &result.runs[0];
    CHECK_STR(run->program, "all_gather_perf");
    CHECK_STR(run->library, "NCCL 2.27.3");
    CHECK_INT(run->where.ranks, 8); /* only the first GPU of a process is in its JSON */
    CHECK_INT(run->where.nodes, 2);
    CHECK_INT(run->where.per_node, 4);
    CHECK_INT(run->nsettings, 1); /* and no secret */
    CHECK_STR(bench_setting(run, "NCCL_PROTO"), "LL");
    CHECK_INT(run->nrows, 3);
    CHECK_INT(row_of(0, 0)->op, SPECTER_ALLGATHER);
    CHECK_DOUBLE(row_of(0, 0)->time_us, 27.1, 0);
    CHECK_DOUBLE(row_of(0, 0)->wrong, 2, 0);
    CHECK_DOUBLE(row_of(0, 0)->median_us, 27, 0);
    CHECK_DOUBLE(row_of(0, 0)->cv, 0.037, 1e-12);
    CHECK_INT(row_of(0, 0)->nsamples, 3);
    CHECK_DOUBLE(row_of(0, 0)->sample[1], 27.5, 0);
    CHECK(row_of(0, 1)->in_place && isnan(row_of(0, 1)->wrong));
    CHECK_DOUBLE(row_of(0, 1)->time_us, 28.1, 0);
    CHECK(row_of(0, 2)->in_place && row_of(0, 2)->dtype == SPECTER_FP16);
    CHECK(!result.damaged);

    buf_printf(&twice, "%s\n%s", json_run, json_run);
    CHECK_INT(read_text(twice.data), 0);
    CHECK_INT(result.nruns, 2);
    buf_reset(&twice);
    buf_printf(&twice, "[%s,%s]", json_run, json_run);
    CHECK_INT(read_text(twice.data), 0);
    CHECK_INT(result.nruns, 2);
    buf_release(&twice);
}

/* Cut at any byte it is read, is refused, or stands in part; never more rows than the whole has. */
TEST(bench_read_json_cut_anywhere)
{
    const char *folder = make_folder();
    char text[sizeof json_run];
    for (size_t len = 1; len < sizeof json_run - 1; len++) {
        memcpy(text, json_run, len);
        text[len] = '\0';
        if (read_text_in(folder, text) == 0)
            CHECK(result.damaged && result.runs[0].nrows <= 3);
    }
    remove_folder(folder);
}

/* ---- profile_*.txt ---- */

TEST(bench_read_profile_text)
{
    static const char text[] =
        "================\nConfiguration: World Size=4\nBackend: gloo\n================\n\n"
        "Tensor Size: 1,048,576 elements (4.19 MB)\n"
        "  AllReduce:     0.090 ms | AlgBW: 46.60 GB/s | BusBW: 69.91 GB/s\n"
        "  AllGather:     0.179 ms | AlgBW: 93.73 GB/s | BusBW: 70.30 GB/s\n"
        "  ReduceScatter: 0.174 ms | AlgBW: 96.42 GB/s | BusBW: 72.32 GB/s\n"
        "Tensor Size: 8 elements (0.00 MB)\n  AllReduce:     0.000 ms | AlgBW: 1 GB/s\n";
    static const double rates[][2] = {{46.60, 69.91}, {93.73, 70.30}, {96.42, 72.32}};
    CHECK_INT(read_text(text), 0);
    CHECK_STR(result.runs[0].backend, "gloo");
    CHECK_INT(result.runs[0].where.ranks, 4);
    CHECK_INT(result.runs[0].nrows, 3);
    CHECK_INT(row_of(0, 1)->bytes, 4 * 4 * 1048576);
    CHECK(result.damaged); /* the time of 0 */
    CHECK_HAS(result.notes[0], "11: the time is no time in ms");
    bench_infer(&result.runs[0], SPECTER_COMM_OP_COUNT);
    for (size_t i = 0; i < 3; i++) { /* as the file has them, which follows nccl-tests */
        CHECK_DOUBLE(row_of(0, i)->algbw_GBps, rates[i][0], 2e-4);
        CHECK_DOUBLE(row_of(0, i)->busbw_GBps, rates[i][1], 2e-4);
    }
}

static void add_measured(struct bench_run *run, int ranks, enum specter_dtype dtype, uint64_t count)
{
    struct bench_row *row = bench_row_add(run);
    row->op = SPECTER_ALLGATHER;
    row->dtype = dtype;
    row->count = count;
    row->where = (struct layout){ranks, 1, ranks};
    row->bytes = specter_comm_op_bytes(row->op, count, dtype, (uint64_t)ranks);
    row->time_us = row->median_us = 1000;
    bench_row_rates(row);
}

/* Of a run with communicators of 2 and 4 ranks, and with rows that are not of fp32. */
TEST(bench_read_profile_that_was_written)
{
    struct bench_result written;
    struct bench_run *run;
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    bench_result_init(&written);
    run = bench_run_add(&written);
    run->where = (struct layout){4, 1, 4};
    add_measured(run, 2, SPECTER_BF16, 4096);
    CHECK(!bench_table_has_profile(run));
    add_measured(run, 2, SPECTER_FP32, 1024);
    add_measured(run, 4, SPECTER_FP32, 1024);
    add_measured(run, 4, SPECTER_FP32, 2048);
    CHECK(bench_table_has_profile(run));
    bench_table_profile(run, out);
    fclose(out);
    CHECK_INT(read_text(text), 0);
    CHECK_INT(result.nruns, 2);
    CHECK_INT(result.runs[0].where.ranks, 2);
    CHECK_INT(result.runs[0].nrows, 1);
    CHECK_INT(row_of(0, 0)->bytes, 2 * 4 * 1024);
    CHECK_INT(result.runs[1].where.ranks, 4);
    CHECK_INT(result.runs[1].nrows, 2);
    CHECK_INT(row_of(1, 1)->bytes, 4 * 4 * 2048);
    free(text);
    bench_result_release(&written);
}

/* ---- factors, and what follows from them ---- */

/* By hand, of 1 MB in 100 us, so that algbw is 10 GB/s. */
TEST(bench_rates_are_those_of_nccl_tests)
{
    static const struct {
        enum specter_comm_op op;
        int ranks;
        double busbw;
    } cases[] = {
        {SPECTER_ALLREDUCE, 2, 10},    {SPECTER_ALLREDUCE, 4, 15},
        {SPECTER_ALLREDUCE, 8, 17.5},  {SPECTER_ALLGATHER, 2, 5},
        {SPECTER_ALLGATHER, 8, 8.75},  {SPECTER_REDUCESCATTER, 4, 7.5},
        {SPECTER_ALLTOALL, 16, 9.375}, {SPECTER_GATHER, 4, 7.5},
        {SPECTER_SCATTER, 8, 8.75},    {SPECTER_BROADCAST, 8, 10},
        {SPECTER_REDUCE, 64, 10},      {SPECTER_SEND, 2, 10},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bench_row row = {.op = cases[i].op,
                                .where = {cases[i].ranks, 1, cases[i].ranks},
                                .bytes = 1000000,
                                .time_us = 100};
        bench_row_rates(&row);
        CHECK_DOUBLE(row.algbw_GBps, 10, 1e-12);
        CHECK_DOUBLE(row.busbw_GBps, cases[i].busbw, 1e-12);
    }
}

/* A table without its header: the operation and the ranks by counting, where one pair explains it.
 */
TEST(bench_infer_operation_and_ranks)
{
    static const struct {
        const char *rows;
        enum specter_comm_op op;
        int ranks;
    } cases[] = {
        {"  67108864  16777216  float  sum  -1  300.0  223.70  391.47  0\n", SPECTER_ALLREDUCE, 8},
        {"  67108864  16777216  float  sum  -1  300.0  223.70  419.43  0\n", SPECTER_ALLREDUCE, 16},
        {"  67108864  2097152  float  sum  -1  300.0  223.70  195.74  0\n", SPECTER_REDUCESCATTER,
         8},
        {"  67108864  16777216  float  sum  0  300.0  223.70  223.70  0\n", SPECTER_REDUCE, 0},
        {"  67108864  16777216  float  none  0  300.0  223.70  223.70  0\n", SPECTER_BROADCAST, 0},
        /* AllGather and AlltoAll print the same, AllReduce of 2 and messages, too */
        {"  67108864  2097152  float  none  -1  300.0  223.70  195.74  0\n", SPECTER_COMM_OP_COUNT,
         0},
        {"  67108864  16777216  float  sum  -1  300.0  223.70  223.70  0\n", SPECTER_COMM_OP_COUNT,
         0},
        /* of rates that say little, several numbers of ranks */
        {"  1024  256  float  sum  -1  30.0  0.03  0.06  0\n", SPECTER_COMM_OP_COUNT, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK_INT(read_text(cases[i].rows), 0);
        bench_infer(&result.runs[0], SPECTER_COMM_OP_COUNT);
        CHECK_INT(row_of(0, 0)->op, cases[i].op);
        CHECK_INT(result.runs[0].where.ranks, cases[i].ranks);
    }
}
