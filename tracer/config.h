/* SPDX-License-Identifier: MIT
 *
 * The settings in the environment, read once, in the first hook of a process, on the program's own
 * thread (another thread reading it later would race with setenv). settings.def lists the settings;
 * docs/trace-format.md explains them, and the order in which a run is named.
 */
#ifndef SPECTER_TRACER_CONFIG_H
#define SPECTER_TRACER_CONFIG_H

#include "record.h"
#include "settings.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#define CONFIG_UNKNOWN INT64_MIN
#define CONFIG_ENV_MAX 32768         /* bytes of JSON for the recorded part of the environment */
#define CONFIG_REDACTED "<redacted>" /* stands there for the value of what looks like a secret */

/* The member that holds a setting. Of `ranks` only whether this rank is among them is kept. */
#define SETTING_MEMBER_FLAG(_id) bool _id;
#define SETTING_MEMBER_PATH(_id) char _id[PATH_MAX];
#define SETTING_MEMBER_NAME(_id) char _id[SETTING_NAME_MAX]; /* "": none */
#define SETTING_MEMBER_RANKS(_id)
#define SETTING_MEMBER_STEPS(_id) struct setting_value _id; /* number 0: none */
#define SETTING_MEMBER_SECONDS(_id) int64_t _id;
#define SETTING_MEMBER_PERCENT(_id) int64_t _id;
#define SETTING_MEMBER_COUNT(_id) int64_t _id;
#define SETTING_MEMBER_RATE(_id) int64_t _id;
#define SETTING_MEMBER_BYTES(_id) int64_t _id;

struct config {
    bool disabled;
    bool record_ops;                /* this rank is in SPECTER_RANKS */
    bool wanted[RECORD_KIND_COUNT]; /* as the no_... settings say */
#define SETTING(_kind, _id, ...) SETTING_MEMBER_##_kind(_id)
#include "settings.def"
#undef SETTING
    char run[160];
    bool plugin; /* NCCL_PROFILER_PLUGIN names this library */
    char host[65];
    int64_t rank, world_size, local_rank; /* CONFIG_UNKNOWN */
    int64_t pid;
    char env[CONFIG_ENV_MAX]; /* a JSON object */
};

void config_read(struct config *c);

/* For tests: the same from given variables (a NULL-terminated list of NAME=VALUE). */
void config_read_from(struct config *c, const char *const *environment);

/* The value of a variable in such a list; NULL: not set. */
const char *config_variable(const char *const *environment, const char *name);

bool config_is_disabled(const char *const *environment); /* SPECTER_DISABLE */

/* Returns whether `value` is in a list such as "0,8-15". A list that cannot be read holds nothing.
 */
bool config_in_list(const char *list, int64_t value);

#endif
