/* SPDX-License-Identifier: MIT */
#include "analysis/pairs.h"

#include "base/order.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct pair_message {
    const struct comm_instance *in;
    int src, dst;
};

void pair_of(const struct comm_instance *in, const struct run *run, int *src, int *dst)
{
    const struct rank *rank = &run->ranks[in->first.rank];
    const struct op *op = &rank->ops[in->first.op];
    int32_t peer = op->coll.peer;
    int other = -1;
    if (in->comm >= 0 && peer >= 0 && peer < run->comms[in->comm].size)
        other = run->comms[in->comm].ranks[peer];
    *src = op->coll.op == SPECTER_RECV ? other : rank->rank;
    *dst = op->coll.op == SPECTER_RECV ? rank->rank : other;
    if (op->coll.op == SPECTER_COMM_OP_COUNT)
        *src = *dst = -1; /* sends or receives: not known which */
}

static int pair_order(const struct pair_message *a, const struct pair_message *b)
{
    return a->src != b->src ? ORDER(a->src, b->src) : ORDER(a->dst, b->dst);
}

/* Those of a pair in order of time. */
static int by_pair(const void *x, const void *y)
{
    const struct pair_message *a = x, *b = y;
    int order = pair_order(a, b);
    if (order == 0)
        order = ORDER(a->in->timing.from_ns, b->in->timing.from_ns);
    return order != 0 ? order : ORDER(a->in, b->in);
}

static int by_bytes(const void *x, const void *y)
{
    const struct pair_row *a = x, *b = y;
    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    return a->src != b->src ? ORDER(a->src, b->src) : ORDER(a->dst, b->dst);
}

/* Messages in order of time; `until_ns`: end of the union so far. */
static void add_message(struct pair_row *row, const struct comm_instance *in, int64_t *until_ns)
{
    int64_t from = in->timing.from_ns, to = in->timing.to_ns;
    row->count++;
    row->unsized += !in->bytes_known;
    row->bytes += (double)in->bytes;
    if (!in->bytes_known || in->timing.moved_ns == UNKNOWN_NS)
        return;
    row->timed++;
    row->two_sided += in->timing.two_sided;
    row->timed_bytes += (double)in->bytes;
    if (from == UNKNOWN_NS) { /* its overlap is not known */
        row->time_ns += (double)in->timing.moved_ns;
        return;
    }
    if (from < *until_ns)
        from = *until_ns;
    if (to <= from)
        return;
    row->time_ns += (double)(to - from);
    *until_ns = to;
}

static void add_row(struct pairs *p, const struct pair_message *list, size_t n,
                    const struct run *run, const struct node_map *node_map)
{
    struct pair_row *row;
    int64_t until_ns = INT64_MIN;
    ARRAY_GROW(p->list, p->cap, p->count + 1);
    row = &p->list[p->count++];
    *row = (struct pair_row){.src = list[0].src, .dst = list[0].dst};
    row->across = node_map_across(node_map, run, row->src, row->dst, list[0].in->comm);
    for (size_t i = 0; i < n; i++)
        add_message(row, list[i].in, &until_ns);
    row->bw_GBps = row->time_ns > 0 ? row->timed_bytes / row->time_ns : NAN;
    if (row->timed == 0)
        row->time_ns = NAN;
}

static int by_number(const void *key, const void *elem)
{
    const struct rank *rank = elem;
    return ORDER(*(const int *)key, rank->rank);
}

/* A receive whose send has no number to find it by, though the sender has a trace: that one's
 * record is of the same message. */
static bool counted_by_sender(const struct comm_instance *in, const struct run *run, int src)
{
    const struct rank *sender = bsearch(&src, run->ranks, run->nranks, sizeof *sender, by_number);
    const struct op *op = &run->ranks[in->first.rank].ops[in->first.op];
    return !in->matched && op->coll.op == SPECTER_RECV && sender != NULL && sender->nops > 0;
}

void pairs_init(struct pairs *p, const struct comm_study *study, const struct node_map *node_map)
{
    struct pair_message *list = NULL;
    size_t n = 0, cap = 0;
    memset(p, 0, sizeof *p);
    for (size_t i = 0; i < study->count; i++) {
        const struct comm_instance *in = &study->list[i];
        struct pair_message m = {.in = in};
        if (!in->p2p || (in->bytes_known && in->bytes == 0))
            continue;
        pair_of(in, study->run, &m.src, &m.dst);
        if (m.src < 0 || m.dst < 0) {
            p->endless++;
            continue;
        }
        if (counted_by_sender(in, study->run, m.src))
            continue;
        ARRAY_GROW(list, cap, n + 1);
        list[n++] = m;
    }
    if (n > 0)
        qsort(list, n, sizeof *list, by_pair);
    for (size_t from = 0, to; from < n; from = to) {
        for (to = from + 1; to < n && pair_order(&list[from], &list[to]) == 0; to++)
            ;
        add_row(p, list + from, to - from, study->run, node_map);
    }
    if (p->count > 0)
        qsort(p->list, p->count, sizeof *p->list, by_bytes);
    free(list);
}

void pairs_release(struct pairs *p)
{
    free(p->list);
    memset(p, 0, sizeof *p);
}
