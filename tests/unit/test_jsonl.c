/* SPDX-License-Identifier: MIT */
#include "made_jsonl.h"

#include "trace/jsonl.h"
#include "trace/match.h"

#define OP(id, start)                                                                          \
    "{\"id\":" id ",\"type\":\"nccl\",\"op\":\"AllReduce\",\"start_us\":" start ","            \
    "\"duration_us\":5.000,\"bytes\":64,\"count\":16,\"dtype\":\"fp32\",\"redop\":\"sum\","    \
    "\"comm\":\"c\",\"comm_rank\":0,\"comm_size\":1,\"seq\":" id ",\"device\":0,\"stream\":7," \
    "\"tid\":2,\"group\":null,\"host_us\":1.000,\"host_end_us\":2.000,\"timing\":\"device\"}\n"

static const struct op *op_of(const struct run *run, size_t i)
{
    static const struct op none;
    return run->nranks > 0 && i < run->ranks[0].nops ? &run->ranks[0].ops[i] : &none;
}

/* ---- lines ---- */

TEST(jsonl_line_in_the_writers_order)
{
    static const char text[] = OP("3", "1.5");
    struct line l = LINE_INIT;
    CHECK(line_parse(&l, text, sizeof text - 2, 0));
    CHECK_INT(l.record, SPECTER_REC_NCCL);
    CHECK_INT(line_u64(&l, NCCL_id, 0), 3);
    CHECK_INT(line_i64(&l, NCCL_start_us, 0), 1500);
    CHECK(json_text_is(line_text(&l, NCCL_timing), "device"));
    CHECK(!line_has(&l, NCCL_group));
    CHECK(!line_has(&l, NCCL_peer));
    CHECK_INT(line_i64(&l, NCCL_peer, -4), -4);
    CHECK(line_parse(&l, text, sizeof text - 2, 0)); /* now by the last line's record */
    CHECK_INT(line_u64(&l, NCCL_bytes, 0), 64);
}

TEST(jsonl_line_in_any_order)
{
    static const char text[] = " { \"tid\" : 4 , \"unknown\":{\"id\":[9]}, "
                               "\"seq\":-1,\"id\":7,\"m\":5,\"dtype\":\"bf16\", "
                               "\"type\":\"nccl\", \"op\":\"Send\",\"start_us\":1e3 } ";
    struct line l = LINE_INIT;
    for (int again = 0; again < 2; again++) {
        CHECK(line_parse(&l, text, sizeof text - 1, 0));
        CHECK_INT(l.record, SPECTER_REC_NCCL);
        CHECK_INT(line_u64(&l, NCCL_tid, 0), 4);
        CHECK_INT(line_u64(&l, NCCL_id, 0), 7);
        CHECK_INT(line_i64(&l, NCCL_seq, 0), -1);
        CHECK_INT(line_i64(&l, NCCL_start_us, 0), 1000000);
        CHECK(json_text_is(line_text(&l, NCCL_dtype), "bf16"));
    }
}

TEST(jsonl_line_kinds)
{
    static const struct {
        const char *text;
        int record;
    } cases[] = {
        {"{\"event\":\"init\"}", SPECTER_REC_INIT},
        {"{\"event\":\"comm\"}", SPECTER_REC_COMM},
        {"{\"type\":\"cublas\"}", SPECTER_REC_CUBLAS},
        {"{\"type\":\"dep\"}", SPECTER_REC_DEP},
        {"{\"type\":\"sync\"}", SPECTER_REC_SYNC},
        {"{\"event\":\"clock\"}", SPECTER_REC_CLOCK},
        {"{\"event\":\"mark\"}", SPECTER_REC_MARK},
        {"{\"event\":\"dump\"}", SPECTER_REC_DUMP},
        {"{\"event\":\"shutdown\"}", SPECTER_REC_SHUTDOWN},
        {"{\"type\":\"graph\"}", SPECTER_REC_GRAPH},
        {"{\"type\":\"nvshmem\"}", SPECTER_REC_COUNT},
        {"{\"type\":\"init\"}", SPECTER_REC_COUNT},
        {"{\"id\":1,\"op\":\"AllReduce\"}", SPECTER_REC_NCCL},
        {"{\"id\":1,\"op\":\"GemmEx\",\"m\":1}", SPECTER_REC_CUBLAS},
        {"{}", SPECTER_REC_COUNT},
    };
    struct line l = LINE_INIT;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK(line_parse(&l, cases[i].text, strlen(cases[i].text), 0));
        CHECK_INT(l.record, cases[i].record);
    }
}

/* Text after a line in its block may be read, but is never taken for a part of the line. */
TEST(jsonl_line_with_text_behind)
{
    static const char text[] = OP("3", "1.5");
    struct line l = LINE_INIT, alone = LINE_INIT;
    char block[sizeof text + LINE_ROOM];
    for (size_t n = 0; n < sizeof text - 2; n++) {
        memset(block, '}', sizeof block);
        memcpy(block, text, sizeof text - 1);
        block[n] = '\n';
        CHECK(!line_parse(&l, block, n, LINE_ROOM));
        CHECK(!line_parse(&alone, block, n, 0));
        CHECK(l.cut && alone.cut);
        CHECK_INT(l.offset, alone.offset);
    }
    memcpy(block, text, sizeof text - 1);
    CHECK(line_parse(&l, block, sizeof text - 2, LINE_ROOM));
    CHECK_INT(line_i64(&l, NCCL_start_us, 0), 1500);
    CHECK(json_text_is(line_text(&l, NCCL_timing), "device"));
}

TEST(jsonl_line_cut_and_flipped)
{
    static const char text[] = OP("3", "1.5");
    struct line l = LINE_INIT;
    for (size_t n = 0; n < sizeof text - 2; n++) {
        CHECK(!line_parse(&l, text, n, 0));
        CHECK(l.cut);
    }
    for (size_t at = 0; at < sizeof text - 2; at++) {
        for (int bit = 0; bit < 8; bit++) {
            char flipped[sizeof text];
            memcpy(flipped, text, sizeof text);
            flipped[at] = (char)(flipped[at] ^ 1 << bit);
            line_parse(&l, flipped, sizeof text - 2, 0);
            CHECK(l.offset <= sizeof text - 2);
        }
    }
}

/* ---- a run ---- */

TEST(jsonl_two_ranks)
{
    struct run run;
    struct matches m;
    load_path(&run, test_data("two_ranks"));
    CHECK_STR(all_notes(&run), "");
    CHECK_STR(run.format, "specter");
    CHECK_STR(run.id, "job-7");
    CHECK_INT(run.world_size, 2);
    CHECK_INT(run.nranks, 2);
    CHECK_INT(run.ndomains, 1);
    CHECK(run.clock_aligned);
    CHECK_INT(run.ncomms, 1);
    CHECK_STR(run.comms[0].name, "world");
    CHECK_INT(run.comms[0].ranks[1], 1);
    CHECK_INT(run.comms[0].nodes, 1);
    for (int r = 0; r < 2 && run.nranks == 2; r++) {
        const struct rank *rank = &run.ranks[r];
        CHECK_INT(rank->rank, r);
        CHECK_INT(rank->pid, 100 + r);
        CHECK_STR(rank->host, "node-a");
        CHECK_STR(rank->gpu, "NVIDIA H100 80GB HBM3");
        CHECK_INT(rank->coverage, COVER_NCCL | COVER_GEMM | COVER_DEPS);
        CHECK(rank->complete);
        CHECK_INT(rank->nops, 5);
        CHECK_INT(rank->nthreads, 2);
    }
    matches_init(&m, &run);
    CHECK_INT(m.count, 4);
    CHECK_INT(m.incomplete + m.inconsistent + m.unnumbered, 0);
    CHECK_INT(m.list[0].transfer_ns, 35250);
    matches_release(&m);
    run_release(&run);
}

/* Rank 1's device clock is 100 us ahead and 0.1 % fast; on the host's both ranks started together
 * (apart by the microsecond between their inits), as the fixture was made. */
TEST(jsonl_clock_mapping)
{
    struct run run;
    load_path(&run, test_data("two_ranks"));
    CHECK_INT(run.ranks[0].ops[0].start_ns, 5000000000 + 100000);
    CHECK_INT(run.ranks[1].ops[0].start_ns, 5000000000 + 101000);
    CHECK_INT(run.ranks[0].ops[1].start_ns, 5000000000 + 160000);
    CHECK_INT(run.ranks[1].ops[1].start_ns, 5000000000 + 166000);
    CHECK_INT(run.ranks[1].ops[1].dur_ns, 35250);
    CHECK_INT(run.ranks[1].ops[0].host_ns, 5000001000 + 80000);
    CHECK_INT(run.ranks[0].ops[0].host_end_ns, 5000000000 + 85000);
    run_release(&run);
}

#define GEMM(id, shape)                                                                         \
    "{\"id\":" id ",\"type\":\"cublas\",\"op\":\"GemmGroupedBatchedEx\",\"start_us\":" id       \
    "0.0,\"duration_us\":5.0," shape ",\"dtype\":\"fp16\",\"device\":0,\"stream\":7,\"tid\":2," \
    "\"host_us\":1.0,\"host_end_us\":2.0,\"timing\":\"device\"}\n"

/* A product whose shape does not say what it takes is device work like any other. */
TEST(jsonl_products_of_other_kinds)
{
    static const enum op_class want[] = {OP_GEMM, OP_KERNEL, OP_KERNEL, OP_KERNEL, OP_GEMM};
    struct run run;
    load_rank(&run,
              INIT GEMM("1", "\"m\":4,\"n\":5,\"k\":6,\"batch\":3,\"groups\":2,\"flop\":720")
                  GEMM("2", "\"m\":null,\"n\":null,\"k\":null,\"batch\":3,\"groups\":2,\"flop\":9")
                      GEMM("3", "\"m\":4,\"n\":5,\"k\":6,\"batch\":3,\"flop\":2880")
                          GEMM("4", "\"m\":8589934592,\"n\":5,\"k\":6,\"batch\":1")
                              GEMM("5", "\"m\":4,\"n\":5,\"k\":6,\"batch\":1") END);
    CHECK_INT(run.nranks, 1);
    CHECK_INT(run.ranks[0].nops, 5);
    for (size_t i = 0; i < sizeof want / sizeof *want; i++)
        CHECK_INT(op_of(&run, i)->class, want[i]);
    CHECK_INT(op_of(&run, 0)->gemm.batch, 3);
    CHECK_STR(op_of(&run, 1)->name, "GemmGroupedBatchedEx");
    CHECK_INT(op_of(&run, 3)->dur_ns, 5000);
    run_release(&run);
}

TEST(jsonl_operations)
{
    struct run run;
    const struct op *op;
    load_path(&run, test_data("two_ranks"));
    op = op_of(&run, 0);
    CHECK_INT(op->class, OP_GEMM);
    CHECK_STR(op->name, "GemmEx");
    CHECK_INT(op->gemm.m, 1024);
    CHECK_INT(op->gemm.n, 512);
    CHECK_INT(op->gemm.k, 256);
    CHECK_INT(op->gemm.batch, 1);
    CHECK_STR(op->gemm.trans, "NT");
    CHECK_INT(op->gemm.compute, SPECTER_FP32);
    CHECK_INT(op->dtype, SPECTER_FP16);
    CHECK_INT(op->timing, SPECTER_TIMING_DEVICE);
    op = op_of(&run, 1);
    CHECK_INT(op->class, OP_COLL);
    CHECK_INT(op->coll.redop, SPECTER_REDOP_SUM);
    CHECK_INT(op->coll.seq, 0);
    CHECK_INT(op->coll.p2p_seq, -1);
    CHECK_INT(op->coll.group, -1);
    CHECK_INT(op->coll.peer, -1);
    CHECK_INT(op->stream, 7);
    op = op_of(&run, 2);
    CHECK_INT(op->class, OP_P2P);
    CHECK_INT(op->coll.peer, 1);
    CHECK_INT(op->coll.p2p_seq, 0);
    CHECK_INT(op->coll.group, 0);
    CHECK_INT(op->coll.seq, -1);
    op = op_of(&run, 4); /* written twice: pending, then done */
    CHECK_INT(op->coll.op, SPECTER_ALLGATHER);
    CHECK_INT(op->dur_ns, 30000);
    CHECK_INT(op->flags, OP_INPLACE);
    run_release(&run);
}

TEST(jsonl_acts_and_steps)
{
    struct run run;
    const struct rank *rank;
    load_path(&run, test_data("two_ranks"));
    rank = &run.ranks[0];
    CHECK_INT(rank->nsync_calls, 3);
    CHECK_INT(rank->sync_calls[0].kind, SYNC_CALL_RECORD);
    CHECK_INT(rank->sync_calls[0].event, 3);
    CHECK_INT(rank->sync_calls[0].stream, 1);
    CHECK_INT(rank->sync_calls[1].kind, SYNC_CALL_WAIT);
    CHECK_INT(rank->sync_calls[1].stream, 7);
    CHECK_INT(rank->sync_calls[2].kind, SYNC_CALL_STREAM);
    CHECK_INT(rank->sync_calls[2].event, -1);
    CHECK_INT(rank->sync_calls[2].host_end_ns, 5000000000 + 295000);
    CHECK_INT(rank->nsteps, 2);
    CHECK_STR(rank->steps[0].name, "step 0");
    CHECK_INT(rank->steps[0].end_ns, 5000000000 + 300000);
    CHECK_INT(rank->steps[1].end_ns, 5000000000 + 1000000);
    run_release(&run);
}

TEST(jsonl_clock_edges)
{
    struct run run;
    /* before the first pair, between, after the last; another device has none of its own */
    load_rank(
        &run,
        INIT OP("0", "50.0") OP("1", "150.0")
            OP("2",
               "900.0") "{\"event\":\"clock\",\"device\":0,\"dev_us\":100.0,\"mono_ns\":2000000}\n"
                        "{\"event\":\"clock\",\"device\":0,\"dev_us\":100.0,\"mono_ns\":7000000}\n"
                        "{\"event\":\"clock\",\"device\":0,\"dev_us\":200.0,\"mono_ns\":2200000}\n"
                        "{\"event\":\"clock\",\"device\":1,\"dev_us\":0.0,\"mono_ns\":1}\n" END);
    CHECK_INT(op_of(&run, 0)->start_ns, 1950000);
    CHECK_INT(op_of(&run, 1)->start_ns, 2100000);
    CHECK_INT(op_of(&run, 2)->start_ns, 2900000);
    run_release(&run);
    load_rank(&run, INIT OP("0", "50.0") END); /* none at all: it starts with the trace */
    CHECK_INT(op_of(&run, 0)->start_ns, 1050000);
    run_release(&run);
}

TEST(jsonl_null_is_unknown)
{
    struct run run;
    load_rank(&run, INIT "{\"id\":null,\"type\":\"nccl\",\"op\":\"AllReduce\",\"start_us\":null,"
                         "\"duration_us\":null,\"bytes\":null,\"count\":null,\"dtype\":null,"
                         "\"redop\":null,\"comm\":null,\"comm_rank\":null,\"comm_size\":null,"
                         "\"seq\":null,\"device\":null,\"stream\":null,\"tid\":null,\"group\":null,"
                         "\"host_us\":null,\"host_end_us\":null,\"timing\":null}\n" END);
    const struct op *op = op_of(&run, 0);
    CHECK_STR(all_notes(&run), "");
    CHECK_INT(op->start_ns, UNKNOWN_NS);
    CHECK_INT(op->dur_ns, UNKNOWN_NS);
    CHECK_INT(op->host_ns, UNKNOWN_NS);
    CHECK_INT(op->flags, OP_BYTES_UNKNOWN);
    CHECK_INT(op->coll.comm, -1);
    CHECK_INT(op->coll.seq, -1);
    CHECK_INT(op->stream, -1);
    CHECK_INT(op->dtype, SPECTER_DTYPE_UNKNOWN);
    CHECK_INT(op->timing, SPECTER_TIMING_UNKNOWN);
    run_release(&run);
}

TEST(jsonl_pending_operations_are_said)
{
    struct run run;
    load_rank(&run, INIT "{\"id\":0,\"type\":\"nccl\",\"op\":\"AllReduce\",\"duration_us\":3.0,"
                         "\"timing\":\"none\"}\n");
    CHECK_INT(op_of(&run, 0)->dur_ns, UNKNOWN_NS);
    CHECK_HAS(note_with(&run, "not finished"), "operations that had not finished");
    CHECK_STR(note_with(&run, "no shutdown"),
              "no shutdown record (the program was killed or still runs): rank 0");
    CHECK(!run_partial(&run));
    run_release(&run);
}

TEST(jsonl_newer_writers)
{
    struct run run;
    load_rank(&run, "{\"event\":\"init\",\"version\":2,\"run\":\"r\",\"rank\":0,\"world_size\":1,"
                    "\"mono_ns\":1,\"real_ns\":1,\"new\":{\"a\":[1]}}\n"
                    "{\"event\":\"beat\",\"of\":[1,2]}\n{\"event\":\"beat\",\"duration_us\":null}\n"
                    "{\"type\":\"fan\"}\n" OP("0", "1.0") END);
    CHECK_HAS(note_with(&run, "newer specter"), "format 2");
    CHECK_HAS(note_with(&run, "not know"),
              ": records of kinds this version does not know: 2 beat, 1 fan");
    CHECK_INT(run.ranks[0].nops, 1);
    CHECK(!run_partial(&run));
    run_release(&run);
}

TEST(jsonl_unread_device_work_is_a_loss)
{
    struct run run;
    load_rank(
        &run,
        INIT OP("0", "1.0") "{\"start_us\":1.5,\"type\":\"nvshmem\"}\n{\"event\":\"beat\"}\n" END);
    CHECK_HAS(note_with(&run, "device work"), "loss: ");
    CHECK_HAS(note_with(&run, "device work"), "does not read: 1 nvshmem");
    CHECK_HAS(note_with(&run, "not know"), ": 1 beat");
    CHECK(run_partial(&run));
    run_release(&run);
    load_rank(&run,
              INIT "{\"type\":\"a\",\"duration_us\":1}\n{\"type\":\"b\",\"duration_us\":1}\n"
                   "{\"type\":\"c\",\"duration_us\":1}\n{\"type\":\"d\",\"duration_us\":1}\n"
                   "{\"type\":\"e\",\"duration_us\":1}\n{\"type\":\"f\",\"duration_us\":1}\n"
                   "{\"type\":\"g\",\"duration_us\":1}\n{\"type\":\"h\",\"duration_us\":1}\n"
                   "{\"type\":\"i\",\"duration_us\":1}\n{\"type\":\"j\",\"duration_us\":1}\n" END);
    CHECK_HAS(note_with(&run, "device work"), "1 g, 1 h, 2 of other kinds");
    run_release(&run);
}

TEST(jsonl_dropped_is_a_loss)
{
    struct run run;
    load_rank(&run,
              INIT OP("0", "1.0") "{\"event\":\"shutdown\",\"time_us\":9.0,\"dropped\":17}\n");
    CHECK_STR(note_with(&run, "dropped"), "loss: the recorder dropped 17 operations: rank 0");
    CHECK_INT(run.ranks[0].dropped, 17);
    run_release(&run);
}

/* ---- the original tool ---- */

TEST(jsonl_original_tool)
{
    struct run run;
    struct matches m;
    load_path(&run, test_data("original_tool"));
    CHECK_HAS(note_with(&run, "original Python tool"), "without --sync");
    CHECK_HAS(note_with(&run, "no common clock"), "not compared");
    CHECK(!run_partial(&run));
    CHECK(!run.clock_aligned);
    CHECK_INT(run.ndomains, 2);
    CHECK_INT(run.ranks[0].nops, 4);
    CHECK_INT(run.ranks[0].coverage, COVER_NCCL | COVER_GEMM);
    CHECK_INT(op_of(&run, 0)->timing, SPECTER_TIMING_HOST);
    CHECK_INT(op_of(&run, 0)->dur_ns, 8100);
    CHECK_INT(op_of(&run, 0)->host_end_ns, 8100);
    CHECK_INT(op_of(&run, 1)->class, OP_GEMM);
    CHECK_STR(op_of(&run, 1)->gemm.trans, "NT");
    CHECK_INT(op_of(&run, 1)->dtype, SPECTER_FP16);
    CHECK_INT(op_of(&run, 2)->bytes, 400); /* AllGather: the full buffer, not this rank's part */
    CHECK_INT(op_of(&run, 2)->coll.group, op_of(&run, 3)->coll.group);
    CHECK_INT(op_of(&run, 0)->coll.group, -1);
    CHECK_INT(op_of(&run, 3)->coll.peer, 1); /* its root */
    CHECK_INT(op_of(&run, 3)->bytes, 40);    /* of a type it did not know */
    matches_init(&m, &run);
    CHECK_INT(m.count, 3);
    CHECK_INT(m.incomplete, 0);
    CHECK_INT(m.list[0].transfer_ns, UNKNOWN_NS);
    matches_release(&m);
    run_release(&run);
}

/* Its README shows lines with the bytes alone. */
TEST(jsonl_original_tool_without_counts)
{
    const char *folder = make_folder();
    struct run run;
    write_text(folder, "specter_trace_rank0.jsonl",
               "{\"event\":\"init\",\"rank\":0,\"world_size\":8,\"sync_mode\":0,\"pid\":1}\n"
               "{\"id\":0,\"type\":\"nccl\",\"op\":\"AllReduce\",\"start_us\":1,\"duration_us\":5,"
               "\"bytes\":4096,\"dtype\":\"fp16\",\"comm_rank\":0,\"comm_size\":8}\n"
               "{\"id\":1,\"type\":\"nccl\",\"op\":\"AllGather\",\"start_us\":9,\"duration_us\":5,"
               "\"bytes\":4096,\"dtype\":\"fp16\",\"comm_rank\":0,\"comm_size\":8}\n"
               "{\"id\":2,\"type\":\"nccl\",\"op\":\"AllReduce\",\"start_us\":20,\"duration_us\":5,"
               "\"bytes\":100,\"dtype\":\"of another tool\",\"comm_rank\":0,\"comm_size\":8}\n");
    load_path(&run, folder);
    CHECK_INT(run.ranks[0].nops, 3);
    CHECK_INT(run.ranks[0].ops[0].bytes, 4096);
    CHECK_INT(run.ranks[0].ops[0].coll.count, 2048);
    CHECK_INT(run.ranks[0].ops[1].bytes, 8 * 4096); /* each rank's part */
    CHECK_INT(run.ranks[0].ops[2].bytes, 100);
    CHECK(!(run.ranks[0].ops[0].flags & OP_BYTES_UNKNOWN));
    run_release(&run);
    remove_folder(folder);
}

TEST(jsonl_original_tool_two_files_a_rank)
{
    const char *folder = make_folder();
    struct run run;
    write_text(folder, "specter_nccl_rank0.jsonl",
               "{\"event\":\"init\",\"rank\":0,\"world_size\":1,\"sync_mode\":1,\"pid\":1}\n"
               "{\"id\":0,\"op\":\"AllReduce\",\"start_us\":0.0,\"duration_us\":8.0,\"count\":4,"
               "\"bytes\":16,\"dtype\":\"fp32\",\"comm_rank\":0,\"comm_size\":1,\"in_group\":0}\n");
    write_text(
        folder, "specter_cublas_rank0.jsonl",
        "{\"event\":\"init\",\"rank\":0,\"sync_mode\":1,\"pid\":1}\n"
        "{\"id\":0,\"op\":\"Sgemm\",\"start_us\":0.0,\"duration_us\":8.0,\"m\":4,\"n\":5,\"k\":6,"
        "\"batch\":1,\"dtype_a\":\"fp32\",\"trans_a\":\"N\",\"trans_b\":\"N\"}\n");
    load_path(&run, folder);
    CHECK_INT(run.nranks, 1);
    CHECK_INT(run.ranks[0].nops, 2);
    CHECK_INT(run.ranks[0].coverage, COVER_NCCL | COVER_GEMM);
    CHECK_INT(op_of(&run, 0)->timing, SPECTER_TIMING_SYNC);
    CHECK_STR(note_with(&run, "more than one trace"), "");
    run_release(&run);
    remove_folder(folder);
}

/* ---- damage ---- */

TEST(jsonl_torn_last_line)
{
    static const char torn[] = INIT OP("0", "1.0") OP("1", "2.0");
    struct run run;
    const char *folder = make_folder();
    for (size_t cut = sizeof OP("1", "2.0") - 2; cut > 8; cut -= 7) {
        write_file(folder, "specter_trace_rank0.jsonl", torn, sizeof torn - cut);
        load_path(&run, folder);
        CHECK_INT(run.ranks[0].nops, 1);
        CHECK(run.ranks[0].torn);
        CHECK(!run.ranks[0].complete);
        CHECK_HAS(note_with(&run, "cut off in the last line"), ": rank 0");
        CHECK(!run_partial(&run));
        run_release(&run);
    }
    write_file(folder, "specter_trace_rank0.jsonl", torn, sizeof torn - 2); /* only the newline */
    load_path(&run, folder);
    CHECK_INT(run.ranks[0].nops, 2);
    CHECK(!run.ranks[0].torn);
    run_release(&run);
    remove_folder(folder);
}

TEST(jsonl_bad_lines_are_counted)
{
    struct run run;
    load_rank(&run, INIT OP("0", "1.0") "{\"id\":1,\"type\":\"nccl\",\"op\" \"AllReduce\"}\n"
                                        "not json\n"
                                        "{}\n"
                                        "[1]\n"
                                        "{\"id\":9,\"type\":\"nccl\"}\n"
                                        "\r\n\n" OP("2", "2.0") END);
    CHECK_INT(run.ranks[0].nops, 2);
    CHECK_INT(run.ranks[0].bad_lines, 5);
    CHECK_HAS(note_with(&run, "line 3"), "loss: ");
    CHECK_HAS(
        note_with(&run, "line 3"),
        "specter_trace_rank0.jsonl: line 3: expected ':' at byte 28; 5 lines of this file are "
        "unusable");
    CHECK(run.ranks[0].complete);
    run_release(&run);
}

TEST(jsonl_impossible_values)
{
    static const char *const lines[] = {
        "{\"type\":\"nccl\",\"op\":\"AllReduce\",\"duration_us\":-1}\n",
        "{\"type\":\"nccl\",\"op\":\"AllReduce\",\"duration_us\":99999999999999}\n",
        "{\"type\":\"nccl\",\"op\":\"AllReduce\",\"start_us\":5000000000000000}\n",
        "{\"type\":\"nccl\",\"op\":\"AllReduce\",\"bytes\":99999999999999999999999}\n",
        "{\"type\":\"nccl\",\"op\":\"AllReduce\",\"stream\":4294967296}\n",
        "{\"type\":\"nccl\",\"op\":\"AllReduce\",\"comm\":\"x\",\"comm_size\":2147483648}\n",
        "{\"type\":\"nccl\",\"op\":\"AllReduce\",\"comm\":\"x\",\"comm_size\":-1}\n",
        "{\"type\":\"nccl\",\"op\":\"AllReduce\",\"comm\":\"x\",\"comm_size\":2,\"comm_rank\":2}\n",
        "{\"event\":\"comm\",\"comm\":\"y\",\"comm_rank\":0,\"comm_size\":99999999}\n",
        "{\"event\":\"comm\",\"comm\":\"y\",\"comm_rank\":5,\"comm_size\":4}\n",
        "{\"event\":\"comm\",\"comm\":null,\"comm_rank\":0,\"comm_size\":4}\n",
        "{\"type\":\"cublas\",\"op\":\"GemmEx\",\"m\":99999999999999999999999}\n",
        "{\"type\":\"dep\",\"kind\":\"other\"}\n",
        "{\"type\":\"sync\",\"kind\":null}\n",
        "{\"event\":\"mark\",\"name\":\"x\",\"time_us\":null}\n",
        "{\"event\":\"init\",\"rank\":99999999}\n",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char text[2048];
        struct run run;
        snprintf(text, sizeof text, "%s%s%s%s", INIT, lines[i], OP("7", "2.0"), END);
        load_rank(&run, text);
        CHECK_INT(run.ranks[0].bad_lines, 1);
        CHECK_INT(run.ranks[0].nops, 1);
        CHECK_HAS(note_with(&run, "line 2"), "loss: ");
        run_release(&run);
    }
}

TEST(jsonl_long_line)
{
    struct buf text = BUF_INIT;
    struct run run;
    buf_puts(&text, INIT OP("0", "1.0"));
    buf_puts(&text, "{\"event\":\"mark\",\"name\":\"");
    for (int i = 0; i < 3000000; i++)
        buf_putc(&text, 'x');
    buf_puts(&text, "\",\"time_us\":1.0}\n" OP("1", "2.0") END);
    load_rank(&run, text.data);
    CHECK_INT(run.ranks[0].nops, 2);
    CHECK_INT(run.ranks[0].bad_lines, 1);
    CHECK_HAS(note_with(&run, "line 3"), "longer than any line");
    run_release(&run);
    buf_release(&text);
}

TEST(jsonl_control_bytes_do_not_reach_notes_or_names)
{
    struct run run;
    load_rank(&run, INIT "{\"type\":\"nccl\",\"op\":\"All\\u001b[2JReduce\\u009b\"}\n"
                         "{\"type\":\"ki\\u001b]0;nd\"}\n" END);
    CHECK_STR(op_of(&run, 0)->name, "All?[2JReduce??");
    CHECK_HAS(note_with(&run, "does not know"), ": 1 ki?]0;nd");
    run_release(&run);
}

TEST(jsonl_without_init)
{
    struct run run;
    const char *folder = make_folder();
    write_text(folder, "specter_trace_rank5.jsonl", "garbage" INIT OP("0", "1.0") END);
    load_path(&run, folder);
    CHECK_INT(run.ranks[0].rank, 5);
    CHECK_INT(run.ranks[0].ops[0].start_ns, 1000);
    CHECK_HAS(note_with(&run, "no init record"), "rank, host and clock are unknown");
    CHECK(run_partial(&run));
    run_release(&run);
    remove_folder(folder);
}

TEST(jsonl_cut_gzip)
{
    const char *folder = make_folder();
    struct buf text = BUF_INIT, packed = BUF_INIT;
    struct run run;
    buf_puts(&text, INIT);
    for (int i = 0; i < 500; i++) {
        char id[16];
        snprintf(id, sizeof id, "%d", i);
        buf_printf(&text, "{\"id\":%s,\"type\":\"nccl\",\"op\":\"AllReduce\",\"start_us\":%d.25}\n",
                   id, i * 7919 % 1000);
    }
    put_gzip(&packed, text.data, text.len);
    write_file(folder, "specter_trace_rank0.jsonl.gz", packed.data, packed.len * 2 / 3);
    load_path(&run, folder);
    CHECK(run.ranks[0].nops > 100 && run.ranks[0].nops < 500);
    CHECK_HAS(note_with(&run, "gzip data is cut off at byte "), "loss: ");
    run_release(&run);
    remove_folder(folder);
    buf_release(&text);
    buf_release(&packed);
}

/* Every byte of a good run cut or flipped: it loads or says why not, and nothing else. */
TEST(jsonl_damaged_everywhere)
{
    static const char text[] = INIT OP("0", "1.0") END;
    const char *folder = make_folder();
    struct run run;
    for (size_t n = 0; n < sizeof text - 1; n += 5) {
        struct err e;
        write_file(folder, "specter_trace_rank0.jsonl", text, n);
        if (run_load(&run, folder, NULL, &e) < 0)
            CHECK_INT(e.code, ERR_INPUT);
        run_release(&run);
    }
    for (size_t at = 0; at < sizeof text - 1; at += 3) {
        char flipped[sizeof text];
        struct err e;
        memcpy(flipped, text, sizeof text);
        flipped[at] ^= 4;
        write_file(folder, "specter_trace_rank0.jsonl", flipped, sizeof text - 1);
        if (run_load(&run, folder, NULL, &e) < 0)
            CHECK_INT(e.code, ERR_INPUT);
        run_release(&run);
    }
    remove_folder(folder);
}
