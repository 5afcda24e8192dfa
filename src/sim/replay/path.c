/* SPDX-License-Identifier: MIT */
#include "sim/replay/path.h"

#include "base/kernel_class.h"
#include "base/order.h"
#include "sim/replay/job.h"
#include "trace/activity.h"

#include <stdlib.h>
#include <string.h>

/* ---- communication by axis ---- */

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
    return ORDER(a->at_ns, b->at_ns);
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
        return ORDER(b->exposed_ns, a->exposed_ns);
    if (a->total_ns != b->total_ns)
        return ORDER(b->total_ns, a->total_ns);
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
    struct axes_intervals l = {.job = job, .of = array_new(run->ncomms + 1, sizeof *l.of)};
    double n = 0;
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

/* ---- the critical path ---- */

/* The owner of an item or a transfer of the engine. */
struct origin {
    uint32_t rank, op, cost;
};

struct origins {
    struct origin *items; /* owned */
    size_t nitems, cap_items;
    uint32_t *transfers; /* [matches.count] cost of each; owned */
};

static struct origin *item_at(struct origins *o, uint32_t item)
{
    size_t before = o->nitems;
    if (item < before)
        return &o->items[item];
    ARRAY_GROW(o->items, o->cap_items, (size_t)item + 1);
    o->nitems = (size_t)item + 1;
    for (size_t i = before; i < o->nitems; i++)
        o->items[i] = (struct origin){PATH_NO_OP, PATH_NO_OP, PROGRAM_NONE};
    return &o->items[item];
}

static void find_origins(struct origins *o, const struct program *p)
{
    memset(o, 0, sizeof *o);
    o->transfers = array_new(p->matches.count, sizeof *o->transfers);
    for (size_t i = 0; i < p->matches.count; i++)
        o->transfers[i] = PROGRAM_NONE;
    for (uint32_t r = 0; r < p->run->nranks; r++) {
        for (uint32_t i = 0; i < p->run->ranks[r].nops; i++) {
            struct origin *at;
            if (p->ranks[r].item[i] == PROGRAM_NONE)
                continue;
            at = item_at(o, p->ranks[r].item[i]);
            at->rank = r;
            at->op = at->op == PATH_NO_OP ? i : at->op;
        }
    }
    for (uint32_t c = 0; c < p->ncosts; c++) {
        const struct program_cost *cost = &p->costs[c];
        if (cost->match != PROGRAM_NONE) {
            o->transfers[cost->match] = c;
            continue;
        }
        item_at(o, cost->target)->cost = c;
        o->items[cost->target].rank = cost->rank;
    }
}

static enum path_what what_of_op(const struct op *op)
{
    if (op->flags & OP_COUNTED)
        return PATH_UNTRACED;
    switch (op->class) {
    case OP_COLL:
    case OP_P2P:
        return PATH_COMM;
    case OP_GEMM:
        return PATH_GEMM;
    case OP_MEMORY:
        return PATH_COPY;
    case OP_GRAPH:
        return PATH_GRAPH;
    default:
        break;
    }
    switch (kernel_class(op->name)) {
    case SPECTER_KERNEL_GEMM:
        return PATH_GEMM;
    case SPECTER_KERNEL_ATTENTION:
        return PATH_ATTENTION;
    default:
        return PATH_KERNEL;
    }
}

static void of_item(struct path_step *out, const struct program *p, const struct origins *o,
                    uint32_t item)
{
    struct origin at = {PATH_NO_OP, PATH_NO_OP, PROGRAM_NONE};
    if (item < o->nitems)
        at = o->items[item];
    out->rank = at.rank;
    out->op = at.op;
    out->cost = at.cost;
    out->what =
        at.op == PATH_NO_OP ? PATH_UNTRACED : what_of_op(&p->run->ranks[at.rank].ops[at.op]);
}

static void of_transfer(struct path_step *out, const struct program *p, const struct origins *o,
                        uint32_t transfer)
{
    struct match_member first = p->matches.members[p->matches.list[transfer].first];
    out->what = PATH_COMM;
    out->rank = first.rank;
    out->op = first.op;
    out->cost = o->transfers[transfer];
}

static uint32_t rank_of_host(const struct program *p, uint32_t host)
{
    for (uint32_t r = 0; r < p->run->nranks; r++) {
        if (host >= p->ranks[r].first_host && host < p->ranks[r].first_host + p->ranks[r].nhosts)
            return r;
    }
    return PATH_NO_OP;
}

static struct path_step describe(const struct program *p, const struct origins *o,
                                 const struct sim_step *step)
{
    struct path_step out = {.rank = PATH_NO_OP, .op = PATH_NO_OP, .cost = PROGRAM_NONE};
    switch (step->kind) {
    case SIM_STEP_WORK:
        of_item(&out, p, o, step->who);
        break;
    case SIM_STEP_TRANSFER:
        of_transfer(&out, p, o, step->who);
        break;
    case SIM_STEP_LAG:
        of_item(&out, p, o, step->who);
        out.what = PATH_COMM;
        if (out.op != PATH_NO_OP && p->ranks[out.rank].match[out.op] != PROGRAM_NONE)
            out.cost = o->transfers[p->ranks[out.rank].match[out.op]];
        break;
    case SIM_STEP_DELAY:
        of_transfer(&out, p, o, step->who);
        out.what = PATH_LATE;
        break;
    case SIM_STEP_LATENCY:
        of_item(&out, p, o, step->who);
        out.what = PATH_LAUNCH;
        out.cost = PROGRAM_NONE;
        break;
    default:
        /* CPU time is of the operation that it leads to, where there is one. */
        out.rank = rank_of_host(p, step->who);
        if (step->item != SIM_NONE && step->item < o->nitems &&
            o->items[step->item].op != PATH_NO_OP) {
            out.rank = o->items[step->item].rank;
            out.op = o->items[step->item].op;
        }
        out.what = step->kind == SIM_STEP_BEGIN ? PATH_BEGIN : PATH_HOST;
    }
    return out;
}

/* The item whose end is the window's; SIM_NONE: the host's end, or nothing. */
static uint32_t last_item(const struct replay_job *job, size_t r, int64_t end_ns)
{
    const struct program *p = &job->program;
    const struct rank_steps *it = &job->steps.ranks[r];
    for (size_t i = p->run->ranks[r].nops; i-- > 0;) {
        if (p->ranks[r].item[i] == PROGRAM_NONE || (it->count > 1 && it->of[i] != it->count - 1))
            continue;
        if (sim_span(p->sim, p->ranks[r].item[i]).end_ns == end_ns)
            return p->ranks[r].item[i];
    }
    return SIM_NONE;
}

static uint32_t last_host(const struct program *p, const struct program_rank *rank)
{
    uint32_t last = rank->first_host;
    for (uint32_t h = 1; h < rank->nhosts; h++) {
        if (sim_host_end(p->sim, rank->first_host + h) > sim_host_end(p->sim, last))
            last = rank->first_host + h;
    }
    return last;
}

static void add(struct path *path, struct path_step step, int64_t start_ns, int64_t end_ns)
{
    step.start_ns = start_ns;
    step.end_ns = end_ns;
    if (start_ns >= end_ns)
        return;
    ARRAY_GROW(path->list, path->cap, path->count + 1);
    path->list[path->count++] = step;
}

/* Adds the parts in the window and in none of its pauses. */
static void add_within(struct path *path, struct path_step step, const struct sim_step *from,
                       const struct step_window *w)
{
    int64_t start_ns = from->start_ns > w->start_ns ? from->start_ns : w->start_ns;
    int64_t end_ns = from->end_ns < w->end_ns ? from->end_ns : w->end_ns;
    for (size_t p = w->npauses; p-- > 0;) {
        const struct interval *pause = &w->pauses[p];
        if (end_ns <= pause->start)
            continue;
        add(path, step, start_ns > pause->end ? start_ns : pause->end, end_ns);
        end_ns = end_ns < pause->start ? end_ns : pause->start;
    }
    add(path, step, start_ns, end_ns);
}

void path_find(struct path *path, const struct replay_job *job, size_t rank)
{
    const struct program *p = &job->program;
    const struct step_window *w = &job->windows[rank];
    struct origins o;
    struct sim_path at;
    struct sim_step step;
    uint32_t item;
    *path = (struct path){.rank = rank,
                          .start_ns = w->start_ns,
                          .end_ns = w->end_ns,
                          .length_ns = step_window_ns(w),
                          .iterations = w->steps};
    find_origins(&o, p);
    item = last_item(job, rank, w->end_ns);
    at = item != SIM_NONE ? sim_path_from_item(p->sim, item)
                          : sim_path_from_host(p->sim, last_host(p, &p->ranks[rank]));
    while (sim_path(p->sim, &at, &step) && step.end_ns > path->start_ns)
        add_within(path, describe(p, &o, &step), &step, w);
    free(o.items);
    free(o.transfers);
}

void path_release(struct path *path)
{
    free(path->list);
    memset(path, 0, sizeof *path);
}
