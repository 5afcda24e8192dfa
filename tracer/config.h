/* SPDX-License-Identifier: MIT
 *
 * What the environment says, read once, in the first hook of a process, on the program's own thread
 * (another thread reading it later would race with setenv). docs/trace-format.md lists the
 * variables and explains the order in which a run is named.
 */
#ifndef SPECTER_TRACER_CONFIG_H
#define SPECTER_TRACER_CONFIG_H

#include "record.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#define CONFIG_UNKNOWN INT64_MIN
#define CONFIG_ENV_MAX 32768 /* bytes of JSON for the recorded part of the environment */

struct config {
    bool disabled;
    bool sync;       /* SPECTER_SYNC */
    bool record_ops; /* this rank is in SPECTER_RANKS */
    bool wanted[RECORD_KIND_COUNT];
    char output[PATH_MAX];
    char run[160];
    bool plugin; /* NCCL_PROFILER_PLUGIN names this library */
    char host[65];
    char marker[MARK_NAME_MAX]; /* SPECTER_MARKER: marks of this name are iterations; "": none */
    int64_t rank, world_size, local_rank; /* CONFIG_UNKNOWN */
    int64_t pid;
    char env[CONFIG_ENV_MAX]; /* a JSON object */
};

void config_read(struct config *c);

/* For tests: the same from given variables (a NULL-terminated list of NAME=VALUE). */
void config_read_from(struct config *c, const char *const *environment);

/* Is `value` in a list such as "0,8-15"? A list that cannot be read holds nothing. */
bool config_in_list(const char *list, int64_t value);

#endif
