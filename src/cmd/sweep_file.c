/* SPDX-License-Identifier: MIT */
#include "cmd/sweep_file.h"

#include "calib/csv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static int cannot_write(const struct sweep_file *f, struct err *e)
{
    return err_set(e, ERR_INPUT, "cannot write '%s': %s", f->path, strerror(errno));
}

/* All of it, however the kernel cuts it up; -1 with errno. */
static int write_all(int fd, const char *text, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, text, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        text += n;
        len -= (size_t)n;
    }
    return 0;
}

/* ---- opening ---- */

/* Returns whether the name still stands for the open file. A sweep that ended meanwhile replaced
 * it. */
static bool is_current(const struct sweep_file *f, const struct stat *open_one)
{
    struct stat named;
    return stat(f->target, &named) == 0 && named.st_ino == open_one->st_ino &&
           named.st_dev == open_one->st_dev;
}

/* 1: open and locked, 0: once more, -1: e says why. */
static int try_open(struct sweep_file *f, struct err *e)
{
    struct stat st;
    int how = O_RDWR | O_CREAT;
    /* A pipe that is open for reading, too, would swallow what no other process reads. */
    if (stat(f->target, &st) == 0 && !S_ISREG(st.st_mode))
        how = O_WRONLY;
    f->fd = open(f->target, how | O_APPEND | O_CLOEXEC, 0666);
    if (f->fd < 0 || fstat(f->fd, &st) < 0)
        return cannot_write(f, e);
    f->regular = S_ISREG(st.st_mode);
    if (!f->regular)
        return 1;
    if (flock(f->fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
        return err_set(e, ERR_INPUT, "'%s' is in use: another sweep writes it", f->path);
    if (is_current(f, &st))
        return 1;
    close(f->fd);
    return 0;
}

int sweep_file_open(struct sweep_file *f, const char *path, struct err *e)
{
    int rc = 0;
    *f = (struct sweep_file){.path = path, .fd = -1, .in_order = true};
    f->target = realpath(path, NULL);
    if (f->target == NULL && (f->target = strdup(path)) == NULL)
        die("out of memory");
    while (rc == 0)
        rc = try_open(f, e);
    return rc < 0 ? -1 : 0;
}

void sweep_file_close(struct sweep_file *f)
{
    if (f->fd >= 0)
        close(f->fd);
    free(f->target);
}

/* ---- what is there already ---- */

static int read_all(const struct sweep_file *f, struct buf *text, struct err *e)
{
    enum { BLOCK = 1 << 16 };
    ssize_t n;
    while ((n = read(f->fd, buf_reserve(text, BLOCK), BLOCK)) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_set(e, ERR_INPUT, "cannot read '%s': %s", f->path, strerror(errno));
        text->len += (size_t)n;
    }
    buf_put(text, "", 0);
    return 0;
}

static bool is_header(const struct csv *c, const char *header)
{
    char *line;
    bool same;
    if (c->count != sweep_columns())
        return false;
    line = sweep_line_of(c->fields, c->count);
    same = strcmp(line, header) == 0;
    free(line);
    return same;
}

/* The same row twice, as where tables of shards are put together, counts once. */
static int keep_row(struct sweep_table *t, const struct csv *c, struct err *e)
{
    enum sweep_status status;
    uint64_t id;
    size_t point;
    if (c->count != sweep_columns())
        return err_set(e, ERR_INPUT, "%zu fields in place of %zu", c->count, sweep_columns());
    if (sweep_line_read(c->fields, &id, &status, e) < 0)
        return -1;
    point = sweep_table_find(t, id);
    if (point == t->count)
        return err_set(e, ERR_INPUT, "a row that is not of this grid");
    if (t->rows[point].line == NULL)
        sweep_table_set(t, point, sweep_line_of(c->fields, c->count), status);
    return 0;
}

static int read_rows(const struct sweep_file *f, struct sweep_table *t, const char *text,
                     size_t len, const char *header, struct err *e)
{
    struct csv c;
    bool first = true;
    int rc = 0;
    csv_init(&c, text, len);
    for (; rc == 0 && csv_next(&c); first = false) {
        if (c.problem != NULL)
            rc = err_set(e, ERR_INPUT, "%s", c.problem);
        else if (is_header(&c, header))
            continue;
        else
            rc = first ? err_set(e, ERR_INPUT, "no table of specter sweep %s", SPECTER_VERSION)
                       : keep_row(t, &c, e);
    }
    if (rc < 0)
        err_prefix(e, "%s:%zu", f->path, c.line);
    csv_release(&c);
    return rc;
}

/* The whole lines at the beginning of a text. */
static size_t whole_lines(const struct buf *text)
{
    const char *newline = memrchr(text->data, '\n', text->len);
    return newline != NULL ? (size_t)(newline + 1 - text->data) : 0;
}

/* Sets in_order: whether the file is the beginning of the finished table, so that appending keeps
 * it so. */
static void compare_order(struct sweep_file *f, const struct sweep_table *t, const char *text)
{
    struct buf want = BUF_INIT;
    sweep_table_csv(t, &want);
    f->in_order = want.len == (size_t)f->length && memcmp(want.data, text, want.len) == 0;
    for (f->last = t->count; f->last > 0 && t->rows[f->last - 1].line == NULL;)
        f->last--;
    buf_release(&want);
}

static int start(struct sweep_file *f, const char *header, struct err *e)
{
    struct buf line = BUF_INIT;
    int rc;
    buf_printf(&line, "%s\n", header);
    rc = write_all(f->fd, line.data, line.len) < 0 ? cannot_write(f, e) : 0;
    f->length = (off_t)line.len;
    buf_release(&line);
    return rc;
}

int sweep_file_resume(struct sweep_file *f, struct sweep_table *t, size_t *cut, struct err *e)
{
    struct buf text = BUF_INIT;
    char *header;
    int rc;
    *cut = 0;
    if (!f->regular)
        return 0;
    header = sweep_header();
    rc = read_all(f, &text, e);
    f->length = (off_t)whole_lines(&text);
    *cut = text.len - (size_t)f->length;
    /* Only of a header may there be less than a line. */
    if (rc == 0 && f->length == 0 && strncmp(header, text.data, text.len) != 0)
        rc = err_set(e, ERR_INPUT, "%s:1: no table of specter sweep", f->path);
    if (rc == 0)
        rc = read_rows(f, t, text.data, (size_t)f->length, header, e);
    if (rc == 0 && *cut > 0 && ftruncate(f->fd, f->length) < 0)
        rc = cannot_write(f, e);
    if (rc == 0 && f->length == 0)
        rc = start(f, header, e);
    else if (rc == 0)
        compare_order(f, t, text.data);
    f->rows = t->have;
    free(header);
    buf_release(&text);
    return rc;
}

/* ---- writing ---- */

int sweep_file_append(struct sweep_file *f, const struct sweep_table *t, size_t point,
                      struct err *e)
{
    struct buf line = BUF_INIT;
    int rc = 0;
    if (!f->regular)
        return 0;
    buf_printf(&line, "%s\n", t->rows[point].line);
    if (write_all(f->fd, line.data, line.len) < 0) {
        rc = cannot_write(f, e);
        if (ftruncate(f->fd, f->length) < 0)
            f->in_order = false; /* the next call drops what is cut */
    } else {
        f->length += (off_t)line.len;
        f->rows++;
        f->in_order = f->in_order && point >= f->last;
        f->last = point + 1;
    }
    buf_release(&line);
    return rc;
}

/* Beside the file, as its name is only given to what is complete. */
static int replace(const struct sweep_file *f, const struct buf *text)
{
    struct buf beside = BUF_INIT;
    struct stat st;
    int fd, why, rc = -1;
    buf_printf(&beside, "%s.tmp", f->target);
    fd = open(beside.data, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd >= 0 && fstat(f->fd, &st) == 0 && fchmod(fd, st.st_mode & 07777) == 0 &&
        write_all(fd, text->data, text->len) == 0 && fsync(fd) == 0)
        rc = rename(beside.data, f->target);
    why = errno;
    if (fd >= 0)
        close(fd);
    if (rc < 0)
        unlink(beside.data);
    errno = why;
    buf_release(&beside);
    return rc;
}

int sweep_file_finish(struct sweep_file *f, const struct sweep_table *t, struct err *e)
{
    struct buf text = BUF_INIT;
    int rc = 0;
    if (f->regular && f->in_order)
        return fsync(f->fd) < 0 ? cannot_write(f, e) : 0;
    sweep_table_csv(t, &text);
    if (f->regular)
        rc = replace(f, &text);
    else
        rc = write_all(f->fd, text.data, text.len);
    if (rc < 0)
        cannot_write(f, e);
    buf_release(&text);
    return rc;
}
