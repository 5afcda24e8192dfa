/* SPDX-License-Identifier: MIT
 *
 * How far a prediction may be trusted: what its fitted parameters were fitted on, how well, and
 * whether this operation is outside of that.
 */
#include "cmd/predict.h"
#include "report/table.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

/* What is asked for, to be compared with struct fit_range. */
struct asked {
    double size; /* bytes or FLOPs */
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

/* The first way in which it is outside; most predictions are outside in one only. */
static bool beyond(enum param_group group, const struct fit_range *r, const struct asked *a,
                   char *why, size_t len)
{
    char size[32], limit[32];
    size_text(group, a->size, size, sizeof size);
    if (r->smallest > 0 && a->size < r->smallest) {
        size_text(group, r->smallest, limit, sizeof limit);
        snprintf(why, len, "%s, less than the %s", size, limit);
    } else if (r->largest > 0 && a->size > r->largest) {
        size_text(group, r->largest, limit, sizeof limit);
        snprintf(why, len, "%s, more than the %s", size, limit);
    } else if (r->ranks > 0 && a->ranks > r->ranks) {
        snprintf(why, len, "%g ranks, more than the %g", a->ranks, r->ranks);
    } else if (r->nodes > 0 && a->nodes > r->nodes) {
        snprintf(why, len, "%g nodes, more than the %g", a->nodes, r->nodes);
    } else {
        return false;
    }
    return true;
}

static struct predict_trust trust(enum param_group group, const struct gpu_profile *gpu,
                                  const struct network_profile *net, const void *own,
                                  const struct asked *asked)
{
    struct predict_trust t = {.group = param_tables[group].name};
    params_key(group, gpu, net, t.key);
    t.row = params_class(group, gpu, net);
    t.own = any_set(&param_tables[group], own);
    t.beyond = !t.own && beyond(group, &t.row->range, asked, t.why, sizeof t.why);
    return t;
}

size_t predict_trust_transfer(const struct predict_transfer *t,
                              struct predict_trust out[PREDICT_TRUSTS])
{
    const struct network_profile *net = t->on->network;
    const struct asked asked = {t->bytes, t->where.ranks, t->where.nodes};
    size_t n = 0;
    if (t->where.ranks < 2)
        return 0;
    out[n++] = trust(PARAMS_NODE, t->on->gpu, net, &net->node, &asked);
    if (t->where.nodes > 1)
        out[n++] = trust(PARAMS_NET, t->on->gpu, net, &net->net, &asked);
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
        if (is_fitted(t)) {
            cJSON_AddNumberToObject(row, "rows", t->row->range.rows);
            cJSON_AddNumberToObject(row, "median_ape", t->row->range.median_ape);
        }
        if (t->beyond)
            cJSON_AddStringToObject(row, "outside", t->why);
        cJSON_AddItemToArray(list, row);
    }
    cJSON_AddBoolToObject(doc, "extrapolated", predict_is_beyond(trusts, n));
}
