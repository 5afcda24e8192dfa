/* SPDX-License-Identifier: MIT
 *
 * The first and the last line of each trace of a run, by several threads: of plain files by their
 * place, of packed ones and members of archives by reading through them.
 */
#include "base/order.h"
#include "base/pool.h"
#include "trace/closing.h"
#include "trace/jsonl.h"
#include "trace/load.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK_BYTES ((size_t)SPECTER_LINE_MAX + 1) /* a longest line, the newline before it */
#define SMALL_BYTES ((size_t)16 << 10)             /* read first: most lines fit */
#define LIST_SHOWN 16

/* Ranks, for a note. */
struct rank_list {
    int64_t *list; /* owned; -1 unknown */
    size_t n, cap;
};

struct closings {
    struct load *l;
    void (*take)(void *arg, const struct closing *c);
    void *arg;
    const struct source **order; /* owned: members of one archive side by side */
    size_t *jobs;                /* owned: where in it each job begins, and its end */
    pthread_mutex_t lock;        /* of all below, and of the run */
    size_t taken;
    struct rank_list ranks, open, older, no_comms, dropped, stopped, sampled;
    uint64_t ndropped, nsampled;
    int64_t world_size;
    const char **damaged; /* owned: faults of files, in the order of reading */
    size_t ndamaged, cap_damaged;
};

/* The parts of one file that are read. */
struct file_ends {
    char *head, *tail;   /* owned: BLOCK_BYTES each */
    size_t nhead, ntail; /* bytes of the first lines; of the last line */
};

/* ---- bytes ---- */

static size_t read_at(int fd, char *block, size_t size, off_t at)
{
    size_t len = 0;
    ssize_t n;
    while (len < size && (n = pread(fd, block + len, size - len, at + (off_t)len)) > 0)
        len += (size_t)n;
    return len;
}

/* Moves the last line that holds something to the front of the block, without its newline. true:
 * all of it is there. `whole`: the block begins with the file. */
static bool keep_last_line(struct file_ends *ends, size_t len, bool whole)
{
    for (size_t end = len; end > 0;) {
        bool ended = ends->tail[end - 1] == '\n';
        const char *newline = memrchr(ends->tail, '\n', end - ended);
        size_t at = newline != NULL ? (size_t)(newline - ends->tail) + 1 : 0;
        if (at == 0 && !whole)
            return false;
        if (!jsonl_holds_nothing(ends->tail + at, end - at - ended)) {
            /* Lines are written whole: one without an end was cut. */
            ends->ntail = ended ? end - at - ended : 0;
            memmove(ends->tail, ends->tail + at, ends->ntail);
            return true;
        }
        end = at;
    }
    return whole;
}

static void read_plain(struct file_ends *ends, int fd, off_t size)
{
    size_t most = (size_t)size < BLOCK_BYTES ? (size_t)size : BLOCK_BYTES;
    ends->nhead = read_at(fd, ends->head, most < SMALL_BYTES ? most : SMALL_BYTES, 0);
    if (memchr(ends->head, '\n', ends->nhead) == NULL && ends->nhead < most)
        ends->nhead = read_at(fd, ends->head, most, 0);
    for (size_t want = most < SMALL_BYTES ? most : SMALL_BYTES;; want = most) {
        off_t from = size - (off_t)want;
        size_t len = want;
        if (from == 0 && ends->nhead >= want)
            memcpy(ends->tail, ends->head, want);
        else
            len = read_at(fd, ends->tail, want, from);
        if (keep_last_line(ends, len, from == 0) || want == most)
            return;
    }
}

/* 0, or -1 with e filled: the file is damaged on its way to the end. */
static int read_stream(struct file_ends *ends, struct stream *s, struct err *e)
{
    struct lines l;
    int rc;
    lines_init(&l, s, BLOCK_BYTES);
    while ((rc = lines_next(&l, e)) > 0) {
        if (l.too_long || jsonl_holds_nothing(l.text, l.len))
            continue;
        if (ends->nhead == 0) {
            memcpy(ends->head, l.text, l.len);
            ends->head[l.len] = '\n';
            ends->nhead = l.len + 1;
        }
        memcpy(ends->tail, l.text, l.len);
        ends->ntail = l.last ? 0 : l.len;
    }
    lines_release(&l);
    return rc;
}

/* ---- one file ---- */

static const char *plain_text(struct json_text text, struct buf *b)
{
    buf_reset(b);
    json_decode(text, b);
    buf_putc(b, '\0');
    text_make_printable(b->data);
    return b->data;
}

/* Returns the world size as the init record tells it; 0 unknown, -1: the record is damaged. */
static int64_t take_head(const struct source *s, const struct file_ends *ends, struct closing *c,
                         struct buf *host)
{
    struct line l = LINE_INIT;
    size_t mark = text_bom_len(ends->head, ends->nhead), left = ends->nhead - mark;
    const char *at = ends->head + mark, *end;
    c->rank = rank_in_name(s->label);
    c->host = "";
    while ((end = memchr(at, '\n', left)) != NULL && jsonl_holds_nothing(at, (size_t)(end - at))) {
        left -= (size_t)(end + 1 - at);
        at = end + 1;
    }
    if (end == NULL || !line_parse(&l, at, (size_t)(end - at), 0) || l.record != SPECTER_REC_INIT)
        return 0;
    if (!jsonl_init_believable(&l))
        return -1;
    c->rank = line_i64(&l, INIT_rank, -1);
    c->host = plain_text(line_text(&l, INIT_host), host);
    return line_i64(&l, INIT_world_size, 0);
}

static void list_rank(struct rank_list *list, int64_t rank)
{
    ARRAY_GROW(list->list, list->cap, list->n + 1);
    list->list[list->n++] = rank;
}

/* Under the lock, as the next one. */
static void note_damaged(struct closings *r, const char *text)
{
    ARRAY_GROW(r->damaged, r->cap_damaged, r->ndamaged + 1);
    r->damaged[r->ndamaged++] = arena_strdup(&r->l->run->arena, text);
}

static void take_closing(struct closings *r, const struct closing *c)
{
    if (c->dropped > 0)
        list_rank(&r->dropped, c->rank);
    r->ndropped += c->dropped;
    if (!c->has_times) {
        list_rank(&r->older, c->rank);
        return;
    }
    if (!c->has_comms)
        list_rank(&r->no_comms, c->rank);
    if (c->stopped)
        list_rank(&r->stopped, c->rank);
    if (c->skipped > 0)
        list_rank(&r->sampled, c->rank);
    r->nsampled += c->skipped;
    r->taken++;
    r->take(r->arg, c);
}

/* Returns whether the last line was meant for a closing record, though it is none. */
static bool was_closing(const struct file_ends *ends)
{
    static const char begin[] = "{\"event\":\"shutdown\"";
    return ends->ntail >= sizeof begin - 1 && memcmp(ends->tail, begin, sizeof begin - 1) == 0;
}

static void take_ends(struct closings *r, const struct source *s, const struct file_ends *ends)
{
    struct closing c = {.label = load_file_name(r->l, s)};
    struct line l = LINE_INIT;
    struct buf host = BUF_INIT;
    struct err e = {0};
    const char *error = NULL;
    size_t offset = 0;
    int64_t world_size = take_head(s, ends, &c, &host);
    bool closed = line_parse(&l, ends->tail, ends->ntail, 0) && l.record == SPECTER_REC_SHUTDOWN;
    if (closed) {
        c.dropped = line_u64(&l, SHUTDOWN_dropped, 0);
        if (line_has(&l, SHUTDOWN_summary))
            closing_parse(&c, line_text(&l, SHUTDOWN_summary), &error, &offset);
    } else if (was_closing(ends)) {
        error = l.error;
        offset = l.offset;
    }
    pthread_mutex_lock(&r->lock);
    r->world_size = world_size > r->world_size ? world_size : r->world_size;
    list_rank(&r->ranks, c.rank);
    if (world_size < 0)
        err_set(&e, ERR_INPUT, "%s: init record: impossible rank or world size", s->label);
    else if (error != NULL)
        err_set(&e, ERR_INPUT, "%s: closing record: %s at byte %zu%s", s->label, error, offset + 1,
                closed ? " of its summary" : "");
    else if (closed)
        take_closing(r, &c);
    else
        list_rank(&r->open, c.rank);
    if (e.code != ERR_NONE)
        note_damaged(r, e.msg);
    pthread_mutex_unlock(&r->lock);
    closing_release(&c);
    buf_release(&host);
}

static void fail(struct closings *r, const struct err *e)
{
    pthread_mutex_lock(&r->lock);
    note_damaged(r, e->msg);
    pthread_mutex_unlock(&r->lock);
}

static void take_stream(struct closings *r, const struct source *source, struct stream *s,
                        struct file_ends *ends)
{
    struct err e;
    ends->nhead = ends->ntail = 0;
    if (read_stream(ends, s, &e) < 0)
        fail(r, &e);
    else
        take_ends(r, source, ends);
}

/* Members of an archive that are of the run, in their order. */
static void read_archive(struct closings *r, const struct source **list, size_t n,
                         struct file_ends *ends)
{
    struct stream *s;
    struct err e;
    const char *name;
    size_t next = 0;
    int rc = 0;
    if (stream_open(&s, list[0]->path, &e) < 0) {
        fail(r, &e);
        return;
    }
    for (size_t member = 0; next < n && (rc = stream_tar_next(s, &name, &e)) > 0; member++) {
        if (list[next]->member == member)
            take_stream(r, list[next++], s, ends);
    }
    if (rc < 0)
        fail(r, &e);
    stream_close(s);
}

static void read_packed(struct closings *r, const struct source *source, struct file_ends *ends)
{
    struct stream *s;
    struct err e;
    if (stream_open(&s, source->path, &e) < 0) {
        fail(r, &e);
        return;
    }
    take_stream(r, source, s, ends);
    stream_close(s);
}

static void read_file(struct closings *r, const struct source *source, struct file_ends *ends)
{
    struct stat st;
    int fd = open(source->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        read_plain(ends, fd, st.st_size);
    if (fd >= 0)
        close(fd);
    /* Compressed files begin with a byte that no line of a trace begins with. */
    if (ends->nhead > 0 && memchr("\x1f\x28", ends->head[0], 2) == NULL)
        take_ends(r, source, ends);
    else
        read_packed(r, source, ends);
}

/* Reads one file, or all members of an archive. */
static void do_job(void *arg, size_t i)
{
    struct closings *r = arg;
    const struct source **list = r->order + r->jobs[i];
    struct file_ends ends = {.head = array_new(1, BLOCK_BYTES + 1),
                             .tail = array_new(1, BLOCK_BYTES + 1)};
    if (list[0]->archive)
        read_archive(r, list, r->jobs[i + 1] - r->jobs[i], &ends);
    else
        read_file(r, list[0], &ends);
    free(ends.head);
    free(ends.tail);
}

static int by_archive(const void *pa, const void *pb)
{
    const struct source *a = *(const struct source *const *)pa;
    const struct source *b = *(const struct source *const *)pb;
    int order = strcmp(a->path, b->path);
    return order != 0 ? order : ORDER(a->member, b->member);
}

static int by_text(const void *pa, const void *pb)
{
    return strcmp(*(const char *const *)pa, *(const char *const *)pb);
}

static void read_all(struct closings *r)
{
    const struct load *l = r->l;
    size_t njobs = 0;
    r->order = array_new(l->count, sizeof *r->order);
    r->jobs = array_new(l->count + 1, sizeof *r->jobs);
    for (size_t i = 0; i < l->count; i++)
        r->order[i] = &l->list[i];
    qsort(r->order, l->count, sizeof *r->order, by_archive);
    for (size_t i = 0; i < l->count; i++) {
        if (i == 0 || !r->order[i]->archive ||
            strcmp(r->order[i]->path, r->order[i - 1]->path) != 0)
            r->jobs[njobs++] = i;
    }
    r->jobs[njobs] = l->count;
    pool_run(l->opts->threads > 0 ? (size_t)l->opts->threads : pool_cpus(), njobs, do_job, r, NULL);
    if (r->ndamaged > 0)
        qsort(r->damaged, r->ndamaged, sizeof *r->damaged, by_text);
    for (size_t i = 0; i < r->ndamaged; i++) {
        struct err e;
        err_set(&e, ERR_INPUT, "%s", r->damaged[i]);
        load_damaged(r->l, &e);
    }
    free(r->damaged);
    free(r->order);
    free(r->jobs);
}

/* ---- all files ---- */

/* "ranks 3,5-7": at most LIST_SHOWN stretches; sorts the list. */
static void put_list(struct buf *out, struct rank_list *list)
{
    size_t unknown = 0, shown = 0;
    qsort(list->list, list->n, sizeof *list->list, order_int64s);
    while (unknown < list->n && list->list[unknown] < 0)
        unknown++;
    for (size_t i = unknown, end; i < list->n; i = end) {
        for (end = i + 1; end < list->n && list->list[end] <= list->list[end - 1] + 1;)
            end++;
        if (shown++ == LIST_SHOWN) {
            buf_puts(out, ",...");
            break;
        }
        buf_printf(out, "%s%lld", shown == 1 ? (list->n - unknown > 1 ? "ranks " : "rank ") : ",",
                   (long long)list->list[i]);
        if (list->list[end - 1] > list->list[i])
            buf_printf(out, "-%lld", (long long)list->list[end - 1]);
    }
    if (unknown > 0)
        buf_printf(out, "%s%zu file%s without a rank", shown > 0 ? ", " : "", unknown,
                   unknown > 1 ? "s" : "");
}

static void note_ranks(struct closings *r, bool loss, const char *what, struct rank_list *list)
{
    struct buf text = BUF_INIT;
    if (list->n > 0) {
        put_list(&text, list);
        run_note(r->l->run, loss, "%s: %s", what, text.data);
    }
    buf_release(&text);
}

/* The ranks below the world size that no file is of. */
static void note_missing(struct closings *r)
{
    struct rank_list missing = {NULL, 0, 0};
    struct rank_list *have = &r->ranks;
    char what[96];
    int64_t next = 0;
    size_t distinct = 0;
    qsort(have->list, have->n, sizeof *have->list, order_int64s);
    for (size_t i = 0; i < have->n; i++) {
        if (have->list[i] < 0)
            return; /* it may be any of them */
        distinct += i == 0 || have->list[i] != have->list[i - 1];
        for (; next < have->list[i] && next < r->world_size; next++)
            list_rank(&missing, next);
        next = have->list[i] + 1;
    }
    for (; next < r->world_size; next++)
        list_rank(&missing, next);
    snprintf(what, sizeof what, "%zu of %lld ranks have a trace; missing", distinct,
             (long long)r->world_size);
    note_ranks(r, !(distinct == 1 && have->n == 1), what, &missing);
    free(missing.list);
}

static void note_losses(struct closings *r)
{
    char what[128];
    note_ranks(r, true,
               "no closing record (the program was killed or still runs), so in no sum here",
               &r->open);
    note_ranks(r, true, "closing records of an older specter, which hold no sums", &r->older);
    note_ranks(r, true, "closing records without room for sums by communicator", &r->no_comms);
    snprintf(what, sizeof what, "the recorder dropped %llu operations",
             (unsigned long long)r->ndropped);
    note_ranks(r, true, what, &r->dropped);
    note_ranks(r, false, "recording ended before the program did", &r->stopped);
    snprintf(what, sizeof what, "%llu GEMMs were left out by sampling",
             (unsigned long long)r->nsampled);
    note_ranks(r, false, what, &r->sampled);
    note_missing(r);
    if (r->l->ndamaged > NAMED_MAX)
        run_note(r->l->run, true, "%zu more files are left out", r->l->ndamaged - NAMED_MAX);
}

static int nothing(struct closings *r, struct err *e)
{
    const char *path = load_printable(r->l->run, r->l->path);
    if (r->l->first.code != ERR_NONE)
        return err_set(e, ERR_INPUT, "%s", r->l->first.msg);
    if (r->older.n > 0)
        return err_set(e, ERR_INPUT,
                       "the closing records in '%s' hold no sums: an older specter wrote them; "
                       "without --summary the records are read",
                       path);
    return err_set(e, ERR_INPUT,
                   "no trace in '%s' has a closing record (the program was killed or still runs); "
                   "without --summary the records are read",
                   path);
}

static int read_closings(struct closings *r, struct err *e)
{
    const struct reader *reader;
    if (load_find(r->l, e) < 0)
        return -1;
    if (r->l->count == 0)
        return load_nothing(r->l, e);
    reader = load_choose(r->l, e);
    if (reader == NULL)
        return -1;
    if (reader != &reader_jsonl)
        return err_set(e, ERR_INPUT,
                       "'%s' holds %s traces, which have no closing records: without --summary "
                       "they are read whole",
                       load_printable(r->l->run, r->l->path), reader->name);
    r->l->run->format = reader->name;
    r->l->run->id = arena_strdup(&r->l->run->arena, r->l->list[0].id.run);
    read_all(r);
    r->l->run->world_size = (int)r->world_size;
    if (r->taken == 0)
        return nothing(r, e);
    note_losses(r);
    return 0;
}

int closings_read(struct run *run, const char *path, const struct load_opts *opts,
                  void (*take)(void *arg, const struct closing *c), void *arg, struct err *e)
{
    static const struct load_opts none;
    struct load l = {.run = run,
                     .path = path,
                     .opts = opts != NULL ? opts : &none,
                     .entries_max = CLOSING_ENTRIES_MAX,
                     .foreign = BUF_INIT};
    struct closings r = {.l = &l, .take = take, .arg = arg};
    struct rank_list *lists[] = {&r.ranks,   &r.open,    &r.older,  &r.no_comms,
                                 &r.dropped, &r.stopped, &r.sampled};
    int rc;
    run_init(run);
    run->source = load_printable(run, path);
    pthread_mutex_init(&r.lock, NULL);
    rc = read_closings(&r, e);
    pthread_mutex_destroy(&r.lock);
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        free(lists[i]->list);
    load_release(&l);
    return rc;
}
