/* SPDX-License-Identifier: MIT */
#include "request.h"

#include "clock.h"
#include "specter/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define POLL_NS INT64_C(200000000)

static bool is_new(struct dump_request *q, const struct stat *st, bool first)
{
    if (st->st_ino == q->ino && st->st_mtim.tv_sec == q->made.tv_sec &&
        st->st_mtim.tv_nsec == q->made.tv_nsec)
        return false;
    q->ino = st->st_ino;
    q->made = st->st_mtim;
    return !first && S_ISREG(st->st_mode) && (st->st_uid == geteuid() || st->st_uid == 0);
}

/* The first line, when it may be a folder's name. */
static bool read_name(int dir, char folder[REQUEST_NAME_MAX])
{
    int fd = openat(dir, SPECTER_DUMP_REQUEST, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    ssize_t len = fd >= 0 ? read(fd, folder, REQUEST_NAME_MAX - 1) : -1;
    if (fd >= 0)
        close(fd);
    folder[len > 0 ? len : 0] = '\0';
    folder[strcspn(folder, "\n")] = '\0';
    return strncmp(folder, SPECTER_DUMP_PREFIX, strlen(SPECTER_DUMP_PREFIX)) == 0 &&
           strchr(folder, '/') == NULL;
}

bool request_poll(struct dump_request *q, const struct file *f, char folder[REQUEST_NAME_MAX])
{
    int64_t now = clock_pace_ns();
    bool first = !q->begun;
    struct stat st;
    int dir;
    if (now - q->polled_ns < POLL_NS)
        return false;
    q->polled_ns = now;
    q->begun = true;
    dir = file_dir(f);
    return dir >= 0 && fstatat(dir, SPECTER_DUMP_REQUEST, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           is_new(q, &st, first) && read_name(dir, folder);
}

/* Under another name until it is whole. */
static int answer_copy(int to, const char *name, int (*copy)(void *arg, int fd), void *arg)
{
    char part[sizeof((struct file *)NULL)->base + 8];
    int fd, error;
    snprintf(part, sizeof part, "%s.part", name);
    fd = openat(to, part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return errno;
    error = copy(arg, fd);
    close(fd);
    if (error == 0 && renameat(to, part, to, name) != 0)
        error = errno;
    if (error != 0)
        unlinkat(to, part, 0);
    return error;
}

int request_answer(const struct file *f, const char *folder, int (*copy)(void *arg, int fd),
                   void *arg)
{
    int dir = file_dir(f), error = 0;
    int to = dir >= 0 ? openat(dir, folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
    if (to < 0)
        return dir >= 0 ? errno : EBADF;
    if (copy != NULL)
        error = answer_copy(to, f->base, copy, arg);
    else if (linkat(dir, f->base, to, f->base, 0) != 0)
        error = errno;
    close(to);
    return error;
}
