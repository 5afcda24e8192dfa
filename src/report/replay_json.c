/* SPDX-License-Identifier: MIT */
#include "report/replay_report.h"

#include "base/buf.h"
#include "report/table.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <string.h>

#define SCHEMA "specter.replay/1"

static void add_number(cJSON *o, const char *key, double value)
{
    if (isfinite(value))
        cJSON_AddNumberToObject(o, key, value);
    else
        cJSON_AddNullToObject(o, key);
}

static void add_us(cJSON *o, const char *key, double ns)
{
    add_number(o, key, ns / 1e3);
}

/* A document is valid UTF-8 whatever the trace holds. */
static void add_text(cJSON *o, const char *key, const char *text)
{
    struct buf safe = BUF_INIT;
    size_t size = 4 * strlen(text) + 1;
    char *to = buf_reserve(&safe, size);
    cJSON_AddStringToObject(o, key, text_safe(to, size, text, size));
    buf_release(&safe);
}

static void add_time(cJSON *o, const struct iteration_time *t)
{
    add_us(o, "iteration_us", t->span_ns);
    add_us(o, "compute_us", t->compute_ns);
    add_us(o, "comm_us", t->comm_ns);
    add_us(o, "exposed_comm_us", t->exposed_comm_ns);
    add_us(o, "memory_us", t->memory_ns);
    add_us(o, "exposed_memory_us", t->exposed_memory_ns);
    add_us(o, "idle_us", t->idle_ns);
}

/* null where it is not known. */
static void add_name(cJSON *o, const char *key, const char *name)
{
    if (name != NULL)
        cJSON_AddStringToObject(o, key, name);
    else
        cJSON_AddNullToObject(o, key);
}

static void add_source(cJSON *doc, const struct replay *rep, const struct run *run)
{
    cJSON *o = cJSON_AddObjectToObject(doc, "source");
    add_name(o, "gpu", rep->gpu_known ? rep->from.gpu->name : NULL);
    add_name(o, "network", rep->network_known ? rep->from.network->name : NULL);
    add_text(o, "path", run->source);
    add_text(o, "run", run->id);
    cJSON_AddNumberToObject(o, "ranks", (double)rep->nranks);
    cJSON_AddNumberToObject(o, "world_size", rep->world);
    cJSON_AddNumberToObject(o, "iterations", rep->iterations);
    add_time(cJSON_AddObjectToObject(o, "recorded"), &rep->recorded);
    add_time(cJSON_AddObjectToObject(o, "replayed"), &rep->own);
}

static void add_ranks(cJSON *doc, const struct replay *rep)
{
    cJSON *list = cJSON_AddArrayToObject(doc, "ranks");
    for (size_t r = 0; r < rep->nranks; r++) {
        cJSON *o = cJSON_CreateObject();
        cJSON_AddItemToArray(list, o);
        cJSON_AddNumberToObject(o, "rank", rep->ranks[r].rank);
        cJSON_AddNumberToObject(o, "iterations", rep->ranks[r].iterations);
        add_us(o, "recorded_us", rep->ranks[r].recorded_ns);
        add_us(o, "replayed_us", rep->ranks[r].replayed_ns);
    }
}

static void add_scales(cJSON *doc, const struct replay *rep)
{
    cJSON *list = cJSON_AddArrayToObject(doc, "scales");
    for (size_t i = 0; i < rep->nscales; i++) {
        const struct replay_scale *s = &rep->scales[i];
        cJSON *o = cJSON_CreateObject();
        cJSON_AddItemToArray(list, o);
        cJSON_AddNumberToObject(o, "scale", (double)s->scale);
        cJSON_AddNumberToObject(o, "gpus", (double)s->gpus);
        add_time(o, &s->time);
        add_number(o, "speedup", s->speedup);
        add_number(o, "efficiency", s->efficiency);
    }
}

static void add_lines(cJSON *doc, const char *key, const struct replay_lines *lines)
{
    cJSON *list = cJSON_AddArrayToObject(doc, key);
    for (size_t i = 0; i < lines->count; i++)
        cJSON_AddItemToArray(list, cJSON_CreateString(lines->list[i].text));
}

cJSON *replay_json(const struct replay *rep, const struct run *run)
{
    cJSON *doc = cJSON_CreateObject(), *target;
    cJSON_AddStringToObject(doc, "schema", SCHEMA);
    add_source(doc, rep, run);
    target = cJSON_AddObjectToObject(doc, "target");
    add_name(target, "gpu", rep->to.gpu->name);
    add_name(target, "network", rep->to.network->name);
    cJSON_AddBoolToObject(doc, "calibrated", rep->calibrate);
    add_number(doc, "unmodelled", rep->unmodelled);
    add_scales(doc, rep);
    add_ranks(doc, rep);
    add_lines(doc, "assumptions", &rep->assumptions);
    add_lines(doc, "notes", &rep->notes);
    return doc;
}
