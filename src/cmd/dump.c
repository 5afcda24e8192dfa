/* SPDX-License-Identifier: MIT
 *
 * specter dump: what the traced processes of a run hold at this moment, as a run of its own.
 *
 * A file in DIR asks the tracers that still live; each puts its answer into a new folder. What does
 * not answer is copied from the file that it left, so that the command also works when nothing runs
 * any more. No tracer is connected to or signalled.
 */
#include "base/arena.h"
#include "base/buf.h"
#include "base/child.h"
#include "base/now.h"
#include "cmd/cmd.h"
#include "specter/trace.h"
#include "trace/trace_summary.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define POLL_NS 20000000
#define NAMED_MAX 4 /* ranks named in one line */

struct dump_opts {
    const char *output;
    double wait_s;
};

static const struct opt dump_rows[] = {
    {"output", 'o', OPT_STR, offsetof(struct dump_opts, output), "OUT",
     "the folder to make, on the file system of DIR (default: DIR/dump-TIME)"},
    {"wait", 0, OPT_DOUBLE, offsetof(struct dump_opts, wait_s), "SECONDS",
     "how long processes may take to answer (default: 5)"},
    OPT_END,
};

/* One dump under way. */
struct dump {
    struct arena arena;
    struct trace_heads heads; /* of the newest run */
    const char *dir;
    const char *name, *path; /* of the folder: in DIR, and with it */
    int dirfd, to;
    char host[HOST_NAME_MAX + 1];
    struct buf silent; /* who did not answer */
    size_t nsilent;
};

/* ---- who is there ---- */

static void keep_newest_run(struct trace_heads *heads)
{
    const struct trace_head *newest = NULL;
    const char *run;
    size_t kept = 0;
    for (size_t i = 0; i < heads->count; i++) {
        if (newest == NULL || heads->list[i].real_ns > newest->real_ns)
            newest = &heads->list[i];
    }
    run = newest != NULL ? newest->run : "";
    for (size_t i = 0; i < heads->count; i++) {
        if (strcmp(heads->list[i].run, run) == 0)
            heads->list[kept++] = heads->list[i];
    }
    heads->count = kept;
}

/* Returns whether the process may still answer. Of other machines nothing is known. */
static bool may_live(const struct dump *d, const struct trace_head *head)
{
    if (head->closed)
        return false;
    if (strcmp(head->host, d->host) != 0 || head->pid <= 0)
        return true;
    return child_is_alive(head->pid);
}

static bool has_answered(const struct dump *d, const struct trace_head *head)
{
    return faccessat(d->to, head->name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static size_t count_awaited(const struct dump *d)
{
    size_t n = 0;
    for (size_t i = 0; i < d->heads.count; i++)
        n += !has_answered(d, &d->heads.list[i]) && may_live(d, &d->heads.list[i]);
    return n;
}

/* ---- asking ---- */

static int make_folder(struct dump *d, struct err *e)
{
    char day[32];
    time_t now = time(NULL);
    struct tm tm;
    gmtime_r(&now, &tm);
    strftime(day, sizeof day, "%Y%m%dT%H%M%S", &tm);
    d->name = arena_printf(&d->arena, SPECTER_DUMP_PREFIX "%s", day);
    for (int i = 1; mkdirat(d->dirfd, d->name, 0700) < 0; i++) {
        if (errno != EEXIST || i > 1000)
            return err_set(e, ERR_INPUT, "cannot make a folder in '%s': %s", d->dir,
                           strerror(errno));
        d->name = arena_printf(&d->arena, SPECTER_DUMP_PREFIX "%s.%d", day, i);
    }
    d->path = arena_printf(&d->arena, "%s/%s", d->dir, d->name);
    d->to = openat(d->dirfd, d->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return d->to >= 0 ? 0 : err_set(e, ERR_INPUT, "cannot open '%s': %s", d->path, strerror(errno));
}

/* Under another name first: a tracer sees all of it or nothing. */
static int put_request(struct dump *d, struct err *e)
{
    const char *part = arena_printf(&d->arena, SPECTER_DUMP_REQUEST ".%ld", (long)getpid());
    int fd = openat(d->dirfd, part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool written = fd >= 0 && dprintf(fd, "%s\n", d->name) > 0;
    if (fd >= 0)
        close(fd);
    if (written && renameat(d->dirfd, part, d->dirfd, SPECTER_DUMP_REQUEST) == 0)
        return 0;
    err_set(e, ERR_INPUT, "cannot write to directory '%s': %s", d->dir, strerror(errno));
    unlinkat(d->dirfd, part, 0);
    return -1;
}

static int ask(struct dump *d, double wait_s, struct err *e)
{
    const struct timespec nap = {0, POLL_NS};
    double deadline = now_s() + wait_s;
    if (count_awaited(d) == 0)
        return 0;
    if (put_request(d, e) < 0)
        return -1;
    while (count_awaited(d) > 0 && now_s() < deadline)
        nanosleep(&nap, NULL);
    unlinkat(d->dirfd, SPECTER_DUMP_REQUEST, 0);
    for (size_t i = 0; i < d->heads.count; i++) {
        const struct trace_head *head = &d->heads.list[i];
        if (has_answered(d, head) || !may_live(d, head) || d->nsilent++ >= NAMED_MAX)
            continue;
        buf_puts(&d->silent, d->nsilent > 1 ? ", " : "");
        if (head->rank >= 0)
            buf_printf(&d->silent, "rank %" PRId64 " on %s", head->rank, head->host);
        else
            buf_puts(&d->silent, head->name);
    }
    return 0;
}

/* ---- what did not answer ---- */

/* The lines of a flight recording that hold something, without what fills their slots. */
static int copy_lines(FILE *from, FILE *to)
{
    char *line = NULL;
    size_t cap = 0;
    ssize_t len;
    while ((len = getline(&line, &cap, from)) > 0) {
        while (len > 0 && (line[len - 1] == '\n' || line[len - 1] == ' '))
            len--;
        if (len > 0 && line[0] == '{') {
            fwrite(line, 1, (size_t)len, to);
            putc('\n', to);
        }
    }
    free(line);
    return ferror(from) || ferror(to) ? -1 : 0;
}

static int copy_file(const struct dump *d, const char *name)
{
    int in = openat(d->dirfd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    int out = openat(d->to, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    FILE *from = in >= 0 ? fdopen(in, "r") : NULL, *to = out >= 0 ? fdopen(out, "w") : NULL;
    int status = from != NULL && to != NULL ? copy_lines(from, to) : -1;
    if (from != NULL)
        fclose(from);
    if (to != NULL && fclose(to) != 0)
        status = -1;
    return status;
}

/* An ordinary trace is the same file under a second name. */
static int take_left(struct dump *d, struct err *e)
{
    for (size_t i = 0; i < d->heads.count; i++) {
        const struct trace_head *head = &d->heads.list[i];
        if (has_answered(d, head))
            continue;
        if (!head->ring && linkat(d->dirfd, head->name, d->to, head->name, 0) == 0)
            continue;
        if (copy_file(d, head->name) < 0)
            return err_set(e, ERR_INPUT, "cannot copy '%s/%s' to '%s': %s", d->dir, head->name,
                           d->path, strerror(errno));
    }
    return 0;
}

/* ---- all of it ---- */

/* Checks the output before any process is asked, so that the final move does not fail. */
static int check_output(struct dump *d, const char *output, struct err *e)
{
    struct stat from, to;
    if (output == NULL)
        return 0;
    if (lstat(output, &to) == 0)
        return err_set(e, ERR_INPUT, "cannot make '%s': %s", output, strerror(EEXIST));
    if (stat(dirname(arena_strdup(&d->arena, output)), &to) < 0 || fstat(d->dirfd, &from) < 0)
        return err_set(e, ERR_INPUT, "cannot make '%s': %s", output, strerror(errno));
    if (from.st_dev != to.st_dev)
        return err_set(e, ERR_INPUT,
                       "cannot make '%s': it is not on the file system of '%s', where dumps are "
                       "written",
                       output, d->dir);
    return 0;
}

/* Never over something that is there. Where the file system (NFS) or the kernel knows no such
 * rename, an empty folder of ours holds the place, and a rename replaces it. */
static int rename_new(const char *from, const char *to)
{
    int saved;
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
        return 0;
    if ((errno != EINVAL && errno != ENOSYS) || mkdir(to, 0700) < 0)
        return -1;
    if (rename(from, to) == 0)
        return 0;
    saved = errno;
    rmdir(to);
    errno = saved;
    return -1;
}

static int dump(struct dump *d, const struct dump_opts *o, struct err *e)
{
    if (trace_heads(&d->heads, d->dir, &d->arena, e) < 0)
        return -1;
    keep_newest_run(&d->heads);
    if (d->heads.count == 0)
        return err_set(e, ERR_INPUT, "nothing to dump: no traces in '%s'", d->dir);
    d->dirfd = open(d->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (d->dirfd < 0)
        return err_set(e, ERR_INPUT, "cannot read '%s': %s", d->dir, strerror(errno));
    if (gethostname(d->host, sizeof d->host - 1) < 0)
        d->host[0] = '\0';
    if (check_output(d, o->output, e) < 0 || make_folder(d, e) < 0 || ask(d, o->wait_s, e) < 0 ||
        take_left(d, e) < 0)
        return -1;
    if (o->output != NULL && rename_new(d->path, o->output) < 0)
        return err_set(e, ERR_INPUT, "cannot move the dump to '%s': %s; it is in '%s'", o->output,
                       strerror(errno), d->path);
    if (o->output != NULL)
        d->path = o->output;
    if (d->nsilent > 0)
        fprintf(stderr, "specter: no answer within %g s: %s%s; what they had written is copied\n",
                o->wait_s, d->silent.data, d->nsilent > NAMED_MAX ? ", ..." : "");
    fprintf(stderr, "specter: %zu rank%s in %s; next: specter analyze %s\n", d->heads.count,
            d->heads.count == 1 ? "" : "s", d->path, d->path);
    return 0;
}

static int run(const struct command *self, int argc, char **argv, struct err *e)
{
    struct dump_opts o = {NULL, 5};
    struct dump d = {.dirfd = -1, .to = -1, .silent = BUF_INIT};
    int n, status = cmd_parse(self, &o, argc, argv, false, &n, e);
    if (status != 0)
        return status;
    if (n > 1 || o.wait_s < 0) {
        err_set(e, ERR_USAGE,
                n > 1 ? "dump takes one directory (see 'specter help dump')"
                      : "--wait: a time cannot be negative (see 'specter help dump')");
        return ERR_USAGE;
    }
    arena_init(&d.arena);
    d.dir = cmd_input(n, argv);
    status = dump(&d, &o, e) < 0 ? (int)e->code : 0;
    free(d.heads.list);
    buf_release(&d.silent);
    if (d.dirfd >= 0)
        close(d.dirfd);
    if (d.to >= 0)
        close(d.to);
    arena_release(&d.arena);
    return status;
}

const struct command cmd_dump = {
    .name = "dump",
    .synopsis = "dump [-o OUT] [--wait SECONDS] [DIR]",
    .summary = "what running or killed processes have recorded so far, now",
    .details =
        "Asks every traced process that writes into DIR for what it holds, operations that are "
        "under way included, and leaves one trace a rank in a new folder DIR/dump-TIME, for "
        "`specter analyze`. The processes go on as before. Those that have ended or been killed "
        "are taken from the files they left, also when nothing runs any more; those that do not "
        "answer in time are named, and their files taken as they are.\n"
        "\n"
        "Meant for a job under `specter capture --ring N`, which keeps only the last N "
        "operations; without a ring the dump is the trace so far, under a second name. Where DIR "
        "holds several runs, the newest is taken.\n"
        "\n"
        "Status 3 when there is nothing to dump.",
    .rows = dump_rows,
    .run = run,
};
