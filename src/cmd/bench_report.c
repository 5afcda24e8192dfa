/* SPDX-License-Identifier: MIT
 *
 * specter bench report: a log of nccl-tests and what the models predict; a folder of links.
 */
#include "base/arena.h"
#include "bench/read.h"
#include "calib/measured.h"
#include "cmd/bench.h"
#include "cmd/hardware.h"
#include "report/bench_report.h"

#include <cjson/cJSON.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct report_opts {
    const char *gpu, *network, *op, *format, *json, *html, *fail_on;
    int64_t nodes, per_node;
    bool full;
};

#define AT(field) offsetof(struct report_opts, field)

static const struct opt rows[] = {
    {"gpu", 0, OPT_STR, AT(gpu), "NAME|FILE", "GPU profile; default: by the log's header"},
    {"network", 0, OPT_STR, AT(network), "NAME|FILE", "network profile; default: the GPU's"},
    {"nodes", 0, OPT_I64, AT(nodes), "N", "that took part, where the log does not say it"},
    {"gpus-per-node", 0, OPT_I64, AT(per_node), "N", "ranks of each node, likewise"},
    {"op", 0, OPT_STR, AT(op), "OP", "the operation, likewise: all_reduce, alltoall, ..."},
    {"full", 0, OPT_FLAG, AT(full), NULL, "every row, with algorithm and protocol"},
    {"format", 0, OPT_STR, AT(format), "table|csv|md", "how the rows look; csv and md: all rows"},
    {"json", 0, OPT_STR, AT(json), "FILE|-", "write everything as JSON; -: in place of the text"},
    BENCH_HTML_ROW(AT(html)),
    BENCH_FAIL_ON_ROW(AT(fail_on)),
    OPT_END,
};

/* The command line, checked. */
struct report_question {
    const struct report_opts *opts;
    const char *path;
    enum specter_comm_op op; /* SPECTER_COMM_OP_COUNT: not given */
    enum sheet_form form;
};

/* Names the option that says what the log does not. */
static int ask(const struct report_question *q, const struct bench_run *run, const char *what,
               const char *option, struct err *e)
{
    return err_set(e, ERR_USAGE, "%s:%zu: %s; say it: specter bench report %s %s", run->file,
                   run->line, what, q->path, option);
}

/* Both profiles, or neither: a GPU that is named and not known, whose rows are shown as measured.
 */
static int find_hardware(const struct report_question *q, const struct bench_run *run,
                         struct arena *a, struct profile_pair *on, struct err *e)
{
    const struct gpu_profile *gpu = NULL;
    *on = (struct profile_pair){NULL, NULL};
    if (q->opts->gpu == NULL) {
        gpu = gpu_profile_of_device(run->gpu);
        if (gpu == NULL && run->gpu[0] == '\0')
            return ask(q, run, "no GPU is named", "--gpu h100_sxm", e);
        if (gpu == NULL) {
            const char *network = q->opts->network;
            if (network != NULL && cmd_network(network, a, e) == NULL)
                return -1;
            fprintf(stderr,
                    "specter: %s:%zu: GPU '%s' has no profile: nothing is predicted%s; --gpu names "
                    "one (see 'specter profiles')\n",
                    run->file, run->line, run->gpu,
                    network != NULL ? " and --network is not used" : "");
            return 0;
        }
    }
    return cmd_target(q->opts->gpu != NULL ? q->opts->gpu : gpu->name, q->opts->network, true, a,
                      on, e);
}

/* Sets the nodes of a layout whose ranks are known. Options that are 0 were not given. */
static void fill_nodes(struct layout *w, int nodes, int per_node, const struct network_profile *net)
{
    const int most = per_node < w->ranks ? per_node : w->ranks;
    if (nodes == 0 && per_node == 0)
        *w = layout_dense(net, w->ranks);
    else
        *w = (struct layout){w->ranks, nodes > 0 ? nodes : (w->ranks + per_node - 1) / per_node,
                             per_node > 0 ? most : (w->ranks + nodes - 1) / nodes};
}

/* Fills what the log does not say of ranks and nodes, in the run and in its rows. */
static int layout_of(const struct report_question *q, struct bench_run *run,
                     const struct network_profile *net, struct err *e)
{
    struct layout *w = &run->where;
    const int nodes = q->opts->nodes == BENCH_NO_NUMBER ? 0 : (int)q->opts->nodes;
    const int per_node = q->opts->per_node == BENCH_NO_NUMBER ? 0 : (int)q->opts->per_node;
    if (nodes > 0 && per_node > 0 && w->ranks > 0 && w->ranks != nodes * per_node)
        return err_set(e, ERR_USAGE, "%s:%zu: %d ranks are not --nodes %d with --gpus-per-node %d",
                       run->file, run->line, w->ranks, nodes, per_node);
    if (w->ranks == 0 && (nodes == 0 || per_node == 0))
        return ask(q, run, "the number of ranks is not told", "--nodes 1 --gpus-per-node 8", e);
    if (w->nodes == 0 && net == NULL && nodes == 0 && per_node == 0)
        return ask(q, run, "the number of nodes is not told", "--nodes 1", e);
    if (w->ranks == 0)
        w->ranks = nodes * per_node;
    if (w->nodes == 0)
        fill_nodes(w, nodes, per_node, net);
    for (size_t i = 0; i < run->nrows; i++) {
        struct layout *row = &run->rows[i].where;
        if (row->nodes > 0)
            continue;
        if (row->ranks == 0 || row->ranks == w->ranks)
            *row = *w;
        else
            fill_nodes(row, nodes, per_node, net);
    }
    return 0;
}

static int study_run(const struct report_question *q, struct bench_run *run, struct arena *a,
                     struct bench_studies *studies, struct err *e)
{
    struct profile_pair on;
    bench_infer(run, q->op);
    if (run->rows[0].op == SPECTER_COMM_OP_COUNT && run->program[0] == '\0')
        return ask(q, run, "the operation is not told", "--op all_reduce", e);
    if (find_hardware(q, run, a, &on, e) < 0 || layout_of(q, run, on.network, e) < 0)
        return -1;
    bench_studies_add(studies, run, on.gpu, on.network);
    return 0;
}

static int print(const struct report_question *q, const struct bench_studies *studies,
                 const struct bench_checks *checks, struct err *e)
{
    const struct report_opts *o = q->opts;
    const bool several = studies->list[0].run != studies->list[studies->n - 1].run;
    struct sheet s;
    if (o->json != NULL) {
        cJSON *doc = bench_json(studies);
        cJSON_AddItemToObject(doc, "checks", bench_checks_json(checks));
        if (cmd_write_json(doc, o->json, e) < 0)
            return -1;
    }
    if (o->json != NULL && strcmp(o->json, "-") == 0)
        return 0;
    if (q->form == SHEET_TABLE) {
        for (size_t i = 0; i < studies->n; i++) {
            const struct bench_run *run = studies->list[i].run;
            if (i > 0)
                putchar('\n');
            if (several && (i == 0 || run != studies->list[i - 1].run))
                printf("%s:%zu\n", run->file, run->line);
            bench_text(&studies->list[i], o->full, stdout);
        }
        if (o->full) /* what fails is in the verdicts above */
            bench_checks_text(checks, true, stdout);
        return 0;
    }
    bench_sheet(&s, studies);
    sheet_write(&s, q->form, stdout);
    sheet_release(&s);
    return 0;
}

static int check_number(const char *option, int64_t value, struct err *e)
{
    if (value == BENCH_NO_NUMBER || (value >= 1 && value <= 1 << 15))
        return 0;
    return err_set(e, ERR_USAGE, "%s: %lld is out of range", option, (long long)value);
}

static int check(const struct report_opts *o, int n, char **argv, struct report_question *q,
                 struct err *e)
{
    *q = (struct report_question){
        .opts = o, .path = n > 0 ? argv[0] : NULL, .op = SPECTER_COMM_OP_COUNT};
    if (n == 0)
        return err_set(e, ERR_USAGE, "bench report: no FILE given; - is stdin");
    if (n > 1)
        return err_set(e, ERR_USAGE, "unexpected argument '%s' (see 'specter help bench')",
                       argv[1]);
    if (sheet_form_parse(o->format, &q->form, e) < 0)
        return -1;
    if (o->op != NULL && (q->op = measured_op(o->op)) == SPECTER_COMM_OP_COUNT)
        return err_set(e, ERR_USAGE, "--op: unknown operation '%.64s'", o->op);
    if (o->fail_on != NULL && bench_checks_parse(o->fail_on, e) < 0)
        return -1;
    if (check_number("--nodes", o->nodes, e) < 0)
        return -1;
    return check_number("--gpus-per-node", o->per_node, e);
}

static int report(const struct report_question *q, struct bench_result *r, struct arena *a,
                  struct err *e)
{
    struct bench_studies studies = {0};
    struct bench_checks checks;
    int rc = 0;
    if (bench_read(r, q->path, e) < 0)
        return -1;
    for (size_t i = 0; i < r->nnotes; i++)
        fprintf(stderr, "specter: note: %s\n", r->notes[i]);
    for (size_t i = 0; rc == 0 && i < r->nruns; i++)
        rc = study_run(q, &r->runs[i], a, &studies, e);
    bench_checks_init(&checks);
    bench_checks_studies(&checks, &studies);
    if (rc == 0)
        rc = print(q, &studies, &checks, e);
    if (rc == 0 && q->opts->html != NULL)
        rc = bench_page_write(&(struct bench_page){.title = r->runs[0].file,
                                                   .run = &r->runs[0],
                                                   .checks = &checks,
                                                   .studies = &studies},
                              q->opts->html, e);
    if (rc == 0 && q->opts->fail_on != NULL)
        rc = bench_checks_apply(q->opts->fail_on, &checks, e);
    bench_studies_release(&studies);
    return rc;
}

/* ---- links ---- */

/* A folder of `bench p2p`. */
static int report_links(const struct report_opts *o, const char *folder, struct arena *a,
                        struct err *e)
{
    const struct bench_p2p_show show = {o->json, o->html, o->fail_on, o->full, folder};
    struct bench_p2p_files f;
    struct bench_links links = {0};
    struct bench_checks checks;
    struct bench_target target = {NULL, NULL};
    int status = bench_p2p_read(&f, folder, e);
    struct bench_p2p_report r = {.result = &f.result,
                                 .run = f.run,
                                 .plan = &f.plan,
                                 .log = &f.log,
                                 .target = &target,
                                 .links = &links,
                                 .drift = {&f.drift[0], &f.drift[1]},
                                 .node_of = f.node_of,
                                 .gpus = f.gpus,
                                 .ngpus = f.ngpus,
                                 .complete = f.complete};
    if (status == 0)
        status = bench_p2p_target(o->gpu, o->network, f.run->gpu, a, &target, e);
    if (status == 0) {
        bench_links_fit(&f.log, f.node_of, &links);
        status = bench_p2p_show(&r, &checks, &show, e);
    }
    status = status < 0 ? (int)e->code : f.result.damaged || !f.complete ? ERR_PARTIAL : 0;
    bench_links_release(&links);
    bench_p2p_files_release(&f);
    return status;
}

static int run(const struct command *self, int argc, char **argv, struct arena *a, struct err *e)
{
    struct report_opts o = {.nodes = BENCH_NO_NUMBER, .per_node = BENCH_NO_NUMBER};
    struct report_question q;
    struct bench_result result;
    struct stat st;
    int n, status = cmd_parse(self, &o, argc, argv, false, &n, e);
    if (status != 0)
        return status;
    if (check(&o, n, argv, &q, e) < 0)
        return (int)e->code;
    if (stat(q.path, &st) == 0 && S_ISDIR(st.st_mode))
        return report_links(&o, q.path, a, e);
    bench_result_init(&result);
    status = report(&q, &result, a, e) < 0 ? (int)e->code : result.damaged ? ERR_PARTIAL : 0;
    bench_result_release(&result);
    return status;
}

const struct cmd_kind bench_report = {
    .name = "report",
    .command = {.name = "bench",
                .synopsis = "bench report FILE|DIR|-" SYNOPSIS_ALL,
                .summary = "nccl-tests' output and what the models predict, or a folder of links",
                .rows = rows},
    .run = run,
};
