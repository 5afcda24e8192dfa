/* SPDX-License-Identifier: MIT
 *
 * specter experiment: one command under several settings, then the comparison.
 *
 * Each run is a `specter capture` of its own, so that what holds of a capture holds here: the
 * program comes first. After each the manifest is written anew; what is there when we are killed is
 * taken up by the next call with the same folder.
 */
#include "base/arena.h"
#include "base/buf.h"
#include "base/child.h"
#include "cmd/cmd.h"
#include "compare/experiment.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MANIFEST "manifest.json"
#define SIGNALLED 128 /* status of a program that a signal ended, less the signal */
#define NOT_FOUND 127 /* as shells say */
#define LOG_LINES 10   /* of a run that failed, shown */

struct experiment_opts {
    const char *preset, *pairs, *base, *output, *profiler;
    int64_t repeat, seed;
    bool print;
};

#define AT(field) offsetof(struct experiment_opts, field)

static const struct opt rows[] = {
    {"preset", 0, OPT_STR, AT(preset), "NAME", "settings of that name: nccl_tuning, rccl_warp_speed"},
    {"pairs", 'p', OPT_STR, AT(pairs), "CU,THREADS ...",
     "of rccl_warp_speed (default: \"56,256 37,384 32,512\")"},
    {"repeat", 0, OPT_I64, AT(repeat), "N", "runs of each setting (default: 3)"},
    {"base", 0, OPT_STR, AT(base), "LABEL", "compare with this one (default: the first)"},
    {"output", 'o', OPT_STR, AT(output), "DIR",
     "folder of this experiment, which is gone on with where it is there (default: "
     "experiments/NAME_DATE_TIME)"},
    {"profiler", 0, OPT_STR, AT(profiler), "specter|kineto",
     "who records: capture, or the program itself into {dir}/torch_profiler (default: specter)"},
    {"seed", 0, OPT_I64, AT(seed), "N", "of the order of runs (default: 1)"},
    {"print", 0, OPT_FLAG, AT(print), NULL, "print the settings as a file, and stop"},
    OPT_END,
};

/* An experiment under way. */
struct job {
    struct experiment x;
    const struct experiment_opts *opts;
    const char *self; /* this program */
    const char *dir;  /* of the experiment, absolute */
    const char *shown;
    size_t base; /* setting */
    int signal;  /* that ended it; 0 */
    size_t failed;
};

static bool is_kineto(const struct job *j)
{
    return j->opts->profiler != NULL && strcmp(j->opts->profiler, "kineto") == 0;
}

/* ---- one run ---- */

/* Of the folder of the experiment. */
static const char *run_folder(struct job *j, const struct experiment_run *run)
{
    return arena_printf(&j->x.arena, "%s/run%" PRId64, j->x.settings[run->setting].label,
                        run->repeat);
}

/* The text with the run's folder in place of {dir}. */
static char *put_dir(struct job *j, const char *text, const char *dir)
{
    struct buf b = BUF_INIT;
    const char *at;
    char *out;
    for (; (at = strstr(text, "{dir}")) != NULL; text = at + strlen("{dir}")) {
        buf_put(&b, text, (size_t)(at - text));
        buf_puts(&b, dir);
    }
    buf_puts(&b, text);
    out = arena_strndup(&j->x.arena, b.data, b.len);
    buf_release(&b);
    return out;
}

/* `specter capture -o DIR ... -- COMMAND ARGS`, or the command alone. */
static char **command_of(struct job *j, const struct experiment_setting *s, const char *dir)
{
    const size_t most = 5 + s->ncapture + j->x.ncommand + s->nargs;
    char **argv = arena_alloc(&j->x.arena, (most + 1) * sizeof *argv);
    size_t n = 0;
    if (!is_kineto(j)) {
        argv[n++] = put_dir(j, j->self, dir);
        argv[n++] = put_dir(j, "capture", dir);
        argv[n++] = put_dir(j, "-o", dir);
        argv[n++] = put_dir(j, "{dir}", dir);
        for (size_t i = 0; i < s->ncapture; i++)
            argv[n++] = put_dir(j, s->capture[i], dir);
        argv[n++] = put_dir(j, "--", dir);
    }
    for (size_t i = 0; i < j->x.ncommand; i++)
        argv[n++] = put_dir(j, j->x.command[i], dir);
    for (size_t i = 0; i < s->nargs; i++)
        argv[n++] = put_dir(j, s->args[i], dir);
    return argv;
}

/* Our stdout and stderr for as long as the program runs: it writes into a log. */
struct redirect {
    int saved[2];
};

static int redirect_begin(struct redirect *r, const char *path, struct err *e)
{
    const int log = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (log < 0)
        return err_set(e, ERR_INPUT, "cannot write '%s': %s", path, strerror(errno));
    fflush(stdout);
    for (int fd = 1; fd <= 2; fd++) {
        r->saved[fd - 1] = fcntl(fd, F_DUPFD_CLOEXEC, 3);
        dup2(log, fd);
    }
    close(log);
    return 0;
}

static void redirect_end(const struct redirect *r)
{
    for (int fd = 1; fd <= 2; fd++) {
        dup2(r->saved[fd - 1], fd);
        close(r->saved[fd - 1]);
    }
}

static void show_log(const char *path)
{
    FILE *in = fopen(path, "re");
    char *lines[LOG_LINES] = {NULL};
    size_t caps[LOG_LINES] = {0}, n = 0;
    ssize_t len;
    while (in != NULL && (len = getline(&lines[n % LOG_LINES], &caps[n % LOG_LINES], in)) > 0)
        n++;
    for (size_t i = n > LOG_LINES ? n - LOG_LINES : 0; i < n; i++) {
        struct buf safe = BUF_INIT;
        const char *line = lines[i % LOG_LINES];
        buf_put_printable(&safe, line, strcspn(line, "\n"));
        fprintf(stderr, "  %s\n", safe.data != NULL ? safe.data : "");
        buf_release(&safe);
    }
    for (size_t i = 0; i < LOG_LINES; i++)
        free(lines[i]);
    if (in != NULL)
        fclose(in);
}

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Runs one; only what lies in its folder and the manifest outlive it. */
static int run_one(struct job *j, struct experiment_run *run, struct err *e)
{
    const struct experiment_setting *s = &j->x.settings[run->setting];
    const char *dir = arena_printf(&j->x.arena, "%s/%s", j->dir, run_folder(j, run));
    const char *log = arena_printf(&j->x.arena, "%s.log", dir);
    struct child_env *env = arena_alloc(&j->x.arena, (s->nenv + 1) * sizeof *env);
    const double began_s = now_s();
    struct redirect r = {{-1, -1}};
    struct err why = {0};
    int status;
    for (size_t i = 0; i < s->nenv; i++)
        env[i] = (struct child_env){s->env[i].name, put_dir(j, s->env[i].value, dir)};
    if (cmd_make_folders(put_dir(j, "{dir}", dir)) < 0)
        return err_set(e, ERR_INPUT, "cannot make directory '%s': %s", dir, strerror(errno));
    if (redirect_begin(&r, log, e) < 0)
        return -1;
    status = child_run(command_of(j, s, dir), env, s->nenv, &j->signal, &why);
    redirect_end(&r);
    if (j->signal != 0)
        return 0; /* not done: the next call runs it again */
    run->status = status;
    run->seconds = now_s() - began_s;
    if (status != 0) {
        fprintf(stderr, "specter: '%s', run %" PRId64 ": status %d; end of %s.log:\n", s->label,
                run->repeat, status, run_folder(j, run));
        show_log(log);
        if (why.code != ERR_NONE)
            fprintf(stderr, "  %s\n", why.msg);
    }
    return 0;
}

static int run_all(struct job *j, struct err *e)
{
    const char *manifest = arena_printf(&j->x.arena, "%s/" MANIFEST, j->dir);
    if (experiment_write(&j->x, manifest, e) < 0)
        return -1;
    for (size_t i = 0; i < j->x.nruns && j->signal == 0; i++) {
        struct experiment_run *run = &j->x.runs[i];
        if (run->status != EXPERIMENT_NOT_RUN)
            continue;
        fprintf(stderr, "specter: run %zu of %zu: %s\n", i + 1, j->x.nruns,
                j->x.settings[run->setting].label);
        if (run_one(j, run, e) < 0 || experiment_write(&j->x, manifest, e) < 0)
            return -1;
    }
    return 0;
}

/* ---- the comparison ---- */

/* The paths of a setting's runs that ended well, with commas between; "": none did. */
static char *paths_of(struct job *j, size_t setting)
{
    struct buf b = BUF_INIT;
    struct stat st;
    char *out;
    for (size_t i = 0; i < j->x.nruns; i++) {
        const char *dir = run_folder(j, &j->x.runs[i]);
        const char *torch = arena_printf(&j->x.arena, "%s/torch_profiler", dir);
        if (j->x.runs[i].setting != setting || j->x.runs[i].status != 0)
            continue;
        if (b.len > 0)
            buf_putc(&b, ',');
        buf_puts(&b, is_kineto(j) && stat(torch, &st) == 0 ? torch : dir);
    }
    out = arena_strndup(&j->x.arena, b.len > 0 ? b.data : "", b.len);
    buf_release(&b);
    return out;
}

/* Compares what there is, the base first, in the folder of the experiment, where no path holds a
 * comma. Returns compare's status. */
static int compare(struct job *j, struct err *e)
{
    char **argv = arena_alloc(&j->x.arena, (j->x.nsettings + 8) * sizeof *argv);
    struct buf labels = BUF_INIT;
    char *paths = paths_of(j, j->base);
    size_t n = 4, sides = 0;
    int status;
    for (size_t i = 0; i <= j->x.nsettings && paths[0] != '\0'; i++) {
        const size_t setting = i == 0 ? j->base : i - 1;
        char *of = paths_of(j, setting);
        if (of[0] == '\0')
            fprintf(stderr, "specter: no run of '%s' ended well: it is not compared\n",
                    j->x.settings[setting].label);
        if (of[0] == '\0' || (i > 0 && setting == j->base))
            continue;
        buf_printf(&labels, "%s%s", sides++ > 0 ? "," : "", j->x.settings[setting].label);
        argv[n++] = of;
    }
    if (sides < 2) {
        buf_release(&labels);
        return err_set(e, ERR_INPUT, "nothing to compare: %s",
                       paths[0] == '\0' ? "no run of the base ended well"
                                        : "no run of another setting ended well");
    }
    argv[0] = put_dir(j, j->self, "");
    argv[1] = put_dir(j, "compare", "");
    argv[2] = arena_printf(&j->x.arena, "--name=%s", labels.data);
    argv[3] = put_dir(j, "--json=comparison.json", "");
    buf_release(&labels);
    if (chdir(j->dir) < 0)
        return err_set(e, ERR_INPUT, "%s: %s", j->dir, strerror(errno));
    status = child_run(argv, NULL, 0, NULL, e);
    return e->code != ERR_NONE ? -1 : status;
}

/* ---- all of it ---- */

static const char *usual_folder(struct job *j)
{
    const time_t now = time(NULL);
    struct tm tm;
    char when[32];
    localtime_r(&now, &tm);
    strftime(when, sizeof when, "%Y%m%d_%H%M%S", &tm);
    return arena_printf(&j->x.arena, "experiments/%s_%s", j->x.name, when);
}

static int make_folder(struct job *j, struct err *e)
{
    char full[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", full, sizeof full - 1);
    if (len < 0)
        return err_set(e, ERR_INPUT, "/proc/self/exe: %s", strerror(errno));
    j->self = arena_strndup(&j->x.arena, full, (size_t)len);
    j->shown = j->opts->output != NULL ? j->opts->output : usual_folder(j);
    if (j->shown[0] == '\0')
        return err_set(e, ERR_USAGE, "--output: the name of the directory is empty");
    if (cmd_make_folders(arena_strdup(&j->x.arena, j->shown)) < 0 ||
        realpath(j->shown, full) == NULL)
        return err_set(e, ERR_INPUT, "cannot make directory '%s': %s", j->shown, strerror(errno));
    j->dir = arena_strdup(&j->x.arena, full);
    return 0;
}

static int resume(struct job *j, struct err *e)
{
    const char *manifest = arena_printf(&j->x.arena, "%s/" MANIFEST, j->shown);
    size_t done = 0;
    if (access(manifest, F_OK) < 0)
        return 0;
    if (experiment_resume(&j->x, manifest, e) < 0)
        return -1;
    for (size_t i = 0; i < j->x.nruns; i++)
        done += j->x.runs[i].status != EXPERIMENT_NOT_RUN;
    fprintf(stderr, "specter: goes on: %zu of %zu runs are done\n", done, j->x.nruns);
    return 0;
}

static int status_of(struct job *j, int compared)
{
    for (size_t i = 0; i < j->x.nruns; i++)
        j->failed += j->x.runs[i].status != 0;
    if (j->signal != 0)
        return SIGNALLED + j->signal;
    return compared == 0 && j->failed > 0 ? ERR_PARTIAL : compared;
}

static int experiment(struct job *j, struct err *e)
{
    int status;
    if (make_folder(j, e) < 0 || resume(j, e) < 0 || run_all(j, e) < 0)
        return (int)e->code;
    fprintf(stderr, "specter: in %s\n", j->shown);
    if (j->signal != 0)
        fprintf(stderr, "specter: ended by a signal; the same command with -o %s goes on\n",
                j->shown);
    status = compare(j, e);
    if (status < 0 && j->signal == 0)
        return (int)e->code;
    if (status < 0) {
        fprintf(stderr, "specter: %s\n", e->msg);
        *e = (struct err){0};
    }
    return status_of(j, status);
}

static int check_opts(const struct experiment_opts *o, struct err *e)
{
    if (o->repeat < 1 || o->repeat > EXPERIMENT_REPEAT_MAX)
        return err_set(e, ERR_USAGE, "--repeat: out of range: 1 to %d", EXPERIMENT_REPEAT_MAX);
    if (o->profiler != NULL && strcmp(o->profiler, "specter") != 0 &&
        strcmp(o->profiler, "kineto") != 0)
        return err_set(e, ERR_USAGE, "--profiler is specter or kineto, not '%s'", o->profiler);
    if (o->pairs != NULL && o->preset == NULL)
        return err_set(e, ERR_USAGE, "-p is for --preset rccl_warp_speed");
    return 0;
}

/* Settings from the preset or the file, which is operand 0; *used: how many operands that took. */
static int read_settings(struct job *j, int n, char **argv, int *used, struct err *e)
{
    *used = j->opts->preset != NULL ? 0 : 1;
    if (j->opts->preset != NULL)
        return experiment_preset(&j->x, j->opts->preset, j->opts->pairs, e);
    if (n == 0)
        return err_set(e, ERR_USAGE,
                       "a FILE or --preset is needed (see 'specter help experiment')");
    return experiment_read(&j->x, argv[0], e);
}

static int run(struct job *j, int n, char **command, struct err *e)
{
    char path[PATH_MAX];
    if (j->opts->print)
        return experiment_write(&j->x, NULL, e) < 0 ? (int)e->code : 0;
    if (n == 0) {
        err_set(e, ERR_USAGE, "no command given to run (see 'specter help experiment')");
        return ERR_USAGE;
    }
    if (!child_find(command[0], X_OK, path, sizeof path)) {
        err_set(e, ERR_INPUT, "cannot run '%s': not found, or not executable", command[0]);
        return NOT_FOUND;
    }
    j->base = j->opts->base != NULL ? experiment_find(&j->x, j->opts->base) : 0;
    if (j->base == j->x.nsettings) {
        err_set(e, ERR_USAGE, "--base: there is no setting '%s'", j->opts->base);
        return ERR_USAGE;
    }
    j->x.command = (const char **)command;
    j->x.ncommand = (size_t)n;
    experiment_plan(&j->x, j->opts->repeat, j->opts->seed);
    return experiment(j, e);
}

static int run_experiment(const struct command *self, int argc, char **argv, struct err *e)
{
    struct experiment_opts opts = {.repeat = 3, .seed = 1};
    struct job job = {.opts = &opts};
    int n, used, status = cmd_parse(self, &opts, argc, argv, false, &n, e);
    if (status != 0)
        return status;
    if (check_opts(&opts, e) < 0 || read_settings(&job, n, argv, &used, e) < 0)
        return (int)e->code;
    status = run(&job, n - used, argv + used, e);
    experiment_release(&job.x);
    return status;
}

const struct command cmd_experiment = {
    .name = "experiment",
    .synopsis = "experiment FILE [OPTIONS] -- COMMAND...\n"
                "experiment --preset NAME [OPTIONS] -- COMMAND...\n"
                "experiment FILE|--preset NAME --print",
    .summary = "run a command under several settings, and compare",
    .details =
        "Runs COMMAND under `specter capture`, once for each setting and repeat, in an order that "
        "--seed draws, and ends with `specter compare` of all settings, whose samples are the "
        "runs.\n"
        "\n"
        "A setting is environment, arguments behind COMMAND, and options of capture. FILE lists "
        "them as JSON; --print shows a preset in that form:\n"
        "  {\"name\": \"rings\", \"settings\": [\n"
        "    {\"label\": \"base\"},\n"
        "    {\"label\": \"ring\", \"env\": {\"NCCL_ALGO\": \"Ring\"}, \"args\": [\"--steps\", "
        "\"50\"]}]}\n"
        "\n"
        "DIR holds manifest.json (settings, order, status and seconds of each run), "
        "LABEL/runN with the traces, LABEL/runN.log with what the program wrote, and "
        "comparison.json. {dir} in COMMAND and settings is the run's folder. A run that fails is "
        "told and left out. After Ctrl-C what is done is compared, and the same command with -o "
        "DIR goes on.\n"
        "\n"
        "Exit status: 0 done, 2 bad usage, 3 nothing to compare or DIR cannot be written, 4 a run "
        "failed or part of the input was lost, 128+n when signal n ended it.",
    .rows = rows,
    .run = run_experiment,
};
