/* SPDX-License-Identifier: MIT
 *
 * Opens an export of Nsight Systems and reads rows of its tables. All that makes opening an
 * untrusted database safe is in this file: see harden() and authorize().
 */
#include "trace/nsys.h"

#ifdef SPECTER_HAVE_SQLITE

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

#include <assert.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

/* A row of 20 bytes takes some 30 instructions of SQLite's machine to read. */
#define STEP ((int64_t)1 << 16) /* instructions between two looks at the budget */
#define BUDGET_BASE ((int64_t)200 << 20)
#define BUDGET_PER_BYTE 32
#define TEXT_MAX (16 << 20)
#define COLUMNS_MAX 16 /* that we ask for at once */

struct nsys_db {
    sqlite3 *db;
    sqlite3_stmt *string; /* StringIds by id */
    const char *label;    /* borrowed */
    int64_t budget;
    bool exhausted;
    uint64_t failed_strings; /* reads of a text that failed */
    bool has[NSYS_TABLE_COUNT];
};

static const char *const table_names[] = {
#define X(id, name) name,
    NSYS_TABLES(X)
#undef X
};

const char *nsys_table_name(enum nsys_table table)
{
    return table_names[table];
}

/* ---- what is allowed ---- */

static bool known_table(const char *name)
{
    for (size_t i = 0; i < NSYS_TABLE_COUNT; i++) {
        if (strcasecmp(name, table_names[i]) == 0)
            return true;
    }
    return false;
}

/* SQLite asks this for each thing that a statement does. Allowed: reading the tables we know, and
 * which tables and columns there are; no functions, nothing on behalf of a view or trigger. */
static int authorize(void *unused, int action, const char *a, const char *b, const char *database,
                     const char *within)
{
    (void)unused;
    (void)b;
    (void)database;
    if (within != NULL)
        return SQLITE_DENY;
    if (action == SQLITE_SELECT)
        return SQLITE_OK;
    if (action == SQLITE_READ && a != NULL &&
        (known_table(a) || strcmp(a, "sqlite_master") == 0 || strcmp(a, "sqlite_schema") == 0))
        return SQLITE_OK;
    if (action == SQLITE_PRAGMA && a != NULL && strcmp(a, "table_xinfo") == 0)
        return SQLITE_OK;
    return SQLITE_DENY;
}

static int spend_budget(void *arg)
{
    struct nsys_db *db = arg;
    db->budget -= STEP;
    db->exhausted = db->budget < 0;
    return db->exhausted;
}

/* Sets the limits before anything of the file is read. Results are ignored: an older SQLite refuses
 * switches that it lacks, and authorize() denies the same things. */
static void harden(struct nsys_db *db)
{
    static const struct {
        int limit, value;
    } limits[] = {
        {SQLITE_LIMIT_LENGTH, TEXT_MAX},
        {SQLITE_LIMIT_SQL_LENGTH, 1 << 20},
        {SQLITE_LIMIT_COLUMN, 1000},
        {SQLITE_LIMIT_EXPR_DEPTH, 100},
        {SQLITE_LIMIT_COMPOUND_SELECT, 4},
        {SQLITE_LIMIT_VDBE_OP, 25000},
        {SQLITE_LIMIT_FUNCTION_ARG, 8},
        {SQLITE_LIMIT_ATTACHED, 0},
        {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 64},
        {SQLITE_LIMIT_VARIABLE_NUMBER, 8},
        {SQLITE_LIMIT_TRIGGER_DEPTH, 1},
        {SQLITE_LIMIT_WORKER_THREADS, 0},
    };
    static const struct {
        int what, on;
    } switches[] = {
        {SQLITE_DBCONFIG_DEFENSIVE, 1},       {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
        {SQLITE_DBCONFIG_ENABLE_VIEW, 0},     {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
        {SQLITE_DBCONFIG_ENABLE_FKEY, 0},     {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
        {SQLITE_DBCONFIG_WRITABLE_SCHEMA, 0},
    };
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        sqlite3_limit(db->db, limits[i].limit, limits[i].value);
    for (size_t i = 0; i < sizeof switches / sizeof *switches; i++)
        sqlite3_db_config(db->db, switches[i].what, switches[i].on, NULL);
    sqlite3_exec(db->db, "PRAGMA cell_size_check=ON; PRAGMA temp_store=MEMORY; PRAGMA mmap_size=0",
                 NULL, NULL, NULL);
    sqlite3_set_authorizer(db->db, authorize, NULL);
    sqlite3_progress_handler(db->db, (int)STEP, spend_budget, db);
}

/* ---- opening ---- */

static int failed(struct nsys_db *db, const char *where, struct err *e)
{
    if (db->exhausted)
        return err_set(e, ERR_INPUT, "%s: %s%sreading it takes more than its size can need",
                       db->label, where, where[0] ? ": " : "");
    return err_set(e, ERR_INPUT, "%s: %s%sSQLite: %s", db->label, where, where[0] ? ": " : "",
                   sqlite3_errmsg(db->db));
}

/* file:PATH with everything that means something in a URI escaped. immutable: no lock is taken, and
 * a journal that lies beside the file is not played back. */
static int open_path(struct nsys_db *db, const char *path, struct err *e)
{
    struct buf uri = BUF_INIT;
    struct stat st;
    int rc;
    buf_puts(&uri, path[0] == '/' ? "file://" : "file:");
    for (const unsigned char *p = (const unsigned char *)path; *p != '\0'; p++) {
        if (*p <= ' ' || *p >= 0x7f || strchr("%?#", *p) != NULL)
            buf_printf(&uri, "%%%02X", *p);
        else
            buf_putc(&uri, (char)*p);
    }
    buf_puts(&uri, "?mode=ro&immutable=1");
    rc = sqlite3_open_v2(uri.data, &db->db,
                         SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, NULL);
    buf_release(&uri);
    if (stat(path, &st) == 0)
        db->budget += st.st_size > INT64_MAX / 64 ? INT64_MAX / 2 : st.st_size * BUDGET_PER_BYTE;
    return rc == SQLITE_OK ? 0 : failed(db, "", e);
}

/* The whole stream. SQLite frees it. */
static unsigned char *read_all(struct stream *s, size_t *len, const char *label, struct err *e)
{
    size_t cap = 1 << 20;
    unsigned char *data = sqlite3_malloc64(cap);
    ssize_t n;
    for (*len = 0;; *len += (size_t)n) {
        if (*len == cap && cap < NSYS_MEMORY_MAX)
            data = sqlite3_realloc64(data, cap *= 2);
        if (data == NULL)
            die("out of memory");
        n = stream_read(s, data + *len, cap - *len, e);
        if (n == 0 && *len == NSYS_MEMORY_MAX)
            n = err_set(e, ERR_INPUT,
                        "%s: a compressed export is read up to 1 GiB; unpack it first", label);
        if (n <= 0)
            break;
    }
    if (n == 0)
        return data;
    sqlite3_free(data);
    return NULL;
}

/* Before 3.36 SQLite has it only where it was built with it; Debian 11's was not. */
#pragma weak sqlite3_deserialize

bool nsys_db_reads_compressed(void)
{
    return sqlite3_deserialize != NULL;
}

static int open_memory(struct nsys_db *db, struct stream *s, struct err *e)
{
    size_t len;
    unsigned char *data;
    if (!nsys_db_reads_compressed())
        return err_set(e, ERR_INPUT,
                       "%s: SQLite %s cannot read a compressed export here; unpack it first",
                       db->label, sqlite3_libversion());
    data = read_all(s, &len, db->label, e);
    if (data == NULL)
        return -1;
    /* 2: the file has a write-ahead log, which a database in memory cannot have; 1: it has none. */
    if (len > 19 && data[18] == 2 && data[19] == 2)
        data[18] = data[19] = 1;
    db->budget += (int64_t)len * BUDGET_PER_BYTE;
    if (sqlite3_open_v2(":memory:", &db->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) !=
        SQLITE_OK) {
        sqlite3_free(data);
        return failed(db, "", e);
    }
    if (sqlite3_deserialize(db->db, "main", data, (sqlite3_int64)len, (sqlite3_int64)len,
                            SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_READONLY) !=
        SQLITE_OK)
        return failed(db, "", e);
    return 0;
}

/* Finds the tables: real ones, stored in the file (a virtual table has no root page). */
static int find_tables(struct nsys_db *db, struct err *e)
{
    sqlite3_stmt *stmt;
    int rc = sqlite3_prepare_v2(
        db->db, "SELECT name, type, rootpage FROM sqlite_master WHERE type IN ('table', 'view')",
        -1, &stmt, NULL);
    if (rc != SQLITE_OK)
        return failed(db, "", e);
    while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(stmt, 0);
        const char *type = (const char *)sqlite3_column_text(stmt, 1);
        for (size_t i = 0; name != NULL && i < NSYS_TABLE_COUNT; i++) {
            if (strcasecmp(name, table_names[i]) != 0)
                continue;
            db->has[i] =
                type != NULL && strcmp(type, "table") == 0 && sqlite3_column_int64(stmt, 2) > 0;
            if (db->has[i])
                continue;
            err_set(e, ERR_INPUT, "%s: %s is no plain table: refused", db->label, table_names[i]);
            sqlite3_finalize(stmt);
            return -1;
        }
    }
    if (rc != SQLITE_DONE)
        failed(db, "", e);
    sqlite3_finalize(stmt);
    return rc == SQLITE_DONE ? 0 : -1;
}

/* Marks those of the columns that the table stores. A computed column counts as missing: its
 * expression is the file's, and authorize() is not asked about the functions in it. */
static int find_columns(struct nsys_db *db, enum nsys_table table, const char *const *columns,
                        int n, bool *there, struct err *e)
{
    char sql[96];
    sqlite3_stmt *stmt;
    int rc;
    snprintf(sql, sizeof sql, "PRAGMA table_xinfo(\"%s\")", table_names[table]);
    if (sqlite3_prepare_v2(db->db, sql, -1, &stmt, NULL) != SQLITE_OK)
        return failed(db, table_names[table], e);
    while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(stmt, 1);
        for (int i = 0; name != NULL && i < n; i++)
            there[i] |= strcasecmp(name, columns[i]) == 0 && sqlite3_column_int(stmt, 6) == 0;
    }
    if (rc != SQLITE_DONE)
        failed(db, table_names[table], e);
    sqlite3_finalize(stmt);
    return rc == SQLITE_DONE ? 0 : -1;
}

static int prepare(struct nsys_db *db, struct err *e)
{
    static const char *const columns[] = {"id", "value"};
    bool there[2] = {false};
    harden(db);
    if (find_tables(db, e) < 0)
        return -1;
    if (!db->has[NSYS_STRINGS])
        return err_set(e, ERR_INPUT,
                       "%s: an SQLite file, but no export of Nsight Systems (no StringIds)",
                       db->label);
    if (find_columns(db, NSYS_STRINGS, columns, 2, there, e) < 0)
        return -1;
    if (!there[0] || !there[1])
        return err_set(e, ERR_INPUT, "%s: %s: no columns 'id' and 'value'", db->label,
                       table_names[NSYS_STRINGS]);
    if (sqlite3_prepare_v2(db->db, "SELECT value FROM StringIds NOT INDEXED WHERE id = ?1", -1,
                           &db->string, NULL) != SQLITE_OK)
        return failed(db, table_names[NSYS_STRINGS], e);
    return 0;
}

int nsys_db_open(struct nsys_db **out, struct stream *s, const char *label, struct err *e)
{
    struct nsys_db *db = array_new(1, sizeof *db);
    const char *path = stream_plain_path(s);
    int rc;
    *out = NULL;
    db->label = label;
    db->budget = BUDGET_BASE;
    rc = path != NULL ? open_path(db, path, e) : open_memory(db, s, e);
    if (rc == 0 && (rc = prepare(db, e)) == 0)
        *out = db;
    else
        nsys_db_close(db);
    return rc;
}

void nsys_db_close(struct nsys_db *db)
{
    if (db == NULL)
        return;
    sqlite3_finalize(db->string);
    sqlite3_close(db->db);
    free(db);
}

bool nsys_db_allows(struct nsys_db *db, const char *sql)
{
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(db->db, sql, -1, &stmt, NULL);
    sqlite3_finalize(stmt);
    return rc == SQLITE_OK;
}

/* ---- rows ---- */

int nsys_scan(struct nsys_rows *rows, struct nsys_db *db, enum nsys_table table,
              const struct nsys_columns *columns, struct err *e)
{
    bool there[COLUMNS_MAX] = {false};
    struct buf sql = BUF_INIT;
    int rc;
    assert(columns->n <= COLUMNS_MAX);
    *rows = (struct nsys_rows){db, NULL, table};
    if (!db->has[table])
        return 0;
    rc = find_columns(db, table, columns->names, columns->n, there, e);
    buf_puts(&sql, "SELECT ");
    for (int i = 0; i < columns->n && rc == 0; i++) {
        const char *name = columns->names[i];
        if (!there[i] && i < columns->need)
            rc = err_set(e, ERR_INPUT, "%s: %s: no column '%s'", db->label, table_names[table],
                         name);
        buf_printf(&sql, there[i] ? "%s\"%s\"" : "%sNULL", i > 0 ? ", " : "", name);
    }
    buf_printf(&sql, " FROM \"%s\" NOT INDEXED", table_names[table]);
    if (rc == 0 && sqlite3_prepare_v2(db->db, sql.data, -1, &rows->stmt, NULL) != SQLITE_OK)
        rc = failed(db, table_names[table], e);
    buf_release(&sql);
    return rc < 0 ? -1 : 1;
}

int nsys_next(struct nsys_rows *rows, struct err *e)
{
    int rc = sqlite3_step(rows->stmt);
    if (rc == SQLITE_ROW)
        return 1;
    return rc == SQLITE_DONE ? 0 : failed(rows->db, table_names[rows->table], e);
}

void nsys_scan_end(struct nsys_rows *rows)
{
    sqlite3_finalize(rows->stmt);
    rows->stmt = NULL;
}

int64_t nsys_int(const struct nsys_rows *rows, int column, int64_t none)
{
    if (sqlite3_column_type(rows->stmt, column) != SQLITE_INTEGER)
        return none;
    return sqlite3_column_int64(rows->stmt, column);
}

static struct json_text text_of(sqlite3_stmt *stmt, int column)
{
    struct json_text text = {NULL, 0, false};
    if (sqlite3_column_type(stmt, column) != SQLITE_TEXT)
        return text;
    text.p = (const char *)sqlite3_column_text(stmt, column);
    text.len = text.p != NULL ? (uint32_t)sqlite3_column_bytes(stmt, column) : 0;
    return text;
}

struct json_text nsys_text(const struct nsys_rows *rows, int column)
{
    return text_of(rows->stmt, column);
}

const unsigned char *nsys_bytes(const struct nsys_rows *rows, int column, size_t *len)
{
    int type = sqlite3_column_type(rows->stmt, column);
    const unsigned char *data = NULL;
    if (type == SQLITE_BLOB || type == SQLITE_TEXT)
        data = sqlite3_column_blob(rows->stmt, column);
    *len = data != NULL ? (size_t)sqlite3_column_bytes(rows->stmt, column) : 0;
    return data;
}

struct json_text nsys_string(struct nsys_db *db, int64_t id)
{
    struct json_text none = {NULL, 0, false};
    int rc;
    sqlite3_reset(db->string);
    sqlite3_bind_int64(db->string, 1, id);
    rc = sqlite3_step(db->string);
    db->failed_strings += rc != SQLITE_ROW && rc != SQLITE_DONE;
    return rc == SQLITE_ROW ? text_of(db->string, 0) : none;
}

uint64_t nsys_failed_strings(const struct nsys_db *db)
{
    return db->failed_strings;
}

#endif
