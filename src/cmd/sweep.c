/* SPDX-License-Identifier: MIT
 *
 * specter sweep: many what-ifs of recorded runs in one call.
 */
#include "analysis/limits.h"
#include "cmd/cmd.h"

#include "cmd/shard.h"
#include "cmd/sweep.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- the threads ----
 *
 * The points of a sweep that are missing are replayed on several threads. A thread takes a job at a
 * time: all its missing points share one replay_run(), as long as every scale is possible; where
 * one is not, halves of them do, until it stands alone and its row says why. What a row says
 * depends on nothing but its point, so that threads, shards and resuming change no byte.
 */

struct sweep_work {
    struct sweep_table *table; /* receives the rows */
    const struct run *runs;    /* the grid's traces; shared, read only */
    struct sweep_file *file;   /* receives them, too; NULL: none */
    size_t first, end;         /* the points to replay, this shard's */
    size_t threads;            /* at least 1; no more are started than there are jobs */
    struct progress_line *progress;
};

/* ---- signals ---- */

static volatile sig_atomic_t caught;

static void on_signal(int number)
{
    caught = number;
}

static const int signals[] = {SIGINT, SIGTERM};
enum { SIGNALS = sizeof signals / sizeof *signals };

/* ---- what threads share ---- */

struct sweep_state {
    const struct sweep_work *work;
    const struct sweep_grid *grid;
    pthread_mutex_t lock; /* of all below, of the table's rows and of the file */
    pthread_cond_t changed;
    size_t next_job, end_job;
    size_t running; /* threads */
    size_t done;
    bool stop;
    struct err *e; /* why, when the file cannot be written; filled once */
    bool failed;
    size_t latest; /* point, for the bar */
};

/* A job's points that are to be replayed. */
struct batch {
    struct sweep_state *state;
    size_t job;
    const struct run *run;
    struct replay_opts opts;
    struct arena arena; /* of opts */
    size_t *points;     /* owned */
    int64_t *scales;    /* owned: of the points */
    size_t count;
};

static const struct sweep_value *scale_of(const struct sweep_state *state, size_t point)
{
    return &state->grid->axes[SWEEP_SCALES].values[point % state->grid->scales];
}

/* ---- one row ---- */

/* times NULL: it failed. */
static void finish_point(struct batch *b, size_t point, const struct replay *rep,
                         const struct replay_scale *times, const char *failure)
{
    struct sweep_state *state = b->state;
    struct sweep_result result = {
        .grid = state->grid,
        .job = b->job,
        .scale = scale_of(state, point),
        .id = state->work->table->rows[point].id, /* set before threads began */
        .run = b->run,
        .rep = rep,
        .times = times,
        .failure = failure,
    };
    enum sweep_status status;
    const struct sweep_work *work = state->work;
    char *line = sweep_line(&result, &status);
    pthread_mutex_lock(&state->lock);
    sweep_table_set(work->table, point, line, status);
    state->done++;
    state->latest = point;
    if (work->file != NULL && !state->failed &&
        sweep_file_append(work->file, work->table, point, state->e) < 0)
        state->failed = state->stop = true;
    pthread_cond_signal(&state->changed);
    pthread_mutex_unlock(&state->lock);
}

static void replay_points(struct batch *b, size_t first, size_t count)
{
    struct replay_opts opts = b->opts;
    struct replay rep;
    struct err why = {0};
    bool stop;
    int rc;
    pthread_mutex_lock(&b->state->lock);
    stop = b->state->stop;
    pthread_mutex_unlock(&b->state->lock);
    if (stop)
        return;
    opts.scales = &b->scales[first];
    opts.nscales = count;
    opts.brief = true;
    rc = replay_run(&rep, b->run, &opts, &why);
    for (size_t i = 0; rc == 0 && i < count; i++) {
        if (rep.scales[i].absent == 0)
            finish_point(b, b->points[first + i], &rep, &rep.scales[i], NULL);
    }
    if (rc < 0 && count == 1)
        finish_point(b, b->points[first], &rep, NULL, why.msg);
    for (size_t i = 0; rc == 0 && i < count; i++) {
        if (rep.scales[i].absent > 0)
            replay_points(b, first + i, 1); /* which refuses it, in any company */
    }
    replay_release(&rep);
    if (rc == 0 || count == 1)
        return;
    replay_points(b, first, count / 2);
    replay_points(b, first + count / 2, count - count / 2);
}

/* ---- jobs ---- */

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The next job with points of this shard that are missing, or false. */
static bool take_job(struct batch *b)
{
    struct sweep_state *state = b->state;
    const size_t scales = state->grid->scales;
    b->count = 0;
    pthread_mutex_lock(&state->lock);
    while (b->count == 0 && !state->stop && state->next_job < state->end_job) {
        size_t first = larger(state->next_job * scales, state->work->first);
        size_t end = smaller((state->next_job + 1) * scales, state->work->end);
        b->job = state->next_job++;
        for (size_t p = first; p < end; p++) {
            if (state->work->table->rows[p].line != NULL)
                continue;
            b->points[b->count] = p;
            b->scales[b->count++] = scale_of(state, p)->number;
        }
    }
    pthread_mutex_unlock(&state->lock);
    return b->count > 0;
}

static void *work_on(void *argument)
{
    struct sweep_state *state = argument;
    const struct sweep_value *traces = state->grid->axes[SWEEP_TRACES].values;
    size_t n = state->grid->scales;
    struct batch b = {.state = state};
    arena_init(&b.arena);
    b.points = array_new(n, sizeof *b.points);
    b.scales = array_new(n, sizeof *b.scales);
    while (take_job(&b)) {
        b.run = &state->work->runs[sweep_grid_value(state->grid, b.job, SWEEP_TRACES) - traces];
        sweep_grid_opts(state->grid, b.job, &b.arena, &b.opts);
        replay_points(&b, 0, b.count);
        arena_release(&b.arena);
    }
    free(b.points);
    free(b.scales);
    pthread_mutex_lock(&state->lock);
    state->running--;
    pthread_cond_signal(&state->changed);
    pthread_mutex_unlock(&state->lock);
    return NULL;
}

/* ---- all of it ---- */

/* "a100_sxm dgx_a100_200g x16": what of the latest point differs between points. */
static void show_progress(struct sweep_state *state)
{
    const struct sweep_grid *g = state->grid;
    struct buf what = BUF_INIT;
    size_t done = state->done;
    for (size_t a = 0; a < SWEEP_SCALES && done > 0; a++) {
        const struct sweep_value *v = sweep_grid_value(g, state->latest / g->scales, a);
        if (g->axes[a].count > 1)
            buf_printf(&what, "%s ", v->text != NULL ? v->text : "default");
    }
    if (done > 0)
        buf_printf(&what, "x%s", scale_of(state, state->latest)->text);
    progress_show(state->work->progress, done, what.data);
    buf_release(&what);
}

/* The caller's thread redraws the bar and watches signals. */
static void watch_threads(struct sweep_state *state)
{
    pthread_mutex_lock(&state->lock);
    show_progress(state);
    while (state->running > 0) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 100000000;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&state->changed, &state->lock, &until);
        state->stop = state->stop || caught != 0;
        show_progress(state);
    }
    pthread_mutex_unlock(&state->lock);
}

/* Signals are for the caller's thread: the others are started with all of them blocked. */
static size_t start_threads(struct sweep_state *state, pthread_t *threads, size_t wanted)
{
    sigset_t all, before;
    size_t n = 0;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    state->running = wanted;
    while (n < wanted && pthread_create(&threads[n], NULL, work_on, state) == 0)
        n++;
    pthread_mutex_lock(&state->lock);
    state->running -= wanted - n;
    pthread_mutex_unlock(&state->lock);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (n == 0)
        die("no thread can be started");
    return n;
}

/* Until all is done, the file cannot be written (-1 with e filled), or SIGINT or SIGTERM arrives:
 * then *signal is its number, else 0, and jobs that were under way have been finished. A second
 * signal ends the program. */
static int sweep_work(const struct sweep_work *work, int *signal, struct err *e)
{
    struct sweep_state state = {.work = work, .grid = work->table->grid, .e = e};
    struct sigaction before[SIGNALS],
        note = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
    pthread_t *threads = array_new(work->threads, sizeof *threads);
    size_t n;
    pthread_mutex_init(&state.lock, NULL);
    pthread_cond_init(&state.changed, NULL);
    state.next_job = work->first / state.grid->scales;
    state.end_job = (work->end + state.grid->scales - 1) / state.grid->scales;
    /* The first signal is noted, the next one has its default action again. What is ignored (nohup,
     * a job in the background) stays so. */
    caught = 0;
    for (int i = 0; i < SIGNALS; i++) {
        sigaction(signals[i], NULL, &before[i]);
        if (before[i].sa_handler != SIG_IGN)
            sigaction(signals[i], &note, NULL);
    }
    n = start_threads(&state, threads,
                      smaller(work->threads, larger(state.end_job - state.next_job, 1)));
    watch_threads(&state);
    for (size_t i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < SIGNALS; i++)
        sigaction(signals[i], &before[i], NULL);
    *signal = caught;
    pthread_cond_destroy(&state.changed);
    pthread_mutex_destroy(&state.lock);
    free(threads);
    return state.failed ? -1 : 0;
}

#define THREADS_MAX 1024

struct sweep_opts {
    const char *output, *json, *shard, *color;
    int64_t threads;
};

#define AT(field) offsetof(struct sweep_opts, field)

static const struct opt rows[] = {
    {"output", 'o', OPT_STR, AT(output), "FILE",
     "grow this table row by row, and go on from what is in it"},
    {"json", 0, OPT_STR, AT(json), "FILE|-",
     "write the rows as JSON; -: to stdout, in place of the CSV"},
    {"threads", 0, OPT_I64, AT(threads), "N", "default: one a core"},
    {"shard", 0, OPT_STR, AT(shard), "I/N|auto",
     "only the I-th of N parts of the points, from 1; auto: as srun, mpirun, a job array or "
     "Kubernetes number this process; {shard} in -o and --json becomes I"},
    {"color", 0, OPT_STR, AT(color), "WHEN", "auto, always or never (default: auto)"},
    OPT_END,
};

static const char details[] =
    "Replays every combination of the values that a grid lists. GRID.json is an object; each key\n"
    "takes a value or a list of them, and what is absent, or null, is the default of\n"
    "'specter replay':\n"
    "\n"
    "  {\"traces\": [\"./traces\"], \"gpus\": [null, \"a100_sxm\"], \"scales\": [1, 8, 64]}\n"
    "\n"
    "  traces                   folders, files or archives; DIRs take their place\n"
    "  gpus, networks           targets: profiles by name, or files\n"
    "  nccl                     the targets' version of NCCL, \"2.30\"\n"
    "  scales, grow             how many times the job, along which axis\n"
    "  parallel                 the job's parallel grid, as --parallel takes it\n"
    "  placement, strong        how ranks sit on nodes; true: the batch is divided\n"
    "  from_gpu, from_network   the hardware of the recording\n"
    "  jitter, draws, seed      how operations vary: P50 and P95\n"
    "  straggler, slow_link, failed_nic\n"
    "                           what is slow or broken, as 'specter replay' takes it\n"
    "  host_speed               how many times as fast CPUs are\n"
    "  calibrate                true, or false for the models' times alone\n"
    "\n"
    "Writes one CSV row a point, in the order of the grid: its id, what was asked, all times of\n"
    "the iteration in microseconds, throughput, speed-up, efficiency, a status and its reason.\n"
    "What cannot be computed, as a scale that a network cannot hold, is a row that says why. The\n"
    "bytes do not depend on threads, shards or interruptions. Columns, ids and JSON are in\n"
    "docs/sweep.md. A terminal gets a summary instead.\n"
    "\n"
    "With -o, Ctrl-C, a kill or a full disk lose no finished row, and the same command goes on.\n"
    "Tables of shards are put together by concatenation: the same grid with -o on the result\n"
    "brings its rows in order and computes what is missing.\n"
    "\n"
    "Exit status: 0 done, 2 bad option, 3 a bad grid, no usable trace, or output that cannot be\n"
    "written, 4 some points could not be computed or a trace was incomplete, 130 interrupted.";

/* ---- options ---- */

static int check_opts(struct sweep_opts *o, int n, struct shard *shard, enum color_when *color,
                      struct err *e)
{
    if (n == 0)
        return err_set(e, ERR_USAGE, "no GRID.json given (see 'specter help sweep')");
    if (o->threads < 0 || o->threads > THREADS_MAX)
        return err_set(e, ERR_USAGE, "--threads: %lld is not within 1 to %d", (long long)o->threads,
                       THREADS_MAX);
    if (o->output != NULL && strcmp(o->output, "-") == 0)
        o->output = NULL;
    return shard_read(o->shard, SWEEP_POINTS_MAX, shard, e) < 0 ? -1
                                                                : color_parse(o->color, color, e);
}

/* ---- a sweep ---- */

struct sweep_run {
    const struct sweep_opts *opts;
    struct sweep_grid grid;
    struct run *runs; /* by trace of the grid; owned */
    size_t nruns;
    struct sweep_table table;
    struct sweep_file file;
    size_t first, end;   /* the shard's points */
    char *output, *json; /* owned: the shard's files; NULL: none */
    enum color_when color;
};

static int load_runs(struct sweep_run *s, struct err *e)
{
    const struct sweep_list *traces = &s->grid.axes[SWEEP_TRACES];
    s->runs = array_new(traces->count, sizeof *s->runs);
    while (s->nruns < traces->count) {
        struct run *run = &s->runs[s->nruns++];
        if (cmd_load(run, traces->values[s->nruns - 1].text, NULL, e) < 0 ||
            limits_check(run, e) < 0)
            return -1;
        for (size_t i = 0; i < run->nnotes; i++)
            fprintf(stderr, "specter: note: %s: %s\n", run->source, run->notes[i].text);
    }
    return 0;
}

static size_t count_missing(const struct sweep_run *s)
{
    size_t n = 0;
    for (size_t p = s->first; p < s->end; p++)
        n += s->table.rows[p].line == NULL;
    return n;
}

static int open_output(struct sweep_run *s, struct err *e)
{
    const char *path = s->output, *json = s->json;
    struct stat table, other;
    size_t cut;
    if (path == NULL)
        return 0;
    if (sweep_file_open(&s->file, path, e) < 0)
        return -1;
    if (s->file.regular && json != NULL && stat(json, &other) == 0 &&
        fstat(s->file.fd, &table) == 0 && table.st_ino == other.st_ino &&
        table.st_dev == other.st_dev)
        return err_set(e, ERR_USAGE, "'%s' cannot hold both the table and the JSON", path);
    if (sweep_file_resume(&s->file, &s->table, &cut, e) < 0)
        return -1;
    if (cut > 0)
        fprintf(stderr, "specter: '%s': its last line was cut and is dropped\n", path);
    if (s->table.have > 0)
        fprintf(stderr, "specter: '%s': %zu of %zu points are there already\n", path, s->table.have,
                s->table.count);
    return 0;
}

static int write_output(struct sweep_run *s, struct err *e)
{
    const bool json_only = s->json != NULL && strcmp(s->json, "-") == 0;
    struct buf text = BUF_INIT;
    if (s->output != NULL && sweep_file_finish(&s->file, &s->table, e) < 0)
        return -1;
    /* Fifty columns are for programs: people get the answer. */
    if (!json_only && isatty(STDOUT_FILENO)) {
        sweep_summary(&s->table, s->output, s->color, stdout);
    } else if (!json_only && s->output == NULL) {
        sweep_table_csv(&s->table, &text);
        fwrite(text.data, 1, text.len, stdout); /* main checks that stdout took it */
        buf_release(&text);
    }
    return s->json != NULL ? cmd_write_json(sweep_table_json(&s->table), s->json, e) : 0;
}

/* The status, and in e what is to be said of it. */
static int end_status(const struct sweep_run *s, int signal, struct err *e)
{
    const struct sweep_table *t = &s->table;
    size_t left = count_missing(s), i = 0;
    struct buf why = BUF_INIT;
    if (left > 0) {
        err_set(e, ERR_INPUT, "interrupted, %zu points are missing; %s", left,
                s->output != NULL ? "the same command goes on"
                                  : "with -o FILE the same command would go on");
        return 128 + signal;
    }
    if (t->of[SWEEP_FAILED] + t->of[SWEEP_PARTIAL] == 0)
        return 0;
    while (t->rows[i].status == SWEEP_MISSING || t->rows[i].status == SWEEP_OK)
        i++;
    sweep_line_reason(t->rows[i].line, &why);
    err_set(e, ERR_PARTIAL,
            "of %zu points %zu could not be computed and %zu rest on a part of the input; the "
            "first: %s",
            t->have, t->of[SWEEP_FAILED], t->of[SWEEP_PARTIAL], why.data);
    buf_release(&why);
    return ERR_PARTIAL;
}

static int sweep(struct sweep_run *s, const struct shard *shard, struct err *e)
{
    struct progress_line bar;
    struct sweep_work work = {.table = &s->table, .runs = s->runs, .progress = &bar};
    const uint64_t points = s->grid.points, parts = (uint64_t)shard->parts;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    struct err why;
    int signal, rc;
    s->first = (size_t)((uint64_t)(shard->part - 1) * points / parts);
    s->end = (size_t)((uint64_t)shard->part * points / parts);
    s->output = shard_file(s->opts->output, shard);
    s->json = shard_file(s->opts->json, shard);
    if (open_output(s, e) < 0)
        return (int)e->code;
    work.file = s->output != NULL ? &s->file : NULL;
    work.first = s->first;
    work.end = s->end;
    work.threads = cores < 1 ? 1 : cores > THREADS_MAX ? THREADS_MAX : (size_t)cores;
    if (s->opts->threads > 0)
        work.threads = (size_t)s->opts->threads;
    progress_start(&bar, count_missing(s), s->color);
    rc = sweep_work(&work, &signal, e);
    progress_end(&bar);
    if (rc < 0) { /* e says why no more can be written */
        why = *e;
        err_set(e, why.code, "%s; the %zu points in it are whole, and the same command goes on",
                why.msg, s->file.rows);
        return (int)e->code;
    }
    if (write_output(s, e) < 0)
        return (int)e->code;
    return end_status(s, signal, e);
}

static int run_sweep(const struct command *self, int argc, char **argv, struct err *e)
{
    struct sweep_opts opts = {0};
    struct sweep_run s = {.opts = &opts, .file = {.fd = -1}};
    struct shard shard;
    int n, status = cmd_parse(self, &opts, argc, argv, false, &n, e);
    if (status != 0)
        return status;
    if (check_opts(&opts, n, &shard, &s.color, e) < 0)
        return (int)e->code;
    if (sweep_grid_read(&s.grid, argv[0], argv + 1, (size_t)n - 1, e) < 0 || load_runs(&s, e) < 0 ||
        sweep_table_init(&s.table, &s.grid, s.runs, e) < 0)
        status = (int)e->code;
    else
        status = sweep(&s, &shard, e);
    sweep_file_close(&s.file);
    sweep_table_release(&s.table);
    for (size_t i = 0; i < s.nruns; i++)
        run_release(&s.runs[i]);
    free(s.runs);
    sweep_grid_release(&s.grid);
    free(s.output);
    free(s.json);
    return status;
}

const struct command cmd_sweep = {
    .name = "sweep",
    .synopsis = "sweep GRID.json [DIR...]" SYNOPSIS_ALL,
    .summary = "replay a grid of hardware and scales, one row a point",
    .details = details,
    .rows = rows,
    .run = run_sweep,
};
