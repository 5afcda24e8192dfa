/* SPDX-License-Identifier: MIT
 *
 * The terminal that stdout goes to, also while its text is held back for a pager (cmd/pager.h):
 * width and colour are then still those of the terminal.
 */
#ifndef SPECTER_BASE_TERMINAL_H
#define SPECTER_BASE_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* stdout stands for this descriptor from now on; -1: for itself. */
void terminal_set_stdout(int fd);

/* Whether the stream is a terminal; its columns and rows, 0 where that is not known. */
bool terminal_is(FILE *out);
size_t terminal_columns(FILE *out);
size_t terminal_rows(FILE *out);

#endif
