/* SPDX-License-Identifier: MIT */
#include "model/profile_json.h"

#include "base/arena.h"
#include "model/profile_reader.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <string.h>

/* ---- one of each kind ---- */

/* Figures without which there is nothing to compute with, and those that go together. */
static int check_network(struct profile_reader *r, const struct network_profile *net)
{
    bool none = strcmp(net->inter, "none") == 0;
    if (net->gpus_per_node == 0 || net->intra_GBps == 0)
        return reader_fail(r, "the network has no %s",
                           net->gpus_per_node == 0 ? "gpus_per_node" : "intra_GBps");
    if (fmod(net->domain_gpus, net->gpus_per_node) != 0)
        return reader_fail(r, "domain_gpus is %g, no multiple of gpus_per_node, %g",
                           net->domain_gpus, net->gpus_per_node);
    if (none && net->nics_per_node > 0)
        return reader_fail(r, "inter is 'none', but nics_per_node is %g", net->nics_per_node);
    if (!none && (net->nics_per_node == 0 || net->nic_Gbps == 0))
        return reader_fail(r, "inter is '%s', but there is no %s", net->inter,
                           net->nics_per_node == 0 ? "nics_per_node" : "nic_Gbps");
    return 0;
}

static void fill_texts(struct profile_reader *r, const char *name, const char **title,
                       const char **source)
{
    if (*title == NULL)
        *title = name;
    if (*source == NULL)
        *source = arena_strdup(r->arena, r->label);
}

static int read_gpu(struct profile_reader *r, struct profile_pair *out)
{
    struct gpu_profile *gpu;
    if (out->gpu != NULL)
        return reader_fail(r, "a second GPU: a file holds one");
    if ((gpu = reader_profile(r, &gpu_kind)) == NULL)
        return -1;
    fill_texts(r, gpu->name, &gpu->title, &gpu->source);
    if (gpu->match == NULL)
        gpu->match = "";
    out->gpu = gpu;
    return 0;
}

static int read_network(struct profile_reader *r, struct profile_pair *out)
{
    struct network_profile *net;
    if (out->network != NULL)
        return reader_fail(r, "a second network: a file holds one");
    if ((net = reader_profile(r, &network_kind)) == NULL || check_network(r, net) < 0)
        return -1;
    fill_texts(r, net->name, &net->title, &net->source);
    out->network = net;
    return 0;
}

/* ---- a whole text ---- */

typedef int read_one(struct profile_reader *r, struct profile_pair *out);

static int read_list(struct profile_reader *r, read_one *read, struct profile_pair *out)
{
    json_enter(&r->j, '[');
    while (json_next_item(&r->j)) {
        if (read(r, out) < 0)
            return -1;
    }
    return reader_check(r);
}

static int read_schema(struct profile_reader *r)
{
    const char *schema;
    if (json_peek(&r->j) != '"')
        return reader_wrong_type(r, "schema", "a text");
    schema = reader_text(r, json_string(&r->j));
    if (reader_check(r) < 0)
        return -1;
    return strcmp(schema, PROFILE_JSON_SCHEMA) == 0
               ? 0
               : reader_fail(r, "schema '%.64s' is not %s", schema, PROFILE_JSON_SCHEMA);
}

enum { TOP_SCHEMA, TOP_GPU, TOP_NETWORK, TOP_GPUS, TOP_NETWORKS, TOP_COUNT };
static const char *const top_names[] = {"schema", "gpu", "network", "gpus", "networks", NULL};

static int read_document(struct profile_reader *r, struct profile_pair *out)
{
    uint64_t seen = 0;
    size_t i;
    int more;
    json_enter(&r->j, '{');
    while ((more = reader_next_key(r, name_list_of(top_names), &seen, &i)) > 0) {
        read_one *read = i == TOP_GPU || i == TOP_GPUS ? read_gpu : read_network;
        bool list = i == TOP_GPUS || i == TOP_NETWORKS;
        if (list && json_peek(&r->j) != '[')
            return reader_wrong_type(r, top_names[i], "an array");
        if ((i == TOP_SCHEMA ? read_schema(r) : list ? read_list(r, read, out) : read(r, out)) < 0)
            return -1;
    }
    return more;
}

/* Returns the kind of the outermost object, by its keys: NULL is a document of profiles, else one
 * profile of the kind to which more of the keys belong. */
static const struct profile_kind *guess_kind(const struct profile_reader *r)
{
    struct profile_reader peek = *r;
    struct json_text key;
    struct name_list gpu_keys = names_of_kind(&gpu_kind),
                     network_keys = names_of_kind(&network_kind);
    size_t gpu = 0, network = 0;
    json_enter(&peek.j, '{');
    while (json_next_key(&peek.j, &key)) {
        const char *name = reader_text(&peek, key);
        char next = json_peek(&peek.j);
        if (strcmp(name, "schema") == 0 ||
            ((next == '{' || next == '[') && names_find(name_list_of(top_names), name) < TOP_COUNT))
            return NULL;
        gpu += names_find(gpu_keys, name) < gpu_keys.count;
        network += names_find(network_keys, name) < network_keys.count;
        if (strcmp(name, "base") == 0 && next == '"')
            network += network_profile_find(reader_text(&peek, json_string(&peek.j)), NULL) != NULL;
        else
            json_skip(&peek.j);
    }
    return gpu == 0 && network == 0 ? NULL : gpu >= network ? &gpu_kind : &network_kind;
}

/* A GPU's network must be one that can be found. */
static int check_link(struct profile_reader *r, const struct profile_pair *pair)
{
    struct err why = {0};
    const char *name = pair->gpu != NULL ? pair->gpu->network : NULL;
    if (name == NULL || (pair->network != NULL && strcmp(pair->network->name, name) == 0) ||
        network_profile_find(name, &why) != NULL)
        return 0;
    return err_set(r->e, ERR_INPUT, "%s: network: %s", r->label, why.msg);
}

int profile_json_read(struct profile_pair *out, struct arena *a, const char *label,
                      const char *text, size_t len, struct err *e)
{
    struct profile_reader r = {.arena = a, .label = label, .e = e};
    struct profile_pair pair = {0};
    const struct profile_kind *kind;
    int rc;
    json_init(&r.j, text, len);
    if (json_peek(&r.j) != '{')
        return reader_fail(&r, "a JSON object is needed");
    kind = guess_kind(&r);
    rc = kind == &gpu_kind       ? read_gpu(&r, &pair)
         : kind == &network_kind ? read_network(&r, &pair)
                                 : read_document(&r, &pair);
    json_end(&r.j);
    if (rc < 0 || reader_check(&r) < 0)
        return -1;
    if (pair.gpu == NULL && pair.network == NULL)
        return reader_fail(&r, "no profile in it: neither \"gpu\" nor \"network\"");
    if (check_link(&r, &pair) < 0)
        return -1;
    *out = pair;
    return 0;
}

/* ---- writing ---- */

static void add_group(cJSON *object, const struct param_table *table, const void *values)
{
    cJSON *group = cJSON_CreateObject();
    for (size_t i = 0; i < table->count; i++) {
        double value = param_value(values, &table->params[i]);
        if (value != 0)
            cJSON_AddNumberToObject(group, table->params[i].name, value);
    }
    if (group->child != NULL)
        cJSON_AddItemToObject(object, table->name, group);
    else
        cJSON_Delete(group);
}

cJSON *profile_json_object(const struct profile_kind *kind, const void *profile)
{
    cJSON *object = cJSON_CreateObject();
    for (size_t i = 0; i < kind->ntexts; i++) {
        const char *text = profile_text(profile, &kind->texts[i]);
        if (text != NULL)
            cJSON_AddStringToObject(object, kind->texts[i].name, text);
    }
    for (size_t i = 0; i < kind->nfields; i++)
        cJSON_AddNumberToObject(object, kind->fields[i].name,
                                profile_value(profile, &kind->fields[i]));
    for (size_t i = 0; i < kind->ngroups; i++)
        add_group(object, &param_tables[kind->groups[i].group],
                  (const char *)profile + kind->groups[i].offset);
    return object;
}
