/* SPDX-License-Identifier: MIT */
#include "sim/replay/axis_time.h"

#include "sim/replay/job.h"
#include "trace/activity.h"

#include <stdlib.h>
#include <string.h>

const char *axis_name(const struct replay_job *job, int comm)
{
    static const char part[] = "part of ";
    struct replay *rep = job->rep;
    const char *words;
    int recorded = comm < 0 ? comm : weak_scaling_recorded_comm(&job->growth, comm);
    if (comm < 0 || job->program.run->comms[comm].size == 0)
        return "unknown";
    if (recorded < 0)
        return grid_role_name(GRID_PP);
    if (rep->grid.state != GRID_FOUND || !rep->grid.comms[recorded].known)
        return arena_printf(&rep->arena, "groups of %d", job->program.run->comms[comm].size);
    words = grid_comm_text(&rep->grid, (size_t)recorded);
    return strncmp(words, part, strlen(part)) == 0 ? words + strlen(part) : words;
}

/* Communication of one axis. */
struct axis_intervals {
    const char *name;
    struct intervals all,
        moved; /* moved: and what waits, but not in the pipeline nor for absent ranks */
};

struct axes_intervals {
    struct axis_intervals list[AXIS_TIMES_MAX];
    int count;
    const struct replay_job *job;
    int *of; /* [ncomms + 1] lane of each communicator, of none last; -1 not seen yet */
};

static int lane_of(struct axes_intervals *l, int comm)
{
    int *slot = &l->of[comm >= 0 ? (size_t)comm : l->job->program.run->ncomms];
    const char *name;
    if (*slot >= 0)
        return *slot;
    name = axis_name(l->job, comm);
    for (int i = 0; i < l->count && *slot < 0; i++)
        *slot = strcmp(l->list[i].name, name) == 0 ? i : -1;
    if (*slot < 0 && l->count == AXIS_TIMES_MAX)
        *slot = AXIS_TIMES_MAX - 1;
    if (*slot >= 0)
        return *slot;
    *slot = l->count++;
    l->list[*slot].name = l->count == AXIS_TIMES_MAX ? "others" : name;
    intervals_init(&l->list[*slot].all);
    intervals_init(&l->list[*slot].moved);
    return *slot;
}

static void add_clipped(struct intervals *s, struct sim_span span, const struct step_window *w)
{
    intervals_add(s, step_window_at(w, span.start_ns), step_window_at(w, span.end_ns));
}

/* The computation that overlaps communication, timed or only counted. */
static void collect(struct axes_intervals *l, struct intervals *hides, const struct rank *rank,
                    const struct rank_timeline *when, const struct step_window *w)
{
    for (size_t i = 0; i < rank->nops; i++) {
        const struct op *op = &rank->ops[i];
        const struct movement *move = when->moves != NULL ? &when->moves[i] : NULL;
        enum activity_kind kind = activity_kind_of(op);
        struct axis_intervals *lane;
        if (when->spans[i].start_ns == UNKNOWN_NS || kind == ACTIVITY_MEMORY)
            continue;
        if (kind == ACTIVITY_COMPUTE) {
            add_clipped(hides, when->spans[i], w);
            continue;
        }
        lane = &l->list[lane_of(l, op->class == OP_GRAPH ? -1 : op->coll.comm)];
        add_clipped(&lane->all, when->spans[i], w);
        if (move == NULL || move->moved.start_ns == UNKNOWN_NS ||
            (!move->pipeline && !move->absent))
            add_clipped(&lane->moved, when->spans[i], w);
        else
            add_clipped(&lane->moved, move->moved, w);
    }
    for (size_t i = 0; i < when->nbeside; i++) {
        if (when->beside[i].kind == SLICE_UNTRACED)
            add_clipped(hides, when->beside[i].when, w);
    }
    intervals_merge(hides);
}

/* ---- moments that several axes share ---- */

struct turn {
    int64_t at_ns;
    int lane, step; /* +1 begins, -1 ends */
};

static int by_time(const void *pa, const void *pb)
{
    const struct turn *a = pa, *b = pb;
    return (a->at_ns > b->at_ns) - (a->at_ns < b->at_ns);
}

/* exposed_ns of each lane: a moment counts to equal parts for those that are under way. */
static void share(struct axis_time *out, const struct intervals *exposed, int n)
{
    bool on[AXIS_TIMES_MAX] = {false};
    struct turn *turns = NULL;
    size_t count = 0, cap = 0;
    int active = 0;
    for (int l = 0; l < n; l++) {
        for (size_t i = 0; i < exposed[l].count; i++) {
            ARRAY_GROW(turns, cap, count + 2);
            turns[count++] = (struct turn){exposed[l].list[i].start, l, 1};
            turns[count++] = (struct turn){exposed[l].list[i].end, l, -1};
        }
    }
    if (count > 0)
        qsort(turns, count, sizeof *turns, by_time);
    for (size_t i = 0; i < count; i++) {
        double ns = i > 0 ? (double)(turns[i].at_ns - turns[i - 1].at_ns) : 0;
        for (int l = 0; l < n && ns > 0; l++)
            out[l].exposed_ns += on[l] ? ns / active : 0;
        on[turns[i].lane] = turns[i].step > 0;
        active += turns[i].step;
    }
    free(turns);
}

static int by_exposed(const void *pa, const void *pb)
{
    const struct axis_time *a = pa, *b = pb;
    if (a->exposed_ns != b->exposed_ns)
        return a->exposed_ns < b->exposed_ns ? 1 : -1;
    if (a->total_ns != b->total_ns)
        return a->total_ns < b->total_ns ? 1 : -1;
    return strcmp(a->name, b->name);
}

/* Adds what the rank's lanes hold, a step of each, times `factor`; empties them. */
static void add_rank(struct axis_times *out, struct axes_intervals *l,
                     const struct intervals *hides, double factor)
{
    struct axis_time one[AXIS_TIMES_MAX] = {0};
    struct intervals exposed[AXIS_TIMES_MAX];
    for (int i = 0; i < l->count; i++) {
        struct axis_intervals *lane = &l->list[i];
        intervals_merge(&lane->all);
        intervals_merge(&lane->moved);
        intervals_init(&exposed[i]);
        intervals_subtract(&exposed[i], &lane->moved, hides);
        one[i].total_ns = (double)intervals_length(&lane->all);
        intervals_reset(&lane->all);
        intervals_reset(&lane->moved);
    }
    share(one, exposed, l->count);
    for (int i = 0; i < l->count; i++) {
        out->list[i].total_ns += one[i].total_ns * factor;
        out->list[i].exposed_ns += one[i].exposed_ns * factor;
        intervals_release(&exposed[i]);
    }
}

static void measure_rank(struct axis_times *out, struct axes_intervals *l, size_t r, bool simulated,
                         double n)
{
    const struct replay_job *job = l->job;
    const struct step_window *w = &job->windows[r], *all = &job->windows[job->deciding];
    double own_ns = step_window_mean(w), job_ns = step_window_mean(all);
    struct intervals hides;
    struct job_view v;
    job_view_init(&v, job, r, simulated);
    intervals_init(&hides);
    collect(l, &hides, &job->program.run->ranks[r], &v.when, w);
    add_rank(out, l, &hides, own_ns > 0 ? job_ns / own_ns / w->steps / n : 0);
    intervals_release(&hides);
    job_view_release(&v);
}

void axis_times_measure(struct axis_times *out, const struct replay_job *job, bool simulated)
{
    const struct run *run = job->program.run;
    struct axes_intervals l = {.job = job, .of = malloc((run->ncomms + 1) * sizeof *l.of)};
    double n = 0;
    if (l.of == NULL)
        die("out of memory");
    memset(out, 0, sizeof *out);
    for (size_t c = 0; c <= run->ncomms; c++)
        l.of[c] = -1;
    for (size_t r = 0; r < run->nranks; r++)
        n += !steps_blank(run, r) && job->windows[r].steps > 0;
    for (size_t r = 0; r < run->nranks; r++) {
        if (!steps_blank(run, r) && job->windows[r].steps > 0)
            measure_rank(out, &l, r, simulated, n);
    }
    out->count = l.count;
    for (int i = 0; i < l.count; i++) {
        out->list[i].name = l.list[i].name;
        intervals_release(&l.list[i].all);
        intervals_release(&l.list[i].moved);
    }
    qsort(out->list, (size_t)out->count, sizeof *out->list, by_exposed);
    free(l.of);
}
