/* SPDX-License-Identifier: MIT
 *
 * How far a prediction may be trusted: what its fitted parameters were fitted on, how well, and
 * whether this operation is outside of that.
 */
#include "cmd/predict.h"
#include "report/table.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* What is asked for, to be compared with struct fit_range. */
struct asked {
    double size; /* bytes or FLOPs; NAN: any */
    double ranks, nodes;
};

static bool any_set(const struct param_table *table, const void *values)
{
    for (size_t i = 0; i < table->count; i++) {
        if (param_value(values, &table->params[i]) != 0)
            return true;
    }
    return false;
}

/* Bytes of a transfer, FLOPs of a product. */
static void size_text(enum param_group group, double size, char *buf, size_t len)
{
    if (group == PARAMS_GEMM)
        snprintf(buf, len, "%.3g FLOP", size);
    else
        text_bytes(buf, len, size);
}

/* "512 ranks, more than the 64" */
static void beyond_text(enum param_group group, enum fit_beyond in, const struct fit_range *r,
                        const struct asked *a, char *why, size_t len)
{
    char size[32], limit[32];
    size_text(group, a->size, size, sizeof size);
    size_text(group, in == FIT_SMALLER ? r->smallest : r->largest, limit, sizeof limit);
    if (in == FIT_RANKS)
        snprintf(why, len, "%g ranks, more than the %g", a->ranks, r->ranks);
    else if (in == FIT_NODES)
        snprintf(why, len, "%g nodes, more than the %g", a->nodes, r->nodes);
    else
        snprintf(why, len, "%s, %s than the %s", size, in == FIT_SMALLER ? "less" : "more", limit);
}

static struct predict_trust trust(enum param_group group, const struct gpu_profile *gpu,
                                  const struct network_profile *net, const void *own,
                                  const struct asked *asked)
{
    struct predict_trust t = {.group = param_tables[group].name};
    enum fit_beyond in;
    params_key(group, gpu, net, t.key);
    t.row = params_class(group, gpu, net);
    t.own = any_set(&param_tables[group], own);
    if (t.own)
        return t;
    in = fit_range_beyond(&t.row->range, asked->size, asked->ranks, asked->nodes);
    t.beyond = in != FIT_WITHIN;
    if (t.beyond)
        beyond_text(group, in, &t.row->range, asked, t.why, sizeof t.why);
    return t;
}

/* Between nodes a transfer counts to the network's class, as in validate; the parameters of its
 * node were fitted within nodes, whatever the size. */
size_t predict_trust_transfer(const struct predict_transfer *t,
                              struct predict_trust out[PREDICT_TRUSTS])
{
    const struct network_profile *net = t->on->network;
    const struct asked all = {t->bytes, t->where.ranks, t->where.nodes};
    const struct asked inside = {NAN, t->where.per_node, 1};
    bool across = t->where.nodes > 1;
    size_t n = 0;
    if (across)
        out[n++] = trust(PARAMS_NET, t->on->gpu, net, &net->net, &all);
    if (t->where.per_node > 1)
        out[n++] = trust(PARAMS_NODE, t->on->gpu, net, &net->node, across ? &inside : &all);
    return n;
}

void predict_trust_gemm(const struct gpu_profile *gpu, double flops, struct predict_trust *out)
{
    const struct asked asked = {.size = flops};
    *out = trust(PARAMS_GEMM, gpu, NULL, &gpu->gemm, &asked);
}

bool predict_is_beyond(const struct predict_trust *trusts, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (trusts[i].beyond)
            return true;
    }
    return false;
}

static bool is_fitted(const struct predict_trust *t)
{
    return !t->own && t->row->range.rows > 0;
}

static bool is_kin(const struct predict_trust *t)
{
    return strcmp(t->key, t->row->key) == 0;
}

void predict_print_trust(const char *indent, const struct predict_trust *trusts, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct predict_trust *t = &trusts[i];
        printf("%s%-10s ", indent, i == 0 ? "error" : "");
        if (t->own)
            printf("of the profile's own %s parameters: not known\n", t->group);
        else if (is_fitted(t) && !(t->row->range.median_ape > 0))
            printf("not known: %s was fitted on %g measured rows\n", t->row->key,
                   t->row->range.rows);
        else if (!is_fitted(t) && is_kin(t))
            printf("not known: the parameters of %s are not fitted\n", t->key);
        else if (!is_fitted(t))
            printf("not known: no measurement of %s, parameters of '%s'\n", t->key, t->row->key);
        else
            printf("±%.2g %%: the median on %g measured rows of %s%s\n",
                   100 * t->row->range.median_ape, t->row->range.rows, t->row->key,
                   is_kin(t) ? "" : ", none of this kind");
    }
}

void predict_print_beyond(const struct predict_trust *trusts, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (trusts[i].beyond)
            printf("  outside    what %s was fitted on: %s measured\n", trusts[i].row->key,
                   trusts[i].why);
    }
}

void predict_add_trust(cJSON *doc, const struct predict_trust *trusts, size_t n)
{
    cJSON *list = cJSON_AddArrayToObject(doc, "fitted");
    for (size_t i = 0; i < n; i++) {
        const struct predict_trust *t = &trusts[i];
        cJSON *row = cJSON_CreateObject();
        cJSON_AddStringToObject(row, "group", t->group);
        cJSON_AddStringToObject(row, "class", t->key);
        cJSON_AddStringToObject(row, "from", t->own ? "profile" : t->row->key);
        if (is_fitted(t))
            cJSON_AddNumberToObject(row, "rows", t->row->range.rows);
        if (is_fitted(t) && t->row->range.median_ape > 0)
            cJSON_AddNumberToObject(row, "median_ape", t->row->range.median_ape);
        if (t->beyond)
            cJSON_AddStringToObject(row, "outside", t->why);
        cJSON_AddItemToArray(list, row);
    }
    cJSON_AddBoolToObject(doc, "extrapolated", predict_is_beyond(trusts, n));
}
