/* SPDX-License-Identifier: MIT
 *
 * The end of a Kineto file: correlation ids lead from device work to the host calls that launched
 * it, and host time on one thread from those to the operators and annotations around them.
 *
 * Communicators of operations that name no process group: order_name_lanes() (comm_order.h).
 */
#include "trace/kineto.h"

#include "base/order.h"
#include "trace/comm_order.h"
#include "trace/et.h"

#include <stdlib.h>
#include <string.h>

#define NEST_MAX 64 /* of calls of interest; deeper nesting is taken for damage */

/* ---- launches ---- */

static struct sync_call *sync_call_of(struct kineto *k, int64_t correlation)
{
    uint32_t at = correlation != ARG_NONE ? idmap_find(&k->sync_call_ids, correlation) : IDMAP_NONE;
    return at != IDMAP_NONE ? &k->rank->sync_calls[at] : NULL;
}

static int32_t small(int64_t stream)
{
    return stream >= 0 && stream <= INT32_MAX ? (int32_t)stream : -1;
}

/* ---- what is around a launch ---- */

static int compare_host(const void *pa, const void *pb)
{
    const struct kineto_host_op *a = pa, *b = pb;
    if (a->tid != b->tid)
        return ORDER(a->tid, b->tid);
    if (a->start_ns != b->start_ns)
        return ORDER(a->start_ns, b->start_ns);
    return ORDER(b->end_ns, a->end_ns); /* the outer one first */
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

struct kineto_host_op *kineto_outer(struct kineto *k, const struct kineto_host_op *host)
{
    return host->parent >= 0 ? &k->host.list[host->parent] : NULL;
}

/* The innermost one around a moment of a thread, or NULL. Whole microseconds cut both ends, so that
 * a moment at the very end is still inside. */
struct kineto_host_op *kineto_around(struct kineto *k, const struct op *op)
{
    struct kineto_host_op *list = k->host.list;
    struct bisect find = {.high = k->host.count};
    int32_t at;
    if (op->host_ns == UNKNOWN_NS)
        return NULL;
    while (bisect_next(&find))
        bisect_take(&find,
                    list[find.mid].tid < op->tid ||
                        (list[find.mid].tid == op->tid && list[find.mid].start_ns <= op->host_ns));
    at = (int32_t)find.low - 1;
    if (at < 0 || list[at].tid != op->tid)
        return NULL;
    while (at >= 0 && list[at].end_ns < op->host_ns)
        at = list[at].parent;
    return at >= 0 ? &list[at] : NULL;
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

/* ---- kernels of operators whose arithmetic is known (product.h) ---- */

static void note_work(void *ctx, size_t call, size_t op)
{
    struct kineto *k = ctx;
    k->host.list[call].work = (int64_t)op;
}

/* ---- callers ----
 *
 * Finds the operator of the framework that launched a piece of device work: the innermost one that
 * was running on the launching thread. Where the profiler gave the work the id of an operator that
 * was running then, it is that one: it decides where whole microseconds leave it open. Ids are
 * believed alone only where the launching call is not in the trace, and never when they merely
 * repeat the correlation, as those of traces before 2024 do.
 *
 * Operators and launches are walked once, in the order of their threads and times, with the running
 * operators on a stack. */

#define RUNNING_MAX 64 /* so many running operators are looked at */

/* Device work that looks for its operator: places in the rank's list. */
struct queries {
    KINETO_LIST(uint32_t, timed); /* by thread and time */
    KINETO_LIST(uint32_t, named); /* launched by calls that the trace does not hold; by id */
};

/* The id of the operator that the profiler gave it; 0 none. */
static uint32_t external_of(const struct kineto *k, uint32_t op)
{
    uint32_t id = k->externals.list[op];
    return id != k->rank->ops[op].id ? id : 0;
}

/* The outer one first. Where whole microseconds give both the same times, ids tell, which operators
 * get as they begin. */
static int compare_callers(const struct kineto_caller *a, const struct kineto_caller *b)
{
    if (a->tid != b->tid)
        return ORDER(a->tid, b->tid);
    if (a->start_ns != b->start_ns)
        return ORDER(a->start_ns, b->start_ns);
    if (a->end_ns != b->end_ns)
        return ORDER(b->end_ns, a->end_ns);
    return ORDER(a->external, b->external);
}

static int compare_timed(const void *pa, const void *pb, void *kineto)
{
    const struct kineto *k = kineto;
    const struct op *a = &k->rank->ops[*(const uint32_t *)pa];
    const struct op *b = &k->rank->ops[*(const uint32_t *)pb];
    if (a->tid != b->tid)
        return ORDER(a->tid, b->tid);
    return ORDER(a->host_ns, b->host_ns);
}

static int compare_named(const void *pa, const void *pb, void *kineto)
{
    uint32_t a = external_of(kineto, *(const uint32_t *)pa);
    uint32_t b = external_of(kineto, *(const uint32_t *)pb);
    return ORDER(a, b);
}

/* Sorts the places; does nothing where they are in order, as in most traces. */
static void sort_places(struct kineto *k, uint32_t *list, size_t n,
                        int (*compare)(const void *, const void *, void *))
{
    size_t i = 1;
    while (i < n && compare(&list[i - 1], &list[i], k) <= 0)
        i++;
    if (i < n)
        qsort_r(list, n, sizeof *list, compare, k);
}

static int compare_places(const void *pa, const void *pb, void *callers)
{
    const struct kineto_caller *list = callers;
    return compare_callers(&list[*(const uint32_t *)pa], &list[*(const uint32_t *)pb]);
}

/* The places of the operators in their order; owned. NULL: they stand in it, as in most traces. */
static uint32_t *order_callers(struct kineto *k)
{
    struct kineto_caller *list = k->callers.list;
    uint32_t *order;
    size_t i = 1;
    while (i < k->callers.count && compare_callers(&list[i - 1], &list[i]) <= 0)
        i++;
    if (i >= k->callers.count)
        return NULL;
    order = array_new(k->callers.count, sizeof *order);
    for (i = 0; i < k->callers.count; i++)
        order[i] = (uint32_t)i;
    qsort_r(order, k->callers.count, sizeof *order, compare_places, list);
    return order;
}

struct running {
    const struct kineto_caller **list; /* owned; the innermost last */
    size_t count, cap;
};

/* Returns, of the operators that run at the launch, the one of its id, else the innermost that
 * outlasts the call, else the innermost; NULL: none runs. */
static const struct kineto_caller *choose(struct running *r, const struct op *q, uint32_t external)
{
    const struct kineto_caller *lasting = NULL;
    while (r->count > 0 && r->list[r->count - 1]->end_ns < q->host_ns)
        r->count--;
    for (size_t i = r->count, seen = 0; i-- > 0 && seen < RUNNING_MAX; seen++) {
        const struct kineto_caller *c = r->list[i];
        if (external != 0 && c->external == external)
            return c;
        if (lasting == NULL && c->end_ns >= q->host_end_ns)
            lasting = c;
    }
    return lasting != NULL || r->count == 0 ? lasting : r->list[r->count - 1];
}

static void answer_timed(struct kineto *k, const struct queries *q)
{
    struct running r = {NULL, 0, 0};
    uint32_t *order = order_callers(k);
    size_t next = 0;
    for (size_t i = 0; i < q->timed.count; i++) {
        struct op *op = &k->rank->ops[q->timed.list[i]];
        const struct kineto_caller *c;
        if (i > 0 && op->tid != k->rank->ops[q->timed.list[i - 1]].tid)
            r.count = 0;
        for (; next < k->callers.count; next++) {
            c = &k->callers.list[order != NULL ? order[next] : next];
            if (c->tid > op->tid || (c->tid == op->tid && c->start_ns > op->host_ns))
                break;
            if (c->tid == op->tid) {
                while (r.count > 0 && r.list[r.count - 1]->end_ns < c->start_ns)
                    r.count--;
                ARRAY_ROOM(r.list, r.cap, r.count + 1);
                r.list[r.count++] = c;
            }
        }
        c = choose(&r, op, external_of(k, q->timed.list[i]));
        if (c != NULL)
            op->caller = c->name;
    }
    free(r.list);
    free(order);
}

/* The first launch that bears this id, or where it would stand. */
static size_t find_named(const struct kineto *k, const struct queries *q, uint32_t external)
{
    struct bisect find = {.high = q->named.count};
    while (bisect_next(&find))
        bisect_take(&find, external_of(k, q->named.list[find.mid]) < external);
    return find.low;
}

static void link_callers(struct kineto *k)
{
    struct queries q = {0};
    if (k->callers.count == 0 || k->callers.count > UINT32_MAX || k->rank->nops > UINT32_MAX)
        return;
    for (size_t i = 0; i < k->rank->nops; i++) {
        uint32_t at = (uint32_t)i;
        if (k->rank->ops[at].host_ns != UNKNOWN_NS) {
            ARRAY_ROOM(q.timed.list, q.timed.cap, q.timed.count + 1);
            q.timed.list[q.timed.count++] = at;
        } else if (external_of(k, at) != 0) {
            ARRAY_ROOM(q.named.list, q.named.cap, q.named.count + 1);
            q.named.list[q.named.count++] = at;
        }
    }
    sort_places(k, q.timed.list, q.timed.count, compare_timed);
    sort_places(k, q.named.list, q.named.count, compare_named);
    answer_timed(k, &q);
    /* Of operators with one id the first counts. */
    for (size_t i = 0; q.named.count > 0 && i < k->callers.count; i++) {
        const struct kineto_caller *c = &k->callers.list[i];
        for (size_t n = find_named(k, &q, c->external); n < q.named.count; n++) {
            struct op *op = &k->rank->ops[q.named.list[n]];
            if (external_of(k, q.named.list[n]) != c->external || op->caller[0] != '\0')
                break;
            op->caller = c->name;
        }
    }
    free(q.timed.list);
    free(q.named.list);
}

/* ---- together ---- */

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

/* Finds the operation of each anchor again, by start and id, once rank_sort() has moved them. */
static void place_anchors(struct kineto *k)
{
    const struct rank *rank = k->rank;
    for (size_t i = 0; i < rank->nanchors; i++) {
        struct anchor *anchor = &rank->anchors[i];
        struct bisect find = {.high = rank->nops};
        if (anchor->op == ANCHOR_NONE)
            continue;
        while (bisect_next(&find)) {
            const struct op *op = &rank->ops[find.mid];
            bisect_take(&find, op->start_ns < anchor->start_ns ||
                                   (op->start_ns == anchor->start_ns && op->id < anchor->id));
        }
        anchor->op = find.low < rank->nops && rank->ops[find.low].start_ns == anchor->start_ns &&
                             rank->ops[find.low].id == anchor->id
                         ? (uint32_t)find.low
                         : ANCHOR_NONE;
    }
}

/* Frees a list as soon as it has been used: a long trace is large where most of its lists meet. */
#define DROP(list_)                        \
    do {                                   \
        free((list_).list);                \
        memset(&(list_), 0, sizeof list_); \
    } while (0)

/* Returns the index of the launch of a piece of device work; IDMAP_NONE: the trace does not hold
 * it. One that only its external id leads to takes that as its id, so that it is no operator's. */
static uint32_t find_launch(struct kineto *k, size_t i)
{
    struct op *op = &k->rank->ops[i];
    const uint32_t external = k->externals.list[i];
    uint32_t at = idmap_find(&k->launch_ids, (int64_t)op->id);
    if (at != IDMAP_NONE || (int64_t)op->id != -1 || external == 0)
        return at;
    at = idmap_find(&k->launch_ids, KINETO_EXTERNAL(external));
    if (at != IDMAP_NONE)
        op->id = external;
    return at;
}

void kineto_link_comm(struct kineto *k)
{
    for (size_t i = 0; i < k->rank->nops; i++) {
        struct op *op = &k->rank->ops[i];
        uint32_t at = find_launch(k, i);
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

    /* A wait names its stream and the event, and the call that recorded that event with its stream.
     */
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
    nest_host(k);
    kineto_learn_groups(k);
    link_comm(k);
    kineto_link_batches(k);
    idmap_release(&k->launch_ids);
    idmap_release(&k->sync_call_ids);
    DROP(k->launches);
    DROP(k->syncs);
    DROP(k->comm);
    DROP(k->metas);
    order_name_lanes(k->run, k->rank, k->world_size, "process groups");
}

void kineto_link(struct kineto *k)
{
    /* Where no group's list of members says so, ranks are their own numbers in a communicator over
     * all. */
    for (size_t c = 0; c < k->run->ncomms; c++) {
        const struct comm *comm = &k->run->comms[c];
        if (comm->size == k->world_size && k->rank->rank >= 0 && k->rank->rank < comm->size &&
            comm->ranks[k->rank->rank] < 0)
            rank_add_member(k->rank, (int)c, k->rank->rank, -1);
    }

    struct product_kernel *list = array_new(k->computing.count + 1, sizeof *list);
    size_t n = 0;
    for (size_t i = 0; i < k->computing.count; i++) {
        size_t op = k->computing.list[i];
        /* The innermost operator around the launch whose arithmetic is known (product.h). */
        struct kineto_host_op *host = kineto_around(k, &k->rank->ops[op]);
        while (host != NULL && host->kind != HOST_PRODUCT)
            host = kineto_outer(k, host);
        if (host != NULL)
            list[n++] = (struct product_kernel){(size_t)(host - k->host.list), op, &host->product};
    }
    products_assign(k->rank, list, n, note_work, k);
    free(list);

    /* Marks are on host and device alike; the device's serve only where the host's were not kept.
     */
    bool none = k->rank->nmarks == 0;
    for (size_t i = 0; none && i < k->gpu_marks.count; i++)
        *rank_add_mark(k->rank) = k->gpu_marks.list[i];
    note_anchors(k);
    DROP(k->host);
    DROP(k->computing);
    DROP(k->gpu_marks);
    link_callers(k);
    DROP(k->callers);
    DROP(k->externals);
    rank_shift(k->rank, k->base_ns);
    rank_sort(k->rank);
    place_anchors(k);
}
