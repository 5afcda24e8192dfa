/* SPDX-License-Identifier: MIT */
#include "report/timeline_internal.h"

#include "base/arena.h"

#include <stdio.h>
#include <stdlib.h>

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
           tr->place->first_stream;
}

bool timeline_follows(const struct timeline_rank *tr, uint32_t op)
{
    return tr->predicted && op > 0 && tr->place->item[op - 1] == tr->place->item[op];
}

/* Of a call the CPU's own time; in a prediction it begins with the launch. */
static void add_call(struct timeline_rank *tr, uint32_t op)
{
    const struct op *o = &tr->rank->ops[op];
    double speed = tr->job->rep->host_speed;
    int64_t own_ns = o->host_end_ns - o->host_ns, at_ns = o->host_ns;
    if (o->host_ns == UNKNOWN_NS || o->host_end_ns == UNKNOWN_NS || timeline_follows(tr, op))
        return;
    if (tr->predicted) {
        if (o->timing == SPECTER_TIMING_SYNC && o->dur_ns != UNKNOWN_NS)
            own_ns = own_ns > o->dur_ns ? own_ns - o->dur_ns : 0;
        own_ns = (int64_t)((double)own_ns / (speed > 0 ? speed : 1));
        at_ns = sim_launched(tr->job->program.sim, tr->place->item[op]);
    }
    add(tr, SLOT_CALL, o->tid, op, (struct sim_span){at_ns, at_ns + own_ns});
}

static void add_op(struct timeline_rank *tr, uint32_t op)
{
    uint32_t item = tr->place->item[op], track;
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
    add_call(tr, op);
}

/* What stands for counted kernels in a longer pipeline. */
static void add_counted(struct timeline_rank *tr, uint32_t op)
{
    struct sim_span span = program_span(&tr->job->program, tr->r, op);
    if (span.end_ns >= 0)
        add(tr, SLOT_UNTRACED, stream_track(tr, tr->place->item[op]), op, span);
}

static void add_untraced(struct timeline_rank *tr, uint32_t index, int64_t first_ns)
{
    const struct program_untraced *u = &tr->place->untraced[index];
    struct sim_span span = tr->predicted ? sim_span(tr->job->program.sim, u->item) : u->recorded;
    if (span.end_ns >= 0 && span.start_ns >= first_ns)
        add(tr, SLOT_UNTRACED, stream_track(tr, u->item), index, span);
}

static void add_sync_call(struct timeline_rank *tr, uint32_t index, int64_t first_ns)
{
    const struct sync_call *sync = &tr->rank->sync_calls[index];
    if (sync->host_ns != UNKNOWN_NS && sync->host_end_ns != UNKNOWN_NS && sync->host_ns >= first_ns)
        add(tr, SLOT_SYNC_CALL, sync->tid, index,
            (struct sim_span){sync->host_ns, sync->host_end_ns});
}

/* What stands for no operation is written from the first operation on that is. */
static void collect(struct timeline_rank *tr)
{
    const struct rank_steps *it = &tr->job->steps.ranks[tr->r];
    int64_t first_ns = tr->file->keep == 0 ? INT64_MIN : INT64_MAX;
    for (uint32_t i = 0; i < tr->rank->nops; i++) {
        int64_t start_ns = tr->view.spans[i].start_ns;
        if (!timeline_takes(tr->file, it, i))
            continue;
        if (tr->rank->ops[i].flags & OP_COUNTED)
            add_counted(tr, i);
        else
            add_op(tr, i);
        if (start_ns != UNKNOWN_NS && start_ns < first_ns)
            first_ns = start_ns;
    }
    for (uint32_t i = 0; i < tr->place->nuntraced; i++)
        add_untraced(tr, i, first_ns);
    for (uint32_t i = 0; !tr->predicted && i < tr->rank->nsync_calls; i++)
        add_sync_call(tr, i, first_ns);
}

static int by_track(const void *pa, const void *pb)
{
    const struct timeline_slot *a = pa, *b = pb;
    if (a->track != b->track)
        return a->track < b->track ? -1 : 1;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    if (a->end_ns != b->end_ns)
        return a->end_ns > b->end_ns ? -1 : 1;
    if (a->what != b->what)
        return a->what < b->what ? -1 : 1;
    return (a->index > b->index) - (a->index < b->index);
}

/* "thread 0", "stream 7", "stream 7 (2)". */
static void name_track(const struct timeline_rank *tr, uint32_t track, uint32_t lane)
{
    char name[64], more[16] = "";
    uint32_t threads = tr->rank->nthreads;
    if (lane > 0)
        snprintf(more, sizeof more, " (%u)", lane + 1);
    if (track < threads)
        snprintf(name, sizeof name, "thread %u%s", track, more);
    else
        snprintf(name, sizeof name, "stream %d%s", tr->place->streams[track - threads], more);
    timeline_name_thread(tr, track * LANES + lane + 1, name);
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

static void emit(const struct timeline_rank *tr)
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
            name_track(tr, s->track, lane);
        }
        last[lane] = *s;
        timeline_slice(tr, s, s->track * LANES + lane + 1);
    }
}

void timeline_rank(struct timeline_file *t, const struct replay_job *job, size_t r, bool predicted)
{
    const struct program_rank *place = &job->program.ranks[r];
    struct timeline_rank tr = {.file = t,
                               .job = job,
                               .r = r,
                               .rank = &job->program.run->ranks[r],
                               .place = place,
                               .predicted = predicted,
                               .shift_ns = predicted ? 0 : place->begin_ns - place->origin_ns,
                               .pid = (int)(2 * r) + (predicted ? 2 : 1)};
    job_view_init(&tr.view, job, r, predicted);
    collect(&tr);
    if (tr.count > 0)
        qsort(tr.list, tr.count, sizeof *tr.list, by_track);
    timeline_name_process(&tr);
    emit(&tr);
    free(tr.list);
    job_view_release(&tr.view);
}
