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
#include "compare/compare.h"
#include "compare/experiment.h"
#include "trace/run.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LOG_LINES 10    /* of a run that failed, shown, */
#define LOG_COLUMNS 200 /* with so much of each */

struct experiment_opts {
    const char *preset, *pairs, *base, *output, *profiler, *library;
    int64_t repeat, seed;
    bool print;
};

#define AT(field) offsetof(struct experiment_opts, field)

static const struct opt rows[] = {
    {"preset", 0, OPT_STR, AT(preset), "NAME",
#define X(name) " " #name
     "settings of that name:" EXPERIMENT_PRESETS(X)},
#undef X
    {"pairs", 'p', OPT_STR, AT(pairs), "CU,THREADS ...",
     "pairs that rccl_warp_speed tries (default: \"56,256 37,384 32,512\")"},
    {"repeat", 0, OPT_I64, AT(repeat), "N", "runs of each setting (default: 3)"},
    {"base", 0, OPT_STR, AT(base), "LABEL", "compare with this one (default: the first)"},
    {"output", 'o', OPT_STR, AT(output), "DIR",
     "folder of the experiment; an existing one is continued (default: "
     "experiments/NAME_DATE_TIME)"},
    {"profiler", 0, OPT_STR, AT(profiler), "specter|kineto",
     "who records: capture, or the program itself into {dir}/torch_profiler (default: specter)"},
    {"expect-lib", 0, OPT_STR, AT(library), "PATH", "a run whose NCCL is another file has failed"},
    {"seed", 0, OPT_I64, AT(seed), "N", "draws the order of runs (default: 1)"},
    {"print", 0, OPT_FLAG, AT(print), NULL, "print the settings as a file, and stop"},
    OPT_END,
};

/* An experiment under way. */
struct experiment_job {
    struct experiment x;
    const struct experiment_opts *opts;
    const char *self; /* this program */
    const char *dir;  /* of the experiment, absolute */
    const char *shown;
    size_t base; /* setting */
    int signal;  /* that ended it; 0 */
    bool resumed;
};

static bool is_kineto(const struct experiment_job *j)
{
    return j->opts->profiler != NULL && strcmp(j->opts->profiler, "kineto") == 0;
}

/* ---- one run ---- */

/* The folder of a run, in that of the experiment. */
static const char *run_folder(struct experiment_job *j, const struct experiment_run *run)
{
    return arena_printf(&j->x.arena, "%s/run%" PRId64, j->x.settings[run->setting].label,
                        run->repeat);
}

/* The text with the run's folder in place of {dir}. */
static char *put_dir(struct experiment_job *j, const char *text, const char *dir)
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
static char **command_of(struct experiment_job *j, const struct experiment_setting *s,
                         const char *dir)
{
    const size_t most = 5 + s->ncapture + j->x.ncommand + s->nargs;
    char **argv = arena_alloc(&j->x.arena, (most + 1) * sizeof *argv);
    size_t n = 0;
    if (!is_kineto(j)) {
        argv[n++] = arena_strdup(&j->x.arena, j->self);
        argv[n++] = arena_strdup(&j->x.arena, "capture");
        argv[n++] = arena_strdup(&j->x.arena, "-o");
        argv[n++] = arena_strdup(&j->x.arena, dir);
        for (size_t i = 0; i < s->ncapture; i++)
            argv[n++] = put_dir(j, s->capture[i], dir);
        argv[n++] = arena_strdup(&j->x.arena, "--");
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

/* The end of a log. A progress bar's carriage returns end lines, too. */
static void show_log(const char *path)
{
    FILE *in = fopen(path, "re");
    char lines[LOG_LINES][LOG_COLUMNS + 1] = {{'\0'}};
    size_t n = 0, len = 0;
    int c;
    while (in != NULL && (c = getc(in)) != EOF) {
        if (c != '\n' && c != '\r') {
            if (len < LOG_COLUMNS)
                lines[n % LOG_LINES][len++] = (char)c;
        } else if (len > 0) {
            lines[n++ % LOG_LINES][len] = '\0';
            len = 0;
        }
    }
    if (len > 0)
        lines[n++ % LOG_LINES][len] = '\0';
    for (size_t i = n > LOG_LINES ? n - LOG_LINES : 0; i < n; i++) {
        struct buf safe = BUF_INIT;
        buf_put_printable(&safe, lines[i % LOG_LINES], strlen(lines[i % LOG_LINES]));
        fprintf(stderr, "  %s\n", safe.data);
        buf_release(&safe);
    }
    if (in != NULL)
        fclose(in);
}

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    return ftw->level > 0 && remove(path) < 0 ? -1 : 0;
}

static bool is_empty(const char *dir)
{
    DIR *d = opendir(dir);
    bool empty = true;
    struct dirent *entry;
    while (d != NULL && empty && (entry = readdir(d)) != NULL)
        empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
    if (d != NULL)
        closedir(d);
    return empty;
}

/* Makes the folder of a run. What an attempt that was cut off has left is removed; what was there
 * before the experiment is not ours. */
static int make_run_folder(struct experiment_job *j, const char *dir, const char *shown,
                           struct err *e)
{
    if (cmd_make_folders(arena_strdup(&j->x.arena, dir)) < 0)
        return err_set(e, ERR_INPUT, "cannot make directory '%s': %s", shown, strerror(errno));
    if (is_empty(dir))
        return 0;
    if (!j->resumed)
        return err_set(e, ERR_INPUT, "'%s' is not empty", shown);
    if (nftw(dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS) < 0)
        return err_set(e, ERR_INPUT, "cannot empty '%s': %s", shown, strerror(errno));
    return 0;
}

/* Runs one; only what lies in its folder and the manifest outlive it. */
static int run_one(struct experiment_job *j, struct experiment_run *run, struct err *e)
{
    const struct experiment_setting *s = &j->x.settings[run->setting];
    const char *dir = arena_printf(&j->x.arena, "%s/%s", j->dir, run_folder(j, run));
    const char *shown = arena_printf(&j->x.arena, "%s/%s", j->shown, run_folder(j, run));
    const char *log = arena_printf(&j->x.arena, "%s.log", shown);
    struct child_env *env = arena_alloc(&j->x.arena, (s->nenv + 1) * sizeof *env);
    const double began_s = now_s();
    struct redirect r = {{-1, -1}};
    struct child_watch watch = {0, NULL, NULL};
    struct err why = {0};
    int status;
    for (size_t i = 0; i < s->nenv; i++)
        env[i] = (struct child_env){s->env[i].name, put_dir(j, s->env[i].value, dir)};
    if (make_run_folder(j, dir, shown, e) < 0)
        return -1;
    if (redirect_begin(&r, log, e) < 0)
        return -1;
    status = child_run(command_of(j, s, dir), env, s->nenv, &watch, &why);
    j->signal = watch.ended_by;
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

/* The file of NCCL that a rank loaded; NULL: the traces do not tell. */
static const char *library_of(const struct rank *rank)
{
    for (size_t i = 0; i < rank->nsettings; i++) {
        if (strcmp(rank->settings[i].name, SETTING_NCCL_FILE) == 0)
            return rank->settings[i].value;
    }
    return NULL;
}

static bool is_expected(const struct experiment_job *j, const char *library)
{
    char expected[PATH_MAX], found[PATH_MAX];
    return j->opts->library == NULL ||
           (realpath(j->opts->library, expected) != NULL && realpath(library, found) != NULL &&
            strcmp(expected, found) == 0);
}

/* Notes which file of NCCL a run loaded, and whether it is the expected one on every rank. */
static void check_library(struct experiment_job *j, struct experiment_run *run)
{
    const char *dir = arena_printf(&j->x.arena, "%s/%s", j->dir, run_folder(j, run));
    struct err why = {0};
    struct run traces;
    int loaded;
    if (is_kineto(j) || run->status != 0)
        return;
    loaded = cmd_load(&traces, dir, NULL, &why);
    for (size_t r = 0; loaded == 0 && r < traces.nranks && run->status == 0; r++) {
        const char *library = library_of(&traces.ranks[r]);
        if (library == NULL)
            continue;
        run->library = arena_strdup(&j->x.arena, library);
        if (is_expected(j, library))
            continue;
        run->status = ERR_NO;
        fprintf(stderr, "specter: '%s', run %" PRId64 ": loaded '%s', not '%s'\n",
                j->x.settings[run->setting].label, run->repeat, library, j->opts->library);
    }
    run_release(&traces);
}

static int run_all(struct experiment_job *j, struct err *e)
{
    const char *manifest = arena_printf(&j->x.arena, "%s/" EXPERIMENT_MANIFEST, j->shown);
    if (experiment_write(&j->x, manifest, e) < 0)
        return -1;
    for (size_t i = 0; i < j->x.nruns && j->signal == 0; i++) {
        struct experiment_run *run = &j->x.runs[i];
        if (run->status != EXPERIMENT_NOT_RUN)
            continue;
        fprintf(stderr, "specter: run %zu of %zu: %s\n", i + 1, j->x.nruns,
                j->x.settings[run->setting].label);
        if (run_one(j, run, e) < 0)
            return -1;
        check_library(j, run);
        if (experiment_write(&j->x, manifest, e) < 0)
            return -1;
    }
    return 0;
}

/* ---- the comparison ---- */

/* Where the traces of a run are, in the folder of the experiment; NULL: it failed, or left none. */
static const char *traces_of(struct experiment_job *j, const struct experiment_run *run)
{
    const char *dir = run_folder(j, run);
    if (is_kineto(j))
        dir = arena_printf(&j->x.arena, "%s/torch_profiler", dir);
    return run->status == 0 && !is_empty(arena_printf(&j->x.arena, "%s/%s", j->dir, dir)) ? dir
                                                                                          : NULL;
}

/* The paths of a setting's runs that left traces, with commas between; "": none did. */
static char *paths_of(struct experiment_job *j, size_t setting)
{
    struct buf b = BUF_INIT;
    char *out;
    for (size_t i = 0; i < j->x.nruns; i++) {
        const char *dir = traces_of(j, &j->x.runs[i]);
        if (j->x.runs[i].setting != setting || dir == NULL)
            continue;
        if (b.len > 0)
            buf_putc(&b, ',');
        buf_puts(&b, dir);
    }
    out = arena_strndup(&j->x.arena, b.len > 0 ? b.data : "", b.len);
    buf_release(&b);
    return out;
}

/* Compares what there is, the base first, in the folder of the experiment, where no path holds a
 * comma. Returns compare's status. */
static int compare(struct experiment_job *j, struct err *e)
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
            fprintf(stderr, "specter: no run of '%s' left traces: it is not compared\n",
                    j->x.settings[setting].label);
        if (of[0] == '\0' || (i > 0 && setting == j->base))
            continue;
        buf_printf(&labels, "%s%s", sides++ > 0 ? "," : "", j->x.settings[setting].label);
        argv[n++] = of;
    }
    if (sides < 2) {
        buf_release(&labels);
        return err_set(e, ERR_INPUT, "nothing to compare: %s",
                       paths[0] == '\0' ? "no run of the base left traces"
                                        : "no run of another setting left traces");
    }
    argv[0] = arena_strdup(&j->x.arena, j->self);
    argv[1] = arena_strdup(&j->x.arena, "compare");
    argv[2] = arena_printf(&j->x.arena, "--name=%s", labels.data);
    argv[3] = arena_strdup(&j->x.arena, "--json=" EXPERIMENT_COMPARISON);
    buf_release(&labels);
    if (chdir(j->dir) < 0)
        return err_set(e, ERR_INPUT, "%s: %s", j->dir, strerror(errno));
    status = child_run(argv, NULL, 0, NULL, e);
    return e->code != ERR_NONE ? -1 : status;
}

/* ---- all of it ---- */

static const char *usual_folder(struct experiment_job *j)
{
    const time_t now = time(NULL);
    struct tm tm;
    char when[32];
    localtime_r(&now, &tm);
    strftime(when, sizeof when, "%Y%m%d_%H%M%S", &tm);
    return arena_printf(&j->x.arena, "experiments/%s_%s", j->x.name, when);
}

static int make_folder(struct experiment_job *j, struct err *e)
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

/* Held by us and by what we start: after a kill a program may still run and write. */
static int lock(struct experiment_job *j, struct err *e)
{
    const int fd = open(j->dir, O_RDONLY | O_DIRECTORY); /* without O_CLOEXEC */
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
        return 0;
    if (errno == EWOULDBLOCK)
        return err_set(e, ERR_INPUT, "'%s' is in use: an experiment, or what it has started, runs",
                       j->shown);
    return err_set(e, ERR_INPUT, "cannot lock '%s': %s", j->shown, strerror(errno));
}

static int resume(struct experiment_job *j, struct err *e)
{
    const char *manifest = arena_printf(&j->x.arena, "%s/" EXPERIMENT_MANIFEST, j->shown);
    size_t done = 0;
    j->resumed = access(manifest, F_OK) == 0;
    if (!j->resumed)
        return 0;
    if (experiment_resume(&j->x, manifest, e) < 0)
        return -1;
    for (size_t i = 0; i < j->x.nruns; i++)
        done += j->x.runs[i].status != EXPERIMENT_NOT_RUN;
    fprintf(stderr, "specter: goes on: %zu of %zu runs are done\n", done, j->x.nruns);
    return 0;
}

static int status_of(struct experiment_job *j, int compared)
{
    bool lost = false;
    for (size_t i = 0; i < j->x.nruns; i++)
        lost = lost || traces_of(j, &j->x.runs[i]) == NULL;
    if (j->signal != 0)
        return CHILD_SIGNALLED + j->signal;
    return compared == 0 && lost ? ERR_PARTIAL : compared;
}

static int experiment(struct experiment_job *j, struct err *e)
{
    int status;
    if (make_folder(j, e) < 0 || lock(j, e) < 0 || resume(j, e) < 0 || run_all(j, e) < 0)
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
    if (o->repeat < 1 || o->repeat > COMPARE_RUNS_MAX)
        return err_set(e, ERR_USAGE, "--repeat: out of range: 1 to %d", COMPARE_RUNS_MAX);
    if (o->profiler != NULL && strcmp(o->profiler, "specter") != 0 &&
        strcmp(o->profiler, "kineto") != 0)
        return err_set(e, ERR_USAGE, "--profiler is specter or kineto, not '%s'", o->profiler);
    if (o->pairs != NULL && (o->preset == NULL || strcmp(o->preset, "rccl_warp_speed") != 0))
        return err_set(e, ERR_USAGE, "-p is for --preset rccl_warp_speed");
    return 0;
}

/* Settings from the preset or the file, which is operand 0; *used: how many operands that took. */
static int read_settings(struct experiment_job *j, int n, char **argv, int *used, struct err *e)
{
    *used = j->opts->preset != NULL ? 0 : 1;
    if (j->opts->preset != NULL)
        return experiment_preset(&j->x, j->opts->preset, j->opts->pairs, e);
    if (n == 0)
        return err_set(e, ERR_USAGE,
                       "a FILE or --preset is needed (see 'specter help experiment')");
    return experiment_read(&j->x, argv[0], e);
}

static int run(struct experiment_job *j, int n, char **command, struct err *e)
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
        return CHILD_NOT_FOUND;
    }
    if (j->x.nsettings < 2) {
        err_set(e, ERR_USAGE, "there is one setting alone, and nothing to compare it with");
        return ERR_USAGE;
    }
    if (j->opts->library != NULL && access(j->opts->library, R_OK) < 0) {
        err_set(e, ERR_INPUT, "--expect-lib: '%s': %s", j->opts->library, strerror(errno));
        return (int)e->code;
    }
    j->base = j->opts->base != NULL ? experiment_find(&j->x, j->opts->base) : 0;
    if (j->base == j->x.nsettings) {
        err_set(e, ERR_USAGE, "--base: there is no setting '%s'", j->opts->base);
        return ERR_USAGE;
    }
    j->x.command = (const char **)command;
    j->x.ncommand = (size_t)n;
    j->x.profiler = is_kineto(j) ? "kineto" : "specter";
    experiment_plan(&j->x, j->opts->repeat, j->opts->seed);
    return experiment(j, e);
}

static int run_experiment(const struct command *self, int argc, char **argv, struct err *e)
{
    struct experiment_opts opts = {.repeat = 3, .seed = 1};
    struct experiment_job job = {.opts = &opts};
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
        "--seed draws, and ends with `specter compare` of all settings; with several repeats the "
        "samples are the runs.\n"
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
        "comparison.json. {dir} in COMMAND and settings is the run's folder. A failed "
        "run is reported and left out. After Ctrl-C what is done is compared, and the same command "
        "with -o "
        "DIR goes on.\n"
        "\n"
        "Exit status: 0 done, 2 bad usage, 3 nothing to compare or DIR cannot be written, 4 a run "
        "failed or part of the input was lost, 128+n when signal n ended it.",
    .rows = rows,
    .run = run_experiment,
};
