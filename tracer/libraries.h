/* SPDX-License-Identifier: MIT
 *
 * What a trace says of the libraries in this process: at its start, which of several builds of NCCL
 * the run used; at its end, which copies of NCCL the tracer cannot intercept, because a missing
 * record must not read as a missing call.
 */
#ifndef SPECTER_TRACER_LIBRARIES_H
#define SPECTER_TRACER_LIBRARIES_H

#include <stddef.h>
#include <stdint.h>

struct out;

/* ---- the file that a function came from ---- */

#define LIBRARY_PATH_MAX 256 /* bytes; a longer one loses its front */

struct library {
    char path[LIBRARY_PATH_MAX + 1]; /* "": not known */
    char build_id[65];               /* hexadecimal; "": it has none */
};

/* address: of the function; 0: none, and nothing is known. */
void library_of(struct library *l, uintptr_t address);

/* ---- copies of NCCL that cannot be intercepted ----
 *
 * Files are read while the program runs, when libraries have been loaded: at its end a seccomp
 * filter may kill the program for opening one. */

/* The most bytes that coverage_gaps_put() adds. */
#define COVERAGE_GAPS_BYTES_MAX 12800

/* Opens what is read later, in the program's first traced call: a descriptor that the writer opened
 * would for a moment have the lowest free number, which the program may count on. */
void coverage_gaps_begin(void);

/* Called by the writer from time to time: reads the mappings again when libraries were loaded. */
void coverage_gaps_refresh(void);

/* Called in the child of a fork: closes the parent's file. */
void coverage_gaps_forked(void);
void coverage_gaps_reset(void);

/* Appends a JSON array of {"kind":K,"path":P}, P an object of this process:
 *   uncalled   a libnccl of which no call was intercepted
 *   static     another object that defines NCCL's functions for itself
 *   namespace  a libnccl in a namespace of its own (dlmopen), where nothing is interposed */
void coverage_gaps_put(struct out *o);

#endif
