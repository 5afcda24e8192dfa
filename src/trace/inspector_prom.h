/* SPDX-License-Identifier: MIT
 *
 * Lines of the files that NCCL Inspector's Prometheus exporter writes (NCCL_INSPECTOR_PROM_DUMP=1,
 * nccl_inspector_metrics_<GPU>.prom) as the lines of its logs: one of three holds all of a
 * collective.
 *
 *     nccl_collective_exec_time_microseconds{comm_id="0x1",rank="0",...} 35
 */
#ifndef SPECTER_TRACE_INSPECTOR_PROM_H
#define SPECTER_TRACE_INSPECTOR_PROM_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

enum prom_line {
    PROM_OTHER,   /* no line of such a file */
    PROM_NOTHING, /* one that says nothing more: a bandwidth, a comment */
    PROM_RECORD,  /* `out` holds the record */
    PROM_WRONG,   /* one that cannot be read */
};

/* Appends the record to `out`, which is emptied first. */
enum prom_line prom_line_read(struct buf *out, const char *text, size_t len);

#endif
