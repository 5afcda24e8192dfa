/* SPDX-License-Identifier: MIT
 *
 * Reads measured tables: files and folders, headers, and rows by measured_row.c.
 */
#include "calib/measured.h"

#include "base/stream.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#define NOT_TABLE 1
#define FILE_MAX ((size_t)1 << 30) /* bytes of one table, inflated */

#define COUNT(array) (sizeof(array) / sizeof *(array))

const char *measured_kind_name(enum measured_kind kind)
{
    static const char *const names[] = {"collective", "p2p", "gemm"};
    return (size_t)kind < COUNT(names) ? names[kind] : "all";
}

void measured_init(struct measured *m)
{
    memset(m, 0, sizeof *m);
    arena_init(&m->arena);
    intern_init(&m->names, &m->arena);
}

void measured_release(struct measured *m)
{
    intern_release(&m->names);
    arena_release(&m->arena);
    free(m->rows);
    free(m->overlaps);
    free(m->skips);
    free(m->files);
}

void measured_add(struct measured *m, const struct measured_row *row)
{
    ARRAY_GROW(m->rows, m->cap_rows, m->nrows + 1);
    m->rows[m->nrows++] = *row;
}

void measured_skip(struct measured *m, const char *file, size_t line, bool damaged,
                   const char *reason)
{
    ARRAY_GROW(m->skips, m->cap_skips, m->nskips + 1);
    m->skips[m->nskips++] = (struct measured_skip){
        .file = file,
        .line = line,
        .reason = intern_add(&m->names, reason, strlen(reason)),
        .damaged = damaged,
    };
}

static void add_file(struct measured *m, const char *path, const char *why)
{
    ARRAY_GROW(m->files, m->cap_files, m->nfiles + 1);
    m->files[m->nfiles++] = (struct measured_file){path, why};
}

/* Columns that make a table one of a kind: all that it needs, and one that gives the time. The
 * first kind that fits is taken. */
static const struct table_kind {
    enum measured_kind kind;
    enum measured_column needs[4], times[3];
    size_t nneeds, ntimes;
} kinds[] = {
    {MEASURED_GEMM,
     {COLUMN_M, COLUMN_N, COLUMN_K, COLUMN_DTYPE},
     {COLUMN_TIME, COLUMN_TFLOPS},
     4,
     2},
    {MEASURED_COLLECTIVE,
     {COLUMN_COLLECTIVE, COLUMN_BYTES, COLUMN_RANKS},
     {COLUMN_TIME, COLUMN_ALGBW, COLUMN_BUSBW},
     3,
     3},
    {MEASURED_P2P, {COLUMN_TEST, COLUMN_BYTES}, {COLUMN_TIME, COLUMN_BW}, 2, 2},
};

/* The first place of this name in a header; -1: none. Case, and spaces around a name, do not
 * matter. */
static int find_column(const struct csv *c, const char *name)
{
    const size_t len = strlen(name);
    for (size_t i = 0; i < c->count; i++) {
        const char *text = c->fields[i] + strspn(c->fields[i], " ");
        if (strncasecmp(text, name, len) == 0 && text[len + strspn(text + len, " ")] == '\0')
            return (int)i;
    }
    return -1;
}

static void find_columns(struct measured_reader *r, const struct csv *c)
{
    for (size_t column = 0; column < COLUMN_COUNT; column++)
        r->place[column] = find_column(c, measured_column_names[column]);
    if (r->place[COLUMN_COLLECTIVE] < 0) /* as `specter bench report --format csv` calls it */
        r->place[COLUMN_COLLECTIVE] = find_column(c, "op");
}

static bool is_kind(const struct measured_reader *r, const struct table_kind *kind)
{
    for (size_t i = 0; i < kind->nneeds; i++) {
        if (r->place[kind->needs[i]] < 0)
            return false;
    }
    for (size_t i = 0; i < kind->ntimes; i++) {
        if (r->place[kind->times[i]] >= 0)
            return true;
    }
    return false;
}

/* The header's columns, and the kind of table that they make. 0; -1 with e filled: none; NOT_TABLE
 * with e filled: samples over time. */
static int read_header(struct measured_reader *r, struct csv *c, struct err *e)
{
    bool is_samples = false;
    if (!csv_next(c))
        return err_set(e, ERR_INPUT, "%s: empty", r->path);
    if (c->problem != NULL)
        return err_set(e, ERR_INPUT, "%s:%zu: no usable header: %s", r->path, c->line, c->problem);
    find_columns(r, c);
    /* A table of collectives with GEMMs beside them: its time is that of the collective alone. */
    r->overlap = r->place[COLUMN_GEMM_BESIDE] >= 0 && r->place[COLUMN_COMM_ALONE] >= 0 &&
                 r->place[COLUMN_TIME] < 0;
    if (r->overlap)
        r->place[COLUMN_TIME] = r->place[COLUMN_COMM_ALONE];
    for (size_t i = r->overlap; i < COUNT(kinds); i++) { /* which has the GEMM's columns, too */
        if (is_kind(r, &kinds[i])) {
            r->kind = kinds[i].kind;
            return 0;
        }
    }
    /* The other files of specter bench: temperatures and clocks over time. */
    for (size_t i = 0; i < c->count; i++)
        is_samples = is_samples || strcmp(c->fields[i], "elapsed_s") == 0;
    if (r->place[COLUMN_ITERATION] >= 0 || r->place[COLUMN_TOKENS] >= 0)
        err_set(e, ERR_INPUT,
                "%s:%zu: a table of training runs; what is compared here are single "
                "operations (collectives, p2p, gemm)",
                r->path, c->line);
    else
        err_set(e, ERR_INPUT,
                "%s:%zu: no usable header: collectives have the columns collective, bytes, "
                "ranks and time_us; p2p test, bytes and time_us; gemm m, n, k, dtype and "
                "time_us; all of them gpu_profile, and network_profile but for gemm",
                r->path, c->line);
    return is_samples ? NOT_TABLE : -1;
}

/* Returns whether a program writes so that it has no value. */
static bool is_missing(const char *text)
{
    static const char *const words[] = {"", "-", "nan", "na", "n/a", "null", "none"};
    for (size_t i = 0; i < COUNT(words); i++) {
        if (strcasecmp(words[i], text) == 0)
            return true;
    }
    return false;
}

/* Spaces around a value are no part of it, and some programs have a word for none. */
static void take_fields(struct measured_reader *r, const struct csv *c)
{
    for (size_t i = 0; i < c->count; i++) {
        char *text = c->fields[i] + strspn(c->fields[i], " \t");
        size_t len = strlen(text);
        while (len > 0 && strchr(" \t\r", text[len - 1]) != NULL)
            len--;
        text[len] = '\0';
        r->fields[i] = is_missing(text) ? "" : text;
    }
}

static void read_row(struct measured_reader *r, const struct csv *c, size_t width)
{
    struct measured *m = r->m;
    struct measured_row row;
    buf_reset(&r->reason);
    r->damaged = true;
    if (c->problem != NULL) {
        buf_puts(&r->reason, c->problem);
    } else if (c->count != width) {
        buf_printf(&r->reason, "%zu fields where the header has %zu", c->count, width);
    } else {
        take_fields(r, c);
        if (r->overlap) {
            ARRAY_GROW(m->overlaps, m->cap_overlaps, m->noverlaps + 1);
            if (measured_overlap_parse(r, &m->overlaps[m->noverlaps]) == 0) {
                m->overlaps[m->noverlaps++].of.line = c->line;
                return;
            }
        } else if (measured_row_parse(r, &row) == 0) {
            row.line = c->line;
            measured_add(m, &row);
            return;
        }
    }
    measured_skip(m, r->path, c->line, r->damaged, r->reason.data);
}

static int read_table(struct measured *m, const char *path, const struct measured_opts *opts,
                      const struct buf *text, struct err *e)
{
    struct measured_reader r = {.m = m, .opts = opts, .path = path, .reason = BUF_INIT};
    struct csv c;
    size_t width;
    int status;
    csv_init(&c, text->data, text->len);
    while (c.p < c.end && *c.p == '#') { /* in front of the header: notes to the reader */
        const char *newline = memchr(c.p, '\n', (size_t)(c.end - c.p));
        c.p = newline != NULL ? newline + 1 : c.end;
        c.next_line++;
    }
    status = read_header(&r, &c, e);
    width = c.count;
    while (status == 0 && csv_next(&c))
        read_row(&r, &c, width);
    csv_release(&c);
    buf_release(&r.reason);
    return status;
}

static int read_file(struct measured *m, const char *path, const struct measured_opts *opts,
                     struct err *e)
{
    struct buf text = BUF_INIT, shown = BUF_INIT;
    int status = stream_read_file(path, FILE_MAX, &text, e);
    buf_put_printable(&shown, path, strlen(path));
    path = intern_add(&m->names, shown.data, shown.len);
    if (status == 0)
        status = read_table(m, path, opts, &text, e);
    if (status == 0)
        add_file(m, path, NULL);
    buf_release(&shown);
    buf_release(&text);
    return status;
}

static int is_table(const struct dirent *entry)
{
    size_t len = strlen(entry->d_name);
    return len > 4 && strcmp(entry->d_name + len - 4, ".csv") == 0;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

/* A file of a folder may be of another kind; it is then named with the reason. */
static int read_folder(struct measured *m, const char *path, const struct measured_opts *opts,
                       struct err *e)
{
    const char *slash = path[0] != '\0' && path[strlen(path) - 1] == '/' ? "" : "/";
    struct dirent **entries;
    struct err why = {.code = ERR_NONE};
    int n = scandir(path, &entries, is_table, by_name), usable = 0;
    if (n < 0)
        return err_set(e, ERR_INPUT, "%s: %s", path, strerror(errno));
    for (int i = 0; i < n; i++) {
        const char *name = arena_printf(&m->arena, "%s%s%s", path, slash, entries[i]->d_name);
        int status = read_file(m, name, opts, &why);
        usable += status == 0;
        if (status < 0)
            add_file(m, name, arena_strdup(&m->arena, why.msg));
        free(entries[i]);
    }
    free(entries);
    if (usable > 0)
        return 0;
    if (n > 0)
        return err_set(e, ERR_INPUT, "%s: no usable table: %s", path, why.msg);
    return err_set(e, ERR_INPUT, "%s: no *.csv in this folder", path);
}

int measured_read(struct measured *m, const char *path, const struct measured_opts *opts,
                  struct err *e)
{
    struct stat st;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return read_folder(m, path, opts, e);
    return read_file(m, path, opts, e) == 0 ? 0 : -1;
}

static bool measured_same(const struct measured_row *a, const struct measured_row *b)
{
    if (a->kind != b->kind || a->gpu != b->gpu || a->net != b->net || a->dtype != b->dtype)
        return false;
    if (a->kind == MEASURED_GEMM)
        return a->m == b->m && a->n == b->n && a->k == b->k && a->batch == b->batch &&
               a->cache == b->cache && strcmp(a->lib, b->lib) == 0;
    if (a->nccl != b->nccl && a->nccl != 0 && b->nccl != 0)
        return false;
    return a->op == b->op && a->bytes == b->bytes && a->no_nvls == b->no_nvls &&
           a->direction == b->direction && memcmp(&a->where, &b->where, sizeof a->where) == 0 &&
           memcmp(&a->forced, &b->forced, sizeof a->forced) == 0;
}

struct measured_pair measured_contradiction(const struct measured_row *rows, size_t n)
{
    struct measured_pair most = {NULL, NULL, 1};
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < i; k++) {
            const struct measured_row *slow = &rows[i], *fast = &rows[k];
            if (slow->time_us < fast->time_us) {
                slow = &rows[k];
                fast = &rows[i];
            }
            if (slow->time_us > most.ratio * fast->time_us && measured_same(slow, fast))
                most = (struct measured_pair){slow, fast, slow->time_us / fast->time_us};
        }
    }
    return most;
}
