/* SPDX-License-Identifier: MIT
 *
 * Marks that the program sets: moments, steps and ranges, by the functions of
 * include/specter/specter.h (exported here, for C and for ctypes alike) and by NVTX, which
 * PyTorch's torch.cuda.nvtx is made of. Each becomes a record in the calling thread's ring, as a
 * hook's does and under the same law.
 *
 * Marks do not start a trace: a launcher that marks and makes no traced call gets no file. So what
 * comes before a process's first traced call is not recorded, nor a range pushed before it. What a
 * library marks while it carries out a traced call (NCCL marks its own functions) is not the
 * program's and is not recorded either.
 *
 * The marker: a name that the user has given (SPECTER_MARKER) makes a mark of it, or a range at its
 * start, an iteration.
 *
 * Of a mark by NVTX its text is kept; categories, colours and payloads are not, and domains only to
 * tell which range ends. Handles that NVTX gives the program are addresses of entries of fixed
 * tables, so that making one allocates nothing and using any value is safe. When a table is full,
 * all that is new shares one entry.
 */
#ifndef SPECTER_TRACER_MARK_H
#define SPECTER_TRACER_MARK_H

#include "record.h"

#include <stdatomic.h>
#include <stdbool.h>

struct thread;

#define RANGES_MAX 32 /* of one thread, one within another */

struct open_range {
    int64_t start_ns;
    const void *domain; /* NVTX: ranges of different domains need not nest; NULL: the default */
    char name[MARK_NAME_MAX];
};

/* The ranges that a thread has open. `busy`: the thread itself, or at the end the writer, is
 * changing them; neither waits for the other. */
struct open_ranges {
    _Atomic bool busy;
    uint32_t depth; /* kept ones */
    uint32_t above; /* deeper ones, which are only counted */
    struct open_range open[RANGES_MAX];
};

void specter_mark(const char *name);
void specter_iteration(const char *name);
void specter_range_push(const char *name);
void specter_range_pop(void);

/* For the writer: writes the ranges that a thread, which has ended or will record no more, left
 * open, or those that may end in another thread; their end is not known. */
typedef void mark_writer(struct record *r);
void mark_abandon(struct thread *t, mark_writer *write);
void mark_abandon_begun(mark_writer *write);

void mark_reset(void); /* for the child of a fork */

#endif
