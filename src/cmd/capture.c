/* SPDX-License-Identifier: MIT
 *
 * specter capture: runs a program with libspecter.so preloaded, and says what came of it.
 *
 * Only the child's environment is changed. What would make the whole capture useless (no library, a
 * directory that cannot be written) ends it before the program starts: nothing has run, nothing is
 * lost. From then on the program comes first: its status is ours, and our trouble is one line.
 */
#include "base/arena.h"
#include "base/buf.h"
#include "base/child.h"
#include "cmd/app.h"
#include "cmd/capture.h"
#include "cmd/cmd.h"
#include "specter/trace.h"
#include "trace/trace_summary.h"

#include "../tracer/settings.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#define LIBRARY "libspecter.so"
#define ASK_S 2 /* seconds that ldconfig or a version manager may take to answer */

/* An option that sets a variable of the child: a flag, or what was given as its value. */
#define MEMBER_FLAG(_id) bool _id;
#define MEMBER_TEXT(_id) const char *_id;
#define MEMBER_PATH MEMBER_TEXT
#define MEMBER_NAME MEMBER_TEXT
#define MEMBER_RANKS MEMBER_TEXT
#define MEMBER_STEPS MEMBER_TEXT
#define MEMBER_SECONDS MEMBER_TEXT
#define MEMBER_PERCENT MEMBER_TEXT
#define MEMBER_COUNT MEMBER_TEXT
#define MEMBER_RATE MEMBER_TEXT
#define MEMBER_BYTES MEMBER_TEXT

struct capture_opts {
#define SETTING(_kind, _id, ...) MEMBER_##_kind(_id)
#include "../tracer/settings.def"
#undef SETTING
    const char *local;
    bool list_hooks, print_env;
};

static const struct opt rows[] = {
#define SETTING(_kind, _id, _option, _letter, _variable, _default, _arg, _help) \
    {_option,                                                                   \
     _letter,                                                                   \
     SETTING_##_kind == SETTING_FLAG ? OPT_FLAG : OPT_STR,                      \
     offsetof(struct capture_opts, _id),                                        \
     _arg,                                                                      \
     _help},
#include "../tracer/settings.def"
#undef SETTING
    {"local", 0, OPT_STR, offsetof(struct capture_opts, local), "DIR",
     "record on the node's own disk, and gather into --output at the end"},
    {"print-env", 0, OPT_FLAG, offsetof(struct capture_opts, print_env), NULL,
     "print what a job script must export to be captured so, and stop"},
    {"list-hooks", 0, OPT_FLAG, offsetof(struct capture_opts, list_hooks), NULL,
     "print the calls that are recorded, and stop"},
    OPT_END,
};

/* The settings as the options and their variables. */
static const struct setting {
    enum setting_kind kind;
    const char *option, *variable;
    size_t offset; /* into struct capture_opts */
} settings[] = {
#define SETTING(_kind, _id, _option, _letter, _variable, _default, _arg, _help) \
    {SETTING_##_kind, _option, _variable, offsetof(struct capture_opts, _id)},
#include "../tracer/settings.def"
#undef SETTING
};

#define SETTINGS (sizeof settings / sizeof *settings)

/* One capture under way; all strings belong to the arena. */
struct capture {
    struct arena arena;
    const char *dir;      /* as the user wrote it */
    const char *full_dir; /* absolute */
    const char *library;  /* absolute */
    struct loader loader;
    const char *run;
    char host[HOST_NAME_MAX + 1];
    int64_t start_ns;           /* wall clock */
    struct capture_step step;   /* the captures beside this one */
    struct local_traces traces; /* of --local */
};

static int list_hooks(void)
{
    static const struct {
        const char *library, *function;
    } hooks[] = {
#define HOOK(_lib, _ret, _fn, _params, _args, _record) {#_lib, #_fn},
#include "../tracer/hooks.def"
    };
    for (size_t i = 0; i < sizeof hooks / sizeof *hooks; i++)
        printf("%-9s %s\n", hooks[i].library, hooks[i].function);
    return 0;
}

int cmd_library(struct arena *a, const char **library, struct err *e)
{
    static const char *const folders[] = {"", "/../lib/specter", "/../lib64/specter"};
    const char *forced = getenv("SPECTER_LIB"), *own = "", *slash;
    char full[PATH_MAX];
    bool found = forced != NULL && realpath(forced, full) != NULL;
    ssize_t len;
    if (forced != NULL && !found)
        return err_set(e, ERR_INPUT, "SPECTER_LIB: '%s': %s", forced, strerror(errno));
    if (!found && (len = readlink("/proc/self/exe", full, sizeof full)) > 0 &&
        (slash = memrchr(full, '/', (size_t)len)) != NULL)
        own = arena_strndup(a, full, (size_t)(slash - full)); /* the folder of this very program */
    for (size_t i = 0; !found && i < sizeof folders / sizeof *folders; i++)
        found = realpath(arena_printf(a, "%s%s/" LIBRARY, own, folders[i]), full) != NULL;
    if (!found)
        return err_set(e, ERR_INPUT,
                       LIBRARY " not found in '%s' or '%s/../lib/specter'; SPECTER_LIB "
                               "can name it",
                       own, own);
    if (strpbrk(full, " :$") != NULL) /* LD_PRELOAD's separators and substitutions; no escape */
        return err_set(e, ERR_INPUT, "cannot preload '%s': its path holds a space, ':' or '$'",
                       full);
    *library = arena_strdup(a, full);
    return 0;
}

static int make_output(struct capture *c, struct err *e)
{
    char full[PATH_MAX];
    if (c->dir[0] == '\0')
        return err_set(e, ERR_USAGE, "--output: the name of the directory is empty");
    if (cmd_make_folders(arena_strdup(&c->arena, c->dir)) < 0)
        return err_set(e, ERR_INPUT, "cannot make directory '%s': %s", c->dir, strerror(errno));
    /* "/." tells a directory from a file, which would pass the test for write access. */
    if (realpath(c->dir, full) == NULL ||
        access(arena_printf(&c->arena, "%s/.", full), W_OK | X_OK) < 0)
        return err_set(e, ERR_INPUT, "cannot write to directory '%s': %s", c->dir, strerror(errno));
    c->full_dir = arena_strdup(&c->arena, full);
    return 0;
}

/* A name for the run that no other has, and that sorts by time; or the one of the whole step. */
static void name_run(struct capture *c)
{
    struct timespec now;
    struct tm tm;
    uint32_t salt = 0;
    char day[32];
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &tm);
    strftime(day, sizeof day, "%Y%m%dT%H%M%S", &tm);
    if (getrandom(&salt, sizeof salt, 0) < 0)
        salt = (uint32_t)getpid();
    c->start_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    c->run = arena_printf(&c->arena, SPECTER_CAPTURE_PREFIX "%s.%03ld-%08" PRIx32, day,
                          now.tv_nsec / 1000000, salt);
    if (c->step.shared)
        c->run = c->step.run;
    if (gethostname(c->host, sizeof c->host - 1) < 0)
        c->host[0] = '\0';
}

/* Ours in front of what the user had, once; but the runtime of AddressSanitizer stays the first. */
static const char *preload_list(struct capture *c)
{
    const char *had = getenv("LD_PRELOAD"), *p = had;
    size_t len = strlen(c->library), first;
    if (had == NULL || had[0] == '\0')
        return c->library;
    while (*(p += strspn(p, " :")) != '\0') {
        size_t entry = strcspn(p, " :");
        if (entry == len && memcmp(p, c->library, len) == 0)
            return had;
        p += entry;
    }
    first = app_asan_in_front(had);
    if (first > 0)
        return arena_printf(&c->arena, "%.*s:%s%s", (int)first, had, c->library, had + first);
    return arena_printf(&c->arena, "%s:%s", c->library, had);
}

/* Before anything is made or started: -1 with e filled when capture refuses the program
 * (APP_REFUSED). Every other finding is a line on stderr. */
static int check_program(struct capture *c, const char *name, struct err *e)
{
    struct app p;
    int refused = 0;
    app_init(&p, &c->arena, &c->loader, c->library, ASK_S);
    if (app_find(&p, name) == APP_FOUND)
        app_check(&p);
    for (size_t i = 0; i < p.finding_count && refused == 0; i++) {
        const struct app_finding *f = &p.findings[i];
        if (f->effect == APP_REFUSED)
            refused = err_set(e, ERR_INPUT, "%s; %s", f->text, f->advice);
        else if (c->step.task == 0) /* the same for all tasks */
            fprintf(stderr, "specter: %s; %s\n", f->text, f->advice);
    }
    app_release(&p);
    return refused;
}

/* Appends a word as a shell takes it back. */
static void put_shell_word(struct buf *out, const char *word)
{
    const char *plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./,:@%";
    if (word[0] != '\0' && word[strspn(word, plain)] == '\0') {
        buf_puts(out, word);
        return;
    }
    buf_putc(out, '\'');
    for (; *word != '\0'; word++) {
        if (*word == '\'')
            buf_puts(out, "'\\''");
        else
            buf_putc(out, *word);
    }
    buf_putc(out, '\'');
}

static void report_nothing(char **argv)
{
    struct buf command = BUF_INIT;
    for (; *argv != NULL; argv++) {
        buf_putc(&command, ' ');
        put_shell_word(&command, *argv);
    }
    fprintf(
        stderr,
        "specter: no NCCL or cuBLAS call was seen, so there is no trace; possible causes:\n"
        "  - the program did no such GPU work\n"
        "  - no trace could be written, which a line further up says\n"
        "  - its NCCL is linked statically, or loaded with RTLD_DEEPBIND or dlmopen()\n"
        "  - a setuid program or a launcher (ssh, mpirun without -x, docker) dropped LD_PRELOAD\n"
        "next: specter doctor --%s\n",
        command.data);
    buf_release(&command);
}

static const char *plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}

void cmd_coverage_gap_text(const char *kind, const char **before, const char **behind)
{
    static const struct {
        const char *kind, *before, *behind;
    } words[] = {
        {"uncalled", "no call was seen of ",
         ", which is loaded: it is not used, or past the tracer"},
        {"static", "no call was seen of the NCCL that is linked into ", ""},
        {"namespace", "no call can be seen of ", ", which is in a namespace of its own (dlmopen)"},
    };
    *before = "not seen: ";
    *behind = "";
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(kind, words[i].kind) == 0) {
            *before = words[i].before;
            *behind = words[i].behind;
        }
    }
}

/* Lines of "kind path". A library that one process alone has loaded for nothing is usual: PyTorch
 * brings NCCL along. */
static void report_unseen(const struct trace_summary *g)
{
    struct buf path = BUF_INIT;
    char *line, *rest = g->unseen.data;
    while ((line = strsep(&rest, "\n")) != NULL && *line != '\0') {
        const char *kind = strsep(&line, " "), *before, *behind;
        if (line == NULL || (strcmp(kind, "uncalled") == 0 && g->files == 1))
            continue;
        cmd_coverage_gap_text(kind, &before, &behind);
        path.len = 0;
        buf_put_printable(&path, line, strlen(line));
        fprintf(stderr, "specter: %s'%s'%s\n", before, path.data, behind);
    }
    buf_release(&path);
}

/* argv NULL: a run without records is not reported. The name of a step's run is exact; below one
 * capture a launcher may have given another. */
static void report(const struct capture *c, const struct capture_opts *o, char **argv,
                   const char *whose)
{
    const char *others = c->step.shared ? "" : SPECTER_CAPTURE_PREFIX;
    struct trace_summary_run run = {c->run, c->host, c->start_ns, others};
    bool by_default = o->output == NULL; /* other commands look for traces there without a word */
    struct buf shown = BUF_INIT;
    struct trace_summary g;
    struct err why;
    if (trace_summary_read(&g, c->full_dir, &run, &why) < 0) {
        fprintf(stderr, "specter: %s\n", why.msg);
    } else if (g.files == 0) {
        if (argv != NULL)
            report_nothing(argv);
    } else {
        report_unseen(&g);
        put_shell_word(&shown, c->dir);
        if (g.open > 0)
            fprintf(stderr, "specter: killed or still running, trace without an end: %s%s\n",
                    g.open_names.data, g.open > TRACE_SUMMARY_NAMED ? ", ..." : "");
        fprintf(stderr,
                "specter: %s%zu rank%s, %s%" PRIu64 " operation%s, %" PRIu64 " dropped, in %s; "
                "next: specter analyze%s%s\n",
                whose, g.files, plural(g.files), g.open > 0 ? "at least " : "", g.ops,
                plural(g.ops), g.dropped, shown.data, by_default ? "" : " ",
                by_default ? "" : shown.data);
    }
    buf_release(&shown);
    trace_summary_release(&g);
}

/* The option's value in the form of its variable; NULL: not given. */
static const char *given(const struct capture_opts *o, const struct setting *s)
{
    const void *at = (const char *)o + s->offset;
    if (s->kind == SETTING_FLAG)
        return *(const bool *)at ? "1" : NULL;
    return *(const char *const *)at;
}

/* An option, or its variable when that is set already and can be read. */
static bool is_set(bool option, const char *variable)
{
    const char *text = getenv(variable);
    struct setting_value v = {0, 0};
    return option || (text != NULL && setting_parse(SETTING_FLAG, text, &v) && v.number != 0);
}

/* Marks count as iterations also where they are not recorded. */
static bool wants_marks(const struct capture_opts *o)
{
    const char *iterations = o->iterations != NULL ? o->iterations : getenv("SPECTER_ITERATIONS");
    return !is_set(o->no_marks, "SPECTER_NO_MARKS") ||
           (iterations != NULL && iterations[0] != '\0');
}

static bool wants_plugin(const struct capture_opts *o)
{
    return is_set(o->nccl_plugin, "SPECTER_NCCL_PLUGIN");
}

/* Variables that name one tool each; one that the user has given to another keeps it. */
static const struct tool {
    const char *variable;
    bool (*is_wanted)(const struct capture_opts *o);
    const char *lost; /* when another tool has the variable; NULL: nothing worth a word */
} tools[] = {
    {"NVTX_INJECTION64_PATH", wants_marks, NULL},
    {"NCCL_PROFILER_PLUGIN", wants_plugin, "NCCL tells us nothing"},
};

#define TOOLS (sizeof tools / sizeof *tools)

static bool is_to_be_set(const struct tool *t, const struct capture *c,
                         const struct capture_opts *o)
{
    const char *had = getenv(t->variable);
    if (!t->is_wanted(o))
        return false;
    if (had == NULL || had[0] == '\0')
        return true;
    if (t->lost != NULL && strcmp(had, c->library) != 0)
        fprintf(stderr, "specter: %s is '%s' already, which stays: %s\n", t->variable, had,
                t->lost);
    return false;
}

/* NCCL has one place for a profiler: whose ours is now. */
static void report_slot(struct capture *c)
{
    struct nccl_slot slot = nccl_slot_find(&c->arena, &c->loader);
    if (slot.by == SLOT_FILE)
        fprintf(stderr, "specter: --nccl-plugin takes the place of '%s', which '%s' names\n",
                slot.what, slot.file);
    else if (slot.by == SLOT_LIBRARY)
        fprintf(stderr, "specter: --nccl-plugin takes the place of '%s', which NCCL would load\n",
                slot.what);
}

static void gather(void *traces)
{
    local_traces_gather(traces);
}

static int run_program(struct capture *c, const struct capture_opts *o, char **argv, struct err *e)
{
    const char *dir = c->traces.dir[0] != '\0' ? c->traces.dir : c->full_dir;
    struct child_watch watch = {0, gather, &c->traces};
    struct child_env env[SETTINGS + TOOLS + 2];
    size_t n = 0;
    if (c->traces.dir[0] == '\0')
        watch.ending = NULL;
    for (; n < SETTINGS; n++)
        env[n] = (struct child_env){
            settings[n].variable, settings[n].kind == SETTING_PATH ? dir : given(o, &settings[n])};
    env[n++] = (struct child_env){"LD_PRELOAD", preload_list(c)};
    env[n++] = (struct child_env){"SPECTER_RUN", c->run};
    for (const struct tool *t = tools; t < tools + TOOLS; t++) {
        if (is_to_be_set(t, c, o))
            env[n++] = (struct child_env){t->variable, c->library};
    }
    return child_run(argv, env, n, &watch, e);
}

/* The closing line, of the one capture of a step that ends last; there also where nothing of its
 * own has been recorded. */
static void close_step(struct capture *c, const struct capture_opts *o, char **argv, bool recorded)
{
    enum capture_step_place place = capture_step_end(&c->step);
    if (place == STEP_GOES_ON || (!recorded && !c->step.shared))
        return;
    report(c, o, recorded ? argv : NULL,
           place == STEP_LAST ? ""
                              : arena_printf(&c->arena, "node %s of the step: ", c->step.node));
}

static void ignore_signal(int signo)
{
    (void)signo;
}

/* Ignores the signals that ask the program to end: the capture stays, gathers the trace and reports
 * it. A scheduler may send them more than once. The program gets the handlers as they were: exec()
 * forgets handlers. */
static void outlive_program(void)
{
    static const int asking[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};
    struct sigaction had, ours = {.sa_handler = ignore_signal, .sa_flags = SA_RESTART};
    for (size_t i = 0; i < sizeof asking / sizeof *asking; i++) {
        if (sigaction(asking[i], NULL, &had) == 0 && had.sa_handler == SIG_DFL)
            sigaction(asking[i], &ours, NULL);
    }
}

/* In a step, one line for a node whose disk is not there, from its first task. */
static int begin_local(struct capture *c, const char *local, struct err *e)
{
    int status;
    if (local == NULL || local_traces_begin(&c->traces, local, c->run, c->full_dir, e) == 0)
        return 0;
    err_prefix(e, "%s", c->host);
    status = (int)e->code;
    if (c->step.shared && !c->step.leads_node)
        e->code = ERR_NONE;
    return status;
}

static int capture(struct capture *c, const struct capture_opts *o, char **argv, struct err *e)
{
    struct err why = {.code = ERR_NONE};
    int status;
    bool recorded;
    capture_step_read(&c->step);
    if (cmd_library(&c->arena, &c->library, e) < 0 || check_program(c, argv[0], e) < 0 ||
        make_output(c, e) < 0)
        return (int)e->code;
    name_run(c);
    if (wants_plugin(o) && c->step.task == 0)
        report_slot(c);
    capture_step_begin(&c->step, c->full_dir);
    status = begin_local(c, o->local, e);
    recorded = status == 0;
    outlive_program();
    if (recorded) {
        status = run_program(c, o, argv, e);
        recorded = e->code == ERR_NONE;
    }
    if (local_traces_end(&c->traces, &why) < 0) {
        fprintf(stderr, "specter: %s: %s\n", c->host, why.msg);
        recorded = false;
    }
    close_step(c, o, argv, recorded);
    return status;
}

/* ---- for job scripts ---- */

static void print_export(const char *name, const char *value, const char *behind)
{
    struct buf word = BUF_INIT;
    put_shell_word(&word, value);
    printf("export %s=%s%s\n", name, word.data, behind);
    buf_release(&word);
}

/* The folder need not be there yet, nor on this machine. */
static const char *absolute(struct capture *c, const char *dir)
{
    char here[PATH_MAX];
    while (dir[0] == '.' && dir[1] == '/')
        dir += 2 + strspn(dir + 2, "/");
    if (dir[0] == '/' || getcwd(here, sizeof here) == NULL)
        return dir;
    return arena_printf(&c->arena, "%s%s%s", here, strcmp(here, "/") != 0 ? "/" : "", dir);
}

/* Options, and what the environment says already. SPECTER_RUN is not among it: every start of the
 * job is a run of its own. */
static int print_env(struct capture *c, const struct capture_opts *o, struct err *e)
{
    const char *had = getenv("LD_PRELOAD");
    if (cmd_library(&c->arena, &c->library, e) < 0)
        return (int)e->code;
    if (app_asan_in_front(had != NULL ? had : "") > 0)
        print_export("LD_PRELOAD", preload_list(c), "");
    else
        print_export("LD_PRELOAD", c->library, "\"${LD_PRELOAD:+:$LD_PRELOAD}\"");
    for (const struct setting *s = settings; s < settings + SETTINGS; s++) {
        const char *value = given(o, s) != NULL ? given(o, s) : getenv(s->variable);
        if (s->kind == SETTING_PATH)
            value = absolute(c, c->dir);
        if (value != NULL && value[0] != '\0')
            print_export(s->variable, value, "");
    }
    for (const struct tool *t = tools; t < tools + TOOLS; t++) {
        if (is_to_be_set(t, c, o))
            print_export(t->variable, c->library, "");
    }
    return 0;
}

static int run(const struct command *self, int argc, char **argv, struct err *e)
{
    struct capture_opts o = {.output = NULL};
    struct capture c = {.dir = NULL};
    int n, status = cmd_parse(self, &o, argc, argv, true, &n, e);
    if (status != 0)
        return status;
    if (o.list_hooks)
        return list_hooks();
    if (o.local != NULL && o.print_env) {
        err_set(e, ERR_USAGE, "--local needs a capture that gathers: it has no variable to print");
        return ERR_USAGE;
    }
    if (n == 0 && !o.print_env) {
        err_set(e, ERR_USAGE, "no command given to capture (see 'specter help capture')");
        return ERR_USAGE;
    }
    for (const struct setting *s = settings; s < settings + SETTINGS; s++) {
        const char *text = given(&o, s);
        struct setting_value v;
        if (text == NULL || s->kind == SETTING_PATH || setting_parse(s->kind, text, &v))
            continue;
        err_set(e, ERR_USAGE, "--%s: '%s' is not %s", s->option, text, setting_expected(s->kind));
        return ERR_USAGE;
    }
    arena_init(&c.arena);
    if (!o.print_env)
        loader_init(&c.loader, &c.arena, ASK_S);
    c.dir = o.output != NULL ? o.output : cmd_input(0, NULL);
    status = o.print_env ? print_env(&c, &o, e) : capture(&c, &o, argv, e);
    loader_release(&c.loader);
    arena_release(&c.arena);
    return status;
}

const struct command cmd_capture = {
    .name = "capture",
    .synopsis = "capture [OPTIONS] [--] COMMAND...\n"
                "capture [OPTIONS] --print-env\n"
                "capture --list-hooks",
    .summary = "run a program and record its NCCL and cuBLAS calls",
    .details =
        "Preloads libspecter.so into COMMAND and everything that it starts. Each process that "
        "makes "
        "a traced call writes one file, specter_trace_rank<R>.jsonl, into DIR; a shell or a "
        "launcher "
        "writes none. An older run in DIR is never overwritten.\n"
        "\n"
        "The program runs as if untraced: its output and its exit status are its own (128+n when "
        "signal n ended it, 127 not found, 126 not executable). It is not started, with status 3 "
        "and "
        "one line that names the way out, when the library is not there, when DIR cannot be "
        "written, or when a preload would make it fail or cannot reach it: it is linked to musl, "
        "needs AddressSanitizer's runtime first, has a glibc that is too old for the library, is "
        "setuid, or for another processor. docs/preload.md has these, and what a preload changes.\n"
        "\n"
        "Marks of the program are recorded, too: those of include/specter/specter.h and of NVTX.\n"
        "\n"
        "Set in COMMAND's environment: LD_PRELOAD (in front of what is there), SPECTER_OUTPUT, "
        "SPECTER_RUN (anew each time), and for each other option its variable: SPECTER_MAX_SIZE "
        "for --max-size. Unless they are set already, also NVTX_INJECTION64_PATH (not for "
        "--no-marks without --iterations) and, for --nccl-plugin, NCCL_PROFILER_PLUGIN. They "
        "work without this command, too, and --print-env prints them, but for SPECTER_RUN, for an "
        "sbatch file or a pod:\n"
        "  eval \"$(specter capture -o /data/traces --ring 2000 --print-env)\"\n"
        "Captures that srun or Open MPI's mpirun starts side by side are one run with one closing "
        "line, from the last of them.\n"
        "\n"
        "SPECTER_DISABLE=1 switches everything off. SPECTER_LIB names another libspecter.so to "
        "preload.\n"
        "\n"
        "A recording can be cut to what matters: in time (--delay, --duration), by iterations "
        "that the program marks, by ranks, by kinds of records, by sampling. Traces say what was "
        "left out, and the operations of a communicator keep their numbers. --ring keeps the end "
        "of a long run in a file of fixed size that outlives a kill; `specter dump` reads it "
        "while the program runs.",
    .rows = rows,
    .run = run,
};
