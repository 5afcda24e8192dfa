/* SPDX-License-Identifier: MIT
 *
 * specter bench p2p: latency and rate of every directed link between two GPUs.
 */
#include "base/whole_file.h"
#include "bench/drift.h"
#include "bench/state.h"
#include "cmd/bench.h"
#include "cmd/bench_job.h"
#include "cmd/cmd.h"
#include "report/bench_report.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
    char folder[BENCH_PATH_MAX];   /* "": none is wanted */
    FILE *logs[2];                 /* exchange_log.csv, execution_log.csv (one way); on rank 0 */
    struct bench_target target;    /* what messages.csv names; on rank 0 */
    struct progress_line progress; /* on rank 0 */
    size_t one_way;                /* configurations that it counts */
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
                                     .target = &p->target,
                                     .drift = {&p->drift[0], &p->drift[1]},
                                     .node_of = p->job.node_of,
                                     .gpus = p->conditions.gpus,
                                     .ngpus = p->conditions.ngpus,
                                     .complete = p->complete};
}

/* ---- the folder ----
 *
 * That of -o DIR: DIR/<gpu>-<driver>-<cuda>. Logs are written while it measures, the rest at the
 * end; docs/bench.md has the files. */

#define FOLDERS_MAX 1000 /* of one name */

static const char *const log_names[] = {"exchange_log.csv", "execution_log.csv"};

/* Lower-case letters and digits of the name, with one - for all between: nvidia-h100-80gb-hbm3. */
static void put_name(const char *name, char *out, size_t size)
{
    size_t n = 0;
    for (; *name != '\0' && n + 2 < size; name++) {
        bool plain = isalnum((unsigned char)*name) || *name == '.';
        if (plain)
            out[n++] = (char)tolower((unsigned char)*name);
        else if (n > 0 && out[n - 1] != '-')
            out[n++] = '-';
    }
    out[n] = '\0';
}

static int make_folder(struct p2p *p, struct err *e)
{
    const struct bench_run *run = p->job.run;
    const char *cuda = bench_setting(run, "CUDA of the runtime");
    const char *driver = bench_nvml_driver();
    char what[300], name[300];
    snprintf(what, sizeof what, "%.120s-%s-cuda%s", run->gpu,
             driver[0] != '\0' ? driver : "unknown", cuda != NULL ? cuda : "unknown");
    put_name(what, name, sizeof name);
    for (int i = 1; i <= FOLDERS_MAX; i++) {
        char suffix[16] = "";
        if (i > 1)
            snprintf(suffix, sizeof suffix, "-%d", i);
        if ((size_t)snprintf(p->folder, sizeof p->folder, "%s/%s%s", p->opts->output, name,
                             suffix) >= sizeof p->folder)
            return err_set(e, ERR_INPUT, "%s: the name is too long", p->opts->output);
        if (mkdir(p->folder, 0777) == 0)
            return 0;
        if (errno != EEXIST)
            break;
    }
    return err_set(e, ERR_INPUT, "%s: %s", p->folder, strerror(errno));
}

/* ---- the folder: files ---- */

static FILE *open_file(const struct p2p *p, const char *name, struct err *e)
{
    char path[BENCH_PATH_MAX + 64];
    FILE *out;
    snprintf(path, sizeof path, "%s/%s", p->folder, name);
    out = fopen(path, "we");
    if (out == NULL)
        err_set(e, ERR_INPUT, "%s: %s", path, strerror(errno));
    return out;
}

static int check_written(const struct p2p *p, FILE *out, struct err *e)
{
    if (fflush(out) == 0 && !ferror(out))
        return 0;
    return err_set(e, ERR_INPUT, "%s: not all could be written: %s", p->folder, strerror(errno));
}

static int close_file(const struct p2p *p, FILE *out, struct err *e)
{
    int status = check_written(p, out, e);
    if (fclose(out) != 0 && status == 0)
        return err_set(e, ERR_INPUT, "%s: not all could be written: %s", p->folder,
                       strerror(errno));
    return status;
}

/* One of this rank's own: "<before><rank><after>". */
static int write_own(const struct p2p *p, const struct bench_p2p_report *r, const char *before,
                     const char *behind,
                     void (*write)(const struct bench_p2p_report *r,
                                   const struct bench_p2p_rank *rank, FILE *out),
                     struct err *e)
{
    const struct bench_place *place = &p->job.place;
    char name[64], host[256] = "";
    const struct bench_p2p_rank rank = {.rank = place->rank,
                                        .world = place->world,
                                        .node = p->job.node_of[place->rank],
                                        .device = p->job.members.device,
                                        .pid = (int)getpid(),
                                        .host = host,
                                        .launcher = place->launcher,
                                        .driver = bench_nvml_driver()};
    FILE *out;
    gethostname(host, sizeof host - 1);
    snprintf(name, sizeof name, "%s%d%s", before, rank.rank, behind);
    out = open_file(p, name, e);
    if (out == NULL)
        return -1;
    write(r, &rank, out);
    return close_file(p, out, e);
}

static int write_metadata(const struct p2p *p, const struct bench_p2p_report *r, struct err *e)
{
    return write_own(p, r, "metadata_rank_", ".yml", bench_p2p_metadata, e);
}

/* All ranks together, of an open library: rank 0 makes the folder in --output, with -2 and so on
 * where the name is taken; each writes what is known of it: to the same folder, on a file system
 * that they share, else each node has its own. 0, or -1 with e filled on all ranks. */
static int folder_start(struct p2p *p, const struct bench_p2p_report *r, struct err *e)
{
    struct bench_ranks *ranks = p->job.ranks;
    int status = 0;
    if (p->opts->output == NULL)
        return 0;
    if (p->job.place.rank == 0)
        status = make_folder(p, e);
    for (int i = 0; i < 2 && status == 0 && p->job.place.rank == 0; i++) {
        p->logs[i] = open_file(p, log_names[i], e);
        if (p->logs[i] != NULL)
            bench_p2p_csv_head(i > 0, p->logs[i]);
        status = p->logs[i] != NULL ? 0 : -1;
    }
    if (bench_ranks_agree(ranks, status, e) < 0 ||
        bench_ranks_from_first(ranks, p->folder, sizeof p->folder, e) < 0)
        return -1;
    if (p->job.place.rank != 0)
        mkdir(p->folder, 0777);
    return bench_ranks_agree(ranks, write_metadata(p, r, e), e);
}

/* ---- the folder: the end ---- */

/* The logs with the times of r->log, each in the place of the one that was written meanwhile. */
static int write_logs(const struct p2p *p, const struct bench_p2p_report *r, struct err *e)
{
    for (int one_way = 0; one_way < 2; one_way++) {
        char path[BENCH_PATH_MAX + 64];
        struct whole_file f;
        snprintf(path, sizeof path, "%s/%s", p->folder, log_names[one_way]);
        if (whole_file_open(&f, path, e) < 0)
            return -1;
        bench_p2p_csv_head(one_way > 0, f.out);
        for (size_t i = 0; i < r->log->n; i++) {
            if ((r->log->list[i].config.mode == BENCH_P2P_ONE_WAY) == (one_way > 0))
                bench_p2p_csv_rows(&r->log->list[i], NULL, f.out);
        }
        if (whole_file_close(&f, e) < 0)
            return -1;
    }
    return 0;
}

/* The drift and messages.csv. */
static int write_tables(const struct p2p *p, const struct bench_p2p_report *r, struct err *e)
{
    static const char *const names[] = {"drift_before.csv", "drift_after.csv", "messages.csv"};
    for (int i = 0; i < 3; i++) {
        const struct bench_drift_report samples = {.log = i < 2 ? r->drift[i] : NULL};
        FILE *out;
        if (i < 2 && r->drift[i]->n == 0)
            continue;
        out = open_file(p, names[i], e);
        if (out == NULL)
            return -1;
        if (i < 2)
            bench_drift_csv(&samples, out);
        else
            bench_p2p_messages_csv(r, &p->target, out);
        if (close_file(p, out, e) < 0)
            return -1;
    }
    return 0;
}

/* On each rank, at the end: its own files; on rank 0 also the drift, messages.csv (r->links are
 * known), and the logs once more where the common clock is known better now. Nothing without a
 * folder. 0, or -1 with e filled. */
static int folder_end(const struct p2p *p, const struct bench_p2p_report *r, struct err *e)
{
    bool again = p->job.nodes > 1 && r->drift[1]->n > 0;
    if (p->folder[0] == '\0')
        return 0;
    if (p->job.place.rank == 0 && (write_tables(p, r, e) < 0 || (again && write_logs(p, r, e) < 0)))
        return -1;
    if (write_own(p, r, "rank_", ".pt.trace.json", bench_p2p_kineto, e) < 0 ||
        write_own(p, r, "rank_", "_CPU_trace.json", bench_p2p_execution_trace, e) < 0)
        return -1;
    return write_metadata(p, r, e);
}

/* ---- measuring ---- */

static int rewarm(size_t n, void *arg, struct err *e)
{
    struct p2p *p = arg;
    if (!p->opts->rewarm || n == 0 || n % REWARM_EVERY != 0)
        return 0;
    return bench_conditions_rewarm(&p->conditions, &p->where, e);
}

/* The rows of a configuration go to the folder, where there is one. */
static int log_rows(const struct bench_p2p_done *done, void *arg, struct err *e)
{
    struct p2p *p = arg;
    const bool one_way = done->config.mode == BENCH_P2P_ONE_WAY;
    FILE *out = p->logs[one_way];
    char what[64];
    p->one_way += one_way;
    snprintf(what, sizeof what, "%s", bench_p2p_mode_name(done->config.mode));
    progress_show(&p->progress, p->one_way, what);
    if (out == NULL)
        return 0;
    bench_p2p_csv_rows(done, &p->clock, out);
    return check_written(p, out, e);
}

/* The drift before or after the messages: 0, 1 or -1 as bench_drift(). */
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

/* On warm GPUs that are watched meanwhile. As bench_p2p(). */
static int messages(struct p2p *p, const struct bench_communicator *on, struct err *e)
{
    size_t ranks = (size_t)on->world;
    struct err own = {0};
    int status;
    if (p->folder[0] != '\0')
        p->where.output = p->folder;
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
    status = folder_start(p, &r, e);
    if (status == 0) {
        if (p->job.place.rank == 0)
            status = bench_p2p_target(p->opts->gpu, p->opts->network, p->job.run->gpu, p->arena,
                                      &p->target, e);
        status = bench_ranks_agree(p->job.ranks, status, e);
    }
    if (status == 0)
        status = measure_drift(p, &on, 0, e);
    if (status == 0)
        status = messages(p, &on, e);
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
                                        .folder = p->folder};
    struct bench_p2p_report r = report(p);
    struct bench_checks checks;
    int status;
    for (size_t i = 0; i < p->log.n; i++)
        bench_common_clock_apply(&p->clock, &p->log.list[i]);
    bench_links_fit(&p->log, p->job.node_of, &p->links);
    r.links = &p->links;
    status = folder_end(p, &r, e);
    if (p->job.place.rank != 0)
        return status;
    if (bench_p2p_show(&r, &checks, &show, status < 0 ? NULL : e) < 0)
        status = -1;
    if (p->opts->json == NULL && p->folder[0] != '\0')
        printf("Files: %s\n", p->folder);
    return status;
}

/* Where a call of the library does not return. */
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
    for (int i = 0; i < 2; i++) {
        if (p->logs[i] != NULL)
            fclose(p->logs[i]);
        bench_drift_log_release(&p->drift[i]);
    }
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
    struct p2p p = {
        .opts = &o, .job = {.gpus_only = true, .keep = write_partial, .arg = &p}, .arena = a};
    int status = cmd_parse_options(self, &o, argc, argv, e);
    if (status != 0)
        return status;
    p.plan.before = rewarm;
    p.plan.done = log_rows;
    p.plan.arg = &p;
    status = parse(&p, e) < 0 || bench_conditions_prepare(&p.conditions, &o.conditions, e) < 0
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
