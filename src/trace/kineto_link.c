/* SPDX-License-Identifier: MIT
 *
 * The end of a Kineto file: correlation ids lead from device work to the host calls that launched
 * it, and host time on one thread from those to the operators and annotations around them.
 *
 * Communicators. Where the trace names process groups these are it. An op without a group takes the
 * one that all others of its stream have; where a stream has none (traces before 2024), the i-th
 * stream with communication is taken to be the same communicator on every rank, over all ranks.
 * Messages (Send, Recv) are never guessed into one.
 */
#include "trace/kineto.h"

#include "trace/comm_order.h"
#include "trace/et.h"

#include <stdlib.h>
#include <string.h>

#define NEST_MAX 64 /* so deep are calls of interest nested; more is no program */

/* ---- launches ---- */

static void link_launches(struct kineto *k)
{
    for (size_t i = 0; i < k->rank->nops; i++) {
        struct op *op = &k->rank->ops[i];
        uint32_t at = idmap_find(&k->launch_ids, (int64_t)op->id);
        if (at == IDMAP_NONE)
            continue;
        op->host_ns = k->launches.list[at].start_ns;
        op->host_end_ns = k->launches.list[at].end_ns;
        op->tid = k->launches.list[at].tid;
        if (op->class == OP_MEMORY)
            op->copy.by = (uint8_t)k->launches.list[at].call;
        if (k->launches.list[at].call == API_GRAPH)
            op->flags |= OP_IN_GRAPH;
    }
}

static struct sync_call *sync_call_of(struct kineto *k, int64_t correlation)
{
    uint32_t at = correlation != ARG_NONE ? idmap_find(&k->sync_call_ids, correlation) : IDMAP_NONE;
    return at != IDMAP_NONE ? &k->rank->sync_calls[at] : NULL;
}

static int32_t small(int64_t stream)
{
    return stream >= 0 && stream <= INT32_MAX ? (int32_t)stream : -1;
}

/* A wait names its stream and the event, and the call that recorded that event, and where. */
static void link_syncs(struct kineto *k)
{
    for (size_t i = 0; i < k->syncs.count; i++) {
        const struct kineto_sync *sync = &k->syncs.list[i];
        struct sync_call *sync_call = sync_call_of(k, sync->correlation);
        struct sync_call *record = sync_call_of(k, sync->record_correlation);
        if (sync_call != NULL) {
            sync_call->stream = small(sync->stream);
            sync_call->event = sync->event;
        }
        if (record != NULL && record->kind == SYNC_CALL_RECORD) {
            record->stream = small(sync->event_stream);
            record->event = sync->event;
        }
    }
}

/* ---- what is around a launch ---- */

static int compare_host(const void *pa, const void *pb)
{
    const struct kineto_host_op *a = pa, *b = pb;
    if (a->tid != b->tid)
        return a->tid < b->tid ? -1 : 1;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    return (a->end_ns < b->end_ns) - (a->end_ns > b->end_ns); /* the outer one first */
}

/* Sorts by thread and time and finds each one's parent. */
static void nest_host(struct kineto *k)
{
    struct kineto_host_op *list = k->host.list;
    if (k->host.count > 0)
        qsort(list, k->host.count, sizeof *list, compare_host);
    for (size_t i = 1; i < k->host.count; i++) {
        int32_t parent = (int32_t)i - 1;
        if (list[i].tid != list[i - 1].tid)
            continue;
        while (parent >= 0 && list[parent].end_ns < list[i].start_ns)
            parent = list[parent].parent;
        if (parent >= 0 && list[parent].depth >= NEST_MAX) /* beside it, then, not in it */
            parent = list[parent].parent;
        list[i].parent = parent;
        list[i].depth = parent >= 0 ? list[parent].depth + 1 : 0;
    }
}

/* The innermost one around a moment of a thread, or NULL. Whole microseconds cut both ends, so that
 * a moment at the very end is still inside. */
static struct kineto_host_op *around(struct kineto *k, uint32_t tid, int64_t t_ns)
{
    struct kineto_host_op *list = k->host.list;
    size_t low = 0, high = k->host.count;
    int32_t at;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (list[mid].tid < tid || (list[mid].tid == tid && list[mid].start_ns <= t_ns))
            low = mid + 1;
        else
            high = mid;
    }
    at = (int32_t)low - 1;
    if (at < 0 || list[at].tid != tid)
        return NULL;
    while (at >= 0 && list[at].end_ns < t_ns)
        at = list[at].parent;
    return at >= 0 ? &list[at] : NULL;
}

struct kineto_host_op *kineto_outer(struct kineto *k, const struct kineto_host_op *host)
{
    return host->parent >= 0 ? &k->host.list[host->parent] : NULL;
}

struct kineto_host_op *kineto_around(struct kineto *k, const struct op *op)
{
    return op->host_ns != UNKNOWN_NS ? around(k, op->tid, op->host_ns) : NULL;
}

/* ---- communication ---- */

static void link_comm(struct kineto *k)
{
    for (size_t i = 0; i < k->comm.count; i++) {
        struct op *op = &k->rank->ops[k->comm.list[i].op];
        struct kineto_meta own = kineto_meta_of(k, &k->comm.list[i].meta), params, annotation;
        bool has_params = false, has_annotation = false;
        struct kineto_host_op *host = kineto_around(k, op);
        for (; host != NULL; host = kineto_outer(k, host)) {
            if (host->kind == HOST_PARAMS && !has_params) {
                params = kineto_meta_of(k, &host->meta);
                has_params = true;
                host->work = host->work == WORK_NONE ? (int64_t)k->comm.list[i].op : WORK_MANY;
            }
            if (host->kind == HOST_COLLECTIVE && !has_annotation) {
                annotation = kineto_meta_of(k, &host->meta);
                has_annotation = true;
            }
        }
        kineto_set_comm(k, op, &own, has_params ? &params : NULL,
                        has_annotation ? &annotation : NULL);
    }
}

/* Where no group's member list says so: ranks are their own numbers in a communicator over all. */
static void join_comms(struct kineto *k)
{
    for (size_t c = 0; c < k->run->ncomms; c++) {
        const struct comm *comm = &k->run->comms[c];
        if (comm->size == k->world_size && k->rank->rank >= 0 && k->rank->rank < comm->size &&
            comm->ranks[k->rank->rank] < 0)
            rank_add_member(k->rank, (int)c, k->rank->rank, -1);
    }
}

/* ---- together ---- */

/* What the program named is the same on host and device; where only the device's side was kept it
 * still says what was when. */
static void use_gpu_marks(struct kineto *k)
{
    bool none = k->rank->nmarks == 0;
    for (size_t i = 0; none && i < k->gpu_marks.count; i++)
        *rank_add_mark(k->rank) = k->gpu_marks.list[i];
}

/* Calls of which an execution trace may tell more, with where their work stands. */
static void note_anchors(struct kineto *k)
{
    for (size_t i = 0; i < k->host.count; i++) {
        const struct kineto_host_op *host = &k->host.list[i];
        struct anchor *anchor;
        if (host->kind == HOST_COLLECTIVE)
            continue;
        ARRAY_GROW(k->rank->anchors, k->rank->cap_anchors, k->rank->nanchors + 1);
        anchor = &k->rank->anchors[k->rank->nanchors++];
        *anchor = (struct anchor){
            .name = host->name, .record_id = host->record_id, .tid = host->tid, .op = ANCHOR_NONE};
        if (host->work >= 0) {
            anchor->start_ns = ns_add(k->rank->ops[host->work].start_ns, k->base_ns);
            anchor->id = k->rank->ops[host->work].id;
            anchor->op = (uint32_t)host->work;
        }
    }
}

/* The same once the operations are in their order. */
static void place_anchors(struct kineto *k)
{
    const struct rank *rank = k->rank;
    for (size_t i = 0; i < rank->nanchors; i++) {
        struct anchor *anchor = &rank->anchors[i];
        size_t low = 0, high = rank->nops;
        if (anchor->op == ANCHOR_NONE)
            continue;
        while (low < high) {
            size_t mid = low + (high - low) / 2;
            const struct op *op = &rank->ops[mid];
            if (op->start_ns < anchor->start_ns ||
                (op->start_ns == anchor->start_ns && op->id < anchor->id))
                low = mid + 1;
            else
                high = mid;
        }
        anchor->op = low < rank->nops && rank->ops[low].start_ns == anchor->start_ns &&
                             rank->ops[low].id == anchor->id
                         ? (uint32_t)low
                         : ANCHOR_NONE;
    }
}

/* What has been used goes at once: a long trace is large where most of its lists meet. */
#define DROP(list_)                        \
    do {                                   \
        free((list_).list);                \
        memset(&(list_), 0, sizeof list_); \
    } while (0)

static void drop_calls(struct kineto *k)
{
    idmap_release(&k->launch_ids);
    idmap_release(&k->sync_call_ids);
    DROP(k->launches);
    DROP(k->syncs);
}

static void drop_comm(struct kineto *k)
{
    DROP(k->comm);
    DROP(k->metas);
}

static void drop_host(struct kineto *k)
{
    DROP(k->host);
    DROP(k->computing);
    DROP(k->gpu_marks);
}

static void drop_callers(struct kineto *k)
{
    DROP(k->callers);
    DROP(k->externals);
}

void kineto_link_comm(struct kineto *k)
{
    link_launches(k);
    link_syncs(k);
    nest_host(k);
    kineto_learn_groups(k);
    link_comm(k);
    kineto_link_batches(k);
    drop_calls(k);
    drop_comm(k);
    order_name_lanes(k->run, k->rank, k->world_size, "process groups");
}

void kineto_link(struct kineto *k)
{
    join_comms(k);
    kineto_link_products(k);
    use_gpu_marks(k);
    note_anchors(k);
    drop_host(k);
    kineto_link_callers(k);
    drop_callers(k);
    rank_shift(k->rank, k->base_ns);
    rank_sort(k->rank);
    place_anchors(k);
}
