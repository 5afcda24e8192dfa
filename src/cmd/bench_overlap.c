/* SPDX-License-Identifier: MIT
 *
 * specter bench overlap: what GEMMs and collectives lose to each other, by the number of channels.
 */
#include "base/arena.h"
#include "base/whole_file.h"
#include "calib/measured.h"
#include "cmd/bench.h"
#include "cmd/hardware.h"
#include "report/bench_report.h"

#include <cjson/cJSON.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define OPS_DEFAULT "all_reduce,all_gather,reduce_scatter"
#define OPS_MAX 16
#define BYTES_DEFAULT ((uint64_t)64 << 20)
#define BYTES_MIN ((uint64_t)1 << 20)
#define BYTES_MAX ((uint64_t)64 << 30)
#define CHANNELS_MAX 64 /* of NCCL */

struct overlap_opts {
    const char *ops, *gpu, *network, *output, *json, *fail_on;
    struct opt_list channels; /* values owned */
    struct opt_bytes bytes;
    struct bench_job_opts job;
    struct bench_conditions_opts conditions;
    int64_t repeat;
    bool full;
};

#define AT(field) offsetof(struct overlap_opts, field)

static const struct opt rows[] = {
    {"channels", 0, OPT_LIST, AT(channels), "LIST",
     "of the communicator, in turn; 0: the library's own; default 0,2,4,8,16,32"},
    {"op", 0, OPT_STR, AT(ops), "LIST", "operations; default " OPS_DEFAULT},
    {"bytes", 0, OPT_BYTES, AT(bytes), "SIZE", "full buffer of a collective; default 64M"},
    {"repeat", 0, OPT_I64, AT(repeat), "N", "how often all is measured in turns; default 7"},
    BENCH_JOB_LIBRARY_ROWS(AT(job)),
    BENCH_JOB_RANKS_ROWS(AT(job)),
    {"gpu", 0, OPT_STR, AT(gpu), "NAME|FILE", "profile that the table names; default: by its name"},
    {"network", 0, OPT_STR, AT(network), "NAME|FILE", "likewise; default: the GPU's"},
    {"output", 'o', OPT_STR, AT(output), "DIR", "also write CSV, which calibrate reads, and JSON"},
    {"full", 0, OPT_FLAG, AT(full), NULL, "a row for every measurement"},
    {"json", 0, OPT_STR, AT(json), "FILE|-", "write everything as JSON; -: in place of the text"},
    BENCH_FAIL_ON_ROW(AT(fail_on)),
    BENCH_CONDITIONS_ROWS(AT(conditions)),
    OPT_END,
};

/* The command line, checked, and what became of it on this rank. */
struct overlap_run {
    const struct overlap_opts *opts;
    struct bench_job job;
    struct bench_conditions conditions;
    enum specter_comm_op ops[OPS_MAX];
    struct bench_overlap_plan plan;
    struct bench_overlap gpu;
    struct bench_overlap_log log;
    struct profile_pair profiles; /* that are named; NULL: by the GPU's name */
    time_t started;               /* in the files' names */
    time_t saved;                 /* when the files were last written, before the end */
    bool complete;
};

/* ---- options ---- */

static int parse_ops(struct overlap_run *o, struct arena *a, struct err *e)
{
    char *copy = arena_strdup(a, o->opts->ops), *save = NULL;
    for (char *name = strtok_r(copy, ",", &save); name != NULL; name = strtok_r(NULL, ",", &save)) {
        enum specter_comm_op op = measured_op(name);
        if (op != SPECTER_ALLREDUCE && op != SPECTER_ALLGATHER && op != SPECTER_REDUCESCATTER)
            return err_set(e, ERR_USAGE, "--op: '%.64s' is none of " OPS_DEFAULT, name);
        if (o->plan.nops == OPS_MAX)
            return err_set(e, ERR_USAGE, "--op: more than %d operations", OPS_MAX);
        o->ops[o->plan.nops++] = op;
    }
    o->plan.ops = o->ops;
    return o->plan.nops > 0 ? 0 : err_set(e, ERR_USAGE, "--op: no operation is named");
}

static int check_channels(struct overlap_opts *o, struct err *e)
{
    static const int64_t usual[] = {0, 2, 4, 8, 16, 32};
    if (o->channels.count == 0) {
        o->channels.values = array_new(sizeof usual / sizeof *usual, sizeof *usual);
        memcpy(o->channels.values, usual, sizeof usual);
        o->channels.count = sizeof usual / sizeof *usual;
    }
    for (size_t i = 0; i < o->channels.count; i++) {
        if (bench_check_range("--channels", o->channels.values[i], 0, CHANNELS_MAX, e) < 0)
            return -1;
        for (size_t k = 0; k < i; k++) {
            if (o->channels.values[k] == o->channels.values[i])
                return err_set(e, ERR_USAGE, "--channels: %lld is given twice",
                               (long long)o->channels.values[i]);
        }
    }
    return 0;
}

static int parse(struct overlap_run *o, struct overlap_opts *opts, struct arena *a, struct err *e)
{
    o->job.opts = opts->job;
    o->plan.bytes = opts->bytes.given ? opts->bytes.value : BYTES_DEFAULT;
    o->plan.repeats = (int)opts->repeat;
    o->plan.stop = bench_job_stop;
    if (parse_ops(o, a, e) < 0 || check_channels(opts, e) < 0 ||
        bench_check_range("--repeat", opts->repeat, 1, 1000, e) < 0 ||
        (opts->fail_on != NULL && bench_checks_parse(opts->fail_on, e) < 0) ||
        bench_job_check(&o->job, e) < 0)
        return -1;
    if (o->plan.bytes < BYTES_MIN || o->plan.bytes > BYTES_MAX)
        return err_set(e, ERR_USAGE, "--bytes: out of range: 1M to 64G");
    if (o->job.backend->gpu == NULL)
        return err_set(e, ERR_USAGE, "the backend '%s' has no GPU, and so no overlap",
                       opts->job.backend);
    if (opts->gpu != NULL &&
        (o->profiles.gpu = cmd_gpu(opts->gpu, a, &o->profiles.network, e)) == NULL)
        return -1;
    if (opts->network != NULL && (o->profiles.network = cmd_network(opts->network, a, e)) == NULL)
        return -1;
    if (opts->output != NULL && mkdir(opts->output, 0777) != 0 && errno != EEXIST)
        return err_set(e, ERR_INPUT, "%s: %s", opts->output, strerror(errno));
    return 0;
}

/* ---- measuring ---- */

static int measure(void *arg, struct err *e)
{
    struct overlap_run *o = arg;
    const struct opt_list *list = &o->opts->channels;
    int status = 0;
    if (o->job.place.world < 2)
        return err_set(e, ERR_INPUT, "overlap needs two GPUs or more, and this job has one");
    status =
        bench_ranks_agree(o->job.ranks, bench_overlap_open(&o->gpu, o->job.members.device, e), e);
    for (size_t i = 0; i < list->count && status == 0; i++) {
        struct bench_communicator on;
        o->job.members.channels = o->plan.channels = (int)list->values[i];
        status = bench_job_open(&o->job, &on, e);
        if (status < 0)
            break;
        status = bench_overlap(&o->gpu, &o->plan, &on, &o->log, &o->job.result, e);
        if (status < 0)
            bench_ranks_fail(o->job.ranks, e);
        on.backend->close(on.comm);
    }
    o->complete = status == 0;
    bench_overlap_close(&o->gpu);
    return status < 0 ? -1 : 0;
}

/* ---- results ---- */

static struct bench_overlap_report report(const struct overlap_run *o)
{
    const struct gpu_profile *by_name = gpu_profile_of_device(o->job.run->gpu);
    const struct gpu_profile *gpu = o->profiles.gpu != NULL ? o->profiles.gpu : by_name;
    const char *usual = gpu != NULL ? gpu->network : NULL;
    return (struct bench_overlap_report){.result = &o->job.result,
                                         .run = o->job.run,
                                         .log = &o->log,
                                         .gpu = gpu != NULL ? gpu->name : "",
                                         .network = o->profiles.network != NULL
                                                        ? o->profiles.network->name
                                                    : usual != NULL ? usual
                                                                    : "",
                                         .gpus = o->conditions.gpus,
                                         .ngpus = o->conditions.ngpus,
                                         .repeats = o->plan.repeats,
                                         .complete = o->complete};
}

static void result_path(const struct overlap_run *o, const char *extension, char *path, size_t size)
{
    char when[32];
    strftime(when, sizeof when, "%Y%m%d_%H%M%S", localtime(&o->started));
    snprintf(path, size, "%s/overlap_%s_world%d_%s.%s", o->opts->output, o->opts->job.backend,
             o->job.place.world, when, extension);
}

static void take_checks(const struct overlap_run *o, struct bench_checks *checks)
{
    bench_checks_init(checks);
    bench_checks_done(checks, o->log.n,
                      o->opts->channels.count * o->plan.nops * BENCH_OVERLAP_GEMMS);
    bench_checks_overlap(checks, &o->log);
    bench_checks_gpus(checks, o->conditions.gpus, o->conditions.ngpus);
}

static cJSON *document(const struct overlap_run *o)
{
    const struct bench_overlap_report r = report(o);
    cJSON *doc = bench_overlap_json(&r);
    struct bench_checks checks;
    take_checks(o, &checks);
    cJSON_AddItemToObject(doc, "checks", bench_checks_json(&checks));
    return doc;
}

static int write_files(const struct overlap_run *o, struct err *e)
{
    const struct bench_overlap_report r = report(o);
    char path[BENCH_PATH_MAX];
    struct whole_file f;
    result_path(o, "csv", path, sizeof path);
    if (whole_file_open(&f, path, e) < 0)
        return -1;
    bench_overlap_csv(&r, f.out);
    if (whole_file_close(&f, e) < 0)
        return -1;
    result_path(o, "json", path, sizeof path);
    return cmd_write_json(document(o), path, e);
}

/* Launchers kill a job without notice, so rows are saved on the way, about once a second. That they
 * cannot be is an error at the end. */
static void save_rows(void *arg)
{
    struct overlap_run *o = arg;
    time_t now = time(NULL);
    if (o->opts->output != NULL && o->job.place.rank == 0 && now != o->saved)
        (void)write_files(o, NULL);
    o->saved = now;
}

/* On rank 0. */
static int write_results(const struct overlap_run *o, struct err *e)
{
    const struct overlap_opts *opts = o->opts;
    const struct bench_overlap_report r = report(o);
    struct bench_checks checks;
    take_checks(o, &checks);
    if (opts->json == NULL || strcmp(opts->json, "-") != 0) {
        bench_overlap_text(&r, opts->full, stdout);
        bench_checks_text(&checks, opts->full, stdout);
    }
    for (size_t i = 0; i < o->job.result.nnotes; i++)
        fprintf(stderr, "specter: note: %s\n", o->job.result.notes[i]);
    if (opts->output != NULL && write_files(o, e) < 0)
        return -1;
    if (opts->json != NULL && cmd_write_json(document(o), opts->json, e) < 0)
        return -1;
    return opts->fail_on != NULL ? bench_checks_apply(opts->fail_on, &checks, e) : 0;
}

/* Where a call of the library does not return. */
static int write_partial(void *arg, struct err *e)
{
    struct overlap_run *o = arg;
    return o->log.n > 0 ? write_results(o, e) : 0;
}

static int run_rank(void *arg, struct err *e)
{
    struct overlap_run *o = arg;
    int status = bench_job_begin(&o->job, e);
    struct err own = {0};
    o->plan.row = save_rows;
    o->plan.arg = o;
    if (status == 0)
        status = bench_job_in_conditions(&o->job, &o->conditions, o->opts->output, measure, o, e);
    if (status == 0 && o->complete && o->log.n == 0)
        status = err_set(e, ERR_INPUT, "nothing could be measured: %s",
                         o->job.result.nnotes > 0 ? o->job.result.notes[0] : "no row");
    if (o->job.place.rank == 0 && o->log.n > 0 && write_results(o, &own) < 0 && status == 0) {
        *e = own;
        status = -1;
    }
    status = status < 0 ? (int)e->code : o->complete ? 0 : ERR_PARTIAL;
    bench_overlap_log_release(&o->log);
    return bench_job_end(&o->job, status, e);
}

static int run(const struct command *self, int argc, char **argv, struct arena *a, struct err *e)
{
    struct overlap_opts opts = {.ops = OPS_DEFAULT,
                                .repeat = 7,
                                .job = BENCH_JOB_DEFAULTS,
                                .conditions = BENCH_CONDITIONS_NONE};
    struct overlap_run o = {.opts = &opts,
                            .job = {.gpus_only = true, .keep = write_partial, .arg = &o},
                            .started = time(NULL)};
    int status = cmd_parse_options(self, &opts, argc, argv, e);
    if (status == 0)
        status = parse(&o, &opts, a, e) < 0 ||
                         bench_conditions_prepare(&o.conditions, &opts.conditions, e) < 0
                     ? (int)e->code
                     : bench_job_run(&o.job, "overlap", argc, argv, run_rank, e);
    bench_conditions_release(&o.conditions);
    free(opts.channels.values);
    return status;
}

const struct cmd_kind bench_overlaps = {
    .name = "overlap",
    .command = {.name = "bench",
                .synopsis = "bench overlap" SYNOPSIS_ALL,
                .summary = "what GEMMs and collectives lose to each other, by channels",
                .rows = rows},
    .run = run,
};
