/* SPDX-License-Identifier: MIT */
#include "bench/findings.h"
#include "report/bench_report.h"
#include "report/bench_run.h"
#include "report/json_add.h"

#include <cjson/cJSON.h>

static cJSON *run_json(const struct bench_run *run)
{
    cJSON *doc = cJSON_CreateObject();
    json_add_text(doc, "file", run->file);
    cJSON_AddNumberToObject(doc, "line", (double)run->line);
    json_add_text(doc, "program", run->program);
    bench_run_json(doc, run);
    return doc;
}

static void add_findings(cJSON *doc, const struct bench_study *s)
{
    struct bench_finding findings[BENCH_FINDINGS_MAX];
    const size_t n = bench_findings(s, findings);
    cJSON *list = cJSON_AddArrayToObject(doc, "findings");
    for (size_t i = 0; i < n; i++) {
        cJSON *one = cJSON_CreateObject();
        cJSON_AddStringToObject(one, "name", findings[i].name);
        json_add_text(one, "text", findings[i].text);
        json_add_text(one, "look_at", findings[i].look_at);
        cJSON_AddBoolToObject(one, "rough", findings[i].rough);
        json_add_number(one, "fit", findings[i].fit);
        cJSON_AddItemToArray(list, one);
    }
}

static cJSON *study_json(const struct bench_study *s)
{
    cJSON *doc = cJSON_CreateObject(), *list;
    struct sheet rows;
    json_add_text(doc, "op", s->op != SPECTER_COMM_OP_COUNT ? specter_comm_op_name(s->op) : "");
    cJSON_AddNumberToObject(doc, "ranks", s->where.ranks);
    cJSON_AddNumberToObject(doc, "nodes", s->where.nodes);
    cJSON_AddNumberToObject(doc, "gpus_per_node", s->where.per_node);
    cJSON_AddStringToObject(doc, "gpu_profile", s->gpu->name);
    cJSON_AddStringToObject(doc, "network_profile", s->net->name);
    if (s->nmain > s->count[BENCH_UNKNOWN]) {
        const struct bench_interval in = bench_study_interval(s);
        cJSON_AddNumberToObject(doc, "interval_level", in.level);
        cJSON_AddBoolToObject(doc, "interval_known", in.known);
    }
    for (int verdict = 0; verdict < BENCH_VERDICT_COUNT; verdict++) {
        static const char *const keys[] = {"normal", "slow", "faster", "wrong", "unknown"};
        cJSON_AddNumberToObject(doc, keys[verdict], (double)s->count[verdict]);
    }
    add_findings(doc, s);
    list = cJSON_AddArrayToObject(doc, "rows");
    bench_study_sheet(&rows, s);
    for (size_t i = 0; i < sheet_json_rows(&rows); i++)
        cJSON_AddItemToArray(list, sheet_json_row(&rows, i));
    sheet_release(&rows);
    return doc;
}

cJSON *bench_json(const struct bench_studies *studies)
{
    cJSON *doc = cJSON_CreateObject(), *runs, *list = NULL;
    cJSON_AddStringToObject(doc, "schema", "specter.bench/1");
    cJSON_AddStringToObject(doc, "kind", "report");
    runs = cJSON_AddArrayToObject(doc, "runs");
    for (size_t i = 0; i < studies->n; i++) {
        const struct bench_study *s = &studies->list[i];
        if (i == 0 || s->run != studies->list[i - 1].run) {
            cJSON *run = run_json(s->run);
            list = cJSON_AddArrayToObject(run, "operations");
            cJSON_AddItemToArray(runs, run);
        }
        cJSON_AddItemToArray(list, study_json(s));
    }
    return doc;
}
