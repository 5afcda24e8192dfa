/* SPDX-License-Identifier: MIT
 *
 * Result files of benchmarks. A launcher may kill a job without notice while a file is written, so
 * the text goes to PATH.part, which gets the name PATH once it is complete.
 *
 *     FILE *out = bench_file_open(path, e);
 *     if (out == NULL) ...
 *     fputs(text, out);
 *     bench_file_close(out, path, e)
 */
#ifndef SPECTER_CMD_BENCH_FILES_H
#define SPECTER_CMD_BENCH_FILES_H

#include "base/err.h"

#include <stdio.h>

#define BENCH_PATH_MAX 4096

struct cJSON;

/* NULL with e filled: it cannot be written. */
FILE *bench_file_open(const char *path, struct err *e);

/* 0, or -1 with e filled: not all could be written, and an older file of that name stays. */
int bench_file_close(FILE *out, const char *path, struct err *e);

/* Writes a JSON document and deletes it. 0, or -1 with e filled. */
int bench_file_json(struct cJSON *doc, const char *path, struct err *e);

#endif
