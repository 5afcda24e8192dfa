/* SPDX-License-Identifier: MIT
 *
 * specter bench gemm: times of GEMMs on this GPU and what the models predict.
 */
#include "base/arena.h"
#include "base/buf.h"
#include "bench/gemm.h"
#include "cmd/bench.h"
#include "cmd/cmd.h"
#include "cmd/hardware.h"
#include "report/bench_report.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define BUDGET_S 120

struct bench_gemm_opts {
    const char *shapes, *dtype, *output, *gpu, *json, *source, *fail_on;
    double budget;
    bool list, full;
    struct bench_conditions_opts conditions;
};

#define AT(field) offsetof(struct bench_gemm_opts, field)

static const struct opt rows[] = {
    {"budget", 0, OPT_DOUBLE, AT(budget), "SECONDS", "no GEMM begins later; default 120"},
    {"shapes", 0, OPT_STR, AT(shapes), "FILE",
     "instead of the plan: lines of m n k [batch] [dtype] [NN|NT|TN|TT], or a CSV of such columns"},
    {"dtype", 0, OPT_STR, AT(dtype), "LIST", "of bf16,fp16,tf32,fp32,fp8,fp64,int8; default: all"},
    {"list", 0, OPT_FLAG, AT(list), NULL, "print the GEMMs in their order and measure nothing"},
    {"output", 'o', OPT_STR, AT(output), "FILE|DIR",
     "also write the table that validate reads; a folder gets JSON and temperatures.csv, too"},
    {"gpu", 0, OPT_STR, AT(gpu), "NAME|FILE", "profile to compare with; default: by its name"},
    {"source", 0, OPT_STR, AT(source), "NAME", "source_id of the table; default specter_bench"},
    BENCH_CONDITIONS_ROWS(AT(conditions)),
    {"full", 0, OPT_FLAG, AT(full), NULL, "the answer with every GEMM"},
    {"json", 0, OPT_STR, AT(json), "FILE|-", "write everything as JSON; -: in place of the text"},
    BENCH_FAIL_ON_ROW(AT(fail_on)),
    OPT_END,
};

/* The command line, checked, and what is open. */
struct gemm_run {
    const struct bench_gemm_opts *opts;
    bool wanted[BENCH_GEMM_TYPES];
    struct bench_gemm_plan plan;
    struct progress_line progress;
    int bad_lines;
    char folder[4096]; /* "": the output is a file, or there is none */
    FILE *table;
    char table_path[4096 + 64], json_path[4096 + 64];
    struct bench_ranks *ranks; /* of a job of one */
    struct bench_conditions conditions;
    struct bench_conditions_where where;
    struct bench_gpu gpu;
    struct bench_blas blas;
    struct bench_gemm_about about;
    struct bench_gemm_result result;
};

static volatile sig_atomic_t asked_to_stop;

static void on_signal(int signal)
{
    (void)signal;
    asked_to_stop = 1;
}

static bool stop(void)
{
    return asked_to_stop != 0;
}

/* ---- options ---- */

static int parse_types(struct gemm_run *j, struct arena *a, struct err *e)
{
    const char *text = j->opts->dtype;
    char *save = NULL, *copy = text != NULL ? arena_strdup(a, text) : NULL;
    for (size_t i = 0; i < BENCH_GEMM_TYPES; i++)
        j->wanted[i] = text == NULL;
    if (text == NULL)
        return 0;
    for (char *name = strtok_r(copy, ",", &save); name != NULL; name = strtok_r(NULL, ",", &save)) {
        const struct bench_gemm_type *type = bench_gemm_type_find(name);
        if (type == NULL)
            return err_set(e, ERR_USAGE, "--dtype: '%.32s' is no type that GEMMs are timed in",
                           name);
        j->wanted[type - bench_gemm_types] = true;
    }
    return 0;
}

static void print_note(const char *text)
{
    fprintf(stderr, "specter: note: %s\n", text);
}

static int make_plan(struct gemm_run *j, struct err *e)
{
    struct buf text = BUF_INIT;
    int status;
    if (j->opts->shapes == NULL) {
        bench_gemm_plan_init(&j->plan, j->wanted);
        return j->plan.count > 0 ? 0 : err_set(e, ERR_USAGE, "--dtype: no type is named");
    }
    status = cmd_read_file(j->opts->shapes, "a list of GEMMs", &text, e);
    if (status == 0) {
        buf_putc(&text, '\0');
        status = bench_gemm_shapes(j->opts->shapes, text.data, j->wanted, &j->plan, print_note, e);
    }
    buf_release(&text);
    j->bad_lines = status > 0 ? status : 0;
    for (size_t i = 0; i < BENCH_GEMM_TYPES; i++) /* a file may name others than --dtype */
        for (size_t k = 0; k < j->plan.count; k++)
            j->wanted[i] |= j->plan.cases[k].shape.type == &bench_gemm_types[i];
    return status < 0 ? -1 : 0;
}

/* A folder is one that is there, or a name without an extension. */
static int open_output(struct gemm_run *j, struct err *e)
{
    const char *output = j->opts->output, *base;
    struct stat st;
    char when[32];
    time_t now = time(NULL);
    if (output == NULL)
        return 0;
    base = strrchr(output, '/') != NULL ? strrchr(output, '/') + 1 : output;
    snprintf(j->table_path, sizeof j->table_path, "%s", output);
    if (stat(output, &st) == 0 ? S_ISDIR(st.st_mode) : strchr(base, '.') == NULL) {
        if (mkdir(output, 0777) != 0 && errno != EEXIST)
            return err_set(e, ERR_INPUT, "%s: %s", output, strerror(errno));
        strftime(when, sizeof when, "%Y%m%d_%H%M%S", localtime(&now));
        snprintf(j->folder, sizeof j->folder, "%s", output);
        snprintf(j->table_path, sizeof j->table_path, "%s/gemm_%s.csv", j->folder, when);
        snprintf(j->json_path, sizeof j->json_path, "%s/gemm_%s.json", j->folder, when);
    }
    j->table = fopen(j->table_path, "we");
    return j->table != NULL ? 0 : err_set(e, ERR_INPUT, "%s: %s", j->table_path, strerror(errno));
}

static int list_plan(const struct gemm_run *j)
{
    for (size_t i = 0; i < j->plan.count; i++) {
        const struct bench_gemm_case *c = &j->plan.cases[i];
        const struct bench_gemm_shape *s = &c->shape;
        printf("%s %s %s %lldx%lldx%lld batch %lld %s\n", s->type->name, c->family,
               c->hot ? "hot" : "cold", (long long)s->m, (long long)s->n, (long long)s->k,
               (long long)s->batch, bench_gemm_order(s));
    }
    return j->bad_lines > 0 ? ERR_PARTIAL : 0;
}

/* ---- measuring ---- */

/* The bar shows how far it is by the plan, or by the budget. */
static void write_row(const struct bench_gemm_row *row, void *arg)
{
    struct gemm_run *j = arg;
    const struct bench_gemm_shape *shape = &row->of.shape;
    const double s = (double)progress_ns(&j->progress) / 1e9;
    const double done = (double)(j->result.nrows + j->result.nskips);
    char text[128];
    if (j->table != NULL)
        bench_gemm_csv_row(&j->about, row, j->table);
    snprintf(text, sizeof text, " %.0f s, %.0f GEMMs, %s %lldx%lldx%lld", s, done,
             shape->type->name, (long long)shape->m, (long long)shape->n, (long long)shape->k);
    progress_draw(&j->progress, fmin(fmax(done / (double)j->plan.count, s / j->opts->budget), 1),
                  text);
}

static int measure(struct gemm_run *j, struct arena *a, struct err *e)
{
    const struct network_profile *unused;
    void *nvml;
    int status;
    if (bench_gpu_open(&j->gpu, 0, e) < 0)
        return -1;
    /* NULL without --gpu and a profile of the device's name: there is nothing to compare with. */
    j->about.gpu = j->opts->gpu != NULL ? cmd_gpu(j->opts->gpu, a, &unused, e)
                                        : gpu_profile_of_device(j->gpu.name);
    if (j->opts->gpu != NULL && j->about.gpu == NULL)
        return -1;
    if (bench_conditions_begin(&j->conditions, &j->where, e) < 0 ||
        bench_conditions_warm(&j->conditions, &j->where, e) < 0 ||
        bench_conditions_watch(&j->conditions, &j->where, e) < 0 ||
        bench_blas_open(&j->blas, &j->gpu, j->wanted, e) < 0)
        return -1;
    nvml = bench_nvml_device(j->gpu.bus_id, NULL);
    j->about.device = j->gpu.name;
    j->about.source = j->opts->source;
    j->about.driver = bench_nvml_driver();
    j->about.cuda = j->gpu.driver;
    j->about.blas = j->blas.version;
    j->about.cpus = j->conditions.cpus;
    j->about.locked_MHz = j->conditions.locked_MHz;
    bench_nvml_read(nvml, &j->about.begin);
    if (j->table != NULL)
        bench_gemm_csv_head(&j->about, j->table);
    progress_start(&j->progress, j->plan.count, COLOR_AUTO);
    status = bench_gemm_run(&j->plan,
                            &(struct bench_gemm_on){.blas = &j->blas,
                                                    .nvml = nvml,
                                                    .gpu = j->about.gpu,
                                                    .budget_s = j->opts->budget,
                                                    .stop = stop,
                                                    .row = write_row,
                                                    .arg = j},
                            &j->result, e);
    progress_end(&j->progress);
    return status;
}

/* ---- results ---- */

static cJSON *document(const struct gemm_run *j, const struct bench_checks *checks)
{
    cJSON *doc = bench_gemm_json(&j->about, &j->result);
    cJSON_AddItemToObject(doc, "checks", bench_checks_json(checks));
    return doc;
}

static int write_results(struct gemm_run *j, struct err *e)
{
    const struct bench_gemm_opts *o = j->opts;
    const struct bench_gemm_result *r = &j->result;
    struct bench_checks checks;
    bool failed;
    j->about.gpus = j->conditions.gpus;
    j->about.ngpus = j->conditions.ngpus;
    bench_checks_init(&checks);
    bench_checks_done(&checks, r->nrows, r->nrows + r->nskips + (r->complete ? 0 : r->left));
    bench_checks_gemms(&checks, r);
    bench_checks_gpus(&checks, j->about.gpus, j->about.ngpus);
    if (o->json == NULL || strcmp(o->json, "-") != 0) {
        bench_gemm_text(&j->about, r, o->full, stdout);
        bench_checks_text(&checks, o->full, stdout);
    }
    if (r->nskips > 0)
        fprintf(stderr, "specter: note: %zu GEMMs could not be measured, the first: %s\n",
                r->nskips, r->skips[0].why);
    failed = j->table != NULL && ferror(j->table) != 0;
    failed |= j->table != NULL && fclose(j->table) != 0;
    j->table = NULL;
    if (failed)
        return err_set(e, ERR_INPUT, "%s: not all could be written", j->table_path);
    if ((j->folder[0] != '\0' && cmd_write_json(document(j, &checks), j->json_path, e) < 0) ||
        (o->json != NULL && cmd_write_json(document(j, &checks), o->json, e) < 0))
        return -1;
    return o->fail_on != NULL ? bench_checks_apply(o->fail_on, &checks, e) : 0;
}

static int run_job(struct gemm_run *j, struct arena *a, struct err *e)
{
    const struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    const struct bench_place alone = {.world = 1};
    struct err own = {0};
    int status;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
    bench_ranks_join(&alone, 1, &j->ranks, e); /* which nothing can keep from */
    j->where = (struct bench_conditions_where){
        .ranks = j->ranks, .world = 1, .output = j->folder[0] != '\0' ? j->folder : NULL};
    status = measure(j, a, e);
    if (bench_conditions_end(&j->conditions, &j->where, j->ranks, &own) < 0 && status == 0) {
        *e = own;
        status = -1;
    }
    own = (struct err){0};
    if (j->result.nrows > 0 && write_results(j, &own) < 0 && status == 0) {
        *e = own;
        status = -1;
    }
    bench_blas_close(&j->blas);
    bench_gpu_close(&j->gpu);
    bench_ranks_leave(j->ranks);
    if (status < 0)
        return (int)e->code;
    /* Nothing measured is no result; an early end, or a line that could not be used, a partial one.
     */
    if (!j->result.complete || j->bad_lines > 0)
        return ERR_PARTIAL;
    if (j->result.nrows > 0)
        return 0;
    err_set(e, ERR_INPUT, "no GEMM could be measured");
    return ERR_INPUT;
}

/* Checks the command line, and opens what is to be written. 0, or -1 with e filled. */
static int check(struct gemm_run *j, struct arena *a, struct err *e)
{
    const struct bench_gemm_opts *o = j->opts;
    if (!(o->budget > 0))
        return err_set(e, ERR_USAGE, "--budget: out of range");
    if (o->fail_on != NULL && bench_checks_parse(o->fail_on, e) < 0)
        return -1;
    if (parse_types(j, a, e) < 0 || make_plan(j, e) < 0)
        return -1;
    if (o->list)
        return 0;
    if (bench_conditions_prepare(&j->conditions, &o->conditions, e) < 0)
        return -1;
    return open_output(j, e);
}

static int run(const struct command *self, int argc, char **argv, struct arena *a, struct err *e)
{
    struct bench_gemm_opts o = {
        .budget = BUDGET_S, .source = "specter_bench", .conditions = BENCH_CONDITIONS_NONE};
    struct gemm_run j = {.opts = &o};
    int status = cmd_parse_options(self, &o, argc, argv, e);
    if (status != 0)
        return status;
    if (check(&j, a, e) < 0)
        status = (int)e->code;
    else
        status = o.list ? list_plan(&j) : run_job(&j, a, e);
    if (j.table != NULL)
        fclose(j.table);
    bench_conditions_release(&j.conditions);
    bench_gemm_release(&j.result);
    bench_gemm_plan_release(&j.plan);
    return status;
}

const struct cmd_kind bench_gemms = {
    .name = "gemm",
    .command = {.name = "bench",
                .synopsis = "bench gemm" SYNOPSIS_ALL,
                .summary = "times of GEMMs on this GPU, its peak and what the models predict",
                .rows = rows},
    .run = run,
};
