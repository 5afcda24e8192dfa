/* SPDX-License-Identifier: MIT
 *
 * Sheets of device work.
 */
#include "report/analyze_sheets.h"

#include <math.h>

#define COLUMNS(list) list, sizeof(list) / sizeof *(list)

const struct analyze_sheet analyze_sheets[ANALYZE_SHEETS] = {
#define X(name, rows) {rows, sheet_of_##name},
    SHEETS(X)
#undef X
};

void sheet_of_copies(struct sheet *s, const struct analysis *a)
{
    static const struct sheet_column columns[] = {
        {"kind", "copies", SHEET_TEXT, 0},    {"count", "count", SHEET_COUNT, 0},
        {"timed", NULL, SHEET_COUNT, 0},      {"bytes", "bytes", SHEET_BYTES, 0},
        {"total_us", "total", SHEET_TIME, 0}, {"exposed_us", "exposed", SHEET_TIME, 0},
        {"bw_GBps", "GB/s", SHEET_RATE, 0},
    };
    sheet_init(s, "copies", "Copies by kind; exposed: while nothing computes or communicates",
               COLUMNS(columns));
    for (size_t i = 0; i < a->extra.ncopies; i++) {
        const struct copy_row *row = &a->extra.copies[i];
        bool timed = row->timed > 0;
        sheet_text(s, row->kind);
        sheet_number(s, (double)row->count);
        sheet_number(s, (double)row->timed);
        sheet_number(s, (double)row->bytes);
        sheet_number(s, timed ? row->total_ns : NAN);
        sheet_number(s, timed ? row->exposed_ns : NAN);
        sheet_number(s, timed ? (double)row->timed_bytes / row->total_ns : NAN);
    }
}
