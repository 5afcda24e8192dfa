/* SPDX-License-Identifier: MIT */
#include "trace/rank_join.h"

#include "base/idmap.h"
#include "base/order.h"
#include "trace/et.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what a rank covers ---- */

static void cover(int64_t *begin, int64_t *end, int64_t from, int64_t to)
{
    if (from == UNKNOWN_NS || to == UNKNOWN_NS)
        return;
    if (*begin == UNKNOWN_NS || from < *begin)
        *begin = from;
    if (*end == UNKNOWN_NS || to > *end)
        *end = to;
}

bool rank_extent(const struct rank *rank, int64_t *begin_ns, int64_t *end_ns)
{
    bool dated = rank->mono_ns != UNKNOWN_NS && rank->real_ns != UNKNOWN_NS;
    *begin_ns = *end_ns = UNKNOWN_NS;
    for (size_t i = 0; i < rank->nops; i++) {
        const struct op *op = &rank->ops[i];
        cover(begin_ns, end_ns, op->start_ns, ns_add(op->start_ns, op->dur_ns));
        cover(begin_ns, end_ns, op->host_ns, op->host_end_ns);
    }
    for (size_t i = 0; i < rank->nsync_calls; i++)
        cover(begin_ns, end_ns, rank->sync_calls[i].host_ns, rank->sync_calls[i].host_end_ns);
    for (size_t i = 0; i < rank->nsteps; i++)
        cover(begin_ns, end_ns, rank->steps[i].start_ns, rank->steps[i].end_ns);
    for (size_t i = 0; i < rank->nlaunches; i++)
        cover(begin_ns, end_ns, rank->launches[i].host_ns, rank->launches[i].host_end_ns);
    if (*begin_ns == UNKNOWN_NS) /* operations without times, as Inspector logs have */
        cover(begin_ns, end_ns, rank->end_ns, rank->end_ns);
    if (dated) {
        *begin_ns = ns_add(*begin_ns, rank->real_ns - rank->mono_ns);
        *end_ns = ns_add(*end_ns, rank->real_ns - rank->mono_ns);
    }
    if (*begin_ns == UNKNOWN_NS || *end_ns == UNKNOWN_NS)
        *begin_ns = *end_ns = UNKNOWN_NS;
    return dated;
}

/* ---- one after another ---- */

/* Adds from's threads to those of `into`. Returns the number that each has there, to be freed. */
static uint32_t *join_threads(struct rank *into, const struct rank *from)
{
    uint32_t *map = array_new((size_t)from->nthreads + 1, sizeof *map), n = into->nthreads;
    struct idmap ids = {0};
    for (uint32_t i = 0; i < from->nthreads; i++)
        map[i] = i;
    if (into->thread_ids == NULL || from->thread_ids == NULL) {
        into->nthreads = n > from->nthreads ? n : from->nthreads;
        return map;
    }
    for (uint32_t i = 0; i < n; i++)
        idmap_add(&ids, into->thread_ids[i]);
    for (uint32_t i = 0; i < from->nthreads; i++) {
        size_t cap = into->nthreads;
        map[i] = idmap_add(&ids, from->thread_ids[i]);
        if (map[i] < into->nthreads)
            continue;
        ARRAY_GROW(into->thread_ids, cap, (size_t)into->nthreads + 1);
        into->thread_ids[into->nthreads++] = from->thread_ids[i];
    }
    idmap_release(&ids);
    return map;
}

/* Offsets for the numbers of `from`, which begin at 0 in every file, that keep them apart from
 * those of `into`; threads get the number that they have there. */
struct other_numbers {
    uint32_t *threads; /* owned */
    uint32_t nthreads;
    int32_t graphs, groups;
    uint32_t ops;
};

static void renumber_thread(const struct other_numbers *n, uint32_t *tid)
{
    if (*tid < n->nthreads)
        *tid = n->threads[*tid];
}

static void renumber(const struct other_numbers *n, struct rank *rank)
{
    for (size_t i = 0; i < rank->nops; i++) {
        struct op *op = &rank->ops[i];
        renumber_thread(n, &op->tid);
        op->graph += op->graph >= 0 ? n->graphs : 0;
        if (op_is_comm(op) && op->coll.group >= 0)
            op->coll.group += n->groups;
    }
    for (size_t i = 0; i < rank->nsync_calls; i++)
        renumber_thread(n, &rank->sync_calls[i].tid);
    for (size_t i = 0; i < rank->nsteps; i++)
        renumber_thread(n, &rank->steps[i].tid);
    for (size_t i = 0; i < rank->nmarks; i++)
        renumber_thread(n, &rank->marks[i].tid);
    for (size_t i = 0; i < rank->nlaunches; i++) {
        renumber_thread(n, &rank->launches[i].tid);
        rank->launches[i].graph += rank->launches[i].graph >= 0 ? n->graphs : 0;
    }
    for (size_t i = 0; i < rank->ndetails; i++)
        rank->details[i].op += n->ops;
    for (size_t i = 0; i < rank->nanchors; i++) {
        renumber_thread(n, &rank->anchors[i].tid);
        rank->anchors[i].op += rank->anchors[i].op != ANCHOR_NONE ? n->ops : 0;
    }
}

#define APPEND(into, from, list)                                                         \
    do {                                                                                 \
        ARRAY_GROW((into)->list, (into)->cap_##list, (into)->n##list + (from)->n##list); \
        if ((from)->n##list > 0)                                                         \
            memcpy((into)->list + (into)->n##list, (from)->list,                         \
                   (from)->n##list * sizeof *(from)->list);                              \
        (into)->n##list += (from)->n##list;                                              \
    } while (0)

/* Anchors stand in the order of thread and time; those of a later window come behind. */
static void order_anchors(struct rank *rank)
{
    struct anchor *list = array_new(rank->nanchors + 1, sizeof *list);
    size_t n = 0;
    for (uint32_t tid = 0; tid < rank->nthreads; tid++) {
        for (size_t i = 0; i < rank->nanchors; i++) {
            if (rank->anchors[i].tid == tid)
                list[n++] = rank->anchors[i];
        }
    }
    if (n == rank->nanchors)
        memcpy(rank->anchors, list, n * sizeof *list);
    free(list);
}

bool rank_same_work(const struct rank *a, const struct rank *b)
{
    if (a->nops != b->nops)
        return false;
    for (size_t i = 0; i < a->nops; i++) {
        const struct op *x = &a->ops[i], *y = &b->ops[i];
        if (x->start_ns != y->start_ns || x->dur_ns != y->dur_ns || x->class != y->class ||
            x->bytes != y->bytes || strcmp(x->name, y->name) != 0)
            return false;
    }
    return true;
}

void rank_append(struct rank *into, struct rank *from)
{
    struct other_numbers numbers = {.nthreads = from->nthreads};
    numbers.ops = (uint32_t)into->nops;
    for (size_t i = 0; i < into->nops; i++) {
        const struct op *op = &into->ops[i];
        bool comm = op_is_comm(op);
        if (op->graph >= numbers.graphs)
            numbers.graphs = op->graph + 1;
        if (comm && op->coll.group >= numbers.groups)
            numbers.groups = op->coll.group + 1;
    }
    numbers.threads = join_threads(into, from);
    renumber(&numbers, from);
    APPEND(into, from, ops);
    APPEND(into, from, sync_calls);
    APPEND(into, from, steps);
    APPEND(into, from, launches);
    APPEND(into, from, marks);
    APPEND(into, from, details);
    APPEND(into, from, anchors);
    if (from->nanchors > 0)
        order_anchors(into);
    /* Places in communicators that both have count once. */
    for (size_t i = 0; i < from->nin; i++) {
        const struct membership *m = &from->in[i];
        bool there = false;
        for (size_t k = 0; k < into->nin; k++)
            there = there || (into->in[k].comm == m->comm && into->in[k].rank == m->rank);
        if (!there)
            rank_add_member(into, m->comm, m->rank, m->device);
    }
    for (size_t i = 0; i < from->nsettings; i++) {
        bool there = false;
        for (size_t k = 0; k < into->nsettings; k++)
            there = there || strcmp(into->settings[k].name, from->settings[i].name) == 0;
        if (!there)
            rank_add_setting(into, from->settings[i].name, from->settings[i].value);
    }
    into->rank = into->rank >= 0 ? into->rank : from->rank;
    into->pid = into->pid >= 0 ? into->pid : from->pid;
    into->gpu = into->gpu[0] != '\0' ? into->gpu : from->gpu;
    into->host_gpus = into->host_gpus > from->host_gpus ? into->host_gpus : from->host_gpus;
    into->coverage |= from->coverage;
    into->complete &= from->complete;
    into->torn |= from->torn;
    into->quiet &= from->quiet;
    into->undated |= from->undated;
    into->gemm_sample =
        into->gemm_sample > from->gemm_sample ? into->gemm_sample : from->gemm_sample;
    into->dropped += from->dropped;
    into->bad_lines += from->bad_lines;
    into->end_ns = into->end_ns > from->end_ns ? into->end_ns : from->end_ns;
    into->dump_ns = into->dump_ns > from->dump_ns ? into->dump_ns : from->dump_ns;
    free(numbers.threads);
    rank_clear(from);
}

/* ---- pauses ---- */

/* One window: a rank as it was read. */
struct rank_window {
    size_t rank;
    uint32_t process;
    int64_t begin_ns, end_ns;
    bool dated, copy;
};

struct joining {
    struct run *run;
    struct rank_window *list; /* owned; by process and time */
    size_t n;
    struct pause *pauses; /* owned; by time, in times as recorded */
    size_t npauses, cap_pauses;
    size_t joined, copies; /* windows after the first of their process; equal ones */
    size_t untimed;        /* of those joined */
};

static int by_process(const void *pa, const void *pb)
{
    const struct rank_window *a = pa, *b = pb;
    int order = ORDER(a->process, b->process);
    if (order == 0)
        order = ORDER(a->begin_ns, b->begin_ns);
    return order != 0 ? order : ORDER(a->rank, b->rank);
}

static int by_begin(const void *pa, const void *pb)
{
    const struct rank_window *a = pa, *b = pb;
    int order = ORDER(a->begin_ns, b->begin_ns);
    return order != 0 ? order : ORDER(a->rank, b->rank);
}

/* Returns whether any process has a window before that moment and one after it. */
static bool is_pause(const struct joining *j, int64_t from_ns, int64_t to_ns, bool dated)
{
    for (size_t i = 1; i < j->n; i++) {
        const struct rank_window *a = &j->list[i - 1], *b = &j->list[i];
        if (a->process == b->process && a->dated == dated && b->dated == dated &&
            a->begin_ns != UNKNOWN_NS && a->end_ns <= from_ns && b->begin_ns >= to_ns)
            return true;
    }
    return false;
}

static void leave_pauses_out(struct joining *j, bool dated)
{
    j->npauses = 0;
    /* Finds the stretches that no window covers, among those of dated ranks, or of the others. */
    struct rank_window *order = array_new(j->n + 1, sizeof *order);
    int64_t end_ns = UNKNOWN_NS;
    memcpy(order, j->list, j->n * sizeof *order);
    qsort(order, j->n, sizeof *order, by_begin);
    for (size_t i = 0; i < j->n; i++) {
        const struct rank_window *w = &order[i];
        if (w->begin_ns == UNKNOWN_NS || w->dated != dated)
            continue;
        if (end_ns != UNKNOWN_NS && w->begin_ns > end_ns &&
            is_pause(j, end_ns, w->begin_ns, dated)) {
            ARRAY_GROW(j->pauses, j->cap_pauses, j->npauses + 1);
            j->pauses[j->npauses++] = (struct pause){end_ns, w->begin_ns - end_ns};
        }
        end_ns = end_ns == UNKNOWN_NS || w->end_ns > end_ns ? w->end_ns : end_ns;
    }
    free(order);
    /* Moves what lies behind pauses to the front by as much as they last. */
    for (size_t i = 0; i < j->n; i++) {
        const struct rank_window *w = &j->list[i];
        int64_t by_ns = 0;
        for (size_t p = 0; p < j->npauses && w->dated == dated; p++)
            by_ns += j->pauses[p].at_ns < w->begin_ns ? j->pauses[p].dur_ns : 0;
        if (by_ns > 0)
            rank_shift(&j->run->ranks[w->rank], -by_ns);
    }
    /* Into the run, in times as they are now. Where some ranks are dated and others not, those of
     * the dated ones. */
    struct run *run = j->run;
    int64_t before_ns = 0;
    if (j->npauses == 0 || run->npauses > 0)
        return;
    run->pauses = arena_alloc(&run->arena, j->npauses * sizeof *run->pauses);
    for (size_t p = 0; p < j->npauses; p++) {
        run->pauses[run->npauses++] =
            (struct pause){j->pauses[p].at_ns - before_ns, j->pauses[p].dur_ns};
        before_ns += j->pauses[p].dur_ns;
    }
}

/* ---- ranks ---- */

static void join_ranks(struct joining *j)
{
    struct run *run = j->run;
    bool *gone = array_new(run->nranks + 1, sizeof *gone);
    size_t kept = 0;
    for (size_t i = 0, first = 0; i < j->n; i++) {
        if (j->list[i].process != j->list[first].process)
            first = i;
        if (i == first)
            continue;
        gone[j->list[i].rank] = true;
        if (j->list[i].copy)
            rank_clear(&run->ranks[j->list[i].rank]);
        else
            rank_append(&run->ranks[j->list[first].rank], &run->ranks[j->list[i].rank]);
    }
    for (size_t r = 0; r < run->nranks; r++) {
        if (!gone[r])
            run->ranks[kept++] = run->ranks[r];
    }
    run->nranks = kept;
    free(gone);
}

static void note(struct joining *j)
{
    struct run *run = j->run;
    int64_t paused_ns = 0;
    double paused_s;
    char paused[32];
    for (size_t p = 0; p < run->npauses; p++)
        paused_ns += run->pauses[p].dur_ns;
    if (j->copies > 0)
        run_note(run, false, "%zu file%s here %s of another: left out", j->copies,
                 j->copies > 1 ? "s" : "", j->copies > 1 ? "are copies" : "is a copy");
    if (j->joined == 0)
        return;
    if (j->untimed == j->joined) {
        run_note(run, false,
                 "%zu files are of %zu processes: files of one process are read as one rank",
                 j->n - j->copies, run->nranks);
        return;
    }
    paused_s = (double)paused_ns / 1e9;
    snprintf(paused, sizeof paused, paused_s < 999.5 ? "%.3g" : "%.0f", paused_s);
    run_note(run, false,
             "%zu recordings are windows of %zu rank%s, read as one recording; in the %s s between "
             "windows nothing was recorded: that time is excluded",
             j->n - j->copies, run->nranks, run->nranks > 1 ? "s" : "", paused);
}

void run_join_windows(struct run *run, const uint32_t *processes)
{
    struct joining j = {.run = run};
    j.n = j.run->nranks;
    j.list = array_new(j.n + 1, sizeof *j.list);
    for (size_t r = 0; r < j.n; r++) {
        struct rank_window *w = &j.list[r];
        w->rank = r;
        w->process = processes[r];
        w->dated = rank_extent(&j.run->ranks[r], &w->begin_ns, &w->end_ns);
    }
    qsort(j.list, j.n, sizeof *j.list, by_process);
    for (size_t i = 1; i < j.n; i++) {
        struct rank_window *w = &j.list[i];
        const struct rank_window *before = &j.list[i - 1];
        if (w->process != before->process)
            continue;
        w->copy = w->begin_ns != UNKNOWN_NS && w->begin_ns == before->begin_ns &&
                  w->end_ns == before->end_ns &&
                  rank_same_work(&j.run->ranks[w->rank], &j.run->ranks[before->rank]);
        j.copies += w->copy;
        j.joined += !w->copy;
        j.untimed += !w->copy && w->begin_ns == UNKNOWN_NS;
    }
    if (j.joined > 0) {
        leave_pauses_out(&j, true);
        leave_pauses_out(&j, false);
    }
    if (j.joined + j.copies > 0) {
        join_ranks(&j);
        note(&j);
    }
    free(j.list);
    free(j.pauses);
}
