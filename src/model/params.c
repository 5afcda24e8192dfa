/* SPDX-License-Identifier: MIT */
#include "model/params.h"

#include "model/params_rows.h"
#include "model/profile.h"

#include <stdio.h>
#include <string.h>

#define ANY "any"

#define COUNT(_array) (sizeof(_array) / sizeof *(_array))

#define X(name, unit, lowest, highest, help) \
    {#name, unit, help, lowest, highest, offsetof(struct gemm_params, name)},
static const struct param gemm_table[] = {GEMM_PARAMS(X)};
#undef X
#define X(name, unit, lowest, highest, help) \
    {#name, unit, help, lowest, highest, offsetof(struct node_params, name)},
static const struct param node_table[] = {NODE_PARAMS(X)};
#undef X
#define X(name, unit, lowest, highest, help) \
    {#name, unit, help, lowest, highest, offsetof(struct net_params, name)},
static const struct param net_table[] = {NET_PARAMS(X)};
#undef X

const struct param_table param_tables[PARAM_GROUPS] = {
    [PARAMS_GEMM] = {"gemm", gemm_table, COUNT(gemm_table), sizeof(struct gemm_params)},
    [PARAMS_NODE] = {"node", node_table, COUNT(node_table), sizeof(struct node_params)},
    [PARAMS_NET] = {"net", net_table, COUNT(net_table), sizeof(struct net_params)},
};

double *param_at(void *values, const struct param *param)
{
    return (double *)(void *)((char *)values + param->offset);
}

double param_value(const void *values, const struct param *param)
{
    double value;
    memcpy(&value, (const char *)values + param->offset, sizeof value);
    return value;
}

const struct param_class *params_classes(enum param_group group, size_t *count)
{
    switch (group) {
    case PARAMS_GEMM:
        *count = gemm_class_count;
        return gemm_classes;
    case PARAMS_NODE:
        *count = node_class_count;
        return node_classes;
    default:
        *count = net_class_count;
        return net_classes;
    }
}

static const char *or_unknown(const char *text)
{
    return text != NULL ? text : "unknown";
}

static const char *between_domains(const struct network_profile *net)
{
    return net->domain_gpus > net->gpus_per_node ? "/domains" : "";
}

void params_key(enum param_group group, const struct gpu_profile *gpu,
                const struct network_profile *net, char key[PARAM_KEY_MAX])
{
    if (group == PARAMS_GEMM)
        snprintf(key, PARAM_KEY_MAX, "%s", or_unknown(gpu->arch));
    else if (group == PARAMS_NODE)
        snprintf(key, PARAM_KEY_MAX, "%s/%s", or_unknown(gpu->arch), or_unknown(net->intra));
    else
        snprintf(key, PARAM_KEY_MAX, "%s%s", or_unknown(net->inter), between_domains(net));
}

bool params_widen(enum param_group group, char key[PARAM_KEY_MAX])
{
    char narrow[PARAM_KEY_MAX];
    const char *fabric;
    if (strcmp(key, ANY) == 0)
        return false;
    memcpy(narrow, key, sizeof narrow);
    fabric = group == PARAMS_NODE ? strchr(narrow, '/') : NULL;
    if (fabric != NULL && strncmp(narrow, ANY "/", sizeof ANY) != 0)
        snprintf(key, PARAM_KEY_MAX, ANY "%.*s", PARAM_KEY_MAX - (int)sizeof ANY, fabric);
    else
        strcpy(key, ANY);
    return true;
}

/* Behind `part` in `key`; NULL when the key does not begin with it. */
static const char *behind(const char *key, const char *part)
{
    size_t len = strlen(part);
    return strncmp(key, part, len) == 0 ? key + len : NULL;
}

/* Whether a row's key is that of the two parts, as params_key() joins them; no formatting, since
 * every prediction looks its classes up. */
static bool key_is(const char *key, const char *first, const char *sep, const char *second)
{
    key = behind(key, first);
    key = key != NULL ? behind(key, sep) : NULL;
    return key != NULL && strcmp(key, second) == 0;
}

static const struct param_class *class_of(enum param_group group, const char *first,
                                          const char *sep, const char *second)
{
    size_t count;
    const struct param_class *rows = params_classes(group, &count);
    for (size_t i = 0; i < count; i++) {
        if (key_is(rows[i].key, first, sep, second))
            return &rows[i];
    }
    return NULL;
}

/* The rows to take values from, the closest first. */
#define LEVELS 3

static int classes_of(enum param_group group, const struct gpu_profile *gpu,
                      const struct network_profile *net, const struct param_class *out[LEVELS])
{
    int count = 0;
    switch (group) {
    case PARAMS_GEMM:
        out[count++] = class_of(group, or_unknown(gpu->arch), "", "");
        break;
    case PARAMS_NODE:
        out[count++] = class_of(group, or_unknown(gpu->arch), "/", or_unknown(net->intra));
        out[count++] = class_of(group, ANY, "/", or_unknown(net->intra));
        break;
    default:
        out[count++] = class_of(group, or_unknown(net->inter), "", between_domains(net));
    }
    out[count++] = class_of(group, ANY, "", "");
    return count;
}

const struct param_class *params_class(enum param_group group, const struct gpu_profile *gpu,
                                       const struct network_profile *net)
{
    const struct param_class *rows[LEVELS];
    int count = classes_of(group, gpu, net, rows), i = 0;
    while (i < count - 1 && rows[i] == NULL)
        i++;
    return rows[i];
}

/* A group's structs are doubles and nothing else. Takes what `values` does not have from `from`. */
static void complete(enum param_group group, double *values, const void *from)
{
    for (size_t i = 0; i < param_tables[group].count; i++) {
        const struct param *p = &param_tables[group].params[i];
        if (values[p->offset / sizeof *values] == 0)
            values[p->offset / sizeof *values] = param_value(from, p);
    }
}

static bool is_complete(enum param_group group, const double *values)
{
    size_t i = 0;
    while (i < param_tables[group].count && values[i] != 0)
        i++;
    return i == param_tables[group].count;
}

/* Fills what `values`, a profile's own ones, leave open. */
static void resolve(enum param_group group, const struct gpu_profile *gpu,
                    const struct network_profile *net, void *values)
{
    const struct param_class *rows[LEVELS];
    int count = is_complete(group, values) ? 0 : classes_of(group, gpu, net, rows);
    for (int i = 0; i < count; i++) {
        if (rows[i] != NULL)
            complete(group, values, rows[i]->values);
    }
}

struct gemm_params params_gemm(const struct gpu_profile *gpu)
{
    struct gemm_params p = gpu->gemm;
    resolve(PARAMS_GEMM, gpu, NULL, &p);
    return p;
}

struct node_params params_node(const struct gpu_profile *gpu, const struct network_profile *net)
{
    struct node_params p = net->node;
    resolve(PARAMS_NODE, gpu, net, &p);
    return p;
}

struct net_params params_net(const struct network_profile *net)
{
    struct net_params p = net->net;
    resolve(PARAMS_NET, NULL, net, &p);
    return p;
}
