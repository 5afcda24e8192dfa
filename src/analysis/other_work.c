/* SPDX-License-Identifier: MIT
 *
 * Copies, counted kernels and launches of graphs (end of work.h).
 */
#include "analysis/work.h"

#include "analysis/time_breakdown.h"
#include "base/arena.h"
#include "base/order.h"
#include "trace/activity.h"
#include "trace/graph.h"

#include <stdlib.h>
#include <string.h>

#define JOIN_EVERY 65536 /* launches held before those of one graph are joined: bounds memory */

void other_work_init(struct other_work *x)
{
    memset(x, 0, sizeof *x);
    x->launches.max_gap_ns = UNKNOWN_NS;
}

void other_work_release(struct other_work *x)
{
    free(x->graphs);
    other_work_init(x);
}

static void add(uint64_t *sum, uint64_t more)
{
    if (__builtin_add_overflow(*sum, more, sum))
        *sum = UINT64_MAX;
}

/* ---- copies ---- */

/* Names are interned, so that the pointer stands for the text. A trace has a few kinds; what is
 * more than can be told apart shares the last row. */
static size_t copy_row_of(struct other_work *x, const char *kind)
{
    for (size_t i = 0; i < x->ncopies; i++) {
        if (x->copies[i].kind == kind)
            return i;
    }
    if (x->ncopies == OTHER_WORK_COPY_KINDS)
        return x->ncopies - 1;
    x->copies[x->ncopies].kind = x->ncopies == OTHER_WORK_COPY_KINDS - 1 ? "other kinds" : kind;
    return x->ncopies++;
}

/* Adds the copies to their rows, and when they ran to the sets of the rows. */
static void collect_copies(struct other_work *x, const struct rank *rank, struct intervals *when)
{
    int64_t start, end;
    for (size_t i = 0; i < rank->nops; i++) {
        const struct op *op = &rank->ops[i];
        bool sized = !(op->flags & OP_BYTES_UNKNOWN);
        struct copy_row *row;
        size_t at;
        if (op->class != OP_MEMORY || op->timing == SPECTER_TIMING_CAPTURED)
            continue;
        at = copy_row_of(x, op->name);
        row = &x->copies[at];
        row->count++;
        row->sized += sized;
        add(&row->bytes, op->bytes);
        if (!op_device_time(op, &start, &end))
            continue;
        row->timed++;
        row->total_ns += (double)(end - start);
        if (sized) {
            double ns = (double)(end - start);
            double speed = ns > 0 ? (double)op->bytes / ns : 0; /* a byte a ns is a GB/s */
            add(&row->timed_bytes, op->bytes);
            row->sized_ns += ns;
            row->max_GBps = speed > row->max_GBps ? speed : row->max_GBps;
        }
        intervals_add(&when[at], start, end);
    }
}

static void add_copies(struct other_work *x, const struct rank *rank)
{
    struct intervals when[OTHER_WORK_COPY_KINDS], others, rest;
    int64_t start, end;
    intervals_init(&others);
    intervals_init(&rest);
    for (size_t i = 0; i < OTHER_WORK_COPY_KINDS; i++)
        intervals_init(&when[i]);
    collect_copies(x, rank, when);
    for (size_t i = 0; x->ncopies > 0 && i < rank->nops; i++) {
        if (activity_kind_of(&rank->ops[i]) != ACTIVITY_MEMORY &&
            op_device_time(&rank->ops[i], &start, &end))
            intervals_add(&others, start, end);
    }
    intervals_merge(&others);
    for (size_t i = 0; i < x->ncopies; i++) {
        intervals_merge(&when[i]);
        intervals_subtract(&rest, &when[i], &others);
        x->copies[i].exposed_ns += (double)intervals_length(&rest);
        intervals_release(&when[i]);
    }
    intervals_release(&others);
    intervals_release(&rest);
}

/* ---- launches ---- */

/* Records and steps are both in order of time. */
static void add_launches(struct launch_sum *sum, const struct rank *rank)
{
    size_t step = 0;
    sum->steps += rank->nsteps;
    for (size_t i = 0; i < rank->nlaunches; i++) {
        const struct launches *l = &rank->launches[i];
        bool inside = false;
        while (step < rank->nsteps && l->host_ns != UNKNOWN_NS &&
               l->host_ns >= rank->steps[step].end_ns)
            step++;
        if (l->host_ns != UNKNOWN_NS)
            inside = step < rank->nsteps && l->host_ns >= rank->steps[step].start_ns;
        if (l->graph >= 0)
            continue;
        sum->count += l->count;
        sum->in_steps += inside ? l->count : 0;
        for (int k = 0; k < SPECTER_KERNEL_CLASS_COUNT; k++) {
            sum->classes[k] += l->classes[k];
            sum->in_steps_of[k] += inside ? l->classes[k] : 0;
        }
        if (l->max_gap_ns > sum->max_gap_ns)
            sum->max_gap_ns = l->max_gap_ns;
    }
}

/* ---- graphs ---- */

static int by_graph(const void *pa, const void *pb)
{
    const struct graph_row *a = pa, *b = pb;
    return ORDER(a->graph, b->graph);
}

/* Joins the rows of one graph; leaves the list sorted by graph. */
static void join_graphs(struct other_work *x)
{
    size_t last = 0;
    if (x->ngraphs == 0)
        return;
    qsort(x->graphs, x->ngraphs, sizeof *x->graphs, by_graph);
    for (size_t i = 1; i < x->ngraphs; i++) {
        struct graph_row *row = &x->graphs[last], *more = &x->graphs[i];
        if (more->graph != row->graph) {
            x->graphs[++last] = *more;
            continue;
        }
        row->count += more->count;
        row->timed += more->timed;
        row->total_ns += more->total_ns;
        add(&row->ops, more->ops);
        add(&row->comms, more->comms);
        add(&row->comm_bytes, more->comm_bytes);
        add(&row->kernels, more->kernels);
    }
    x->ngraphs = last + 1;
}

/* Each launch is a row, to be joined with the others of its graph later. */
static void add_graphs(struct other_work *x, const struct rank *rank)
{
    struct graphs graphs;
    graphs_init(&graphs, rank);
    for (size_t i = 0; i < rank->nops; i++) {
        const struct op *op = &rank->ops[i];
        const struct graph *what;
        int64_t start = 0, end = 0;
        bool timed;
        if (op->class != OP_GRAPH)
            continue;
        what = graphs_find(&graphs, op->graph);
        timed = op_device_time(op, &start, &end);
        ARRAY_GROW(x->graphs, x->cap_graphs, x->ngraphs + 1);
        x->graphs[x->ngraphs++] = (struct graph_row){
            .graph = op->graph,
            .count = 1,
            .timed = timed,
            .total_ns = (double)(end - start),
            .ops = op->graph_launch.op_count,
            .comms = what != NULL ? what->comms : 0,
            .comm_bytes = what != NULL ? what->comm_bytes : 0,
            .kernels = what != NULL ? what->launches : 0,
        };
        if (x->ngraphs >= x->join_at) {
            join_graphs(x);
            x->join_at = 2 * x->ngraphs + JOIN_EVERY;
        }
    }
    graphs_release(&graphs);
}

/* ---- all of it ---- */

void other_work_add_rank(struct other_work *x, const struct rank *rank)
{
    add_copies(x, rank);
    add_launches(&x->launches, rank);
    add_graphs(x, rank);
}

static int copy_by_cost(const void *pa, const void *pb)
{
    const struct copy_row *a = pa, *b = pb;
    if (a->total_ns != b->total_ns)
        return a->total_ns > b->total_ns ? -1 : 1;
    return strcmp(a->kind, b->kind);
}

static int graph_by_cost(const void *pa, const void *pb)
{
    const struct graph_row *a = pa, *b = pb;
    if (a->total_ns != b->total_ns)
        return a->total_ns > b->total_ns ? -1 : 1;
    return ORDER(a->graph, b->graph);
}

void other_work_finish(struct other_work *x)
{
    if (x->ncopies > 0)
        qsort(x->copies, x->ncopies, sizeof *x->copies, copy_by_cost);
    join_graphs(x);
    if (x->ngraphs > 0)
        qsort(x->graphs, x->ngraphs, sizeof *x->graphs, graph_by_cost);
}
