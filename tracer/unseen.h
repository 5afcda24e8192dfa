/* SPDX-License-Identifier: MIT
 *
 * What this process has of NCCL that no wrapper stands before, for the end of a trace: a missing
 * record must not read as a missing call. What needs a file is looked up while the program runs,
 * when libraries have come: at its end a seccomp filter may kill it for opening one.
 */
#ifndef SPECTER_TRACER_UNSEEN_H
#define SPECTER_TRACER_UNSEEN_H

#include <stddef.h>

struct out;

/* The most bytes that unseen_put() adds. */
#define UNSEEN_BYTES_MAX 12800

/* In the program's first traced call: opens what is read later. A descriptor that the writer opened
 * would for a moment have the lowest free number, which the program may count on. */
void unseen_begin(void);

/* For the writer, from time to time: looks again when libraries have come since. */
void unseen_look(void);

/* For the child of a fork: what is open is of the parent. */
void unseen_forked(void);
void unseen_reset(void);

/* Appends a JSON array of {"kind":K,"path":P}, P an object of this process:
 *   uncalled   a libnccl from which no call came by
 *   static     not a libnccl, but defines NCCL's functions for itself
 *   namespace  a libnccl in a namespace of its own (dlmopen), where nothing is interposed */
void unseen_put(struct out *o);

#endif
