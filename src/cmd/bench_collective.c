/* SPDX-License-Identifier: MIT
 *
 * specter bench collective: times of a library's collectives, on this machine or in a job.
 */
#include "base/arena.h"
#include "base/whole_file.h"
#include "bench/checks.h"
#include "bench/collective.h"
#include "calib/measured.h"
#include "cmd/bench.h"
#include "cmd/hardware.h"
#include "cmd/predict.h"
#include "report/bench_report.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define OPS_DEFAULT "all_reduce,all_gather,reduce_scatter"
#define OPS_MAX 16

struct bench_collective_opts {
    const char *ops, *bytes, *dtype, *redop, *gpu, *network, *output, *json, *html, *fail_on;
    struct opt_list elements, per_node; /* values owned */
    struct opt_bytes check;
    struct bench_job_opts job;
    int64_t warmup, iters;
    double factor;
    struct bench_conditions_opts conditions;
    bool rotate_root, full;
};

#define AT(field) offsetof(struct bench_collective_opts, field)

static const struct opt rows[] = {
    {"op", 0, OPT_STR, AT(ops), "LIST", "operations; default " OPS_DEFAULT "; all: every one"},
    {"bytes", 0, OPT_STR, AT(bytes), "MIN:MAX", "full buffers as nccl-tests counts them: 8:8G"},
    {"factor", 0, OPT_DOUBLE, AT(factor), "F", "of --bytes, the next size; default 2"},
    {"elements", 0, OPT_LIST, AT(elements), "LIST",
     "instead: elements of a rank; default 1048576,4194304,16777216"},
    {"dtype", 0, OPT_STR, AT(dtype), "TYPE", "of an element; default fp32"},
    {"redop", 0, OPT_STR, AT(redop), "OP", "sum, prod, min or max; default sum"},
    BENCH_JOB_LIBRARY_ROWS(AT(job)),
    {"per-node", 0, OPT_LIST, AT(per_node), "LIST",
     "GPUs of each node, in turn: 1,2,4,8; default: all"},
    {"warmup", 0, OPT_I64, AT(warmup), "N", "calls before the timed ones; default 10"},
    {"iters", 0, OPT_I64, AT(iters), "N", "timed calls; default 50"},
    {"rotate-root", 0, OPT_FLAG, AT(rotate_root), NULL,
     "another root with each call, which then begins when the last is over"},
    {"check", 0, OPT_BYTES, AT(check), "SIZE",
     "of each rank's part, compare so much; 0: nothing; default: all"},
    BENCH_JOB_RANKS_ROWS(AT(job)),
    {"gpu", 0, OPT_STR, AT(gpu), "NAME|FILE", "profile to compare with; default: by its name"},
    {"network", 0, OPT_STR, AT(network), "NAME|FILE", "likewise; default: the GPU's"},
    BENCH_CONDITIONS_ROWS(AT(conditions)),
    {"output", 'o', OPT_STR, AT(output), "DIR", "also write text, CSV and JSON there"},
    {"full", 0, OPT_FLAG, AT(full), NULL, "the verdict with every row"},
    {"json", 0, OPT_STR, AT(json), "FILE|-", "write everything as JSON; -: in place of the text"},
    BENCH_HTML_ROW(AT(html)),
    BENCH_FAIL_ON_ROW(AT(fail_on)),
    OPT_END,
};

/* The command line, checked, and what became of it on this rank. */
struct collective_run {
    const struct bench_collective_opts *opts;
    struct bench_job job;
    enum specter_comm_op ops[OPS_MAX];
    uint64_t *sizes; /* owned */
    struct bench_plan plan;
    struct bench_conditions conditions;
    struct bench_target target;
    size_t wanted;  /* rows out of place of the plan, without empty sizes */
    time_t started; /* in the files' names */
    time_t saved;   /* when the results were last written, before the end */
    bool complete;
    struct arena *arena; /* of the command: profiles */
};

/* ---- options ---- */

#define OPS_ALL \
    "all_reduce,all_gather,reduce_scatter,broadcast,reduce,alltoall,gather,scatter,sendrecv"

static int parse_sizes(struct collective_run *j, struct err *e)
{
    static const int64_t usual[] = {1048576, 4194304, 16777216};
    const struct bench_collective_opts *o = j->opts;
    const int64_t *elements = o->elements.count > 0 ? o->elements.values : usual;
    size_t n = o->elements.count > 0 ? o->elements.count : sizeof usual / sizeof *usual;
    if (o->bytes != NULL && o->elements.count > 0)
        return err_set(e, ERR_USAGE, "--bytes and --elements say the same thing: give one of them");
    j->plan.elements = o->bytes == NULL;
    j->plan.nsizes = n;
    if (o->bytes != NULL) {
        if (bench_sizes_parse(o->bytes, o->factor, &j->sizes, &j->plan.nsizes, e) < 0)
            return -1;
        j->plan.sizes = j->sizes;
        return 0;
    }
    j->sizes = array_new(n, sizeof *j->sizes);
    for (size_t i = 0; i < n; i++) {
        if (elements[i] < 1)
            return err_set(e, ERR_USAGE, "--elements: %lld is out of range",
                           (long long)elements[i]);
        j->sizes[i] = (uint64_t)elements[i];
    }
    j->plan.sizes = j->sizes;
    return 0;
}

static int parse(struct collective_run *j, struct err *e)
{
    const struct bench_collective_opts *o = j->opts;
    j->plan.warmup = (int)o->warmup;
    j->plan.iters = (int)o->iters;
    j->plan.rotate_root = o->rotate_root;
    j->plan.ops = j->ops;
    j->plan.check = o->check.given ? o->check.value : UINT64_MAX;
    j->plan.stop = bench_job_stop;
    if (predict_dtype("--dtype", o->dtype, &j->plan.dtype, e) < 0)
        return -1;
    j->plan.redop = specter_redop_parse(o->redop, strlen(o->redop));
    if (j->plan.redop > SPECTER_REDOP_MIN)
        return err_set(e, ERR_USAGE, "--redop: '%.32s' is none of sum, prod, min and max",
                       o->redop);
    if (bench_ops_parse(strcmp(o->ops, "all") == 0 ? OPS_ALL : o->ops, "all, " OPS_ALL, j->ops,
                        OPS_MAX, &j->plan.nops, e) < 0 ||
        parse_sizes(j, e) < 0 || bench_check_range("--warmup", o->warmup, 0, 1000000, e) < 0 ||
        bench_check_range("--iters", o->iters, 1, 1000000, e) < 0 ||
        (o->fail_on != NULL && bench_checks_parse(o->fail_on, e) < 0) ||
        bench_job_check(&j->job, e) < 0)
        return -1;
    j->wanted = j->plan.nops * j->plan.nsizes * (o->per_node.count > 0 ? o->per_node.count : 1);
    if (o->output != NULL && mkdir(o->output, 0777) != 0 && errno != EEXIST)
        return err_set(e, ERR_INPUT, "%s: %s", o->output, strerror(errno));
    return 0;
}

/* ---- output ----
 *
 * Output of rank 0, while it measures and at the end: the table on stdout, or one JSON document;
 * CSV, text and JSON in a folder. */

static void result_path(const struct collective_run *j, const char *kind, const char *extension,
                        char *path, size_t size)
{
    char when[32];
    strftime(when, sizeof when, "%Y%m%d_%H%M%S", localtime(&j->started));
    snprintf(path, size, "%s/%s_%s_world%d_%s.%s", j->opts->output, kind, j->job.opts.backend,
             j->job.place.world, when, extension);
}

static void take_checks(const struct collective_run *j, const struct bench_studies *studies,
                        struct bench_checks *checks)
{
    size_t done = 0;
    for (size_t i = 0; i < j->job.run->nrows; i++)
        done += !j->job.run->rows[i].in_place;
    bench_checks_init(checks);
    bench_checks_done(checks, done, j->wanted);
    bench_checks_studies(checks, studies);
    bench_checks_gpus(checks, j->conditions.gpus, j->conditions.ngpus);
}

static cJSON *document(const struct collective_run *j)
{
    struct bench_studies studies = {0};
    struct bench_correlation heat;
    struct bench_checks checks;
    cJSON *doc = bench_table_json(&j->job.result, j->complete);
    cJSON_AddItemToObject(doc, "state", bench_state_json(j->conditions.gpus, j->conditions.ngpus));
    bench_studies_add(&studies, j->job.run, j->target.gpu, j->target.net);
    take_checks(j, &studies, &checks);
    heat = bench_studies_heat(&studies);
    cJSON_AddItemToObject(doc, "temperature", bench_heat_json(&heat));
    cJSON_AddItemToObject(doc, "checks", bench_checks_json(&checks));
    bench_studies_release(&studies);
    return doc;
}

static int save_json(const struct collective_run *j, struct err *e)
{
    char path[BENCH_PATH_MAX];
    result_path(j, "collectives", "json", path, sizeof path);
    return cmd_write_json(document(j), path, e);
}

/* Launchers kill a job without notice, so what is measured is saved on the way, about once a
 * second. That it cannot be is an error at the end. */
static void take_row(const struct bench_row *row, void *arg)
{
    struct collective_run *j = arg;
    time_t now = time(NULL);
    if (j->opts->json == NULL)
        bench_table_row(j->job.run, row, &j->target, stdout);
    if (j->opts->output != NULL && now != j->saved)
        (void)save_json(j, NULL);
    j->saved = now;
}

static bool has_rows(const struct bench_run *run, bool messages)
{
    for (size_t i = 0; i < run->nrows; i++) {
        if ((run->rows[i].op == SPECTER_SEND) == messages)
            return true;
    }
    return false;
}

static int write_files(const struct collective_run *j, struct err *e)
{
    char path[BENCH_PATH_MAX];
    struct whole_file f;
    for (int messages = 0; messages <= 1; messages++) {
        if (!has_rows(j->job.run, messages))
            continue;
        result_path(j, messages ? "messages" : "collectives", "csv", path, sizeof path);
        if (whole_file_open(&f, path, e) < 0)
            return -1;
        bench_table_csv(j->job.run, &j->target, messages, f.out);
        if (whole_file_close(&f, e) < 0)
            return -1;
    }
    if (bench_table_has_profile(j->job.run)) {
        result_path(j, "profile", "txt", path, sizeof path);
        if (whole_file_open(&f, path, e) < 0)
            return -1;
        bench_table_profile(j->job.run, f.out);
        if (whole_file_close(&f, e) < 0)
            return -1;
    }
    return save_json(j, e);
}

static void print_end(const struct collective_run *j, const struct bench_studies *studies,
                      const struct bench_checks *checks)
{
    const struct bench_correlation heat = bench_studies_heat(studies);
    if (j->job.run->nrows > 0)
        bench_table_end(j->job.run, stdout);
    bench_state_text(j->conditions.gpus, j->conditions.ngpus, stdout);
    bench_heat_text(&heat, "From 1 MiB on, collectives take", stdout);
    for (size_t i = 0; i < studies->n && j->target.gpu != NULL; i++) {
        if (i > 0)
            putchar('\n');
        bench_text(&studies->list[i], j->opts->full, stdout);
    }
    bench_checks_text(checks, j->opts->full, stdout);
}

/* With the temperatures, where they were written. */
static int write_page(const struct collective_run *j, const struct bench_studies *studies,
                      const struct bench_checks *checks, struct err *e)
{
    struct bench_temperatures t = {0};
    struct bench_page page = {.title = "specter bench collective",
                              .run = j->job.run,
                              .checks = checks,
                              .studies = studies};
    int status;
    if (j->conditions.table_path[0] != '\0' &&
        bench_temperatures_read(&t, j->conditions.table_path, e) == 0)
        page.temperatures = &t;
    status = bench_page_write(&page, j->opts->html, e);
    bench_temperatures_release(&t);
    return status;
}

/* Nothing where the library was not opened. 0, or -1 with e filled: not all could be written, or a
 * condition of fail_on holds (ERR_NO). */
static int output_end(const struct collective_run *j, struct err *e)
{
    struct bench_studies studies = {0};
    struct bench_checks checks;
    int status = 0;
    if (j->job.run->library[0] == '\0')
        return 0;
    for (size_t i = 0; i < j->job.result.nnotes; i++)
        fprintf(stderr, "specter: note: %s\n", j->job.result.notes[i]);
    if (j->opts->output != NULL && write_files(j, e) < 0)
        return -1;
    if (j->opts->json != NULL && cmd_write_json(document(j), j->opts->json, e) < 0)
        return -1;
    bench_studies_add(&studies, j->job.run, j->target.gpu, j->target.net);
    take_checks(j, &studies, &checks);
    if (j->opts->json == NULL)
        print_end(j, &studies, &checks);
    if (j->opts->html != NULL && j->job.run->nrows > 0)
        status = write_page(j, &studies, &checks, e);
    bench_studies_release(&studies);
    if (status == 0 && j->opts->fail_on != NULL)
        status = bench_checks_apply(j->opts->fail_on, &checks, e);
    return status;
}

/* Where a call of the library does not return. */
static int write_partial(void *arg, struct err *e)
{
    struct collective_run *j = arg;
    return output_end(j, e);
}

/* ---- measuring ---- */

/* Profiles to compare with: those that are named, or the GPU's by its name and the network that it
 * usually sits in. None where no GPU is measured, or none with a profile. */
static int find_target(struct collective_run *j, struct err *e)
{
    const struct gpu_profile *by_name = gpu_profile_of_device(j->job.run->gpu);
    const char *gpu = j->opts->gpu;
    struct profile_pair on;
    if (gpu == NULL && by_name != NULL)
        gpu = by_name->name;
    if (gpu == NULL || !j->job.backend->enqueues)
        return 0;
    if (cmd_target(gpu, j->opts->network, true, j->arena, &on, e) < 0)
        return -1;
    j->target = (struct bench_target){on.gpu, on.network};
    return 0;
}

/* With so many ranks of each node. */
static int measure(struct collective_run *j, int per_node, struct err *e)
{
    struct bench_communicator on = {.backend = j->job.backend, .ranks = j->job.ranks};
    int status, first = j->job.run->nrows == 0;
    int *in = array_new((size_t)j->job.place.world, sizeof *in);
    int mine = j->job.node_index < per_node;
    status = bench_ranks_gather(j->job.ranks, &mine, sizeof mine, in, e);
    on.world = j->job.place.world;
    for (int i = 0; i < on.world; i++) {
        on.member += i < j->job.place.rank && in[i];
        on.where.ranks += in[i];
    }
    free(in);
    on.member = mine ? on.member : -1;
    j->wanted -= bench_plan_empty(&j->plan, on.where.ranks);
    on.where.nodes = j->job.nodes;
    on.where.per_node = per_node < j->job.per_node ? per_node : j->job.per_node;
    j->job.members.size = on.where.ranks;
    j->job.members.member = on.member;
    if (status < 0 || j->job.backend->open(&j->job.members, &on.comm, e) < 0)
        return -1;
    if (first && j->job.place.rank == 0) {
        bench_job_describe(&j->job, on.comm,
                           (struct layout){j->job.place.world, j->job.nodes, j->job.per_node});
        if (j->plan.rotate_root)
            bench_setting_add(&j->job.result, j->job.run, "root", "rotates");
        bench_conditions_describe(&j->conditions, j->job.place.rank, &j->job.result, j->job.run);
        status = find_target(j, e);
        if (status == 0 && j->opts->json == NULL)
            bench_table_head(j->job.run, &j->target, stdout);
    }
    status = bench_ranks_agree(j->job.ranks, status, e);
    if (status == 0)
        status = bench_collective(&j->plan, &on, &j->job.result, j->job.run, e);
    if (status < 0)
        bench_ranks_fail(j->job.ranks, e);
    j->job.backend->close(on.comm);
    return status;
}

static int measure_all(void *arg, struct err *e)
{
    struct collective_run *j = arg;
    const struct opt_list *list = &j->opts->per_node;
    int status = 0;
    if (list->count == 0)
        status = measure(j, j->job.per_node, e);
    for (size_t i = 0; i < list->count && status == 0; i++) {
        if (bench_check_range("--per-node", list->values[i], 1, j->job.per_node, e) < 0)
            return -1;
        status = measure(j, (int)list->values[i], e);
    }
    j->complete = status == 0;
    return status < 0 ? -1 : 0;
}

/* ---- a rank ---- */

static int run_rank(void *arg, struct err *e)
{
    struct collective_run *j = arg;
    bool wrong = false;
    int status;
    if (j->opts->output != NULL)
        signal(SIGPIPE, SIG_IGN); /* a launcher that ends reads no more: the files still count */
    j->started = time(NULL);
    if (j->job.place.rank == 0)
        j->plan.row = take_row;
    j->plan.row_arg = j;
    status = bench_job_begin(&j->job, e);
    for (size_t i = 0; i < j->plan.nops && status == 0; i++)
        status = j->job.backend->supports(j->plan.ops[i], j->plan.dtype, j->plan.redop, e);
    if (status == 0)
        status =
            bench_job_in_conditions(&j->job, &j->conditions, j->opts->output, measure_all, j, e);
    if (status == 0 && j->complete && j->job.run->nrows == 0)
        status = err_set(e, ERR_INPUT, "nothing was measured");
    if (j->job.place.rank == 0) {
        struct err own = {0};
        if (output_end(j, &own) < 0) {
            *e = status < 0 ? *e : own;
            status = -1;
        }
    }
    for (size_t i = 0; i < j->job.run->nrows; i++)
        wrong |= j->job.run->rows[i].wrong > 0;
    /* Wrong results are the answer "no", an early end is a partial one. */
    status = status < 0 ? (int)e->code : wrong ? ERR_NO : j->complete ? 0 : ERR_PARTIAL;
    bench_conditions_release(&j->conditions);
    return bench_job_end(&j->job, status, e);
}

static int run(const struct command *self, int argc, char **argv, struct arena *a, struct err *e)
{
    struct bench_collective_opts o = {.ops = OPS_DEFAULT,
                                      .dtype = "fp32",
                                      .redop = "sum",
                                      .job = BENCH_JOB_DEFAULTS,
                                      .conditions = BENCH_CONDITIONS_NONE,
                                      .warmup = 10,
                                      .iters = 50,
                                      .factor = 2};
    struct collective_run j = {.opts = &o, .job = {.keep = write_partial, .arg = &j}, .arena = a};
    int status = cmd_parse_options(self, &o, argc, argv, e);
    if (status == 0) {
        j.job.opts = o.job;
        if (parse(&j, e) < 0 || bench_conditions_prepare(&j.conditions, &o.conditions, e) < 0)
            status = (int)e->code;
        else
            status = bench_job_run(&j.job, "collective", argc, argv, run_rank, e);
    }
    bench_conditions_release(&j.conditions);
    free(j.sizes);
    free(o.elements.values);
    free(o.per_node.values);
    return status;
}

const struct cmd_kind bench_collectives = {
    .name = "collective",
    .command = {.name = "bench",
                .synopsis = "bench collective [--bytes MIN:MAX | --elements LIST]" SYNOPSIS_ALL,
                .summary = "times of collectives, checked, and what the models predict",
                .rows = rows},
    .run = run,
};
