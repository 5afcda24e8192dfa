/* SPDX-License-Identifier: MIT */
#include "analysis/operations.h"

#include "analysis/time_breakdown.h"
#include "trace/activity.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct operation_row *row_of(struct operations *o, const char *caller)
{
    const char *name = caller != NULL && caller[0] != '\0' ? caller : NULL;
    uint32_t at = name_index_add(&o->names, name, 0);
    if (at == o->count) {
        ARRAY_GROW(o->list, o->cap, o->count + 1);
        o->list[o->count++].name = name;
    }
    return &o->list[at];
}

void operations_add_rank(struct operations *o, const struct rank *rank)
{
    for (size_t i = 0; i < rank->nops; i++) {
        const struct op *op = &rank->ops[i];
        enum activity_kind kind = activity_kind_of(op);
        struct operation_row *row;
        int64_t start, end;
        double ns;
        if (!op_device_time(op, &start, &end) || (i > 0 && op_same_kernel(op - 1, op)))
            continue;
        ns = (double)(end - start);
        row = row_of(o, op->caller);
        row->count++;
        row->total_ns += ns;
        row->max_ns = fmax(row->max_ns, ns);
        row->comm_ns += kind == ACTIVITY_COMM ? ns : 0;
        row->memory_ns += kind == ACTIVITY_MEMORY ? ns : 0;
        o->total_ns += ns;
    }
}

static int by_cost(const void *x, const void *y)
{
    const struct operation_row *a = x, *b = y;
    if (a->total_ns != b->total_ns)
        return a->total_ns > b->total_ns ? -1 : 1;
    if (a->name == NULL || b->name == NULL)
        return (a->name == NULL) - (b->name == NULL);
    return strcmp(a->name, b->name);
}

void operations_finish(struct operations *o)
{
    if (o->count > 0)
        qsort(o->list, o->count, sizeof *o->list, by_cost);
    name_index_release(&o->names); /* the rows have moved */
}

void operations_release(struct operations *o)
{
    free(o->list);
    name_index_release(&o->names);
    memset(o, 0, sizeof *o);
}

bool operations_known(const struct operations *o)
{
    return o->count > 1 || (o->count == 1 && o->list[0].name != NULL);
}
