/* SPDX-License-Identifier: MIT */
#include "calib/used_params.h"

#include "calib/predict_row.h"

#include <stdio.h>
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

static const struct param_class *find_class(enum param_group group, const char *key)
{
    size_t count;
    const struct param_class *rows = params_classes(group, &count);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(rows[i].key, key) == 0)
            return &rows[i];
    }
    return NULL;
}

/* The origin of a value that the profile lacks: the closest class that has one (params.h). */
static void find_owner(struct used_param *p, const char *class)
{
    char key[PARAM_KEY_MAX];
    snprintf(key, sizeof key, "%s", class);
    do {
        const struct param_class *row = find_class(p->group, key);
        if (row == NULL)
            continue;
        p->owner = row->key;
        p->value = param_value(row->values, p->param);
    } while (p->value == 0 && params_widen(p->group, key));
}

static void add_group(struct used_params *u, enum param_group group, const char *profile,
                      const void *own, const struct measured_row *row)
{
    char class[PARAM_KEY_MAX];
    params_key(group, row->gpu, row->net, class);
    for (size_t i = 0; i < param_tables[group].count; i++) {
        const struct param *param = &param_tables[group].params[i];
        struct used_param p = {group, profile, param, param_value(own, param)};
        if (p.value == 0)
            find_owner(&p, class);
        add(u, &p);
    }
}

static bool same_machine(const struct measured_row *a, const struct measured_row *b)
{
    return a->kind == b->kind && a->gpu == b->gpu && a->net == b->net &&
           predict_row_leaves_node(a) == predict_row_leaves_node(b);
}

void used_params_add(struct used_params *u, const struct measured_row *row)
{
    const struct gpu_profile *gpu = row->gpu;
    const struct network_profile *net = row->net;
    if (u->last != NULL && same_machine(u->last, row))
        return;
    u->last = row;
    if (row->kind == MEASURED_GEMM) {
        add_group(u, PARAMS_GEMM, gpu->name, &gpu->gemm, row);
        return;
    }
    add_group(u, PARAMS_NODE, net->name, &net->node, row);
    if (predict_row_leaves_node(row))
        add_group(u, PARAMS_NET, net->name, &net->net, row);
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
