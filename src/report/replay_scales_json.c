/* SPDX-License-Identifier: MIT */
#include "report/replay_internal.h"
#include "report/json_add.h"

#include <cjson/cJSON.h>
#include <math.h>

static cJSON *add_object(cJSON *list)
{
    cJSON *o = cJSON_CreateObject();
    cJSON_AddItemToArray(list, o);
    return o;
}

static void add_groups(cJSON *o, const struct axis_times *axes)
{
    cJSON *list = cJSON_AddArrayToObject(o, "groups");
    for (int i = 0; i < axes->count; i++) {
        cJSON *one = add_object(list);
        json_add_text(one, "axes", axes->list[i].name);
        json_add_us(one, "comm_us", axes->list[i].total_ns);
        json_add_us(one, "exposed_us", axes->list[i].exposed_ns);
    }
}

static void add_part(cJSON *list, const struct path_part *p)
{
    cJSON *one = add_object(list), *thirds;
    json_add_text(one, "name", p->name);
    json_add_us(one, "us", p->ns);
    json_add_number(one, "share", p->share);
    thirds = cJSON_AddArrayToObject(one, "thirds");
    for (int t = 0; t < 3; t++)
        cJSON_AddItemToArray(thirds, cJSON_CreateNumber(p->thirds[t]));
    if (p->what != PATH_COMM)
        return;
    json_add_us(one, "overlapped_us", p->overlapped_ns);
    cJSON_AddNumberToObject(one, "calls", p->calls);
    cJSON_AddNumberToObject(one, "last_calls", p->last);
    json_add_number(one, "bytes", p->bytes > 0 ? (double)p->bytes : NAN);
}

static void add_path(cJSON *o, const struct path_summary *s)
{
    cJSON *path = cJSON_AddObjectToObject(o, "critical_path"), *list;
    json_add_text(path, "words", s->words);
    list = cJSON_AddArrayToObject(path, "parts");
    for (int i = 0; i < s->count; i++)
        add_part(list, &s->parts[i]);
    json_add_us(path, "rest_us", s->rest_ns);
    json_add_number(path, "slow_rank", s->slow_rank >= 0 ? s->slow_rank : NAN);
    json_add_number(path, "slow_rank_work", s->slow_rank >= 0 ? s->slow_work : NAN);
    json_add_number(path, "slower", s->slow_rank >= 0 ? s->slower : NAN);
}

static void add_error(cJSON *o, const struct uncertainty *u)
{
    cJSON *error = cJSON_AddObjectToObject(o, "error"), *list;
    json_add_number(error, "share", u->share);
    json_add_number(error, "replay", u->replay);
    json_add_number(error, "waits", u->waits);
    json_add_number(error, "steps", u->steps);
    json_add_number(error, "unmeasured", u->unmeasured);
    list = cJSON_AddArrayToObject(error, "rests_on");
    for (int b = 0; b < BASIS_COUNT; b++) {
        cJSON *one;
        if (!(u->shares[b] > 0))
            continue;
        one = add_object(list);
        cJSON_AddStringToObject(one, "what", basis_name((enum basis)b));
        json_add_number(one, "share", u->shares[b]);
        json_add_number(one, "error", u->errors[b]);
        json_add_number(one, "unmeasured", u->unknown[b]);
    }
}

void replay_scale_json(struct cJSON *o, const struct replay_scale *s, const struct workload *w)
{
    add_error(o, &s->error);
    add_groups(o, &s->axes);
    add_path(o, &s->path);
    json_add_number(o, "tokens_per_s", w->tokens > 0 ? s->rate.tokens_per_s : NAN);
    json_add_number(o, "tokens_per_s_gpu", w->tokens > 0 ? s->rate.tokens_per_s_gpu : NAN);
    json_add_number(o, "utilisation", w->missing == NULL ? s->rate.utilisation : NAN);
}
