/* SPDX-License-Identifier: MIT
 *
 * Traces that are recorded on a node's own disk and gathered at the end (capture.h).
 */
#include "cmd/capture.h"

#include "base/arena.h"
#include "base/child.h"
#include "specter/trace.h"
#include "trace/trace_summary.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK_SIZE ((size_t)1 << 20)
#define COLLISIONS_MAX 10000

int local_traces_begin(struct local_traces *l, const char *local, const char *run, const char *to,
                       struct err *e)
{
    char full[PATH_MAX];
    memset(l, 0, sizeof *l);
    if (local[0] == '\0')
        return err_set(e, ERR_USAGE, "--local: the name of the directory is empty");
    if (realpath(local, full) == NULL)
        return err_set(e, ERR_INPUT,
                       "--local '%s': %s; it is not made, as it should be a disk of "
                       "the node",
                       local, strerror(errno));
    if (snprintf(l->dir, sizeof l->dir, "%s/specter-%s.XXXXXX", full, run) >= (int)sizeof l->dir ||
        snprintf(l->to, sizeof l->to, "%s", to) >= (int)sizeof l->to) {
        l->dir[0] = '\0';
        return err_set(e, ERR_INPUT, "--local '%s': the path is too long", local);
    }
    if (mkdtemp(l->dir) == NULL) {
        l->dir[0] = '\0';
        return err_set(e, ERR_INPUT, "--local '%s': cannot make a folder there: %s", local,
                       strerror(errno));
    }
    return 0;
}

/* The entry of the file; a new one where it is seen for the first time. */
static struct local_trace *entry_of(struct local_traces *l, const char *name)
{
    for (size_t i = 0; i < l->count; i++) {
        if (strcmp(l->list[i].name, name) == 0)
            return &l->list[i];
    }
    ARRAY_GROW(l->list, l->cap, l->count + 1);
    l->list[l->count] = (struct local_trace){.out = -1};
    snprintf(l->list[l->count].name, sizeof l->list[l->count].name, "%s", name);
    return &l->list[l->count++];
}

/* Under its own name, or under one with a number where that is taken: rank3.1.jsonl, as the tracer
 * does. Returns 0, or -1 with errno. */
static int open_out(const struct local_traces *l, struct local_trace *t)
{
    size_t len = strlen(t->name), suffix = strlen(SPECTER_TRACE_SUFFIX);
    bool trace = len > suffix && strcmp(t->name + len - suffix, SPECTER_TRACE_SUFFIX) == 0;
    int stem = (int)(trace ? len - suffix : len),
        dir = open(l->to, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return -1;
    for (int i = 0; i < COLLISIONS_MAX && t->out < 0; i++) {
        int n = i == 0 ? snprintf(t->out_name, sizeof t->out_name, "%s", t->name)
                       : snprintf(t->out_name, sizeof t->out_name, "%.*s.%d%s", stem, t->name, i,
                                  t->name + stem);
        if (n >= (int)sizeof t->out_name)
            break;
        t->out =
            openat(dir, t->out_name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (t->out < 0 && errno != EEXIST)
            break;
    }
    close(dir);
    return t->out >= 0 ? 0 : -1;
}

/* Copies the bytes from `from` on to the same place in the target. 0, or -1 with errno. */
static int copy_from(struct local_trace *t, int in, off_t from)
{
    char *block = array_new(1, BLOCK_SIZE);
    ssize_t got = 0, put = 0;
    while (put >= 0 && (got = pread(in, block, BLOCK_SIZE, from)) > 0) {
        for (ssize_t done = 0; done < got && put >= 0; done += put)
            put = pwrite(t->out, block + done, (size_t)(got - done), from + done);
        from += got;
    }
    free(block);
    if (got < 0 || put < 0)
        return -1;
    t->copied = from;
    return ftruncate(t->out, from);
}

/* `all`: also what has been copied already: the tracer may have changed it in its place. Without, a
 * file that has become shorter, or has changed and not grown, is copied as a whole. */
static int copy_trace(struct local_traces *l, struct local_trace *t, bool all)
{
    struct stat st;
    int rc = -1, fd, dir = open(l->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    fd = dir >= 0 ? openat(dir, t->name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC) : -1;
    if (dir >= 0)
        close(dir);
    if (fd < 0 || fstat(fd, &st) < 0)
        goto out;
    rc = 0;
    if (!all && t->out >= 0 && st.st_size == t->copied && st.st_mtim.tv_sec == t->mtime.tv_sec &&
        st.st_mtim.tv_nsec == t->mtime.tv_nsec)
        goto out;
    rc = t->out < 0 ? open_out(l, t) : 0;
    if (rc == 0)
        rc = copy_from(t, fd, all || st.st_size <= t->copied ? 0 : t->copied);
    t->mtime = st.st_mtim;
out:
    if (rc < 0)
        l->error = errno;
    if (fd >= 0)
        close(fd);
    return rc;
}

/* Enters every regular file of the local folder in the list. */
static void find_traces(struct local_traces *l)
{
    const struct dirent *entry;
    struct stat st;
    DIR *d = opendir(l->dir);
    while (d != NULL && (entry = readdir(d)) != NULL) {
        if (entry->d_name[0] != '.' &&
            fstatat(dirfd(d), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
            entry_of(l, entry->d_name);
    }
    if (d != NULL)
        closedir(d);
}

void local_traces_gather(struct local_traces *l)
{
    find_traces(l);
    for (size_t i = 0; i < l->count; i++)
        copy_trace(l, &l->list[i], false);
}

/* Closes the copy, and removes the local file where the copy is complete, else the copy. */
static void finish_trace(const struct local_traces *l, struct local_trace *t, bool copied)
{
    const char *folder = copied ? l->dir : l->to;
    const char *name = copied ? t->name : t->out_name;
    int dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir >= 0 && (copied || t->out >= 0))
        unlinkat(dir, name, 0);
    if (dir >= 0)
        close(dir);
    if (t->out >= 0)
        close(t->out);
}

/* Returns whether a process that the program has left behind still records into the file. */
static bool is_recorded(const struct trace_heads *heads, const struct local_trace *t)
{
    for (size_t i = 0; i < heads->count; i++) {
        const struct trace_head *head = &heads->list[i];
        if (strcmp(head->name, t->name) == 0)
            return !head->closed && head->pid > 0 && child_is_alive(head->pid);
    }
    return false;
}

int local_traces_end(struct local_traces *l, struct err *e)
{
    struct arena arena = {0};
    struct trace_heads heads;
    struct err why;
    size_t left = 0;
    if (l->dir[0] == '\0')
        return 0;
    find_traces(l);
    trace_heads(&heads, l->dir, &arena, &why); /* what cannot be read cannot be copied either */
    for (size_t i = 0; i < l->count; i++) {
        bool copied = copy_trace(l, &l->list[i], true) == 0;
        if (copied && is_recorded(&heads, &l->list[i])) {
            l->error = EBUSY;
            copied = false;
        }
        if (copied && fsync(l->list[i].out) < 0) { /* only then the original goes */
            l->error = errno;
            copied = false;
        }
        left += !copied;
        finish_trace(l, &l->list[i], copied);
    }
    rmdir(l->dir); /* what else the program has put there stays */
    free(l->list);
    free(heads.list);
    arena_release(&arena);
    if (left == 0)
        return 0;
    return err_set(e, ERR_INPUT, "cannot gather %zu of %zu traces into '%s': %s; they stay in '%s'",
                   left, l->count, l->to,
                   l->error == EBUSY ? "a process that was left behind still records"
                                     : strerror(l->error),
                   l->dir);
}
