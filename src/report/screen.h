/* SPDX-License-Identifier: MIT
 *
 * The first screen of a command: what a terminal, a pipe or a file takes of width, colour and
 * characters, and text that is counted, so that the answer fits into SCREEN_LINES.
 *
 *     struct screen s;
 *     screen_init(&s, stdout, color);
 *     screen_line(&s, SCREEN_STRONG, "Host-bound: GPUs wait for the host.");
 *     if (screen_left(&s) >= 2)
 *         screen_line(&s, SCREEN_PLAIN, "...");
 *     screen_release(&s);                      writes it
 */
#ifndef SPECTER_REPORT_SCREEN_H
#define SPECTER_REPORT_SCREEN_H

#include "base/buf.h"
#include "base/terminal.h"

#include <stdbool.h>
#include <stdio.h>

#define SCREEN_LINES 14

enum screen_style { SCREEN_PLAIN, SCREEN_STRONG, SCREEN_BAD, SCREEN_SOFT };

struct screen {
    FILE *out; /* borrowed */
    size_t width;
    bool color, utf8;
    size_t lines; /* so far */
    struct buf text;
};

/* Width: terminal_width(). Characters other than ASCII: where the environment's locale has UTF-8.
 */
void screen_init(struct screen *s, FILE *out, enum color_when color);

/* Writes what was put, and frees it. */
void screen_release(struct screen *s);

/* Number of lines that are left of SCREEN_LINES, and of those that a text takes (first column, and
 * the column of its further lines). */
size_t screen_left(const struct screen *s);
size_t screen_height(const struct screen *s, const char *text, size_t indent);

/* A paragraph, broken at spaces; further lines begin at `indent`. "": an empty line. The text must
 * be safe for a terminal (text_safe()). */
void screen_line(struct screen *s, enum screen_style style, const char *text, size_t indent);

/* One line as it is: a row of a table, whose cells the caller has measured. */
void screen_row(struct screen *s, const char *text);

/* The rows of a table, headings and rule included, without optional columns that do not fit. */
struct table;
void screen_table(struct screen *s, const struct table *t);

#endif
