/* SPDX-License-Identifier: MIT
 *
 * What this process has of NCCL that no wrapper stands before, for the end of a trace: a missing
 * record must not read as a missing call. All of it is looked up when it is asked for.
 */
#ifndef SPECTER_TRACER_UNSEEN_H
#define SPECTER_TRACER_UNSEEN_H

#include <stddef.h>

struct out;

/* The most bytes that unseen_put() adds. */
#define UNSEEN_BYTES_MAX 12800

/* Appends a JSON array of {"kind":K,"path":P}, P an object of this process:
 *   uncalled   a libnccl from which no call came by
 *   static     not a libnccl, but defines NCCL's functions for itself
 *   namespace  a libnccl in a namespace of its own (dlmopen), where nothing is interposed */
void unseen_put(struct out *o);

#endif
