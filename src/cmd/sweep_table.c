/* SPDX-License-Identifier: MIT
 *
 * The ids of points, the table of all rows of `specter sweep`, and the file that it is kept in
 * (sweep.h).
 */
#include "cmd/sweep.h"

#include "base/buf.h"
#include "base/hash.h"
#include "base/order.h"
#include "calib/csv.h"
#include "cmd/hardware.h"

#include <assert.h>
#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the id of a point ----
 *
 * The id of a point: what is asked, as a number that is the same on every machine, in every grid
 * and in every order. It is FNV-1a (64 bits) of the lines
 *
 *     specter.sweep/1
 *     run=ID              the recording's own run id, where it has one
 *     trace=DIGEST        sweep_digest(), 16 hexadecimal digits
 *     COLUMN=VALUE        each option that is not at its default, in the order of sweep_axes[]
 *     scale=N
 *
 * each ended by a line feed. A compiled-in profile is its name; one from a file is its figures, as
 * `specter profiles NAME --json` prints one without white space. Where a recording lies does not
 * matter, nor which version of specter answers.
 */

static uint64_t put_text(uint64_t h, const char *text)
{
    return hash_bytes(h, text,
                      strlen(text) + 1); /* with its end, so that "a","bc" is not "ab","c" */
}

/* Least significant byte first, whatever the machine's order. */
static uint64_t put_number(uint64_t h, uint64_t value)
{
    for (int i = 0; i < 8; i++)
        h = hash_byte(h, (unsigned char)(value >> 8 * i));
    return h;
}

/* ---- a recording ---- */

static int64_t difference(int64_t a, int64_t b)
{
    return a == UNKNOWN_NS || b == UNKNOWN_NS ? UNKNOWN_NS : a - b;
}

static uint64_t put_op(uint64_t h, const struct run *run, const struct op *op, int64_t before_ns)
{
    h = put_text(h, op->name);
    h = put_number(h, op->class);
    h = put_number(h, op->dtype);
    h = put_number(h, op->timing);
    h = put_number(h, op->bytes);
    h = put_number(h, (uint64_t)op->stream);
    h = put_number(h, (uint64_t)op->dur_ns);
    h = put_number(h, (uint64_t)difference(op->host_ns, before_ns));
    h = put_number(h, (uint64_t)difference(op->host_end_ns, op->host_ns));
    if (op_is_comm(op)) {
        h = put_text(h, op->coll.comm >= 0 ? run->comms[op->coll.comm].id : "");
        h = put_number(h, (uint64_t)op->coll.seq);
        h = put_number(h, (uint64_t)op->coll.group);
        h = put_number(h, (uint64_t)op->coll.peer);
        h = put_number(h, op->coll.op);
    } else if (op->class == OP_GEMM) {
        h = put_number(h, op->gemm.m);
        h = put_number(h, op->gemm.n);
        h = put_number(h, op->gemm.k);
        h = put_number(h, op->gemm.batch);
    }
    return h;
}

static uint64_t put_rank(uint64_t h, const struct run *run, const struct rank *rank)
{
    h = put_number(h, (uint64_t)rank->rank);
    h = put_text(h, rank->gpu);
    h = put_number(h, rank->nops);
    for (size_t i = 0; i < rank->nops; i++)
        h = put_op(h, run, &rank->ops[i], i > 0 ? rank->ops[i - 1].host_ns : UNKNOWN_NS);
    h = put_number(h, rank->nsync_calls);
    for (size_t i = 0; i < rank->nsync_calls; i++) {
        const struct sync_call *sync = &rank->sync_calls[i];
        h = put_number(h, sync->kind);
        h = put_number(h, (uint64_t)sync->stream);
        h = put_number(h, (uint64_t)sync->event);
        h = put_number(h, (uint64_t)difference(sync->host_end_ns, sync->host_ns));
    }
    h = put_number(h, rank->nlaunches);
    for (size_t i = 0; i < rank->nlaunches; i++)
        h = put_number(h, rank->launches[i].count);
    h = put_number(h, rank->nsteps);
    for (size_t i = 0; i < rank->nsteps; i++)
        h = put_number(h, (uint64_t)difference(rank->steps[i].end_ns, rank->steps[i].start_ns));
    return h;
}

/* Distinguishes recordings that have no id: of every rank its number and GPU, of its operations
 * class, name, type, bytes, stream and times, and the counts of calls, waits and steps. No time
 * enters that depends on how clocks of several machines were aligned. */
static uint64_t sweep_digest(const struct run *run)
{
    uint64_t h = put_number(HASH_BYTES, (uint64_t)run->world_size);
    for (size_t r = 0; r < run->nranks; r++)
        h = put_rank(h, run, &run->ranks[r]);
    return h;
}

/* ---- what is asked of it ---- */

/* "column=value\n" */
static void put_line(struct buf *b, const char *column, const char *value)
{
    buf_printf(b, "%s=%s\n", column, value);
}

static void put_profile(struct buf *b, const struct sweep_axis *axis, const char *text,
                        const struct profile_kind *kind, const struct replay_opts *opts)
{
    const void *profile;
    struct cJSON *figures;
    char *line;
    memcpy(&profile, (const char *)opts + axis->offset, sizeof profile);
    if (profile == NULL)
        return;
    if (text != NULL && !cmd_is_profile_file(text)) {
        put_line(b, axis->column, text);
        return;
    }
    figures = profile_json_object(kind, profile);
    line = cJSON_PrintUnformatted(figures);
    if (line == NULL)
        die("out of memory");
    put_line(b, axis->column, line);
    free(line);
    cJSON_Delete(figures);
}

/* The start of the ids of a job's points, and the id of one point. */
static uint64_t sweep_job_hash(const struct sweep_grid *g, size_t job, const char *run_id,
                               uint64_t digest)
{
    struct buf b = BUF_INIT;
    struct replay_opts opts;
    struct arena arena;
    uint64_t h;
    arena_init(&arena);
    sweep_grid_opts(g, job, &arena, &opts);
    buf_puts(&b, "specter.sweep/1\n");
    if (run_id[0] != '\0')
        put_line(&b, "run", run_id);
    buf_printf(&b, "trace=%016" PRIx64 "\n", digest);
    for (size_t a = 0; a < SWEEP_SCALES; a++) {
        const struct sweep_axis *axis = &sweep_axes[a];
        const char *text = sweep_grid_value(g, job, a)->text;
        if (axis->kind == SWEEP_GPU)
            put_profile(&b, axis, text, &gpu_kind, &opts);
        else if (axis->kind == SWEEP_NETWORK) /* also one that a GPU's file brought */
            put_profile(&b, axis, text, &network_kind, &opts);
        else if (axis->kind != SWEEP_TRACE && text != NULL &&
                 (axis->standard == NULL || strcmp(text, axis->standard) != 0))
            put_line(&b, axis->column, text);
    }
    h = hash_bytes(HASH_BYTES, b.data, b.len);
    buf_release(&b);
    arena_release(&arena);
    return h;
}

#define SCHEMA "specter.sweep/1"

static int compare_ids(const void *a, const void *b, void *rows)
{
    const struct sweep_row *list = rows;
    size_t one = *(const size_t *)a, other = *(const size_t *)b;
    return list[one].id != list[other].id ? ORDER(list[one].id, list[other].id) : ORDER(one, other);
}

static void make_ids(struct sweep_table *t, const struct run *runs)
{
    const struct sweep_grid *g = t->grid;
    const struct sweep_list *traces = &g->axes[SWEEP_TRACES];
    uint64_t *digests = array_new(traces->count, sizeof *digests);
    for (size_t i = 0; i < traces->count; i++)
        digests[i] = sweep_digest(&runs[i]);
    for (size_t job = 0; job < g->jobs; job++) {
        size_t trace = (size_t)(sweep_grid_value(g, job, SWEEP_TRACES) - traces->values);
        uint64_t h = sweep_job_hash(g, job, runs[trace].id, digests[trace]);
        for (size_t s = 0; s < g->scales; s++) {
            char line[32];
            int len = snprintf(line, sizeof line, "scale=%lld\n",
                               (long long)g->axes[SWEEP_SCALES].values[s].number);
            t->rows[job * g->scales + s].id = hash_bytes(h, line, (size_t)len);
        }
    }
    free(digests);
}

int sweep_table_init(struct sweep_table *t, const struct sweep_grid *g, const struct run *runs,
                     struct err *e)
{
    *t = (struct sweep_table){.grid = g, .count = g->points};
    t->rows = array_new(g->points, sizeof *t->rows);
    t->by_id = array_new(g->points, sizeof *t->by_id);
    t->of[SWEEP_MISSING] = t->count;
    make_ids(t, runs);
    for (size_t i = 0; i < t->count; i++)
        t->by_id[i] = i;
    qsort_r(t->by_id, t->count, sizeof *t->by_id, compare_ids, t->rows);
    for (size_t i = 1; i < t->count; i++) {
        if (t->rows[t->by_id[i - 1]].id == t->rows[t->by_id[i]].id)
            return err_set(e, ERR_INPUT,
                           "points %zu and %zu of the grid ask the same: a recording or a profile "
                           "is there twice",
                           t->by_id[i - 1] + 1, t->by_id[i] + 1);
    }
    return 0;
}

void sweep_table_release(struct sweep_table *t)
{
    for (size_t i = 0; t->rows != NULL && i < t->count; i++)
        free(t->rows[i].line);
    free(t->rows);
    free(t->by_id);
}

void sweep_table_set(struct sweep_table *t, size_t point, char *line, enum sweep_status status)
{
    struct sweep_row *row = &t->rows[point];
    assert(row->line == NULL && status != SWEEP_MISSING);
    row->line = line;
    row->status = status;
    t->have++;
    t->of[SWEEP_MISSING]--;
    t->of[status]++;
}

void sweep_table_csv(const struct sweep_table *t, struct buf *out)
{
    char *header = sweep_header();
    buf_puts(out, header);
    buf_putc(out, '\n');
    free(header);
    for (size_t i = 0; i < t->count; i++) {
        if (t->rows[i].line == NULL)
            continue;
        buf_puts(out, t->rows[i].line);
        buf_putc(out, '\n');
    }
}

cJSON *sweep_table_json(const struct sweep_table *t)
{
    cJSON *doc = cJSON_CreateObject(), *list;
    cJSON_AddStringToObject(doc, "schema", SCHEMA);
    cJSON_AddNumberToObject(doc, "points", (double)t->count);
    cJSON_AddNumberToObject(doc, "ok", (double)t->of[SWEEP_OK]);
    cJSON_AddNumberToObject(doc, "partial", (double)t->of[SWEEP_PARTIAL]);
    cJSON_AddNumberToObject(doc, "failed", (double)t->of[SWEEP_FAILED]);
    list = cJSON_AddArrayToObject(doc, "rows");
    for (size_t i = 0; i < t->count; i++) {
        if (t->rows[i].line != NULL)
            cJSON_AddItemToArray(list, sweep_line_json(t->rows[i].line));
    }
    return doc;
}

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

/* 1: open and locked, 0: once more, -1: e says why. */
static int try_open(struct sweep_file *f, struct err *e)
{
    struct stat st, named;
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
    /* The name may no longer stand for the open file: a sweep that ended meanwhile replaced it. */
    if (stat(f->target, &named) == 0 && named.st_ino == st.st_ino && named.st_dev == st.st_dev)
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

/* The point of this id; t->count when there is none. */
static size_t find_point(const struct sweep_table *t, uint64_t id)
{
    struct bisect find = {.high = t->count};
    while (bisect_next(&find))
        bisect_take(&find, t->rows[t->by_id[find.mid]].id < id);
    return find.low < t->count && t->rows[t->by_id[find.low]].id == id ? t->by_id[find.low]
                                                                       : t->count;
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
    point = find_point(t, id);
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
        char *line;
        bool is_header;
        if (c.problem != NULL) {
            rc = err_set(e, ERR_INPUT, "%s", c.problem);
            continue;
        }
        line = sweep_line_of(c.fields, c.count);
        is_header = c.count == sweep_columns() && strcmp(line, header) == 0;
        free(line);
        if (is_header)
            continue;
        rc = first ? err_set(e, ERR_INPUT, "no table of specter sweep %s", SPECTER_VERSION)
                   : keep_row(t, &c, e);
    }
    if (rc < 0)
        err_prefix(e, "%s:%zu", f->path, c.line);
    csv_release(&c);
    return rc;
}

int sweep_file_resume(struct sweep_file *f, struct sweep_table *t, size_t *cut, struct err *e)
{
    struct buf text = BUF_INIT, want = BUF_INIT;
    const char *newline;
    char *header;
    int rc;
    *cut = 0;
    if (!f->regular)
        return 0;
    header = sweep_header();
    rc = read_all(f, &text, e);
    newline = memrchr(text.data, '\n', text.len);
    f->length = newline != NULL ? newline + 1 - text.data : 0; /* of the whole lines */
    *cut = text.len - (size_t)f->length;
    /* A file without one whole line must be empty or hold the start of the header. */
    if (rc == 0 && f->length == 0 && strncmp(header, text.data, text.len) != 0)
        rc = err_set(e, ERR_INPUT, "%s:1: no table of specter sweep", f->path);
    if (rc == 0)
        rc = read_rows(f, t, text.data, (size_t)f->length, header, e);
    if (rc == 0 && *cut > 0 && ftruncate(f->fd, f->length) < 0)
        rc = cannot_write(f, e);
    if (rc == 0 && f->length == 0) {
        buf_printf(&want, "%s\n", header);
        rc = write_all(f->fd, want.data, want.len) < 0 ? cannot_write(f, e) : 0;
        f->length = (off_t)want.len;
    } else if (rc == 0) {
        /* Appending keeps the file the beginning of the finished table, where it is that. */
        sweep_table_csv(t, &want);
        f->in_order = want.len == (size_t)f->length && memcmp(want.data, text.data, want.len) == 0;
        for (f->last = t->count; f->last > 0 && t->rows[f->last - 1].line == NULL;)
            f->last--;
    }
    f->rows = t->have;
    free(header);
    buf_release(&want);
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
            f->in_order = false; /* the next specter sweep drops the cut line */
    } else {
        f->length += (off_t)line.len;
        f->rows++;
        f->in_order = f->in_order && point >= f->last;
        f->last = point + 1;
    }
    buf_release(&line);
    return rc;
}

/* Writes FILE.tmp and renames it, so that FILE is always complete. */
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
