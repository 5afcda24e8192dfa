/* SPDX-License-Identifier: MIT */
#include "bench/link_findings.h"
#include "bench/link_heat.h"
#include "report/bench_checks.h"
#include "report/bench_p2p.h"
#include "report/bench_run.h"
#include "report/bench_state.h"
#include "report/json_add.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>

static cJSON *pieces_json(const struct bench_link *l)
{
    cJSON *list = cJSON_CreateArray();
    for (size_t i = 0; i < l->npieces; i++) {
        cJSON *o = cJSON_CreateObject();
        cJSON_AddNumberToObject(o, "from_bytes", (double)l->pieces[i].from);
        cJSON_AddNumberToObject(o, "to_bytes", (double)l->pieces[i].to);
        json_add_number(o, "alpha_us", l->pieces[i].alpha_us);
        json_add_number(o, "beta_GBps", l->pieces[i].beta_GBps);
        cJSON_AddItemToArray(list, o);
    }
    return list;
}

static cJSON *link_json(const struct bench_link *l)
{
    cJSON *o = cJSON_CreateObject();
    cJSON_AddNumberToObject(o, "src", l->src);
    cJSON_AddNumberToObject(o, "dst", l->dst);
    cJSON_AddBoolToObject(o, "same_node", l->near);
    json_add_number(o, "alpha_us", l->alpha_us);
    json_add_number(o, "alpha_low_us", l->alpha_low_us);
    json_add_number(o, "alpha_high_us", l->alpha_high_us);
    json_add_number(o, "beta_GBps", l->beta_GBps);
    json_add_number(o, "beta_low_GBps", l->beta_low_GBps);
    json_add_number(o, "beta_high_GBps", l->beta_high_GBps);
    json_add_number(o, "error", l->error);
    json_add_number(o, "alpha_ratio", l->alpha_ratio);
    json_add_number(o, "beta_ratio", l->beta_ratio);
    json_add_number(o, "back_ratio", l->back_ratio);
    cJSON_AddBoolToObject(o, "slow", l->slow);
    cJSON_AddBoolToObject(o, "late", l->late);
    cJSON_AddBoolToObject(o, "asymmetric", l->asymmetric);
    cJSON_AddItemToObject(o, "pieces", pieces_json(l));
    return o;
}

/* By source, then destination; null where nothing was measured. */
static cJSON *matrix_json(const struct bench_links *links, bool latency)
{
    cJSON *list = cJSON_CreateArray();
    for (int src = 0; src < links->ranks; src++) {
        cJSON *row = cJSON_CreateArray();
        for (int dst = 0; dst < links->ranks; dst++) {
            const struct bench_link *l = bench_link_of(links, src, dst);
            double value = latency ? l->alpha_us : l->beta_GBps;
            cJSON_AddItemToArray(row, l->npieces > 0 && isfinite(value) ? cJSON_CreateNumber(value)
                                                                        : cJSON_CreateNull());
        }
        cJSON_AddItemToArray(list, row);
    }
    return list;
}

static cJSON *findings_json(const struct bench_links *links)
{
    static const char *const names[] = {"slow", "late", "asymmetric"};
    struct bench_link_finding *found;
    size_t n = bench_link_findings(links, &found);
    cJSON *list = cJSON_CreateArray();
    for (size_t i = 0; i < n; i++) {
        const struct bench_link_finding *f = &found[i];
        cJSON *o = cJSON_CreateObject();
        cJSON_AddStringToObject(o, "name", names[f->fault]);
        json_add_number(o, "src", f->src >= 0 ? f->src : (double)NAN);
        json_add_number(o, "dst", f->dst >= 0 ? f->dst : (double)NAN);
        cJSON_AddBoolToObject(o, "both_ways",
                              f->whole || (f->fault == BENCH_LINK_LATE && f->links > 1));
        cJSON_AddNumberToObject(o, "links", (double)f->links);
        json_add_number(o, "ratio", f->ratio);
        json_add_number(o, "value", f->value);
        json_add_number(o, "expected", f->expected);
        cJSON_AddItemToArray(list, o);
    }
    free(found);
    return list;
}

static cJSON *config_json(const struct bench_p2p_done *d)
{
    const struct bench_p2p_config *c = &d->config;
    cJSON *o = cJSON_CreateObject();
    const struct bench_stats s = bench_p2p_stats(d);
    cJSON_AddStringToObject(o, "mode", bench_p2p_mode_name(c->mode));
    cJSON_AddNumberToObject(o, "config_id", c->id);
    json_add_number(o, "src", c->src >= 0 ? c->src : (double)NAN);
    json_add_number(o, "dst", c->dst >= 0 ? c->dst : (double)NAN);
    cJSON_AddNumberToObject(o, "bytes", (double)c->bytes);
    json_add_number(o, "median_us", s.median);
    json_add_number(o, "min_us", s.min);
    json_add_number(o, "p99_us", s.p99);
    json_add_number(o, "cv", s.cv);
    json_add_number(o, "temperature_C", d->celsius);
    return o;
}

void bench_p2p_drift(const struct bench_p2p_report *r, struct bench_drift_report out[2])
{
    for (int i = 0; i < 2; i++)
        out[i] = (struct bench_drift_report){
            .log = r->drift[i], .node_of = r->node_of, .windows = 3, .complete = true};
}

cJSON *bench_p2p_json(const struct bench_p2p_report *r)
{
    const struct bench_correlation heat = bench_links_heat(r->log, r->links);
    struct bench_drift_report clocks[2];
    cJSON *doc = cJSON_CreateObject(), *list, *drift;
    size_t all = (size_t)r->links->ranks * (size_t)r->links->ranks;
    bench_p2p_drift(r, clocks);
    cJSON_AddStringToObject(doc, "schema", "specter.bench/1");
    cJSON_AddStringToObject(doc, "kind", "p2p");
    cJSON_AddBoolToObject(doc, "complete", r->complete);
    bench_run_json(doc, r->run);
    cJSON_AddNumberToObject(doc, "seed", (double)r->plan->seed);
    cJSON_AddNumberToObject(doc, "warmup", r->plan->warmup);
    cJSON_AddNumberToObject(doc, "repeat", r->plan->repeat);
    cJSON_AddItemToObject(doc, "findings", findings_json(r->links));
    cJSON_AddItemToObject(doc, "alpha_us", matrix_json(r->links, true));
    cJSON_AddItemToObject(doc, "beta_GBps", matrix_json(r->links, false));
    list = cJSON_AddArrayToObject(doc, "links");
    for (size_t i = 0; i < all; i++) {
        if (r->links->list[i].npieces > 0)
            cJSON_AddItemToArray(list, link_json(&r->links->list[i]));
    }
    list = cJSON_AddArrayToObject(doc, "configurations");
    for (size_t i = 0; i < r->log->n; i++)
        cJSON_AddItemToArray(list, config_json(&r->log->list[i]));
    cJSON_AddItemToObject(doc, "checks", bench_checks_json(r->checks));
    drift = cJSON_AddObjectToObject(doc, "drift");
    for (int i = 0; i < 2; i++)
        cJSON_AddItemToObject(drift, i > 0 ? "after" : "before", bench_drift_part_json(&clocks[i]));
    cJSON_AddItemToObject(doc, "state", bench_state_json(r->gpus, r->ngpus));
    cJSON_AddItemToObject(doc, "temperature", bench_heat_json(&heat));
    bench_notes_json(doc, r->result);
    return doc;
}
