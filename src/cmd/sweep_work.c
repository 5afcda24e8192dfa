/* SPDX-License-Identifier: MIT */
#include "cmd/sweep_work.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- signals ---- */

static volatile sig_atomic_t caught;

static void on_signal(int number)
{
    caught = number;
}

static const int signals[] = {SIGINT, SIGTERM};
enum { SIGNALS = sizeof signals / sizeof *signals };

/* The first is noted, the next one has its default action again. What is ignored (nohup, a job in
 * the background) stays so. */
static void catch_signals(struct sigaction before[SIGNALS])
{
    struct sigaction note = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
    caught = 0;
    for (int i = 0; i < SIGNALS; i++) {
        sigaction(signals[i], NULL, &before[i]);
        if (before[i].sa_handler != SIG_IGN)
            sigaction(signals[i], &note, NULL);
    }
}

static void restore_signals(const struct sigaction before[SIGNALS])
{
    for (int i = 0; i < SIGNALS; i++)
        sigaction(signals[i], &before[i], NULL);
}

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

static void hand_over(struct sweep_state *state, size_t point, char *line, enum sweep_status status)
{
    const struct sweep_work *work = state->work;
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
    char *line = sweep_line(&result, &status);
    hand_over(state, point, line, status);
}

static bool stopped(struct sweep_state *state)
{
    bool stop;
    pthread_mutex_lock(&state->lock);
    stop = state->stop;
    pthread_mutex_unlock(&state->lock);
    return stop;
}

static void replay_points(struct batch *b, size_t first, size_t count)
{
    struct replay_opts opts = b->opts;
    struct replay rep;
    struct err why = {0};
    int rc;
    if (stopped(b->state))
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

/* Its points of this shard that are missing; true when there are any. */
static bool find_missing(struct batch *b)
{
    const struct sweep_state *state = b->state;
    size_t first = larger(b->job * state->grid->scales, state->work->first);
    size_t end = smaller((b->job + 1) * state->grid->scales, state->work->end);
    b->count = 0;
    for (size_t p = first; p < end; p++) {
        if (state->work->table->rows[p].line != NULL)
            continue;
        b->points[b->count] = p;
        b->scales[b->count++] = scale_of(state, p)->number;
    }
    return b->count > 0;
}

/* The next job with work in it, or false. */
static bool take_job(struct batch *b)
{
    struct sweep_state *state = b->state;
    bool found = false;
    pthread_mutex_lock(&state->lock);
    while (!found && !state->stop && state->next_job < state->end_job) {
        b->job = state->next_job++;
        found = find_missing(b);
    }
    pthread_mutex_unlock(&state->lock);
    return found;
}

static void *work_on(void *argument)
{
    struct sweep_state *state = argument;
    const struct sweep_value *traces = state->grid->axes[SWEEP_TRACES].values;
    size_t n = state->grid->scales;
    struct batch b = {.state = state};
    arena_init(&b.arena);
    b.points = calloc(n, sizeof *b.points);
    b.scales = calloc(n, sizeof *b.scales);
    if (b.points == NULL || b.scales == NULL)
        die("out of memory");
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

/* "a100_sxm dgx_a100_200g x16": what of a point differs between points. */
static void put_point(struct buf *b, const struct sweep_state *state, size_t point)
{
    for (size_t a = 0; a < SWEEP_SCALES; a++) {
        const struct sweep_value *v = sweep_grid_value(state->grid, point / state->grid->scales, a);
        if (state->grid->axes[a].count > 1)
            buf_printf(b, "%s ", v->text != NULL ? v->text : "default");
    }
    buf_printf(b, "x%s", scale_of(state, point)->text);
}

static void show(struct sweep_state *state)
{
    struct buf what = BUF_INIT;
    size_t done = state->done;
    if (done > 0)
        put_point(&what, state, state->latest);
    progress_show(state->work->progress, done, what.data);
    buf_release(&what);
}

/* The caller's thread redraws the bar and watches signals. */
static void watch_threads(struct sweep_state *state)
{
    pthread_mutex_lock(&state->lock);
    show(state);
    while (state->running > 0) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 100000000;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&state->changed, &state->lock, &until);
        state->stop = state->stop || caught != 0;
        show(state);
    }
    pthread_mutex_unlock(&state->lock);
}

/* Signals are for the caller's thread: the others are started with all of them blocked. */
static size_t start(struct sweep_state *state, pthread_t *threads, size_t wanted)
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

int sweep_work(const struct sweep_work *work, int *signal, struct err *e)
{
    struct sweep_state state = {.work = work, .grid = work->table->grid, .e = e};
    struct sigaction before[SIGNALS];
    pthread_t *threads = calloc(work->threads, sizeof *threads);
    size_t n;
    if (threads == NULL)
        die("out of memory");
    pthread_mutex_init(&state.lock, NULL);
    pthread_cond_init(&state.changed, NULL);
    state.next_job = work->first / state.grid->scales;
    state.end_job = (work->end + state.grid->scales - 1) / state.grid->scales;
    catch_signals(before);
    n = start(&state, threads, smaller(work->threads, larger(state.end_job - state.next_job, 1)));
    watch_threads(&state);
    for (size_t i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
    restore_signals(before);
    *signal = caught;
    pthread_cond_destroy(&state.changed);
    pthread_mutex_destroy(&state.lock);
    free(threads);
    return state.failed ? -1 : 0;
}
