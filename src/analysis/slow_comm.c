/* SPDX-License-Identifier: MIT
 *
 * The communicator that is slower than others of its kind (comm_rows.h).
 */
#include "analysis/comm_rows.h"

#include "base/order.h"

#include <stdlib.h>
#include <string.h>

#define COMMS_MIN 2     /* of a kind */
#define INSTANCES_MIN 3 /* of a communicator: fewer are chance */

struct timed_instance {
    const struct comm_instance *in;
    int nodes, per_node;
};

/* The instances [from, from + count) are of one communicator. */
struct comm_span {
    size_t from, count;
    double median_ns;
};

static int slow_kind_order(const struct timed_instance *a, const struct timed_instance *b)
{
    const struct comm_instance *x = a->in, *y = b->in;
    return order_uint64s((const uint64_t[]){x->op, x->dtype, x->bytes, (uint64_t)x->comm_size,
                                            (uint64_t)a->nodes, (uint64_t)a->per_node},
                         (const uint64_t[]){y->op, y->dtype, y->bytes, (uint64_t)y->comm_size,
                                            (uint64_t)b->nodes, (uint64_t)b->per_node},
                         6);
}

static int by_comm(const void *pa, const void *pb)
{
    const struct timed_instance *a = pa, *b = pb;
    int order = slow_kind_order(a, b);
    if (order == 0)
        order = ORDER(a->in->comm, b->in->comm);
    return order != 0 ? order : ORDER(a->in->transfer_ns, b->in->transfer_ns);
}

static int by_median(const void *pa, const void *pb)
{
    const struct comm_span *a = pa, *b = pb;
    return a->median_ns != b->median_ns ? ORDER(a->median_ns, b->median_ns)
                                        : ORDER(a->from, b->from);
}

/* Takes complete instances only: the wait of a part is not known. AlltoAllv differs from rank to
 * rank. */
static bool is_judged(const struct comm_instance *in)
{
    return !in->p2p && in->matched && in->consistent && !in->grouped && in->bytes_known &&
           in->op != SPECTER_ALLTOALLV && in->comm_size > 1 &&
           in->members == (uint32_t)in->comm_size && in->timed == in->members;
}

/* The communicators of the kind [from, to). */
static size_t split(struct comm_span *parts, const struct timed_instance *list, size_t from,
                    size_t to)
{
    size_t n = 0;
    for (size_t end; from < to; from = end) {
        for (end = from + 1; end < to && list[end].in->comm == list[from].in->comm; end++)
            ;
        if (end - from < INSTANCES_MIN)
            continue;
        const struct timed_instance *mine = &list[from];
        size_t count = end - from;
        parts[n++] = (struct comm_span){from, count,
                                        ((double)mine[(count - 1) / 2].in->transfer_ns +
                                         (double)mine[count / 2].in->transfer_ns) /
                                            2};
    }
    if (n > 0)
        qsort(parts, n, sizeof *parts, by_median);
    return n;
}

void slow_comm_find(struct slow_comm *out, const struct comm_study *study,
                    const struct node_map *node_map, double factor)
{
    struct timed_instance *list = array_new(study->count + 1, sizeof *list);
    struct comm_span *parts = array_new(study->count + 1, sizeof *parts);
    size_t n = 0, comms;
    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < study->count; i++) {
        const struct comm_instance *in = &study->list[i];
        const struct comm_nodes *comm_nodes;
        if (!is_judged(in))
            continue;
        comm_nodes = &node_map->comms[in->comm];
        list[n++] = (struct timed_instance){in, comm_nodes->nodes, comm_nodes->per_node};
    }
    if (n > 0)
        qsort(list, n, sizeof *list, by_comm);
    for (size_t from = 0, to; from < n; from = to) {
        for (to = from + 1; to < n && slow_kind_order(&list[from], &list[to]) == 0; to++)
            ;
        comms = split(parts, list, from, to);
        for (size_t i = 0; i < comms && comms >= COMMS_MIN; i++) {
            /* Median of the medians of the others, which are in order. */
            const struct comm_span *low = &parts[(comms - 2) / 2 + ((comms - 2) / 2 >= i)];
            const struct comm_span *high = &parts[(comms - 1) / 2 + ((comms - 1) / 2 >= i)];
            double usual = (low->median_ns + high->median_ns) / 2;
            double lost = (parts[i].median_ns - usual) * (double)parts[i].count;
            if (parts[i].median_ns >= factor * usual && lost > out->lost_ns)
                *out = (struct slow_comm){list[parts[i].from].in, comms - 1, parts[i].count,
                                          parts[i].median_ns,     usual,     lost};
        }
    }
    free(parts);
    free(list);
}
