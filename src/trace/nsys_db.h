/* SPDX-License-Identifier: MIT
 *
 * The SQLite file that `nsys export` writes, as rows of the tables we know. The file may be from
 * anybody: it is opened read-only, nothing in it is ever run (no views, triggers, functions,
 * extensions), no table but those of NSYS_TABLES can be read, and work is bounded by the file's
 * size. The tables that hold the environment of the profiled program are not among them.
 *
 *     static const char *const columns[] = {"start", "end", "bytes"};
 *     if (nsys_scan(&rows, db, NSYS_MEMCPY, columns, 3, 2, e) > 0)
 *         while (nsys_next(&rows, e) > 0)
 *             use(nsys_int(&rows, 0, -1));
 *     nsys_scan_end(&rows);
 */
#ifndef SPECTER_TRACE_NSYS_DB_H
#define SPECTER_TRACE_NSYS_DB_H

#include "base/json.h"
#include "base/stream.h"

struct err;
struct nsys_db;
struct sqlite3_stmt;

/* X(id, name) */
#define NSYS_TABLES(X)                             \
    X(STRINGS, "StringIds")                        \
    X(KERNEL, "CUPTI_ACTIVITY_KIND_KERNEL")        \
    X(MEMCPY, "CUPTI_ACTIVITY_KIND_MEMCPY")        \
    X(MEMSET, "CUPTI_ACTIVITY_KIND_MEMSET")        \
    X(GRAPH, "CUPTI_ACTIVITY_KIND_GRAPH_TRACE")    \
    X(RUNTIME, "CUPTI_ACTIVITY_KIND_RUNTIME")      \
    X(DRIVER, "CUPTI_ACTIVITY_KIND_DRIVER")        \
    X(SYNC, "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION") \
    X(EVENT, "CUPTI_ACTIVITY_KIND_CUDA_EVENT")     \
    X(NVTX, "NVTX_EVENTS")                         \
    X(ENTRIES, "NVTX_PAYLOAD_SCHEMA_ENTRIES")      \
    X(GPU, "TARGET_INFO_GPU")                      \
    X(DEVICE, "TARGET_INFO_CUDA_DEVICE")           \
    X(SESSION, "TARGET_INFO_SESSION_START_TIME")

enum nsys_table {
#define X(id, name) NSYS_##id,
    NSYS_TABLES(X)
#undef X
        NSYS_TABLE_COUNT
};

#define NSYS_MEMORY_MAX ((size_t)1 << 30) /* a compressed export is held in memory */

/* A plain file is opened by its path; what is compressed or in an archive is read into memory. -1
 * with e filled: no database, damaged, no export of nsys, or a view stands where a table should. */
int nsys_db_open(struct nsys_db **out, struct stream *s, const char *label, struct err *e);
/* Only plain files are read where SQLite was built without sqlite3_deserialize. */
bool nsys_db_reads_compressed(void);

void nsys_db_close(struct nsys_db *db); /* NULL is allowed */

/* Returns whether this statement would be let through. For tests of those that are not. */
bool nsys_db_allows(struct nsys_db *db, const char *sql);

const char *nsys_table_name(enum nsys_table table);

/* A scan of one table, in the order in which its rows are stored. */
struct nsys_rows {
    struct nsys_db *db;        /* borrowed */
    struct sqlite3_stmt *stmt; /* owned */
    enum nsys_table table;
};

/* 1 when there are rows to ask for; 0 when the file has no such table; -1 with e filled when it has
 * not the first `need` of the columns, or is damaged. Columns behind those that it lacks read as
 * NULL. */
int nsys_scan(struct nsys_rows *rows, struct nsys_db *db, enum nsys_table table,
              const char *const *columns, int n, int need, struct err *e);
int nsys_next(struct nsys_rows *rows, struct err *e); /* 1 a row, 0 the end, -1 error */
void nsys_scan_end(struct nsys_rows *rows);

/* A column of the row; `none` and an empty text where it is NULL or of another type. Texts and
 * blobs are valid until the next row. */
int64_t nsys_int(const struct nsys_rows *rows, int column, int64_t none);
struct json_text nsys_text(const struct nsys_rows *rows, int column);
const unsigned char *nsys_bytes(const struct nsys_rows *rows, int column, size_t *len);

/* The text that StringIds has for an id; p is NULL when there is none. Valid until the next call.
 */
struct json_text nsys_string(struct nsys_db *db, int64_t id);

#endif
