/* SPDX-License-Identifier: MIT */
#include "cmd/bench_files.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct part_file {
    char path[BENCH_PATH_MAX + sizeof ".part"];
};

static struct part_file part_of(const char *path)
{
    struct part_file p;
    snprintf(p.path, sizeof p.path, "%s.part", path);
    return p;
}

FILE *bench_file_open(const char *path, struct err *e)
{
    const struct part_file part = part_of(path);
    FILE *out = fopen(part.path, "we");
    if (out == NULL)
        err_set(e, ERR_INPUT, "%s: %s", path, strerror(errno));
    return out;
}

int bench_file_close(FILE *out, const char *path, struct err *e)
{
    const struct part_file part = part_of(path);
    const bool failed = ferror(out) != 0;
    int status = 0;
    if (fclose(out) != 0 || failed)
        status = err_set(e, ERR_INPUT, "%s: not all could be written: %s", path, strerror(errno));
    else if (rename(part.path, path) != 0)
        status = err_set(e, ERR_INPUT, "%s: %s", path, strerror(errno));
    if (status < 0)
        unlink(part.path);
    return status;
}

int bench_file_json(cJSON *doc, const char *path, struct err *e)
{
    char *text = cJSON_Print(doc);
    FILE *out = bench_file_open(path, e);
    cJSON_Delete(doc);
    if (text == NULL)
        die("out of memory");
    if (out != NULL)
        fprintf(out, "%s\n", text);
    free(text);
    return out != NULL ? bench_file_close(out, path, e) : -1;
}
