/* SPDX-License-Identifier: MIT
 *
 * AlltoAll and AlltoAllv: instances and rows of them (comm_rows.h).
 */
#include "analysis/comm_rows.h"

#include "base/order.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct alltoall_instance {
    const struct comm_instance *in;
    const char *group;
};

bool is_alltoall(const struct comm_instance *in)
{
    return in->op == SPECTER_ALLTOALL || in->op == SPECTER_ALLTOALLV;
}

double alltoall_wall_ns(const struct comm_instance *in)
{
    const struct coll_timing *m = &in->timing;
    return m->last_end_ns != UNKNOWN_NS ? (double)(m->last_end_ns - m->first_start_ns) : NAN;
}

double alltoall_moved_ns(const struct comm_instance *in)
{
    const struct coll_timing *m = &in->timing;
    return m->last_end_ns != UNKNOWN_NS ? (double)(m->last_end_ns - m->last_start_ns) : NAN;
}

static bool is_whole(const struct comm_instance *in)
{
    return in->comm_size > 0 && in->sized == (uint32_t)in->comm_size;
}

double alltoall_imbalance(const struct comm_instance *in)
{
    return is_whole(in) && in->sent > 0 ? in->sent_max / (in->sent / in->sized) : NAN;
}

static int alltoall_order(const struct alltoall_instance *a, const struct alltoall_instance *b)
{
    int order =
        order_uint64s((const uint64_t[]){a->in->op, a->in->dtype, (uint64_t)a->in->comm_size},
                      (const uint64_t[]){b->in->op, b->in->dtype, (uint64_t)b->in->comm_size}, 3);
    return order != 0 ? order : strcmp(a->group, b->group);
}

static int alltoall_by_kind(const void *x, const void *y)
{
    const struct alltoall_instance *a = x, *b = y;
    int order = alltoall_order(a, b);
    return order != 0 ? order : ORDER(a->in, b->in);
}

static int alltoall_by_bytes(const void *x, const void *y)
{
    const struct alltoall_row *a = x, *b = y;
    int order = ORDER(b->bytes, a->bytes);
    if (order == 0)
        order = order_uint64s((const uint64_t[]){a->op, a->dtype, (uint64_t)a->comm_size},
                              (const uint64_t[]){b->op, b->dtype, (uint64_t)b->comm_size}, 3);
    return order != 0 ? order : strcmp(a->group, b->group);
}

static void add_alltoall(struct alltoalls *x, const struct alltoall_instance *list, size_t n)
{
    struct alltoall_row *row;
    double timed_bytes = 0, imbalance = 0, wall = 0, moved = 0;
    uint64_t judged = 0;
    ARRAY_GROW(x->list, x->cap, x->count + 1);
    row = &x->list[x->count++];
    *row = (struct alltoall_row){.op = list->in->op,
                                 .dtype = list->in->dtype,
                                 .group = list->group,
                                 .comm_size = list->in->comm_size,
                                 .instances = n,
                                 .imbalance_max = NAN};
    for (size_t i = 0; i < n; i++) {
        const struct comm_instance *in = list[i].in;
        if (!is_whole(in))
            continue;
        row->whole++;
        row->bytes += in->sent;
        if (in->sent > 0) {
            judged++;
            imbalance += alltoall_imbalance(in);
            row->imbalance_max = fmax(row->imbalance_max, alltoall_imbalance(in));
        }
        if (in->grouped || isnan(alltoall_wall_ns(in)))
            continue;
        row->timed++;
        timed_bytes += in->sent;
        wall += alltoall_wall_ns(in);
        moved += alltoall_moved_ns(in);
    }
    row->imbalance = judged > 0 ? imbalance / (double)judged : NAN;
    row->wall_ns = row->timed > 0 ? wall / (double)row->timed : NAN;
    row->moved_ns = row->timed > 0 ? moved / (double)row->timed : NAN;
    row->bw_GBps = wall > 0 ? timed_bytes / wall : NAN;
}

void alltoalls_init(struct alltoalls *x, const struct comm_study *study)
{
    struct alltoall_instance *list = NULL;
    size_t n = 0, cap = 0;
    memset(x, 0, sizeof *x);
    for (size_t i = 0; i < study->count; i++) {
        const struct comm_instance *in = &study->list[i];
        if (!is_alltoall(in))
            continue;
        ARRAY_GROW(list, cap, n + 1);
        list[n++] = (struct alltoall_instance){in, comm_group_name(study->run, in->comm)};
    }
    if (n > 0)
        qsort(list, n, sizeof *list, alltoall_by_kind);
    for (size_t from = 0, to; from < n; from = to) {
        for (to = from + 1; to < n && alltoall_order(&list[from], &list[to]) == 0; to++)
            ;
        add_alltoall(x, list + from, to - from);
    }
    if (x->count > 0)
        qsort(x->list, x->count, sizeof *x->list, alltoall_by_bytes);
    free(list);
}

void alltoalls_release(struct alltoalls *x)
{
    free(x->list);
    memset(x, 0, sizeof *x);
}
