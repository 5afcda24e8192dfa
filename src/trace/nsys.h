/* SPDX-License-Identifier: MIT
 *
 * One export of Nsight Systems while it is read. Each table is scanned once, in this order:
 *
 *   nsys_work.c   kernels, copies, graph launches: they say which processes and devices there are
 *   nsys_host.c   names of the GPUs; calls that launched that work, synchronisations, events
 *   nsys_nvtx.c   ranges around those calls and what is around each launch; marks, steps, NCCL's
 *                 own ranges, operators whose arithmetic is known
 *   nsys_nccl.c   what a payload of NCCL's ranges says
 *   nsys_comm.c   what each communication kernel is
 *
 * Behind the last file nsys.c tells which collectives are the same.
 *
 * Correlation ids are unique in a process only, so that everything is kept by process. One process
 * with one device is a rank.
 */
#ifndef SPECTER_TRACE_NSYS_H
#define SPECTER_TRACE_NSYS_H

#include "base/buf.h"
#include "base/idmap.h"
#include "base/json.h"
#include "base/stream.h"
#include "trace/api_calls.h"
#include "trace/product.h"
#include "trace/reader.h"
#include "trace/run.h"

/* ---- the file (nsys_db.c) ----
 *
 * The SQLite file that `nsys export` writes, as rows of the tables we know. The file may be from
 * anybody: it is opened read-only, nothing in it is ever run (no views, triggers, functions,
 * extensions), no table but those of NSYS_TABLES can be read, and work is bounded by the file's
 * size. The tables that hold the environment of the profiled program are not among them.
 *
 *     static const char *const columns[] = {"start", "end", "bytes"};
 *     if (nsys_scan(&rows, db, NSYS_MEMCPY, &(struct nsys_columns){columns, 3, 2}, e) > 0)
 *         while (nsys_next(&rows, e) > 0)
 *             use(nsys_int(&rows, 0, -1));
 *     nsys_scan_end(&rows); */

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

/* The columns that are read of each row. A table must have the first `need` of the columns; others
 * that it lacks read as NULL. */
struct nsys_columns {
    const char *const *names; /* [n] */
    int n, need;
};

/* 1 when there are rows to ask for; 0 when the file has no such table; -1 with e filled when it has
 * not the columns that it must have, or is damaged. */
int nsys_scan(struct nsys_rows *rows, struct nsys_db *db, enum nsys_table table,
              const struct nsys_columns *columns, struct err *e);
int nsys_next(struct nsys_rows *rows, struct err *e); /* 1 a row, 0 the end, -1 error */
void nsys_scan_end(struct nsys_rows *rows);

/* A column of the row; `none` and an empty text where it is NULL or of another type. Texts and
 * blobs are valid until the next row. */
int64_t nsys_int(const struct nsys_rows *rows, int column, int64_t none);
struct json_text nsys_text(const struct nsys_rows *rows, int column);
const unsigned char *nsys_bytes(const struct nsys_rows *rows, int column, size_t *len);

/* The text that StringIds has for an id, asked of the file each time; p is NULL when there is none
 * or it cannot be read. Valid until the next call. nsys_name() keeps texts. */
struct json_text nsys_string(struct nsys_db *db, int64_t id);

/* The number of times that nsys_string() failed to read a text, as of a damaged file. */
uint64_t nsys_failed_strings(const struct nsys_db *db);

/* ---- what is made of it ---- */

#define NSYS_RANKS_MAX 1024       /* of a file; more is damage */
#define NSYS_MARKS_MAX (1u << 20) /* of a process */

#define NSYS_LIST(type, name) \
    struct {                  \
        type *list;           \
        size_t count, cap;    \
    } name

/* A host call that put work on a device, and what is around it. */
struct nsys_launch {
    int64_t start_ns, end_ns; /* UNKNOWN_NS: the file does not hold the call */
    uint32_t tid;
    int32_t annotated_op; /* enum specter_comm_op by PyTorch's annotation; COUNT none */
    int32_t group;        /* the NCCL calls that it carries out; -1 */
    int32_t product;      /* of the innermost operator that is one (product.h); -1 */
    const char *caller;   /* innermost operation of the framework; "" */
    enum api_call call;
};

struct nsys_sync_call {
    struct sync_call sync;
    int64_t context; /* -1 */
};

/* One call of NCCL; -1 and UNKNOWN where it does not tell. */
struct nsys_call {
    uint64_t comm; /* NCCL's hash of the communicator */
    bool has_comm;
    uint8_t op, redop;
    int64_t bytes;                /* of the call's own count argument */
    int64_t peer;                 /* or root */
    int64_t nranks, rank, device; /* calls that make or end a communicator */
};

enum nsys_range_kind {
    NSYS_FRAMEWORK,   /* an operation of PyTorch */
    NSYS_ANNOTATION,  /* nccl:all_reduce, PyTorch's name for a collective */
    NSYS_CALL,        /* ncclAllReduce */
    NSYS_GROUP_BEGIN, /* ncclGroupStart */
    NSYS_GROUP_END,
};

struct nsys_range {
    int64_t start_ns, end_ns;
    const char *name; /* interned */
    int32_t detail;   /* NSYS_CALL: index of the call; NSYS_ANNOTATION: enum specter_comm_op;
                         NSYS_FRAMEWORK: index of the product or -1 */
    uint32_t tid;
    uint8_t kind;
};

/* Calls that went to the device together: one alone, or those of a group. */
struct nsys_group {
    size_t first, count; /* into the process's ordered calls */
};

struct nsys_process {
    int64_t key; /* globalPid */
    struct idmap threads;
    struct idmap launch_ids; /* correlation of device work -> launches */
    NSYS_LIST(struct nsys_launch, launches);
    struct idmap sync_call_ids; /* correlation -> sync calls */
    NSYS_LIST(struct nsys_sync_call, sync_calls);
    struct idmap context_ids;     /* -> contexts */
    NSYS_LIST(int32_t, contexts); /* their devices */
    struct idmap graph_ids;
    struct idmap joined;              /* communicator and device of the process */
    struct idmap comm_ids;            /* communicator -> comm_devices */
    NSYS_LIST(int32_t, comm_devices); /* how many of the process's devices are in it */
    NSYS_LIST(struct mark, spans);    /* named by the program */
    uint32_t *by_time;                /* [nby_time] launches by thread and time; owned */
    size_t nby_time;
    NSYS_LIST(struct nsys_range, ranges);
    NSYS_LIST(struct nsys_call, calls);
    NSYS_LIST(struct product, products);
    NSYS_LIST(int32_t, ordered); /* calls, by thread and time */
    NSYS_LIST(struct nsys_group, groups);
};

/* One process with one of its devices. */
struct nsys_member {
    size_t process; /* index */
    int32_t device;
    size_t rank; /* index into the run's ranks */
    size_t kernels;
};

#define NSYS_TEXT_MAX 4096 /* of a text is kept */

struct nsys_text_slot {
    int64_t id;
    bool known, there;
    struct buf text; /* owned */
};

struct nsys_schema_field {
    int64_t schema, offset, type;
    int what; /* enum in nsys_nccl.c */
};

struct nsys {
    struct run *run;
    struct nsys_db *db;
    const char *label;
    struct memo texts;
    struct nsys_text_slot cache[4096]; /* StringIds that repeat */
    NSYS_LIST(struct nsys_process, processes);
    NSYS_LIST(struct nsys_member, members);
    NSYS_LIST(struct nsys_schema_field, fields);
    size_t last_member;
    int64_t utc_ns;  /* of time 0; UNKNOWN_NS */
    int64_t last_ns; /* the last moment seen */
    int ngpus;
    bool has_syncs, has_nvtx, has_graphs;
    size_t left_out; /* marks beyond the bound */
};

/* Reads an opened export into run, calling it `label`. */
int nsys_read_db(struct run *run, struct nsys_db *db, const char *label, struct err *e);

/* The steps of reading: each notes what it cannot use. Only nsys_work() can fail: without device
 * work there is no rank. */
int nsys_work(struct nsys *n, struct err *e);
void nsys_devices(struct nsys *n); /* names of GPUs and hosts */
void nsys_host(struct nsys *n);
void nsys_schemas(struct nsys *n);
void nsys_nvtx(struct nsys *n);
void nsys_comm(struct nsys *n);
void nsys_finish(struct run *run);

/* A text by its id, kept from the first time on and cut at NSYS_TEXT_MAX bytes; p is NULL where
 * there is none. Valid until the next call. */
struct json_text nsys_name(struct nsys *n, int64_t id);

/* The process of a globalPid or globalTid; NULL when it did no device work. */
struct nsys_process *nsys_process_of(struct nsys *n, int64_t global);

/* Returns whether both times of a range are known, in order and in range. */
bool nsys_times(int64_t start, int64_t end);

/* "FILE: TABLE: N rows of it ...": what of a table could not be used. */
void nsys_note_rows(struct nsys *n, enum nsys_table table, uint64_t count, const char *why);
void nsys_note_err(struct nsys *n, const struct err *e);

/* Takes what an NCCL range's payload says into the call: binary by its schema, or JSON. */
void nsys_payload(const struct nsys *n, struct nsys_call *call, const unsigned char *data,
                  size_t len);
void nsys_payload_json(struct nsys_call *call, struct json_text text);

#endif
