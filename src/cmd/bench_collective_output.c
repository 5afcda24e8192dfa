/* SPDX-License-Identifier: MIT */
#include "cmd/bench_collective_output.h"

#include "cmd/bench_files.h"
#include "report/bench_checks.h"
#include "report/bench_page.h"
#include "report/bench_report.h"
#include "report/bench_state.h"

#include <cjson/cJSON.h>
#include <string.h>

static void result_path(const struct bench_output *o, const char *kind, const char *extension,
                        char *path, size_t size)
{
    char when[32];
    strftime(when, sizeof when, "%Y%m%d_%H%M%S", localtime(&o->started));
    snprintf(path, size, "%s/%s_%s_world%d_%s.%s", o->folder, kind, o->job->opts.backend,
             o->job->place.world, when, extension);
}

static void take_checks(const struct bench_output *o, const struct bench_studies *studies,
                        struct bench_checks *checks)
{
    size_t done = 0;
    for (size_t i = 0; i < o->job->run->nrows; i++)
        done += !o->job->run->rows[i].in_place;
    bench_checks_init(checks);
    bench_checks_done(checks, done, o->wanted);
    bench_checks_studies(checks, studies);
    bench_checks_gpus(checks, o->conditions->gpus, o->conditions->ngpus);
}

static cJSON *document(const struct bench_output *o)
{
    struct bench_studies studies = {0};
    struct bench_correlation heat;
    struct bench_checks checks;
    cJSON *doc = bench_table_json(&o->job->result, o->complete);
    cJSON_AddItemToObject(doc, "state",
                          bench_state_json(o->conditions->gpus, o->conditions->ngpus));
    bench_studies_add(&studies, o->job->run, o->target.gpu, o->target.net);
    take_checks(o, &studies, &checks);
    heat = bench_studies_heat(&studies);
    cJSON_AddItemToObject(doc, "temperature", bench_heat_json(&heat));
    cJSON_AddItemToObject(doc, "checks", bench_checks_json(&checks));
    bench_studies_release(&studies);
    return doc;
}

static int save_json(const struct bench_output *o, struct err *e)
{
    char path[BENCH_PATH_MAX];
    result_path(o, "collectives", "json", path, sizeof path);
    return bench_file_json(document(o), path, e);
}

/* ---- on the way ---- */

void bench_output_head(const struct bench_output *o)
{
    if (o->json == NULL)
        bench_table_head(o->job->run, &o->target, stdout);
}

void bench_output_row(struct bench_output *o, const struct bench_row *row)
{
    time_t now = time(NULL);
    if (o->json == NULL)
        bench_table_row(o->job->run, row, &o->target, stdout);
    if (o->folder != NULL && now != o->saved)
        (void)save_json(o, NULL);
    o->saved = now;
}

/* ---- at the end ---- */

static bool has_rows(const struct bench_run *run, bool messages)
{
    for (size_t i = 0; i < run->nrows; i++) {
        if ((run->rows[i].op == SPECTER_SEND) == messages)
            return true;
    }
    return false;
}

static int write_files(const struct bench_output *o, struct err *e)
{
    char path[BENCH_PATH_MAX];
    FILE *out;
    for (int messages = 0; messages <= 1; messages++) {
        if (!has_rows(o->job->run, messages))
            continue;
        result_path(o, messages ? "messages" : "collectives", "csv", path, sizeof path);
        out = bench_file_open(path, e);
        if (out == NULL)
            return -1;
        bench_table_csv(o->job->run, &o->target, messages, out);
        if (bench_file_close(out, path, e) < 0)
            return -1;
    }
    if (bench_table_has_profile(o->job->run)) {
        result_path(o, "profile", "txt", path, sizeof path);
        out = bench_file_open(path, e);
        if (out == NULL)
            return -1;
        bench_table_profile(o->job->run, out);
        if (bench_file_close(out, path, e) < 0)
            return -1;
    }
    return save_json(o, e);
}

static void print_end(const struct bench_output *o, const struct bench_studies *studies,
                      const struct bench_checks *checks)
{
    const struct bench_correlation heat = bench_studies_heat(studies);
    if (o->job->run->nrows > 0)
        bench_table_end(o->job->run, stdout);
    bench_state_text(o->conditions->gpus, o->conditions->ngpus, stdout);
    bench_heat_text(&heat, "From 1 MiB on, collectives take", stdout);
    for (size_t i = 0; i < studies->n && o->target.gpu != NULL; i++) {
        if (i > 0)
            putchar('\n');
        bench_text(&studies->list[i], o->full, stdout);
    }
    bench_checks_text(checks, o->full, stdout);
}

/* With the temperatures, where they were written. */
static int write_page(const struct bench_output *o, const struct bench_studies *studies,
                      const struct bench_checks *checks, struct err *e)
{
    struct bench_temperatures t = {0};
    struct bench_page page = {.title = "specter bench collective",
                              .run = o->job->run,
                              .checks = checks,
                              .studies = studies};
    int status;
    if (o->conditions->table_path[0] != '\0' &&
        bench_temperatures_read(&t, o->conditions->table_path, e) == 0)
        page.temperatures = &t;
    status = bench_page_write(&page, o->html, e);
    bench_temperatures_release(&t);
    return status;
}

int bench_output_end(const struct bench_output *o, struct err *e)
{
    struct bench_studies studies = {0};
    struct bench_checks checks;
    int status;
    if (o->job->run->library[0] == '\0')
        return 0;
    for (size_t i = 0; i < o->job->result.nnotes; i++)
        fprintf(stderr, "specter: note: %s\n", o->job->result.notes[i]);
    if (o->folder != NULL && write_files(o, e) < 0)
        return -1;
    if (o->json != NULL && cmd_write_json(document(o), o->json, e) < 0)
        return -1;
    bench_studies_add(&studies, o->job->run, o->target.gpu, o->target.net);
    take_checks(o, &studies, &checks);
    if (o->json == NULL)
        print_end(o, &studies, &checks);
    status = o->html != NULL && o->job->run->nrows > 0 ? write_page(o, &studies, &checks, e) : 0;
    bench_studies_release(&studies);
    return status < 0 ? -1 : o->fail_on != NULL ? bench_checks_apply(o->fail_on, &checks, e) : 0;
}
