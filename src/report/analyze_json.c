/* SPDX-License-Identifier: MIT
 *
 * `specter analyze --json` (analyze_report.h; docs/analyze.md has the keys).
 */
#include "report/analyze_report.h"

#include "base/arena.h"
#include "report/analyze_sheets.h"
#include "report/findings.h"
#include "report/json_add.h"
#include "report/table.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SCHEMA "specter.analyze/1"

static cJSON *array_in(cJSON *parent, const char *key)
{
    return cJSON_AddArrayToObject(parent, key);
}

static void add_count(cJSON *o, const char *key, uint64_t value)
{
    cJSON_AddNumberToObject(o, key, (double)value);
}

static void add_run(cJSON *doc, const struct run *run)
{
    cJSON *o = cJSON_AddObjectToObject(doc, "run");
    json_add_text(o, "id", run->id);
    json_add_text(o, "format", run->format);
    json_add_text(o, "source", run->source);
    cJSON_AddNumberToObject(o, "world_size", run->world_size);
    add_count(o, "ranks", run->nranks);
    cJSON_AddBoolToObject(o, "clock_aligned", run->clock_aligned);
    json_add_us(o, "clock_residual_us", run->clock_residual_ns);
    /* Offsets of the hosts' clocks to the first one's; docs/clocks.md. */
    cJSON *list = array_in(o, "clock_domains");
    for (int i = 0; i < run->ndomains && run->domains != NULL; i++) {
        const struct domain *d = &run->domains[i];
        cJSON *x = json_add_object(list);
        json_add_text(x, "host", d->host);
        cJSON_AddBoolToObject(x, "aligned", d->aligned);
        json_add_us(x, "offset_us", d->aligned ? (double)d->offset_ns : NAN);
        json_add_number(x, "drift_ppm", d->aligned ? d->drift * 1e6 : NAN);
        json_add_us(x, "at_us", d->aligned ? (double)d->at_ns : NAN);
        json_add_us(x, "offset_err_us", d->offset_err_ns);
        json_add_number(x, "drift_err_ppm", d->drift_err * 1e6);
        add_count(x, "anchors", d->anchors);
        json_add_us(x, "residual_us", d->residual_ns);
        json_add_us(x, "error_us", d->error_ns);
    }
}

/* The job's step time, what bounds it, and what its critical path mostly is. */
static void add_step_time(cJSON *doc, const struct analysis *a)
{
    cJSON *o = cJSON_AddObjectToObject(doc, "step_time");
    const struct job_steps *steps = &a->job_steps;
    struct analysis_verdict v = analysis_verdict(a);
    json_add_us(o, "us", a->step_time.ns);
    json_add_text(o, "source", step_source_name(steps->source));
    add_count(o, "steps", a->step_time.window.steps);
    add_count(o, "recorded", steps->count);
    add_count(o, "cut", steps->cut);
    json_add_text(o, "doubt", steps->doubt);
    json_add_text(o, "bound", analysis_timed(a) ? bound_name(v.time) : NULL);
    json_add_text(o, "path", isfinite(v.path_share) ? bound_name(v.path) : NULL);
    json_add_text(o, "why", v.why);
}

static void add_coverage(cJSON *doc, const struct analysis *a)
{
    static const struct {
        unsigned bit;
        const char *name;
    } bits[] = {
        {COVER_NCCL, "nccl"},         {COVER_GEMM, "gemm_shapes"}, {COVER_DEPS, "deps"},
        {COVER_LAUNCHES, "launches"}, {COVER_KERNELS, "kernels"},  {COVER_MEMORY, "memory"},
        {COVER_GRAPHS, "graphs"},     {COVER_MARKS, "marks"},      {COVER_PLUGIN, "plugin"}};
    const char *limits[COVERAGE_LIMITS];
    cJSON *o = cJSON_AddObjectToObject(doc, "coverage");
    for (size_t i = 0; i < sizeof bits / sizeof *bits; i++)
        cJSON_AddBoolToObject(o, bits[i].name, (a->coverage & bits[i].bit) != 0);
    cJSON *list = array_in(o, "limits");
    coverage_limits(a, limits);
    for (size_t i = 0; limits[i] != NULL; i++)
        cJSON_AddItemToArray(list, cJSON_CreateString(limits[i]));
    add_count(o, "timed_ops", a->total.timed_ops);
    cJSON *untimed = cJSON_AddObjectToObject(o, "untimed_ops");
    for (int t = 0; t < SPECTER_TIMING_COUNT; t++) {
        if (a->total.untimed_ops[t] > 0)
            add_count(untimed, specter_timing_name((enum specter_timing)t),
                      a->total.untimed_ops[t]);
    }
    add_count(o, "incomplete_collectives", a->comm.incomplete);
    add_count(o, "inconsistent_collectives", a->comm.inconsistent);
    add_count(o, "unmatched_ops", a->comm.unnumbered);
}

static void write_sheets(struct json_stream *out, const struct analysis *a)
{
    for (size_t i = 0; i < ANALYZE_SHEET_COUNT; i++) {
        struct sheet s;
        analyze_sheets[i].make(&s, a);
        json_stream_list(out, s.name);
        for (size_t row = 0; row < sheet_json_rows(&s); row++)
            json_stream_element(out, sheet_json_row(&s, row));
        json_stream_list_end(out);
        sheet_release(&s);
    }
}

/* null where nothing was counted. */
static void add_launches(cJSON *doc, const struct analysis *a)
{
    const struct launch_sum *l = &a->other_work.launches;
    cJSON *o;
    if (!(a->coverage & COVER_LAUNCHES)) {
        cJSON_AddNullToObject(doc, "launches");
        return;
    }
    o = cJSON_AddObjectToObject(doc, "launches");
    add_count(o, "untimed", l->count);
    cJSON *classes = cJSON_AddObjectToObject(o, "classes");
    for (int k = 0; k < SPECTER_KERNEL_CLASS_COUNT; k++) {
        if (l->classes[k] > 0)
            add_count(classes, specter_kernel_class_name((enum specter_kernel_class)k),
                      l->classes[k]);
    }
    json_add_number(o, "per_step", l->steps > 0 ? (double)l->in_steps / (double)l->steps : NAN);
    json_add_us(o, "max_gap_us", l->max_gap_ns != UNKNOWN_NS ? (double)l->max_gap_ns : NAN);
}

/* null without messages; with "reason" where they form no pipeline. */
static void add_pipeline_json(cJSON *doc, const struct analysis *a)
{
    const struct bubbles *b = &a->bubbles;
    bool found = b->why == NULL;
    cJSON *o;
    if (b->why != NULL && b->why[0] == '\0') {
        cJSON_AddNullToObject(doc, "pipeline");
        return;
    }
    o = cJSON_AddObjectToObject(doc, "pipeline");
    json_add_number(o, "stages", found ? b->stages.count : NAN);
    json_add_number(o, "pipelines", found ? (double)b->stages.nchains : NAN);
    json_add_number(o, "virtual_stages", found ? b->stages.parts : NAN);
    json_add_number(o, "micro_batches", found ? b->stages.micro : NAN);
    json_add_number(o, "fraction", found ? share_of(b->total.bubble_ns, b->total.window_ns) : NAN);
    json_add_number(o, "ideal", found ? b->ideal : NAN);
    json_add_number(o, "slowest_stage", isfinite(b->imbalance) ? b->slowest : NAN);
    json_add_number(o, "imbalance", b->imbalance);
    json_add_number(o, "schedule_us", b->schedule_ns / (double)b->windows / 1e3);
    json_add_number(o, "uneven_us", b->uneven_ns / (double)b->windows / 1e3);
    json_add_number(o, "rest_us", b->rest_ns / (double)b->windows / 1e3);
    if (found)
        cJSON_AddNullToObject(o, "reason");
    else
        cJSON_AddStringToObject(o, "reason", b->why);
}

/* The step whose path is told; with "reason" where there is none. */
static void add_critical_json(cJSON *doc, const struct analysis *a)
{
    const struct critical *c = &a->critical;
    cJSON *o = cJSON_AddObjectToObject(doc, "critical");
    if (c->why != NULL) {
        cJSON_AddNullToObject(o, "step_us");
        cJSON_AddStringToObject(o, "reason", c->why);
        return;
    }
    cJSON_AddNumberToObject(o, "step_us", (double)c->length.step_ns / 1e3);
    cJSON_AddNumberToObject(o, "all_us", (double)c->length.all_ns / 1e3);
    cJSON_AddNumberToObject(o, "steps", (double)c->walked);
    cJSON_AddNumberToObject(o, "step", (double)c->chosen);
    cJSON_AddNumberToObject(o, "rank_changes", (double)c->changes_step);
    cJSON_AddNumberToObject(o, "inferred", (double)c->inferred);
    cJSON_AddNumberToObject(o, "alone_us", (double)c->alone_ns / 1e3);
    cJSON_AddNullToObject(o, "reason");
}

void analyze_json(const struct analysis *a, const struct findings *f, FILE *out)
{
    cJSON *doc = cJSON_CreateObject();
    struct json_stream s;
    json_stream_begin(&s, out);
    cJSON_AddStringToObject(doc, "schema", SCHEMA);
    add_run(doc, a->run);
    const struct run *run = a->run;
    cJSON *notes = array_in(doc, "notes");
    for (size_t i = 0; i < run->nnotes; i++) {
        cJSON *o = json_add_object(notes);
        json_add_text(o, "text", run->notes[i].text);
        cJSON_AddBoolToObject(o, "loss", run->notes[i].loss);
    }
    cJSON *findings = array_in(doc, "findings");
    for (size_t i = 0; i < f->count; i++) {
        cJSON *o = json_add_object(findings);
        cJSON_AddStringToObject(o, "rule", f->list[i].rule);
        json_add_number(o, "value", f->list[i].value);
        json_add_number(o, "threshold", f->list[i].threshold);
        json_add_number(o, "saves_us", f->list[i].saves_ns / 1e3);
        cJSON_AddStringToObject(o, "text", f->list[i].text);
    }
    cJSON *list = array_in(doc, "hangs");
    for (size_t i = 0; i < a->hangs.count; i++)
        hang_json(json_add_object(list), &a->hangs.list[i], a->run);
    add_coverage(doc, a);
    add_count(doc, "gemm_sample", a->gemm_sample);
    add_launches(doc, a);
    add_pipeline_json(doc, a);
    add_step_time(doc, a);
    add_critical_json(doc, a);
    json_stream_members(&s, doc);
    cJSON_Delete(doc);
    write_sheets(&s, a);
    json_stream_end(&s);
}
