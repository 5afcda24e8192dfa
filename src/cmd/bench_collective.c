/* SPDX-License-Identifier: MIT
 *
 * specter bench collective: times of a library's collectives, on this machine or in a job.
 */
#include "base/arena.h"
#include "bench/collective.h"
#include "bench/checks.h"
#include "calib/measured_names.h"
#include "cmd/bench_collective_output.h"
#include "cmd/bench_conditions.h"
#include "cmd/bench_job.h"
#include "cmd/predict.h"

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
    struct bench_output output;
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
    j->sizes = calloc(n, sizeof *j->sizes);
    if (j->sizes == NULL)
        die("out of memory");
    for (size_t i = 0; i < n; i++) {
        if (elements[i] < 1)
            return err_set(e, ERR_USAGE, "--elements: %lld is out of range",
                           (long long)elements[i]);
        j->sizes[i] = (uint64_t)elements[i];
    }
    j->plan.sizes = j->sizes;
    return 0;
}

static int parse_types(struct collective_run *j, struct err *e)
{
    const struct bench_collective_opts *o = j->opts;
    if (predict_dtype("--dtype", o->dtype, &j->plan.dtype, e) < 0)
        return -1;
    j->plan.redop = specter_redop_parse(o->redop, strlen(o->redop));
    if (j->plan.redop > SPECTER_REDOP_MIN)
        return err_set(e, ERR_USAGE, "--redop: '%.32s' is none of sum, prod, min and max",
                       o->redop);
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
    if (parse_types(j, e) < 0 ||
        bench_ops_parse(strcmp(o->ops, "all") == 0 ? OPS_ALL : o->ops, "all, " OPS_ALL, j->ops,
                        OPS_MAX, &j->plan.nops, e) < 0 ||
        parse_sizes(j, e) < 0 || bench_check_range("--warmup", o->warmup, 0, 1000000, e) < 0 ||
        bench_check_range("--iters", o->iters, 1, 1000000, e) < 0 ||
        (o->fail_on != NULL && bench_checks_parse(o->fail_on, e) < 0) ||
        bench_job_check(&j->job, e) < 0)
        return -1;
    j->output = (struct bench_output){.folder = o->output,
                                      .json = o->json,
                                      .full = o->full,
                                      .html = o->html,
                                      .fail_on = o->fail_on,
                                      .wanted = j->plan.nops * j->plan.nsizes *
                                                (o->per_node.count > 0 ? o->per_node.count : 1),
                                      .job = &j->job,
                                      .conditions = &j->conditions};
    if (o->output != NULL && mkdir(o->output, 0777) != 0 && errno != EEXIST)
        return err_set(e, ERR_INPUT, "%s: %s", o->output, strerror(errno));
    return 0;
}

/* ---- the job ---- */

static int keep(void *arg, struct err *e)
{
    struct collective_run *j = arg;
    return bench_output_end(&j->output, e);
}

/* Whether the library has what is asked for. */
static int check_support(const struct collective_run *j, struct err *e)
{
    for (size_t i = 0; i < j->plan.nops; i++) {
        if (j->job.backend->supports(j->plan.ops[i], j->plan.dtype, j->plan.redop, e) < 0)
            return -1;
    }
    return 0;
}

/* ---- what is known of the run ---- */

static void describe(struct collective_run *j, const struct bench_comm *comm, struct layout where)
{
    bench_job_describe(&j->job, comm, where);
    if (j->plan.rotate_root)
        bench_setting_add(&j->job.result, j->job.run, "root", "rotates");
    bench_conditions_describe(&j->conditions, j->job.place.rank, &j->job.result, j->job.run);
}

/* ---- measuring ---- */

static void take_row(const struct bench_row *row, void *arg)
{
    bench_output_row(arg, row);
}

/* With so many ranks of each node. */
static int measure(struct collective_run *j, int per_node, struct err *e)
{
    struct bench_communicator on = {.backend = j->job.backend, .ranks = j->job.ranks};
    int status, first = j->job.run->nrows == 0;
    int *in = calloc((size_t)j->job.place.world, sizeof *in), mine = j->job.node_index < per_node;
    if (in == NULL)
        die("out of memory");
    status = bench_ranks_gather(j->job.ranks, &mine, sizeof mine, in, e);
    on.world = j->job.place.world;
    for (int i = 0; i < on.world; i++) {
        on.member += i < j->job.place.rank && in[i];
        on.where.ranks += in[i];
    }
    free(in);
    on.member = mine ? on.member : -1;
    j->output.wanted -= bench_plan_empty(&j->plan, on.where.ranks);
    on.where.nodes = j->job.nodes;
    on.where.per_node = per_node < j->job.per_node ? per_node : j->job.per_node;
    j->job.members.size = on.where.ranks;
    j->job.members.member = on.member;
    if (status < 0 || j->job.backend->open(&j->job.members, &on.comm, e) < 0)
        return -1;
    if (first && j->job.place.rank == 0) {
        describe(j, on.comm, (struct layout){j->job.place.world, j->job.nodes, j->job.per_node});
        status = bench_job_target(&j->job, j->opts->gpu, j->opts->network, j->arena,
                                  &j->output.target, e);
        if (status == 0)
            bench_output_head(&j->output);
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
    j->output.complete = status == 0;
    return status < 0 ? -1 : 0;
}

/* ---- a rank ---- */

/* Wrong results are the answer "no", an early end is a partial one. */
static int status_of(const struct collective_run *j)
{
    for (size_t i = 0; i < j->job.run->nrows; i++) {
        if (j->job.run->rows[i].wrong > 0)
            return ERR_NO;
    }
    return j->output.complete ? 0 : ERR_PARTIAL;
}

static int run_rank(void *arg, struct err *e)
{
    struct collective_run *j = arg;
    int status;
    if (j->opts->output != NULL)
        signal(SIGPIPE, SIG_IGN); /* a launcher that ends reads no more: the files still count */
    j->output.started = time(NULL);
    if (j->job.place.rank == 0)
        j->plan.row = take_row;
    j->plan.row_arg = &j->output;
    status = bench_job_begin(&j->job, e);
    if (status == 0)
        status = check_support(j, e);
    if (status == 0)
        status =
            bench_job_in_conditions(&j->job, &j->conditions, j->opts->output, measure_all, j, e);
    if (status == 0 && j->output.complete && j->job.run->nrows == 0)
        status = err_set(e, ERR_INPUT, "nothing was measured");
    if (j->job.place.rank == 0) {
        struct err own = {0};
        if (bench_output_end(&j->output, &own) < 0) {
            *e = status < 0 ? *e : own;
            status = -1;
        }
    }
    status = status < 0 ? (int)e->code : status_of(j);
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
    struct collective_run j = {.opts = &o, .job.keep = keep, .arena = a};
    int status = cmd_parse_options(self, &o, argc, argv, e);
    if (status < 0) {
        j.job.opts = o.job;
        if (parse(&j, e) < 0 || bench_conditions_prepare(&j.conditions, &o.conditions, e) < 0)
            status = (int)e->code;
        else
            status = bench_job_run(&j.job, "collective", argc, argv, run_rank, &j, e);
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
                .synopsis =
                    "bench collective [--op LIST] [--bytes MIN:MAX | --elements LIST] "
                    "[--dtype TYPE] [--backend NAME] [--lib PATH] [--gpus N] "
                    "[--warmup N] [--iters N] [--warmup-temp C] [--lock-clocks MHZ] [--no-numa] "
                    "[-o DIR] [OPTIONS]",
                .summary = "times of collectives, checked, and what the models predict",
                .rows = rows},
    .run = run,
};
