/* SPDX-License-Identifier: MIT */
#include "made_jsonl.h"

#include "base/idmap.h"
#include "trace/jsonl.h"
#include "trace/rank_join.h"
#include "trace/reader.h"

#include <sys/stat.h>

/* One trace with one operation. real: seconds after 1.7e9 at which the rank began. */
static void write_trace(const char *folder, const char *name, const char *run, int rank, int world,
                        const char *host, int real)
{
    char text[1024];
    snprintf(
        text, sizeof text,
        "%s{\"id\":0,\"type\":\"nccl\",\"op\":\"AllReduce\",\"start_us\":1.0,\"duration_us\":1.0,"
        "\"comm\":\"w\",\"comm_rank\":%d,\"comm_size\":%d,\"seq\":0,\"timing\":\"device\"}\n"
        "{\"event\":\"shutdown\",\"time_us\":9.0,\"dropped\":0}\n",
        init_line(run, rank, world, host, real * 1000000000LL,
                  (1700000000LL + real) * 1000000000LL),
        rank < 0 ? 0 : rank, world);
    write_text(folder, name, text);
}

static void write_ranks(const char *folder, const char *run, int world, int real)
{
    for (int r = 0; r < world; r++) {
        char name[64];
        snprintf(name, sizeof name, "specter_trace_rank%d.%s.%d.jsonl", r, run, real);
        write_trace(folder, name, run, r, world, "h", real);
    }
}

/* ---- the parts ---- */

TEST(run_communicators)
{
    struct run run;
    run_init(&run);
    CHECK_INT(run_comm(&run, "a", 1, 0), 0);
    CHECK_INT(run.comms[0].size, 0);
    CHECK_INT(run_comm(&run, "b", 1, 4), 1);
    CHECK_INT(run_comm(&run, "a", 1, 2), 0);
    CHECK_INT(run.comms[0].size, 2);
    CHECK_INT(run.comms[0].ranks[1], -1);
    CHECK_INT(run_comm(&run, "a", 1, 8), 0); /* the first size stands */
    CHECK_INT(run.comms[0].size, 2);
    CHECK_INT(run_comm(&run, "c", 1, -1), -1);
    CHECK_INT(run_comm(&run, "c", 1, RUN_RANKS_MAX + 1), -1);
    for (int i = 0; i < 1000; i++) {
        char id[16];
        int len = snprintf(id, sizeof id, "n%d", i);
        CHECK_INT(run_comm(&run, id, (size_t)len, 2), 2 + i);
    }
    CHECK_INT(run_comm(&run, "n77", 3, 2), 79);
    run_release(&run);
}

/* A small file cannot make us allocate without bound. */
TEST(run_communicators_are_bounded)
{
    struct run run;
    int added = 0;
    run_init(&run);
    for (int i = 0; i < 200; i++) {
        char id[16];
        int len = snprintf(id, sizeof id, "n%d", i);
        added += run_comm(&run, id, (size_t)len, RUN_RANKS_MAX) >= 0;
    }
    CHECK_INT(added, 64);
    run_release(&run);
}

TEST(run_times_add_up_or_are_unknown)
{
    CHECK_INT(ns_add(1, 2), 3);
    CHECK_INT(ns_add(UNKNOWN_NS, 2), UNKNOWN_NS);
    CHECK_INT(ns_add(2, UNKNOWN_NS), UNKNOWN_NS);
    CHECK_INT(ns_add(INT64_MAX, 1), UNKNOWN_NS);
    CHECK_INT(ns_add(RUN_TIME_MAX, 0), UNKNOWN_NS);
    CHECK_INT(ns_add(RUN_TIME_MAX - 1, 0), RUN_TIME_MAX - 1);
    CHECK_INT(ns_add(-RUN_TIME_MAX, 0), UNKNOWN_NS);
}

TEST(run_notes_once_and_printable)
{
    struct run run;
    run_init(&run);
    run_note(&run, false, "a %s", "\033[31mred\n");
    run_note(&run, false, "a %s", "\033[31mred\n");
    CHECK_INT(run.nnotes, 1);
    CHECK_STR(run.notes[0].text, "a ?[31mred?");
    CHECK(!run_partial(&run));
    run_note(&run, true, "b");
    CHECK(run_partial(&run));
    run_release(&run);
}

TEST(run_idmap)
{
    struct idmap m = {0};
    CHECK_INT(idmap_find(&m, 5), IDMAP_NONE);
    for (int64_t i = 0; i < 5000; i++)
        CHECK_INT(idmap_add(&m, i * 4096 - 7), i);
    for (int64_t i = 0; i < 5000; i++)
        CHECK_INT(idmap_find(&m, i * 4096 - 7), i);
    CHECK_INT(idmap_add(&m, -7), 0);
    CHECK_INT(idmap_find(&m, 1), IDMAP_NONE);
    idmap_release(&m);
}

TEST(run_memo)
{
    static struct memo m;
    struct run run;
    char text[64];
    run_init(&run);
    memo_init(&m);
    for (int i = 0; i < 3000; i++) {
        struct json_text t = {text, 0, false};
        struct memo_slot *slot;
        t.len = (uint32_t)snprintf(text, sizeof text, "%.*s%d", i % 30,
                                   "kernel_name_of_some_length_here", i % 1000);
        slot = memo_find(&m, &run, t);
        CHECK_STR(slot->text, text);
        CHECK(slot->value == -1 || slot->value == (int)t.len);
        slot->value = (int)t.len;
        CHECK(memo_find(&m, &run, t)->value == (int)t.len);
    }
    struct json_text escaped = {"a\\u001bb", 8, true}, none = {NULL, 0, false};
    CHECK_STR(memo_find(&m, &run, escaped)->text, "a?b");
    CHECK_STR(memo_find(&m, &run, none)->text, "");
    run_release(&run);
}

TEST(run_rank_in_name)
{
    CHECK_INT(rank_in_name("x/rank3.json"), 3);
    CHECK_INT(rank_in_name("t.tar:rank9/worker12_step_3.1694.pt.trace.json"), 12);
    CHECK_INT(rank_in_name("specter_trace_rank_17.jsonl"), 17);
    CHECK_INT(rank_in_name("rank.json"), -1);
    CHECK_INT(rank_in_name("rank99999999.json"), -1);
    CHECK_INT(rank_in_name("rank4294967299.json"), -1); /* 2^32 + 3 */
    CHECK_INT(rank_in_name("rank18446744073709551619.json"), -1);
    CHECK_INT(rank_in_name("trace_Rank_03.json"), 3);
    CHECK_INT(rank_in_name("RANK=4.json"), 4);
    CHECK_INT(rank_in_name("rank-5.json"), 5);
    CHECK_INT(rank_in_name("frank3.json"), -1);
    CHECK_INT(rank_in_name("coworker2.json"), -1);
    CHECK_INT(rank_in_name("node1_local_rank0.json"), -1);
    CHECK_INT(rank_in_name("local_rank0_rank8.json"), 8);
    CHECK_INT(rank_in_name("rank3.worker0.pt.trace.json"), 3);
    CHECK_INT(rank_in_name("worker.1700000000000000000.pt.trace.json"), -1);
    CHECK_INT(rank_in_name("trace.json"), -1);
}

/* ---- loading ---- */

TEST(load_errors_in_one_line)
{
    const char *folder = make_folder();
    CHECK_HAS(load_error("/no/such/path", NULL), "/no/such/path: No such file or directory");
    CHECK_HAS(load_error(folder, NULL), "it is empty");
    write_text(folder, "notes.txt", "hello");
    write_text(folder, ".hidden.jsonl", "hello");
    CHECK_HAS(load_error(folder, NULL), "no traces in '");
    write_text(folder, "config.json", "{\"a\": 1}");
    CHECK_HAS(load_error(folder, NULL), "no traces of a known format in '");
    CHECK_HAS(load_error(folder, NULL), "('config.json')");
    CHECK_HAS(load_error(file_in(folder, "config.json"), NULL),
              "config.json: not a trace of a known format");
    write_text(folder, "specter_trace_rank0.jsonl", "\x01\x02garbage");
    CHECK_HAS(load_error(folder, NULL), "specter_trace_rank0.jsonl: line 1: not a trace");
    CHECK_HAS(load_error(file_in(folder, "specter_trace_rank0.jsonl"), NULL),
              "line 1: not a trace");
    CHECK_HAS(load_error("/dev/null", NULL), "neither a file nor a folder");
    remove_folder(folder);
}

TEST(load_empty_file)
{
    const char *folder = make_folder();
    struct run run;
    write_text(folder, "specter_trace_rank0.jsonl", "");
    CHECK_HAS(load_error(folder, NULL), "specter_trace_rank0.jsonl: empty");
    write_trace(folder, "specter_trace_rank1.jsonl", "r", 1, 2, "h", 1);
    load_path(&run, folder);
    CHECK_HAS(note_with(&run, "empty"), "loss: ");
    CHECK_HAS(note_with(&run, "missing"), "1 of 2 ranks have a trace; missing: rank 0");
    run_release(&run);
    remove_folder(folder);
}

TEST(load_missing_ranks)
{
    const char *folder = make_folder();
    struct run run;
    write_ranks(folder, "r", 8, 1);
    load_path(&run, folder);
    CHECK_STR(all_notes(&run), "");
    CHECK_INT(run.nranks, 8);
    run_release(&run);
    unlink(file_in(folder, "specter_trace_rank3.r.1.jsonl"));
    load_path(&run, folder);
    CHECK_INT(run.nranks, 7);
    CHECK_INT(run.world_size, 8);
    CHECK_STR(all_notes(&run), "loss: 7 of 8 ranks have a trace; missing: rank 3\n");
    CHECK_INT(run.comms[0].ranks[3], -1);
    CHECK_INT(run.comms[0].ranks[4], 4);
    run_release(&run);
    for (int r = 4; r < 7; r++) {
        char name[64];
        snprintf(name, sizeof name, "specter_trace_rank%d.r.1.jsonl", r);
        unlink(file_in(folder, name));
    }
    unlink(file_in(folder, "specter_trace_rank0.r.1.jsonl"));
    load_path(&run, folder);
    CHECK_STR(all_notes(&run), "loss: 3 of 8 ranks have a trace; missing: ranks 0,3-6\n");
    run_release(&run);
    remove_folder(folder);
}

TEST(load_garbage_among_good)
{
    const char *folder = make_folder();
    struct run run;
    write_ranks(folder, "r", 2, 1);
    write_text(folder, "specter_trace_rank2.jsonl", "\x7f\x45LF\x02\x01");
    write_text(folder, "package.json", "{\"name\": 1}");
    write_text(folder, "readme.txt", "hello");
    write_file(folder, "broken.json.gz", "\x1f\x8b\x08\x00junk", 8);
    load_path(&run, folder);
    CHECK_INT(run.nranks, 2);
    CHECK_HAS(
        note_with(&run, "specter_trace_rank2.jsonl: line 1: not a trace; this file is left out"),
        "loss: ");
    CHECK_HAS(note_with(&run, "broken.json.gz: gzip data is cut off"), "loss: ");
    CHECK_STR(note_with(&run, "package.json"),
              "1 file here is no traces of a known format: 'package.json'");
    CHECK_STR(note_with(&run, "readme"), "");
    run_release(&run);
    remove_folder(folder);
}

TEST(load_one_file_under_two_names)
{
    const char *folder = make_folder();
    struct run run;
    char path[4400];
    write_ranks(folder, "r", 1, 1);
    snprintf(path, sizeof path, "%s/specter_trace_rank7.jsonl", folder);
    CHECK_INT(symlink("specter_trace_rank0.r.1.jsonl", path), 0);
    snprintf(path, sizeof path, "%s/zz.jsonl", folder);
    CHECK_INT(link(file_in(folder, "specter_trace_rank0.r.1.jsonl"), path), 0);
    snprintf(path, sizeof path, "%s/dangling.jsonl", folder);
    CHECK_INT(symlink("nowhere", path), 0);
    snprintf(path, sizeof path, "%s/pipe.jsonl", folder);
    CHECK_INT(mkfifo(path, 0600), 0);
    load_path(&run, folder);
    CHECK_STR(all_notes(&run), "1 file here is no traces of a known format: 'pipe.jsonl'\n");
    CHECK_INT(run.nranks, 1);
    CHECK_INT(run.ranks[0].nops, 1);
    run_release(&run);
    remove_folder(folder);
}

TEST(load_newest_of_several_runs)
{
    const char *folder = make_folder();
    struct load_opts opts = {.run_id = "old"};
    struct run run;
    struct err e;
    write_ranks(folder, "zz", 2, 50);
    write_ranks(folder, "new", 4, 60);
    write_ranks(folder, "old", 2, 40);
    load_path(&run, folder);
    CHECK_STR(run.id, "new");
    CHECK_INT(run.nranks, 4);
    CHECK_STR(all_notes(&run), "2 other runs here: 'old' (2 files), 'zz' (2 files); the newest is "
                               "read (--run chooses)\n");
    run_release(&run);
    CHECK_INT(run_load(&run, folder, &opts, &e), 0);
    CHECK_STR(run.id, "old");
    CHECK_INT(run.nranks, 2);
    CHECK_HAS(note_with(&run, "other runs"), "the one asked for is read");
    run_release(&run);
    CHECK_HAS(load_error(folder, "none"), "no run 'none' in '");
    CHECK_HAS(load_error(folder, "none"),
              "there are 'new' (4 files), 'old' (2 files), 'zz' (2 files)");
    remove_folder(folder);
}

/* A launcher that gives every start the same id: a rank that begins again begins a run. */
TEST(load_newest_launch_of_one_id)
{
    const char *folder = make_folder();
    struct run run;
    write_ranks(folder, "none", 3, 10);
    write_ranks(folder, "none", 2, 20);
    load_path(&run, folder);
    CHECK_INT(run.nranks, 2);
    CHECK_INT(run.world_size, 2);
    CHECK_HAS(note_with(&run, "other run"),
              "1 other run here: 'none' (3 files); the newest is read");
    run_release(&run);
    remove_folder(folder);
}

/* A child that has its parent's rank and run begins later, and is no launch of the job. */
TEST(load_child_is_no_launch)
{
    const char *folder = make_folder();
    struct run run;
    for (int r = 0; r < 2; r++) {
        char name[64], text[1024];
        snprintf(name, sizeof name, "specter_trace_rank%d.jsonl", r);
        snprintf(text, sizeof text,
                 "%s{\"event\":\"comm\",\"time_us\":1.0,\"comm\":\"c\",\"comm_rank\":%d,"
                 "\"comm_size\":2,\"device\":0}\n",
                 init_line("r", r, 2, "h", 5, 1000), r);
        write_text(folder, name, text);
    }
    write_text(folder, "specter_trace_rank1.1.jsonl", init_line("r", 1, 2, "h", 9, 1004));
    load_path(&run, folder);
    CHECK_INT(run.nranks, 2);
    CHECK_INT(run.ranks[1].nin, 1);
    CHECK_HAS(note_with(&run, "other run"), "(1 file); the newest with communicators is read");
    run_release(&run);
    remove_folder(folder);
}

TEST(load_file_with_damaged_init)
{
    const char *folder = make_folder();
    struct run run;
    write_ranks(folder, "r", 2, 1);
    write_text(folder, "specter_trace_rank2.jsonl",
               "{\"event\":\"init\",\"version\n"
               "{\"id\":0,\"type\":\"nccl\",\"op\":\"AllReduce\"}\n");
    load_path(&run, folder);
    CHECK_INT(run.nranks, 3);
    CHECK_HAS(note_with(&run, "line 1"), "loss: ");
    run_release(&run);
    write_ranks(folder, "q", 2, 2); /* now it may be of either */
    load_path(&run, folder);
    CHECK_INT(run.nranks, 2);
    CHECK_STR(run.id, "q");
    CHECK_HAS(note_with(&run, "it may be of any run here"), "loss: ");
    run_release(&run);
    remove_folder(folder);
}

TEST(load_two_formats)
{
    const char *folder = make_folder();
    struct run run;
    write_ranks(folder, "r", 1, 1);
    write_text(folder, "rank0.json", "{\"schemaVersion\": 1, \"traceEvents\": []}");
    load_path(&run, folder);
    CHECK_STR(run.format, "specter");
    CHECK_STR(all_notes(&run),
              "1 kineto trace here left aside: 'rank0.json'; the specter traces are "
              "read (--run chooses)\n");
    run_release(&run);
    remove_folder(folder);
}

/* A run of another format is one of those that are named, by its file or its id. */
TEST(load_a_run_of_another_format)
{
    static const char *const names[] = {"rank0.json", "r"}, *const formats[] = {"kineto",
                                                                                "specter"};
    const char *folder = make_folder();
    struct run run;
    struct err e;
    write_ranks(folder, "r", 1, 1);
    write_text(folder, "rank0.json",
               "{\"schemaVersion\":1,\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"kernel\","
               "\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":10,\"dur\":5,\"args\":{\"device\":0,"
               "\"stream\":7,\"correlation\":1}}]}");
    for (int i = 0; i < 2; i++) {
        struct load_opts opts = {.run_id = names[i]};
        CHECK_INT(run_load(&run, folder, &opts, &e), 0);
        CHECK_STR(run.format, formats[i]);
        CHECK_HAS(note_with(&run, "left aside"),
                  i == 0 ? "1 specter trace here left aside: 'r'; the kineto traces are read"
                         : "1 kineto trace here left aside: 'rank0.json'; the specter traces are");
        run_release(&run);
    }
    CHECK_HAS(load_error(folder, "none"), "no run 'none'");
    remove_folder(folder);
}

TEST(load_ranks_without_numbers)
{
    const char *folder = make_folder();
    struct run run;
    for (int i = 0; i < 3; i++) {
        char name[64], text[512];
        snprintf(name, sizeof name, "specter_trace_h_%d.jsonl", 100 - i);
        snprintf(
            text, sizeof text,
            "{\"event\":\"init\",\"version\":1,\"run\":\"r\",\"rank\":null,\"world_size\":null,"
            "\"host\":\"h\",\"mono_ns\":1,\"real_ns\":1}\n"
            "{\"event\":\"comm\",\"comm\":\"pair\",\"comm_rank\":%d,\"comm_size\":2}\n"
            "{\"event\":\"comm\",\"comm\":\"all\",\"comm_rank\":%d,\"comm_size\":3}\n",
            i % 2, i);
        write_text(folder, name, text);
    }
    write_text(folder, "specter_trace_h_7.jsonl",
               "{\"event\":\"init\",\"version\":1,\"run\":\"r\",\"rank\":null}\n");
    load_path(&run, folder);
    CHECK_INT(run.nranks, 4);
    CHECK_INT(run.world_size, 4);
    for (int r = 0; r < 3; r++) {
        char name[64];
        snprintf(name, sizeof name, "specter_trace_h_%d.jsonl", 100 - r);
        CHECK_INT(run.ranks[r].rank, r);
        CHECK_HAS(run.ranks[r].file, name);
        CHECK_INT(run.comms[run_comm(&run, "all", 3, 3)].ranks[r], r);
    }
    CHECK_HAS(run.ranks[3].file, "h_7");
    CHECK_HAS(note_with(&run, "took the number"), "3 traces without a rank");
    CHECK_HAS(note_with(&run, "order of the files"), "1 trace without a rank");
    run_release(&run);
    remove_folder(folder);
}

#define UNDATED                                                                                  \
    "{\"event\":\"init\",\"version\":1,\"run\":\"\",\"rank\":0,\"world_size\":1,\"host\":\"h\"," \
    "\"mono_ns\":1,\"real_ns\":null}\n"

/* No clock tells which launch they are of. */
TEST(load_two_traces_of_one_rank)
{
    const char *folder = make_folder();
    struct run run;
    write_text(folder, "specter_trace_rank0.jsonl",
               UNDATED "{\"id\":0,\"type\":\"nccl\",\"op\":\"AllReduce\",\"start_us\":1.0,"
                       "\"duration_us\":1.0,\"timing\":\"device\"}\n");
    write_text(folder, "specter_trace_rank0.1.jsonl", UNDATED);
    load_path(&run, folder);
    CHECK_INT(run.nranks, 1);
    CHECK_INT(run.ranks[0].nops, 1);
    CHECK_HAS(note_with(&run, "more than one trace of a rank (0 in '"), "loss: ");
    run_release(&run);
    remove_folder(folder);
}

TEST(load_ranks_of_two_hosts)
{
    const char *folder = make_folder();
    struct run run;
    write_trace(folder, "specter_trace_rank0.jsonl", "r", 0, 3, "a", 100);
    write_trace(folder, "specter_trace_rank1.jsonl", "r", 1, 3, "a", 100);
    write_text(
        folder, "specter_trace_rank2.jsonl",
        "{\"event\":\"init\",\"version\":1,\"run\":\"r\",\"rank\":2,\"world_size\":3,"
        "\"host\":\"b\",\"mono_ns\":5,\"real_ns\":1700000100000001005}\n"
        "{\"id\":0,\"type\":\"nccl\",\"op\":\"AllReduce\",\"start_us\":1.0,\"duration_us\":1.0,"
        "\"host_us\":0.5,\"timing\":\"device\"}\n"
        "{\"event\":\"shutdown\",\"time_us\":9.0}\n");
    load_path(&run, folder);
    CHECK_INT(run.ndomains, 2);
    CHECK(!run.clock_aligned);
    CHECK_INT(run.ranks[0].domain, 0);
    CHECK_INT(run.ranks[1].domain, 0);
    CHECK_INT(run.ranks[2].domain, 1);
    CHECK_INT(run.ranks[0].ops[0].start_ns, 100000001000);
    CHECK_INT(run.ranks[2].ops[0].start_ns, 100000002005); /* by wall clock 1.005 us later */
    CHECK_INT(run.ranks[2].ops[0].host_ns, 100000001505);
    CHECK_HAS(note_with(&run, "2 machines"), "wall clocks only");
    CHECK(!run_partial(&run));
    run_release(&run);
    remove_folder(folder);
}

/* One name, two boots: the clocks say so. */
TEST(load_two_machines_of_one_name)
{
    const char *folder = make_folder();
    char text[1024];
    struct run run;
    write_trace(folder, "specter_trace_rank0.jsonl", "r", 0, 2, "localhost", 100);
    snprintf(text, sizeof text,
             "%s{\"id\":0,\"type\":\"nccl\",\"op\":\"AllReduce\",\"start_us\":1.0,"
             "\"duration_us\":1.0,\"host_us\":0.5,\"timing\":\"device\"}\n",
             init_line("r", 1, 2, "localhost", 5, 1700001000000000000));
    write_text(folder, "specter_trace_rank1.jsonl", text);
    load_path(&run, folder);
    CHECK_INT(run.ndomains, 2);
    CHECK(!run.clock_aligned);
    run_release(&run);
    remove_folder(folder);
}

/* A rank without operations has no times to compare: its machine makes no domain. */
TEST(load_silent_rank_of_another_machine)
{
    const char *folder = make_folder();
    struct run run;
    write_text(folder, "specter_trace_rank0.jsonl",
               init_line("r", 0, 3, "a", 5, 1700001000000000000));
    write_trace(folder, "specter_trace_rank1.jsonl", "r", 1, 3, "b", 100);
    write_trace(folder, "specter_trace_rank2.jsonl", "r", 2, 3, "b", 100);
    load_path(&run, folder);
    CHECK_INT(run.nranks, 3);
    CHECK_INT((int)run_recorded_ranks(&run), 2);
    CHECK_INT(run.ndomains, 1);
    CHECK_STR(run.domains[0].host, "b");
    CHECK(run.clock_aligned);
    run_release(&run);
    remove_folder(folder);
}

TEST(load_archive)
{
    const char *folder = make_folder();
    struct buf tar = BUF_INIT, packed = BUF_INIT;
    struct run run;
    put_tar(
        &tar, "t/specter_trace_rank1.jsonl", '0',
        "{\"event\":\"init\",\"version\":1,\"run\":\"r\",\"rank\":1,\"world_size\":2,\"mono_ns\":1,"
        "\"real_ns\":1}\n{\"event\":\"shutdown\"}\n");
    put_tar(&tar, "t/readme", '0', "hello");
    put_tar(&tar, "t/.hidden.jsonl", '0', "hello");
    put_tar(
        &tar, "t/specter_trace_rank0.jsonl", '0',
        "{\"event\":\"init\",\"version\":1,\"run\":\"r\",\"rank\":0,\"world_size\":2,\"mono_ns\":1,"
        "\"real_ns\":1}\n{\"event\":\"shutdown\"}\n");
    put_tar_end(&tar);
    put_gzip(&packed, tar.data, tar.len);
    write_file(folder, "run.tar.gz", packed.data, packed.len);
    load_path(&run, file_in(folder, "run.tar.gz"));
    CHECK_STR(all_notes(&run), "");
    CHECK_INT(run.nranks, 2);
    CHECK_HAS(run.ranks[0].file, "run.tar.gz:t/specter_trace_rank0.jsonl");
    run_release(&run);
    load_path(&run, folder); /* it is all that the folder holds */
    CHECK_INT(run.nranks, 2);
    run_release(&run);
    write_trace(folder, "specter_trace_rank5.jsonl", "other", 5, 6, "h", 100);
    load_path(&run, folder);
    CHECK_INT(run.nranks, 1);
    CHECK_HAS(note_with(&run, "an archive beside traces is not looked into"), "run.tar.gz");
    run_release(&run);
    write_file(folder, "cut.tar", tar.data, tar.len - 1024 - 300);
    load_path(&run, file_in(folder, "cut.tar"));
    CHECK_INT(run.nranks, 2);
    CHECK_INT(run.nnotes, 1); /* said once, though found twice */
    CHECK_HAS(note_with(&run, "the archive is cut off"), "loss: ");
    run_release(&run);
    remove_folder(folder);
    buf_release(&tar);
    buf_release(&packed);
}

TEST(load_1024_ranks)
{
    const char *folder = make_folder();
    struct run run;
    write_ranks(folder, "r", 1024, 1);
    load_path(&run, folder);
    CHECK_STR(all_notes(&run), "");
    CHECK_INT(run.nranks, 1024);
    CHECK_INT(run.ranks[1023].rank, 1023);
    CHECK_INT(run.comms[0].ranks[1000], 1000);
    run_release(&run);
    remove_folder(folder);
}

/* Each file of tests/data/damaged gives its error, or loads with its note. */
TEST(load_damaged_fixtures)
{
    static const struct {
        const char *name, *message;
        size_t ops; /* 0: an error */
    } cases[] = {
        {"torn_last_line.jsonl", "cut off in the last line", 2},
        {"two_bad_lines.jsonl",
         "loss: *line 5: expected ',' or '}' at byte 55; 2 lines of this file are unusable", 5},
        {"garbage.jsonl", "garbage.jsonl: line 1: not a trace", 0},
        {"empty.jsonl", "empty.jsonl: empty", 0},
        {"cut.json", "loss: *the text ends too early; what stands before it is used", 5},
        {"bad_event.json", "loss: *expected a key; 1 event of this file is unusable", 11},
        {"cut.jsonl.gz", "loss: *gzip data is cut off at byte 700; what stands before it is used",
         2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *path = file_in(test_data("damaged"), cases[i].name);
        const char *star = strchr(cases[i].message, '*');
        struct run run;
        if (cases[i].ops == 0) {
            CHECK_HAS(load_error(path, NULL), cases[i].message);
            continue;
        }
        load_path(&run, path);
        CHECK_INT(run.nranks, 1);
        CHECK_INT(run.nranks > 0 ? run.ranks[0].nops : 0, cases[i].ops);
        CHECK_HAS(note_with(&run, star != NULL ? star + 1 : cases[i].message),
                  star != NULL ? "loss: " : cases[i].message);
        run_release(&run);
    }
}

/* ---- files of one process ---- */

TEST(run_appended_rank_keeps_all)
{
    struct rank *into, *from;
    struct run run;
    run_init(&run);
    run_add_rank(&run);
    run_add_rank(&run);
    into = &run.ranks[0];
    from = &run.ranks[1];
    rank_add_member(into, run_comm(&run, "a", 1, 2), 1, 3);
    rank_add_member(from, run_comm(&run, "b", 1, 2), 0, 3);
    rank_add_member(from, run_comm(&run, "a", 1, 2), 1, 3);
    rank_add_setting(into, "NCCL_DEBUG", "INFO");
    rank_add_setting(from, "NCCL_DEBUG", "WARN");
    rank_add_setting(from, "NCCL", "2.28.9");
    from->gemm_sample = 16;
    from->undated = true;
    rank_append(into, from);
    CHECK_INT(into->nin, 2);
    CHECK_INT(into->nsettings, 2);
    CHECK_STR(into->settings[0].value, "INFO");
    CHECK_STR(into->settings[1].value, "2.28.9");
    CHECK_INT(into->gemm_sample, 16);
    CHECK(into->undated);
    CHECK_INT(from->nsettings + from->nin, 0);
    run_release(&run);
}

/* ---- many hosts ---- */

/* Each host is a clock of its own; `make bench-summaries` has what that takes. */
TEST(run_finish_numbers_hosts)
{
    const int hosts = 3000;
    struct run run;
    run_init(&run);
    for (int i = 0; i < 2 * hosts; i++) {
        struct rank *rank = run_add_rank(&run);
        rank->rank = -1;
        rank->mono_ns = rank->real_ns = 0;
        rank->host = arena_printf(&run.arena, "worker-%05d.cluster", i / 2);
    }
    run_finish(&run);
    CHECK_INT(run.ndomains, hosts);
    for (int i = 0; i < 2 * hosts; i++) {
        CHECK_INT(run.ranks[i].rank, i);
        CHECK_INT(run.ranks[i].domain, i / 2);
    }
    run_release(&run);
}
