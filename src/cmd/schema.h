/* SPDX-License-Identifier: MIT
 *
 * JSON Schemas (2020-12) of what tables of the code describe: a line of a trace
 * (specter/trace.h), profiles (model/profile.h, params.h) and workload cards (metrics/card.h).
 * `make install` puts them beside those of the results (share/schemas).
 */
#ifndef SPECTER_CMD_SCHEMA_H
#define SPECTER_CMD_SCHEMA_H

#include "base/err.h"

/* Prints the schema of this name to stdout. 0, or -1 with e filled (ERR_USAGE): there is none. */
int schema_print(const char *name, struct err *e);

#endif
