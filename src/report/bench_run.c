/* SPDX-License-Identifier: MIT */
#include "report/bench_run.h"

#include "base/arena.h"
#include "report/json_add.h"
#include "report/table.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

/* cJSON writes bytes as they are. */
static cJSON *text_json(const char *text)
{
    size_t size = strlen(text) + 1;
    char *safe = array_new(size, 1);
    cJSON *json = cJSON_CreateString(text_safe(safe, size, text, size - 1));
    free(safe);
    return json;
}

static void add_texts(cJSON *o, const char *key, const char **list, size_t n)
{
    cJSON *array = cJSON_AddArrayToObject(o, key);
    for (size_t i = 0; i < n; i++)
        cJSON_AddItemToArray(array, text_json(list[i]));
}

void bench_run_json(cJSON *o, const struct bench_run *run)
{
    cJSON *settings;
    json_add_text(o, "backend", run->backend);
    json_add_text(o, "library", run->library);
    json_add_text(o, "gpu", run->gpu);
    cJSON_AddNumberToObject(o, "ranks", run->where.ranks);
    cJSON_AddNumberToObject(o, "nodes", run->where.nodes);
    cJSON_AddNumberToObject(o, "gpus_per_node", run->where.per_node);
    add_texts(o, "hosts", run->hosts, run->nhosts);
    settings = cJSON_AddObjectToObject(o, "settings");
    for (size_t i = 0; i < run->nsettings; i++)
        json_add_text(settings, run->settings[i].name, run->settings[i].value);
}

void bench_notes_json(cJSON *o, const struct bench_result *result)
{
    add_texts(o, "notes", result->notes, result->nnotes);
}
