/* SPDX-License-Identifier: MIT */
#include "watch/watch.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/now.h"
#include "base/order.h"
#include "trace/reader.h"
#include "trace/trace_summary.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PORTION ((size_t)256 << 10)
#define CLOCKS_KEPT 16
#define UNFINISHED_MAX 1024
#define CALLS_MAX 256
#define HEAD_MAX ((size_t)4 << 20)
#define RING_SHARE 200 /* a ring is left alone for so many times what reading it took */

/* ---- lines that are kept ---- */

static void put_line(struct buf *b, const char *text, size_t len)
{
    buf_put(b, text, len);
    buf_putc(b, '\n');
}

static void lines_put(struct tail_lines *l, const char *text, size_t len)
{
    struct buf *line = &l->list[l->next];
    buf_reset(line);
    put_line(line, text, len);
    l->next = (l->next + 1) % l->cap;
    l->count += l->count < l->cap;
}

static void lines_copy(const struct tail_lines *l, struct buf *out)
{
    for (size_t i = 0; i < l->count; i++) {
        const struct buf *line = &l->list[(l->next + l->cap - l->count + i) % l->cap];
        buf_put(out, line->data, line->len);
    }
}

static void tail_lines_init(struct tail_lines *l, size_t cap)
{
    *l = (struct tail_lines){.list = array_new(cap, sizeof *l->list), .cap = cap};
    for (size_t i = 0; i < cap; i++)
        buf_init(&l->list[i]);
}

static void tail_lines_release(struct tail_lines *l)
{
    for (size_t i = 0; i < l->cap; i++)
        buf_release(&l->list[i]);
    free(l->list);
}

static void table_drop(struct tail_table *t, size_t at)
{
    buf_release(&t->list[at].line);
    memmove(&t->list[at], &t->list[at + 1], (--t->count - at) * sizeof *t->list);
}

static void table_forget(struct tail_table *t, uint64_t key)
{
    for (size_t i = 0; i < t->count; i++) {
        if (t->list[i].key == key) {
            table_drop(t, i);
            return;
        }
    }
}

/* In place of the line under that key; the oldest gives way where there are `most`. */
static void table_put(struct tail_table *t, uint64_t key, size_t most, struct json_text line)
{
    for (size_t i = 0; i < t->count; i++) {
        if (t->list[i].key != key)
            continue;
        buf_reset(&t->list[i].line);
        put_line(&t->list[i].line, line.p, line.len);
        return;
    }
    if (t->count == most)
        table_drop(t, 0);
    ARRAY_GROW(t->list, t->cap, t->count + 1);
    t->list[t->count] = (struct tail_kept){key, BUF_INIT};
    put_line(&t->list[t->count++].line, line.p, line.len);
}

static void table_clear(struct tail_table *t)
{
    while (t->count > 0)
        table_drop(t, t->count - 1);
}

static void table_copy(const struct tail_table *t, struct buf *out)
{
    for (size_t i = 0; i < t->count; i++)
        buf_put(out, t->list[i].line.data, t->list[i].line.len);
}

/* ---- the window ---- */

static const char id_key[] = "{\"id\":", type_key[] = "{\"type\":",
                  untraced_key[] = "{\"type\":\"untraced\"";

static bool begins(const char *text, size_t len, const char *with, size_t n)
{
    return len > n && memcmp(text, with, n) == 0;
}

#define BEGINS(text, len, with) begins(text, len, with, sizeof(with) - 1)

/* The digits at *at, which is then behind them. */
static uint64_t number_at(const char *text, size_t len, size_t *at)
{
    uint64_t n = 0;
    for (; *at < len && text[*at] >= '0' && text[*at] <= '9'; (*at)++)
        n = n * 10 + (uint64_t)(text[*at] - '0');
    return n;
}

#define ENDING 80 /* bytes: the writer's last keys are timing, bound and graph */

static const char *find(const char *text, size_t len, const char *what)
{
    return memmem(text, len, what, strlen(what));
}

static bool is_unfinished(const char *text, size_t len)
{
    static const char timing[] = "\"timing\":\"", none[] = "none\"";
    size_t ending = len < ENDING ? len : ENDING;
    const char *at = find(text + len - ending, ending, timing);
    if (at == NULL)
        at = find(text, len, timing);
    return at != NULL &&
           begins(at + sizeof timing - 1, (size_t)(text + len - at) - sizeof timing + 1, none,
                  sizeof none - 1);
}

/* Keeps it as the newest of its communicator, if it is a collective of one. */
static void keep_call(struct trace_tail *t, struct json_text line)
{
    const char *from = find(line.p, line.len, "\"comm\":\""), *end, *to = line.p + line.len;
    if (from == NULL)
        return;
    from += strlen("\"comm\":\"");
    end = memchr(from, '"', (size_t)(to - from));
    if (end != NULL && find(end, (size_t)(to - end), "\"seq\":null") == NULL)
        table_put(&t->calls, hash_bytes(HASH_BYTES, from, (size_t)(end - from)), CALLS_MAX, line);
}

/* Of a line that leaves the window: an operation that has not ended, the last call of a
 * communicator. */
static void keep_of_evicted(struct trace_tail *t, const char *text, size_t len)
{
    static const char nccl[] = "\"type\":\"nccl\"";
    struct json_text line = {text, (uint32_t)len, false};
    size_t at = sizeof id_key - 1;
    uint64_t id;
    if (!BEGINS(text, len, id_key))
        return;
    id = number_at(text, len, &at);
    if (is_unfinished(text, len))
        table_put(&t->unfinished, id, UNFINISHED_MAX, line);
    else if (t->unfinished.count > 0)
        table_forget(&t->unfinished, id);
    at += at < len;
    if (begins(text + at, len - at, nccl, sizeof nccl - 1))
        keep_call(t, line);
}

/* Keeps at least the window of the text. */
static void trim_window(struct trace_tail *t)
{
    size_t at = 0;
    while (t->text.len - at > t->window) {
        const char *line = t->text.data + at, *end = memchr(line, '\n', t->text.len - at);
        if (end == NULL)
            break;
        keep_of_evicted(t, line, (size_t)(end - line));
        at = (size_t)(end + 1 - t->text.data);
    }
    memmove(t->text.data, t->text.data + at, t->text.len - at);
    t->text.len -= at;
    t->text.data[t->text.len] = '\0';
}

/* ---- lines of the file ---- */

static char *decoded(struct json_text text)
{
    struct buf plain = BUF_INIT;
    char *copy;
    json_decode(text, &plain);
    copy = strdup(plain.data);
    if (copy == NULL)
        die("out of memory");
    buf_release(&plain);
    return copy;
}

static void take_init(struct trace_tail *t, const struct line *l)
{
    if (t->known)
        return;
    t->known = true;
    t->run = decoded(line_text(l, INIT_run));
    t->host = decoded(line_text(l, INIT_host));
    t->pid = (int64_t)line_u64(l, INIT_pid, UINT64_MAX);
    t->mono_ns = (int64_t)line_u64(l, INIT_mono_ns, UINT64_MAX);
    t->real_ns = line_real_ns(l);
    t->ring = line_u64(l, INIT_ring, 0) > 0;
}

/* A record of a kind that is kept by itself; all others are the window's. */
static bool take_event(struct trace_tail *t, const char *text, size_t len)
{
    struct line *l = &t->line;
    if (!line_parse(l, text, len, LINE_ROOM))
        return false;
    switch (l->record) {
    case SPECTER_REC_INIT:
        take_init(t, l);
        put_line(&t->head, text, len);
        return true;
    case SPECTER_REC_COMM:
        if (t->head.len < HEAD_MAX)
            put_line(&t->head, text, len);
        return true;
    case SPECTER_REC_MARK:
        if (!line_has(l, MARK_kind) || json_text_is(line_text(l, MARK_kind), "iteration")) {
            lines_put(&t->steps_kept, text, len);
            t->steps++;
        }
        return true;
    case SPECTER_REC_CLOCK:
        lines_put(&t->clocks, text, len);
        return true;
    case SPECTER_REC_DUMP:
        buf_reset(&t->dump);
        put_line(&t->dump, text, len);
        return true;
    case SPECTER_REC_SHUTDOWN:
        t->closed = true;
        buf_reset(&t->end);
        put_line(&t->end, text, len);
        return true;
    default:
        return false;
    }
}

static void take_line(struct trace_tail *t, const char *text, size_t len)
{
    while (len > 0 && (text[len - 1] == ' ' || text[len - 1] == '\r'))
        len--; /* slots of a ring are filled up */
    if (jsonl_holds_nothing(text, len))
        return;
    if (!BEGINS(text, len, id_key) && !BEGINS(text, len, type_key) && take_event(t, text, len))
        return;
    if (BEGINS(text, len, untraced_key))
        return; /* not one operation, but counts of kernels: nothing here asks for them */
    put_line(&t->text, text, len);
    if (!t->ring && t->text.len > t->window + t->window / 2)
        trim_window(t);
}

/* Takes the whole lines at the front of part, and leaves the rest there. */
static void take_lines(struct trace_tail *t)
{
    char *text = t->part.data, *end;
    size_t len = t->part.len;
    while ((end = memchr(text, '\n', len)) != NULL) {
        if (!t->skipping)
            take_line(t, text, (size_t)(end - text));
        t->skipping = false;
        len -= (size_t)(end + 1 - text);
        text = end + 1;
    }
    if (t->skipping || len > SPECTER_LINE_MAX) {
        t->skipping = true;
        len = 0;
    }
    memmove(t->part.data, text, len);
    t->part.len = len;
}

/* ---- the file ---- */

static void forget_file(struct trace_tail *t)
{
    free(t->run);
    free(t->host);
    t->run = t->host = NULL;
    t->known = t->closed = t->ring = t->skipping = false;
    t->pid = t->mono_ns = -1;
    t->real_ns = 0;
    t->steps = 0;
    t->at = 0;
    t->line = (struct line)LINE_INIT;
    buf_reset(&t->part);
    buf_reset(&t->head);
    buf_reset(&t->text);
    buf_reset(&t->dump);
    buf_reset(&t->end);
    t->steps_kept.count = t->clocks.count = 0;
    table_clear(&t->unfinished);
    table_clear(&t->calls);
}

void trace_tail_init(struct trace_tail *t, const char *name, size_t window)
{
    *t = (struct trace_tail){.name = strdup(name), .window = window};
    if (t->name == NULL)
        die("out of memory");
    tail_lines_init(&t->steps_kept, TAIL_STEPS);
    tail_lines_init(&t->clocks, CLOCKS_KEPT);
    forget_file(t);
}

void trace_tail_release(struct trace_tail *t)
{
    forget_file(t);
    buf_release(&t->part);
    buf_release(&t->head);
    buf_release(&t->text);
    buf_release(&t->dump);
    buf_release(&t->end);
    tail_lines_release(&t->steps_kept);
    tail_lines_release(&t->clocks);
    free(t->unfinished.list);
    free(t->calls.list);
    free(t->name);
}

struct ring_line {
    uint64_t id;
    size_t at, len;
};

static int by_id(const void *pa, const void *pb)
{
    const struct ring_line *a = pa, *b = pb;
    if (a->id != b->id)
        return ORDER(a->id, b->id);
    return ORDER(a->at, b->at);
}

/* A ring's lines stand in the order of its slots: the newest become the last. */
static void sort_ring(struct trace_tail *t)
{
    struct ring_line *list = NULL;
    size_t n = 0, cap = 0;
    struct buf sorted = BUF_INIT;
    for (size_t at = 0; at < t->text.len;) {
        const char *line = t->text.data + at, *end = memchr(line, '\n', t->text.len - at);
        size_t len = (size_t)(end + 1 - line);
        size_t digits = sizeof id_key - 1;
        uint64_t id = BEGINS(line, len, id_key) ? number_at(line, len, &digits) : 0;
        ARRAY_ROOM(list, cap, n + 1);
        list[n++] = (struct ring_line){id, at, len};
        at += len;
    }
    if (n > 0)
        qsort(list, n, sizeof *list, by_id);
    for (size_t i = 0; i < n; i++)
        buf_put(&sorted, t->text.data + list[i].at, list[i].len);
    free(list);
    buf_release(&t->text);
    t->text = sorted;
    if (t->text.len > t->window)
        trim_window(t);
}

/* Reads from t->at to the end. */
static void read_new(struct trace_tail *t, int fd)
{
    ssize_t n;
    for (;;) {
        char *to = buf_reserve(&t->part, PORTION + LINE_ROOM);
        n = pread(fd, to, PORTION, t->at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        t->part.len += (size_t)n;
        memset(t->part.data + t->part.len, 0, LINE_ROOM);
        t->at += n;
        take_lines(t);
        if (t->portion != NULL)
            t->portion(t->portion_arg, (size_t)n);
    }
    t->error = n < 0 ? errno : 0;
}

static bool is_same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static bool has_changed(const struct stat *a, const struct stat *b)
{
    return a->st_size != b->st_size || a->st_mtim.tv_sec != b->st_mtim.tv_sec ||
           a->st_mtim.tv_nsec != b->st_mtim.tv_nsec;
}

bool trace_tail_poll(struct trace_tail *t, int dirfd)
{
    int64_t begun = now_ns();
    struct stat now;
    bool same;
    int fd;
    if (fstatat(dirfd, t->name, &now, 0) < 0 || !S_ISREG(now.st_mode))
        return false;
    same = is_same_file(&now, &t->stat) && now.st_size >= t->at;
    if (same && t->error == 0 && (!has_changed(&now, &t->stat) || begun < t->not_before_ns))
        return true;
    fd = openat(dirfd, t->name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    t->error = fd < 0 ? errno : 0;
    if (fd < 0)
        return t->error != ENOENT;
    /* A ring whose head was not written yet when its lines were read has kept its size. */
    if (!same || t->ring || (!t->known && now.st_size == t->stat.st_size))
        forget_file(t);
    t->stat = now;
    read_new(t, fd);
    close(fd);
    if (t->ring) {
        sort_ring(t);
        t->not_before_ns = begun + RING_SHARE * (now_ns() - begun);
    }
    return true;
}

void trace_tail_text(const struct trace_tail *t, struct buf *out)
{
    buf_put(out, t->head.data, t->head.len);
    lines_copy(&t->clocks, out);
    lines_copy(&t->steps_kept, out);
    buf_put(out, t->dump.data, t->dump.len);
    table_copy(&t->calls, out);
    table_copy(&t->unfinished, out);
    buf_put(out, t->text.data, t->text.len);
    buf_put(out, t->end.data, t->end.len);
    memset(buf_reserve(out, LINE_ROOM), 0, LINE_ROOM);
}

/* ---- the folder ---- */

int trace_folder_open(struct trace_folder *f, const char *path, struct err *e)
{
    *f = (struct trace_folder){.path = path, .run = ""};
    if (gethostname(f->host, sizeof f->host - 1) < 0)
        f->host[0] = '\0';
    f->dirfd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return f->dirfd >= 0 ? 0 : err_set(e, ERR_INPUT, "cannot read '%s': %s", path, strerror(errno));
}

void trace_folder_close(struct trace_folder *f)
{
    for (size_t i = 0; i < f->count; i++)
        trace_tail_release(&f->list[i]);
    free(f->list);
    if (f->dirfd >= 0)
        close(f->dirfd);
}

static int by_name(const void *pa, const void *pb)
{
    return strcmp(((const struct trace_tail *)pa)->name, ((const struct trace_tail *)pb)->name);
}

/* Among the first `n`, which are in order. */
static bool is_listed(const struct trace_folder *f, size_t n, char *name)
{
    const struct trace_tail key = {.name = name};
    return n > 0 && bsearch(&key, f->list, n, sizeof *f->list, by_name) != NULL;
}

/* Lists files that were not there before. */
static int find_new(struct trace_folder *f, struct err *e)
{
    struct dirent *entry;
    size_t before = f->count;
    int fd = openat(f->dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
    if (d == NULL) {
        if (fd >= 0)
            close(fd);
        return err_set(e, ERR_INPUT, "cannot read '%s': %s", f->path, strerror(errno));
    }
    while ((entry = readdir(d)) != NULL) {
        if (!trace_has_name(entry->d_name) || is_listed(f, before, entry->d_name))
            continue;
        ARRAY_GROW(f->list, f->cap, f->count + 1);
        trace_tail_init(&f->list[f->count++], entry->d_name, TAIL_WINDOW_MAX);
    }
    closedir(d);
    if (f->count > before)
        qsort(f->list, f->count, sizeof *f->list, by_name);
    return 0;
}

static void choose_run(struct trace_folder *f)
{
    const struct trace_tail *newest = NULL;
    f->other_runs = 0;
    for (size_t i = 0; i < f->count; i++) {
        if (f->list[i].known && (newest == NULL || f->list[i].real_ns > newest->real_ns))
            newest = &f->list[i];
    }
    f->run = newest != NULL ? newest->run : "";
    for (size_t i = 0; i < f->count; i++)
        f->other_runs += f->list[i].known && !trace_folder_has(f, &f->list[i]);
}

static void count_portion(void *arg, size_t bytes)
{
    struct trace_folder *f = arg;
    f->done += bytes;
    f->progress(f->progress_arg, f->done, f->total);
}

/* Sums up the bytes there are to read, where `progress` asks for them. */
static void count_new(struct trace_folder *f)
{
    f->done = f->total = 0;
    for (size_t i = 0; i < f->count; i++) {
        struct trace_tail *t = &f->list[i];
        struct stat st;
        t->portion = f->progress != NULL ? count_portion : NULL;
        t->portion_arg = f;
        if (t->portion != NULL && fstatat(f->dirfd, t->name, &st, 0) == 0 && st.st_size > t->at)
            f->total += (uint64_t)(st.st_size - t->at);
    }
}

int trace_folder_poll(struct trace_folder *f, struct err *e)
{
    size_t kept = 0, window;
    if (find_new(f, e) < 0)
        return -1;
    count_new(f);
    window = FOLDER_WINDOW / (f->count + 1);
    for (size_t i = 0; i < f->count; i++) {
        struct trace_tail *t = &f->list[i];
        t->window = window > TAIL_WINDOW_MAX   ? TAIL_WINDOW_MAX
                    : window < TAIL_WINDOW_MIN ? TAIL_WINDOW_MIN
                                               : window;
        if (!trace_tail_poll(t, f->dirfd)) {
            trace_tail_release(t);
            continue;
        }
        f->list[kept++] = *t;
    }
    f->count = kept;
    choose_run(f);
    return 0;
}

bool trace_folder_has(const struct trace_folder *f, const struct trace_tail *t)
{
    return t->known && strcmp(t->run, f->run) == 0;
}
