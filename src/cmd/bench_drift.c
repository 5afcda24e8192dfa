/* SPDX-License-Identifier: MIT
 *
 * specter bench drift: how fast the clocks of GPUs and hosts run against each other.
 */
#include "base/whole_file.h"
#include "cmd/bench.h"
#include "cmd/cmd.h"
#include "report/bench_report.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <string.h>

struct drift_opts {
    const char *output, *json, *html, *fail_on;
    struct bench_job_opts job;
    struct bench_conditions_opts conditions;
    double seconds;
    int64_t windows;
    bool full;
};

#define AT(field) offsetof(struct drift_opts, field)

static const struct opt rows[] = {
    {"seconds", 0, OPT_DOUBLE, AT(seconds), "S", "how long to watch the clocks; default 300"},
    {"windows", 0, OPT_I64, AT(windows), "N", "parts of it that are compared; default 10"},
    BENCH_JOB_LIBRARY_ROWS(AT(job)),
    BENCH_JOB_RANKS_ROWS(AT(job)),
    BENCH_CONDITIONS_ROWS(AT(conditions)),
    {"output", 'o', OPT_STR, AT(output), "FILE", "write every sample there, as CSV"},
    {"full", 0, OPT_FLAG, AT(full), NULL, "a row for every rank"},
    {"json", 0, OPT_STR, AT(json), "FILE|-", "write everything as JSON; -: in place of the text"},
    BENCH_HTML_ROW(AT(html)),
    BENCH_FAIL_ON_ROW(AT(fail_on)),
    OPT_END,
};

/* The command line, checked, and what became of it on this rank. */
struct drift {
    const struct drift_opts *opts;
    struct bench_job job;
    struct bench_conditions conditions;
    struct bench_drift_plan plan;
    struct bench_drift_log log;
    bool complete;
};

/* Of rank 0; asked for at each moment, by stop(). */
static struct {
    struct progress_line bar;
    double seconds;
} waiting;

static bool stop(void)
{
    const double s = (double)progress_ns(&waiting.bar) / 1e9;
    char text[64];
    snprintf(text, sizeof text, " %.0f of %.0f s", s, waiting.seconds);
    progress_draw(&waiting.bar, fmin(s / waiting.seconds, 1), text);
    return bench_job_stop();
}

static int parse(struct drift *d, struct err *e)
{
    const struct drift_opts *o = d->opts;
    d->job.opts = o->job;
    if (!(o->seconds >= 0.1 && o->seconds <= 86400))
        return err_set(e, ERR_USAGE, "--seconds: out of range: 0.1 to 86400");
    if (o->fail_on != NULL && bench_checks_parse(o->fail_on, e) < 0)
        return -1;
    if (bench_check_range("--windows", o->windows, 1, 1000, e) < 0 ||
        bench_job_check(&d->job, e) < 0)
        return -1;
    if (d->job.backend->host_ns == NULL)
        return err_set(e, ERR_USAGE, "the backend '%s' has no GPU, and so no second clock",
                       o->job.backend);
    d->plan = bench_drift_plan_of(o->seconds, stop);
    return 0;
}

static int measure(void *arg, struct err *e)
{
    struct drift *d = arg;
    struct bench_communicator on;
    int status;
    if (bench_job_open(&d->job, &on, e) < 0)
        return -1;
    if (d->job.place.rank == 0) {
        waiting.seconds = d->plan.seconds;
        progress_start(&waiting.bar, 0, COLOR_AUTO);
    }
    status = bench_drift(&d->plan, &on, &d->log, e);
    progress_end(&waiting.bar);
    if (status < 0)
        bench_ranks_fail(d->job.ranks, e);
    d->complete = status == 0;
    on.backend->close(on.comm);
    return status < 0 ? -1 : 0;
}

static int write_samples(const struct bench_drift_report *r, const char *path, struct err *e)
{
    struct whole_file f;
    if (whole_file_open(&f, path, e) < 0)
        return -1;
    bench_drift_csv(r, f.out);
    return whole_file_close(&f, e);
}

static int write_results(const struct drift *d, struct err *e)
{
    const struct drift_opts *o = d->opts;
    struct bench_checks checks;
    const struct bench_drift_report r = {&d->job.result,
                                         d->job.run,
                                         &d->log,
                                         d->job.node_of,
                                         (int)d->opts->windows,
                                         d->complete,
                                         d->conditions.gpus,
                                         d->conditions.ngpus};
    const struct bench_page page = {
        .title = "specter bench drift", .run = d->job.run, .checks = &checks, .drift = &d->log};
    const size_t wanted = (size_t)(d->plan.seconds / d->plan.every) + 1;
    cJSON *doc;
    bench_checks_init(&checks);
    bench_checks_done(&checks, d->log.n, d->complete ? d->log.n : wanted);
    bench_checks_drift(&checks, &d->log, d->job.node_of);
    bench_checks_gpus(&checks, r.gpus, r.ngpus);
    if (o->output != NULL && write_samples(&r, o->output, e) < 0)
        return -1;
    if (o->json != NULL) {
        doc = bench_drift_json(&r);
        cJSON_AddItemToObject(doc, "checks", bench_checks_json(&checks));
        if (cmd_write_json(doc, o->json, e) < 0)
            return -1;
    }
    if (o->html != NULL && bench_page_write(&page, o->html, e) < 0)
        return -1;
    if (o->json == NULL || strcmp(o->json, "-") != 0) {
        bench_drift_text(&r, o->full, stdout);
        bench_checks_text(&checks, o->full, stdout);
    }
    return o->fail_on != NULL ? bench_checks_apply(o->fail_on, &checks, e) : 0;
}

/* Where a call of the library does not return. */
static int write_partial(void *arg, struct err *e)
{
    struct drift *d = arg;
    return d->log.n > 0 ? write_results(d, e) : 0;
}

static int run_rank(void *arg, struct err *e)
{
    struct drift *d = arg;
    int status = bench_job_begin(&d->job, e);
    struct err own = {0};
    if (status == 0)
        status = bench_job_in_conditions(&d->job, &d->conditions, NULL, measure, d, e);
    if (d->job.place.rank == 0 && d->log.n > 0 && write_results(d, &own) < 0 && status == 0) {
        *e = own;
        status = -1;
    }
    status = status < 0 ? (int)e->code : d->complete ? 0 : ERR_PARTIAL;
    bench_drift_log_release(&d->log);
    return bench_job_end(&d->job, status, e);
}

static int run(const struct command *self, int argc, char **argv, struct arena *a, struct err *e)
{
    struct drift_opts o = {.seconds = 300,
                           .windows = 10,
                           .job = BENCH_JOB_DEFAULTS,
                           .conditions = BENCH_CONDITIONS_NONE};
    struct drift d = {.opts = &o, .job = {.gpus_only = true, .keep = write_partial, .arg = &d}};
    int status = cmd_parse_options(self, &o, argc, argv, e);
    (void)a;
    if (status != 0)
        return status;
    status = parse(&d, e) < 0 || bench_conditions_prepare(&d.conditions, &o.conditions, e) < 0
                 ? (int)e->code
                 : bench_job_run(&d.job, "drift", argc, argv, run_rank, e);
    bench_conditions_release(&d.conditions);
    return status;
}

const struct cmd_kind bench_drifts = {
    .name = "drift",
    .command = {.name = "bench",
                .synopsis = "bench drift" SYNOPSIS_ALL,
                .summary = "how fast the clocks of GPUs and hosts run against each other",
                .rows = rows},
    .run = run,
};
