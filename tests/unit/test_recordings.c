/* SPDX-License-Identifier: MIT
 *
 * Files of a folder that are one job, and windows of one rank that become one recording.
 */
#include "base/pool.h"
#include "made_kineto.h"
#include "trace/match.h"

#include <fcntl.h>
#include <sys/stat.h>

#define DAY ((int64_t)86400 * 1000000)
#define NOON ((int64_t)1700000000 * 1000000) /* microseconds of the wall clock */

/* One profile: rank -1 and world 0 are not told. */
struct made_profile {
    int rank, world;
    int pid;
    int64_t begin_us;
    const char *gpu, *kernel;
    int steps, first_step;
    bool alone; /* does not communicate */
};

/* Each step lasts 100 us: two kernels of 20 us, the first of them a collective, and their launches.
 */
static void put_profile(struct buf *b, const struct made_profile *m)
{
    buf_printf(b, "{\"schemaVersion\":1,\"deviceProperties\":[{\"id\":0,\"name\":\"%s\"}]",
               m->gpu != NULL ? m->gpu : "g");
    if (m->rank >= 0)
        buf_printf(b, ",\"distributedInfo\":{\"rank\":%d,\"world_size\":%d}", m->rank, m->world);
    buf_puts(b, ",\"traceEvents\":[");
    for (int i = 0; i < m->steps; i++) {
        long long t = (long long)m->begin_us + i * 100;
        buf_printf(b,
                   "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#%d\","
                   "\"pid\":%d,\"tid\":%d,\"ts\":%lld,\"dur\":100},",
                   m->first_step + i, m->pid, m->pid, t);
        for (int k = 0; k < 2; k++) {
            buf_printf(
                b,
                "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\","
                "\"pid\":%d,\"tid\":%d,\"ts\":%lld,\"dur\":5,\"args\":{\"correlation\":%d}},",
                m->pid, m->pid + k, t + k * 30, i * 2 + k + 1);
            buf_printf(b,
                       "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"%s\",\"pid\":0,\"tid\":7,"
                       "\"ts\":%lld,\"dur\":20,\"args\":{\"device\":0,\"stream\":7,"
                       "\"correlation\":%d}},",
                       k == 0 && !m->alone ? "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)"
                       : m->kernel != NULL ? m->kernel
                                           : "gelu",
                       t + k * 30 + 10, i * 2 + k + 1);
        }
    }
    buf_puts(b, "{\"ph\":\"M\",\"name\":\"end\",\"pid\":0,\"tid\":0,\"ts\":0}]}");
}

static void write_profile(const char *folder, const char *name, struct made_profile m)
{
    struct buf b = BUF_INIT;
    m.pid = m.pid > 0 ? m.pid : 100 + m.rank;
    m.steps = m.steps > 0 ? m.steps : 2;
    m.begin_us = m.begin_us > 0 ? m.begin_us : NOON;
    put_profile(&b, &m);
    write_file(folder, name, b.data, b.len);
    buf_release(&b);
}

/* The ranks that are read, and by the note which other runs there are. */
static void check_read(const char *what, const char *folder, size_t ranks, const char *others)
{
    struct run run;
    load_path(&run, folder);
    CHECK_INT_OF(what, (int64_t)run.nranks, (int64_t)ranks);
    if (others != NULL)
        CHECK_HAS(note_with(&run, "other run"), others);
    else
        CHECK_STR_OF(what, note_with(&run, "other run"), "");
    run_release(&run);
}

static size_t ranks_of_run(const char *folder, const char *run_id)
{
    struct load_opts opts = {.run_id = run_id};
    struct run run;
    struct err e;
    size_t n = run_load(&run, folder, &opts, &e) == 0 ? run.nranks : 0;
    run_release(&run);
    return n;
}

/* ---- jobs ---- */

#define AT "2023-11-14 22:13:20"

/* clang-format off */
static const struct {
    const char *what;
    struct named_profile {
        const char *name; /* NULL: no more */
        struct made_profile m;
    } files[4];
    size_t ranks;       /* that are read */
    const char *others; /* of the note on other runs; NULL: no such note */
    const char *file;   /* NULL, or one of the run that has so many ranks */
    size_t ranks_of_file;
} jobs[] = {
    {"one job", {{"a.json", {.rank = 0, .world = 2}},
                 {"b.json", {.rank = 1, .world = 2, .begin_us = NOON + 50}}}, 2, NULL, NULL, 0},
    {"at other times", {{"a.json", {.rank = -1, .pid = 7}},
                        {"b.json", {.rank = -1, .pid = 8, .begin_us = NOON + DAY}}}, 1,
     "1 other run here: 'a.json' (1 file, " AT ", another time); 'b.json', the newest, is read "
     "(--run chooses)", "a.json", 1},
    /* rank 0 of one job and rank 1 of another, a day apart: neither is the other's */
    {"other ranks at other times", {{"a.json", {.rank = 0, .world = 2}},
                                    {"b.json", {.rank = 1, .world = 2, .begin_us = NOON + DAY}}}, 1,
     "'a.json' (1 file, " AT ", another time)", NULL, 0},
    /* any of its files names a run */
    {"other worlds", {{"a.json", {.rank = 0, .world = 2}},
                      {"b.json", {.rank = 1, .world = 2}},
                      {"c.json", {.rank = 2, .world = 4, .begin_us = NOON + 10}}}, 1,
     "'a.json' (2 files, " AT ", another world size)", "b.json", 2},
    {"the same ranks at one time",
     {{"a0.json", {.rank = 0, .world = 2, .pid = 10}},
      {"b0.json", {.rank = 0, .world = 2, .pid = 20, .begin_us = NOON + 5}},
      {"a1.json", {.rank = 1, .world = 2, .pid = 11}},
      {"b1.json", {.rank = 1, .world = 2, .pid = 21, .begin_us = NOON + 5}}}, 2,
     "(2 files, " AT ", the same ranks again)", NULL, 0},
    /* more ranks than there can be: the last one is of another job */
    {"a full world", {{"a.json", {.rank = 0, .world = 2}},
                      {"b.json", {.rank = 1, .world = 2}},
                      {"c.json", {.rank = -1, .pid = 9, .begin_us = NOON + 20}}}, 1,
     "'a.json' (2 files, " AT ", more ranks than the world)", "a.json", 2},
    /* the wall clocks of hosts differ by seconds; on one host that is another time */
    {"hosts", {{"h_100.1.pt.trace.json", {.rank = 0, .world = 2}},
               {"g_101.2.pt.trace.json", {.rank = 1, .world = 2, .begin_us = NOON + 5000000}}}, 2,
     NULL, NULL, 0},
    {"one host", {{"h_100.1.pt.trace.json", {.rank = 0, .world = 2}},
                  {"h_101.2.pt.trace.json", {.rank = 1, .world = 2, .begin_us = NOON + 5000000}}},
     1, "another time", NULL, 0},
    /* what runs at one time is no job for that: nothing but the time is common */
    {"nothing in common",
     {{"a.json", {.rank = -1, .pid = 11, .alone = true, .gpu = "x"}},
      {"b.json", {.rank = -1, .pid = 12, .alone = true, .gpu = "x", .begin_us = NOON + 20}}}, 1,
     "'a.json' (1 file, " AT ", nothing ties it to this one)", NULL, 0},
    /* also of what communicates, and is numbered */
    {"other GPUs", {{"a.json", {.rank = -1, .pid = 11, .gpu = "x"}},
                    {"b.json", {.rank = -1, .pid = 12, .gpu = "y", .begin_us = NOON + 20}}}, 1,
     "'a.json' (1 file, " AT ", another GPU)", NULL, 0},
    {"other GPUs with numbers",
     {{"rank0.json", {.rank = -1, .pid = 11, .gpu = "x"}},
      {"rank1.json", {.rank = -1, .pid = 12, .gpu = "y", .begin_us = NOON + 20}}}, 1,
     "'rank0.json' (1 file, " AT ", another GPU)", NULL, 0},
    /* ranks in the names of files, communication of one GPU model, or a world size tie them */
    {"ranks in names",
     {{"t_rank0.json", {.rank = -1, .pid = 11, .alone = true, .gpu = "x"}},
      {"t_rank1.json", {.rank = -1, .pid = 12, .alone = true, .gpu = "x", .begin_us = NOON + 20}}},
     2, NULL, NULL, 0},
    {"communication", {{"a.json", {.rank = -1, .pid = 11, .gpu = "x"}},
                       {"b.json", {.rank = -1, .pid = 12, .gpu = "x", .begin_us = NOON + 20}}}, 2,
     NULL, NULL, 0},
    {"a world size", {{"a.json", {.rank = 0, .world = 2, .alone = true, .gpu = "x"}},
                      {"b.json", {.rank = 1, .world = 2, .alone = true, .gpu = "y"}}}, 2, NULL,
     NULL, 0},
};
/* clang-format on */

TEST(recordings_of_jobs)
{
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) {
        const char *folder = make_folder();
        for (int k = 0; k < 4 && jobs[i].files[k].name != NULL; k++)
            write_profile(folder, jobs[i].files[k].name, jobs[i].files[k].m);
        check_read(jobs[i].what, folder, jobs[i].ranks, jobs[i].others);
        if (jobs[i].file != NULL)
            CHECK_INT_OF(jobs[i].what, (int64_t)ranks_of_run(folder, jobs[i].file),
                         (int64_t)jobs[i].ranks_of_file);
        remove_folder(folder);
    }
}

TEST(recordings_that_are_not_there)
{
    const char *folder = make_folder();
    write_profile(folder, "a.json", (struct made_profile){.rank = -1, .pid = 7});
    write_profile(folder, "b.json",
                  (struct made_profile){.rank = -1, .pid = 8, .begin_us = NOON + DAY});
    CHECK_HAS(load_error(folder, "c"), "no run 'c' in '");
    CHECK_HAS(load_error(folder, "c"), ": there are 'a.json' (1 file, " AT "), 'b.json'");
    remove_folder(folder);
}

/* Without dates other GPUs are other jobs; which is newer only the dates of files could tell. */
TEST(recordings_without_dates)
{
    const char *folder = make_folder();
    struct timespec old[2] = {{1000000, 0}, {1000000, 0}}, new[2] = {{2000000, 0}, {2000000, 0}};
    write_profile(folder, "a.json",
                  (struct made_profile){.rank = -1, .pid = 7, .begin_us = 5, .gpu = "x"});
    write_profile(folder, "b.json",
                  (struct made_profile){.rank = -1, .pid = 8, .begin_us = 5, .gpu = "y"});
    utimensat(AT_FDCWD, file_in(folder, "a.json"), old, 0);
    utimensat(AT_FDCWD, file_in(folder, "b.json"), old, 0);
    CHECK_HAS(load_error(folder, NULL),
              "holds 2 runs and nothing tells which is the newest: choose "
              "one by --run: 'a.json' (1 file), 'b.json' (1 file)");
    CHECK_INT(ranks_of_run(folder, "b.json"), 1);
    utimensat(AT_FDCWD, file_in(folder, "a.json"), new, 0);
    check_read("folder", folder, 1,
               "'b.json' (1 file, another GPU); 'a.json', the newest, is read");
    remove_folder(folder);
}

/* A file that cannot be read, in the folder of another run, is no loss of this one. */
TEST(recordings_damage_of_another_run)
{
    const char *folder = make_folder();
    struct run run;
    CHECK_INT(mkdir(file_in(folder, "old"), 0700) + mkdir(file_in(folder, "new"), 0700), 0);
    write_profile(folder, "old/a.json", (struct made_profile){.rank = 0, .world = 1});
    write_text(folder, "old/b.json", "{\"schemaVersion\":1,\"traceEvents\":[]}");
    write_profile(folder, "new/a.json",
                  (struct made_profile){.rank = 0, .world = 1, .pid = 9, .begin_us = NOON + DAY});
    load_path(&run, folder);
    CHECK_INT(run.nranks, 1);
    CHECK(!run_partial(&run));
    CHECK_HAS(note_with(&run, "other run"), "'old' (1 file, 2023-11-14 22:13:20, the same ranks");
    run_release(&run);
    remove_folder(folder);
}

/* ---- windows ---- */

/* tensorboard_trace_handler writes a file for each active window of each worker. */
TEST(recordings_windows_of_ranks_are_joined)
{
    const char *folder = make_folder();
    struct run run;
    for (int w = 0; w < 3; w++) {
        for (int r = 0; r < 2; r++) {
            char name[64];
            snprintf(name, sizeof name, "h_%d.%d.pt.trace.json", 100 + r, w);
            write_profile(folder, name,
                          (struct made_profile){.rank = r,
                                                .world = 2,
                                                .begin_us = NOON + w * 10000000,
                                                .steps = 2 + w,
                                                .first_step = w * 100});
        }
    }
    load_path(&run, folder);
    CHECK_INT(run.nranks, 2);
    for (int r = 0; r < 2; r++) {
        const struct rank *rank = &run.ranks[r];
        CHECK_INT(rank->nsteps, 9);
        CHECK_INT(rank->nops, 18);
        CHECK_INT(rank->nthreads, 2);
        CHECK_STR(rank->steps[5].name, "ProfilerStep#200");
        CHECK_INT(rank->steps[2].start_ns - rank->steps[0].start_ns, 200000);
        CHECK_INT(rank->steps[8].end_ns - rank->steps[0].start_ns, 900000);
        for (size_t i = 1; i < rank->nops; i++)
            CHECK(rank->ops[i].start_ns >= rank->ops[i - 1].start_ns);
    }
    CHECK_INT(run.npauses, 2);
    CHECK_INT(run.pauses[0].at_ns, NOON * 1000 + 200000);
    CHECK_INT(run.pauses[0].dur_ns, 10000000000 - 200000);
    CHECK_HAS(note_with(&run, "windows"),
              "6 recordings are windows of 2 ranks, read as one recording; in the 20 s between "
              "windows nothing was recorded: that time is excluded");
    CHECK(!run_partial(&run));
    run_release(&run);
    remove_folder(folder);
}

TEST(recordings_tell_the_time_between_windows)
{
    static const struct {
        int64_t ms;
        const char *said;
    } cases[] = {
        {1234, " 1.23 s "}, {999400, " 999 s "}, {999700, " 1000 s "}, {1234000, " 1234 s "}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *folder = make_folder();
        struct run run;
        for (int w = 0; w < 2; w++)
            write_profile(folder, w == 0 ? "h_7.1.pt.trace.json" : "h_7.2.pt.trace.json",
                          (struct made_profile){.rank = 0,
                                                .world = 1,
                                                .begin_us = NOON + w * cases[i].ms * 1000,
                                                .steps = 1,
                                                .first_step = w});
        load_path(&run, folder);
        CHECK_HAS(note_with(&run, "windows"), cases[i].said);
        run_release(&run);
        remove_folder(folder);
    }
}

/* A rank that lacks a window does not shift what follows. */
TEST(recordings_windows_match_one_by_one)
{
    const char *folder = make_folder();
    struct matches m;
    struct run run;
    size_t pairs = 0;
    for (int w = 0; w < 2; w++) {
        for (int r = w == 0; r < 2; r++) {
            char name[64];
            snprintf(name, sizeof name, "h_%d.%d.pt.trace.json", 100 + r, w);
            write_profile(folder, name,
                          (struct made_profile){.rank = r,
                                                .world = 2,
                                                .begin_us = NOON + w * 10000000,
                                                .steps = 40,
                                                .first_step = w * 100});
        }
    }
    load_path(&run, folder);
    CHECK_INT(run.nranks, 2);
    matches_init(&m, &run);
    for (size_t i = 0; i < m.count; i++) {
        const struct match *one = &m.list[i];
        if (one->nmembers != 2)
            continue;
        const struct match_member *a = &m.members[one->first], *b = a + 1;
        CHECK_INT(run.ranks[a->rank].ops[a->op].start_ns, run.ranks[b->rank].ops[b->op].start_ns);
        pairs++;
    }
    CHECK_INT(pairs, 40);
    matches_release(&m);
    run_release(&run);
    remove_folder(folder);
}

/* A process without a rank; and one of another process id, which is another job. */
TEST(recordings_windows_of_a_process)
{
    const char *folder = make_folder();
    struct run run;
    write_profile(folder, "h_7.1.pt.trace.json", (struct made_profile){.rank = -1, .pid = 7});
    write_profile(folder, "h_7.2.pt.trace.json",
                  (struct made_profile){.rank = -1, .pid = 7, .begin_us = NOON + 900000});
    write_profile(folder, "h_8.3.pt.trace.json",
                  (struct made_profile){.rank = -1, .pid = 8, .begin_us = NOON - 900000});
    load_path(&run, folder);
    CHECK_INT(run.nranks, 1);
    CHECK_INT(run.ranks[0].nsteps, 4);
    CHECK_HAS(note_with(&run, "other run"), "1 other run here: 'h_8.3.pt.trace.json'");
    run_release(&run);
    remove_folder(folder);
}

/* Process ids repeat in containers: without rank and host a day lies between two jobs. */
TEST(recordings_windows_without_names_are_close)
{
    const char *folder = make_folder();
    write_profile(folder, "a.json", (struct made_profile){.rank = -1, .pid = 1});
    write_profile(
        folder, "b.json",
        (struct made_profile){.rank = -1, .pid = 1, .begin_us = NOON + (int64_t)1800 * 1000000});
    check_read("folder", folder, 1, NULL);
    write_profile(folder, "c.json",
                  (struct made_profile){.rank = -1, .pid = 1, .begin_us = NOON + DAY});
    check_read("folder", folder, 1, "'a.json' (2 files, 2023-11-14 22:13:20, another time)");
    remove_folder(folder);
}

/* One folder a window, as torchtitan writes them. */
TEST(recordings_windows_in_folders)
{
    const char *folder = make_folder();
    struct run run;
    for (int w = 0; w < 2; w++) {
        char name[64];
        snprintf(name, sizeof name, "iteration_%d", w);
        CHECK_INT(mkdir(file_in(folder, name), 0700), 0);
        for (int r = 0; r < 2; r++) {
            snprintf(name, sizeof name, "iteration_%d/rank%d_trace.json", w, r);
            write_profile(
                folder, name,
                (struct made_profile){
                    .rank = r, .world = 2, .begin_us = NOON + w * 1000000, .first_step = 10 * w});
        }
    }
    load_path(&run, folder);
    CHECK_INT(run.nranks, 2);
    CHECK_INT(run.ranks[1].nops, 8);
    CHECK_STR(note_with(&run, "other run"), "");
    run_release(&run);
    remove_folder(folder);
}

/* Three folders of two ranks; the second and the third are copies. */
static void load_folders(struct run *run, int first_pid)
{
    const char *folder = make_folder();
    for (int job = 0; job < 3; job++) {
        char name[64];
        snprintf(name, sizeof name, "run %d", job);
        CHECK_INT(mkdir(file_in(folder, name), 0700), 0);
        for (int r = 0; r < 2; r++) {
            snprintf(name, sizeof name, "run %d/rank%d.json", job, r);
            write_profile(folder, name,
                          (struct made_profile){.rank = r,
                                                .world = 2,
                                                .pid = first_pid + r,
                                                .begin_us = NOON + (job > 0) * 100000000,
                                                .first_step = 2});
        }
    }
    load_path(run, folder);
    remove_folder(folder);
}

/* Two runs in containers, whose processes have the same numbers: steps begin anew. Copies do not
 * make another run of it. */
TEST(recordings_of_containers_in_folders)
{
    struct run run;
    load_folders(&run, 100);
    CHECK_INT(run.nranks, 2);
    CHECK_INT(run.ranks[1].nops, 4);
    CHECK_HAS(note_with(&run, "other run"), "1 other run here");
    CHECK_HAS(note_with(&run, "cop"), "2 files here are copies of another: left out");
    run_release(&run);
}

/* A process that makes a profiler for each epoch. */
TEST(recordings_of_two_profilers_in_folders)
{
    struct run run;
    load_folders(&run, 1234567);
    CHECK_INT(run.nranks, 2);
    CHECK_INT(run.ranks[1].nops, 8);
    CHECK_STR(note_with(&run, "other run"), "");
    run_release(&run);
}

TEST(recordings_copies_count_once)
{
    const char *folder = make_folder();
    struct run run;
    write_profile(folder, "a.json", (struct made_profile){.rank = 0, .world = 1});
    write_profile(folder, "b.json", (struct made_profile){.rank = 0, .world = 1});
    load_path(&run, folder);
    CHECK_INT(run.nranks, 1);
    CHECK_INT(run.ranks[0].nops, 4);
    CHECK_HAS(note_with(&run, "cop"), "1 file here is a copy of another: left out");
    run_release(&run);
    remove_folder(folder);
}

TEST(recordings_of_equal_extent_are_no_copies)
{
    const char *folder = make_folder();
    write_profile(folder, "a.json", (struct made_profile){.rank = 0, .world = 1});
    write_profile(folder, "b.json", (struct made_profile){.rank = 0, .world = 1, .kernel = "relu"});
    CHECK_HAS(load_error(folder, NULL), "holds 2 runs and nothing tells which is the newest");
    remove_folder(folder);
}

TEST(recordings_by_threads_are_the_same)
{
    const char *folder = make_folder();
    int64_t end[2] = {0, 0};
    for (int w = 0; w < 60; w++) {
        char name[64];
        snprintf(name, sizeof name, "h_%d.%d.pt.trace.json", 100 + w % 2, w);
        write_profile(
            folder, name,
            (struct made_profile){
                .rank = w % 2, .world = 2, .begin_us = NOON + w / 2 * 1000000, .first_step = w});
    }
    for (int i = 0; i < 2; i++) {
        struct load_opts opts = {.threads = i == 0 ? 1 : 8};
        struct run run;
        struct err e;
        CHECK_INT(run_load(&run, folder, &opts, &e), 0);
        CHECK_INT(run.nranks, 2);
        CHECK_INT(run.ranks[1].nsteps, 60);
        end[i] = run.ranks[1].steps[59].end_ns;
        run_release(&run);
    }
    CHECK_INT(end[0], end[1]);
    remove_folder(folder);
}
