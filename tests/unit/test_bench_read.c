/* SPDX-License-Identifier: MIT
 *
 * Forms that logs of nccl-tests come in, and what of them is damage. The lines are made after the
 * versions' own prints; hosts and figures are invented.
 */
#include "base/arena.h"
#include "base/err.h"
#include "bench_text.h"
#include "test.h"
#include "trace_files.h"

#include <math.h>
#include <stdlib.h>

#define RANKS_2                                                                     \
    "#  Rank  0 Group  0 Pid   6899 on     node-a device  0 [0000:04:00] Tesla V\n" \
    "#  Rank  1 Group  0 Pid   6900 on     node-b device  0 [0000:05:00] Tesla V\n"

#define HEADER(program)                                                                           \
    "# nccl-tests version 2.17.6 nccl-headers=22501 nccl-library=22703\n"                         \
    "# Collective test starting: " program "\n"                                                   \
    "# nThread 1 nGpus 1 minBytes 8 maxBytes 1024 step: 2(factor) warmup iters: 1 iters: 20 agg " \
    "iters: 1 validation: 1 graph: 0\n#\n# Using devices\n" RANKS_2

#define COLUMNS                                                                                 \
    "#\n#                                                              out-of-place           " \
    "            in-place          \n"                                                          \
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     " \
    "time   algbw   busbw #wrong\n"                                                             \
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            " \
    "(us)  (GB/s)  (GB/s)       \n"

#define ROW                                                                                    \
    "     1048576        262144     float     sum      -1    102.9   10.19   15.29      0    " \
    "101.9   10.29   15.44      0\n"

#define TAIL                          \
    "# Out of bounds values : 0 OK\n" \
    "# Avg bus bandwidth    : 15.365\n#\n"

/* ---- forms ---- */

TEST(bench_read_header_and_both_parts)
{
    const struct bench_run *run;
    CHECK_INT(read_text(HEADER("all_reduce_perf") COLUMNS ROW TAIL), 0);
    CHECK_INT(result.nruns, 1);
    run = &result.runs[0];
    CHECK_STR(run->program, "all_reduce_perf");
    CHECK_STR(run->library, "NCCL 2.27.3");
    CHECK_STR(run->gpu, "Tesla V");
    CHECK_INT(run->where.ranks, 2);
    CHECK_INT(run->where.nodes, 2);
    CHECK_INT(run->where.per_node, 1);
    CHECK_INT(run->nrows, 2);
    CHECK_INT(row_of(0, 0)->op, SPECTER_ALLREDUCE);
    CHECK_INT(row_of(0, 0)->dtype, SPECTER_FP32);
    CHECK_INT(row_of(0, 0)->redop, SPECTER_REDOP_SUM);
    CHECK_INT(row_of(0, 0)->root, -1);
    CHECK_INT(row_of(0, 0)->bytes, 1048576);
    CHECK_INT(row_of(0, 0)->count, 262144);
    CHECK(!row_of(0, 0)->in_place && row_of(0, 1)->in_place);
    CHECK_DOUBLE(row_of(0, 0)->time_us, 102.9, 0);
    CHECK_DOUBLE(row_of(0, 1)->time_us, 101.9, 0);
    CHECK_DOUBLE(row_of(0, 0)->wrong, 0, 0);
    CHECK(!result.damaged && result.nnotes == 0);
}

/* One form a row: how its only or first row must be read. */
static const struct output_form {
    const char *what, *text;
    double out_us, in_us; /* NAN: not measured */
    double wrong;         /* of the first; NAN: not checked */
    size_t nruns, nrows;
} forms[] = {
    {"no header", ROW, 102.9, 101.9, 0, 1, 2},
    {"columns alone", COLUMNS ROW, 102.9, 101.9, 0, 1, 2},
    {"CRLF",
     "#       size         count      type   redop    root     time   algbw   busbw #wrong\r\n"
     "     1048576        262144     float     sum      -1    102.9   10.19   15.29      3\r\n",
     102.9, NAN, 3, 1, 1},
    {"mpirun", "[1,0]<stdout>:" COLUMNS "[1,0]<stdout>:" ROW, 102.9, 101.9, 0, 1, 2},
    {"mpirun without a colon", "[1,0]<stdout>" ROW, 102.9, 101.9, 0, 1, 2},
    {"srun", "0: " ROW, 102.9, 101.9, 0, 1, 2},
    {"a time of day in front", "2026-01-02T03:04:05.678Z stdout F " ROW, 102.9, 101.9, 0, 1, 2},
    {"no # in the headings",
     "       size         count      type   redop    root     time   algbw   busbw #wrong     time "
     "  "
     "algbw   busbw #wrong\n" ROW,
     102.9, 101.9, 0, 1, 2},
    {"not checked",
     "     1048576        262144     float     sum      -1    102.9   10.19   15.29    N/A    "
     "101.9   "
     "10.29   15.44    N/A\n",
     102.9, 101.9, NAN, 1, 2},
    {"in place alone: blanks",
     COLUMNS
     "     1048576        262144     float     sum      -1                                    "
     "101.9   10.29   15.44      0\n",
     NAN, 101.9, 0, 1, 1},
    {"in place alone: headings",
     "#                                                    in-place\n"
     "#       size         count      type   redop    root     time   algbw   busbw #wrong\n"
     "     1048576        262144     float     sum      -1    101.9   10.29   15.44      0\n",
     NAN, 101.9, 0, 1, 1},
    {"2.9: error, no operator in a broadcast",
     "#       size         count    type    root     time   algbw   busbw  error     time   algbw  "
     " "
     "busbw  error\n"
     "     1048576        262144   float       0    102.9   10.19   15.29  2e-07    101.9   10.29  "
     " "
     "15.44    N/A\n",
     102.9, 101.9, NAN, 1, 2},
    {"no root",
     "     1048576        262144     float     sum    102.9   10.19   15.29      0    101.9   "
     "10.29   "
     "15.44      0\n",
     102.9, 101.9, 0, 1, 2},
    {"cputime and a time of day",
     "#       size         count      type   redop    root  cputime   algbw   busbw #wrong  "
     "cputime   "
     "algbw   busbw #wrong           timestamp\n"
     "     1048576        262144     float     sum      -1    102.9   10.19   15.29      0    "
     "101.9   "
     "10.29   15.44      0  2026-01-02 03:04:05\n",
     102.9, 101.9, 0, 1, 2},
    {"a time of day without headings",
     "     1048576        262144     float     sum      -1    102.9   10.19   15.29      0    "
     "101.9   "
     "10.29   15.44      0  2026-01-02 03:04:05\n",
     102.9, 101.9, 0, 1, 2},
    {"2.19: single iterations",
     "#       size         count      type   redop    root     time   algbw   busbw  #wrong    "
     "i_min   "
     " i_max    i_p99    i_cv%     time   algbw   busbw  #wrong    i_min    i_max    i_p99    "
     "i_cv%\n"
     "     1048576        262144     float     sum      -1    102.9   10.19   15.29       0    "
     "99.10   "
     " 120.0    119.0     3.50    101.9   10.29   15.44       0    98.20    119.0    118.0     "
     "3.40\n",
     102.9, 101.9, 0, 1, 2},
    {"RCCL's columns behind",
     "#       size         count      type   redop    root     time   algbw   busbw #wrong     "
     "time   "
     "algbw   busbw #wrong   algo  proto  channels\n"
     "     1048576        262144     float     sum      -1    102.9   10.19   15.29      0    "
     "101.9   "
     "10.29   15.44      0   RING   LL128   32\n",
     102.9, 101.9, 0, 1, 2},
    {"a bitwise comparison",
     "#       size         count      type   redop    root     time   algbw   busbw  #wrong  "
     "#bitdiff     time   algbw   busbw  #wrong  #bitdiff\n"
     "     1048576        262144     float     sum      -1    102.9   10.19   15.29       0        "
     " "
     "0    101.9   10.29   15.44       0         0\n",
     102.9, 101.9, 0, 1, 2},
    {"columns of another program in either part",
     "#       size         count      type   redop    root     time   algbw   busbw  #wrong  algo "
     " proto     time   algbw   busbw  #wrong  algo  proto\n"
     "     1048576        262144     float     sum      -1    102.9   10.19   15.29       0  RING "
     " LL128    101.9   10.29   15.44       0  RING  LL128\n",
     102.9, 101.9, 0, 1, 2},
    {"NCCL_DEBUG between",
     COLUMNS
     "node-a:6899:6899 [0] NCCL INFO Bootstrap : Using eth0:192.168.0.183<0>\n"
     "node-a:6899:6911 [0] NCCL INFO 12 coll channels, 16 nvls channels, 16 p2p channels\n" ROW,
     102.9, 101.9, 0, 1, 2},
    {"two runs",
     HEADER("all_reduce_perf") COLUMNS ROW TAIL HEADER("all_reduce_perf") COLUMNS ROW TAIL, 102.9,
     101.9, 0, 2, 2},
    {"two tables without headers", COLUMNS ROW TAIL COLUMNS ROW TAIL, 102.9, 101.9, 0, 2, 2},
    {"a run that failed before it", HEADER("all_gather_perf") HEADER("all_reduce_perf") COLUMNS ROW,
     102.9, 101.9, 0, 1, 2},
};

TEST(bench_read_forms)
{
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        const struct output_form *f = &forms[i];
        const bool in_only = isnan(f->out_us);
        const struct bench_row *first, *second;
        CHECK_STR_OF(f->what, read_text(f->text) < 0 ? said.msg : "", "");
        first = row_of(0, 0);
        second = row_of(0, 1);
        CHECK_INT_OF(f->what, (int64_t)result.nruns, (int64_t)f->nruns);
        CHECK_INT_OF(f->what, result.nruns > 0 ? (int64_t)result.runs[0].nrows : -1,
                     (int64_t)f->nrows);
        CHECK_INT_OF(f->what, result.damaged, false);
        CHECK_DOUBLE_OF(f->what, first->time_us, in_only ? f->in_us : f->out_us, 0);
        CHECK_INT_OF(f->what, first->in_place, in_only);
        CHECK_INT_OF(f->what, (int64_t)first->bytes, 1048576);
        CHECK_INT_OF(f->what, first->dtype, SPECTER_FP32);
        if (f->nrows == 2) {
            CHECK_DOUBLE_OF(f->what, second->time_us, f->in_us, 0);
            CHECK_INT_OF(f->what, second->in_place, true);
        }
        CHECK_INT_OF(f->what, isnan(first->wrong), isnan(f->wrong));
        if (!isnan(f->wrong))
            CHECK_DOUBLE_OF(f->what, first->wrong, f->wrong, 0);
    }
}

TEST(bench_read_single_iterations)
{
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (strstr(forms[i].text, "i_cv%") == NULL)
            continue;
        CHECK_INT(read_text(forms[i].text), 0);
        CHECK_DOUBLE(row_of(0, 0)->min_us, 99.1, 0);
        CHECK_DOUBLE(row_of(0, 0)->p99_us, 119, 0);
        CHECK_DOUBLE(row_of(0, 0)->cv, 0.035, 1e-12);
        CHECK_DOUBLE(row_of(0, 1)->min_us, 98.2, 0);
    }
}

/* A header of another run's shape: the ranks of one communicator of several count. */
TEST(bench_read_ranks_of_one_communicator)
{
    CHECK_INT(
        read_text("#  Rank  0 Group  0 Pid 1 on n1 device  0 [0000:04:00] GPU A\n"
                  "#  Rank  1 Group  0 Pid 2 on n2 device  0 [0000:04:00] GPU B\n"
                  "#  Rank  0 Group  1 Pid 3 on n1 device  1 [0000:05:00] GPU A\n"
                  "#  Rank  1 Group  1 Pid 4 on n2 device  1 [0000:05:00] GPU A\n" COLUMNS ROW),
        0);
    CHECK_INT(result.runs[0].where.ranks, 2);
    CHECK_INT(result.runs[0].where.nodes, 2);
    CHECK_STR(result.runs[0].gpu, "GPU A");
    CHECK_STR(result.runs[0].other_gpu, "GPU B");
    CHECK_INT(
        read_text(
            "#   Rank  0 Pid  14926 on v100-gpu-1 device  0 [0x00] Tesla V100-PCIE-16GB\n"
            "#   Rank  1 Pid   9210 on v100-gpu-5 device  0 [0x00] Tesla V100-PCIE-16GB\n" COLUMNS
                ROW),
        0);
    CHECK_INT(result.runs[0].where.nodes, 2);
    CHECK_STR(result.runs[0].gpu, "Tesla V100-PCIE-16GB");
}

/* With NCCL_TESTS_SPLIT the ranks beside the groups are those of the whole job. */
TEST(bench_read_ranks_of_a_split_job)
{
    CHECK_INT(
        read_text("#  Rank  0 Group  0 Pid 1 on n1 device  0 [0000:04:00] GPU A\n"
                  "#  Rank  1 Group  1 Pid 2 on n1 device  1 [0000:05:00] GPU A\n"
                  "#  Rank  8 Group  0 Pid 3 on n2 device  0 [0000:04:00] GPU A\n"
                  "#  Rank  9 Group  1 Pid 4 on n2 device  1 [0000:05:00] GPU A\n" COLUMNS ROW),
        0);
    CHECK_INT(row_of(0, 0)->where.ranks, 2);
    CHECK_INT(row_of(0, 0)->where.nodes, 2);
    CHECK_INT(row_of(0, 0)->where.per_node, 1);
    CHECK_INT(result.nnotes, 0);
}

/* A log that was copied with a line twice is one of one job. */
TEST(bench_read_a_rank_line_twice)
{
    CHECK_INT(read_text(RANKS_2 RANKS_2 COLUMNS ROW), 0);
    CHECK_INT(row_of(0, 0)->where.ranks, 2);
    CHECK_INT(row_of(0, 0)->where.nodes, 2);
    CHECK_INT(result.nnotes, 0);
}

/* The first row is cut: its first part stands, with the ranks of the header. */
TEST(bench_read_ranks_of_a_cut_row)
{
    CHECK_INT(read_text("#  Rank  0 Group  0 Pid 1 on n1 device  0 [0000:04:00] GPU A\n"
                        "#  Rank 15 Group  0 Pid 9 on n2 device  7 [0000:da:00] GPU A\n" COLUMNS
                        "     1048576        262144     float     sum      -1    102.9   10.19   "
                        "15.29      0    101.9"),
              0);
    CHECK_INT(row_of(0, 0)->where.ranks, 16);
    CHECK_INT(row_of(0, 0)->where.nodes, 2);
}

/* Lines that are left out, or that nccl-tests cut: 2 KiB of a process. */
TEST(bench_read_ranks_that_are_not_listed)
{
    CHECK_INT(
        read_text("# nThread 1 nGpus 1 minBytes 8 maxBytes 8 step: 2(factor)\n"
                  "#  Rank  0 Group  0 Pid 1 on n1 device  0 [0000:04:00] GPU A\n"
                  "#  ...\n"
                  "#  Rank  7 Group  0 Pid 8 on n1 device  7 [0000:da:00] GPU A\n"
                  "#  Rank 31 Group  0 Pid 9 on n4 device  7 [0000:da:00] GPU A\n" COLUMNS ROW),
        0);
    CHECK_INT(row_of(0, 0)->where.ranks, 32);
    CHECK_INT(row_of(0, 0)->where.nodes, 4);
    CHECK_INT(row_of(0, 0)->where.per_node, 8);
    CHECK_INT(result.nnotes, 1);
    CHECK(strstr(result.notes[0], "lists 3 of 32 ranks") != NULL);
    CHECK_INT(read_text("# nThread 2 nGpus 2 minBytes 8 maxBytes 8 step: 2(factor)\n"
                        "#  Rank  0 Group  0 Pid 1 on n1 device  0 [0000:04:00] GPU A\n"
                        "#  Rank  1 Group  0 Pid 1 on n1 devi...\n" COLUMNS ROW),
              0);
    CHECK_INT(row_of(0, 0)->where.ranks, 4);
    CHECK_INT(result.damaged, false);
}

/* nccl-tests without MPI below mpirun: each process prints everything, line by line between those
 * of others. */
TEST(bench_read_processes_that_are_alone)
{
    CHECK_INT(read_text("# nThread 1 nGpus 2 minBytes 8 maxBytes 8 step: 2(factor)\n"
                        "# nThread 1 nGpus 2 minBytes 8 maxBytes 8 step: 2(factor)\n"
                        "#  Rank  0 Group  0 Pid 1 on n1 device  0 [0000:04:00] GPU A\n"
                        "#  Rank  1 Group  0 Pid 1 on n1 device  1 [0000:05:00] GPU A\n"
                        "#  Rank  0 Group  0 Pid 1 on n2 device  0 [0000:04:00] GPU A\n"
                        "#  Rank  1 Group  0 Pid 1 on n2 device  1 [0000:05:00] GPU A\n" COLUMNS ROW
                            COLUMNS ROW),
              0);
    CHECK_INT(result.nruns, 1);
    CHECK_INT(result.runs[0].nrows, 4);
    CHECK_INT(row_of(0, 3)->where.ranks, 2);
    CHECK_INT(row_of(0, 3)->where.nodes, 1);
    CHECK_INT(result.nnotes, 1);
    CHECK(strstr(result.notes[0], "without MPI") != NULL);
}

/* Of a job whose processes each believe to be alone, or one that failed before it printed a row. */
TEST(bench_read_headers_without_rows)
{
    CHECK_INT(read_text(HEADER("all_gather_perf") HEADER("all_reduce_perf") COLUMNS ROW), 0);
    CHECK_INT(result.nruns, 1);
    CHECK_INT(row_of(0, 0)->op, SPECTER_ALLREDUCE);
    CHECK_INT(row_of(0, 0)->where.ranks, 2);
    CHECK_INT(result.runs[0].nhosts, 2);
    CHECK_INT(
        read_text("# Collective test starting: all_reduce_perf\n"
                  "# nThread 1 nGpus 1 minBytes 8 maxBytes 8 step: 2(factor)\n"
                  "#  Rank  0 Group  0 Pid 1 on n1 device  0 [0000:04:00] GPU A\n"
                  "# nThread 1 nGpus 1 minBytes 8 maxBytes 8 step: 2(factor)\n"
                  "#  Rank  0 Group  0 Pid 2 on n2 device  0 [0000:04:00] GPU A\n" COLUMNS ROW),
        0);
    CHECK_INT(row_of(0, 0)->op, SPECTER_ALLREDUCE);
    CHECK_INT(row_of(0, 0)->where.ranks, 1);
}

TEST(bench_read_libraries)
{
    CHECK_INT(
        read_text(
            "# nThread 1 nGpus 2 minBytes 8 maxBytes 8 step: 2(factor)\n"
            "rccl-tests: Version develop:3f7f785\n"
            "# Using devices\n"
            "#   Rank  0 Pid  1 on n1 device  0 [0000:2f:00.0] AMD Instinct MI100\n" COLUMNS ROW),
        0);
    CHECK_STR(result.runs[0].backend, "rccl");
    CHECK_STR(result.runs[0].gpu, "AMD Instinct MI100");
    CHECK_INT(
        read_text("#  Rank  0 Pid  1 on n1 device  0 [0000:2f:00.0] AMD Instinct MI300X\n"
                  "RCCL version : 2.22.3-HEAD:7d8d67c\nHIP version  : 6.4.43484\n" COLUMNS ROW),
        0);
    CHECK_STR(result.runs[0].backend, "rccl");
    CHECK_STR(result.runs[0].library, "RCCL 2.22.3");
}

TEST(bench_read_settings_that_nccl_tells)
{
    CHECK_INT(read_text("n:1:2 [0] NCCL INFO NCCL_PROTO set by environment to LL,LL128.\n"
                        "n:1:2 [0] NCCL INFO NCCL_PROTO set by environment to Simple.\n"
                        "NCCL version 2.21.5+cuda12.4\n" COLUMNS ROW),
              0);
    CHECK_STR(bench_setting(&result.runs[0], "NCCL_PROTO"), "Simple");
    CHECK_INT(result.runs[0].nsettings, 1);
    CHECK_STR(result.runs[0].library, "NCCL 2.21.5");
    CHECK_INT(
        read_text("+ mpirun -np 2 /opt/nccl-tests/build/reduce_scatter_perf -b 8\n"
                  "# nThread 1 nGpus 1 minBytes 8 maxBytes 1024 step: 2(factor)\n" COLUMNS ROW),
        0);
    CHECK_INT(row_of(0, 0)->op, SPECTER_REDUCESCATTER);
}

/* Lines may begin with the prefixes of launchers, loggers and collectors of logs. */
TEST(bench_read_prefixes)
{
    static const char *const prefixes[] = {
        "[1,0]<stdout>:",
        "0: ",
        "> ",
        "nccl-1  | ",
        "[pod/launcher/mpi] 2024-01-01T00:00:00.000Z stdout F ",
        "Nov 28 23:05:06 node01 nccl[123]: ",
        "2024-05-01 12:00:00,123 - bench.nccl - INFO - ",
        "2024-05-01 12:00:00.123 | INFO     | job:run:12 - rank 0 : ",
    };
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        struct buf text = BUF_INIT;
        for (const char *line = COLUMNS ROW; *line != '\0'; line = strchr(line, '\n') + 1)
            buf_printf(&text, "%s%.*s", prefixes[i], (int)strcspn(line, "\n") + 1, line);
        CHECK_INT_OF(prefixes[i], read_text(text.data), 0);
        CHECK_INT_OF(prefixes[i], (int64_t)result.runs[0].nrows, 2);
        buf_release(&text);
    }
}

/* Of the command that a script printed, whose length is not bounded. */
TEST(bench_read_settings_of_the_command)
{
    struct buf text = BUF_INIT;
    buf_puts(&text, "-x NCCL_P2P_LEVEL=PHB ./all_gather_perf -b 8\n" /* of another run */
                    "COMMAND:\nmpirun -np 2");
    for (int i = 0; i < 100; i++)
        buf_printf(&text, " --mca a%d b", i);
    buf_puts(&text, " -x NCCL_ALGO=Ring -x NCCL_IB_HCA=mlx5_0\\,mlx5_1 \\\n"
                    "  -x NCCL_PROTO=$PROTO -x PATH=/bin -x NCCL_NVLS_ENABLE='0' -x NCCL_DEBUG \\\n"
                    "  /opt/nccl-tests/build/reduce_scatter_perf -b 8\n"
                    "NCCL_BUFFSIZE=1 is not of a command\n"
                    "# nThread 1 nGpus 1 minBytes 8 maxBytes 1024 step: 2(factor)\n" COLUMNS ROW
                    "NCCL_ALGO=Tree ./all_reduce_perf -b 8\n" COLUMNS ROW);
    CHECK_INT(read_text(text.data), 0);
    CHECK_INT(row_of(0, 0)->op, SPECTER_REDUCESCATTER);
    CHECK_INT(result.runs[0].nsettings, 3);
    CHECK_STR(bench_setting(&result.runs[0], "NCCL_ALGO"), "Ring");
    CHECK_STR(bench_setting(&result.runs[0], "NCCL_IB_HCA"), "mlx5_0,mlx5_1");
    CHECK_STR(bench_setting(&result.runs[0], "NCCL_NVLS_ENABLE"), "0");
    CHECK_INT(row_of(1, 0)->op, SPECTER_ALLREDUCE);
    CHECK_INT(result.runs[1].nsettings, 1);
    CHECK_STR(bench_setting(&result.runs[1], "NCCL_ALGO"), "Tree");
    buf_release(&text);
}

/* Values end and are quoted as in a shell; what another text decides is not known. */
TEST(bench_read_settings_of_a_shell)
{
    static const struct {
        const char *command, *name, *value; /* NULL: not known */
    } cases[] = {
        {"export NCCL_ALGO=Ring; ./all_reduce_perf", "NCCL_ALGO", "Ring"},
        {"NCCL_ALGO=Ring;./all_reduce_perf", "NCCL_ALGO", "Ring"},
        {"export NCCL_ALGO=Ring&& ./all_reduce_perf", "NCCL_ALGO", "Ring"},
        {"(NCCL_ALGO=Ring ./all_reduce_perf -b 8)| tee log", "NCCL_ALGO", "Ring"},
        {"./all_reduce_perf -x NCCL_ALGO=Ring|tee log", "NCCL_ALGO", "Ring"},
        {"NCCL_IB_HCA=\"mlx5_0 mlx5_1\" ./all_reduce_perf", "NCCL_IB_HCA", "mlx5_0 mlx5_1"},
        {"NCCL_IB_HCA='a;b'\\ c\"|d\" ./all_reduce_perf", "NCCL_IB_HCA", "a;b c|d"},
        {"NCCL_IB_HCA=\"a\\,b\\\\\" ./all_reduce_perf", "NCCL_IB_HCA", "a\\,b\\"},
        {"NCCL_IB_HCA=\"a NCCL_ALGO=Ring b\" ./all_reduce_perf", "NCCL_ALGO", NULL},
        {"NCCL_IB_HCA=\"mlx5_0 mlx5_1 ./all_reduce_perf", "NCCL_IB_HCA", NULL},
        {"NCCL_IB_HCA=\"mlx5_0 \\\n mlx5_1\" ./all_reduce_perf", "NCCL_IB_HCA", NULL},
        {"NCCL_IB_HCA='mlx5_0 ./all_reduce_perf", "NCCL_IB_HCA", NULL},
        {"NCCL_IB_HCA=\"a $B\" ./all_reduce_perf", "NCCL_IB_HCA", NULL},
        {"NCCL_IB_HCA=`a b` ./all_reduce_perf", "NCCL_IB_HCA", NULL},
        {"bash -c \"cd x && NCCL_ALGO=Ring ./all_reduce_perf -b 8\"", "NCCL_ALGO", "Ring"},
        {"bash -c \"cd x; NCCL_IB_HCA=\\\"a b\\\" ./all_reduce_perf -b 8\"", "NCCL_IB_HCA", NULL},
        {"bash -c './all_reduce_perf -x NCCL_ALGO=Ring'", "NCCL_ALGO", NULL},
        {"NCCL_ALGO=Ring\\\r\n./all_reduce_perf", "NCCL_ALGO", NULL}, /* another command */
        {"./all_reduce_perf NCCL_ALGO=Ring\\\r", "NCCL_ALGO", "Ring"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf text = BUF_INIT;
        const char *value;
        buf_printf(&text, "%s\n" COLUMNS ROW, cases[i].command);
        CHECK_INT_OF(cases[i].command, read_text(text.data), 0);
        CHECK_INT_OF(cases[i].command, row_of(0, 0)->op, SPECTER_ALLREDUCE);
        value = result.nruns > 0 ? bench_setting(&result.runs[0], cases[i].name) : NULL;
        CHECK_STR(value != NULL ? value : "(none)",
                  cases[i].value != NULL ? cases[i].value : "(none)");
        buf_release(&text);
    }
}

TEST(bench_read_ways_that_nccl_tells)
{
    const struct bench_paths *p;
    CHECK_INT(
        read_text(
            "n:1:2 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB "
            "eth0:10.0.0.1<0>\n"
            "n:1:2 [0] NCCL INFO Using network IB\n"
            "n:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM/read\n"
            "n:1:2 [0] NCCL INFO Channel 01/0 : 1[1] -> 2[2] via SHM/direct/direct\n"
            "n:1:2 [0] NCCL INFO Channel 00/0 : 8[0] -> 0[0] [receive] via NET/IB/0/GDRDMA\n"
            "n:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/1\n" COLUMNS ROW),
        0);
    p = &result.runs[0].paths;
    CHECK_INT(p->nics, 2);
    CHECK_STR(p->network, "IB");
    CHECK_INT(p->p2p, 1);
    CHECK_INT(p->host, 1);
    CHECK_INT(p->net, 2);
    CHECK_INT(p->gdr, 1);
}

/* A list of adapters may be long: up to the 512 bytes of a text it is kept whole, whatever a
 * command line gave. */
TEST(bench_read_long_setting_that_nccl_tells)
{
    char list[301] = "", text[1000];
    while (strlen(list) + 10 < sizeof list)
        snprintf(list + strlen(list), sizeof list - strlen(list), "mlx5_%d:1,",
                 (int)strlen(list) % 10);
    list[strlen(list) - 1] = 'x';
    snprintf(text, sizeof text,
             "+ NCCL_IB_HCA=mlx5 all_reduce_perf -b 8\n"
             "# nThread 1 nGpus 1 minBytes 8 maxBytes 1024 step: 2(factor)\n"
             "n:1:2 [0] NCCL INFO NCCL_IB_HCA set by environment to %s.\n" COLUMNS ROW,
             list);
    CHECK_INT(read_text(text), 0);
    CHECK(strlen(list) >= 200);
    CHECK_STR(bench_setting(&result.runs[0], "NCCL_IB_HCA"), list);
    CHECK_INT(result.runs[0].nsettings, 1);
}

/* Nothing that a terminal would obey comes through. */
TEST(bench_read_names_are_safe)
{
    CHECK_INT(
        read_text("#  Rank  0 Group  0 Pid 1 on n\033[1m device  0 [0000:04:00] GPU \033[31mA\n"
                  "n:1:2 [0] NCCL INFO NCCL_X set by environment to \033]0;x\007.\n" COLUMNS ROW),
        0);
    CHECK_STR(result.runs[0].gpu, "GPU ?[31mA");
    CHECK_STR(result.runs[0].hosts[0], "n?[1m");
    CHECK_STR(bench_setting(&result.runs[0], "NCCL_X"), "?]0;x?");
}

/* ---- runs that stop ---- */

#define SIZES(max) \
    "# nThread 1 nGpus 2 minBytes 1048576 maxBytes " max " step: 2(factor) warmup iters: 5\n"

static const char *first_note(void)
{
    return result.nnotes > 0 ? result.notes[0] : "";
}

TEST(bench_read_table_that_stops)
{
    CHECK_INT(read_text(SIZES("8388608") COLUMNS ROW), 0);
    CHECK_HAS(first_note(),
              "the table ends at 1048576 of 8388608 bytes: the log is cut, or the run");
    CHECK(!result.damaged);
    CHECK_INT(read_text(SIZES("8388608") COLUMNS ROW "# Out of bounds values : 0 OK\n"), 0);
    CHECK_STR(first_note(), "");
    CHECK_INT(read_text(SIZES("2097151") COLUMNS ROW), 0);
    CHECK_STR(first_note(), "");
    CHECK_INT(read_text(SIZES("8388608") COLUMNS ROW SIZES("1048576") COLUMNS ROW), 0);
    CHECK_HAS(first_note(), "the table ends at 1048576 of 8388608 bytes");
}

/* `all_gather_perf -b 8 -e 2M -i 512K` on two ranks prints sizes rounded down to 32 bytes. */
TEST(bench_read_table_of_rounded_sizes)
{
    static const char sizes[] =
        "# nThread 1 nGpus 2 minBytes 8 maxBytes %s step: 524288(bytes) warmup iters: 5\n" RANKS_2
            COLUMNS ROW;
    static const struct {
        const char *max;
        size_t notes;
    } cases[] = {{"1048576", 0}, {"1048584", 0}, {"1572863", 0}, {"1572872", 1}, {"2097152", 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf text = BUF_INIT;
        buf_printf(&text, sizes, cases[i].max);
        CHECK_INT_OF(cases[i].max, read_text(text.data), 0);
        CHECK_INT_OF(cases[i].max, (int64_t)result.nnotes, (int64_t)cases[i].notes);
        buf_release(&text);
    }
}

TEST(bench_read_run_that_fails)
{
    static const char failure[] =
        "n1: Test NCCL failure common.cu:392 'unhandled system error (run with NCCL_DEBUG=INFO)'\n"
        " .. n1 pid 5068: Test failure common.cu:590\n"
        "n2: Test NCCL failure common.cu:392 'remote process exited'\n";
    struct buf text = BUF_INIT;
    buf_printf(&text, "%s%s", SIZES("8388608") COLUMNS ROW, failure);
    CHECK_INT(read_text(text.data), 0);
    CHECK_INT(result.nnotes, 1);
    CHECK_HAS(first_note(), "the run failed: 'unhandled system error (run with NCCL_DEBUG=INFO)'");
    CHECK(result.damaged);
    buf_reset(&text);
    buf_printf(&text, "%s%s", SIZES("8388608") COLUMNS, failure);
    CHECK_INT(read_text(text.data), -1);
    CHECK_HAS(said.msg, "no measured row of nccl-tests in it; ");
    CHECK_HAS(said.msg, "the run failed: 'unhandled system error");
    CHECK_INT(read_text(SIZES("8388608") COLUMNS ROW
                        "slurmstepd: error: *** STEP 1.0 ON n1 CANCELLED DUE TO TIME LIMIT ***\n"),
              0);
    CHECK_HAS(first_note(), "the run failed: slurmstepd: error: *** STEP 1.0 ON n1 CANCELLED DUE");
    CHECK_INT(read_text(SIZES("1048576") COLUMNS ROW TAIL
                        "mpirun noticed that process rank 1 with PID 5 on node n1 exited on signal "
                        "11 (Segmentation fault).\n"), /* after all was measured */
              0);
    CHECK_INT(result.nnotes, 0);
    buf_release(&text);
}

/* ---- damage ---- */

static const struct {
    const char *text, *note; /* of a file that stands; the rows that do */
    size_t nrows;
} damaged[] = {
    {COLUMNS ROW "     2097152        524288     float     sum      -1    201.9   10",
     "6: the row is cut", 2},
    {COLUMNS ROW
     "     2097152        524288     float     sum      -1    201.9   10.38   15.57      0",
     "6: the row is cut", 3},
    {COLUMNS ROW "     2097152        524288     float     sum      -1    x    10.38   15.57      "
                 "0    1   1   1   0\n",
     "6: a value is no number", 2},
    {COLUMNS ROW "     2097152        524288     float     sum      -1    0.00   10.38   15.57     "
                 " 0    1   1   1   0\n",
     "6: the time is not above 0", 2},
    {COLUMNS ROW "     2097152        524288     float     sum      -1    -5   10.38   15.57      "
                 "0    1   1   1   0\n",
     "6: the time is not above 0", 2},
    {COLUMNS ROW "     2097152        524288     float     sum      -1    nan   10.38   15.57      "
                 "0    1   1   1   0\n",
     "6: a value", 2},
    {COLUMNS ROW "     2097152        524288     float     sum      -1    9e99   10.38   15.57     "
                 " 0    1   1   1   0\n",
     "6: the time is out of range", 2},
    {COLUMNS ROW "     99999999999999999999999        524288     float     sum      -1    9   "
                 "10.38   15.57      0    1   1   1   0\n",
     "6: the size is out of range", 2},
    {COLUMNS ROW "     2097152        524288     float     sum      9999999999    9   10.38   "
                 "15.57      0    1   1   1   0\n",
     "6: a value is no number", 2},
};

TEST(bench_read_keeps_what_is_whole)
{
    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++) {
        CHECK_INT(read_text(damaged[i].text), 0);
        CHECK(result.damaged);
        CHECK_HAS(result.nnotes > 0 ? result.notes[0] : "", damaged[i].note);
        CHECK_INT(result.nruns > 0 ? result.runs[0].nrows : 0, damaged[i].nrows);
    }
}

TEST(bench_read_rows_of_no_bytes)
{
    CHECK_INT(
        read_text(
            COLUMNS
            "           0             0     float    none      -1     0.10    0.00    0.00    "
            "  0     0.10    0.00    0.00      0\n" ROW),
        0);
    CHECK(!result.damaged);
    CHECK_INT(result.runs[0].nrows, 2);
    CHECK_HAS(result.notes[0], "5: 1 row of 0 bytes");
    CHECK(
        read_text(
            COLUMNS
            "           0             0     float    none      -1     0.10    0.00    0.00      0 "
            "    0.10    0.00    0.00      0\n") < 0);
    CHECK_HAS(said.msg, "log: no measured row of nccl-tests in it");
}

TEST(bench_read_refuses_what_is_no_log)
{
    static const char *const texts[] = {
        "",
        "\n",
        "hello\n",
        "#!/bin/sh\necho 1 2 float\n",
        "{",
        "{}",
        "[]",
        "{\"results\":[]}",
        "\"text\"",
        "{\"schema\":\"specter.bench/1\",\"kind\":\"report\",\"runs\":[]}",
        "Configuration: World Size=0\n",
        "{\"results\":[{\"size\":8,\"out_of_place\":{\"time\":0}}]}",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        CHECK_INT(read_text(texts[i]), -1);
        CHECK_INT(said.code, ERR_INPUT);
        CHECK_HAS(said.msg, "log");
        CHECK(strchr(said.msg, '\n') == NULL);
    }
}
