/* SPDX-License-Identifier: MIT */
#include "report/tracks.h"

#include "base/arena.h"
#include "base/order.h"
#include "report/op_text.h"
#include "report/tracks_count.h"
#include "trace/match.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LANES 255
#define NESTING 64

/* A slice before it has a place. */
struct pending_slice {
    int64_t start_ns, end_ns;
    uint8_t kind; /* enum track_kind */
    uint8_t what; /* enum slice_what */
    uint8_t lane;
    int32_t id;
    uint32_t index; /* op, sync call, launches, mark, step */
};

/* Which flow an op is part of. */
struct membership_flow {
    uint32_t match; /* number of the match + 1; 0 none */
    uint8_t part;   /* enum flow_part */
};

struct track_walk {
    const struct run *run;
    const struct track_writer *writer;
    struct membership_flow **members; /* [nranks][nops] */
    struct pending_slice *list;       /* owned; of the rank that is drawn */
    size_t count, cap;
};

/* ---- times ---- */

static bool op_span(const struct op *op, int64_t *start_ns, int64_t *end_ns)
{
    if (!op_timed(op) || op->start_ns == UNKNOWN_NS || op->dur_ns < 0)
        return false;
    *start_ns = op->start_ns;
    *end_ns = op->start_ns + op->dur_ns;
    return true;
}

static bool call_span(const struct op *op, int64_t *start_ns, int64_t *end_ns)
{
    *start_ns = op->host_ns;
    *end_ns = op->host_end_ns;
    return op->host_ns != UNKNOWN_NS && op->host_end_ns != UNKNOWN_NS &&
           op->host_end_ns >= op->host_ns;
}

/* One call issued the operations of a group: the first of them stands for it. */
static bool same_call(const struct rank *rank, uint32_t op)
{
    const struct op *a, *b;
    if (op == 0)
        return false;
    a = &rank->ops[op - 1];
    b = &rank->ops[op];
    return a->tid == b->tid && a->host_ns == b->host_ns && a->host_end_ns == b->host_end_ns;
}

/* ---- what there is ---- */

static void add(struct track_walk *d, enum track_kind kind, int32_t id, enum slice_what what,
                uint32_t index, int64_t start_ns, int64_t end_ns)
{
    if (start_ns == UNKNOWN_NS || end_ns == UNKNOWN_NS || end_ns < start_ns)
        return;
    ARRAY_GROW(d->list, d->cap, d->count + 1);
    d->list[d->count++] =
        (struct pending_slice){start_ns, end_ns, (uint8_t)kind, (uint8_t)what, 0, id, index};
}

static void add_op(struct track_walk *d, const struct rank *rank, uint32_t i)
{
    const struct op *op = &rank->ops[i];
    int64_t start_ns, end_ns;
    if (op_span(op, &start_ns, &end_ns))
        add(d, TRACK_STREAM, op->stream, SLICE_OP, i, start_ns, end_ns);
    if (call_span(op, &start_ns, &end_ns) && !same_call(rank, i))
        add(d, TRACK_THREAD, (int32_t)op->tid, SLICE_CALL, i, start_ns, end_ns);
}

static void collect(struct track_walk *d, const struct rank *rank)
{
    d->count = 0;
    for (uint32_t i = 0; i < rank->nsteps; i++)
        add(d, TRACK_STEPS, 0, SLICE_STEP, i, rank->steps[i].start_ns, rank->steps[i].end_ns);
    for (uint32_t i = 0; i < rank->nmarks; i++)
        add(d, TRACK_MARKS, (int32_t)rank->marks[i].tid, SLICE_MARK, i, rank->marks[i].start_ns,
            rank->marks[i].end_ns);
    for (uint32_t i = 0; i < rank->nsync_calls; i++)
        add(d, TRACK_THREAD, (int32_t)rank->sync_calls[i].tid, SLICE_SYNC_CALL, i,
            rank->sync_calls[i].host_ns, rank->sync_calls[i].host_end_ns);
    for (uint32_t i = 0; i < rank->nlaunches; i++)
        add(d, TRACK_THREAD, (int32_t)rank->launches[i].tid, SLICE_LAUNCHES, i,
            rank->launches[i].host_ns, rank->launches[i].host_end_ns);
    for (uint32_t i = 0; i < rank->nops; i++)
        add_op(d, rank, i);
}

/* Longer ones first, so that they enclose. */
static int by_time(const struct pending_slice *a, const struct pending_slice *b)
{
    int order = ORDER(a->start_ns, b->start_ns);
    if (order == 0)
        order = ORDER(b->end_ns, a->end_ns);
    if (order == 0)
        order = ORDER(a->what, b->what);
    return order != 0 ? order : ORDER(a->index, b->index);
}

static int by_track(const void *pa, const void *pb)
{
    const struct pending_slice *a = pa, *b = pb;
    int order = ORDER(a->kind, b->kind);
    if (order == 0)
        order = ORDER(a->id, b->id);
    if (order == 0)
        order = ORDER(a->lane, b->lane);
    return order != 0 ? order : by_time(a, b);
}

/* ---- lanes ---- */

/* The slices that are open on a lane, the innermost last. */
struct slice_stack {
    struct pending_slice *open[NESTING];
    int depth;
};

/* Work of one stream that overlaps by no more than this does so only as its times are measured: the
 * resolution of CUDA events. The earlier one is drawn so much shorter. */
#define EVENT_NS 1000

static bool overlaps_barely(const struct pending_slice *before, const struct pending_slice *item)
{
    return item->kind == TRACK_STREAM && item->end_ns > before->end_ns &&
           before->end_ns - item->start_ns <= EVENT_NS;
}

static bool fits(struct slice_stack *lane, const struct pending_slice *item)
{
    struct pending_slice *top;
    while (lane->depth > 0) {
        top = lane->open[lane->depth - 1];
        if (overlaps_barely(top, item))
            top->end_ns = top->end_ns < item->start_ns ? top->end_ns : item->start_ns;
        if (top->end_ns > item->start_ns)
            break;
        lane->depth--;
    }
    return lane->depth < NESTING &&
           (lane->depth == 0 || item->end_ns <= lane->open[lane->depth - 1]->end_ns);
}

/* Slices of one track, by start: gives each the first lane where it nests. What finds none is left
 * out: LANES. */
static void place(struct pending_slice *list, size_t count, struct slice_stack *lanes)
{
    int open = 0;
    for (size_t i = 0; i < count; i++) {
        int l = 0;
        while (l < open && !fits(&lanes[l], &list[i]))
            l++;
        if (l == open && open < LANES)
            lanes[open++].depth = 0;
        list[i].lane = (uint8_t)l;
        if (l < LANES)
            lanes[l].open[lanes[l].depth++] = &list[i];
    }
}

static bool same_track(const struct pending_slice *a, const struct pending_slice *b)
{
    return a->kind == b->kind && a->id == b->id;
}

static void place_all(struct track_walk *d)
{
    struct slice_stack *lanes = NULL;
    size_t cap = 0;
    ARRAY_GROW(lanes, cap, LANES);
    for (size_t i = 0, end; i < d->count; i = end) {
        for (end = i; end < d->count && same_track(&d->list[i], &d->list[end]);)
            end++;
        place(&d->list[i], end - i, lanes);
    }
    free(lanes);
}

/* ---- arrows along the members of a match ---- */

static int64_t end_of(const struct run *run, const struct match_member *m)
{
    const struct op *op = &run->ranks[m->rank].ops[m->op];
    int64_t start_ns, end_ns;
    return op_span(op, &start_ns, &end_ns) ? end_ns : UNKNOWN_NS;
}

/* Marks the members that end first and last, and those between. */
static void mark_match(struct track_walk *d, const struct matches *m, size_t index)
{
    const struct match *match = &m->list[index];
    const struct match_member *first = NULL, *last = NULL;
    for (uint32_t k = 0; k < match->nmembers; k++) {
        const struct match_member *member = &m->members[match->first + k];
        int64_t end_ns = end_of(d->run, member);
        if (end_ns == UNKNOWN_NS)
            continue;
        if (first == NULL || end_ns < end_of(d->run, first))
            first = member;
        if (last == NULL || end_ns >= end_of(d->run, last))
            last = member;
        d->members[member->rank][member->op] =
            (struct membership_flow){(uint32_t)index + 1, FLOW_NEXT};
    }
    if (first == NULL)
        return;
    if (first == last) {
        d->members[first->rank][first->op] = (struct membership_flow){0, FLOW_NONE};
        return;
    }
    d->members[first->rank][first->op].part = FLOW_FIRST;
    d->members[last->rank][last->op].part = FLOW_LAST;
}

static void find_members(struct track_walk *d)
{
    struct matches m;
    size_t cap = 0;
    ARRAY_GROW(d->members, cap, d->run->nranks + 1);
    for (size_t r = 0; r < d->run->nranks; r++) {
        size_t n = d->run->ranks[r].nops + 1, cap_ops = 0;
        d->members[r] = NULL;
        ARRAY_GROW(d->members[r], cap_ops, n);
        memset(d->members[r], 0, n * sizeof *d->members[r]);
    }
    if (!d->run->clock_aligned)
        return; /* arrows would point anywhere */
    matches_init(&m, d->run);
    for (size_t i = 0; i < m.count && i < UINT32_MAX - 1; i++)
        mark_match(d, &m, i);
    matches_release(&m);
}

/* ---- writing ---- */

static uint64_t launch_flow(const struct track_walk *d, size_t r, uint32_t op)
{
    const struct op *o = &d->run->ranks[r].ops[op];
    int64_t start_ns, end_ns, call_ns, call_end_ns;
    if (!op_span(o, &start_ns, &end_ns) || !call_span(o, &call_ns, &call_end_ns) ||
        same_call(&d->run->ranks[r], op) || start_ns < call_ns)
        return 0;
    return ((uint64_t)r << 32 | op) << 1 | 1;
}

static void describe(const struct track_walk *d, size_t r, const struct pending_slice *item,
                     struct track_slice *s, char title[OP_TITLE_MAX])
{
    static const char *const categories[] = {
        [SLICE_STEP] = "step",      [SLICE_MARK] = "mark",         [SLICE_CALL] = "call",
        [SLICE_SYNC_CALL] = "sync", [SLICE_LAUNCHES] = "launches", [SLICE_OP] = "device"};
    const struct rank *rank = &d->run->ranks[r];
    *s = (struct track_slice){.start_ns = item->start_ns,
                              .end_ns = item->end_ns,
                              .what = (enum slice_what)item->what,
                              .category = categories[item->what],
                              .title = title};
    switch (s->what) {
    case SLICE_STEP:
        s->title = rank->steps[item->index].name;
        return;
    case SLICE_MARK:
        s->title = rank->marks[item->index].name;
        return;
    case SLICE_SYNC_CALL:
        s->title = sync_call_title(&rank->sync_calls[item->index]);
        return;
    case SLICE_LAUNCHES:
        snprintf(title, OP_TITLE_MAX, "%llu other kernels",
                 (unsigned long long)rank->launches[item->index].count);
        return;
    default:
        s->op = &rank->ops[item->index];
        s->title = op_title(s->op, title);
        s->launch = launch_flow(d, r, item->index);
        s->launch_part = s->launch == 0          ? FLOW_NONE
                         : s->what == SLICE_CALL ? FLOW_FIRST
                                                 : FLOW_LAST;
    }
    if (s->what == SLICE_OP) {
        const struct membership_flow *flow = &d->members[r][item->index];
        s->category = op_class_name((enum op_class)s->op->class);
        s->members = (uint64_t)flow->match << 1;
        s->members_part = (enum flow_part)flow->part;
    }
}

/* "steps", "marks of thread 0", "thread 0", "stream 7", "stream 7 (2)". */
static void name_track(const struct pending_slice *item, char name[64])
{
    size_t len;
    if (item->kind == TRACK_STEPS)
        snprintf(name, 64, "steps");
    else if (item->kind == TRACK_MARKS)
        snprintf(name, 64, "marks of thread %d", item->id);
    else if (item->kind == TRACK_THREAD)
        snprintf(name, 64, "thread %d", item->id);
    else if (item->id >= 0)
        snprintf(name, 64, "stream %d", item->id);
    else
        snprintf(name, 64, "stream unknown");
    len = strlen(name);
    if (item->lane > 0)
        snprintf(name + len, 64 - len, " (%d)", item->lane + 1);
}

static void draw_rank(struct track_walk *d, size_t r)
{
    const struct rank *rank = &d->run->ranks[r];
    const struct track_writer *w = d->writer;
    struct track track = {.rank = rank, .rank_index = r};
    char name[64], title[OP_TITLE_MAX];
    collect(d, rank);
    if (d->count > 0)
        qsort(d->list, d->count, sizeof *d->list, by_track);
    place_all(d);
    if (d->count > 0)
        qsort(d->list, d->count, sizeof *d->list, by_track);
    w->rank(w->context, rank, r);
    for (size_t i = 0; i < d->count; i++) {
        const struct pending_slice *item = &d->list[i];
        struct track_slice slice;
        if (item->lane == LANES)
            continue;
        if (i == 0 || !same_track(item, item - 1) || item->lane != item[-1].lane) {
            name_track(item, name);
            track.kind = (enum track_kind)item->kind;
            track.id = item->id;
            track.lane = item->lane;
            track.number++;
            track.name = name;
            w->track(w->context, &track);
        }
        describe(d, r, item, &slice, title);
        w->slice(w->context, &track, &slice);
    }
    tracks_count(rank, &track, w);
}

int64_t tracks_origin(const struct run *run)
{
    struct track_walk d = {.run = run};
    int64_t origin_ns = INT64_MAX;
    for (size_t r = 0; r < run->nranks; r++) {
        collect(&d, &run->ranks[r]);
        for (size_t i = 0; i < d.count; i++)
            origin_ns = d.list[i].start_ns < origin_ns ? d.list[i].start_ns : origin_ns;
    }
    free(d.list);
    return origin_ns == INT64_MAX ? 0 : origin_ns;
}

void tracks_write(const struct run *run, size_t only, const struct track_writer *writer)
{
    struct track_walk d = {.run = run, .writer = writer};
    find_members(&d);
    for (size_t r = 0; r < run->nranks; r++) {
        if (only == SIZE_MAX || only == r)
            draw_rank(&d, r);
    }
    for (size_t r = 0; r < run->nranks; r++)
        free(d.members[r]);
    free(d.members);
    free(d.list);
}
