/* SPDX-License-Identifier: MIT
 *
 * Parses the values of settings. The tracer reads values with these functions from the environment
 * of a program that it must not disturb, `specter capture` with the same functions from its
 * options, so that what one accepts the other does. No locale, no allocation, no state.
 */
#ifndef SPECTER_TRACER_SETTINGS_H
#define SPECTER_TRACER_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

enum setting_kind {
    SETTING_FLAG,    /* 1, yes, on, true; 0, no, off, false */
    SETTING_PATH,    /* any text shorter than PATH_MAX */
    SETTING_NAME,    /* a mark's name, up to SETTING_NAME_MAX - 1 bytes */
    SETTING_RANKS,   /* 0,8-15 */
    SETTING_STEPS,   /* 10:20, the first is 1; 10: for one without an end */
    SETTING_SECONDS, /* 2.5; in nanoseconds */
    SETTING_PERCENT, /* 0.5; in millionths of the whole */
    SETTING_COUNT,   /* a whole number; 0: off */
    SETTING_RATE,    /* one in so many, 1 or more */
    SETTING_BYTES,   /* 0: off, else SETTING_BYTES_MIN or more; 512M, 1GiB: powers of 1024 */
};

#define SETTING_NAME_MAX 64
#define SETTING_COUNT_MAX INT64_C(10000000)
#define SETTING_BYTES_MIN INT64_C(65536) /* holds what is known of a process, and its closing */

struct setting_value {
    int64_t number; /* of STEPS: the first */
    int64_t last;   /* of STEPS; INT64_MAX: to the end */
};

/* False: `text` is no value of this kind. PATH, NAME and RANKS, which are no numbers, leave *v as
 * it is. */
bool setting_parse(enum setting_kind kind, const char *text, struct setting_value *v);

/* The expected form of a value, for a message: "a number of seconds, such as 2.5". */
const char *setting_expected(enum setting_kind kind);

#endif
