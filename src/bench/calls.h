/* SPDX-License-Identifier: MIT
 *
 * Calls of a library that may not return, because another rank has ended or hangs. A thread of each
 * process looks after them: where a call takes long, it answers rank 0 in this rank's place, learns
 * of ranks that have ended, and after the timeout has rank 0 ask who is behind. Nothing ends the
 * call itself, so the process ends then (`lost`).
 *
 *     bench_calls_begin(calls, "ncclCommInitRank");
 *     error = ncclCommInitRank(...);
 *     bench_calls_end(calls);
 *
 * Between the two the process makes no exchange with other ranks. A wait that asks
 * bench_ranks_check() itself needs none of this.
 */
#ifndef SPECTER_BENCH_CALLS_H
#define SPECTER_BENCH_CALLS_H

#include "bench/ranks.h"

struct bench_calls;

/* `lost` is called by the thread, with what happened, and must not return: the library is not to be
 * called again. NULL with e filled: no thread. Owned. */
struct bench_calls *bench_calls_start(struct bench_ranks *ranks, double timeout_s,
                                      void (*lost)(void *arg, const struct err *e), void *arg,
                                      struct err *e);
void bench_calls_stop(struct bench_calls *calls); /* NULL is fine */

/* call: a text that stays. */
void bench_calls_begin(struct bench_calls *calls, const char *call);
void bench_calls_end(struct bench_calls *calls);

#endif
