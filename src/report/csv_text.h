/* SPDX-License-Identifier: MIT
 *
 * Text in a CSV cell (RFC 4180): quoted where it must be; without control bytes and as valid UTF-8;
 * and with a ' in front of what a spreadsheet would take for a formula.
 */
#ifndef SPECTER_REPORT_CSV_TEXT_H
#define SPECTER_REPORT_CSV_TEXT_H

#include "base/buf.h"

void csv_put_text(struct buf *out, const char *text);

#endif
