/* SPDX-License-Identifier: MIT */
#include "file.h"

#include "clock.h"
#include "specter/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Out of the way of programs that count on low numbers, or have closed 0, 1 or 2. */
#define FD_LOWEST 200
#define COLLISIONS_MAX 10000

static int make_directory(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0700); /* what matters shows when the last one is opened */
        *slash = '/';
    }
    mkdir(path, 0700);
    return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* Moves the descriptor to a high number. Where none is left, it stays where it is, unless that is
 * 0, 1 or 2. */
int file_move_up(int fd)
{
    int moved = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, FD_LOWEST) : fd;
    if (fd < 0)
        return fd;
    if (moved < 0)
        moved = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (moved < 0 && fd > STDERR_FILENO)
        return fd;
    close(fd);
    return moved;
}

static void stem_of(char *stem, size_t size, const struct config *c)
{
    if (c->rank != CONFIG_UNKNOWN)
        snprintf(stem, size, SPECTER_TRACE_PREFIX "rank%lld", (long long)c->rank);
    else
        snprintf(stem, size, SPECTER_TRACE_PREFIX "%s_%lld", c->host, (long long)c->pid);
    for (char *p = stem; *p != '\0'; p++) {
        if (*p == '/')
            *p = '_';
    }
}

static int open_new(int dir, const char *stem, char *name, size_t size)
{
    int fd = -1;
    for (int i = 0; i < COLLISIONS_MAX && fd < 0; i++) {
        if (i == 0)
            snprintf(name, size, "%s" SPECTER_TRACE_SUFFIX, stem);
        else
            snprintf(name, size, "%s.%d" SPECTER_TRACE_SUFFIX, stem, i);
        fd = openat(dir, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd < 0 && errno != EEXIST && errno != ELOOP)
            break;
    }
    return fd;
}

/* Notes what the descriptors stand for. */
static int remember(struct file *f)
{
    struct stat st;
    if (f->fd < 0 || f->dir < 0 || fstat(f->dir, &st) < 0)
        return -1;
    f->dir_dev = st.st_dev;
    f->dir_ino = st.st_ino;
    if (fstat(f->fd, &st) < 0)
        return -1;
    f->dev = st.st_dev;
    f->ino = st.st_ino;
    return 0;
}

/* Nothing stays of what could not be opened for good. */
static int undo(struct file *f, int error, bool made)
{
    if (made)
        unlinkat(f->dir, f->base, 0);
    if (f->fd >= 0)
        close(f->fd);
    if (f->dir >= 0)
        close(f->dir);
    f->fd = f->dir = -1;
    return error;
}

int file_open(struct file *f, const struct config *c)
{
    char stem[128];
    f->fd = -1;
    f->size = 0;
    strcpy(f->name, c->output);
    f->dir = file_move_up(make_directory(f->name));
    if (f->dir < 0)
        return errno;
    stem_of(stem, sizeof stem, c);
    f->fd = open_new(f->dir, stem, f->base, sizeof f->base);
    if (f->fd < 0)
        return undo(f, errno, false);
    f->fd = file_move_up(f->fd);
    if (remember(f) < 0)
        return undo(f, errno, true);
    snprintf(f->name + strlen(f->name), sizeof f->name - strlen(f->name), "/%s", f->base);
    return 0;
}

static bool is_still(int fd, dev_t dev, ino_t ino)
{
    struct stat st;
    return fd >= 0 && fstat(fd, &st) == 0 && st.st_dev == dev && st.st_ino == ino;
}

bool file_is_ours(const struct file *f)
{
    return is_still(f->fd, f->dev, f->ino);
}

/* The folder's descriptor; -1 when it no longer is. */
static int folder_of(const struct file *f)
{
    return is_still(f->dir, f->dir_dev, f->dir_ino) ? f->dir : -1;
}

/* The limit on file sizes raises a signal, which is blocked in the writer's thread; taken here, it
 * does not stay behind. */
static void take_signal(void)
{
    const struct timespec at_once = {0, 0};
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGXFSZ);
    while (sigtimedwait(&set, NULL, &at_once) > 0)
        continue;
}

/* Removes from the file what is behind the last newline of lines[0..len). */
static size_t cut_back(struct file *f, const char *lines, size_t len)
{
    const char *newline = len > 0 ? memrchr(lines, '\n', len) : NULL;
    size_t kept = newline != NULL ? (size_t)(newline + 1 - lines) : 0;
    if (kept < len && ftruncate(f->fd, f->size + (off_t)kept) == 0)
        lseek(f->fd, f->size + (off_t)kept, SEEK_SET);
    return kept;
}

int file_allocate(struct file *f, off_t bytes)
{
    int error = 0;
    while (fallocate(f->fd, 0, 0, bytes) != 0 && (error = errno) == EINTR)
        error = 0;
    if (error != 0)
        take_signal();
    else
        f->size = bytes;
    return error;
}

/* Where the file stands, or at offset `at` for one >= 0; *done is how much was written. Not by
 * pwrite(): a program's seccomp filter allows what stdio needs, and kills for other calls. */
static int write_whole(struct file *f, const char *lines, size_t len, off_t at, size_t *done)
{
    int error = 0;
    *done = 0;
    if (!file_is_ours(f)) {
        f->fd = -1;
        return EBADF;
    }
    if (at >= 0 && lseek(f->fd, at, SEEK_SET) != at)
        return errno;
    while (*done < len && error == 0) {
        ssize_t n = write(f->fd, lines + *done, len - *done);
        if (n > 0)
            *done += (size_t)n;
        else if (n == 0 || errno != EINTR)
            error = n == 0 ? EIO : errno;
    }
    if (error != 0)
        take_signal();
    return error;
}

int file_write(struct file *f, const char *lines, size_t len, size_t *kept)
{
    int error = write_whole(f, lines, len, -1, kept);
    if (f->fd < 0)
        return error;
    if (error != 0)
        *kept = cut_back(f, lines, *kept);
    f->size += (off_t)*kept;
    return error;
}

int file_replace(struct file *f, off_t at, const char *lines, size_t len)
{
    size_t done;
    int error = write_whole(f, lines, len, at, &done);
    if (error == 0)
        f->size = at + (off_t)len;
    return error;
}

size_t file_cut_tail(struct file *f, char *buf, size_t size)
{
    const char *newline;
    size_t len;
    if (!file_is_ours(f) || f->size < 2 * (off_t)size ||
        pread(f->fd, buf, size, f->size - (off_t)size) != (ssize_t)size)
        return 0;
    newline = memchr(buf, '\n', size); /* what is before it began further ahead */
    len = (size_t)(buf + size - 1 - newline);
    if (ftruncate(f->fd, f->size - (off_t)len) != 0)
        return 0;
    memmove(buf, newline + 1, len);
    f->size -= (off_t)len;
    lseek(f->fd, f->size, SEEK_SET);
    return len;
}

void file_discard(struct file *f)
{
    if (file_is_ours(f) && folder_of(f) >= 0) /* the program may have another folder by now */
        unlinkat(f->dir, f->base, 0);
    file_close(f);
}

void file_close(struct file *f)
{
    if (file_is_ours(f))
        close(f->fd);
    if (folder_of(f) >= 0)
        close(f->dir);
    f->fd = f->dir = -1;
}

/* ---- requests ---- */

#define REQUEST_POLL_NS INT64_C(200000000)

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
    if (now - q->polled_ns < REQUEST_POLL_NS)
        return false;
    q->polled_ns = now;
    q->begun = true;
    dir = folder_of(f);
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
    int dir = folder_of(f), error = 0;
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
