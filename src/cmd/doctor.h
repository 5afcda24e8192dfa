/* SPDX-License-Identifier: MIT
 *
 * Between the files of `specter doctor`: findings; GPU libraries and programs.
 */
#ifndef SPECTER_CMD_DOCTOR_H
#define SPECTER_CMD_DOCTOR_H

#include "base/arena.h"
#include "base/buf.h"
#include "cmd/app.h"

#include <stdbool.h>
#include <stddef.h>

/* What a check says: all is well; something to know; a capture would see or write nothing. */
enum doctor_level { DOCTOR_OK, DOCTOR_WARNING, DOCTOR_PROBLEM };

struct doctor_finding {
    enum doctor_level level;
    const char *check;  /* a word */
    const char *text;   /* what is the case */
    const char *advice; /* what to do; NULL: nothing */
};

struct doctor {
    struct arena arena; /* holds all texts */
    struct doctor_finding *found;
    size_t count, cap;
    struct loader loader;
    struct dir_list python; /* lib folders of the nvidia packages of the python3 in PATH */
    double patience;        /* seconds for each question */
};

void doctor_print(struct doctor *d, enum doctor_level level, const char *check, const char *advice,
                  const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/* doctor_libs.c */
void doctor_find_dirs(struct doctor *d); /* fills loader and python */
void doctor_check_libraries(struct doctor *d);
void doctor_check_expected(struct doctor *d, const char *path); /* of a library */
void doctor_check_program(struct doctor *d, const char *name);

#endif
