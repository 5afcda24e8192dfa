/* SPDX-License-Identifier: MIT
 *
 * The tables of `specter analyze`, each a sheet (sheet.h), in the order in which they are printed.
 *
 * To add a table: the numbers in src/analysis/, a function sheet_of_<name>() in
 * src/report/sheet_*.c that initialises and fills the sheet, a line in SHEETS, a section in
 * docs/analyze.md. To add a column: a line in columns[] of that function, a cell at the same place
 * of each row, docs/analyze.md; the rank table of --full has columns of its own (analyze_text.c).
 */
#ifndef SPECTER_REPORT_ANALYZE_SHEETS_H
#define SPECTER_REPORT_ANALYZE_SHEETS_H

#include "analysis/analysis.h"
#include "report/sheet.h"

/* X(name, rows in the text of --full; 0: not there). An empty sheet is left out where all are
 * printed; one that is asked for by name keeps its line of keys as CSV. */
#define SHEETS(X)              \
    X(ranks, 0)                \
    X(step_summary, 2)         \
    X(steps, 0)                \
    X(step_ranks, 0)           \
    X(idle, 3)                 \
    X(idle_ranks, 0)           \
    X(idle_streams, 0)         \
    X(idle_gaps, 0)            \
    X(overlap, 0)              \
    X(active, 0)               \
    X(launch, 0)               \
    X(queue, 0)                \
    X(collectives, 4)          \
    X(collectives_by_group, 5) \
    X(p2p, 2)                  \
    X(expected, 0)             \
    X(traffic, 0)              \
    X(pairs, 0)                \
    X(alltoall, 0)             \
    X(stragglers, 3)           \
    X(communication, 0)        \
    X(comm_groups, 0)          \
    X(traffic_sizes, 0)        \
    X(collective_instances, 0) \
    X(nccl_choices, 3)         \
    X(gemms, 3)                \
    X(roofline, 0)             \
    X(operator_flops, 3)       \
    X(bubble, 8)               \
    X(critical_path, 4)        \
    X(critical_ops, 0)         \
    X(critical_ranks, 0)       \
    X(copies, 0)               \
    X(launch_classes, 0)       \
    X(graphs, 0)               \
    X(operations, 4)           \
    X(top, 4)                  \
    X(kernel_kinds, 0)         \
    X(kernel_lengths, 0)       \
    X(settings, 0)

#define X(name, rows) void sheet_of_##name(struct sheet *s, const struct analysis *a);
SHEETS(X)
#undef X

struct analyze_sheet {
    const char *name;
    size_t rows;
    void (*make)(struct sheet *s, const struct analysis *a); /* to be released */
};

#define X(name, rows) +1
enum { ANALYZE_SHEET_COUNT = 0 SHEETS(X) };
#undef X

extern const struct analyze_sheet analyze_sheets[ANALYZE_SHEET_COUNT];

#endif
