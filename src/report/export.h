/* SPDX-License-Identifier: MIT
 *
 * A run in the formats of other tools; docs/export.md says what each holds.
 *
 *     if (export_file(&run, EXPORT_PERFETTO, "trace.pftrace", SIZE_MAX, e) < 0) return -1;
 *
 * Perfetto and Chrome traces are one file, gzip where its name ends in .gz, "-" for stdout; CSV and
 * Chakra are several files in a folder, which is made.
 */
#ifndef SPECTER_REPORT_EXPORT_H
#define SPECTER_REPORT_EXPORT_H

#include "trace/run.h"

/* X(id, name, default path, what it is) */
#define EXPORT_FORMATS(X)                                                                          \
    X(PERFETTO, perfetto, "specter.pftrace", "track events for ui.perfetto.dev, compact")          \
    X(CHROME, chrome, "specter.trace.json.gz", "JSON trace events for Perfetto, chrome://tracing") \
    X(CSV, csv, "specter_csv", "a folder of tables for pandas and DuckDB")                         \
    X(CHAKRA, chakra, "specter_chakra", "a folder of Chakra execution traces, one a rank")

enum export_format {
#define X(id, name, path, help) EXPORT_##id,
    EXPORT_FORMATS(X)
#undef X
        EXPORT_COUNT
};

/* `only`: index of a rank; SIZE_MAX: all. 0, or -1 with e filled (ERR_INPUT): not written. */
int export_file(const struct run *run, enum export_format format, const char *path, size_t only,
                struct err *e);

/* One function a format: export_<name>.c. */
#define X(id, name, path, help) \
    int export_##name(const struct run *run, const char *where, size_t only, struct err *e);
EXPORT_FORMATS(X)
#undef X

#endif
