/* SPDX-License-Identifier: MIT */
#include "watch/watch.h"

#include "base/child.h"
#include "base/condition.h"
#include "base/now.h"
#include "base/stats.h"
#include "trace/reader.h"
#include "trace/step_time.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define QUIET_S 6                  /* a tracer writes a clock record every four seconds */
#define LATE_NS INT64_C(200000000) /* what tracers have seen by then is in their files */

const char *watch_state_name(enum watch_state state)
{
    static const char *const names[] = {
#define X(id, name) [WATCH_##id] = name,
        WATCH_STATES(X)
#undef X
    };
    return names[state];
}

/* ---- the run, out of what is kept of its files ---- */

/* Reads the lines that are kept of the newest run into `run`, and finishes it. False: there are
 * none yet. */
static bool read_run(const struct trace_folder *f, struct run *run)
{
    struct buf text = BUF_INIT;
    run_init(run);
    run->source = f->path;
    for (size_t i = 0; i < f->count; i++) {
        const struct trace_tail *t = &f->list[i];
        if (!trace_folder_has(f, t))
            continue;
        buf_reset(&text);
        trace_tail_text(t, &text);
        jsonl_read_text(run, text.data, text.len, t->name, NULL); /* one that holds nothing is
                                                                     as good as not there yet */
    }
    buf_release(&text);
    if (run->nranks == 0)
        return false;
    reader_jsonl.finish(run);
    run_finish(run);
    return true;
}

/* The file that a rank of that run was read from. */
static const struct trace_tail *file_of(const struct trace_folder *f, const struct rank *rank)
{
    for (size_t i = 0; i < f->count; i++) {
        if (strcmp(f->list[i].name, rank->file) == 0)
            return &f->list[i];
    }
    return NULL;
}

/* A process in a container has another number here: as long as its file is written it lives. */
static bool is_written(const struct trace_tail *t)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec - t->stat.st_mtim.tv_sec < QUIET_S;
}

/* Returns whether the process of a file has ended: with its closing record; or without one, where
 * it is no process of this machine any more and its file has not been written for QUIET_S. */
static bool has_ended(const struct trace_folder *f, const struct trace_tail *t)
{
    if (t->closed || t->pid <= 0 || t->host == NULL || strcmp(t->host, f->host) != 0)
        return t->closed;
    return !is_written(t) && !child_is_alive(t->pid);
}

/* ---- the clock ---- */

static int64_t wall_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* This moment on the clock of the rank's times: of this machine by the clock that the tracer read,
 * else by the wall clocks of both. */
static int64_t moment_of(const struct trace_folder *f, const struct watch_rank *r)
{
    int64_t wall = wall_ns() - r->file->real_ns;
    if (r->rank->mono_ns == UNKNOWN_NS)
        return UNKNOWN_NS;
    if (strcmp(r->file->host, f->host) == 0 && r->file->mono_ns <= now_ns())
        return ns_add(r->rank->mono_ns, now_ns() - r->file->mono_ns);
    return ns_add(r->rank->mono_ns, wall);
}

/* ---- steps ---- */

static double median_of(const int64_t *list, size_t n, double *error)
{
    struct sample s = {0}, off = {0};
    struct sample_stats stats, spread;
    for (size_t i = 0; i < n; i++)
        sample_add(&s, list[i]);
    sample_measure(&s, &stats);
    for (size_t i = 0; i < n; i++)
        sample_add(&off, (int64_t)fabs((double)list[i] - stats.median));
    sample_measure(&off, &spread);
    /* of a median, from the median distance to it, as if lengths were normally distributed */
    *error = 1.2533 * 1.4826 * spread.median / sqrt((double)n);
    sample_release(&s);
    sample_release(&off);
    return stats.median;
}

void watch_steps_measure(struct watch_steps *s, const int64_t *lengths, size_t n)
{
    double older, newer, error, errors[2];
    size_t half = n / 2;
    *s = (struct watch_steps){n, NAN, NAN, false};
    if (n == 0)
        return;
    s->median_ns = median_of(lengths, n, &error);
    if (n < WATCH_TREND_MIN)
        return;
    older = median_of(lengths, half, &errors[0]);
    newer = median_of(lengths + half, n - half, &errors[1]);
    if (older <= 0)
        return;
    s->change = newer / older - 1;
    s->steady = fabs(s->change) < WATCH_TREND ||
                fabs(newer - older) < WATCH_TREND_ERRORS * hypot(errors[0], errors[1]);
}

/* Between moments in order; those that are not known are passed over. */
static void measure_between(struct watch_steps *s, const int64_t *moments, size_t n)
{
    int64_t lengths[WATCH_STEPS];
    size_t count = 0;
    for (size_t i = n > WATCH_STEPS + 1 ? n - WATCH_STEPS : 1; i < n; i++) {
        if (moments[i - 1] != UNKNOWN_NS && moments[i] > moments[i - 1])
            lengths[count++] = moments[i] - moments[i - 1];
    }
    watch_steps_measure(s, lengths, count);
}

static void measure_marked(struct watch_rank *r)
{
    int64_t *moments = array_new(r->rank->nsteps + 1, sizeof *moments);
    for (size_t i = 0; i < r->rank->nsteps; i++)
        moments[i] = r->rank->steps[i].start_ns;
    measure_between(&r->steps, moments, r->rank->nsteps);
    free(moments);
}

/* Measures the steps that repeat, for programs that set no marks. */
static void measure_repeated(struct watch *w)
{
    struct job_steps job;
    job_steps_find(&job, &w->run);
    for (size_t r = 0; job.source == STEPS_REPEATED && r < w->nranks; r++) {
        int64_t *ends = rank_step_ends(&job, &w->run, r);
        if (ends != NULL)
            measure_between(&w->ranks[r].steps, ends, job.count);
        free(ends);
    }
    job_steps_release(&job);
}

static void add_steps(struct watch *w)
{
    bool marked = false;
    w->step = -1;
    for (size_t r = 0; r < w->nranks; r++) {
        struct watch_rank *rank = &w->ranks[r];
        measure_marked(rank);
        rank->step = rank->file->steps > 0 && !rank->file->ring ? (int64_t)rank->file->steps : -1;
        w->step = rank->step > w->step ? rank->step : w->step;
        marked = marked || rank->file->steps > 0;
    }
    if (!marked)
        measure_repeated(w);
    for (size_t r = 0; r < w->nranks; r++) {
        const struct watch_rank *rank = &w->ranks[r];
        if (rank->steps.count > 0 &&
            (w->slowest == NULL || rank->steps.median_ns > w->slowest->steps.median_ns))
            w->slowest = rank;
    }
}

/* ---- ranks ---- */

/* The last call, but for a rank that waits: what it waits in. */
static void add_last(struct watch_rank *r, int64_t now)
{
    const struct op *oldest = NULL;
    for (size_t i = 0; i < r->rank->nops; i++) {
        const struct op *op = &r->rank->ops[i];
        int64_t called_ns = op_issued_ns(op);
        if (called_ns == UNKNOWN_NS)
            continue;
        if (r->last == NULL || called_ns >= op_issued_ns(r->last))
            r->last = op;
        if (op->timing == SPECTER_TIMING_NONE && now != UNKNOWN_NS && now - called_ns >= HANG_NS &&
            (oldest == NULL || called_ns < op_issued_ns(oldest)))
            oldest = op;
    }
    if (oldest != NULL) {
        r->last = oldest;
        r->state = WATCH_WAITS;
    }
    if (r->last != NULL && now != UNKNOWN_NS)
        r->age_ns = now > op_issued_ns(r->last) ? now - op_issued_ns(r->last) : 0;
}

static void add_states(struct watch *w, const struct trace_folder *f)
{
    for (size_t i = 0; i < w->hangs.count; i++) {
        const struct hang *hang = &w->hangs.list[i];
        for (size_t k = 0; k < hang->nranks; k++) {
            int r = rank_index(&w->run, hang->ranks[k]);
            if (r >= 0)
                w->ranks[r].state = WATCH_BLOCKED;
        }
    }
    w->ended = true;
    for (size_t r = 0; r < w->nranks; r++) {
        struct watch_rank *rank = &w->ranks[r];
        if (has_ended(f, rank->file))
            rank->state = rank->file->closed ? WATCH_ENDED : WATCH_LOST;
        else
            w->ended = false;
        if (rank->state < WATCH_ENDED && rank->age_ns != UNKNOWN_NS &&
            (w->still_ns == UNKNOWN_NS || rank->age_ns < w->still_ns))
            w->still_ns = rank->age_ns;
    }
}

static void add_ranks(struct watch *w, const struct trace_folder *f)
{
    w->nranks = w->run.nranks;
    w->ranks = array_new(w->nranks, sizeof *w->ranks);
    for (size_t r = 0; r < w->nranks; r++) {
        struct watch_rank *rank = &w->ranks[r];
        struct rank *of = &w->run.ranks[r];
        int64_t now;
        *rank = (struct watch_rank){
            .rank = of, .file = file_of(f, of), .step = -1, .age_ns = UNKNOWN_NS, .skew_ns = NAN};
        now = moment_of(f, rank);
        add_last(rank, now);
        if (w->wall_ns - rank->file->real_ns > w->since_ns)
            w->since_ns = w->wall_ns - rank->file->real_ns;
        /* The trace of a process that lives tells of every moment until now. */
        if (!has_ended(f, rank->file) && strcmp(of->host, f->host) == 0 && now != UNKNOWN_NS &&
            now - LATE_NS > of->end_ns)
            of->end_ns = now - LATE_NS;
    }
}

/* ---- arrivals ---- */

static bool is_comparable(const struct watch *w, const struct match *m)
{
    const struct match_member *members = &w->comm.matches.members[m->first];
    for (uint32_t k = 1; k < m->nmembers; k++) {
        if (!ranks_comparable(&w->run, members[k].rank, members[0].rank))
            return false;
    }
    return m->nmembers > 1;
}

static const struct op *op_of(const struct watch *w, const struct match_member *member)
{
    const struct op *op = &w->run.ranks[member->rank].ops[member->op];
    return op_timed(op) && op->start_ns != UNKNOWN_NS ? op : NULL;
}

static void add_skews(struct watch *w)
{
    struct skew {
        double sum_ns;
        uint64_t n;
    } *skews = array_new(w->nranks, sizeof *skews);
    for (size_t i = 0; i < w->comm.matches.count; i++) {
        const struct match *m = &w->comm.matches.list[i];
        const struct match_member *members = &w->comm.matches.members[m->first];
        int64_t first_ns = INT64_MAX;
        uint32_t timed = 0;
        if (m->op == SPECTER_SEND || !is_comparable(w, m))
            continue;
        for (uint32_t k = 0; k < m->nmembers; k++) {
            const struct op *op = op_of(w, &members[k]);
            timed += op != NULL;
            first_ns = op != NULL && op->start_ns < first_ns ? op->start_ns : first_ns;
        }
        for (uint32_t k = 0; k < m->nmembers && timed > 1; k++) {
            const struct op *op = op_of(w, &members[k]);
            if (op == NULL)
                continue;
            skews[members[k].rank].sum_ns += (double)(op->start_ns - first_ns);
            skews[members[k].rank].n++;
        }
    }
    for (size_t r = 0; r < w->nranks; r++) {
        if (skews[r].n > 0)
            w->ranks[r].skew_ns = skews[r].sum_ns / (double)skews[r].n;
    }
    free(skews);
}

/* ---- all of it ---- */

void watch_init(struct watch *w, const struct trace_folder *folder)
{
    struct comm_context context = {&w->machine, &w->node_map};
    memset(w, 0, sizeof *w);
    w->wall_ns = wall_ns();
    w->step = -1;
    w->still_ns = UNKNOWN_NS;
    w->has_traces = read_run(folder, &w->run);
    if (!w->has_traces)
        return;
    add_ranks(w, folder);
    add_steps(w);
    machine_find(&w->machine, &w->run, NULL, NULL);
    node_map_init(&w->node_map, &w->run, w->machine.net);
    comm_study_init(&w->comm, &w->run);
    comm_rows_init(&w->rows, &w->comm, &context, COMM_ROWS_COLLECTIVES_BY_NAME);
    hangs_find(&w->hangs, &w->run);
    add_skews(w);
    add_states(w, folder);
}

void watch_release(struct watch *w)
{
    if (w->has_traces) {
        comm_rows_release(&w->rows);
        comm_study_release(&w->comm);
        node_map_release(&w->node_map);
        hangs_release(&w->hangs);
    }
    free(w->ranks);
    run_release(&w->run);
    memset(w, 0, sizeof *w);
}

/* ---- conditions ---- */

static double value_hangs(const struct watch *w)
{
    for (size_t i = 0; i < w->run.nranks; i++) {
        if (w->run.ranks[i].coverage & COVER_NCCL)
            return (double)w->hangs.count;
    }
    return NAN;
}

static double value_step_ms(const struct watch *w)
{
    return w->slowest != NULL ? w->slowest->steps.median_ns / 1e6 : NAN;
}

static double value_still_ms(const struct watch *w)
{
    return w->still_ns != UNKNOWN_NS ? (double)w->still_ns / 1e6 : NAN;
}

static double value_of_model(const struct watch *w)
{
    double lowest = NAN;
    for (size_t i = 0; i < w->rows.count; i++)
        lowest = fmin(lowest, w->rows.list[i].of_expected);
    return lowest;
}

static double value(const void *of, size_t i, const char **lacks)
{
    static const struct {
        double (*value)(const struct watch *w);
        const char *lacks;
    } values[] = {
#define X(name, kind, lacks, help) {value_##name, lacks},
        WATCH_VALUES(X)
#undef X
    };
    *lacks = values[i].lacks;
    return values[i].value(of);
}

static const struct condition_name condition_names[] = {
#define X(name, kind, lacks, help) {#name, CONDITION_##kind},
    WATCH_VALUES(X)
#undef X
};

static const struct condition_table conditions = {
    .names = condition_names,
    .n = sizeof condition_names / sizeof *condition_names,
    .example = "hangs>0",
    .holder = "trace",
    .value = value,
};

int watch_fail_on_check(const char *expr, struct err *e)
{
    return conditions_check(&conditions, expr, e);
}

int watch_fail_on_apply(const char *expr, const struct watch *w, struct err *e)
{
    return conditions_apply(&conditions, expr, w, e);
}
