/* SPDX-License-Identifier: MIT
 *
 * Which operator of the framework launched a piece of device work: the innermost one that was
 * running on the launching thread. Where the profiler gave the work the id of an operator that was
 * running then, it is that one: it decides where whole microseconds leave it open. Ids are believed
 * alone only where the launching call is not in the trace, and never when they merely repeat the
 * correlation, as those of traces before 2024 do.
 *
 * Operators and launches are walked once, in the order of their threads and times, with the running
 * operators on a stack.
 */
#include "trace/kineto.h"

#include <stdlib.h>

#define NEST_MAX 64 /* so many running operators are looked at */

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

/* ---- order ---- */

static int compare_callers(const struct kineto_caller *a, const struct kineto_caller *b)
{
    if (a->tid != b->tid)
        return a->tid < b->tid ? -1 : 1;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    return (a->end_ns < b->end_ns) - (a->end_ns > b->end_ns); /* the outer one first */
}

static int compare_timed(const void *pa, const void *pb, void *kineto)
{
    const struct kineto *k = kineto;
    const struct op *a = &k->rank->ops[*(const uint32_t *)pa];
    const struct op *b = &k->rank->ops[*(const uint32_t *)pb];
    if (a->tid != b->tid)
        return a->tid < b->tid ? -1 : 1;
    return (a->host_ns > b->host_ns) - (a->host_ns < b->host_ns);
}

static int compare_named(const void *pa, const void *pb, void *kineto)
{
    uint32_t a = external_of(kineto, *(const uint32_t *)pa);
    uint32_t b = external_of(kineto, *(const uint32_t *)pb);
    return (a > b) - (a < b);
}

/* Nothing for what is in order already, as most traces are. */
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

static void add_query(struct kineto *k, struct queries *q, uint32_t at)
{
    if (k->rank->ops[at].host_ns != UNKNOWN_NS) {
        ARRAY_ROOM(q->timed.list, q->timed.cap, q->timed.count + 1);
        q->timed.list[q->timed.count++] = at;
    } else if (external_of(k, at) != 0) {
        ARRAY_ROOM(q->named.list, q->named.cap, q->named.count + 1);
        q->named.list[q->named.count++] = at;
    }
}

/* ---- by time ---- */

struct running {
    const struct kineto_caller **list; /* owned; the innermost last */
    size_t count, cap;
};

static void push(struct running *r, const struct kineto_caller *c)
{
    while (r->count > 0 && r->list[r->count - 1]->end_ns < c->start_ns)
        r->count--;
    ARRAY_ROOM(r->list, r->cap, r->count + 1);
    r->list[r->count++] = c;
}

/* Of those running at the launch: the one of its id, else the innermost that outlasts the call,
 * else the innermost. NULL when none is. */
static const struct kineto_caller *choose(struct running *r, const struct op *q, uint32_t external)
{
    const struct kineto_caller *lasting = NULL;
    while (r->count > 0 && r->list[r->count - 1]->end_ns < q->host_ns)
        r->count--;
    for (size_t i = r->count, seen = 0; i-- > 0 && seen < NEST_MAX; seen++) {
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
            if (c->tid == op->tid)
                push(&r, c);
        }
        c = choose(&r, op, external_of(k, q->timed.list[i]));
        if (c != NULL)
            op->caller = c->name;
    }
    free(r.list);
    free(order);
}

/* ---- by id ---- */

/* The first launch that bears this id, or where it would stand. */
static size_t find_named(const struct kineto *k, const struct queries *q, uint32_t external)
{
    size_t low = 0, high = q->named.count;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (external_of(k, q->named.list[mid]) < external)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* Of operators with one id the first counts. */
static void answer_named(struct kineto *k, const struct queries *q)
{
    for (size_t i = 0; q->named.count > 0 && i < k->callers.count; i++) {
        const struct kineto_caller *c = &k->callers.list[i];
        for (size_t n = find_named(k, q, c->external); n < q->named.count; n++) {
            struct op *op = &k->rank->ops[q->named.list[n]];
            if (external_of(k, q->named.list[n]) != c->external || op->caller[0] != '\0')
                break;
            op->caller = c->name;
        }
    }
}

void kineto_link_callers(struct kineto *k)
{
    struct queries q = {0};
    if (k->callers.count == 0 || k->callers.count > UINT32_MAX || k->rank->nops > UINT32_MAX)
        return;
    for (size_t i = 0; i < k->rank->nops; i++)
        add_query(k, &q, (uint32_t)i);
    sort_places(k, q.timed.list, q.timed.count, compare_timed);
    sort_places(k, q.named.list, q.named.count, compare_named);
    answer_timed(k, &q);
    answer_named(k, &q);
    free(q.timed.list);
    free(q.named.list);
}
