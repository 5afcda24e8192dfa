/* SPDX-License-Identifier: MIT
 *
 * One record of NCCL Inspector, from a line of its logs (shown in inspector.c) or of the files of
 * its Prometheus exporter; for inspector.c.
 */
#ifndef SPECTER_TRACE_INSPECTOR_H
#define SPECTER_TRACE_INSPECTOR_H

#include "base/buf.h"
#include "base/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Texts are views into the line; p NULL: not there. Numbers: -1 not there; times in ns. */
struct inspector_record {
    struct json_text id, comm_name, host;
    int64_t comm_rank, comm_size, nodes;
    int64_t pid, dump_ns;
    bool coll, p2p; /* which of them it is; neither: a kind that is not known */
    struct json_text what, source, algo, proto;
    int64_t sn, peer, bytes, exec_ns;
    int64_t call_ns, call_end_ns; /* the host's enqueuing call; 0 or -1 not known */
    int64_t kernel_ns;            /* when the host saw the first of its kernels begin; likewise */
    int64_t kernel_end_ns;        /* and the last of them end; ACCL: both as below */
    int64_t lost;                 /* ACCL's summary: collectives that it could not log */
    uint32_t channels;            /* of the kernels that were listed */
    const char *error;            /* description of the error; NULL: none */
    size_t offset;                /* of the error, in bytes of the record */
    bool cut;                     /* it might go on */
};

/* False when it is no JSON object, or a value is not what it should be. */
bool inspector_parse(struct inspector_record *rec, const char *text, size_t len);

/* Returns whether the text, or its beginning, is such a record. The header stands first, the
 * metadata second; a value in them that is wrong, or a record that is cut after them, does not
 * make it another format. */
bool inspector_is_record(const char *text, size_t len);

/* ---- ACCL ----
 *
 * RCCL's profiler plugin of that name writes records of the same form, a file for each communicator
 * of a process: `accl_profiler_rank0_host_pid12_0x1f.jsonl`, whose name alone tells which. Its
 * kernels' times are ticks of 10 ns of the GPU's clock, read as if they were microseconds.
 */

/* Fills in from the file's name what the record does not tell. */
void accl_name_record(struct inspector_record *rec, const char *label);

/* Returns whether the GPU's clock timed it. Before that plugin did, its host did under the same
 * name: the channels' ticks tell. */
bool accl_device_timed(const struct inspector_record *rec);

/* ---- Prometheus ----
 *
 * Lines of the files that NCCL Inspector's Prometheus exporter writes (NCCL_INSPECTOR_PROM_DUMP=1,
 * nccl_inspector_metrics_<GPU>.prom) as the lines of its logs: one of three holds all of a
 * collective.
 *
 *     nccl_collective_exec_time_microseconds{comm_id="0x1",rank="0",...} 35
 */
enum prom_line {
    PROM_OTHER,   /* no line of such a file */
    PROM_NOTHING, /* one that says nothing more: a bandwidth, a comment */
    PROM_RECORD,  /* `out` holds the record */
    PROM_WRONG,   /* one that cannot be read */
};

/* Appends the record to `out`, which is emptied first. */
enum prom_line prom_line_read(struct buf *out, const char *text, size_t len);

#endif
