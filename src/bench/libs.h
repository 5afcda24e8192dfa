/* SPDX-License-Identifier: MIT
 *
 * Libraries of GPUs, opened at run time by name: where the loader finds them, else in the usual
 * folders of their makers (CUDA_HOME, /usr/local/cuda, ROCM_PATH, /opt/rocm).
 */
#ifndef SPECTER_BENCH_LIBS_H
#define SPECTER_BENCH_LIBS_H

#include "base/err.h"

#include <stddef.h>

/* The first of `names` (ends with NULL) that can be opened; it stays open. *name: which (may be
 * NULL). NULL with e filled (ERR_INPUT): what the loader said of the last that it found, else that
 * there is none. */
void *bench_lib_open(const char *const *names, const char **name, struct err *e);

/* A function of a library: its name and where its address goes. */
struct bench_symbol {
    const char *name;
    size_t offset; /* of a pointer to a function within the table */
};

/* Fills `table` from the library, prefix + name each. 0, or -1 with e filled: one is missing. */
int bench_lib_bind(void *library, const char *prefix, const struct bench_symbol *symbols,
                   size_t count, void *table, struct err *e);

#endif
