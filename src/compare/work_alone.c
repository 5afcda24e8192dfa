/* SPDX-License-Identifier: MIT */
#include "compare/work_alone.h"

#include "base/arena.h"
#include "base/hash.h"
#include "base/idmap.h"
#include "base/order.h"
#include "compare/work_kinds.h"
#include "sim/program/process.h"

#include <stdlib.h>
#include <string.h>

#define ALONE_MIN 3      /* pieces of the same work that ran alone; of fewer no median is taken */
#define ALONE_MOST 0.001 /* share of the time that may be overlapped of what ran alone */

/* A communication kernel of a rank, and when the last of those up to it has ended. */
struct comm_time {
    int64_t start_ns, end_ns, all_end_ns;
    uint32_t op;
};

struct comm_times {
    struct comm_time *list; /* by start; owned */
    size_t n;
};

static int by_start(const void *pa, const void *pb)
{
    const struct comm_time *a = pa, *b = pb;
    return a->start_ns != b->start_ns ? ORDER(a->start_ns, b->start_ns) : ORDER(a->op, b->op);
}

static struct comm_times collect_comm(const struct rank *rank)
{
    struct comm_time *list = array_new(rank->nops, sizeof *list);
    size_t n = 0;
    for (uint32_t i = 0; i < rank->nops; i++) {
        const struct op *op = &rank->ops[i];
        if (op_is_comm(op) && op_timed(op))
            list[n++] = (struct comm_time){op->start_ns, op_end_ns(op), 0, i};
    }
    if (n > 0)
        qsort(list, n, sizeof *list, by_start);
    for (size_t i = 0; i < n; i++)
        list[i].all_end_ns = i > 0 && list[i - 1].all_end_ns > list[i].end_ns
                                 ? list[i - 1].all_end_ns
                                 : list[i].end_ns;
    return (struct comm_times){list, n};
}

/* Returns whether next to no communication but that operation's ran in that time. */
static bool runs_alone(const struct comm_times *comm, int64_t start_ns, int64_t end_ns,
                       uint32_t but)
{
    const struct comm_time *list = comm->list;
    struct bisect find = {.high = comm->n};
    const double most_ns = ALONE_MOST * (double)(end_ns - start_ns);
    int64_t sum_ns = 0;
    while (bisect_next(&find))
        bisect_take(&find, list[find.mid].all_end_ns <= start_ns);
    for (size_t i = find.low; i < comm->n && list[i].start_ns < end_ns && (double)sum_ns <= most_ns;
         i++) {
        const int64_t from = list[i].start_ns > start_ns ? list[i].start_ns : start_ns;
        const int64_t to = list[i].end_ns < end_ns ? list[i].end_ns : end_ns;
        sum_ns += to > from && list[i].op != but ? to - from : 0;
    }
    return (double)sum_ns <= most_ns;
}

/* Work of a run. */
struct work_item {
    int64_t same_work; /* the same work of its stream or communicator */
    int64_t ns;
    uint32_t cost;
    bool alone; /* next to no communication overlaps it */
};

static int by_same_work(const void *pa, const void *pb)
{
    const struct work_item *a = pa, *b = pb;
    if (a->same_work != b->same_work)
        return ORDER(a->same_work, b->same_work);
    if (a->alone != b->alone)
        return ORDER(b->alone, a->alone);
    return a->ns != b->ns ? ORDER(a->ns, b->ns) : ORDER(a->cost, b->cost);
}

/* list[0..n): the same work; that which ran alone comes first, by time. */
static void set_alone(struct work_alone *w, const struct work_item *list, size_t n)
{
    size_t alone = 0;
    int64_t median;
    while (alone < n && list[alone].alone)
        alone++;
    median = alone > 0 ? (list[(alone - 1) / 2].ns + list[alone / 2].ns) / 2 : 0;
    for (size_t i = 0; i < n; i++)
        w->ns[list[i].cost] = i < alone ? list[i].ns : alone >= ALONE_MIN ? median : UNKNOWN_NS;
}

static struct work_item computation_item(const struct program *p, uint32_t cost,
                                         const struct comm_times *comm)
{
    const struct program_cost *c = &p->costs[cost];
    const struct op *op = &p->run->ranks[c->rank].ops[c->op];
    uint64_t key = hash_mix(hash_mix((uint64_t)work_key_of_op(op), c->rank), (uint32_t)op->stream);
    return (struct work_item){
        .same_work = (int64_t)hash_mix(key, op->flags & OP_UPPER_BOUND),
        .ns = op->dur_ns,
        .cost = cost,
        .alone = runs_alone(&comm[c->rank], op->start_ns, op_end_ns(op), PROGRAM_NONE)};
}

static struct work_item transfer_item(const struct program *p, uint32_t cost,
                                      const struct comm_times *comm)
{
    const struct program_cost *c = &p->costs[cost];
    const struct match *match = &p->matches.list[c->match];
    struct work_item item = {
        .same_work =
            (int64_t)hash_mix((uint64_t)work_key_of_transfer(p, c->match), (uint32_t)match->comm),
        .ns = c->measured_ns,
        .cost = cost,
        .alone = true};
    for (size_t k = match->first; k < match->first + match->nmembers; k++) {
        const struct match_member m = p->matches.members[k];
        const struct op *op = &p->run->ranks[m.rank].ops[m.op];
        if (op_timed(op))
            item.alone &=
                runs_alone(&comm[m.rank], op_end_ns(op) - c->measured_ns, op_end_ns(op), m.op);
    }
    return item;
}

struct sim_span *work_untimed_spans(const struct altered *a)
{
    const struct program *p = altered_program(a);
    struct sim_span *spans = array_new(p->ncosts, sizeof *spans);
    size_t *next = array_new(p->run->nranks, sizeof *next);
    for (size_t i = 0; i < p->ncosts; i++) {
        const struct program_cost *c = &p->costs[i];
        if (c->op == PROGRAM_NONE) /* in the order of the rank's list */
            spans[i] = p->ranks[c->rank].untraced[next[c->rank]++].recorded;
    }
    free(next);
    return spans;
}

/* The last operation of each stream, while those of a rank are gone through. */
struct stream_keys {
    struct idmap streams;
    uint64_t *keys; /* [streams.count] owned */
    size_t cap;
};

static uint64_t *stream_key(struct stream_keys *s, int32_t stream)
{
    const uint32_t before = s->streams.count, id = idmap_add(&s->streams, stream);
    ARRAY_GROW(s->keys, s->cap, (size_t)id + 1);
    if (s->streams.count > before)
        s->keys[id] = 0;
    return &s->keys[id];
}

static void stream_keys_release(struct stream_keys *s)
{
    idmap_release(&s->streams);
    free(s->keys);
}

/* Returns by launch of a rank a key of its numbers of kernels by class, and of the operations
 * before and after it on its stream: between the same operations run the same kernels. The caller
 * frees it. */
static uint64_t *launch_keys(const struct program *p, uint32_t r)
{
    const struct rank *rank = &p->run->ranks[r];
    const struct program_rank *of = &p->ranks[r];
    uint64_t *keys = array_new(rank->nlaunches, sizeof *keys);
    struct stream_keys before = {0}, after = {0};
    for (size_t i = 0, next = 0; i < rank->nlaunches; i++) {
        const struct launches *l = &rank->launches[i];
        for (; next < of->nissued && rank->ops[of->issue[next]].host_ns <= l->host_ns; next++) {
            const struct op *op = &rank->ops[of->issue[next]];
            *stream_key(&before, op->stream) = (uint64_t)work_key_of_op(op);
        }
        keys[i] = hash_mix(hash_mix(HASH_BYTES, r), (uint32_t)l->stream);
        for (int class = 0; class < SPECTER_KERNEL_CLASS_COUNT; class ++)
            keys[i] = hash_mix(keys[i], l->classes[class]);
        keys[i] = hash_mix(keys[i], *stream_key(&before, l->stream));
    }
    for (size_t i = rank->nlaunches, next = of->nissued; i-- > 0;) {
        const struct launches *l = &rank->launches[i];
        for (; next > 0 && rank->ops[of->issue[next - 1]].host_ns > l->host_ns; next--) {
            const struct op *op = &rank->ops[of->issue[next - 1]];
            *stream_key(&after, op->stream) = (uint64_t)work_key_of_op(op);
        }
        keys[i] = hash_mix(keys[i], *stream_key(&after, l->stream));
    }
    stream_keys_release(&before);
    stream_keys_release(&after);
    return keys;
}

static struct work_item untimed_item(const struct program *p, uint32_t cost, uint64_t key,
                                     struct sim_span span, const struct comm_times *comm)
{
    return (struct work_item){
        .same_work = (int64_t)key,
        .ns = span.end_ns - span.start_ns,
        .cost = cost,
        .alone = runs_alone(&comm[p->costs[cost].rank], span.start_ns, span.end_ns, PROGRAM_NONE)};
}

void work_alone_init(struct work_alone *w, const struct altered *a)
{
    const struct program *p = altered_program(a);
    struct work_item *list = array_new(p->ncosts, sizeof *list);
    struct comm_times *comm = array_new(p->run->nranks, sizeof *comm);
    struct sim_span *spans = work_untimed_spans(a);
    uint64_t **keys = array_new(p->run->nranks, sizeof *keys);
    size_t n = 0;
    *w = (struct work_alone){.ns = array_new(p->ncosts, sizeof *w->ns)};
    for (uint32_t r = 0; r < p->run->nranks; r++) {
        comm[r] = collect_comm(&p->run->ranks[r]);
        keys[r] = launch_keys(p, r);
    }
    for (uint32_t i = 0; i < p->ncosts; i++) {
        const struct program_cost *c = &p->costs[i];
        w->ns[i] = UNKNOWN_NS;
        if (c->measured_ns == UNKNOWN_NS)
            continue;
        if (c->op == PROGRAM_NONE) {
            if (c->launch != PROGRAM_NONE && spans[i].end_ns > spans[i].start_ns)
                list[n++] = untimed_item(p, i, keys[c->rank][c->launch], spans[i], comm);
        } else if (c->match != PROGRAM_NONE)
            list[n++] = transfer_item(p, i, comm);
        else if (work_is_timed_computation(&p->run->ranks[c->rank].ops[c->op]))
            list[n++] = computation_item(p, i, comm);
    }
    if (n > 0)
        qsort(list, n, sizeof *list, by_same_work);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i; end < n && list[end].same_work == list[i].same_work;)
            end++;
        set_alone(w, &list[i], end - i);
    }
    for (size_t r = 0; r < p->run->nranks; r++) {
        free(comm[r].list);
        free(keys[r]);
    }
    free(comm);
    free(keys);
    free(spans);
    free(list);
}

double work_alone_ns(const struct work_alone *w, const struct program *p, size_t cost)
{
    return (double)(w->ns[cost] != UNKNOWN_NS ? w->ns[cost] : p->costs[cost].measured_ns);
}

void work_alone_release(struct work_alone *w)
{
    free(w->ns);
    memset(w, 0, sizeof *w);
}
