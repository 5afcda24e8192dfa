/* SPDX-License-Identifier: MIT
 *
 * `specter replay --timeline`: a recording and its prediction as Chrome's trace events
 * (replay_report.h).
 */
#include "report/replay_report.h"

#include "base/arena.h"
#include "base/order.h"
#include "base/whole_file.h"
#include "report/chrome.h"
#include "sim/replay/job.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct timeline_file {
    struct chrome_file out;
    struct sink *sink;
    int64_t gpus;
    size_t ranks;  /* the first ones */
    uint32_t keep; /* last iterations; 0: everything */
    bool predicted;
};

enum slot_what { SLOT_OP, SLOT_WAIT, SLOT_UNTRACED, SLOT_CALL, SLOT_SYNC_CALL };

/* Something on a track. */
struct timeline_slot {
    int64_t start_ns, end_ns;
    uint32_t track; /* of the rank: host threads, then streams */
    uint32_t index; /* operation, sync call, or launches */
    uint8_t what;
};

/* A rank while it is written. */
struct timeline_rank {
    struct timeline_file *file;
    const struct replay_job *job;
    size_t r;
    const struct rank *rank;
    const struct program_rank *program; /* its part of the program */
    struct job_view view;
    bool predicted;
    int64_t shift_ns; /* added to every time */
    int pid;
    struct timeline_slot *list; /* owned */
    size_t count, cap;
};

/* Returns whether the operation was launched together with the one before it, in a group. */
static bool timeline_follows(const struct timeline_rank *tr, uint32_t op)
{
    return tr->predicted && op > 0 && tr->program->item[op - 1] == tr->program->item[op];
}

/* Returns whether an operation is written where the last `keep` iterations are; 0: everything. */
static bool is_kept(uint32_t keep, const struct rank_steps *it, size_t op)
{
    return keep == 0 || (it->of[op] != STEP_NONE && it->of[op] + (uint64_t)keep >= it->count);
}

/* ---- slices ---- */

static void put_name(struct buf *b, const struct timeline_rank *tr, const struct timeline_slot *s)
{
    char title[OP_TITLE_MAX];
    switch ((enum slot_what)s->what) {
    case SLOT_UNTRACED:
        chrome_text(b, "name", "untimed kernels");
        return;
    case SLOT_SYNC_CALL:
        chrome_text(b, "name", sync_call_title(&tr->rank->sync_calls[s->index]));
        return;
    case SLOT_WAIT:
        chrome_text(b, "name", "wait for the last member");
        return;
    default:
        chrome_text(b, "name", op_title(&tr->rank->ops[s->index], title));
    }
}

static void put_args(struct buf *b, const struct timeline_rank *tr, const struct timeline_slot *s)
{
    const struct op *op;
    uint32_t iteration;
    if (s->what == SLOT_UNTRACED || s->what == SLOT_SYNC_CALL)
        return;
    op = &tr->rank->ops[s->index];
    iteration = tr->job->steps.ranks[tr->r].of[s->index];
    buf_puts(b, ",\"args\":{");
    chrome_fields(b, tr->job->program.run, op);
    if (iteration != STEP_NONE)
        buf_printf(b, ",\"iteration\":%u", iteration);
    if (tr->predicted && s->what == SLOT_OP && op_timed(op))
        chrome_us(b, "recorded_us", op->dur_ns);
    buf_putc(b, '}');
}

/* Recorded times of a rank are drawn so much later: its clock may share no zero with others'. */
static int64_t recorded_shift_ns(const struct program_rank *rank)
{
    return rank->begin_ns - rank->origin_ns;
}

/* ---- arrows ---- */

static void put_arrow(const struct timeline_rank *tr, char phase, const char *id, const char *what,
                      uint32_t tid, int64_t at_ns)
{
    chrome_arrow(&tr->file->out,
                 &(struct chrome_arrow){phase, what, id, tr->pid, tid, at_ns + tr->shift_ns});
}

/* From a call to what it launched: to where the slices of the operation begin. */
static void put_launch(const struct timeline_rank *tr, const struct timeline_slot *s, uint32_t tid)
{
    char id[64];
    const struct op *op = &tr->rank->ops[s->index];
    bool call = s->what == SLOT_CALL;
    if (op->host_ns == UNKNOWN_NS || op->host_end_ns == UNKNOWN_NS ||
        timeline_follows(tr, s->index) ||
        (!call && tr->view.spans[s->index].start_ns < s->start_ns))
        return;
    snprintf(id, sizeof id, "\"l%d.%u\"", tr->pid, s->index);
    put_arrow(tr, call ? 's' : 'f', id, "launch", tid, s->start_ns);
}

/* The end of a member as the timeline has it; UNKNOWN_NS where the member has no slice. */
static int64_t member_end(const struct timeline_rank *tr, const struct match_member *m)
{
    const struct program *p = &tr->job->program;
    const struct op *op = &p->run->ranks[m->rank].ops[m->op];
    struct sim_span span;
    if (m->rank >= tr->file->ranks ||
        !is_kept(tr->file->keep, &tr->job->steps.ranks[m->rank], m->op))
        return UNKNOWN_NS;
    if (!tr->predicted)
        return op_timed(op) && op->start_ns != UNKNOWN_NS
                   ? op_end_ns(op) + recorded_shift_ns(&p->ranks[m->rank])
                   : UNKNOWN_NS;
    span = program_span(p, m->rank, m->op);
    return span.end_ns >= 0 ? span.end_ns : UNKNOWN_NS;
}

/* The arrow goes through the members of a transfer in the order in which they end. It is bound to
 * the slice that encloses its time. */
static void put_members(const struct timeline_rank *tr, const struct timeline_slot *s, uint32_t tid)
{
    const struct program *p = &tr->job->program;
    uint32_t match = tr->program->match[s->index], before = 0, behind = 0;
    int64_t end_ns = s->end_ns + tr->shift_ns;
    const struct match *m;
    char id[64];
    if (match == PROGRAM_NONE)
        return;
    m = &p->matches.list[match];
    for (uint32_t k = 0; k < m->nmembers; k++) {
        const struct match_member *other = &p->matches.members[m->first + k];
        int64_t other_ns = member_end(tr, other);
        if (other_ns == UNKNOWN_NS || (other->rank == tr->r && other->op == s->index))
            continue;
        if (other_ns < end_ns || (other_ns == end_ns && other->rank < tr->r))
            before++;
        else
            behind++;
    }
    if (before + behind == 0)
        return;
    snprintf(id, sizeof id, "\"%c%u\"", tr->predicted ? 'p' : 'r', match);
    put_arrow(tr,
              before == 0   ? 's'
              : behind == 0 ? 'f'
                            : 't',
              id, "members", tid, s->end_ns > s->start_ns ? s->end_ns - 1 : s->end_ns);
}

/* A slice with its arguments and arrows. */
static void timeline_slice(const struct timeline_rank *tr, const struct timeline_slot *s,
                           uint32_t tid)
{
    static const char *const kinds[] = {[SLOT_OP] = "device",
                                        [SLOT_WAIT] = "wait",
                                        [SLOT_UNTRACED] = "untraced",
                                        [SLOT_CALL] = "call",
                                        [SLOT_SYNC_CALL] = "sync"};
    struct buf *b = chrome_event(&tr->file->out);
    buf_printf(b, "{\"ph\":\"X\",\"cat\":\"%s\",\"pid\":%d,\"tid\":%u,", kinds[s->what], tr->pid,
               tid);
    put_name(b, tr, s);
    chrome_us(b, "ts", s->start_ns + tr->shift_ns);
    chrome_us(b, "dur", s->end_ns - s->start_ns);
    put_args(b, tr, s);
    buf_putc(b, '}');
    if (s->what == SLOT_UNTRACED || s->what == SLOT_SYNC_CALL)
        return;
    put_launch(tr, s, tid);
    if (s->what == SLOT_OP && op_is_comm(&tr->rank->ops[s->index]))
        put_members(tr, s, tid);
}

/* ---- one rank ---- */

/* Tracks of a rank: its host threads, then the engine's streams, each with room for what overlaps
 * there. */
#define LANES 100

static void add(struct timeline_rank *tr, enum slot_what what, uint32_t track, uint32_t index,
                struct sim_span span)
{
    if (span.end_ns < span.start_ns)
        return;
    ARRAY_GROW(tr->list, tr->cap, tr->count + 1);
    tr->list[tr->count++] =
        (struct timeline_slot){span.start_ns, span.end_ns, track, index, (uint8_t)what};
}

static uint32_t stream_track(const struct timeline_rank *tr, uint32_t item)
{
    return tr->rank->nthreads + sim_item_stream(tr->job->program.sim, item) -
           tr->program->first_stream;
}

static void add_op(struct timeline_rank *tr, uint32_t op)
{
    uint32_t item = tr->program->item[op], track;
    struct sim_span span = tr->view.spans[op];
    const struct movement *move = tr->predicted ? &tr->view.moves[op] : NULL;
    if (item == PROGRAM_NONE || span.start_ns == UNKNOWN_NS)
        return;
    track = stream_track(tr, item);
    if (move != NULL && move->moved.start_ns > span.start_ns) {
        add(tr, SLOT_WAIT, track, op, (struct sim_span){span.start_ns, move->moved.start_ns});
        span.start_ns = move->moved.start_ns;
    }
    add(tr, SLOT_OP, track, op, span);
    /* Of a call the CPU's own time; in a prediction it begins with the launch. */
    const struct op *o = &tr->rank->ops[op];
    double speed = tr->job->rep->host_speed;
    int64_t own_ns = o->host_end_ns - o->host_ns, at_ns = o->host_ns;
    if (o->host_ns == UNKNOWN_NS || o->host_end_ns == UNKNOWN_NS || timeline_follows(tr, op))
        return;
    if (tr->predicted) {
        if (o->timing == SPECTER_TIMING_SYNC && o->dur_ns != UNKNOWN_NS)
            own_ns = own_ns > o->dur_ns ? own_ns - o->dur_ns : 0;
        own_ns = (int64_t)((double)own_ns / (speed > 0 ? speed : 1));
        at_ns = sim_launched(tr->job->program.sim, tr->program->item[op]);
    }
    add(tr, SLOT_CALL, o->tid, op, (struct sim_span){at_ns, at_ns + own_ns});
}

/* Untimed kernels and synchronisations are written from the first operation on that is written. */
static void collect(struct timeline_rank *tr)
{
    const struct rank_steps *it = &tr->job->steps.ranks[tr->r];
    int64_t first_ns = tr->file->keep == 0 ? INT64_MIN : INT64_MAX;
    for (uint32_t i = 0; i < tr->rank->nops; i++) {
        int64_t start_ns = tr->view.spans[i].start_ns;
        if (!is_kept(tr->file->keep, it, i))
            continue;
        if (tr->rank->ops[i].flags & OP_COUNTED) {
            /* The time of counted kernels, of a longer pipeline too. */
            struct sim_span span = program_span(&tr->job->program, tr->r, i);
            if (span.end_ns >= 0)
                add(tr, SLOT_UNTRACED, stream_track(tr, tr->program->item[i]), i, span);
        } else {
            add_op(tr, i);
        }
        if (start_ns != UNKNOWN_NS && start_ns < first_ns)
            first_ns = start_ns;
    }
    for (uint32_t i = 0; i < tr->program->nuntraced; i++) {
        const struct program_untraced *u = &tr->program->untraced[i];
        struct sim_span span =
            tr->predicted ? sim_span(tr->job->program.sim, u->item) : u->recorded;
        if (span.end_ns >= 0 && span.start_ns >= first_ns)
            add(tr, SLOT_UNTRACED, stream_track(tr, u->item), i, span);
    }
    for (uint32_t i = 0; !tr->predicted && i < tr->rank->nsync_calls; i++) {
        const struct sync_call *sync = &tr->rank->sync_calls[i];
        if (sync->host_ns != UNKNOWN_NS && sync->host_end_ns != UNKNOWN_NS &&
            sync->host_ns >= first_ns)
            add(tr, SLOT_SYNC_CALL, sync->tid, i,
                (struct sim_span){sync->host_ns, sync->host_end_ns});
    }
}

static int by_track(const void *pa, const void *pb)
{
    const struct timeline_slot *a = pa, *b = pb;
    if (a->track != b->track)
        return ORDER(a->track, b->track);
    if (a->start_ns != b->start_ns)
        return ORDER(a->start_ns, b->start_ns);
    if (a->end_ns != b->end_ns)
        return ORDER(b->end_ns, a->end_ns);
    if (a->what != b->what)
        return ORDER(a->what, b->what);
    return ORDER(a->index, b->index);
}

/* The first lane that is free then; what equals the slice before it nests in it. LANES: none. */
static uint32_t find_lane(const struct timeline_slot *last, uint32_t lanes,
                          const struct timeline_slot *s)
{
    for (uint32_t l = 0; l < lanes; l++) {
        if (s->start_ns >= last[l].end_ns ||
            (s->start_ns == last[l].start_ns && s->end_ns == last[l].end_ns))
            return l;
    }
    return lanes;
}

static void put_rank(const struct timeline_rank *tr)
{
    struct timeline_slot last[LANES];
    uint32_t lanes = 0;
    for (size_t i = 0; i < tr->count; i++) {
        const struct timeline_slot *s = &tr->list[i];
        uint32_t lane;
        if (i == 0 || s->track != tr->list[i - 1].track)
            lanes = 0;
        lane = find_lane(last, lanes, s);
        if (lane == LANES)
            continue; /* more at once than can be looked at */
        if (lane == lanes) {
            lanes++;
            /* "thread 0", "stream 7", "stream 7 (2)". */
            uint32_t track = s->track;
            char name[64], more[16] = "";
            uint32_t threads = tr->rank->nthreads;
            if (lane > 0)
                snprintf(more, sizeof more, " (%u)", lane + 1);
            if (track < threads)
                snprintf(name, sizeof name, "thread %u%s", track, more);
            else
                snprintf(name, sizeof name, "stream %d%s", tr->program->streams[track - threads],
                         more);
            uint32_t tid = track * LANES + lane + 1;
            chrome_name(&tr->file->out, "thread", tr->pid, tid, name, tid);
        }
        last[lane] = *s;
        timeline_slice(tr, s, s->track * LANES + lane + 1);
    }
}

static void timeline_rank(struct timeline_file *t, const struct replay_job *job, size_t r,
                          bool predicted)
{
    const struct program_rank *program = &job->program.ranks[r];
    struct timeline_rank tr = {.file = t,
                               .job = job,
                               .r = r,
                               .rank = &job->program.run->ranks[r],
                               .program = program,
                               .predicted = predicted,
                               .shift_ns = predicted ? 0 : recorded_shift_ns(program),
                               .pid = (int)(2 * r) + (predicted ? 2 : 1)};
    char name[64];
    job_view_init(&tr.view, job, r, predicted);
    collect(&tr);
    if (tr.count > 0)
        qsort(tr.list, tr.count, sizeof *tr.list, by_track);
    snprintf(name, sizeof name, "rank %d %s", tr.rank->rank,
             tr.predicted ? "predicted" : "recorded");
    chrome_name(&t->out, "process", tr.pid, 0, name, tr.pid);
    put_rank(&tr);
    free(tr.list);
    job_view_release(&tr.view);
}

/* ---- the file ---- */

int timeline_file_open(struct timeline_file **out, const char *path, struct err *e)
{
    struct timeline_file *t = array_new(1, sizeof *t);
    if (sink_open(&t->sink, path, e) < 0) {
        free(t);
        return -1;
    }
    chrome_init(&t->out, t->sink);
    *out = t;
    return 0;
}

/* ---- how much of it ---- */

static uint64_t ops_of(const struct replay_job *job, size_t ranks, uint32_t keep)
{
    const struct run *run = job->program.run;
    uint64_t n = 0;
    for (size_t r = 0; r < ranks; r++) {
        const struct rank_steps *it = &job->steps.ranks[r];
        for (size_t i = 0; i < run->ranks[r].nops; i++)
            n += is_kept(keep, it, i);
    }
    return n;
}

/* Sets keep (iterations; 0: everything) and ranks. */
static void choose(struct timeline_file *t, const struct replay_job *job)
{
    uint32_t keep = job->rep->iterations;
    t->ranks = job->program.run->nranks;
    t->keep = 0;
    if (ops_of(job, t->ranks, 0) <= TIMELINE_OPS_MAX)
        return;
    while (keep > 1 && ops_of(job, t->ranks, keep) > TIMELINE_OPS_MAX)
        keep = (keep + 1) / 2;
    t->keep = keep;
    while (t->ranks > 1 && ops_of(job, t->ranks, keep) > TIMELINE_OPS_MAX)
        t->ranks = (t->ranks + 1) / 2;
}

/* ---- what is called ---- */

static void observe(void *context, const struct replay_job *job, const struct replay_scale *scale)
{
    struct timeline_file *t = context;
    if (scale != NULL && (t->predicted || scale->scale != job->rep->first_scale))
        return;
    choose(t, job); /* a longer pipeline has more ranks than the recording */
    t->predicted = t->predicted || scale != NULL;
    for (size_t r = 0; r < t->ranks; r++) {
        if (!steps_blank(job->program.run, r))
            timeline_rank(t, job, r, scale != NULL);
    }
    if (scale != NULL)
        t->gpus = scale->gpus;
}

struct replay_watch timeline_file_watch(struct timeline_file *t)
{
    return (struct replay_watch){observe, t};
}

int timeline_file_close(struct timeline_file *t, struct err *e)
{
    char other[128];
    int rc;
    snprintf(other, sizeof other, "\"by\":\"specter replay\",\"gpus\":%" PRId64 ",\"ranks\":%zu%s",
             t->gpus, t->ranks, t->keep > 0 ? ",\"last_iterations\":" : "");
    if (t->keep > 0)
        snprintf(other + strlen(other), sizeof other - strlen(other), "%u", t->keep);
    chrome_finish(&t->out, other);
    rc = sink_close(t->sink, e);
    free(t);
    return rc;
}

void timeline_file_discard(struct timeline_file *t)
{
    buf_release(&t->out.text);
    sink_discard(t->sink);
    free(t);
}
