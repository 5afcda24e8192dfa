/* SPDX-License-Identifier: MIT */
#include "sim/replay/path.h"

#include "sim/replay/job.h"

#include <stdlib.h>
#include <string.h>

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
    o->transfers = malloc((p->matches.count + 1) * sizeof *o->transfers);
    if (o->transfers == NULL)
        die("out of memory");
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
    switch (specter_kernel_class_of(op->name)) {
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

/* CPU time is of the operation that it leads to, where there is one. */
static void of_host(struct path_step *out, const struct program *p, const struct origins *o,
                    const struct sim_step *step)
{
    out->rank = rank_of_host(p, step->who);
    if (step->item != SIM_NONE && step->item < o->nitems && o->items[step->item].op != PATH_NO_OP) {
        out->rank = o->items[step->item].rank;
        out->op = o->items[step->item].op;
    }
    out->what = step->kind == SIM_STEP_BEGIN ? PATH_BEGIN : PATH_HOST;
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
        of_host(&out, p, o, step);
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

static struct sim_path begin(const struct path *path, const struct replay_job *job)
{
    const struct program *p = &job->program;
    uint32_t item = last_item(job, path->rank, path->end_ns);
    if (item != SIM_NONE)
        return sim_path_from_item(p->sim, item);
    return sim_path_from_host(p->sim, last_host(p, &p->ranks[path->rank]));
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
    *path = (struct path){.rank = rank,
                          .start_ns = w->start_ns,
                          .end_ns = w->end_ns,
                          .length_ns = step_window_ns(w),
                          .iterations = w->steps};
    find_origins(&o, p);
    at = begin(path, job);
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
