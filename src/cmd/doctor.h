/* SPDX-License-Identifier: MIT
 *
 * Between the files of `specter doctor`: findings, and which GPU libraries are where.
 */
#ifndef SPECTER_CMD_DOCTOR_H
#define SPECTER_CMD_DOCTOR_H

#include "base/arena.h"
#include "base/buf.h"
#include "cmd/loader.h"

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

void doctor_find_dirs(struct doctor *d);       /* doctor_libs.c: fills loader and python */
void doctor_check_libraries(struct doctor *d); /* doctor_libs.c */
void doctor_check_plugins(struct doctor *d);   /* doctor_plugin.c */
void doctor_check_gpu(struct doctor *d);       /* doctor_gpu.c */
void doctor_check_program(struct doctor *d, const char *name); /* doctor_program.c */

/* The PyTorch of an interpreter. */
struct doctor_torch {
    const char *folder, *module; /* of the package; what its import loads first */
    const char *version;
};

bool doctor_is_python(const char *path);
/* false: it has none, or does not answer. */
bool doctor_find_torch(struct doctor *d, const char *python, struct doctor_torch *torch);

/* Of a library's file: that in its name, that of the Python package it is of, or what its name has.
 */
const char *doctor_version(struct doctor *d, const char *path);

/* Returns whether the file of this path is, by its name, the library that "libnccl" names. Its
 * plugins, as libnccl-net.so, are not. */
bool doctor_is_library(const char *path, const char *stem);

/* Real paths of the files of a library, as "libnccl" names it, in these folders; each once.
 * Appended to `into`. */
void doctor_copies(struct doctor *d, const struct dir_list *in, const char *stem,
                   struct dir_list *into);

#endif
