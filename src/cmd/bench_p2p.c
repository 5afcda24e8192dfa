/* SPDX-License-Identifier: MIT
 *
 * specter bench p2p: latency and rate of every directed link between two GPUs.
 */
#include "bench/drift.h"
#include "cmd/bench.h"
#include "cmd/bench_p2p_folder.h"
#include "cmd/cmd.h"
#include "report/bench_report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SIZES_MAX 64
#define DRIFT_S 30      /* with a folder */
#define REWARM_EVERY 20 /* configurations */
#define LARGEST ((uint64_t)64 << 30)

/* The numeral of a macro, for help texts. */
#define NUMERAL_OF(_number) #_number
#define NUMERAL(_macro) NUMERAL_OF(_macro)

struct bench_p2p_opts {
    const char *sizes, *gpu, *network, *output, *json, *html, *fail_on;
    struct bench_job_opts job;
    struct bench_conditions_opts conditions;
    int64_t seed, warmup, repeat;
    double drift; /* NAN: not given */
    bool rewarm, full;
};

#define AT(field) offsetof(struct bench_p2p_opts, field)

/* clang-format off */
static const struct opt rows[] = {
    {"sizes", 0, OPT_STR, AT(sizes), "MIN:MAX",
     "bytes, each size twice the last, or one size; default 1:1G"},
    {"seed", 0, OPT_I64, AT(seed), "N", "of the order of measuring; default 42"},
    BENCH_JOB_LIBRARY_ROWS(AT(job)),
    {"warmup", 0, OPT_I64, AT(warmup), "N", "messages before the timed ones; default 5"},
    {"repeat", 0, OPT_I64, AT(repeat), "N", "timed messages of a size and link; default 10"},
    BENCH_JOB_RANKS_ROWS(AT(job)),
    BENCH_CONDITIONS_ROWS(AT(conditions)),
    {"rewarm", 0, OPT_FLAG, AT(rewarm), NULL,
     "every " NUMERAL(REWARM_EVERY) " configurations, below " NUMERAL(BENCH_REWARM_BELOW)
     " C: GEMMs to " NUMERAL(BENCH_REWARM_TO) " C, at most " NUMERAL(BENCH_REWARM_S) " s"},
    {"drift", 0, OPT_DOUBLE, AT(drift), "S",
     "compare clocks for S seconds before and after; default: with -o " NUMERAL(DRIFT_S)
     ", else 0"},
    {"gpu", 0, OPT_STR, AT(gpu), "NAME|FILE", "profile in messages.csv; default: by its name"},
    {"network", 0, OPT_STR, AT(network), "NAME|FILE", "likewise; default: the GPU's"},
    {"output", 'o', OPT_STR, AT(output), "DIR", "a folder for this machine's files goes there"},
    {"full", 0, OPT_FLAG, AT(full), NULL, "the fit of every link"},
    {"json", 0, OPT_STR, AT(json), "FILE|-", "write everything as JSON; -: in place of the text"},
    BENCH_HTML_ROW(AT(html)),
    BENCH_FAIL_ON_ROW(AT(fail_on)),
    OPT_END,
};
/* clang-format on */

/* The command line, checked, and what became of it on this rank. */
struct p2p {
    const struct bench_p2p_opts *opts;
    struct bench_job job;
    struct bench_conditions conditions;
    struct bench_conditions_where where;
    uint64_t sizes[SIZES_MAX];
    struct bench_p2p_plan plan;
    struct bench_p2p_log log;
    struct bench_links links;
    struct bench_drift_log drift[2]; /* before the messages, after them */
    struct bench_common_clock clock;
    struct p2p_folder folder;
    struct bench_target target;    /* what messages.csv names; on rank 0 */
    struct progress_line progress; /* on rank 0 */
    size_t one_way_done;           /* configurations that it counts */
    struct arena *arena;           /* of the command: profiles */
    double drift_s;                /* of each; 0: none */
    bool complete;
};

/* ---- options ---- */

static int parse_sizes(struct p2p *p, struct err *e)
{
    const char *text = p->opts->sizes, *colon = strchr(text, ':');
    char first[32];
    uint64_t least, most;
    size_t n = 0;
    snprintf(first, sizeof first, "%.*s", (int)(colon != NULL ? colon - text : 31), text);
    if (opt_parse_bytes("--sizes", first, &least, e) < 0 ||
        opt_parse_bytes("--sizes", colon != NULL ? colon + 1 : text, &most, e) < 0)
        return -1;
    if (least < 1 || most < least || most > LARGEST)
        return err_set(e, ERR_USAGE,
                       "--sizes: '%.64s' is neither a size nor MIN:MAX, from 1 to 64G", text);
    for (uint64_t b = least; b <= most; b *= 2)
        p->sizes[n++] = b;
    p->plan.sizes = p->sizes;
    p->plan.nsizes = n;
    return 0;
}

static int parse(struct p2p *p, struct err *e)
{
    const struct bench_p2p_opts *o = p->opts;
    p->plan.seed = (uint64_t)o->seed;
    p->plan.warmup = (int)o->warmup;
    p->plan.repeat = (int)o->repeat;
    p->plan.stop = bench_job_stop;
    p->job.opts = o->job;
    if (parse_sizes(p, e) < 0 || bench_check_range("--seed", o->seed, 0, INT64_MAX, e) < 0 ||
        bench_check_range("--warmup", o->warmup, 0, 1000000, e) < 0 ||
        bench_check_range("--repeat", o->repeat, 1, 100000, e) < 0 ||
        bench_job_check(&p->job, e) < 0)
        return -1;
    if (o->fail_on != NULL && bench_checks_parse(o->fail_on, e) < 0)
        return -1;
    p->drift_s = !isnan(o->drift) ? o->drift : o->output != NULL ? DRIFT_S : 0;
    if (p->drift_s < 0 || p->drift_s > 86400)
        return err_set(e, ERR_USAGE, "--drift: out of range: 0 to 86400");
    if (p->job.backend->messages == NULL)
        return err_set(e, ERR_USAGE, "the backend '%s' has no messages", o->job.backend);
    return 0;
}

static struct bench_p2p_report report(const struct p2p *p)
{
    return (struct bench_p2p_report){.result = &p->job.result,
                                     .run = p->job.run,
                                     .plan = &p->plan,
                                     .log = &p->log,
                                     .target = &p->target,
                                     .drift = {&p->drift[0], &p->drift[1]},
                                     .node_of = p->job.node_of,
                                     .gpus = p->conditions.gpus,
                                     .ngpus = p->conditions.ngpus,
                                     .complete = p->complete};
}

/* ---- measuring ---- */

static int rewarm(size_t n, void *arg, struct err *e)
{
    struct p2p *p = arg;
    if (!p->opts->rewarm || n == 0 || n % REWARM_EVERY != 0)
        return 0;
    return bench_conditions_rewarm(&p->conditions, &p->where, e);
}

/* Called after each configuration: moves the progress bar, which counts those one way, and logs its
 * rows. */
static int configuration_done(const struct bench_p2p_done *done, void *arg, struct err *e)
{
    struct p2p *p = arg;
    const bool one_way = done->config.mode == BENCH_P2P_ONE_WAY;
    char what[64];
    p->one_way_done += one_way;
    snprintf(what, sizeof what, "%s", bench_p2p_mode_name(done->config.mode));
    progress_show(&p->progress, p->one_way_done, what);
    return p2p_folder_log(&p->folder, done, &p->clock, e);
}

/* Measures the drift before (after: 0) or after the messages, and sets p->clock from both. Returns
 * 0, 1 or -1 as bench_drift(). */
static int measure_drift(struct p2p *p, const struct bench_communicator *on, int after,
                         struct err *e)
{
    const struct bench_drift_plan plan = bench_drift_plan_of(p->drift_s, bench_job_stop);
    int status = p->drift_s > 0 ? bench_drift(&plan, on, &p->drift[after], e) : 0;
    if (p->drift[0].n == 0)
        return status;
    bench_common_clock_release(&p->clock);
    bench_common_clock_init(&p->clock, &p->drift[0], after ? &p->drift[1] : NULL, p->job.node_of);
    return status;
}

/* Warms the GPUs, and measures while they are watched. Returns as bench_p2p(). */
static int measure_messages(struct p2p *p, const struct bench_communicator *on, struct err *e)
{
    size_t ranks = (size_t)on->world;
    struct err own = {0};
    int status;
    if (p->folder.path[0] != '\0')
        p->where.output = p->folder.path;
    if (bench_conditions_warm(&p->conditions, &p->where, e) < 0 ||
        bench_conditions_watch(&p->conditions, &p->where, e) < 0)
        return -1;
    if (on->member == 0)
        progress_start(&p->progress, ranks * (ranks - 1) * p->plan.nsizes, COLOR_AUTO);
    status = bench_p2p(&p->plan, on, &p->log, &p->job.result, e);
    progress_end(&p->progress);
    if (status < 0)
        bench_ranks_fail(p->job.ranks, e);
    if (bench_conditions_end(&p->conditions, &p->where, status < 0 ? NULL : p->job.ranks, &own) <
            0 &&
        status >= 0) {
        *e = own;
        status = -1;
    }
    return status;
}

static int measure(struct p2p *p, struct err *e)
{
    struct bench_communicator on;
    struct bench_p2p_report r;
    int status;
    p->where = (struct bench_conditions_where){.ranks = p->job.ranks,
                                               .world = p->job.place.world,
                                               .rank = p->job.place.rank,
                                               .node_index = p->job.node_index,
                                               .device = p->job.members.device};
    if (bench_conditions_begin(&p->conditions, &p->where, e) < 0 ||
        bench_job_open(&p->job, &on, e) < 0)
        return -1;
    bench_conditions_describe(&p->conditions, p->job.place.rank, &p->job.result, p->job.run);
    r = report(p);
    status = p2p_folder_start(&p->folder, p->opts->output, &p->job, &r, e);
    if (status == 0) {
        if (p->job.place.rank == 0)
            status = bench_p2p_target(p->opts->gpu, p->opts->network, p->job.run->gpu, p->arena,
                                      &p->target, e);
        status = bench_ranks_agree(p->job.ranks, status, e);
    }
    if (status == 0)
        status = measure_drift(p, &on, 0, e);
    if (status == 0)
        status = measure_messages(p, &on, e);
    if (status == 0)
        status = measure_drift(p, &on, 1, e);
    if (status < 0)
        bench_ranks_fail(p->job.ranks, e);
    p->complete = status == 0;
    on.backend->close(on.comm);
    return status < 0 ? -1 : 0;
}

/* ---- results ---- */

/* Files come before text: when stdout is a closed pipe, SIGPIPE ends the process. */
static int write_results(struct p2p *p, struct err *e)
{
    const struct bench_p2p_show show = {.json = p->opts->json,
                                        .html = p->opts->html,
                                        .fail_on = p->opts->fail_on,
                                        .full = p->opts->full,
                                        .folder = p->folder.path};
    struct bench_p2p_report r = report(p);
    struct bench_checks checks;
    int status;
    for (size_t i = 0; i < p->log.n; i++)
        bench_common_clock_apply(&p->clock, &p->log.list[i]);
    bench_links_fit(&p->log, p->job.node_of, &p->links);
    r.links = &p->links;
    status = p2p_folder_end(&p->folder, &p->job, &r, e);
    if (p->job.place.rank != 0)
        return status;
    if (bench_p2p_show(&r, &checks, &show, status < 0 ? NULL : e) < 0)
        status = -1;
    if (p->opts->json == NULL && p->folder.path[0] != '\0')
        printf("Files: %s\n", p->folder.path);
    return status;
}

/* Writes what was measured before a call of the library that does not return (struct bench_job). */
static int write_partial(void *arg, struct err *e)
{
    struct p2p *p = arg;
    return p->log.n > 0 ? write_results(p, e) : 0;
}

static int run_rank(void *arg, struct err *e)
{
    struct p2p *p = arg;
    struct err own = {0};
    int status;
    if (p->job.place.world < 2) {
        err_set(e, ERR_INPUT, "messages need two GPUs, and this job has one");
        return ERR_INPUT;
    }
    status = bench_job_begin(&p->job, e);
    if (status == 0)
        status = measure(p, e);
    if (p->log.n > 0 && write_results(p, &own) < 0) {
        *e = status < 0 ? *e : own;
        status = -1;
    }
    status = status < 0 ? (int)e->code : p->complete ? 0 : ERR_PARTIAL;
    bench_common_clock_release(&p->clock);
    bench_links_release(&p->links);
    p2p_folder_release(&p->folder);
    for (int i = 0; i < 2; i++)
        bench_drift_log_release(&p->drift[i]);
    bench_p2p_log_release(&p->log);
    return bench_job_end(&p->job, status, e);
}

static int run(const struct command *self, int argc, char **argv, struct arena *a, struct err *e)
{
    struct bench_p2p_opts o = {.sizes = "1:1G",
                               .job = BENCH_JOB_DEFAULTS,
                               .conditions = BENCH_CONDITIONS_NONE,
                               .seed = BENCH_P2P_SEED,
                               .warmup = 5,
                               .repeat = 10,
                               .drift = (double)NAN};
    struct p2p p = {
        .opts = &o, .job = {.gpus_only = true, .keep = write_partial, .arg = &p}, .arena = a};
    int status = cmd_parse_options(self, &o, argc, argv, e);
    if (status != 0)
        return status;
    p.plan.before = rewarm;
    p.plan.done = configuration_done;
    p.plan.arg = &p;
    status = parse(&p, e) < 0 || p2p_folder_prepare(o.output, e) < 0 ||
                     bench_conditions_prepare(&p.conditions, &o.conditions, e) < 0
                 ? (int)e->code
                 : bench_job_run(&p.job, "p2p", argc, argv, run_rank, e);
    bench_conditions_release(&p.conditions);
    return status;
}

const struct cmd_kind bench_p2ps = {
    .name = "p2p",
    .command = {.name = "bench",
                .synopsis = "bench p2p" SYNOPSIS_ALL,
                .summary = "latency and rate of every link between two GPUs",
                .rows = rows},
    .run = run,
};
