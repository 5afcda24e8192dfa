/* SPDX-License-Identifier: MIT
 *
 * Exports of Nsight Systems made by hand, as SQL. Process p has the globalPid NSYS_PID(p); its
 * threads are p * 10 and on.
 */
#ifndef SPECTER_MADE_NSYS_H
#define SPECTER_MADE_NSYS_H

#include "trace_load.h"

#include <sqlite3.h>
#include <stdint.h>

#define NSYS_PID(p) (((long long)1 << 48) + ((long long)(p) << 24))
#define NSYS_TID(p, t) (NSYS_PID(p) + (t))

/* The tables of schema 3.25 that are read, with their columns as far as they are. */
#define NSYS_NEW                                                                                \
    "CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);"            \
    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, "   \
    "contextId INTEGER, greenContextId INTEGER, streamId INTEGER, correlationId INTEGER, "      \
    "globalPid INTEGER, demangledName INTEGER, shortName INTEGER, mangledName INTEGER, "        \
    "graphNodeId INTEGER, graphId INTEGER);"                                                    \
    "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER, "   \
    "contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, "           \
    "bytes INTEGER, copyKind INTEGER, srcKind INTEGER, dstKind INTEGER);"                       \
    "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, eventClass INTEGER," \
    "globalTid INTEGER, correlationId INTEGER, nameId INTEGER);"                                \
    "CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER, end INTEGER, "            \
    "deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER, "            \
    "globalPid INTEGER, syncType INTEGER, eventId INTEGER, eventSyncId INTEGER);"               \
    "CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, "      \
    "globalTid INTEGER, textId INTEGER, domainId INTEGER, jsonTextId INTEGER, jsonText TEXT, "  \
    "binaryData TEXT);"                                                                         \
    "CREATE TABLE NVTX_PAYLOAD_SCHEMA_ENTRIES (domainId INTEGER, schemaId INTEGER, "            \
    "idx INTEGER, flags INTEGER, type INTEGER, name TEXT, offset INTEGER);"                     \
    "CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER);"                         \
    "CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);"                                    \
    "INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION', '3.25.0');"

/* NCCL's schemas: making a communicator, AllReduce, AllGather, Send and Recv. */
#define NSYS_SCHEMAS                                                          \
    "INSERT INTO NVTX_PAYLOAD_SCHEMA_ENTRIES VALUES"                          \
    "(1,16777216,0,NULL,18,'NCCL communicator ID',NULL),"                     \
    "(1,16777216,1,NULL,5,'No. of ranks',8),(1,16777216,2,NULL,5,'Rank',12)," \
    "(1,16777216,3,NULL,5,'CUDA device',16),"                                 \
    "(1,16777221,0,NULL,18,'NCCL communicator ID',NULL),"                     \
    "(1,16777221,1,NULL,22,'Message size [bytes]',8),"                        \
    "(1,16777221,2,NULL,16777232,'Reduction operation',16),"                  \
    "(1,16777220,0,NULL,18,'NCCL communicator ID',NULL),"                     \
    "(1,16777220,1,NULL,22,'Message size [bytes]',8),"                        \
    "(1,16777225,0,NULL,18,'NCCL communicator ID',NULL),"                     \
    "(1,16777225,1,NULL,22,'Message size [bytes]',8),"                        \
    "(1,16777225,2,NULL,5,'Peer rank',16);"

#define ALLREDUCE "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
#define ALLGATHER "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
#define SENDRECV "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"

static inline void put_u64(struct buf *out, uint64_t value)
{
    for (int i = 0; i < 8; i++)
        buf_printf(out, "%02X", (unsigned)(value >> 8 * i & 0xff));
}

/* x'...': the header of a block, then up to three numbers of 64 bits. `fourth`: what the header's
 * last number says. */
static inline const char *nsys_blob(int schema, uint64_t fourth, const uint64_t *values, int n)
{
    static char text[256];
    struct buf b = BUF_INIT;
    buf_puts(&b, "x'");
    put_u64(&b, 1);
    put_u64(&b, (uint64_t)(16777216 + schema));
    put_u64(&b, (uint64_t)n * 8);
    put_u64(&b, fourth);
    for (int i = 0; i < n; i++)
        put_u64(&b, values[i]);
    buf_putc(&b, '\'');
    snprintf(text, sizeof text, "%s", b.data);
    buf_release(&b);
    return text;
}

static inline const char *nsys_init_blob(uint64_t comm, uint64_t nranks, uint64_t rank,
                                         uint64_t device)
{
    return nsys_blob(0, 32, (uint64_t[]){comm, nranks | rank << 32, device}, 3);
}

static inline const char *nsys_call_blob(int schema, uint64_t comm, uint64_t bytes, uint64_t last)
{
    return nsys_blob(schema, 32, (uint64_t[]){comm, bytes, last}, 3);
}

static inline void nsys_put_name(struct buf *sql, const char *name)
{
    buf_printf(sql,
               "INSERT INTO StringIds(value) SELECT '%s' WHERE NOT EXISTS "
               "(SELECT 1 FROM StringIds WHERE value = '%s');",
               name, name);
}

/* A kernel of process p on a device, stream 7, with the call that launched it 100 ns before, which
 * lasts 50 ns, on thread p * 10. The correlation is the kernel's start. */
static inline void nsys_put_kernel(struct buf *sql, int p, int device, const char *name,
                                   long long start, long long dur)
{
    nsys_put_name(sql, name);
    nsys_put_name(sql, "cudaLaunchKernel_v7000");
    buf_printf(sql,
               "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (%lld, %lld, %d, %d, NULL, 7, "
               "%lld, %lld, (SELECT id FROM StringIds WHERE value = '%s'), 0, 0, NULL, NULL);",
               start, start + dur, device, device + 1, start, NSYS_PID(p), name);
    buf_printf(sql,
               "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (%lld, %lld, 0, %lld, %lld, "
               "(SELECT id FROM StringIds WHERE value = 'cudaLaunchKernel_v7000'));",
               start - 100, start - 50, NSYS_TID(p, p * 10), start);
}

/* A range of thread p * 10; `blob`: x'...' or NULL. */
static inline void nsys_put_range(struct buf *sql, int p, const char *text, long long start,
                                  long long end, const char *blob)
{
    buf_printf(sql,
               "INSERT INTO NVTX_EVENTS VALUES (%lld, %lld, 59, '%s', %lld, NULL, 1, NULL, "
               "NULL, %s);",
               start, end, text, NSYS_TID(p, p * 10), blob);
}

/* Runs the statements on a new database in the folder; what is wrong with them on stderr. */
static inline void nsys_write(const char *folder, const char *name, const char *sql)
{
    sqlite3 *db;
    char *wrong = NULL;
    sqlite3_open(file_in(folder, name), &db);
    CHECK_INT(sqlite3_exec(db, sql, NULL, NULL, &wrong), SQLITE_OK);
    CHECK_STR(wrong != NULL ? wrong : "", "");
    sqlite3_free(wrong);
    sqlite3_close(db);
}

/* Loads a folder with one export made of these statements, and removes it. */
static inline void load_sql(struct run *run, const char *sql)
{
    const char *folder = make_folder();
    nsys_write(folder, "report.sqlite", sql);
    load_path(run, folder);
    remove_folder(folder);
}

static inline const char *sql_error(const char *sql)
{
    const char *folder = make_folder(), *error;
    nsys_write(folder, "report.sqlite", sql);
    error = load_error(file_in(folder, "report.sqlite"), NULL);
    remove_folder(folder);
    return error;
}

/* Two processes of one communicator; the second is rank 0. */
static inline void put_two_ranks(struct buf *sql)
{
    buf_puts(sql, NSYS_NEW NSYS_SCHEMAS
             "INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1700000000000000000);");
    for (int p = 1; p <= 2; p++) {
        nsys_put_range(sql, p, "ncclCommInitRank", 100, 900,
                       nsys_init_blob(0xabc, 2, (uint64_t)(2 - p), (uint64_t)(p - 1)));
        nsys_put_range(sql, p, "ncclAllReduce", 1800, 1960, nsys_call_blob(5, 0xabc, 4096, 2));
        nsys_put_kernel(sql, p, p - 1, ALLREDUCE, 2000 + p, 500);
        nsys_put_range(sql, p, "ncclAllGather", 3800, 3960, nsys_call_blob(4, 0xabc, 8192, 0));
        nsys_put_kernel(sql, p, p - 1, ALLGATHER, 4000, 500 + p);
    }
}

#endif
