/* SPDX-License-Identifier: MIT
 *
 * Reports of Nsight Systems as it writes them (.nsys-rep, and .qdrep before 2021). Their format is
 * NVIDIA's own and has no public mark, so that they are known by their names. What reads them is
 * nsys: where it is installed it exports into a private folder, which is removed again; where an
 * export of the same name lies beside the report, that is read and nothing is converted.
 */
#include "trace/nsys.h"

#include "base/buf.h"
#include "base/child.h"
#include "base/err.h"
#include "trace/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static const char *const suffixes[] = {".nsys-rep", ".qdrep"};

/* Returns where the suffix of a report's name begins; NULL: it has none. */
static const char *suffix_of(const char *name)
{
    size_t len = strlen(name);
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        size_t n = strlen(suffixes[i]);
        if (len > n && strcmp(name + len - n, suffixes[i]) == 0)
            return name + len - n;
    }
    return NULL;
}

static bool nsysrep_named(const char *label, const char *head, size_t len)
{
    return suffix_of(label) != NULL && len > 0 && head[0] != '{' && head[0] != '[';
}

static size_t nsysrep_from_stem(const char *from)
{
    const char *suffix = suffix_of(from);
    return suffix != NULL ? (size_t)(suffix - from) : 0;
}

/* `nsys export` writes NAME.sqlite beside NAME.nsys-rep. */
static bool nsysrep_made(const char *path, const char *from)
{
    const size_t len = nsysrep_from_stem(from);
    return len > 0 && strncmp(path, from, len) == 0 && strcmp(path + len, ".sqlite") == 0;
}

static bool nsysrep_sniff(const char *head, size_t len)
{
    (void)head;
    (void)len;
    return false;
}

#ifdef SPECTER_HAVE_SQLITE

/* ---- an export that is there ---- */

static bool is_database(const char *path)
{
    struct stream *s;
    struct err e;
    const char *head;
    ssize_t n;
    bool is;
    if (access(path, R_OK) != 0 || stream_open(&s, path, &e) < 0)
        return false;
    n = stream_peek(s, &head, &e);
    is = n > 0 && reader_nsys.sniff(head, (size_t)n);
    stream_close(s);
    return is;
}

static int read_export(struct run *run, const char *path, const char *label, struct err *e)
{
    struct stream *s;
    int rc;
    if (stream_open(&s, path, e) < 0)
        return -1;
    rc = reader_nsys.read(run, s, label != NULL ? label : stream_label(s), e);
    stream_close(s);
    return rc;
}

/* ---- nsys ---- */

/* Runs nsys, what it says going to a file. Its exit status; 128 + n when a signal ended it; -1 with
 * e filled. */
static int run_nsys(char **argv, const char *log, const char *label, struct err *e)
{
    posix_spawn_file_actions_t actions;
    pid_t pid;
    int why, status = 0;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    why = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (why != 0)
        return err_set(e, ERR_INPUT, "%s: cannot run nsys: %s", label, strerror(why));
    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR)
            return err_set(e, ERR_INPUT, "%s: nsys: %s", label, strerror(errno));
    }
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* The last line that nsys wrote, made harmless; "" when it wrote none. */
static void last_line(const char *log, struct buf *line)
{
    char text[2048];
    size_t n = 0, begin;
    FILE *f = fopen(log, "re");
    if (f == NULL)
        return;
    if (fseek(f, -(long)sizeof text, SEEK_END) < 0)
        rewind(f);
    n = fread(text, 1, sizeof text, f);
    fclose(f);
    while (n > 0 && strchr(" \t\r\n", text[n - 1]) != NULL && text[n - 1] != '\0')
        n--;
    for (begin = n; begin > 0 && text[begin - 1] != '\n';)
        begin--;
    if (n - begin > 200)
        n = begin + 200;
    buf_put_printable(line, text + begin, n - begin);
}

/* Exports into the folder and reads what came out. Payloads are asked for, and not where that
 * fails: older versions have no such option. */
static int convert_in(struct run *run, const char *folder, const char *path, const char *label,
                      struct err *e)
{
    char out[PATH_MAX], log[PATH_MAX], from[PATH_MAX];
    char words[][8] = {"nsys", "export", "--type", "sqlite"}, output[] = "--output";
    char blobs[] = "--include-blobs=true";
    char *argv[] = {words[0], words[1], words[2], words[3], output, out, blobs, from, NULL};
    int rc;
    snprintf(out, sizeof out, "%s/report.sqlite", folder);
    snprintf(log, sizeof log, "%s/nsys.log", folder);
    /* a name is no option */
    if ((size_t)snprintf(from, sizeof from, "%s%s", path[0] == '-' ? "./" : "", path) >=
        sizeof from)
        return err_set(e, ERR_INPUT, "%s: its path is too long", label);
    rc = run_nsys(argv, log, label, e);
    if (rc > 0) {
        unlink(out);
        argv[6] = from;
        argv[7] = NULL;
        rc = run_nsys(argv, log, label, e);
    }
    if (rc > 0) {
        struct buf line = BUF_INIT;
        last_line(log, &line);
        err_set(e, ERR_INPUT, "%s: nsys export ended with status %d%s%s", label, rc,
                line.len > 0 ? ": " : "", line.data);
        buf_release(&line);
        rc = -1;
    } else if (rc == 0 && !is_database(out)) {
        rc = err_set(e, ERR_INPUT, "%s: nsys export wrote no SQLite file", label);
    } else if (rc == 0) {
        rc = read_export(run, out, label, e);
    }
    unlink(out);
    unlink(log);
    return rc;
}

static int nsysrep_read(struct run *run, struct stream *s, const char *label, struct err *e)
{
    const char *path = stream_plain_path(s);
    char beside[PATH_MAX], nsys[PATH_MAX];
    if (path != NULL && suffix_of(path) != NULL &&
        (size_t)snprintf(beside, sizeof beside, "%.*s.sqlite", (int)(suffix_of(path) - path),
                         path) < sizeof beside &&
        is_database(beside))
        return read_export(run, beside, NULL, e);
    if (path == NULL || !child_find("nsys", X_OK, nsys, sizeof nsys)) {
        /* The message tells the command for it, quoted such that it can be pasted into a shell. */
        struct buf quoted = BUF_INIT;
        for (const char *p = label; *p != '\0'; p++)
            buf_printf(&quoted, *p == '\'' ? "'\\%c'" : "%c", *p);
        err_set(e, ERR_INPUT,
                "%s: a report of Nsight Systems: convert it with: nsys export --type sqlite '%s'",
                label, quoted.data);
        buf_release(&quoted);
        return -1;
    }
    const char *tmp = getenv("TMPDIR");
    char folder[PATH_MAX - 64];
    int rc;
    if ((size_t)snprintf(folder, sizeof folder, "%s/specter-nsys-XXXXXX",
                         tmp != NULL && tmp[0] != '\0' ? tmp : "/tmp") >= sizeof folder ||
        mkdtemp(folder) == NULL)
        return err_set(e, ERR_INPUT, "%s: no folder to convert it in: %s", label, strerror(errno));
    rc = convert_in(run, folder, path, label, e);
    rmdir(folder);
    return rc;
}

#else

static int nsysrep_read(struct run *run, struct stream *s, const char *label, struct err *e)
{
    (void)run;
    (void)s;
    return err_set(e, ERR_INPUT, "%s: a report of Nsight Systems, and this build has no SQLite",
                   label);
}

#endif

const struct reader reader_nsysrep = {.name = "nsys report",
                                      .form_of = &reader_nsys,
                                      .made_from = nsysrep_made,
                                      .from_stem = nsysrep_from_stem,
                                      .sniff = nsysrep_sniff,
                                      .named = nsysrep_named,
                                      .read = nsysrep_read,
                                      .apart = true,
                                      .grouped = true,
                                      .unique_comms = true,
                                      .finish = nsys_finish};
