/* SPDX-License-Identifier: MIT */
#include "trace_load.h"

#include "trace/reader.h"
#include "trace/match.h"

#define HEAD(rank, nranks)                                                                    \
    "{\"header\":{\"id\":\"0xab\",\"rank\":" rank ",\"n_ranks\":" nranks ",\"nnodes\":1},"    \
    "\"metadata\":{\"inspector_output_format_version\":\"v4.0\",\"git_rev\":\"\",\"rec_mecha" \
    "nism\":\"nccl_profiler_interface\",\"dump_timestamp_us\":1748030377748202,\"hostname\":" \
    "\"n0\",\"pid\":42},"
#define COLL(rank, nranks, coll, sn, bytes, us, more)                                             \
    HEAD(rank, nranks)                                                                            \
    "\"coll_perf\":{\"coll\":\"" coll "\",\"coll_sn\":" sn ",\"coll_msg_size_bytes\":" bytes      \
    ",\"coll_exec_time_us\":" us ",\"coll_timing_source\":\"kernel_gpu\",\"coll_algobw_gbs\":1.5" \
    ",\"coll_busbw_gbs\":1.5" more "}}\n"

static void load_logs(struct run *run, const char *text)
{
    load_text(run, "n0-pid42.log", text);
}

/* The first example is that of the plugin's README: 41057 us, 418.439467 GB/s. */
TEST(inspector_sizes_are_full_buffers)
{
    struct run run;
    load_logs(&run, COLL("4", "8", "ReduceScatter", "1231", "2147483648", "41057", "")
                        COLL("4", "8", "AllReduce", "1", "1000", "5", "")
                            COLL("4", "8", "AllGather", "1", "1000", "5", "")
                                COLL("4", "8", "AlltoAll", "1", "1000", "5", "")
                                    COLL("4", "8", "Broadcast", "1", "1000", "5", "")
                                        COLL("4", "8", "Novel", "1", "1000", "5", ""));
    const struct op *ops = run.ranks[0].ops;
    CHECK_INT(run.ranks[0].nops, 6);
    CHECK_INT(ops[0].bytes, 17179869184);
    CHECK_INT(ops[0].dur_ns, 41057000);
    CHECK_DOUBLE((double)ops[0].bytes / (double)ops[0].dur_ns, 418.439467, 1e-8);
    CHECK_INT(ops[1].bytes, 1000);
    CHECK_INT(ops[2].bytes, 8000);
    CHECK_INT(ops[3].bytes, 8000);
    CHECK_INT(ops[4].bytes, 1000);
    CHECK_INT(ops[5].coll.op, SPECTER_COMM_OP_COUNT);
    CHECK(ops[5].flags & OP_BYTES_UNKNOWN);
    CHECK_INT(ops[0].dtype, SPECTER_DTYPE_UNKNOWN);
    CHECK(ops[0].start_ns == UNKNOWN_NS && ops[0].host_ns == UNKNOWN_NS);
    CHECK(op_timed(&ops[0]));
    CHECK_STR(run.format, "inspector");
    CHECK_INT(run.ranks[0].rank, 4);
    CHECK_INT(run.world_size, 8);
    CHECK_INT(run.ranks[0].pid, 42);
    CHECK_STR(run.ranks[0].host, "n0");
    run_release(&run);
}

/* NCCL counts each function of a communicator apart. */
TEST(inspector_numbers_are_by_function)
{
    const char *folder = make_folder();
    struct matches m;
    struct run run;
    write_text(folder, "a.log",
               COLL("0", "2", "AllReduce", "7", "1000", "30", "")
                   COLL("0", "2", "AllGather", "7", "1000", "5", ""));
    write_text(folder, "b.log",
               COLL("1", "2", "AllGather", "7", "1000", "6", "")
                   COLL("1", "2", "AllReduce", "7", "1000", "20", "")
                       COLL("1", "2", "AllReduce", "9", "1000", "20", ""));
    load_path(&run, folder);
    matches_init(&m, &run);
    CHECK_INT(m.count, 3);
    CHECK_INT(m.incomplete, 1);
    CHECK_INT(m.inconsistent, 0);
    CHECK_INT(m.list[0].op, SPECTER_ALLREDUCE);
    CHECK_INT(m.list[0].transfer_ns, 20000);
    CHECK_INT(m.list[1].op, SPECTER_ALLGATHER);
    CHECK_INT(m.list[1].transfer_ns, 5000);
    CHECK_HAS(note_with(&run, "not logged"), "1 collectives between");
    matches_release(&m);
    run_release(&run);
    remove_folder(folder);
}

#define TIMES                                                                             \
    ",\"coll_algo\":\"RING\",\"coll_proto\":\"unknown\",\"event_trace_ts\":"              \
    "{\"coll_start_ts\":1000,\"coll_stop_ts\":1010,\"kernel_events\":[{\"channel_id\":0," \
    "\"kernel_start_ts\":1030,\"kernel_stop_ts\":1090},{\"channel_id\":1,"                \
    "\"kernel_start_ts\":1020},{\"channel_id\":2,\"kernel_start_ts\":0}]}"

TEST(inspector_verbose_tells_when)
{
    const struct comm_detail *d;
    struct run run;
    load_logs(&run, COLL("0", "2", "AllReduce", "0", "1000", "60", TIMES));
    CHECK_INT(run.ranks[0].ops[0].start_ns, 1020000);
    CHECK_INT(run.ranks[0].ops[0].dur_ns, 60000);
    CHECK_INT(run.ranks[0].ops[0].host_ns, 1000000);
    CHECK_INT(run.ranks[0].ops[0].host_end_ns, 1010000);
    d = rank_detail(&run.ranks[0], 0);
    CHECK(d != NULL);
    if (d != NULL) {
        CHECK_STR(d->algo, "RING");
        CHECK_STR(d->proto, "");
        CHECK_INT(d->channels, 3);
    }
    run_release(&run);
}

TEST(inspector_is_known_by_its_content)
{
    static const char *const others[] = {
        "",
        "{",
        "[1]",
        "{\"header\":1}",
        "{\"header\":{},\"metadata\":{\"dump_timestamp_us\":1}}",
        "{\"coll_perf\":{},\"header\":{}",
        "{\"event\":\"init\",\"version\":1}",
    };
    const char *line = COLL("0", "2", "AllReduce", "0", "1000", "60", "");
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        bool is = reader_inspector.sniff(others[i], strlen(others[i]));
        CHECK(!is);
    }
    CHECK(reader_inspector.sniff(line, strlen(line)));
    CHECK(reader_inspector.sniff(line, strlen(line) - 50)); /* the head of a file ends somewhere */
}

/* Whatever is cut off, what is left is read or refused in one line. */
TEST(inspector_cut_anywhere)
{
    static const char text[] = COLL("0", "2", "AllReduce", "0", "1000", "60", TIMES)
        COLL("1", "2", "AllGather", "0", "1000", "60", "");
    const char *folder = make_folder();
    for (size_t len = 0; len < sizeof text; len += 3) {
        struct run run;
        struct err e = {0};
        write_file(folder, "n0-pid42.log", text, len);
        if (run_load(&run, folder, NULL, &e) < 0) {
            CHECK_INT(e.code, ERR_INPUT);
            CHECK(strchr(e.msg, '\n') == NULL);
        }
        run_release(&run);
    }
    remove_folder(folder);
}

TEST(inspector_long_line)
{
    const char *folder = make_folder();
    struct buf b = BUF_INIT;
    struct run run;
    buf_puts(&b, COLL("0", "2", "AllReduce", "0", "1000", "60", ""));
    for (int i = 0; i < 5 << 20; i++)
        buf_putc(&b, 'x');
    buf_puts(&b, "\n" COLL("0", "2", "AllReduce", "1", "1000", "60", ""));
    write_file(folder, "n0-pid42.log", b.data, b.len);
    load_path(&run, folder);
    CHECK_INT(run.ranks[0].nops, 2);
    CHECK_HAS(note_with(&run, "line 2"), "loss: ");
    CHECK_HAS(note_with(&run, "line 2"), "longer than any line a log has");
    run_release(&run);
    buf_release(&b);
    remove_folder(folder);
}
