/* SPDX-License-Identifier: MIT
 *
 * Comma-separated values as RFC 4180 has them, from memory, record by record: quoted fields with
 * commas, quotes ("") and line ends in them, lines that end in LF or CR LF, a byte order mark,
 * blank lines (passed over).
 *
 *     struct csv c;
 *     csv_init(&c, text, len);
 *     while (csv_next(&c)) {
 *         if (c.problem != NULL)
 *             ... c.line, c.problem: what is wrong with this record
 *         else
 *             ... c.fields[0 .. c.count)
 *     }
 *     csv_release(&c);
 *
 * No text is an error as a whole. A record that cannot be read says why, and reading goes on with
 * the next line: where a quote is never closed, with the one after the quote's own, so that what
 * the quote seems to swallow is not lost.
 */
#ifndef SPECTER_CALIB_CSV_H
#define SPECTER_CALIB_CSV_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

#define CSV_RECORD_MAX ((size_t)64 << 10) /* bytes of one record; what is longer is a problem */
#define CSV_FIELDS_MAX 256

struct csv {
    const char *p, *end; /* borrowed: where the next record begins */
    size_t next_line;

    size_t line;                  /* where the record begins, counted from 1 */
    const char *problem;          /* NULL, or a constant text; then no field is valid */
    char *fields[CSV_FIELDS_MAX]; /* without quotes; the caller's until the next call */
    size_t count;
    struct buf text; /* owned: the fields */
};

void csv_init(struct csv *c, const char *text, size_t len);
void csv_release(struct csv *c);
bool csv_next(struct csv *c); /* false at the end */

#endif
