/* SPDX-License-Identifier: MIT
 *
 * Traces in folders as people leave them are found, with the same result for any number of threads.
 */
#include "base/pool.h"
#include "made_jsonl.h"
#include "trace/load.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <sys/stat.h>

#define KERNEL(name, ts)                                                                    \
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"" name "\",\"pid\":0,\"tid\":7,\"ts\":" ts \
    ",\"dur\":5,\"args\":{\"device\":0,\"stream\":7,\"correlation\":1}}"
#define KINETO(name, ts) "{\"schemaVersion\":1,\"traceEvents\":[" KERNEL(name, ts) "]}"

static void make_dir(const char *folder, const char *name)
{
    CHECK_INT(mkdir(file_in(folder, name), 0700), 0);
}

static void make_link(const char *folder, const char *name, const char *to)
{
    CHECK_INT(symlink(to, file_in(folder, name)), 0);
}

static void written_at(const char *folder, const char *name, time_t s)
{
    struct timespec times[2] = {{s, 0}, {s, 0}};
    CHECK_INT(utimensat(AT_FDCWD, file_in(folder, name), times, 0), 0);
}

static void write_own(const char *folder, const char *name, const char *run, int rank, int world)
{
    char text[1024];
    snprintf(text, sizeof text, "%s{\"event\":\"shutdown\",\"time_us\":1.000}\n",
             init_line(run, rank, world, "h", 5, 1700000000));
    write_text(folder, name, text);
}

/* ---- threads ---- */

static void count_job(void *arg, size_t i)
{
    atomic_uint *done = arg;
    atomic_fetch_add(&done[i], 1);
}

TEST(pool_does_every_job_once)
{
    static atomic_uint done[1000];
    for (size_t threads = 0; threads <= 8; threads += 4)
        pool_run(threads, 1000, count_job, done, NULL);
    for (size_t i = 0; i < 1000; i++)
        CHECK_INT(done[i], 3);
    pool_run(4, 0, count_job, done, NULL);
    CHECK(pool_cpus() >= 1 && pool_cpus() <= POOL_THREADS_MAX);
}

/* Everything of a run that a command could print, in its order. */
static void put_run(struct buf *out, const struct run *run)
{
    buf_printf(out, "%s %s %d\n", run->id, run->format, run->world_size);
    for (size_t c = 0; c < run->ncomms; c++) {
        const struct comm *comm = &run->comms[c];
        buf_printf(out, "comm %s '%s' %d in %d:", comm->id, comm->name, comm->size, comm->parent);
        for (int i = 0; i < comm->size; i++)
            buf_printf(out, " %d", comm->ranks[i]);
        buf_puts(out, "\n");
    }
    for (size_t r = 0; r < run->nranks; r++) {
        const struct rank *rank = &run->ranks[r];
        buf_printf(out, "rank %d %s %s %llu\n", rank->rank, rank->file, rank->host,
                   (unsigned long long)rank->bad_lines);
        for (size_t i = 0; i < rank->nops; i++) {
            const struct op *op = &rank->ops[i];
            buf_printf(out, "  %lld %lld %s %d %d\n", (long long)op->start_ns,
                       (long long)op->dur_ns, op->name, op->class,
                       op->class == OP_COLL ? op->coll.comm : -2);
        }
        for (size_t i = 0; i < rank->nin; i++)
            buf_printf(out, "  in %d as %d\n", rank->in[i].comm, rank->in[i].rank);
    }
    for (size_t i = 0; i < run->nnotes; i++)
        buf_printf(out, "note %d %s\n", run->notes[i].loss, run->notes[i].text);
}

/* Rank r of 24: collectives on the world and on the group of its eight, named in an order of its
 * own; some lines are damaged. */
static void write_rank(const char *folder, int r)
{
    struct buf text = BUF_INIT;
    char name[64];
    buf_puts(&text, init_line("r", r, 24, "h", 5, 1700000000));
    for (int i = 0; i < 12; i++) {
        bool world = (i + r) % 2;
        buf_printf(
            &text,
            "{\"id\":%d,\"type\":\"nccl\",\"op\":\"%s\",\"start_us\":%d.5,\"duration_us\":%d.0,"
            "\"bytes\":8,\"comm\":\"%s%d\",\"comm_rank\":%d,\"comm_size\":%d,\"seq\":%d,"
            "\"timing\":\"device\"}\n",
            i, i % 3 ? "AllReduce" : "Broadcast", i * 10, r + 1, world ? "w" : "g",
            world ? 0 : r / 8, world ? r : r % 8, world ? 24 : 8, i);
        if (r % 7 == 3 && i == 5)
            buf_printf(&text, "{broken %d\n", r);
    }
    snprintf(name, sizeof name, "specter_trace_rank%d.jsonl", r);
    write_file(folder, name, text.data, text.len);
    buf_release(&text);
}

TEST(load_by_threads_is_the_same)
{
    const char *folder = make_folder();
    struct buf want = BUF_INIT, got = BUF_INIT;
    struct load_opts opts = {.threads = 1};
    struct run run;
    struct err e;
    for (int r = 0; r < 24; r++)
        write_rank(folder, r);
    write_text(folder, "specter_trace_rank24.jsonl", "");
    write_text(folder, "specter_trace_rank25.jsonl", "nothing\n");
    CHECK_INT(run_load(&run, folder, &opts, &e), 0);
    put_run(&want, &run);
    CHECK_INT(run.nranks, 24);
    CHECK_INT(run.ncomms, 4); /* in the order in which files name them: rank 0, 1, 10, ... 16 */
    CHECK_STR(run.comms[0].id, "g0");
    CHECK_STR(run.comms[1].id, "w0");
    CHECK_STR(run.comms[2].id, "g1");
    CHECK_STR(run.comms[3].id, "g2");
    CHECK_INT(run.comms[2].ranks[3], 11);
    CHECK_INT(run.ranks[23].ops[0].coll.comm, 1);
    CHECK_INT(run.ranks[23].ops[1].coll.comm, 3);
    CHECK(run.ranks[0].ops[1].name == run.ranks[23].ops[1].name); /* one text, one pointer */
    CHECK_HAS(note_with(&run, "rank10.jsonl: line 8"), "1 line of this file is unusable");
    run_release(&run);
    for (opts.threads = 0; opts.threads <= 16; opts.threads += 8) {
        CHECK_INT(run_load(&run, folder, &opts, &e), 0);
        buf_reset(&got);
        put_run(&got, &run);
        CHECK_STR(got.data, want.data);
        run_release(&run);
    }
    remove_folder(folder);
    buf_release(&want);
    buf_release(&got);
}

/* The first file that names a communicator says how large it is. */
TEST(load_communicator_of_two_sizes)
{
    const char *folder = make_folder();
    struct run run;
    char text[1024];
    for (int r = 0; r < 2; r++) {
        snprintf(text, sizeof text,
                 "%s{\"event\":\"comm\",\"time_us\":1.0,\"comm\":\"c\",\"comm_rank\":%d,"
                 "\"comm_size\":%d,\"device\":0}\n",
                 init_line("r", r, 2, "h", 5, 1700000000), r * 3, r ? 4 : 2);
        write_text(folder, r ? "rank1.jsonl" : "rank0.jsonl", text);
    }
    load_path(&run, folder);
    CHECK_INT(run.comms[0].size, 2);
    CHECK_INT(run.ranks[0].nin, 1);
    CHECK_INT(run.ranks[1].nin, 0); /* place 3 of 2 */
    run_release(&run);
    remove_folder(folder);
}

/* ---- operations taken as they are read ---- */

struct taken {
    uint64_t ops, calls, largest, dur_ns;
    const char *shrink; /* this file, at the first call, */
    off_t shrink_to;    /* to so many bytes */
};

static void take(void *arg, const struct rank *rank, const struct op *ops, size_t n)
{
    struct taken *t = arg;
    if (t->shrink != NULL && t->calls == 0)
        CHECK_INT(truncate(t->shrink, t->shrink_to), 0);
    t->calls++;
    t->ops += n;
    t->largest = n > t->largest ? n : t->largest;
    for (size_t i = 0; i < n; i++)
        t->dur_ns += (uint64_t)ops[i].dur_ns;
    CHECK(rank->rank >= 0);
}

static void write_many(const char *folder, const char *name, int rank, int n)
{
    struct buf text = BUF_INIT;
    buf_puts(&text, init_line("r", rank, 2, "h", 5, 1700000000));
    for (int i = 0; i < n; i++)
        buf_printf(&text,
                   "{\"id\":%d,\"type\":\"cublas\",\"op\":\"Gemm\",\"start_us\":%d.000,"
                   "\"duration_us\":2.000,\"m\":1,\"n\":1,\"k\":1,\"timing\":\"device\"}\n",
                   i, i * 3);
    write_file(folder, name, text.data, text.len);
    buf_release(&text);
}

TEST(load_hands_operations_over)
{
    const char *folder = make_folder();
    struct taken t = {0};
    struct load_opts opts = {.take = take, .take_arg = &t, .threads = 2};
    struct run run;
    struct err e;
    write_many(folder, "rank0.jsonl", 0, 20000);
    write_many(folder, "rank1.jsonl", 1, 30000);
    CHECK_INT(run_load(&run, folder, &opts, &e), 0);
    CHECK_INT(t.ops, 50000);
    CHECK_INT(t.dur_ns, 50000 * 2000);
    CHECK(t.largest < 2000 && t.calls > 25); /* 128 KiB of lines at once */
    CHECK_INT(run.nranks, 2);
    CHECK_INT(run.ranks[0].nops + run.ranks[1].nops, 0);
    CHECK(run.ranks[0].cap_ops < 4096);
    run_release(&run);
    t = (struct taken){0}; /* a format that is read whole */
    CHECK_INT(run_load(&run, test_data("kineto_two_ranks"), &opts, &e), 0);
    CHECK_INT(t.ops, 24);
    CHECK_INT(t.calls, 2);
    run_release(&run);
    remove_folder(folder);
}

TEST(load_file_that_shrinks)
{
    const char *folder = make_folder();
    struct taken t = {.shrink = file_in(folder, "rank0.jsonl")};
    struct load_opts opts = {.take = take, .take_arg = &t, .threads = 1};
    struct run run;
    struct err e;
    char *text;
    write_many(folder, "rank0.jsonl", 0, 20000);
    text = read_whole(t.shrink, NULL);
    t.shrink_to = strstr(text, "{\"id\":2500,") + 20 - text; /* within a line */
    free(text);
    CHECK_INT(run_load(&run, folder, &opts, &e), 0);
    CHECK(t.ops > 100 && t.ops < 20000);
    CHECK(run.ranks[0].torn);
    run_release(&run);
    remove_folder(folder);
}

/* ---- folders ---- */

/* A layout of cluster scripts: the profiles in a folder of their own, links beside it to the first
 * rank's, and an execution trace that is no profile. */
TEST(load_layout_of_cluster_scripts)
{
    const char *folder = make_folder();
    struct run run;
    make_dir(folder, "profile_trace");
    write_text(folder, "profile_trace/host_rank0.pt.trace.json", KINETO("k", "1"));
    write_text(folder, "profile_trace/host_rank1.pt.trace.json", KINETO("k", "2"));
    write_text(folder, "profile_trace/rank0_et.json", "{\"schema\":\"1.0.2-chakra.0.0.4\"}");
    make_link(folder, "kineto_trace_0.json", "profile_trace/host_rank0.pt.trace.json");
    make_link(folder, "torch_et_0.json", "profile_trace/rank0_et.json");
    load_path(&run, folder);
    CHECK_INT(run.nranks, 2);
    CHECK_INT(run.ranks[0].rank, 0); /* the name that tells it, not the link's */
    CHECK_INT(run.ranks[1].rank, 1);
    CHECK_HAS(run.ranks[0].file, "profile_trace/host_rank0.pt.trace.json");
    CHECK_HAS(note_with(&run, "no traces of a known format"), "1 file here is");
    run_release(&run);
    remove_folder(folder);
}

TEST(load_folders_to_a_depth)
{
    const char *folder = make_folder();
    struct run run;
    make_dir(folder, "1");
    make_dir(folder, "1/2");
    make_dir(folder, "1/2/3");
    make_dir(folder, "1/2/3/4");
    make_dir(folder, "1/2/3/4/5");
    make_dir(folder, ".hidden");
    make_dir(folder, "x.json");
    write_own(folder, ".hidden/rank8.jsonl", "r", 8, 9);
    write_own(folder, "1/2/3/4/5/rank0.jsonl", "r", 0, 1);
    make_link(folder, "1/2/loop", "..");
    make_link(folder, "1/self", ".");
    make_link(folder, "1/again", "2");
    CHECK_HAS(load_error(folder, NULL), "no traces in '");
    write_own(folder, "1/2/3/4/rank0.jsonl", "r", 0, 1);
    load_path(&run, folder);
    CHECK_STR(all_notes(&run), "");
    CHECK_INT(run.nranks, 1);
    run_release(&run);
    remove_folder(folder);
}

/* Returns how many traces are found where 5000 entries may be looked at, which is more than threads
 * look at ahead; -1 none, with the reason in *e. */
static int found_in(const char *folder, struct run *run, struct err *e)
{
    static const struct load_opts none;
    struct load l = {
        .run = run, .path = folder, .opts = &none, .entries_max = 5000, .foreign = BUF_INIT};
    int found;
    run_init(run);
    CHECK_INT(load_find(&l, e), 0);
    found = l.count > 0 ? (int)l.count : load_nothing(&l, e);
    load_release(&l);
    return found;
}

TEST(load_too_many_files)
{
    const char *folder = make_folder();
    struct run run;
    struct err e;
    write_own(folder, "a.jsonl", "r", 0, 1);
    for (int i = 0; i < 4999; i++) {
        char name[16];
        snprintf(name, sizeof name, "f%05d", i);
        make_link(folder, name, "nothing");
    }
    CHECK_INT(found_in(folder, &run, &e), 1);
    CHECK_STR(all_notes(&run), ""); /* as many as there may be */
    run_release(&run);
    make_link(folder, "g", "nothing");
    CHECK_INT(found_in(folder, &run, &e), 1);
    CHECK_HAS(all_notes(&run), ": more than 5000 files and folders: only the first 5000 are");
    CHECK(run_partial(&run));
    run_release(&run);
    CHECK_INT(rename(file_in(folder, "a.jsonl"), file_in(folder, "z.jsonl")), 0);
    CHECK_INT(found_in(folder, &run, &e), -1);
    CHECK_HAS(e.msg, "no traces among the first 5000 files and folders of '");
    run_release(&run);
    remove_folder(folder);
}

/* Heads of a large folder are read by several threads, with the result of one. */
TEST(load_large_folder)
{
    const char *folder = make_folder();
    struct run run;
    for (int i = 0; i < 200; i++) {
        char name[64];
        snprintf(name, sizeof name, "specter_trace_rank%d%s.jsonl", i % 100, i < 100 ? "" : ".1");
        write_own(folder, name, i < 100 ? "old" : "r", i % 100, 100);
    }
    write_text(folder, "specter_trace_rank7.2.jsonl", "[1]\n");
    write_text(folder, "specter_trace_rank8.2.jsonl", "");
    make_link(folder, "a.jsonl", "specter_trace_rank3.1.jsonl");
    load_path(&run, folder);
    CHECK_STR(run.id, "r");
    CHECK_INT(run.nranks, 100);
    CHECK_STR(run.ranks[3].file + strlen(folder), "/specter_trace_rank3.1.jsonl");
    CHECK_HAS(all_notes(&run), "1 other run here: 'old' (100 files)");
    CHECK_HAS(all_notes(&run), "specter_trace_rank8.2.jsonl: empty");
    run_release(&run);
    remove_folder(folder);
}

/* Beside traces stands what is not of them: a dump of the same ranks, say. */
TEST(load_leaves_folders_beside_traces_alone)
{
    const char *folder = make_folder();
    struct run run;
    write_own(folder, "rank0.jsonl", "r", 0, 1);
    make_dir(folder, "dump-1");
    write_own(folder, "dump-1/rank0.jsonl", "r", 0, 1);
    load_path(&run, folder);
    CHECK_STR(all_notes(&run), "");
    CHECK_INT(run.nranks, 1);
    run_release(&run);
    remove_folder(folder);
}

TEST(load_a_folder_a_rank_or_a_run)
{
    const char *folder = make_folder();
    struct load_opts opts = {.run_id = "old"};
    struct run run;
    struct err e;
    make_dir(folder, "old");
    make_dir(folder, "z");
    write_text(folder, "old/rank0.json", KINETO("k", "1"));
    write_text(folder, "z/rank1.json", KINETO("k", "2"));
    load_path(&run, folder);
    CHECK_INT(run.nranks, 2); /* a folder a rank: one run */
    run_release(&run);
    write_text(folder, "z/rank0.json", KINETO("new", "2"));
    written_at(folder, "old/rank0.json", 1000000);
    written_at(folder, "z/rank0.json", 2000000);
    written_at(folder, "z/rank1.json", 2000000);
    load_path(&run, folder);
    CHECK_INT(run.nranks, 2); /* rank 0 twice: a folder a run, the newest */
    CHECK_STR(run.ranks[0].ops[0].name, "new");
    CHECK_HAS(note_with(&run, "other run"),
              "'old' (1 file, the same ranks again); 'z', the newest, is read (--run chooses)");
    run_release(&run);
    CHECK_INT(run_load(&run, folder, &opts, &e), 0);
    CHECK_INT(run.nranks, 1);
    CHECK_STR(run.ranks[0].ops[0].name, "k");
    run_release(&run);
    remove_folder(folder);
}

TEST(load_folder_that_cannot_be_read)
{
    const char *folder = make_folder();
    struct run run;
    if (geteuid() == 0) { /* may read all */
        remove_folder(folder);
        return;
    }
    make_dir(folder, "a");
    make_dir(folder, "b");
    write_own(folder, "b/rank0.jsonl", "r", 0, 1);
    write_own(folder, "b/rank1.jsonl", "r", 1, 2);
    CHECK_INT(chmod(file_in(folder, "a"), 0), 0);
    CHECK_INT(chmod(file_in(folder, "b/rank1.jsonl"), 0), 0);
    load_path(&run, folder);
    CHECK_HAS(note_with(&run, "a: Permission denied"), "loss: ");
    CHECK_HAS(note_with(&run, "rank1.jsonl: Permission denied"), "loss: ");
    CHECK_INT(run.nranks, 1);
    run_release(&run);
    chmod(file_in(folder, "a"), 0700);
    remove_folder(folder);
}
