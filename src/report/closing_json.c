/* SPDX-License-Identifier: MIT */
#include "report/closing_report.h"
#include "report/json_add.h"

#include <cjson/cJSON.h>
#include <math.h>

#define SCHEMA "specter.analyze_summary/1"

static void add_share(cJSON *doc, const char *key, const struct closing_share *x, double divisor)
{
    const char *const keys[2][3] = {{"median", "least", "most"},
                                    {"median_us", "least_us", "most_us"}};
    const char *const *k = keys[divisor != 1];
    cJSON *o = cJSON_AddObjectToObject(doc, key);
    json_add_number(o, k[0], x->median / divisor);
    json_add_number(o, k[1], x->least / divisor);
    json_add_number(o, "least_rank", closing_rank_number(x->least_rank));
    json_add_number(o, k[2], x->most / divisor);
    json_add_number(o, "most_rank", closing_rank_number(x->most_rank));
}

static void add_run(cJSON *doc, const struct closing_report *r)
{
    cJSON *o = cJSON_AddObjectToObject(doc, "run"), *notes;
    json_add_text(o, "id", r->run->id);
    json_add_text(o, "source", r->run->source);
    json_add_number(o, "world_size", r->run->world_size > 0 ? r->run->world_size : NAN);
    cJSON_AddNumberToObject(o, "ranks", (double)r->sums->nranks);
    cJSON_AddNumberToObject(o, "hosts", (double)r->sums->hosts.count);
    notes = cJSON_AddArrayToObject(doc, "notes");
    for (size_t i = 0; i < r->run->nnotes; i++) {
        cJSON *note = cJSON_CreateObject();
        json_add_text(note, "text", r->run->notes[i].text);
        cJSON_AddBoolToObject(note, "loss", r->run->notes[i].loss);
        cJSON_AddItemToArray(notes, note);
    }
}

/* null where the members of no collective can be compared. */
static void add_last(cJSON *doc, const struct closing_sums *s)
{
    const struct closing_rank *r = s->by_wait != SIZE_MAX ? &s->ranks[s->by_wait] : NULL;
    cJSON *o;
    if (r == NULL) {
        cJSON_AddNullToObject(doc, "waited_for");
        return;
    }
    o = cJSON_AddObjectToObject(doc, "waited_for");
    json_add_number(o, "rank", closing_rank_number(r->rank));
    json_add_us(o, "caused_wait_us", r->caused_ns);
}

void closing_json(const struct closing_report *r, FILE *out)
{
    static const char *const kinds[] = {
#define X(id, key) key,
        SPECTER_SUM_KINDS(X)
#undef X
    };
    struct sheet sheets[CLOSING_SHEET_COUNT];
    struct json_stream stream;
    cJSON *doc = cJSON_CreateObject(), *shares;
    cJSON_AddStringToObject(doc, "schema", SCHEMA);
    add_run(doc, r);
    add_share(doc, "recorded", &r->sums->recorded, 1e3);
    shares = cJSON_AddObjectToObject(doc, "shares");
    for (int kind = 0; kind < SPECTER_SUM_KIND_COUNT; kind++)
        add_share(shares, kinds[kind], &r->sums->kinds[kind], 1);
    add_share(shares, "communication", &r->sums->communication, 1);
    add_last(doc, r->sums);
    json_stream_begin(&stream, out);
    json_stream_members(&stream, doc);
    cJSON_Delete(doc);
    closing_sheets(sheets, r);
    for (size_t i = 0; i < CLOSING_SHEET_COUNT; i++) {
        json_stream_list(&stream, sheets[i].name);
        for (size_t row = 0; row < sheet_json_rows(&sheets[i]); row++)
            json_stream_element(&stream, sheet_json_row(&sheets[i], row));
        json_stream_list_end(&stream);
        sheet_release(&sheets[i]);
    }
    json_stream_end(&stream);
}
