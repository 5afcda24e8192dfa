/* SPDX-License-Identifier: MIT */
#include "model/profile_json.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/opt.h"

#include <assert.h>
#include <cjson/cJSON.h>
#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define NAME_MAX_LEN 63
#define PROFILE_ROWS_MAX 256

/* ---- messages ---- */

int reader_check(struct profile_reader *r)
{
    return r->j.error != NULL ? reader_fail(r, "%s", r->j.error) : 0;
}

int reader_fail(struct profile_reader *r, const char *fmt, ...)
{
    char text[512];
    size_t line = 1;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    for (size_t i = 0; i < json_offset(&r->j); i++)
        line += r->j.start[i] == '\n';
    return err_set(r->e, ERR_INPUT, "%s:%zu: %s", r->label, line,
                   r->j.error != NULL ? r->j.error : text);
}

int reader_wrong_type(struct profile_reader *r, const char *key, const char *wanted)
{
    const char *is = "a number";
    switch (json_peek(&r->j)) {
    case '{':
        is = "an object";
        break;
    case '[':
        is = "an array";
        break;
    case '"':
        is = "a text";
        break;
    case 't':
    case 'f':
        is = "true or false";
        break;
    case 'n':
        is = "null";
        break;
    }
    return reader_fail(r, "%s: %s is needed, not %s", key, wanted, is);
}

/* ---- keys ---- */

static const char *key_name(const void *list, size_t i)
{
    const struct profile_kind *kind = list;
    if (i < kind->ntexts)
        return kind->texts[i].name;
    i -= kind->ntexts;
    if (i < kind->nfields)
        return kind->fields[i].name;
    i -= kind->nfields;
    if (i < kind->ngroups)
        return param_tables[kind->groups[i].group].name;
    return i == kind->ngroups && kind->rows != NULL ? kind->rows->name : "base";
}

static const char *param_name_at(const void *list, size_t i)
{
    const struct param_table *table = list;
    return table->params[i].name;
}

static const char *word_at(const void *list, size_t i)
{
    return ((const char *const *)list)[i];
}

static struct name_list names_of_kind(const struct profile_kind *kind)
{
    size_t rows = kind->rows != NULL, base = kind->find != NULL;
    return (struct name_list){key_name, kind,
                              kind->ntexts + kind->nfields + kind->ngroups + rows + base};
}

/* `words` is ended by NULL; it may be NULL: none. */
static struct name_list name_list_of(const char *const *words)
{
    size_t count = 0;
    while (words != NULL && words[count] != NULL)
        count++;
    return (struct name_list){word_at, words, count};
}

/* The number of `name`; n.count when it is none of them. */
static size_t names_find(struct name_list n, const char *name)
{
    size_t i = 0;
    while (i < n.count && strcmp(n.at(n.list, i), name) != 0)
        i++;
    return i;
}

/* The beginning of a name is close to it. */
static size_t how_far(const char *given, const char *name)
{
    return strncmp(given, name, strlen(given)) == 0 ? 0 : opt_distance(given, name);
}

static const char *names_nearest(struct name_list n, const char *name)
{
    const char *best = n.at(n.list, 0);
    for (size_t i = 1; i < n.count; i++) {
        if (how_far(name, n.at(n.list, i)) < how_far(name, best))
            best = n.at(n.list, i);
    }
    return best;
}

char *reader_text(struct profile_reader *r, struct json_text text)
{
    struct buf b = BUF_INIT;
    char *own;
    json_decode(text, &b);
    own = arena_strndup(r->arena, b.data, b.len);
    buf_release(&b);
    return own;
}

/* Keys of former versions. */
static const struct {
    const char *was, *now;
} replaced[] = {
    {"host_GBps", "host_share, a share of the GPU's pcie_GBps, replaces it (calibrate again)"},
    {"tree_max_bytes", "the table 'tuner' replaces it"},
};

int reader_next_key(struct profile_reader *r, struct name_list n, uint64_t *seen, size_t *number)
{
    struct json_text key;
    const char *name;
    assert(n.count <= 64); /* one bit of `seen` each */
    if (!json_next_key(&r->j, &key))
        return reader_check(r);
    name = reader_text(r, key);
    *number = names_find(n, name);
    for (size_t i = 0; *number == n.count && i < sizeof replaced / sizeof *replaced; i++) {
        if (strcmp(name, replaced[i].was) == 0)
            return reader_fail(r, "'%s' is no longer a key: %s", name, replaced[i].now);
    }
    if (*number == n.count)
        return reader_fail(r, "unknown key '%.*s'; the nearest is '%s'", NAME_MAX_LEN, name,
                           names_nearest(n, name));
    if (*seen >> *number & 1)
        return reader_fail(r, "%s is given twice", name);
    *seen |= (uint64_t)1 << *number;
    return 1;
}

/* ---- values ---- */

static int read_number(struct profile_reader *r, const char *name, const char *unit, double lowest,
                       double highest, void *at)
{
    char next = json_peek(&r->j);
    double value;
    const char *gap = unit[0] != '\0' ? " " : "";
    if (next != '0' && next != '-')
        return reader_wrong_type(r, name, "a number");
    value = json_double(&r->j, 0);
    if (reader_check(r) < 0)
        return -1;
    if (value != 0) { /* 0: not there, or not known */
        if (!(value >= lowest))
            return reader_fail(r, "%s: %.10g is below %.10g%s%s", name, value, lowest, gap, unit);
        if (!(value <= highest))
            return reader_fail(r, "%s: %.10g is beyond %.10g%s%s", name, value, highest, gap, unit);
        bool whole = strcmp(unit, "count") == 0 || strcmp(unit, "version") == 0;
        if (whole && value != floor(value))
            return reader_fail(r, "%s: %.10g is no whole number", name, value);
    }
    memcpy(at, &value, sizeof value);
    return 0;
}

/* A name goes into tables, keys and file names of others: one plain word. */
static bool is_plain(const char *text)
{
    size_t len = strlen(text);
    for (const char *p = text; *p != '\0'; p++) {
        if (!isalnum((unsigned char)*p) && strchr("_-.", *p) == NULL)
            return false;
    }
    return len > 0 && len <= NAME_MAX_LEN;
}

bool reader_has_control(const char *text)
{
    for (; *text != '\0'; text++) {
        if ((unsigned char)*text < ' ' || *text == 0x7f)
            return true;
    }
    return false;
}

static int read_text(struct profile_reader *r, const struct profile_text *t, void *profile)
{
    bool word = strcmp(t->name, "name") == 0 || strcmp(t->name, "arch") == 0;
    struct name_list words = name_list_of(t->words);
    const char *value;
    if (json_peek(&r->j) != '"')
        return reader_wrong_type(r, t->name, "a text");
    value = reader_text(r, json_string(&r->j));
    if (reader_check(r) < 0)
        return -1;
    if (reader_has_control(value))
        return reader_fail(r, "%s: control characters are not allowed", t->name);
    if (word && !is_plain(value))
        return reader_fail(r, "%s: '%.*s' is no word of up to %d letters, digits, '_', '-' and '.'",
                           t->name, NAME_MAX_LEN, value, NAME_MAX_LEN);
    if (words.count > 0 && names_find(words, value) == words.count)
        return reader_fail(r, "%s: unknown '%.*s'; the nearest is '%s'", t->name, NAME_MAX_LEN,
                           value, names_nearest(words, value));
    memcpy((char *)profile + t->offset, &value, sizeof value);
    return 0;
}

static int read_group(struct profile_reader *r, const struct param_table *table, void *values)
{
    struct name_list names = {param_name_at, table, table->count};
    uint64_t seen = 0;
    size_t i;
    int more;
    if (json_peek(&r->j) != '{')
        return reader_wrong_type(r, table->name, "an object");
    json_enter(&r->j, '{');
    while ((more = reader_next_key(r, names, &seen, &i)) > 0) {
        const struct param *p = &table->params[i];
        if (read_number(r, p->name, p->unit, p->lowest, p->highest, param_at(values, p)) < 0)
            return -1;
    }
    return more;
}

/* ---- a profile ---- */

/* Wherever "base" stands in the object: what it names is overwritten by everything else. */
static int start_from_base(struct profile_reader *r, const struct profile_kind *kind, void *profile)
{
    struct profile_reader peek = *r;
    struct json_text key;
    struct err why = {0};
    json_enter(&peek.j, '{');
    while (json_next_key(&peek.j, &key)) {
        const char *name;
        const void *base;
        if (!json_text_is(key, "base")) {
            json_skip(&peek.j);
            continue;
        }
        if (json_peek(&peek.j) != '"')
            return reader_wrong_type(&peek, "base", "a text");
        name = reader_text(&peek, json_string(&peek.j));
        base = kind->find(name, &why);
        if (base == NULL)
            return reader_fail(&peek, "base: %s", why.msg);
        memcpy(profile, base, kind->size);
        break;
    }
    return 0;
}

static int read_rows(struct profile_reader *r, const struct profile_kind *kind, char *profile);

static int read_key(struct profile_reader *r, const struct profile_kind *kind, size_t i,
                    char *profile)
{
    const struct profile_field *f;
    if (i < kind->ntexts)
        return read_text(r, &kind->texts[i], profile);
    i -= kind->ntexts;
    if (i < kind->nfields) {
        f = &kind->fields[i];
        return read_number(r, f->name, f->unit, f->lowest, f->highest, profile + f->offset);
    }
    i -= kind->nfields;
    if (i < kind->ngroups)
        return read_group(r, &param_tables[kind->groups[i].group],
                          profile + kind->groups[i].offset);
    if (i == kind->ngroups && kind->rows != NULL)
        return read_rows(r, kind, profile);
    json_skip(&r->j); /* base */
    return reader_check(r);
}

static int check_needed(struct profile_reader *r, const struct profile_kind *kind,
                        const void *profile, uint64_t seen)
{
    for (size_t i = 0; i < kind->ntexts; i++) {
        bool own = strcmp(kind->texts[i].name, "name") == 0; /* not the base's */
        const char *value = own && !(seen >> i & 1) ? NULL : profile_text(profile, &kind->texts[i]);
        if (kind->texts[i].needed && value == NULL)
            return reader_fail(r, "the %s has no %s%s", kind->name, kind->texts[i].name,
                               own || kind->find == NULL ? "" : ", and no base to take it from");
    }
    return 0;
}

/* The object that stands next as a new profile of the arena, of kind's struct. NULL with e filled.
 */
static void *reader_profile(struct profile_reader *r, const struct profile_kind *kind)
{
    void *profile = arena_alloc(r->arena, kind->size);
    uint64_t seen = 0;
    size_t i;
    int more;
    if (json_peek(&r->j) != '{') {
        reader_wrong_type(r, kind->name, "an object");
        return NULL;
    }
    if (kind->find != NULL && start_from_base(r, kind, profile) < 0)
        return NULL;
    json_enter(&r->j, '{');
    while ((more = reader_next_key(r, names_of_kind(kind), &seen, &i)) > 0) {
        if (read_key(r, kind, i, profile) < 0)
            return NULL;
    }
    return more == 0 && check_needed(r, kind, profile, seen) == 0 ? profile : NULL;
}

/* The array that stands next, in the place of the base's. */
static int read_rows(struct profile_reader *r, const struct profile_kind *kind, char *profile)
{
    const struct profile_kind *of = kind->rows;
    struct profile_rows rows = {0};
    char *list;
    if (json_peek(&r->j) != '[')
        return reader_wrong_type(r, of->name, "an array");
    list = arena_alloc(r->arena, PROFILE_ROWS_MAX * of->size);
    json_enter(&r->j, '[');
    while (json_next_item(&r->j)) {
        const void *row = reader_profile(r, of);
        if (row == NULL)
            return -1;
        if (rows.count == PROFILE_ROWS_MAX)
            return reader_fail(r, "%s: more than %d rows", of->name, PROFILE_ROWS_MAX);
        memcpy(list + rows.count++ * of->size, row, of->size);
    }
    rows.first = list;
    memcpy(profile + kind->rows_offset, &rows, sizeof rows);
    return reader_check(r);
}

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

/* Rows that could never choose. */
static int check_tuner(struct profile_reader *r, const struct network_profile *net)
{
    const struct tuner_row *row = net->tuner.first;
    for (size_t i = 0; i < net->tuner.count; i++, row++) {
        bool one_proto = strcmp(row->algo, "ring") != 0 && strcmp(row->algo, "tree") != 0;
        if (row->max_bytes > 0 && row->max_bytes < row->min_bytes)
            return reader_fail(r, "tuner, row %zu: max_bytes is below min_bytes", i + 1);
        if (row->max_ranks > 0 && row->max_ranks < row->min_ranks)
            return reader_fail(r, "tuner, row %zu: max_ranks is below min_ranks", i + 1);
        if (one_proto && strcmp(row->proto, "Simple") != 0)
            return reader_fail(r, "tuner, row %zu: %s has Simple only", i + 1, row->algo);
    }
    return 0;
}

static int read_network(struct profile_reader *r, struct profile_pair *out)
{
    struct network_profile *net;
    if (out->network != NULL)
        return reader_fail(r, "a second network: a file holds one");
    if ((net = reader_profile(r, &network_kind)) == NULL || check_network(r, net) < 0 ||
        check_tuner(r, net) < 0)
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

int profile_json_read(struct profile_pair *out, struct arena *a, const char *label,
                      const char *text, size_t len, struct err *e)
{
    struct profile_reader r = {.arena = a, .label = label, .e = e};
    struct profile_pair pair = {0};
    const struct profile_kind *kind;
    const char *network;
    struct err why = {0};
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
    /* A GPU's network must be one that can be found. */
    network = pair.gpu != NULL ? pair.gpu->network : NULL;
    if (network != NULL && (pair.network == NULL || strcmp(pair.network->name, network) != 0) &&
        network_profile_find(network, &why) == NULL)
        return err_set(e, ERR_INPUT, "%s: network: %s", label, why.msg);
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
    if (kind->rows != NULL) {
        const struct profile_rows rows = profile_rows_of(kind, profile);
        cJSON *list = cJSON_AddArrayToObject(object, kind->rows->name);
        for (size_t i = 0; i < rows.count; i++)
            cJSON_AddItemToArray(list, profile_json_object(kind->rows, (const char *)rows.first +
                                                                           i * kind->rows->size));
    }
    return object;
}
