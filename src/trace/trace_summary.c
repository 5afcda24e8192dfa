/* SPDX-License-Identifier: MIT */
#include "trace/trace_summary.h"

#include "base/json.h"
#include "specter/trace.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Holds the longest line and the newline before it. */
#define BLOCK_SIZE ((size_t)SPECTER_LINE_MAX + 1)

#define NO_ID UINT64_MAX

/* What one line says, of whichever record it is. */
struct summary_line {
    struct json_text event, run, host;
    struct json unseen; /* in summary, where it begins; p NULL: not there */
    int64_t real_ns, rank, pid;
    uint64_t id, ops, dropped, ring;
};

/* What the lines at the end of a file say. */
struct ending {
    bool closed; /* the last line is a whole closing record */
    uint64_t ops, dropped;
};

/* Up to `size` bytes of fd from `offset`; what cannot be read is as good as not there. */
static size_t read_at(int fd, char *block, size_t size, off_t offset)
{
    size_t len = 0;
    ssize_t n;
    while (len < size && (n = pread(fd, block + len, size - len, offset + (off_t)len)) > 0)
        len += (size_t)n;
    return len;
}

/* Finds "unseen" in the summary that comes next, and passes over all of it. */
static struct json find_unseen(struct json *j)
{
    struct json found = {.p = NULL};
    struct json_text key;
    if (!json_enter(j, '{'))
        return found;
    while (json_next_key(j, &key)) {
        if (json_text_is(key, "unseen"))
            found = *j;
        json_skip(j);
    }
    return found;
}

/* Appends "kind path" of each, unless it is there. */
static void note_unseen(struct buf *list, struct json j)
{
    struct json_text key;
    struct buf line = BUF_INIT;
    if (!json_enter(&j, '['))
        return;
    while (json_next_item(&j) && json_enter(&j, '{')) {
        struct json_text kind = {NULL, 0, false}, path = {NULL, 0, false};
        while (json_next_key(&j, &key)) {
            if (json_text_is(key, "kind"))
                kind = json_string(&j);
            else if (json_text_is(key, "path"))
                path = json_string(&j);
            else
                json_skip(&j);
        }
        buf_reset(&line);
        json_decode(kind, &line);
        buf_putc(&line, ' ');
        json_decode(path, &line);
        buf_putc(&line, '\n');
        if (j.error == NULL && strstr(list->data, line.data) == NULL)
            buf_puts(list, line.data);
    }
    buf_release(&line);
}

static bool parse_line(const char *text, size_t len, struct summary_line *line)
{
    struct json j;
    struct json_text key;
    memset(line, 0, sizeof *line);
    line->id = NO_ID;
    line->rank = line->pid = -1;
    json_init(&j, text, len);
    json_enter(&j, '{');
    while (json_next_key(&j, &key)) {
        if (json_text_is(key, "event"))
            line->event = json_string(&j);
        else if (json_text_is(key, "run"))
            line->run = json_string(&j);
        else if (json_text_is(key, "host"))
            line->host = json_string(&j);
        else if (json_text_is(key, "real_ns"))
            line->real_ns = json_i64(&j, 0);
        else if (json_text_is(key, "id"))
            line->id = json_u64(&j, NO_ID);
        else if (json_text_is(key, "rank"))
            line->rank = json_i64(&j, -1);
        else if (json_text_is(key, "pid"))
            line->pid = json_i64(&j, -1);
        else if (json_text_is(key, "ring"))
            line->ring = json_u64(&j, 0);
        else if (json_text_is(key, "total_ops"))
            line->ops = json_u64(&j, 0);
        else if (json_text_is(key, "dropped"))
            line->dropped = json_u64(&j, 0);
        else if (json_text_is(key, "summary") && json_peek(&j) == '{')
            line->unseen = find_unseen(&j);
        else
            json_skip(&j);
    }
    return j.error == NULL;
}

static bool belongs(const struct summary_line *init, const struct trace_summary_run *run)
{
    size_t others = run != NULL ? strlen(run->others) : 0;
    if (run == NULL)
        return true;
    if (json_text_is(init->run, run->id))
        return true;
    return json_text_is(init->host, run->host) && init->real_ns >= run->since_ns &&
           (init->run.len < others || memcmp(init->run.p, run->others, others) != 0);
}

/* The first line, when it is an init record; its texts stand in the block. */
static bool read_init(int fd, char *block, struct summary_line *init)
{
    size_t len = read_at(fd, block, BLOCK_SIZE, 0);
    const char *end = memchr(block, '\n', len);
    return end != NULL && parse_line(block, (size_t)(end - block), init) &&
           json_text_is(init->event, "init");
}

/* Whole lines of the last block; unseen may be NULL. Operations are numbered from 0: where no
 * closing record counts them, the highest number does. */
static struct ending read_ending(int fd, char *block, off_t size, struct buf *unseen)
{
    struct ending end = {false, 0, 0};
    struct summary_line line;
    off_t from = size > (off_t)BLOCK_SIZE ? size - (off_t)BLOCK_SIZE : 0;
    size_t len = read_at(fd, block, BLOCK_SIZE, from);
    const char *p = from > 0 ? memchr(block, '\n', len) : block, *newline;
    p = from > 0 && p != NULL ? p + 1 : p;
    for (; p != NULL && (newline = memchr(p, '\n', (size_t)(block + len - p))) != NULL;
         p = newline + 1) {
        if (!parse_line(p, (size_t)(newline - p), &line))
            continue;
        if (line.unseen.p != NULL && unseen != NULL)
            note_unseen(unseen, line.unseen);
        if (json_text_is(line.event, "shutdown"))
            end = (struct ending){newline + 1 == block + len, line.ops, line.dropped};
        else if (line.id != NO_ID && line.id >= end.ops)
            end.ops = line.id + 1;
    }
    return end;
}

static void trace_summary_file(struct trace_summary *g, int dirfd, const char *name, char *block,
                               const struct trace_summary_run *run)
{
    struct ending end;
    struct summary_line init;
    struct stat st;
    uint64_t ring;
    int fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return;
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || !read_init(fd, block, &init) ||
        !belongs(&init, run))
        goto out;
    ring = init.ring;
    end = read_ending(fd, block, st.st_size, &g->unseen);
    if (ring > 0 && !end.closed && end.ops > ring)
        end.ops = ring; /* the others have given way */
    g->files++;
    g->ops += end.ops;
    g->dropped += end.dropped;
    if (!end.closed && g->open++ < TRACE_SUMMARY_NAMED) {
        buf_puts(&g->opened, g->opened.len > 0 ? ", " : "");
        buf_put_printable(&g->opened, name, strlen(name));
    }
out:
    close(fd);
}

static bool is_trace_name(const char *name)
{
    const size_t prefix = strlen(SPECTER_TRACE_PREFIX), suffix = strlen(SPECTER_TRACE_SUFFIX);
    size_t len = strlen(name);
    return len > prefix + suffix && strncmp(name, SPECTER_TRACE_PREFIX, prefix) == 0 &&
           strcmp(name + len - suffix, SPECTER_TRACE_SUFFIX) == 0;
}

static const char *copy_text(struct arena *arena, struct json_text text)
{
    struct buf plain = BUF_INIT, safe = BUF_INIT;
    const char *copy;
    json_decode(text, &plain);
    buf_put_printable(&safe, plain.data, plain.len);
    copy = arena_strndup(arena, safe.data, safe.len);
    buf_release(&plain);
    buf_release(&safe);
    return copy;
}

static void add_head(struct trace_heads *heads, int dirfd, const char *name, char *block,
                     struct arena *arena)
{
    struct summary_line init;
    struct stat st;
    struct trace_head *head;
    int fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && read_init(fd, block, &init)) {
        ARRAY_GROW(heads->list, heads->cap, heads->count + 1);
        head = &heads->list[heads->count++];
        *head = (struct trace_head){.name = arena_strdup(arena, name),
                                    .run = copy_text(arena, init.run),
                                    .host = copy_text(arena, init.host),
                                    .rank = init.rank,
                                    .pid = init.pid,
                                    .real_ns = init.real_ns,
                                    .ring = init.ring > 0};
        head->closed = read_ending(fd, block, st.st_size, NULL).closed;
    }
    close(fd);
}

static int is_trace(const struct dirent *entry)
{
    return is_trace_name(entry->d_name);
}

int trace_heads(struct trace_heads *heads, const char *dir, struct arena *arena, struct err *e)
{
    struct dirent **names;
    int n = scandir(dir, &names, is_trace, alphasort);
    int dirfd = n >= 0 ? open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    char *block = malloc(BLOCK_SIZE);
    *heads = (struct trace_heads){NULL, 0, 0};
    if (block == NULL)
        die("out of memory");
    if (dirfd < 0)
        err_set(e, ERR_INPUT, "cannot read '%s': %s", dir, strerror(errno));
    for (int i = 0; i < n; i++) {
        if (dirfd >= 0)
            add_head(heads, dirfd, names[i]->d_name, block, arena);
        free(names[i]);
    }
    if (n >= 0)
        free(names);
    free(block);
    if (dirfd >= 0)
        close(dirfd);
    return dirfd >= 0 ? 0 : -1;
}

int trace_summary_read(struct trace_summary *g, const char *dir,
                       const struct trace_summary_run *run, struct err *e)
{
    const struct dirent *entry;
    char *block;
    DIR *d;
    memset(g, 0, sizeof *g);
    buf_init(&g->opened);
    buf_init(&g->unseen);
    d = opendir(dir);
    if (d == NULL)
        return err_set(e, ERR_INPUT, "cannot read '%s': %s", dir, strerror(errno));
    block = malloc(BLOCK_SIZE);
    if (block == NULL)
        die("out of memory");
    while ((entry = readdir(d)) != NULL) {
        if (is_trace_name(entry->d_name))
            trace_summary_file(g, dirfd(d), entry->d_name, block, run);
    }
    free(block);
    closedir(d);
    return 0;
}

void trace_summary_release(struct trace_summary *g)
{
    buf_release(&g->opened);
    buf_release(&g->unseen);
}
