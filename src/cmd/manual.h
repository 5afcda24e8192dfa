/* SPDX-License-Identifier: MIT
 *
 * Man pages and completions of shells, made from the option rows of the commands, so that a new
 * option is in all of them. `make install` puts them where man and the shells look.
 */
#ifndef SPECTER_CMD_MANUAL_H
#define SPECTER_CMD_MANUAL_H

#include "base/err.h"

/* Writes specter.1 and specter-<command>.1 into a folder that exists. 0, or -1 with e filled. */
int manual_write_pages(const char *folder, struct err *e);

/* Prints the completion for bash, zsh or fish to stdout. 0, or -1 with e filled (ERR_USAGE):
 * another shell. */
int manual_completion(const char *shell, struct err *e);

#endif
