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

/* ---- schema.c ----
 *
 * JSON Schemas (2020-12) of what tables of the code describe: a line of a trace
 * (specter/trace.h), profiles (model/profile.h, params.h) and workload cards (metrics/card.h).
 * `make install` puts them beside those of the results (share/schemas). */

/* Prints the schema of this name to stdout. 0, or -1 with e filled (ERR_USAGE): there is none. */
int schema_print(const char *name, struct err *e);

#endif
