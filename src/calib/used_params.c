/* SPDX-License-Identifier: MIT */
#include "calib/used_params.h"

#include "model/params.h"

#include <stdlib.h>
#include <string.h>

void used_params_init(struct used_params *u)
{
    memset(u, 0, sizeof *u);
}

void used_params_release(struct used_params *u)
{
    free(u->list);
    used_params_init(u);
}

static void add(struct used_params *u, const struct used_param *p)
{
    for (size_t i = 0; i < u->count; i++) {
        if (u->list[i].param == p->param && strcmp(u->list[i].owner, p->owner) == 0)
            return;
    }
    ARRAY_GROW(u->list, u->cap, u->count + 1);
    u->list[u->count++] = *p;
}

static const struct param_class *any_class(enum param_group group)
{
    size_t count;
    const struct param_class *rows = params_classes(group, &count);
    size_t i = 0;
    while (i + 1 < count && strcmp(rows[i].key, "any") != 0)
        i++;
    return &rows[i];
}

/* Where each of a group's values comes from: the profile, else its class, else "any" (params.h). */
static void add_group(struct used_params *u, enum param_group group, const char *profile,
                      const void *own, const struct param_class *class)
{
    const struct param_class *any = any_class(group);
    for (size_t i = 0; i < param_tables[group].count; i++) {
        const struct param *param = &param_tables[group].params[i];
        struct used_param p = {group, any->key, param, param_value(any->values, param)};
        if (param_value(own, param) != 0) {
            p.owner = profile;
            p.value = param_value(own, param);
        } else if (param_value(class->values, param) != 0) {
            p.owner = class->key;
            p.value = param_value(class->values, param);
        }
        add(u, &p);
    }
}

static bool same_machine(const struct measured_row *a, const struct measured_row *b)
{
    return a->kind == b->kind && a->gpu == b->gpu && a->net == b->net &&
           (a->where.nodes > 1) == (b->where.nodes > 1);
}

void used_params_add(struct used_params *u, const struct measured_row *row)
{
    const struct gpu_profile *gpu = row->gpu;
    const struct network_profile *net = row->net;
    if (u->last != NULL && same_machine(u->last, row))
        return;
    u->last = row;
    if (row->kind == MEASURED_GEMM) {
        add_group(u, PARAMS_GEMM, gpu->name, &gpu->gemm, params_class(PARAMS_GEMM, gpu, NULL));
        return;
    }
    add_group(u, PARAMS_NODE, net->name, &net->node, params_class(PARAMS_NODE, gpu, net));
    if (row->where.nodes > 1)
        add_group(u, PARAMS_NET, net->name, &net->net, params_class(PARAMS_NET, gpu, net));
}

static int in_order(const void *a, const void *b)
{
    const struct used_param *x = a, *y = b;
    int owners = strcmp(x->owner, y->owner);
    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    if (owners != 0)
        return owners;
    return (x->param > y->param) - (x->param < y->param); /* one array a group */
}

void used_params_sort(struct used_params *u)
{
    if (u->count > 0)
        qsort(u->list, u->count, sizeof *u->list, in_order);
}
