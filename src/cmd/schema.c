/* SPDX-License-Identifier: MIT
 *
 * JSON Schemas of what tables of the code describe: trace lines, profiles, workload cards (cmd.h).
 */
#include "cmd/cmd.h"

#include "metrics/card.h"
#include "model/params.h"
#include "model/profile.h"
#include "model/profile_json.h"
#include "specter/trace.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIALECT "https://json-schema.org/draft/2020-12/schema"

/* {"type": type}, or {"type": [type, "null"]}. */
static cJSON *typed(const char *type, bool or_null)
{
    cJSON *o = cJSON_CreateObject(), *types;
    if (!or_null) {
        cJSON_AddStringToObject(o, "type", type);
        return o;
    }
    types = cJSON_AddArrayToObject(o, "type");
    cJSON_AddItemToArray(types, cJSON_CreateString(type));
    cJSON_AddItemToArray(types, cJSON_CreateString("null"));
    return o;
}

static cJSON *referring(const char *to)
{
    cJSON *o = cJSON_CreateObject();
    cJSON_AddStringToObject(o, "$ref", to);
    return o;
}

/* ---- a line of a trace ---- */

struct record_field {
    const char *key, *kind, *when;
};

struct record_kind {
    const char *selector, *value;
    const struct record_field *fields;
    size_t count;
};

#define FIELD(_key, _kind, _when) {#_key, #_kind, #_when},
#define X(_id, _selector, _value) \
    static const struct record_field fields_##_id[] = {SPECTER_##_id##_FIELDS(FIELD)};
SPECTER_RECORDS(X)
#undef X

static cJSON *record_value(const char *kind)
{
    const bool is_unsigned = strcmp(kind, "U64") == 0;
    cJSON *value;
    if (strcmp(kind, "RAW") == 0)
        return cJSON_CreateObject();
    if (strcmp(kind, "STR") == 0)
        return typed("string", true);
    value = typed(is_unsigned || strcmp(kind, "I64") == 0 ? "integer" : "number", true);
    if (is_unsigned)
        cJSON_AddNumberToObject(value, "minimum", 0);
    return value;
}

static cJSON *record_schema(const struct record_kind *r)
{
    cJSON *o = typed("object", false), *properties, *required, *is;
    cJSON_AddStringToObject(o, "title", r->value);
    properties = cJSON_AddObjectToObject(o, "properties");
    required = cJSON_AddArrayToObject(o, "required");
    for (size_t i = 0; i < r->count; i++) {
        const struct record_field *f = &r->fields[i];
        if (strcmp(f->key, r->selector) == 0) {
            is = cJSON_AddObjectToObject(properties, f->key);
            cJSON_AddStringToObject(is, "const", r->value);
        } else {
            cJSON_AddItemToObject(properties, f->key, record_value(f->kind));
        }
        if (strcmp(f->when, "ALWAYS") == 0)
            cJSON_AddItemToArray(required, cJSON_CreateString(f->key));
    }
    return o;
}

static void trace_schema(cJSON *doc)
{
    static const struct record_kind records[] = {
#define X(_id, _selector, _value) \
    {#_selector, _value, fields_##_id, sizeof fields_##_id / sizeof *fields_##_id},
        SPECTER_RECORDS(X)
#undef X
    };
    cJSON *any = cJSON_AddArrayToObject(doc, "oneOf");
    for (size_t i = 0; i < sizeof records / sizeof *records; i++)
        cJSON_AddItemToArray(any, record_schema(&records[i]));
}

/* ---- profiles ---- */

/* A figure: 0, not known, or within its bounds. */
static cJSON *figure(const char *unit, const char *help, double lowest, double highest)
{
    cJSON *o = typed("number", false), *any, *zero, *within;
    char text[256];
    snprintf(text, sizeof text, "%s%s%s", help, unit[0] != '\0' ? ", " : "", unit);
    cJSON_AddStringToObject(o, "description", text);
    any = cJSON_AddArrayToObject(o, "anyOf");
    zero = cJSON_CreateObject();
    cJSON_AddNumberToObject(zero, "const", 0);
    cJSON_AddItemToArray(any, zero);
    within = cJSON_CreateObject();
    cJSON_AddNumberToObject(within, "minimum", lowest);
    cJSON_AddNumberToObject(within, "maximum", highest);
    cJSON_AddItemToArray(any, within);
    return o;
}

static cJSON *group_schema(const struct param_table *table)
{
    cJSON *o = typed("object", false);
    cJSON *properties = cJSON_AddObjectToObject(o, "properties");
    for (size_t i = 0; i < table->count; i++) {
        const struct param *p = &table->params[i];
        cJSON_AddItemToObject(properties, p->name, figure(p->unit, p->help, p->lowest, p->highest));
    }
    cJSON_AddFalseToObject(o, "additionalProperties");
    return o;
}

static cJSON *text_schema(const struct profile_text *text)
{
    cJSON *o = typed("string", false), *words;
    if (text->words == NULL)
        return o;
    words = cJSON_AddArrayToObject(o, "enum");
    for (const char *const *word = text->words; *word != NULL; word++)
        cJSON_AddItemToArray(words, cJSON_CreateString(*word));
    return o;
}

static cJSON *kind_schema(const struct profile_kind *kind)
{
    cJSON *o = typed("object", false), *properties, *base, *required;
    properties = cJSON_AddObjectToObject(o, "properties");
    for (size_t i = 0; i < kind->ntexts; i++)
        cJSON_AddItemToObject(properties, kind->texts[i].name, text_schema(&kind->texts[i]));
    for (size_t i = 0; i < kind->nfields; i++) {
        const struct profile_field *f = &kind->fields[i];
        cJSON_AddItemToObject(properties, f->name, figure(f->unit, f->help, f->lowest, f->highest));
    }
    for (size_t i = 0; i < kind->ngroups; i++) {
        const struct param_table *table = &param_tables[kind->groups[i].group];
        cJSON_AddItemToObject(properties, table->name, group_schema(table));
    }
    if (kind->rows != NULL) {
        cJSON *list = typed("array", false);
        cJSON_AddItemToObject(list, "items", kind_schema(kind->rows));
        cJSON_AddItemToObject(properties, kind->rows->name, list);
    }
    required = cJSON_AddArrayToObject(o, "required");
    if (kind->find == NULL) {
        for (size_t i = 0; i < kind->ntexts; i++)
            if (kind->texts[i].needed)
                cJSON_AddItemToArray(required, cJSON_CreateString(kind->texts[i].name));
    } else { /* what else it needs may come from its base */
        base = typed("string", false);
        cJSON_AddStringToObject(base, "description", "a profile to start from");
        cJSON_AddItemToObject(properties, "base", base);
        cJSON_AddItemToArray(required, cJSON_CreateString("name"));
    }
    cJSON_AddFalseToObject(o, "additionalProperties");
    return o;
}

static cJSON *list_of(const char *to)
{
    cJSON *o = typed("array", false);
    cJSON_AddItemToObject(o, "items", referring(to));
    return o;
}

static void profiles_schema(cJSON *doc)
{
    cJSON *defs = cJSON_AddObjectToObject(doc, "$defs"), *file, *any, *properties, *schema;
    cJSON_AddItemToObject(defs, "gpu", kind_schema(&gpu_kind));
    cJSON_AddItemToObject(defs, "network", kind_schema(&network_kind));
    file = typed("object", false);
    properties = cJSON_AddObjectToObject(file, "properties");
    schema = cJSON_AddObjectToObject(properties, "schema");
    cJSON_AddStringToObject(schema, "const", PROFILE_JSON_SCHEMA);
    cJSON_AddItemToObject(properties, "gpu", referring("#/$defs/gpu"));
    cJSON_AddItemToObject(properties, "network", referring("#/$defs/network"));
    cJSON_AddItemToObject(properties, "gpus", list_of("#/$defs/gpu"));
    cJSON_AddItemToObject(properties, "networks", list_of("#/$defs/network"));
    cJSON_AddFalseToObject(file, "additionalProperties");
    any = cJSON_AddArrayToObject(doc, "anyOf");
    cJSON_AddItemToArray(any, file);
    cJSON_AddItemToArray(any, referring("#/$defs/gpu"));
    cJSON_AddItemToArray(any, referring("#/$defs/network"));
}

/* ---- workload cards ---- */

/* The object that `path`, all but its last key, leads to from the properties; made where it is
 * missing. */
static cJSON *inner_properties(cJSON *properties, char *path, const char **last)
{
    char *dot = strchr(path, '.');
    cJSON *inner;
    if (dot == NULL) {
        *last = path;
        return properties;
    }
    *dot = '\0';
    inner = cJSON_GetObjectItemCaseSensitive(properties, path);
    if (inner == NULL)
        inner = cJSON_AddObjectToObject(properties, path);
    properties = cJSON_GetObjectItemCaseSensitive(inner, "properties");
    if (properties == NULL)
        properties = cJSON_AddObjectToObject(inner, "properties");
    return inner_properties(properties, dot + 1, last);
}

/* A number may be written as text, and stand in a list. */
static const char *const card_types[] = {"number", "string", "array", "null"};

static void add_card_field(cJSON *properties, const char *keys, double max, const char *help)
{
    char copy[128], *rest = copy, *key;
    snprintf(copy, sizeof copy, "%s", keys);
    while ((key = strsep(&rest, ",")) != NULL) {
        const char *last;
        cJSON *in = inner_properties(properties, key, &last), *value, *types;
        value = cJSON_AddObjectToObject(in, last);
        cJSON_AddStringToObject(value, "description", help);
        types = cJSON_AddArrayToObject(value, "type");
        for (size_t i = 0; i < sizeof card_types / sizeof *card_types; i++)
            cJSON_AddItemToArray(types, cJSON_CreateString(card_types[i]));
        cJSON_AddNumberToObject(value, "minimum", 0);
        cJSON_AddNumberToObject(value, "maximum", max);
    }
}

/* Keys count at the end of any path, so that every level is described alike. */
static void card_schema(cJSON *doc)
{
    cJSON *level = cJSON_AddObjectToObject(cJSON_AddObjectToObject(doc, "$defs"), "level");
    cJSON *properties = cJSON_AddObjectToObject(level, "properties");
#define X(_field, _keys, _max, _help) add_card_field(properties, _keys, _max, _help);
    CARD_FIELDS(X)
#undef X
    cJSON_AddItemToObject(level, "additionalProperties", referring("#/$defs/level"));
    cJSON_AddItemToObject(level, "items", referring("#/$defs/level"));
    cJSON_AddStringToObject(doc, "type", "object");
    cJSON_AddStringToObject(doc, "$ref", "#/$defs/level");
}

int schema_print(const char *name, struct err *e)
{
    static const struct {
        const char *name, *title;
        void (*fill)(cJSON *doc);
    } schemas[] = {
        {"trace", "a line of a trace, as the tracer of this version writes it", trace_schema},
        {"profiles", "profiles of GPUs and networks, as written and read", profiles_schema},
        {"card", "a workload card", card_schema},
    };
    for (size_t i = 0; i < sizeof schemas / sizeof *schemas; i++) {
        cJSON *doc;
        char *text;
        if (strcmp(name, schemas[i].name) != 0)
            continue;
        doc = cJSON_CreateObject();
        cJSON_AddStringToObject(doc, "$schema", DIALECT);
        cJSON_AddStringToObject(doc, "title", schemas[i].title);
        schemas[i].fill(doc);
        text = cJSON_Print(doc);
        puts(text);
        free(text);
        cJSON_Delete(doc);
        return 0;
    }
    return err_set(e, ERR_USAGE, "--schema: '%.32s' is none of trace, profiles, card", name);
}
