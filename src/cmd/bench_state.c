/* SPDX-License-Identifier: MIT
 *
 * specter bench state: what NVML says of this machine's GPUs, now or while a command runs.
 */
#include "base/arena.h"
#include "base/child.h"
#include "cmd/bench.h"
#include "report/bench_report.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <string.h>

struct state_opts {
    const char *output, *json;
    double every;
};

#define AT(field) offsetof(struct state_opts, field)

static const struct opt rows[] = {
    {"every", 0, OPT_DOUBLE, AT(every), "SECONDS", "between two samples; default 1"},
    {"output", 'o', OPT_STR, AT(output), "FILE", "write every sample there, as CSV"},
    {"json", 0, OPT_STR, AT(json), "FILE|-", "write the summary as JSON; -: in place of the text"},
    OPT_END,
};

/* A command that runs beside has stdout to itself: then the summary goes to stderr. */
static int print(const struct state_opts *o, const struct bench_gpu_summary *gpus, int n,
                 bool beside, struct err *e)
{
    cJSON *doc;
    if (o->json == NULL || strcmp(o->json, "-") != 0)
        bench_state_table(gpus, n, beside ? stderr : stdout);
    if (!beside && (o->json == NULL || strcmp(o->json, "-") != 0))
        for (int i = 0; i < n; i++)
            if (gpus[i].others[0] != '\0')
                printf("  GPU %d is used by process %s\n", gpus[i].gpu_id, gpus[i].others);
    if (o->json == NULL)
        return 0;
    doc = cJSON_CreateObject();
    cJSON_AddStringToObject(doc, "schema", "specter.bench/1");
    cJSON_AddStringToObject(doc, "kind", "state");
    cJSON_AddItemToObject(doc, "state", bench_state_json(gpus, n));
    return cmd_write_json(doc, o->json, e);
}

/* The status is the command's, unless what was asked for here could not be done. */
static int watch(const struct state_opts *o, char **command, FILE *table, struct err *e)
{
    const struct bench_watch_config config = {.period_s = o->every, .table = table};
    struct bench_gpu_summary gpus[BENCH_WATCH_GPUS];
    struct bench_watch *w = bench_watch_start(&config, e);
    int n, status = 0;
    if (w == NULL && command == NULL)
        return (int)e->code;
    if (w == NULL)
        fprintf(stderr, "specter: note: temperature, power and clocks are not known: %s\n", e->msg);
    *e = (struct err){0};
    if (command != NULL)
        status = child_run(command, NULL, 0, NULL, e);
    n = bench_watch_stop(w, gpus);
    if (n > 0 && print(o, gpus, n, command != NULL, e) < 0)
        return (int)e->code;
    return status;
}

static int run(const struct command *self, int argc, char **argv, struct arena *a, struct err *e)
{
    struct state_opts o = {.every = 1};
    FILE *table = NULL;
    bool failed;
    int n, status = cmd_parse(self, &o, argc, argv, true, &n, e);
    (void)a;
    if (status != 0)
        return status;
    if (!(o.every >= 0.001 && o.every <= 3600)) {
        err_set(e, ERR_USAGE, "--every: out of range: 0.001 to 3600");
        return ERR_USAGE;
    }
    if (o.output != NULL) {
        table = fopen(o.output, "we");
        if (table == NULL) {
            err_set(e, ERR_INPUT, "%s: %s", o.output, strerror(errno));
            return ERR_INPUT;
        }
        bench_watch_head(table);
    }
    status = watch(&o, n > 0 ? argv : NULL, table, e);
    failed = table != NULL && ferror(table) != 0;
    failed |= table != NULL && fclose(table) != 0;
    if (failed)
        err_set(e, ERR_INPUT, "%s: not all could be written", o.output);
    return failed && status == 0 ? ERR_INPUT : status;
}

const struct cmd_kind bench_states = {
    .name = "state",
    .command = {.name = "bench",
                .synopsis = "bench state [--every SECONDS] [-o FILE] [--json FILE|-] [-- COMMAND "
                            "[ARG...]]",
                .summary = "temperature, power and clocks of GPUs, now or while a command runs",
                .rows = rows},
    .run = run,
};
