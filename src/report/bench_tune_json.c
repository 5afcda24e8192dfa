/* SPDX-License-Identifier: MIT */
#include "report/bench_run.h"
#include "report/bench_tune.h"

#include "report/json_add.h"

#include <cjson/cJSON.h>
#include <math.h>

static void add_choice(cJSON *o, const char *key, const struct comm_choice *c)
{
    cJSON *choice = c->algo != NULL ? cJSON_CreateObject() : cJSON_CreateNull();
    if (c->algo != NULL) {
        cJSON_AddStringToObject(choice, "algorithm", c->algo);
        cJSON_AddStringToObject(choice, "protocol", c->proto);
        if (c->channels > 0)
            cJSON_AddNumberToObject(choice, "channels", c->channels);
        else
            cJSON_AddNullToObject(choice, "channels");
    }
    cJSON_AddItemToObject(o, key, choice);
}

/* Nulls where nothing was measured. */
static void add_ratio(cJSON *o, const struct bench_ratio *r)
{
    bool any = r->rounds > 0;
    json_add_number(o, "ratio", any ? r->ratio : (double)NAN);
    json_add_number(o, "low", any ? r->low : (double)NAN);
    json_add_number(o, "high", any ? r->high : (double)NAN);
    cJSON_AddNumberToObject(o, "rounds", (double)r->rounds);
}

static cJSON *trial_json(const struct bench_trial *t)
{
    cJSON *o = cJSON_CreateObject();
    add_choice(o, "setting", &t->setting);
    add_choice(o, "took", &t->took);
    cJSON_AddStringToObject(o, "state", bench_trial_state_name(t->state));
    add_ratio(o, &t->race);
    return o;
}

static cJSON *size_json(const struct bench_tuned *s)
{
    const struct comm_choice none = {NULL, NULL, 0};
    const struct bench_ratio nothing = {.rounds = 0};
    bool any = s->verdict != BENCH_TUNE_OWN;
    cJSON *o = cJSON_CreateObject(), *trials;
    cJSON_AddStringToObject(o, "op", specter_comm_op_name(s->op));
    cJSON_AddNumberToObject(o, "bytes", (double)s->bytes);
    cJSON_AddStringToObject(o, "verdict", bench_tune_verdict_name(s->verdict));
    add_choice(o, "own", &s->own);
    json_add_number(o, "own_us", s->own_us);
    add_choice(o, "best", any ? &s->best.setting : &none);
    add_choice(o, "best_took", any ? &s->best.took : &none);
    json_add_number(o, "best_us", any && s->best_us > 0 ? s->best_us : (double)NAN);
    add_ratio(o, any ? &s->gain : &nothing);
    cJSON_AddNumberToObject(o, "wrong", s->wrong);
    trials = cJSON_AddArrayToObject(o, "trials");
    for (size_t i = 0; i < s->n; i++)
        cJSON_AddItemToArray(trials, trial_json(&s->trials[i]));
    return o;
}

static void add_exports(cJSON *doc, const struct bench_tune_report *r)
{
    struct buf algo = BUF_INIT, proto = BUF_INIT;
    bool any = bench_tune_exports(r, &algo, &proto);
    cJSON *o = any ? cJSON_CreateObject() : cJSON_CreateNull();
    if (any) {
        cJSON_AddStringToObject(o, "NCCL_ALGO", algo.data);
        cJSON_AddStringToObject(o, "NCCL_PROTO", proto.data);
    }
    cJSON_AddItemToObject(doc, "export", o);
    buf_release(&algo);
    buf_release(&proto);
}

cJSON *bench_tune_json(const struct bench_tune_report *r)
{
    cJSON *doc = cJSON_CreateObject(), *list;
    size_t gains = 0;
    for (size_t i = 0; i < r->log->n; i++)
        gains += r->log->sizes[i].verdict == BENCH_TUNE_GAIN;
    cJSON_AddStringToObject(doc, "schema", "specter.bench/1");
    cJSON_AddStringToObject(doc, "kind", "tune");
    cJSON_AddBoolToObject(doc, "complete", r->complete && r->log->left == 0);
    json_add_text(doc, "backend", r->run->backend);
    json_add_text(doc, "library", r->run->library);
    json_add_text(doc, "gpu", r->run->gpu);
    cJSON_AddNumberToObject(doc, "ranks", r->run->where.ranks);
    cJSON_AddNumberToObject(doc, "nodes", r->run->where.nodes);
    cJSON_AddNumberToObject(doc, "gpus_per_node", r->run->where.per_node);
    cJSON_AddStringToObject(doc, "dtype", specter_dtype_name(r->dtype));
    json_add_number(doc, "least_gain", r->least_gain);
    cJSON_AddNumberToObject(doc, "gains", (double)gains);
    cJSON_AddNumberToObject(doc, "not_measured", (double)r->log->left);
    add_exports(doc, r);
    list = cJSON_AddObjectToObject(doc, "settings");
    for (size_t i = 0; i < r->run->nsettings; i++)
        json_add_text(list, r->run->settings[i].name, r->run->settings[i].value);
    list = cJSON_AddArrayToObject(doc, "sizes");
    for (size_t i = 0; i < r->log->n; i++)
        cJSON_AddItemToArray(list, size_json(&r->log->sizes[i]));
    bench_notes_json(doc, r->result);
    return doc;
}
