/* SPDX-License-Identifier: MIT
 *
 * The fitted parameters that predictions of measured rows rest on (score.h).
 */
#include "base/order.h"
#include "calib/score.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The origin of a value that the profile lacks: the closest class that has one (params.h). */
static void find_owner(struct used_param *p, const char *class)
{
    char key[PARAM_KEY_MAX];
    snprintf(key, sizeof key, "%s", class);
    do {
        const struct param_row *row = params_row(p->group, key);
        if (row == NULL)
            continue;
        p->owner = row->key;
        p->value = param_value(row->values, p->param);
    } while (p->value == 0 && params_widen(p->group, key));
}

void used_params_release(struct used_params *u)
{
    free(u->list);
}

static void add_used_group(struct used_params *u, enum param_group group, const char *profile,
                           const void *own, const struct measured_row *row)
{
    char class[PARAM_KEY_MAX];
    params_key(group, row->gpu, row->net, class);
    for (size_t i = 0; i < param_tables[group].count; i++) {
        const struct param *param = &param_tables[group].params[i];
        struct used_param p = {group, profile, param, param_value(own, param)};
        bool known = false;
        if (p.value == 0)
            find_owner(&p, class);
        for (size_t k = 0; k < u->count && !known; k++)
            known = u->list[k].param == p.param && strcmp(u->list[k].owner, p.owner) == 0;
        if (known)
            continue;
        ARRAY_GROW(u->list, u->cap, u->count + 1);
        u->list[u->count++] = p;
    }
}

void used_params_add(struct used_params *u, const struct measured_row *row)
{
    const struct gpu_profile *gpu = row->gpu;
    const struct network_profile *net = row->net;
    const struct measured_row *last = u->last;
    if (last != NULL && last->kind == row->kind && last->gpu == gpu && last->net == net &&
        predict_row_leaves_node(last) == predict_row_leaves_node(row))
        return;
    u->last = row;
    if (row->kind == MEASURED_GEMM) {
        add_used_group(u, PARAMS_GEMM, gpu->name, &gpu->gemm, row);
        return;
    }
    add_used_group(u, PARAMS_NODE, net->name, &net->node, row);
    if (predict_row_leaves_node(row))
        add_used_group(u, PARAMS_NET, net->name, &net->net, row);
}

static int in_order(const void *a, const void *b)
{
    const struct used_param *x = a, *y = b;
    int owners = strcmp(x->owner, y->owner);
    if (x->group != y->group)
        return ORDER(x->group, y->group);
    return owners != 0 ? owners : ORDER(x->param, y->param); /* of one array a group */
}

void used_params_sort(struct used_params *u)
{
    if (u->count > 0)
        qsort(u->list, u->count, sizeof *u->list, in_order);
}
