/* SPDX-License-Identifier: MIT */
#include "model/params.h"

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

const struct param_row *params_rows(enum param_group group, size_t *count)
{
    switch (group) {
    case PARAMS_GEMM:
        *count = gemm_param_row_count;
        return gemm_param_rows;
    case PARAMS_NODE:
        *count = node_param_row_count;
        return node_param_rows;
    default:
        *count = net_param_row_count;
        return net_param_rows;
    }
}

enum fit_beyond fit_range_beyond(const struct fit_range *r, double size, double ranks, double nodes)
{
    if (size < r->smallest)
        return FIT_SMALLER;
    if (r->largest > 0 && size > r->largest)
        return FIT_LARGER;
    if (r->ranks > 0 && ranks > r->ranks)
        return FIT_RANKS;
    return r->nodes > 0 && nodes > r->nodes ? FIT_NODES : FIT_WITHIN;
}

static const char *or_unknown(const char *text)
{
    return text != NULL ? text : "unknown";
}

static const char *between_domains(const struct network_profile *net)
{
    return net->domain_gpus > net->gpus_per_node ? "/domains" : "";
}

/* The fabric of the class. PCIe with and without P2P is one: the model itself adds the way through
 * host memory. */
static const char *fabric_of(const struct network_profile *net)
{
    return network_on_pcie(net) ? "pcie" : or_unknown(net->intra);
}

void params_key(enum param_group group, const struct gpu_profile *gpu,
                const struct network_profile *net, char key[PARAM_KEY_MAX])
{
    if (group == PARAMS_GEMM)
        snprintf(key, PARAM_KEY_MAX, "%s", or_unknown(gpu->arch));
    else if (group == PARAMS_NODE)
        snprintf(key, PARAM_KEY_MAX, "%s/%s", or_unknown(gpu->arch), fabric_of(net));
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

/* Returns whether a row's key is that of the parts, as params_key() joins them. Plain loops, since
 * every prediction looks for its rows, and most keys differ in their first letter. */
static bool key_is(const char *key, const char *first, const char *sep, const char *second)
{
    const char *const parts[] = {first, sep, second};
    for (size_t i = 0; i < COUNT(parts); i++) {
        for (const char *part = parts[i]; *part != '\0';) {
            if (*key++ != *part++)
                return false;
        }
    }
    return *key == '\0';
}

static const struct param_row *find_row(enum param_group group, const char *first, const char *sep,
                                        const char *second)
{
    size_t count;
    const struct param_row *rows = params_rows(group, &count);
    for (size_t i = 0; i < count; i++) {
        if (key_is(rows[i].key, first, sep, second))
            return &rows[i];
    }
    return NULL;
}

const struct param_row *params_row(enum param_group group, const char *key)
{
    return find_row(group, key, "", "");
}

/* The rows that a profile's values come from, narrowest first. */
enum level { LEVEL_CLASS, LEVEL_FABRIC, LEVEL_ANY, LEVELS };

/* Returns the row at a level; NULL: there is none. Finds without writing keys the rows that
 * params_row() finds for the key of params_key() and those that params_widen() makes of it. */
static const struct param_row *row_at(enum level level, enum param_group group,
                                      const struct gpu_profile *gpu,
                                      const struct network_profile *net)
{
    if (level == LEVEL_ANY)
        return find_row(group, ANY, "", "");
    if (group == PARAMS_NODE)
        return find_row(group, level == LEVEL_FABRIC ? ANY : or_unknown(gpu->arch), "/",
                        fabric_of(net));
    if (level == LEVEL_FABRIC)
        return NULL;
    return group == PARAMS_GEMM ? find_row(group, or_unknown(gpu->arch), "", "")
                                : find_row(group, or_unknown(net->inter), "", between_domains(net));
}

const struct param_row *params_profile_row(enum param_group group, const struct gpu_profile *gpu,
                                           const struct network_profile *net)
{
    const struct param_row *row = NULL;
    for (enum level level = LEVEL_CLASS; level < LEVELS && row == NULL; level++)
        row = row_at(level, group, gpu, net);
    return row;
}

/* Fills what `own`, a profile's values, leave open. A group's structs are doubles and nothing else.
 */
static void resolve(enum param_group group, const struct gpu_profile *gpu,
                    const struct network_profile *net, void *own)
{
    const size_t count = param_tables[group].count;
    double *values = own;
    bool complete = true;
    for (size_t i = 0; i < count && complete; i++)
        complete = values[i] != 0;
    for (enum level level = LEVEL_CLASS; level < LEVELS && !complete; level++) {
        const struct param_row *row = row_at(level, group, gpu, net);
        const double *from = row != NULL ? row->values : NULL;
        complete = from != NULL;
        for (size_t i = 0; i < count && from != NULL; i++) {
            if (values[i] == 0)
                values[i] = from[i];
            complete = complete && values[i] != 0;
        }
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

double params_host_GBps(const struct gpu_profile *gpu, const struct network_profile *net,
                        const struct node_params *node)
{
    return node->host_share * (gpu->pcie_GBps > 0 ? gpu->pcie_GBps : net->intra_GBps);
}

struct net_params params_net(const struct network_profile *net)
{
    struct net_params p = net->net;
    resolve(PARAMS_NET, NULL, net, &p);
    return p;
}
