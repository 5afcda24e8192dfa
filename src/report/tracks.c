/* SPDX-License-Identifier: MIT */
#include "report/tracks.h"

#include "base/arena.h"
#include "base/order.h"
#include "report/op_text.h"
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

/* The flow that an op is part of. */
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
    *end_ns = op_end_ns(op);
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

static void add(struct track_walk *d, const struct pending_slice *s)
{
    if (s->start_ns == UNKNOWN_NS || s->end_ns == UNKNOWN_NS || s->end_ns < s->start_ns)
        return;
    ARRAY_GROW(d->list, d->cap, d->count + 1);
    d->list[d->count++] = *s;
}

static void collect(struct track_walk *d, const struct rank *rank)
{
    d->count = 0;
    for (uint32_t i = 0; i < rank->nsteps; i++) {
        const struct step *x = &rank->steps[i];
        add(d, &(struct pending_slice){x->start_ns, x->end_ns, TRACK_STEPS, SLICE_STEP, 0, 0, i});
    }
    for (uint32_t i = 0; i < rank->nmarks; i++) {
        const struct mark *x = &rank->marks[i];
        add(d, &(struct pending_slice){x->start_ns, x->end_ns, TRACK_MARKS, SLICE_MARK, 0,
                                       (int32_t)x->tid, i});
    }
    for (uint32_t i = 0; i < rank->nsync_calls; i++) {
        const struct sync_call *x = &rank->sync_calls[i];
        add(d, &(struct pending_slice){x->host_ns, x->host_end_ns, TRACK_THREAD, SLICE_SYNC_CALL, 0,
                                       (int32_t)x->tid, i});
    }
    for (uint32_t i = 0; i < rank->nlaunches; i++) {
        const struct launches *x = &rank->launches[i];
        add(d, &(struct pending_slice){x->host_ns, x->host_end_ns, TRACK_THREAD, SLICE_LAUNCHES, 0,
                                       (int32_t)x->tid, i});
    }
    for (uint32_t i = 0; i < rank->nops; i++) {
        const struct op *op = &rank->ops[i];
        int64_t start_ns, end_ns;
        if (op_span(op, &start_ns, &end_ns))
            add(d, &(struct pending_slice){start_ns, end_ns, TRACK_STREAM, SLICE_OP, 0, op->stream,
                                           i});
        if (call_span(op, &start_ns, &end_ns) && !same_call(rank, i))
            add(d, &(struct pending_slice){start_ns, end_ns, TRACK_THREAD, SLICE_CALL, 0,
                                           (int32_t)op->tid, i});
    }
}

/* Of one start longer ones first, so that they enclose. */
static int by_track(const void *pa, const void *pb)
{
    const struct pending_slice *a = pa, *b = pb;
    int order = ORDER(a->kind, b->kind);
    if (order == 0)
        order = ORDER(a->id, b->id);
    if (order == 0)
        order = ORDER(a->lane, b->lane);
    if (order == 0)
        order = ORDER(a->start_ns, b->start_ns);
    if (order == 0)
        order = ORDER(b->end_ns, a->end_ns);
    if (order == 0)
        order = ORDER(a->what, b->what);
    return order != 0 ? order : ORDER(a->index, b->index);
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

static bool same_track(const struct pending_slice *a, const struct pending_slice *b)
{
    return a->kind == b->kind && a->id == b->id;
}

static void place_all(struct track_walk *d)
{
    struct slice_stack *lanes = array_new(LANES, sizeof *lanes);
    for (size_t i = 0, end; i < d->count; i = end) {
        for (end = i; end < d->count && same_track(&d->list[i], &d->list[end]);)
            end++;
        /* Each slice of the track, by start, gets the first lane where it nests. What finds none is
         * left out: LANES. */
        struct pending_slice *list = &d->list[i];
        int open = 0;
        for (size_t k = 0; k < end - i; k++) {
            int l = 0;
            while (l < open && !fits(&lanes[l], &list[k]))
                l++;
            if (l == open && open < LANES)
                lanes[open++].depth = 0;
            list[k].lane = (uint8_t)l;
            if (l < LANES)
                lanes[l].open[lanes[l].depth++] = &list[k];
        }
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

/* ---- counts along the time of a rank ---- */

/* One more or less at a moment. */
struct count_change {
    int64_t at_ns;
    int32_t id;  /* stream */
    int8_t kind; /* enum track_kind */
    int8_t by;
};

struct changes {
    struct count_change *list; /* owned */
    size_t count, cap;
};

static void add_change(struct changes *c, enum track_kind kind, int32_t id, int64_t from_ns,
                       int64_t to_ns)
{
    if (from_ns >= to_ns)
        return;
    ARRAY_GROW(c->list, c->cap, c->count + 2);
    c->list[c->count++] = (struct count_change){from_ns, id, (int8_t)kind, 1};
    c->list[c->count++] = (struct count_change){to_ns, id, (int8_t)kind, -1};
}

static int by_changed_track(const void *pa, const void *pb)
{
    const struct count_change *a = pa, *b = pb;
    int order = ORDER(a->kind, b->kind);
    if (order == 0)
        order = ORDER(a->id, b->id);
    return order != 0 ? order : ORDER(a->at_ns, b->at_ns);
}

static bool same_counts(const struct count_change *a, const struct count_change *b)
{
    return a->kind == b->kind && a->id == b->id;
}

/* Counters: the work of a stream that waits between its call and its start, and the operations of
 * communication that run at once. Calls track() and count() of the writer; track->number goes on
 * counting. */
static void tracks_count(const struct rank *rank, struct track *track,
                         const struct track_writer *writer)
{
    struct changes c = {0};
    char name[64];
    int64_t value = 0, written = 0;
    for (size_t i = 0; i < rank->nops; i++) {
        const struct op *op = &rank->ops[i];
        if (!op_timed(op) || op->start_ns == UNKNOWN_NS || op->dur_ns < 0)
            continue;
        if (op->host_ns != UNKNOWN_NS && op->host_end_ns >= op->host_ns)
            add_change(&c, TRACK_QUEUE, op->stream, op->host_ns, op->start_ns);
        if (op_is_comm(op))
            add_change(&c, TRACK_COMMS, 0, op->start_ns, op_end_ns(op));
    }
    if (c.count > 0)
        qsort(c.list, c.count, sizeof *c.list, by_changed_track);
    for (size_t i = 0; i < c.count; i++) {
        const struct count_change *now = &c.list[i];
        if (i == 0 || !same_counts(now, now - 1)) {
            value = written = 0;
            if (now->kind == TRACK_COMMS)
                snprintf(name, 64, "communication at once");
            else if (now->id >= 0)
                snprintf(name, 64, "queue of stream %d", now->id);
            else
                snprintf(name, 64, "queue of stream unknown");
            track->kind = (enum track_kind)now->kind;
            track->id = now->id;
            track->lane = 0;
            track->number++;
            track->name = name;
            writer->track(writer->context, track);
        }
        value += now->by;
        if (i + 1 < c.count && same_counts(now, now + 1) && now[1].at_ns == now->at_ns)
            continue; /* more changes at that moment */
        if (value != written)
            writer->count(writer->context, track, now->at_ns, value);
        written = value;
    }
    free(c.list);
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
            /* "steps", "marks of thread 0", "thread 0", "stream 7", "stream 7 (2)". */
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
    d.members = array_new(run->nranks, sizeof *d.members);
    for (size_t r = 0; r < run->nranks; r++)
        d.members[r] = array_new(run->ranks[r].nops, sizeof *d.members[r]);
    if (run->clock_aligned) { /* else arrows would point anywhere */
        struct matches m;
        matches_init(&m, run);
        for (size_t i = 0; i < m.count && i < UINT32_MAX - 1; i++)
            mark_match(&d, &m, i);
        matches_release(&m);
    }
    for (size_t r = 0; r < run->nranks; r++) {
        if (only == SIZE_MAX || only == r)
            draw_rank(&d, r);
    }
    for (size_t r = 0; r < run->nranks; r++)
        free(d.members[r]);
    free(d.members);
    free(d.list);
}
