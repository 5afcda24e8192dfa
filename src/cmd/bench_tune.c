/* SPDX-License-Identifier: MIT
 *
 * specter bench tune: algorithms, protocols and channels that are faster than NCCL's own choice.
 */
#include "base/arena.h"
#include "base/whole_file.h"
#include "bench/tune.h"
#include "cmd/bench.h"
#include "cmd/cmd.h"
#include "cmd/predict.h"
#include "model/nccl_tuner.h"
#include "report/bench_report.h"
#include "report/table.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OPS "all_reduce,all_gather,reduce_scatter,broadcast,reduce"
#define OPS_MAX 5
#define WORDS_MAX 8
#define CHANNELS_MAX 64

struct tune_opts {
    const char *ops, *bytes, *dtype, *algos, *protos, *output, *json, *fail_on;
    struct opt_list channels; /* values owned */
    struct opt_bytes check;
    struct bench_job_opts job;
    struct bench_conditions_opts conditions;
    double factor, gain, budget;
    bool full;
};

#define AT(field) offsetof(struct tune_opts, field)

static const struct opt rows[] = {
    {"op", 0, OPT_STR, AT(ops), "LIST", "operations; default: all that NCCL tunes, " OPS},
    {"bytes", 0, OPT_STR, AT(bytes), "MIN:MAX", "full buffers; default 1K:256M"},
    {"factor", 0, OPT_DOUBLE, AT(factor), "F", "of --bytes, the next size; default 4"},
    {"dtype", 0, OPT_STR, AT(dtype), "TYPE", "of an element; default fp32"},
    {"algo", 0, OPT_STR, AT(algos), "LIST", "to try: ring,tree,nvls,...; default: all"},
    {"proto", 0, OPT_STR, AT(protos), "LIST", "to try: LL,LL128,Simple; default: all"},
    {"channels", 0, OPT_LIST, AT(channels), "LIST",
     "to try beside NCCL's own number; 0: none; default 4,8,16,32"},
    {"gain", 0, OPT_DOUBLE, AT(gain), "PERCENT", "the least that counts; default 2"},
    {"budget", 0, OPT_DOUBLE, AT(budget), "SECONDS", "to measure in; default 300"},
    {"check", 0, OPT_BYTES, AT(check), "SIZE",
     "of each rank's part, compare so much; 0: nothing; default 256K"},
    BENCH_JOB_LIBRARY_ROWS(AT(job)),
    BENCH_JOB_RANKS_ROWS(AT(job)),
    BENCH_CONDITIONS_ROWS(AT(conditions)),
    {"output", 'o', OPT_STR, AT(output), "DIR",
     "write the tuner plugin's table, settings and JSON there"},
    {"full", 0, OPT_FLAG, AT(full), NULL, "every setting that was tried"},
    {"json", 0, OPT_STR, AT(json), "FILE|-", "write everything as JSON; -: in place of the text"},
    BENCH_FAIL_ON_ROW(AT(fail_on)),
    OPT_END,
};

/* The command line, checked, and what became of it on this rank. */
struct tune {
    const struct tune_opts *opts;
    struct bench_job job;
    struct bench_conditions conditions;
    enum specter_comm_op ops[OPS_MAX];
    uint64_t *sizes; /* owned */
    const char *algos[WORDS_MAX], *protos[WORDS_MAX];
    struct bench_tune_plan plan;
    struct bench_tune_log log;
    struct progress_line progress;
    bool complete;
};

/* ---- options ---- */

/* Names of --proto or --algo, as struct comm_choice has them, in the order of the list; text NULL:
 * all that NCCL has. */
static int parse_names(bool protos, const char *text, const char **names, struct err *e)
{
    const struct nccl_name *known = protos ? nccl_protos : nccl_algos;
    size_t n = 0;
    for (size_t count = protos ? NCCL_PROTOS : NCCL_ALGOS; text == NULL && n < count; n++)
        names[n] = known[n].name;
    for (size_t len; text != NULL && n + 1 < WORDS_MAX; text += len + 1) {
        int number;
        len = strcspn(text, ",");
        number = protos ? nccl_proto_parse(text, len) : nccl_algo_parse(text, len);
        if (number < 0)
            return err_set(e, ERR_USAGE, "%s: NCCL has no '%.*s'", protos ? "--proto" : "--algo",
                           len < 32 ? (int)len : 32, text);
        names[n++] = known[number].name;
        if (text[len] == '\0')
            return 0;
    }
    return 0;
}

static int parse_channels(struct tune *t, struct err *e)
{
    static const int64_t usual[] = {4, 8, 16, 32};
    const struct opt_list *list = &t->opts->channels;
    bool none = list->count == 1 && list->values[0] == 0;
    t->plan.channels = list->count > 0 ? list->values : usual;
    t->plan.nchannels = none ? 0 : list->count > 0 ? list->count : sizeof usual / sizeof *usual;
    for (size_t i = 0; i < t->plan.nchannels; i++) {
        if (bench_check_range("--channels", t->plan.channels[i], 1, CHANNELS_MAX, e) < 0)
            return -1;
    }
    return 0;
}

static int parse(struct tune *t, struct err *e)
{
    const struct tune_opts *o = t->opts;
    struct bench_plan *what = &t->plan.what;
    t->job.opts = o->job;
    if (!(o->gain >= 0.1 && o->gain <= 100))
        return err_set(e, ERR_USAGE, "--gain: out of range: 0.1 to 100");
    if (!(o->budget >= 1 && o->budget <= 864000))
        return err_set(e, ERR_USAGE, "--budget: out of range: 1 to 864000");
    t->plan.least_gain = o->gain / 100;
    t->plan.budget_s = o->budget;
    what->check = o->check.given ? o->check.value : 256 << 10;
    what->redop = SPECTER_REDOP_SUM;
    what->stop = bench_job_stop;
    what->ops = t->ops;
    if (predict_dtype("--dtype", o->dtype, &what->dtype, e) < 0 ||
        bench_ops_parse(o->ops, OPS, t->ops, OPS_MAX, &what->nops, e) < 0 ||
        bench_sizes_parse(o->bytes, o->factor, &t->sizes, &what->nsizes, e) < 0 ||
        parse_names(false, o->algos, t->algos, e) < 0 ||
        parse_names(true, o->protos, t->protos, e) < 0 || parse_channels(t, e) < 0 ||
        (o->fail_on != NULL && bench_checks_parse(o->fail_on, e) < 0) ||
        bench_job_check(&t->job, e) < 0)
        return -1;
    what->sizes = t->sizes;
    t->plan.algos = t->algos;
    t->plan.protos = t->protos;
    if (!t->job.backend->enqueues)
        return err_set(e, ERR_USAGE, "the backend '%s' has none of NCCL's settings",
                       o->job.backend);
    if (o->output != NULL && mkdir(o->output, 0777) != 0 && errno != EEXIST)
        return err_set(e, ERR_INPUT, "%s: %s", o->output, strerror(errno));
    return bench_conditions_prepare(&t->conditions, &o->conditions, e);
}

/* ---- results ---- */

static struct bench_tune_report report_of(const struct tune *t)
{
    return (struct bench_tune_report){&t->job.result,     t->job.run,         &t->log,
                                      t->plan.what.dtype, t->plan.least_gain, t->opts->output,
                                      t->complete};
}

static void take_checks(const struct tune *t, struct bench_checks *checks)
{
    size_t wrong = 0;
    const char *where = "no size";
    for (size_t i = 0; i < t->log.n; i++) {
        if (t->log.sizes[i].wrong == 0)
            continue;
        wrong++;
        where = specter_comm_op_name(t->log.sizes[i].op);
    }
    bench_checks_init(checks);
    bench_checks_done(checks, t->log.n, t->plan.what.nops * t->plan.what.nsizes);
    if (t->plan.what.check > 0)
        bench_checks_take(checks, BENCH_CHECK_wrong, (double)wrong, "%s", where);
    bench_checks_gpus(checks, t->conditions.gpus, t->conditions.ngpus);
}

static struct cJSON *document(const struct tune *t)
{
    const struct bench_tune_report r = report_of(t);
    struct cJSON *doc = bench_tune_json(&r);
    struct bench_checks checks;
    take_checks(t, &checks);
    cJSON_AddItemToObject(doc, "checks", bench_checks_json(&checks));
    cJSON_AddItemToObject(doc, "state", bench_state_json(t->conditions.gpus, t->conditions.ngpus));
    return doc;
}

static int save_json(const struct tune *t, struct err *e)
{
    char path[BENCH_PATH_MAX];
    snprintf(path, sizeof path, "%s/" BENCH_TUNE_JSON, t->opts->output);
    return cmd_write_json(document(t), path, e);
}

static void take_size(void *arg)
{
    struct tune *t = arg;
    const struct bench_tuned *s = &t->log.sizes[t->log.n - 1];
    char what[96], bytes[32];
    snprintf(what, sizeof what, "%s %s", specter_comm_op_name(s->op),
             text_bytes(bytes, sizeof bytes, (double)s->bytes));
    progress_show(&t->progress, t->log.n, what);
    if (t->opts->output != NULL)
        (void)save_json(t, NULL);
}

static int write_file(const struct tune *t, const char *name,
                      void (*print)(const struct bench_tune_report *, FILE *), struct err *e)
{
    const struct bench_tune_report r = report_of(t);
    char path[BENCH_PATH_MAX];
    struct whole_file f;
    snprintf(path, sizeof path, "%s/%s", t->opts->output, name);
    if (whole_file_open(&f, path, e) < 0)
        return -1;
    print(&r, f.out);
    return whole_file_close(&f, e);
}

static int write_results(const struct tune *t, struct err *e)
{
    const struct tune_opts *o = t->opts;
    const struct bench_tune_report r = report_of(t);
    struct bench_checks checks;
    take_checks(t, &checks);
    if (o->json == NULL || strcmp(o->json, "-") != 0) {
        bench_tune_text(&r, o->full, stdout);
        bench_state_text(t->conditions.gpus, t->conditions.ngpus, stdout);
        bench_checks_text(&checks, o->full, stdout);
    }
    if (o->output != NULL &&
        (write_file(t, BENCH_TUNE_TABLE, bench_tune_table, e) < 0 ||
         write_file(t, BENCH_TUNE_SETTINGS, bench_tune_settings, e) < 0 || save_json(t, e) < 0))
        return -1;
    if (o->json != NULL && cmd_write_json(document(t), o->json, e) < 0)
        return -1;
    return o->fail_on != NULL ? bench_checks_apply(o->fail_on, &checks, e) : 0;
}

/* ---- a rank ---- */

static int measure(void *arg, struct err *e)
{
    struct tune *t = arg;
    struct bench_communicator on;
    int status;
    t->job.members.call_s = t->job.opts.timeout / 2; /* before the others give this rank up */
    if (bench_job_open(&t->job, &on, e) < 0)
        return -1;
    if (t->job.place.rank == 0)
        progress_start(&t->progress, t->plan.what.nops * t->plan.what.nsizes, COLOR_AUTO);
    status = bench_tune(&t->plan, &on, &t->job.members, &t->log, e);
    progress_end(&t->progress);
    if (status < 0)
        bench_ranks_fail(t->job.ranks, e);
    t->complete = status == 0;
    on.backend->close(on.comm);
    return status < 0 ? -1 : 0;
}

/* Wrong results of NCCL's own choice are the answer "no", an early end is a partial one. */
static int status_of(const struct tune *t)
{
    for (size_t i = 0; i < t->log.n; i++) {
        if (t->log.sizes[i].wrong > 0)
            return ERR_NO;
    }
    return t->complete ? 0 : ERR_PARTIAL;
}

/* Where a call of the library does not return. */
static int write_partial(void *arg, struct err *e)
{
    struct tune *t = arg;
    return t->log.n > 0 ? write_results(t, e) : 0;
}

static int run_rank(void *arg, struct err *e)
{
    struct tune *t = arg;
    struct err own = {0};
    char taken[256];
    int status;
    if (t->job.place.world < 2) {
        err_set(e, ERR_INPUT, "NCCL chooses between two GPUs or more, and this job has one");
        return ERR_INPUT;
    }
    if (t->opts->output != NULL)
        signal(SIGPIPE, SIG_IGN); /* a launcher that ends reads no more: the files still count */
    if (t->job.place.rank == 0)
        t->plan.done = take_size;
    t->plan.done_arg = t;
    bench_nccl_watch(taken, sizeof taken);
    if (t->job.place.rank == 0 && *taken != '\0')
        fprintf(stderr, "specter: note: not used, since they are what is tuned: %s\n", taken);
    status = bench_job_begin(&t->job, e);
    for (size_t i = 0; i < t->plan.what.nops && status == 0; i++)
        status = t->job.backend->supports(t->ops[i], t->plan.what.dtype, t->plan.what.redop, e);
    if (status == 0)
        status = bench_job_in_conditions(&t->job, &t->conditions, t->opts->output, measure, t, e);
    if (t->job.place.rank == 0 && t->log.n > 0 && write_results(t, &own) < 0) {
        *e = status < 0 ? *e : own;
        status = -1;
    }
    status = status < 0 ? (int)e->code : status_of(t);
    bench_tune_log_release(&t->log);
    return bench_job_end(&t->job, status, e);
}

static int run(const struct command *self, int argc, char **argv, struct arena *a, struct err *e)
{
    struct tune_opts o = {.ops = OPS,
                          .bytes = "1K:256M",
                          .factor = 4,
                          .dtype = "fp32",
                          .gain = 2,
                          .budget = 300,
                          .job = BENCH_JOB_DEFAULTS,
                          .conditions = BENCH_CONDITIONS_NONE};
    struct tune t = {.opts = &o, .job = {.gpus_only = true, .keep = write_partial, .arg = &t}};
    int status = cmd_parse_options(self, &o, argc, argv, e);
    (void)a;
    if (status == 0)
        status = parse(&t, e) < 0 ? (int)e->code
                                  : bench_job_run(&t.job, "tune", argc, argv, run_rank, e);
    bench_conditions_release(&t.conditions);
    free(t.sizes);
    free(o.channels.values);
    return status;
}

const struct cmd_kind bench_tunes = {
    .name = "tune",
    .command = {.name = "bench",
                .synopsis = "bench tune" SYNOPSIS_ALL,
                .summary = "algorithm, protocol and channels that beat NCCL's own choice",
                .rows = rows},
    .run = run,
};
