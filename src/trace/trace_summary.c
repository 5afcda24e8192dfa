/* SPDX-License-Identifier: MIT */
#include "trace/trace_summary.h"

#include "trace/jsonl.h"

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

/* Facts from the lines at the end of a file. */
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

/* The list "unseen" of a closing record's summary; p NULL: it has none. */
static struct json find_unseen(struct json_text summary)
{
    struct json found = {.p = NULL}, j;
    struct json_text key;
    json_init(&j, summary.p, summary.len);
    if (!json_enter(&j, '{'))
        return found;
    while (json_next_key(&j, &key)) {
        if (json_text_is(key, "unseen"))
            found = j;
        json_skip(&j);
    }
    return found;
}

/* Appends "kind path" of each, unless it is there. */
static void note_unseen(struct buf *list, struct json j)
{
    struct json_text key;
    struct buf line = BUF_INIT;
    if (j.p == NULL || !json_enter(&j, '['))
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

/* Returns how many operations there are at least by a line: one more than the number of the line's
 * operation, as the first has number 0. 0: the line is of no operation. */
static uint64_t ops_so_far(const struct line *l)
{
    switch (l->record) {
    case SPECTER_REC_NCCL:
        return line_u64(l, NCCL_id, UINT64_MAX) + 1;
    case SPECTER_REC_CUBLAS:
        return line_u64(l, CUBLAS_id, UINT64_MAX) + 1;
    case SPECTER_REC_COPY:
        return line_u64(l, COPY_id, UINT64_MAX) + 1;
    case SPECTER_REC_GRAPH:
        return line_u64(l, GRAPH_id, UINT64_MAX) + 1;
    default:
        return 0;
    }
}

static bool belongs(const struct line *init, const struct trace_summary_run *run)
{
    size_t others = run != NULL ? strlen(run->others) : 0;
    struct json_text id = line_text(init, INIT_run);
    if (run == NULL || json_text_is(id, run->id))
        return true;
    return json_text_is(line_text(init, INIT_host), run->host) &&
           line_real_ns(init) >= run->since_ns &&
           (id.len < others || memcmp(id.p, run->others, others) != 0);
}

/* The first line, when it is an init record; its texts stand in the block. */
static bool read_init(int fd, char *block, struct line *init)
{
    size_t len = read_at(fd, block, BLOCK_SIZE, 0);
    const char *end = memchr(block, '\n', len);
    *init = (struct line)LINE_INIT;
    return end != NULL && line_parse(init, block, (size_t)(end - block), 0) &&
           init->record == SPECTER_REC_INIT;
}

/* Takes the whole lines of a block, which begins with one and which `is_last` of the file. Returns
 * the bytes of these lines. unseen may be NULL. */
static size_t read_lines(struct ending *end, const char *block, size_t len, bool is_last,
                         struct buf *unseen)
{
    struct line line = LINE_INIT;
    const char *p = block, *newline;
    for (; (newline = memchr(p, '\n', (size_t)(block + len - p))) != NULL; p = newline + 1) {
        if (!line_parse(&line, p, (size_t)(newline - p), 0))
            continue;
        if (line.record == SPECTER_REC_SHUTDOWN) {
            *end = (struct ending){is_last && newline + 1 == block + len,
                                   line_u64(&line, SHUTDOWN_total_ops, 0),
                                   line_u64(&line, SHUTDOWN_dropped, 0)};
            if (unseen != NULL)
                note_unseen(unseen, find_unseen(line_text(&line, SHUTDOWN_summary)));
        } else if (ops_so_far(&line) > end->ops) {
            end->ops = ops_so_far(&line);
        }
    }
    return (size_t)(p - block);
}

/* Reads the last block, or all of a ring, whose newest operation may be anywhere in it. Where no
 * closing record counts operations, the highest number does. */
static struct ending read_ending(int fd, char *block, off_t size, bool is_ring, struct buf *unseen)
{
    struct ending end = {false, 0, 0};
    off_t at = !is_ring && size > (off_t)BLOCK_SIZE ? size - (off_t)BLOCK_SIZE : 0;
    size_t len = read_at(fd, block, BLOCK_SIZE, at), used = 0;
    if (at > 0) { /* it begins within a line */
        const char *newline = memchr(block, '\n', len);
        used = newline != NULL ? (size_t)(newline + 1 - block) : len;
        at += (off_t)used;
        len = read_at(fd, block, BLOCK_SIZE, at);
    }
    while (len > 0) {
        used = read_lines(&end, block, len, at + (off_t)len >= size, unseen);
        if (used == 0)
            break;
        at += (off_t)used;
        len = read_at(fd, block, BLOCK_SIZE, at);
    }
    return end;
}

static void trace_summary_file(struct trace_summary *g, int dirfd, const char *name, char *block,
                               const struct trace_summary_run *run)
{
    struct ending end;
    struct line init;
    struct stat st;
    uint64_t ring;
    int fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return;
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || !read_init(fd, block, &init) ||
        !belongs(&init, run))
        goto out;
    ring = line_u64(&init, INIT_ring, 0);
    end = read_ending(fd, block, st.st_size, ring > 0, &g->unseen);
    if (ring > 0 && !end.closed && end.ops > ring)
        end.ops = ring; /* newer operations overwrote the others */
    g->files++;
    g->ops += end.ops;
    g->dropped += end.dropped;
    if (!end.closed && g->open++ < TRACE_SUMMARY_NAMED) {
        buf_puts(&g->open_names, g->open_names.len > 0 ? ", " : "");
        buf_put_printable(&g->open_names, name, strlen(name));
    }
out:
    close(fd);
}

bool trace_has_name(const char *name)
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
    struct line init;
    struct stat st;
    struct trace_head *head;
    int fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && read_init(fd, block, &init)) {
        ARRAY_GROW(heads->list, heads->cap, heads->count + 1);
        head = &heads->list[heads->count++];
        *head = (struct trace_head){.name = arena_strdup(arena, name),
                                    .run = copy_text(arena, line_text(&init, INIT_run)),
                                    .host = copy_text(arena, line_text(&init, INIT_host)),
                                    .rank = line_i64(&init, INIT_rank, -1),
                                    .pid = (int64_t)line_u64(&init, INIT_pid, UINT64_MAX),
                                    .real_ns = line_real_ns(&init),
                                    .ring = line_u64(&init, INIT_ring, 0) > 0};
        head->closed = read_ending(fd, block, st.st_size, false, NULL).closed;
    }
    close(fd);
}

static int is_trace(const struct dirent *entry)
{
    return trace_has_name(entry->d_name);
}

int trace_heads(struct trace_heads *heads, const char *dir, struct arena *arena, struct err *e)
{
    struct dirent **names;
    int n = scandir(dir, &names, is_trace, alphasort);
    int dirfd = n >= 0 ? open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    char *block = array_new(1, BLOCK_SIZE);
    *heads = (struct trace_heads){NULL, 0, 0};
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
    buf_init(&g->open_names);
    buf_init(&g->unseen);
    d = opendir(dir);
    if (d == NULL)
        return err_set(e, ERR_INPUT, "cannot read '%s': %s", dir, strerror(errno));
    block = array_new(1, BLOCK_SIZE);
    while ((entry = readdir(d)) != NULL) {
        if (trace_has_name(entry->d_name))
            trace_summary_file(g, dirfd(d), entry->d_name, block, run);
    }
    free(block);
    closedir(d);
    return 0;
}

void trace_summary_release(struct trace_summary *g)
{
    buf_release(&g->open_names);
    buf_release(&g->unseen);
}
