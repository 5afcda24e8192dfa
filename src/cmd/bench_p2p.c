/* SPDX-License-Identifier: MIT
 *
 * specter bench p2p: latency and rate of every directed link between two GPUs.
 */
#include "cmd/bench_conditions.h"
#include "cmd/bench_p2p_folder.h"
#include "cmd/bench_p2p_show.h"
#include "cmd/progress.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define SIZES_MAX 64
#define DRIFT_S 30      /* with a folder */
#define REWARM_EVERY 20 /* configurations */
#define LARGEST ((uint64_t)64 << 30)

struct bench_p2p_opts {
    const char *sizes, *gpu, *network, *output, *json, *html, *fail_on;
    struct bench_job_opts job;
    struct bench_conditions_opts conditions;
    int64_t seed, warmup, repeat;
    double drift; /* below 0: not given */
    bool rewarm, full;
};

#define AT(field) offsetof(struct bench_p2p_opts, field)

static const struct opt rows[] = {
    {"sizes", 0, OPT_STR, AT(sizes), "MIN:MAX", "bytes, each size twice the last; default 1:1G"},
    {"seed", 0, OPT_I64, AT(seed), "N", "of the order of measuring; default 42"},
    BENCH_JOB_LIBRARY_ROWS(AT(job)),
    {"warmup", 0, OPT_I64, AT(warmup), "N", "messages before the timed ones; default 5"},
    {"repeat", 0, OPT_I64, AT(repeat), "N", "timed messages of a size and link; default 10"},
    BENCH_JOB_RANKS_ROWS(AT(job)),
    BENCH_CONDITIONS_ROWS(AT(conditions)),
    {"rewarm", 0, OPT_FLAG, AT(rewarm), NULL,
     "every 20 configurations, below 45 C: GEMMs to 48 C, at most 10 s"},
    {"drift", 0, OPT_DOUBLE, AT(drift), "S",
     "compare clocks for S seconds before and after; default: with -o 30, else 0"},
    {"gpu", 0, OPT_STR, AT(gpu), "NAME|FILE", "profile in messages.csv; default: by its name"},
    {"network", 0, OPT_STR, AT(network), "NAME|FILE", "likewise; default: the GPU's"},
    {"output", 'o', OPT_STR, AT(output), "DIR", "a folder for this machine's files goes there"},
    {"full", 0, OPT_FLAG, AT(full), NULL, "the fit of every link"},
    {"json", 0, OPT_STR, AT(json), "FILE|-", "write everything as JSON; -: in place of the text"},
    BENCH_HTML_ROW(AT(html)),
    BENCH_FAIL_ON_ROW(AT(fail_on)),
    OPT_END,
};

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
    struct bench_p2p_folder folder;
    struct progress_line progress; /* on rank 0 */
    size_t one_way;           /* configurations that it counts */
    struct arena *arena;      /* of the command: profiles */
    double drift_s;           /* of each; 0: none */
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
        return err_set(e, ERR_USAGE, "--sizes: '%.64s' is not MIN:MAX, from 1 to 64G", text);
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
    p->drift_s = o->drift >= 0 ? o->drift : o->output != NULL ? DRIFT_S : 0;
    if (!(p->drift_s <= 86400) || o->drift < -1)
        return err_set(e, ERR_USAGE, "--drift: out of range: 0 to 86400");
    if (p->job.backend->messages == NULL)
        return err_set(e, ERR_USAGE, "the backend '%s' has no messages", o->job.backend);
    if (o->output != NULL && mkdir(o->output, 0777) != 0 && errno != EEXIST)
        return err_set(e, ERR_INPUT, "%s: %s", o->output, strerror(errno));
    return 0;
}

static struct bench_p2p_report report(const struct p2p *p)
{
    return (struct bench_p2p_report){.result = &p->job.result,
                                     .run = p->job.run,
                                     .plan = &p->plan,
                                     .log = &p->log,
                                     .target = &p->folder.target,
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

static int log_rows(const struct bench_p2p_done *done, void *arg, struct err *e)
{
    struct p2p *p = arg;
    char what[64];
    p->one_way += done->config.mode == BENCH_P2P_ONE_WAY;
    snprintf(what, sizeof what, "%s", bench_p2p_mode_name(done->config.mode));
    progress_show(&p->progress, p->one_way, what);
    return bench_p2p_folder_rows(&p->folder, done, &p->clock, e);
}

/* The drift before or after the messages: 0, 1 or -1 as bench_drift(). */
static int drift(struct p2p *p, const struct bench_communicator *on, int after, struct err *e)
{
    const struct bench_drift_plan plan = bench_drift_plan_of(p->drift_s, bench_job_stop);
    int status = p->drift_s > 0 ? bench_drift(&plan, on, &p->drift[after], e) : 0;
    if (p->drift[0].n == 0)
        return status;
    bench_common_clock_release(&p->clock);
    bench_common_clock_init(&p->clock, &p->drift[0], after ? &p->drift[1] : NULL, p->job.node_of);
    return status;
}

/* On warm GPUs that are watched meanwhile. As bench_p2p(). */
static int messages(struct p2p *p, const struct bench_communicator *on, struct err *e)
{
    size_t ranks = (size_t)on->world;
    struct err own = {0};
    bool color;
    int status;
    if (p->folder.path[0] != '\0')
        p->where.output = p->folder.path;
    if (bench_conditions_warm(&p->conditions, &p->where, e) < 0 ||
        bench_conditions_watch(&p->conditions, &p->where, e) < 0)
        return -1;
    color_parse(NULL, &color, NULL);
    if (on->member == 0)
        progress_start(&p->progress, ranks * (ranks - 1) * p->plan.nsizes, color);
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

static int find_target(struct p2p *p, struct err *e)
{
    int status = 0;
    if (p->job.place.rank == 0)
        status = bench_p2p_target(p->opts->gpu, p->opts->network, p->job.run->gpu, p->arena,
                                  &p->folder.target, e);
    return bench_ranks_agree(p->job.ranks, status, e);
}

static int measure(struct p2p *p, struct err *e)
{
    struct bench_communicator on;
    struct bench_p2p_report r;
    int status;
    p->folder.job = &p->job;
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
    status = bench_p2p_folder_start(&p->folder, p->opts->output, &r, e);
    if (status == 0)
        status = find_target(p, e);
    if (status == 0)
        status = drift(p, &on, 0, e);
    if (status == 0)
        status = messages(p, &on, e);
    if (status == 0)
        status = drift(p, &on, 1, e);
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
    status = bench_p2p_folder_end(&p->folder, &r, e);
    if (p->job.place.rank != 0)
        return status;
    if (bench_p2p_show(&r, &checks, &show, status < 0 ? NULL : e) < 0)
        status = -1;
    if (p->opts->json == NULL && p->folder.path[0] != '\0')
        printf("Files: %s\n", p->folder.path);
    return status;
}

/* Where a call of the library does not return. */
static int keep(void *arg, struct err *e)
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
    bench_p2p_folder_release(&p->folder);
    bench_common_clock_release(&p->clock);
    bench_links_release(&p->links);
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
                               .drift = -1};
    struct p2p p = {.opts = &o, .job.gpus_only = true, .job.keep = keep, .arena = a};
    int status = cmd_parse_options(self, &o, argc, argv, e);
    if (status >= 0)
        return status;
    p.plan.before = rewarm;
    p.plan.done = log_rows;
    p.plan.arg = &p;
    status = parse(&p, e) < 0 || bench_conditions_prepare(&p.conditions, &o.conditions, e) < 0
                 ? (int)e->code
                 : bench_job_run(&p.job, "p2p", argc, argv, run_rank, &p, e);
    bench_conditions_release(&p.conditions);
    return status;
}

const struct cmd_kind bench_p2ps = {
    .name = "p2p",
    .command = {.name = "bench",
                .synopsis = "bench p2p [--sizes MIN:MAX] [--seed N] [--repeat N] [--warmup N] "
                            "[--gpus N] [--warmup-temp C] [--rewarm] [--lock-clocks MHZ] "
                            "[--no-numa] [--drift S] [-o DIR] [--full] [--json FILE|-] [OPTIONS]",
                .summary = "latency and rate of every link between two GPUs",
                .rows = rows},
    .run = run,
};
