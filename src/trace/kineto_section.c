/* SPDX-License-Identifier: MIT
 *
 * What stands beside the events of a Kineto file: devices, the rank and its process groups, the
 * time base.
 */
#include "base/buf.h"
#include "trace/kineto.h"

#include <stdlib.h>
#include <string.h>

static void take_devices(void *ctx, struct json *j)
{
    struct kineto *k = ctx;
    struct json_text key;
    k->ndevices = 0;
    if (!json_enter(j, '['))
        return;
    while (json_next_item(j)) {
        int64_t id = -1;
        const char *name = "";
        if (!json_enter(j, '{'))
            continue;
        while (json_next_key(j, &key)) {
            if (json_text_is(key, "id"))
                id = event_number(j);
            else if (json_text_is(key, "name") && json_peek(j) == '"')
                name = memo_find(&k->texts, k->run, json_string(j))->text;
            else
                json_skip(j);
        }
        if (id >= 0 && id < (int64_t)(sizeof k->device_names / sizeof *k->device_names))
            k->device_names[id] = name;
        k->ndevices++;
    }
}

/* The ranks of a group: a list, or a text that holds one. */
static void take_group_ranks(struct kineto *k, struct json *j, struct kineto_group *group)
{
    struct json inner;
    struct json_text text;
    int *list = NULL;
    size_t cap = 0, n = 0;
    if (json_peek(j) == '"') {
        text = json_string(j);
        json_init(&inner, text.p, text.len);
        j = &inner;
    }
    if (!json_enter(j, '['))
        return;
    while (json_next_item(j)) {
        int64_t rank = json_i64(j, -1);
        ARRAY_GROW(list, cap, n + 1);
        list[n++] = rank >= 0 && rank < RUN_RANKS_MAX ? (int)rank : -1;
    }
    if (j->error == NULL && n > 0 && n <= RUN_RANKS_MAX) {
        group->ranks = arena_alloc(&k->run->arena, n * sizeof *list);
        memcpy(group->ranks, list, n * sizeof *list);
        group->size = (int)n;
    }
    free(list);
}

/* An empty list of a group that is as large as the job stands for all ranks. */
static void take_all_ranks(struct kineto *k, struct kineto_group *group)
{
    group->size = (int)k->world_size;
    group->ranks = arena_alloc(&k->run->arena, (size_t)group->size * sizeof *group->ranks);
    for (int i = 0; i < group->size; i++)
        group->ranks[i] = i;
}

void kineto_take_groups(struct kineto *k, struct json *j)
{
    struct json_text key;
    k->groups.count = 0;
    if (!json_enter(j, '['))
        return;
    while (json_next_item(j)) {
        struct kineto_group group = {"", "", NULL, 0};
        int64_t size = 0;
        if (!json_enter(j, '{'))
            continue; /* null */
        while (json_next_key(j, &key)) {
            if (json_text_is(key, "pg_name") && json_peek(j) == '"')
                group.name = memo_find(&k->texts, k->run, json_string(j))->text;
            else if (json_text_is(key, "pg_desc") && json_peek(j) == '"')
                group.text = memo_find(&k->texts, k->run, json_string(j))->text;
            else if (json_text_is(key, "pg_size") || json_text_is(key, "group_size"))
                size = event_number(j);
            else if (json_text_is(key, "ranks"))
                take_group_ranks(k, j, &group);
            else
                json_skip(j);
        }
        if (group.ranks == NULL && size > 0 && size <= RUN_RANKS_MAX && size == k->world_size)
            take_all_ranks(k, &group);
        ARRAY_GROW(k->groups.list, k->groups.cap, k->groups.count + 1);
        k->groups.list[k->groups.count++] = group;
    }
}

/* The same as a text; one that makes no sense is left. */
static void take_group_text(struct kineto *k, struct json_text text)
{
    struct buf plain = BUF_INIT;
    struct json inner;
    json_decode(text, &plain);
    json_init(&inner, plain.data, plain.len);
    if (json_peek(&inner) == '[')
        kineto_take_groups(k, &inner);
    buf_release(&plain);
}

static void take_distributed(void *ctx, struct json *j)
{
    struct kineto *k = ctx;
    struct json_text key;
    if (!json_enter(j, '{'))
        return;
    while (json_next_key(j, &key)) {
        if (json_text_is(key, "rank"))
            k->recorded_rank = event_number(j);
        else if (json_text_is(key, "world_size"))
            k->world_size = event_number(j);
        else if (json_text_is(key, "pg_config") && json_peek(j) == '[')
            kineto_take_groups(k, j);
        else if (json_text_is(key, "pg_config") && json_peek(j) == '"')
            take_group_text(k, json_string(j));
        else
            json_skip(j);
    }
    if (k->world_size < 0 || k->world_size > RUN_RANKS_MAX)
        k->world_size = 0;
}

static void take_base(void *ctx, struct json *j)
{
    struct kineto *k = ctx;
    k->base_ns = event_number(j);
    k->has_base = k->base_ns != ARG_NONE;
    if (!k->has_base)
        k->base_ns = 0;
}

static const struct {
    const char *key;
    window_value *take;
} sections[] = {
    {"deviceProperties", take_devices},
    {"distributedInfo", take_distributed},
    {"baseTimeNanoseconds", take_base},
};

window_value *kineto_section(const char *key)
{
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
        if (strcmp(key, sections[i].key) == 0)
            return sections[i].take;
    }
    return window_skip;
}
