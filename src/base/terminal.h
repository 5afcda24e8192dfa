/* SPDX-License-Identifier: MIT
 *
 * The terminal that stdout goes to, also while its text is held back for a pager (cmd/program.c):
 * width and colour are then still those of the terminal. And --color, of every command.
 */
#ifndef SPECTER_BASE_TERMINAL_H
#define SPECTER_BASE_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct err;

/* stdout stands for this descriptor from now on; -1: for itself. */
void terminal_set_stdout(int fd);

/* Returns whether the stream is a terminal; its columns and rows, 0 where these are not known. */
bool terminal_is(FILE *out);
size_t terminal_columns(FILE *out);
size_t terminal_rows(FILE *out);

#define TERMINAL_WIDTH_MIN 60
#define TERMINAL_WIDTH_MAX 200

/* $COLUMNS, else the terminal's, else 80, between TERMINAL_WIDTH_MIN and _MAX. */
size_t terminal_width(FILE *out);

/* The width of lines that a program may read: on a terminal terminal_width(), else SIZE_MAX, so
 * that a pipe gets each line whole. */
size_t terminal_line_width(FILE *out);

/* A terminal that knows more than lines: colours, and going back in one. */
bool terminal_is_capable(FILE *out);

enum color_when { COLOR_AUTO = -1, COLOR_NEVER, COLOR_ALWAYS };

/* auto (NULL, too), always or never. 0, or -1 with e filled (ERR_USAGE). */
int color_parse(const char *when, enum color_when *color, struct err *e);

/* COLOR_AUTO: where `out` is a capable terminal and NO_COLOR is not set. */
bool color_is_on(enum color_when when, FILE *out);

#endif
