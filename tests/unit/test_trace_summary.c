/* SPDX-License-Identifier: MIT */
#include "specter/trace.h"
#include "test.h"
#include "trace/trace_summary.h"
#include "trace_files.h"

#define INIT(_run, _host, _real)                                                             \
    "{\"event\":\"init\",\"gpus\":[{\"name\":\"a\"}],\"run\":\"" _run "\",\"host\":\"" _host \
    "\",\"real_ns\":" _real "}\n"
#define DEP "{\"type\":\"dep\",\"kind\":\"record\"}\n"
#define OP "{\"id\":7,\"type\":\"nccl\",\"op\":\"AllReduce\"}\n"
#define END(_ops, _dropped)                                                \
    "{\"event\":\"shutdown\",\"total_ops\":" _ops ",\"dropped\":" _dropped \
    ",\"summary\":{\"x\":[1]}}\n"

static const struct trace_summary_run ours = {"capture-7", "here", 1000, "capture-"};

/* A folder with the given files (name, content, ..., NULL), looked at and removed. */
struct named_text {
    const char *name, *content;
};

static struct trace_summary trace_summary_of(const struct named_text *files, size_t count)
{
    const char *folder = make_folder();
    struct trace_summary g;
    for (size_t i = 0; i < count; i++)
        write_text(folder, files[i].name, files[i].content);
    CHECK_INT(trace_summary_read(&g, folder, &ours, NULL), 0);
    remove_folder(folder);
    return g;
}

#define GLANCE(_files) trace_summary_of(_files, sizeof _files / sizeof *_files)

TEST(trace_summary_adds_up_the_files_of_a_run)
{
    static const struct named_text files[] = {
        {"specter_trace_rank0.jsonl", INIT("capture-7", "here", "1") OP END("10", "1")},
        {"specter_trace_rank1.jsonl", INIT("capture-7", "there", "1") END("20", "0")},
        {"specter_trace_rank2.jsonl",
         INIT("capture-6", "here", "2000") END("40", "0")}, /* another */
        {"specter_trace_rank3.jsonl.tmp", INIT("capture-7", "here", "1") END("80", "0")},
        {"notes.jsonl", INIT("capture-7", "here", "1") END("80", "0")},
    };
    struct trace_summary g = GLANCE(files);
    CHECK_INT(g.files, 2);
    CHECK_INT(g.ops, 30);
    CHECK_INT(g.dropped, 1);
    CHECK_INT(g.open, 0);
    trace_summary_release(&g);
}

/* A launcher has named the run: by host and time then. */
TEST(trace_summary_knows_a_run_that_a_launcher_named)
{
    static const struct named_text files[] = {
        {"specter_trace_rank0.jsonl", INIT("slurm-12.0", "here", "1000") END("1", "0")},
        {"specter_trace_rank1.jsonl", INIT("slurm-12.0", "there", "1000") END("2", "0")},
        {"specter_trace_rank2.jsonl", INIT("slurm-11.0", "here", "999") END("4", "0")},
    };
    struct trace_summary g = GLANCE(files);
    CHECK_INT(g.files, 1);
    CHECK_INT(g.ops, 1);
    trace_summary_release(&g);
}

TEST(trace_summary_names_files_without_an_end)
{
    static const struct named_text files[] = {
        {"specter_trace_rank0.jsonl", INIT("capture-7", "here", "1") OP DEP},
        {"specter_trace_rank1.jsonl", INIT("capture-7", "here", "1") END("10", "0") "{\"torn"},
        {"specter_trace_rank2.jsonl", INIT("capture-7", "here", "1") END("5", "0")},
    };
    struct trace_summary g = GLANCE(files);
    CHECK_INT(g.files, 3);
    CHECK_INT(g.open, 2);
    CHECK_INT(g.ops, 8 + 10 + 5); /* the first by the number of its last operation */
    CHECK_HAS(g.open_names.data, "specter_trace_rank0.jsonl");
    CHECK_HAS(g.open_names.data, "specter_trace_rank1.jsonl");
    trace_summary_release(&g);
}

/* A flight recording that was killed: what it numbered is not what it holds. */
TEST(trace_summary_counts_what_a_ring_keeps)
{
#define RING(_size) \
    "{\"event\":\"init\",\"run\":\"capture-7\",\"host\":\"here\",\"ring\":" _size "}\n"
    static const struct named_text files[] = {
        {"specter_trace_rank0.jsonl", RING("5") OP "      \n"},
        {"specter_trace_rank1.jsonl", RING("20") OP "      \n"},
        {"specter_trace_rank2.jsonl", RING("5") OP END("6", "0")},
    };
    struct trace_summary g = GLANCE(files);
    CHECK_INT(g.open, 2);
    CHECK_INT(g.ops, 5 + 8 + 6);
    trace_summary_release(&g);
}

/* Where the ring has come round, its newest operations may lie far before the end. */
TEST(trace_summary_reads_all_of_a_ring)
{
    struct buf text = BUF_INIT;
    struct named_text file = {"specter_trace_rank0.jsonl", NULL};
    struct trace_summary g;
    buf_puts(&text, RING("5") "{\"id\":3,\"type\":\"nccl\",\"op\":\"AllReduce\"}\n");
    for (int i = 0; i < 3 * SPECTER_LINE_MAX / 100; i++)
        buf_printf(&text, "%99s\n", "");
    file.content = text.data;
    g = trace_summary_of(&file, 1);
    CHECK_INT(g.ops, 4);
    CHECK_INT(g.open, 1);
    trace_summary_release(&g);
    buf_release(&text);
}

TEST(trace_summary_passes_over_what_is_not_a_trace)
{
    static const struct named_text files[] = {
        {"specter_trace_rank0.jsonl", ""},
        {"specter_trace_rank1.jsonl", "\n\n"},
        {"specter_trace_rank2.jsonl", "garbage \xff\n" END("5", "0")},
        {"specter_trace_rank3.jsonl", INIT("capture-7", "here", "1e999")},
        {"specter_trace_rank4.jsonl", "{\"event\":\"init\",\"run\":[\"capture-7\"]}\n"},
    };
    struct trace_summary g = GLANCE(files);
    CHECK_INT(g.files, 0);
    trace_summary_release(&g);
}

/* The last line is found however long the file, and however long the line may be. */
TEST(trace_summary_reads_the_end_of_a_long_file)
{
    struct buf text = BUF_INIT;
    struct named_text file = {"specter_trace_rank0.jsonl", NULL};
    struct trace_summary g;
    buf_puts(&text, INIT("capture-7", "here", "1"));
    for (int i = 0; i < 5000; i++)
        buf_puts(&text, OP);
    buf_puts(&text, "{\"event\":\"shutdown\",\"total_ops\":5000,\"dropped\":3,\"summary\":\"");
    for (int i = 0; i < SPECTER_LINE_MAX - 100; i++)
        buf_putc(&text, 'x');
    buf_puts(&text, "\"}\n");
    file.content = text.data;
    g = trace_summary_of(&file, 1);
    CHECK_INT(g.ops, 5000);
    CHECK_INT(g.dropped, 3);
    CHECK_INT(g.open, 0);
    trace_summary_release(&g);
    buf_release(&text);
}

TEST(trace_summary_needs_a_directory)
{
    struct trace_summary g;
    struct err e;
    CHECK_INT(trace_summary_read(&g, "/nonexistent", &ours, &e), -1);
    CHECK_STR(e.msg, "cannot read '/nonexistent': No such file or directory");
    trace_summary_release(&g);
}

#define UNSEEN(_list)                                                    \
    "{\"event\":\"shutdown\",\"total_ops\":1,\"dropped\":0,\"summary\":" \
    "{\"x\":[1],\"unseen\":" _list ",\"y\":{}}}\n"

TEST(trace_summary_names_what_was_not_seen_once)
{
    static const struct named_text files[] = {
        {"specter_trace_rank0.jsonl",
         INIT("capture-7", "here", "1") UNSEEN(
             "[{\"kind\":\"static\",\"path\":\"/a b\"},{\"path\":\"/l\",\"kind\":\"uncalled\"}]")},
        {"specter_trace_rank1.jsonl",
         INIT("capture-7", "here", "1") UNSEEN("[{\"kind\":\"static\",\"path\":\"/a b\"}]")},
        {"specter_trace_rank2.jsonl", INIT("capture-7", "here", "1") UNSEEN("null")},
        {"specter_trace_rank3.jsonl", INIT("capture-7", "here", "1") UNSEEN("[7]")},
    };
    struct trace_summary g = GLANCE(files);
    CHECK_INT(g.files, 4);
    CHECK_HAS(g.unseen.data, "static /a b\n");
    CHECK_HAS(g.unseen.data, "uncalled /l\n");
    CHECK_INT(g.unseen.len, strlen("static /a b\nuncalled /l\n"));
    trace_summary_release(&g);
}

/* A time that no clock can show is not known: it would be newer, or older, than all others. */
TEST(trace_heads_of_impossible_times)
{
    const char *folder = make_folder();
    struct trace_heads heads;
    struct arena arena;
    arena_init(&arena);
    write_text(folder, "specter_trace_rank0.jsonl", INIT("a", "here", "9223372036854775809"));
    write_text(folder, "specter_trace_rank1.jsonl", INIT("a", "here", "9223372036854775807"));
    write_text(folder, "specter_trace_rank2.jsonl", INIT("a", "here", "1000"));
    CHECK_INT(trace_heads(&heads, folder, &arena, NULL), 0);
    CHECK_INT(heads.count, 3);
    CHECK_INT(heads.list[0].real_ns, 0);
    CHECK_INT(heads.list[1].real_ns, 0);
    CHECK_INT(heads.list[2].real_ns, 1000);
    free(heads.list);
    arena_release(&arena);
    remove_folder(folder);
}
