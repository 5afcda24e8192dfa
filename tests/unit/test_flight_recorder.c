/* SPDX-License-Identifier: MIT */
#include "trace_load.h"

#include "trace/flight.h"

#include <sys/stat.h>

#define ENTRY(id, seq, p2p, is_p2p, name, in, in_types, out, out_types, state, more)             \
    "{\"collective_seq_id\":" seq ",\"input_dtypes\":" in_types ",\"input_sizes\":" in           \
    ",\"is_p2p\":" is_p2p ",\"output_dtypes\":" out_types ",\"output_sizes\":" out               \
    ",\"p2p_seq_id\":" p2p ",\"process_group\":[\"0\",\"default_pg\"],\"profiling_name\":\"nccl" \
    ":" name "\",\"record_id\":" id ",\"state\":\"" state "\",\"time_created_ns\":1748030000000" \
    "000000,\"time_discovered_completed_ns\":0,\"time_discovered_started_ns\":0" more "}"
#define CALL(id, name, in, type, out) \
    ENTRY(id, id, "0", "false", name, in, "[\"" type "\"]", out, "[\"" type "\"]", "completed", "")
#define DUMP(entries)                                                                    \
    "{\"entries\":[" entries "],\"pg_config\":{\"0\":{\"desc\":\"default_pg\",\"name\":" \
    "\"0\",\"ranks\":\"[0, 1, 2, 3]\"}},\"version\":\"2.10\"}"

static void check_size(const struct op *op, enum specter_comm_op what, uint64_t bytes,
                       uint64_t count, enum specter_dtype type)
{
    CHECK_INT(op->coll.op, what);
    CHECK_INT(op->bytes, bytes);
    CHECK_INT(op->coll.count, count);
    CHECK_INT(op->dtype, type);
    CHECK(!(op->flags & OP_BYTES_UNKNOWN));
}

TEST(flight_sizes_are_full_buffers)
{
    struct run run;
    load_text(
        &run, "nccl_trace_rank_1",
        DUMP(CALL("0", "all_reduce", "[[32,32]]", "Float", "[[32,32]]") "," CALL("1", "_allgather_base", "[[256]]", "BFloat16", "[[1024]]") "," CALL(
            "2",
            "_reduce_"
            "scatter_"
            "base",
            "[[1024]]", "Half",
            "[[256]]") "," CALL("3", "gather", "[[256]]", "Float",
                                "[]") "," CALL("4", "scatter", "[]", "Float",
                                               "[[256]]") "," CALL("5", "all_to_all", "[[1000]]",
                                                                   "Byte",
                                                                   "[[900]]") "," CALL("6",
                                                                                       "all_reduce_"
                                                                                       "barrier",
                                                                                       "[[]]",
                                                                                       "Float",
                                                                                       "[[]]") "," CALL("7",
                                                                                                        "all_reduce",
                                                                                                        "[[8]]",
                                                                                                        "Complex",
                                                                                                        "[[8]]")));
    const struct op *ops = run.ranks[0].ops;
    CHECK_INT(run.ranks[0].rank, 1);
    CHECK_INT(run.world_size, 4);
    CHECK_INT(run.ranks[0].nops, 8);
    check_size(&ops[0], SPECTER_ALLREDUCE, 4096, 1024, SPECTER_FP32);
    check_size(&ops[1], SPECTER_ALLGATHER, 2048, 256, SPECTER_BF16);
    check_size(&ops[2], SPECTER_REDUCESCATTER, 2048, 256, SPECTER_FP16);
    check_size(&ops[3], SPECTER_GATHER, 4096, 256, SPECTER_FP32);
    check_size(&ops[4], SPECTER_SCATTER, 4096, 256, SPECTER_FP32);
    check_size(&ops[5], SPECTER_ALLTOALLV, 1000, 1000, SPECTER_UINT8);
    check_size(&ops[6], SPECTER_ALLREDUCE, 4, 1, SPECTER_FP32);
    CHECK(ops[7].flags & OP_BYTES_UNKNOWN);
    CHECK_INT(ops[7].bytes, 0);
    CHECK_INT(ops[0].timing, SPECTER_TIMING_UNKNOWN); /* complete, and no duration */
    CHECK(ops[0].dur_ns == UNKNOWN_NS && ops[0].start_ns == UNKNOWN_NS);
    CHECK_INT(ops[0].host_ns, 1748030000000000000);
    run_release(&run);
}

#define FLOAT "[\"Float\"]"
#define PART(id, p2p, name) \
    ENTRY(id, "3", p2p, "true", name, "[[16]]", FLOAT, "[[16]]", FLOAT, "scheduled", "")

/* The parts of a batch stay "scheduled": what ends it knows better. */
TEST(flight_batch_of_messages)
{
    struct run run;
    load_text(&run, "rank2.json",
              DUMP(PART("0", "1", "send 2->3") "," PART("1", "1", "recv 2<-1") "," ENTRY(
                  "2", "3", "1", "true", "coalesced", "[]", "[]", "[]", "[]", "completed",
                  ",\"duration_ms\":0.25") "," PART("3", "2", "send 2->3")));
    const struct op *ops = run.ranks[0].ops;
    CHECK_INT(run.ranks[0].nops, 3);
    CHECK_INT(ops[0].coll.op, SPECTER_SEND);
    CHECK_INT(ops[0].coll.peer, 3);
    CHECK_INT(ops[1].coll.op, SPECTER_RECV);
    CHECK_INT(ops[1].coll.peer, 1);
    CHECK_INT(ops[0].bytes, 64);
    CHECK_STR(ops[0].name, "send");
    CHECK_INT(ops[0].timing, SPECTER_TIMING_DEVICE);
    CHECK_INT(ops[0].dur_ns, 250000);
    CHECK(ops[0].coll.group >= 0 && ops[0].coll.group == ops[1].coll.group);
    CHECK_INT(ops[0].coll.p2p_seq, 0);
    CHECK_INT(ops[1].coll.p2p_seq, 0);
    CHECK_INT(ops[2].coll.p2p_seq, 1); /* the second to rank 3 */
    CHECK_INT(ops[2].timing, SPECTER_TIMING_NONE);
    CHECK_INT(ops[2].coll.group, -1);
    run_release(&run);
}

#define GATHER(id)                                                                                \
    ENTRY(id, "3", "0", "false", "_allgather_base", "[[4]]", FLOAT, "[[16]]", FLOAT, "scheduled", \
          "")

/* Collectives that were called together have one number: they are one operation. */
TEST(flight_coalesced_collectives)
{
    struct run run;
    load_text(&run, "rank2.json",
              DUMP(GATHER("7") "," GATHER("8") "," ENTRY("9", "3", "0", "false", "coalesced", "[]",
                                                         "[]", "[]", "[]", "started", "")));
    const struct op *op = &run.ranks[0].ops[0];
    CHECK_INT(run.ranks[0].nops, 1);
    check_size(op, SPECTER_ALLGATHER, 128, 8, SPECTER_FP32);
    CHECK_INT(op->coll.seq, 3);
    CHECK_INT(op->timing, SPECTER_TIMING_NONE);
    CHECK_STR(op->name, "_allgather_base");
    run_release(&run);
}

TEST(flight_messages_of_a_full_ring)
{
    struct run run;
    load_text(&run, "rank2.json", DUMP(PART("7", "9", "send 2->3")));
    CHECK_INT(run.ranks[0].ops[0].coll.p2p_seq, -1);
    CHECK_INT(run.ranks[0].ops[0].coll.peer, 3);
    CHECK_HAS(note_with(&run, "the first messages"), "is not known");
    run_release(&run);
}

/* Both halves of a split have one name. */
TEST(flight_groups_of_one_name)
{
    const char *folder = make_folder();
    struct run run;
    write_text(folder, "rank_0",
               "{\"pg_config\":{\"5\":{\"name\":\"5\",\"desc\":\"tp\",\"ranks\":[0,1]}},"
               "\"entries\":[]}");
    write_text(folder, "rank_2",
               "{\"version\":\"2.4\",\"pg_config\":{\"5\":{\"name\":\"5\",\"desc\":\"tp\","
               "\"ranks\":\"[2, 3]\"}},\"rank\":\"2\"}");
    write_text(folder, "rank_3",
               "{\"version\":\"2.4\",\"pg_config\":{\"5\":{\"name\":\"5\",\"desc\":\"undefined\","
               "\"ranks\":\"[2, 3]\"}},\"rank\":3}");
    load_path(&run, folder);
    CHECK_INT(run.ncomms, 2);
    CHECK_INT(run.nranks, 3);
    CHECK_STR(run.comms[0].id, "5");
    CHECK_STR(run.comms[1].id, "5:2");
    CHECK_STR(run.comms[1].name, "tp");
    CHECK_INT(run.comms[1].ranks[1], 3);
    CHECK_INT(run.ranks[2].in[0].comm, 1);
    CHECK_INT(run.ranks[2].in[0].rank, 1);
    CHECK(run.ranks[2].quiet);
    run_release(&run);
    remove_folder(folder);
}

/* A dump of one call at that moment, of a world of `world`. */
static void put_dump(const char *folder, const char *name, int world, long long at_ns)
{
    struct buf b = BUF_INIT;
    buf_puts(&b, "{\"version\":\"2.4\",\"pg_config\":{\"0\":{\"name\":\"0\",\"ranks\":\"[");
    for (int r = 0; r < world; r++)
        buf_printf(&b, "%s%d", r > 0 ? ", " : "", r);
    buf_printf(&b,
               "]\"}},\"entries\":[{\"record_id\":1,\"process_group\":[\"0\",\"d\"],"
               "\"collective_seq_id\":1,\"profiling_name\":\"nccl:all_reduce\","
               "\"time_created_ns\":%lld,\"input_sizes\":[[4]],\"input_dtypes\":[\"Float\"],"
               "\"output_sizes\":[[4]],\"output_dtypes\":[\"Float\"],\"state\":\"scheduled\"}]}",
               at_ns);
    write_text(folder, name, b.data);
    buf_release(&b);
}

/* Two jobs in folders beside each other, of one a dump is missing: the newer is read, by its calls.
 * In one folder as well, by their names; a rank that has called nothing for long is still of its
 * job. */
TEST(flight_dumps_of_two_jobs)
{
    static const long long old_ns = 1700000000000000000,
                           new_ns = 1700000000000000000 + 86400000000000;
    static const char *const layouts[] = {"a/_dump_", "b/_dump_", "c_", "d_"};
    const char *folder;
    struct run run;
    for (int layout = 0; layout < 4; layout += 2) {
        folder = make_folder();
        CHECK_INT(mkdir(file_in(folder, "a"), 0700) + mkdir(file_in(folder, "b"), 0700), 0);
        for (int r = 0; r < 4; r++) {
            char name[32];
            snprintf(name, sizeof name, "%s%d", layouts[layout], r);
            put_dump(folder, name, 4, old_ns + r * 1000);
            snprintf(name, sizeof name, "%s%d", layouts[layout + 1], r);
            if (r != 2)
                put_dump(folder, name, 4, new_ns + r * 1000);
        }
        load_path(&run, folder);
        CHECK_INT(run.nranks, 3);
        CHECK_INT(run.world_size, 4);
        CHECK_INT(run.ranks[2].rank, 3);
        CHECK_INT(run.ranks[2].ops[0].host_ns, new_ns + 3000);
        CHECK_HAS(note_with(&run, "other run"),
                  layout == 0 ? "1 other run here: 'a' (4 files, 2023-11-14 22:13:20, the same "
                                "ranks again); 'b', the newest, is read"
                              : "1 other run here: 'c_0' (4 files, 2023-11-14 22:13:20, the same "
                                "ranks again); 'd_0', the newest, is read");
        CHECK_STR(note_with(&run, "more than one trace"), "");
        run_release(&run);
        remove_folder(folder);
    }
    folder = make_folder();
    put_dump(folder, "_dump_0", 2, old_ns);
    put_dump(folder, "_dump_1", 2, old_ns + 7200000000000);
    load_path(&run, folder);
    CHECK_INT(run.nranks, 2);
    CHECK_STR(note_with(&run, "other run"), "");
    run_release(&run);
    remove_folder(folder);
}

TEST(flight_rank_in_the_name)
{
    struct run run;
    load_text(&run, "my_dump_12", DUMP(CALL("0", "all_reduce", "[[1]]", "Float", "[[1]]")));
    CHECK_INT(run.ranks[0].rank, 12);
    run_release(&run);
    load_text(&run, "dump.json", DUMP(CALL("0", "all_reduce", "[[1]]", "Float", "[[1]]")));
    CHECK_HAS(note_with(&run, "which rank"), "dump.json");
    run_release(&run);
}

/* Damage is told with its place, in one line. */
TEST(flight_damage)
{
    static const char *const texts[] = {
        "{\"pg_config\":7}",
        "{\"pg_config\":{\"0\":{\"ranks\":\"[0,\"}},\"entries\":[{\"record_id\":\"x\"}]}",
        "{\"pg_config\":{},\"entries\":[[[[[[[[",
        "{\"pg_config\":{},\"entries\":[{\"profiling_name\":3}]}",
    };
    static const char pickle[] = "\x80\x02}q\0(X\x09\0\0\0pg_configq\1cos\nsystem\n)Ru.";
    const char *folder = make_folder();
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        write_text(folder, "rank_0", texts[i]);
        CHECK_HAS(load_error(folder, NULL), "rank_0: byte ");
    }
    write_file(folder, "rank_0", pickle, sizeof pickle - 1);
    CHECK_HAS(load_error(folder, NULL),
              "rank_0: byte 22: opcode GLOBAL: a pickle may hold data only");
    remove_folder(folder);
}

/* pg_status has numbers for groups without entries, by the order in which groups were made. */
TEST(flight_status_of_groups)
{
    struct run run;
    load_text(&run, "dump_0",
              "{\"pg_config\":{\"12\":{\"name\":\"12\",\"desc\":\"ep\",\"ranks\":\"[0, 1]\"},"
              "\"3\":{\"name\":\"3\",\"desc\":\"tp\",\"ranks\":\"[0, 2]\"}},"
              "\"pg_status\":{\"7\":{\"last_enqueued_collective\":41},"
              "\"5\":{\"last_enqueued_collective\":\"9\"}},"
              "\"entries\":[{\"record_id\":70,\"pg_id\":5,\"process_group\":[\"3\",\"tp\"],"
              "\"collective_seq_id\":9,\"profiling_name\":\"nccl:all_reduce\",\"state\":"
              "\"scheduled\",\"time_created_ns\":1748030000000000000,\"timeout_ms\":600000}]}");
    CHECK_INT(run.ranks[0].nin, 2);
    for (size_t i = 0; i < run.ranks[0].nin; i++) {
        const struct membership *in = &run.ranks[0].in[i];
        bool ep = strcmp(run.comms[in->comm].name, "ep") == 0;
        CHECK_INT(in->called, ep ? 41 : -1); /* entries tell of the other one */
        CHECK_INT(in->timeout_ns, ep ? UNKNOWN_NS : INT64_C(600000000000));
    }
    run_release(&run);
}

TEST(flight_cut_anywhere)
{
    static const char text[] = DUMP(PART("0", "1", "send 2->3") "," GATHER("1") "," CALL(
        "2", "all_reduce", "[[1]]", "Float", "[[1]]"));
    const char *folder = make_folder();
    for (size_t len = 0; len < sizeof text; len += 3) {
        struct run run;
        struct err e = {0};
        write_file(folder, "rank_0", text, len);
        if (run_load(&run, folder, NULL, &e) < 0) {
            CHECK_INT(e.code, ERR_INPUT);
            CHECK(strchr(e.msg, '\n') == NULL);
        }
        run_release(&run);
    }
    remove_folder(folder);
}
