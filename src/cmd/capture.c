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
#include "cmd/cmd.h"
#include "trace/glance.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#define LIBRARY "libspecter.so"
#define RUN_PREFIX "capture-"
#define NVTX_TOOL "NVTX_INJECTION64_PATH"
#define NCCL_TOOL "NCCL_PROFILER_PLUGIN"

struct capture_opts {
    const char *output, *ranks, *marker;
    bool sync, nccl_plugin, list_hooks;
};

static const struct opt rows[] = {
    {"output", 'o', OPT_STR, offsetof(struct capture_opts, output), "DIR",
     "where the traces go (default: $SPECTER_OUTPUT, else ./traces)"},
    {"sync", 0, OPT_FLAG, offsetof(struct capture_opts, sync), NULL,
     "time every call by waiting for it: slower, and what overlapped does so no more"},
    {"ranks", 0, OPT_STR, offsetof(struct capture_opts, ranks), "LIST",
     "record the operations of these ranks only, such as 0,8-15"},
    {"marker", 0, OPT_STR, offsetof(struct capture_opts, marker), "NAME",
     "a mark or range of this name, of NVTX or specter.h, begins a training step"},
    {"nccl-plugin", 0, OPT_FLAG, offsetof(struct capture_opts, nccl_plugin), NULL,
     "ask NCCL, too: algorithm, protocol, channels and kernel time of each operation"},
    {"list-hooks", 0, OPT_FLAG, offsetof(struct capture_opts, list_hooks), NULL,
     "print the calls that are recorded, and stop"},
    OPT_END,
};

/* One capture under way; all strings belong to the arena. */
struct capture {
    struct arena arena;
    const char *dir;      /* as the user wrote it */
    const char *full_dir; /* absolute */
    const char *library;  /* absolute */
    const char *run;
    char host[HOST_NAME_MAX + 1];
    int64_t start_ns; /* wall clock */
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

/* The folder of this very program; "" when it cannot be told. */
static const char *own_folder(struct arena *a)
{
    char path[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", path, sizeof path);
    const char *slash = len > 0 ? memrchr(path, '/', (size_t)len) : NULL;
    return slash != NULL ? arena_strndup(a, path, (size_t)(slash - path)) : "";
}

/* The library beside the program (a build folder), or where `make install` puts it. */
static int find_library(struct capture *c, struct err *e)
{
    static const char *const folders[] = {"", "/../lib/specter", "/../lib64/specter"};
    const char *forced = getenv("SPECTER_LIB"), *own = own_folder(&c->arena);
    char full[PATH_MAX];
    bool found = forced != NULL && realpath(forced, full) != NULL;
    if (forced != NULL && !found)
        return err_set(e, ERR_INPUT, "SPECTER_LIB: '%s': %s", forced, strerror(errno));
    for (size_t i = 0; !found && i < sizeof folders / sizeof *folders; i++)
        found = realpath(arena_printf(&c->arena, "%s%s/" LIBRARY, own, folders[i]), full) != NULL;
    if (!found)
        return err_set(e, ERR_INPUT,
                       LIBRARY " not found in '%s' or '%s/../lib/specter'; SPECTER_LIB "
                               "can name it",
                       own, own);
    if (strpbrk(full, " :$") != NULL) /* LD_PRELOAD's separators and substitutions; no escape */
        return err_set(e, ERR_INPUT, "cannot preload '%s': its path holds a space, ':' or '$'",
                       full);
    c->library = arena_strdup(&c->arena, full);
    return 0;
}

/* mkdir -p; what is made is for its owner only, as traces tell much about a program. */
static int make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(path, 0700) < 0 && errno != EEXIST)
            return -1;
        *slash = '/';
    }
    return mkdir(path, 0700) < 0 && errno != EEXIST ? -1 : 0;
}

static int make_output(struct capture *c, struct err *e)
{
    char full[PATH_MAX];
    if (c->dir[0] == '\0')
        return err_set(e, ERR_USAGE, "--output: the name of the directory is empty");
    if (make_folders(arena_strdup(&c->arena, c->dir)) < 0)
        return err_set(e, ERR_INPUT, "cannot make directory '%s': %s", c->dir, strerror(errno));
    /* "/." tells a directory from a file, which would pass the test for write access. */
    if (realpath(c->dir, full) == NULL ||
        access(arena_printf(&c->arena, "%s/.", full), W_OK | X_OK) < 0)
        return err_set(e, ERR_INPUT, "cannot write to directory '%s': %s", c->dir, strerror(errno));
    c->full_dir = arena_strdup(&c->arena, full);
    return 0;
}

/* A name for the run that no other has, and that sorts by time. */
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
    c->run =
        arena_printf(&c->arena, RUN_PREFIX "%s.%03ld-%08" PRIx32, day, now.tv_nsec / 1000000, salt);
    if (gethostname(c->host, sizeof c->host - 1) < 0)
        c->host[0] = '\0';
}

/* Ours in front of what the user had, once. */
static const char *preload_list(struct capture *c)
{
    const char *had = getenv("LD_PRELOAD"), *p = had;
    size_t len = strlen(c->library);
    if (had == NULL || had[0] == '\0')
        return c->library;
    while (*(p += strspn(p, " :")) != '\0') {
        size_t entry = strcspn(p, " :");
        if (entry == len && memcmp(p, c->library, len) == 0)
            return had;
        p += entry;
    }
    return arena_printf(&c->arena, "%s:%s", c->library, had);
}

/* The loader ignores LD_PRELOAD for a program that gains rights by being started. */
static void warn_if_privileged(const char *name)
{
    char path[PATH_MAX];
    const char *why = NULL;
    struct stat st;
    if (!child_find(name, X_OK, path, sizeof path) || stat(path, &st) < 0)
        return;
    if (st.st_mode & S_ISUID && st.st_uid != getuid())
        why = "setuid";
    else if (st.st_mode & S_ISGID && st.st_gid != getgid())
        why = "setgid";
    else if (getuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0)
        why = "privileged by file capabilities";
    if (why != NULL)
        fprintf(stderr, "specter: '%s' is %s: the loader preloads nothing into it\n", path, why);
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
    fprintf(stderr,
            "specter: no NCCL or cuBLAS call was seen, so there is no trace; possible causes:\n"
            "  - the program did no such GPU work\n"
            "  - its NCCL is linked statically, or called by way of dlsym() (ctypes, JAX, CuPy)\n"
            "    or RTLD_DEEPBIND\n"
            "  - it is setuid, or a launcher (ssh, mpirun without -x, docker) dropped LD_PRELOAD\n"
            "next: LD_DEBUG=files%s 2>&1 | grep -E 'nccl|cublas'\n",
            command.data);
    buf_release(&command);
}

static const char *plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}

/* by_default: other commands look for traces there without being told. */
static void report_run(const struct glance *g, const struct capture *c, bool by_default)
{
    struct buf shown = BUF_INIT;
    put_shell_word(&shown, c->dir);
    if (g->open > 0)
        fprintf(stderr, "specter: killed or still running, trace without an end: %s%s\n",
                g->opened.data, g->open > GLANCE_NAMED ? ", ..." : "");
    fprintf(stderr,
            "specter: %zu rank%s, %s%" PRIu64 " operation%s, %" PRIu64 " dropped, in %s; "
            "next: specter analyze%s%s\n",
            g->files, plural(g->files), g->open > 0 ? "at least " : "", g->ops, plural(g->ops),
            g->dropped, shown.data, by_default ? "" : " ", by_default ? "" : shown.data);
    buf_release(&shown);
}

static void report(const struct capture *c, const struct capture_opts *o, char **argv)
{
    struct glance_run run = {c->run, c->host, c->start_ns, RUN_PREFIX};
    struct glance g;
    struct err why;
    if (glance_dir(&g, c->full_dir, &run, &why) < 0)
        fprintf(stderr, "specter: %s\n", why.msg);
    else if (g.files == 0)
        report_nothing(argv);
    else
        report_run(&g, c, o->output == NULL);
    glance_release(&g);
}

static int check_ranks(const char *ranks, struct err *e)
{
    struct opt_list list = {NULL, 0, 0};
    int status = ranks != NULL ? opt_parse_list("--ranks", ranks, &list, e) : 0;
    free(list.values);
    return status;
}

/* A place for one tool, which the user has not given to another. */
static bool is_free(const char *variable)
{
    const char *had = getenv(variable);
    return had == NULL || had[0] == '\0';
}

static bool wants_plugin(const struct capture_opts *o)
{
    const char *asked = getenv("SPECTER_NCCL_PLUGIN");
    return o->nccl_plugin || (asked != NULL && asked[0] != '\0' && strcmp(asked, "0") != 0);
}

static int capture(struct capture *c, const struct capture_opts *o, char **argv, struct err *e)
{
    struct child_env env[8];
    size_t n = 0;
    int status;
    if (find_library(c, e) < 0 || make_output(c, e) < 0)
        return (int)e->code;
    name_run(c);
    warn_if_privileged(argv[0]);
    env[n++] = (struct child_env){"LD_PRELOAD", preload_list(c)};
    env[n++] = (struct child_env){"SPECTER_OUTPUT", c->full_dir};
    env[n++] = (struct child_env){"SPECTER_RUN", c->run};
    env[n++] = (struct child_env){"SPECTER_SYNC", o->sync ? "1" : NULL};
    env[n++] = (struct child_env){"SPECTER_RANKS", o->ranks};
    env[n++] = (struct child_env){"SPECTER_MARKER", o->marker};
    if (is_free(NVTX_TOOL))
        env[n++] = (struct child_env){NVTX_TOOL, c->library};
    if (wants_plugin(o) && is_free(NCCL_TOOL))
        env[n++] = (struct child_env){NCCL_TOOL, c->library};
    else if (wants_plugin(o))
        fprintf(stderr,
                "specter: " NCCL_TOOL " is '%s' already, which stays: NCCL tells us nothing\n",
                getenv(NCCL_TOOL));
    status = child_run(argv, env, n, e);
    if (e->code == ERR_NONE)
        report(c, o, argv);
    return status;
}

static int run(const struct command *self, int argc, char **argv, struct err *e)
{
    struct capture_opts o = {.sync = false};
    struct capture c = {.dir = NULL};
    int n, status = cmd_parse(self, &o, argc, argv, true, &n, e);
    if (status >= 0)
        return status;
    if (o.list_hooks)
        return list_hooks();
    if (n == 0) {
        err_set(e, ERR_USAGE, "no command given to capture (see 'specter help capture')");
        return ERR_USAGE;
    }
    if (check_ranks(o.ranks, e) < 0)
        return ERR_USAGE;
    arena_init(&c.arena);
    c.dir = o.output != NULL ? o.output : cmd_input(0, NULL);
    status = capture(&c, &o, argv, e);
    arena_release(&c.arena);
    return status;
}

const struct command cmd_capture = {
    .name = "capture",
    .synopsis =
        "capture [-o DIR] [--sync] [--ranks LIST] [--marker NAME] [--nccl-plugin] [--] COMMAND...\n"
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
        "signal n ended it, 127 not found, 126 not executable). Only when the library is not there "
        "or DIR cannot be written is it not started, with status 3.\n"
        "\n"
        "Marks of the program are recorded, too: those of include/specter/specter.h and of NVTX.\n"
        "\n"
        "Set in COMMAND's environment: LD_PRELOAD, SPECTER_OUTPUT, SPECTER_RUN, "
        "NVTX_INJECTION64_PATH (unless it is set), and by the options SPECTER_SYNC, SPECTER_RANKS, "
        "SPECTER_MARKER and NCCL_PROFILER_PLUGIN (unless it is set). They work without this "
        "command, too:\n"
        "  LD_PRELOAD=/path/to/libspecter.so SPECTER_OUTPUT=traces ./program\n"
        "SPECTER_LIB names another libspecter.so to preload.",
    .rows = rows,
    .run = run,
};
