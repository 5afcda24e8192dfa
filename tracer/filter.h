/* SPDX-License-Identifier: MIT
 *
 * Decides which calls are recorded: by kind of record, by rank, by a window in time or in
 * iterations, by sampling. Communicators, clocks and the numbers that NCCL operations take are
 * kept in any case.
 *
 * The window in time counts from the first traced call, on the clock of the records' host_ns. Until
 * it opens, a call that would be recorded reads that clock once, in the place of all the work that
 * a recorded one is. Its end costs hooks nothing: the writer sees by host_ns which records came too
 * late, and the first such record ends the recording.
 */
#ifndef SPECTER_TRACER_FILTER_H
#define SPECTER_TRACER_FILTER_H

#include "record.h"
#include "specter/trace.h"

#include <stdbool.h>
#include <stdint.h>

struct config;

/* Before the first hook asks. config: borrowed. */
void filter_begin(const struct config *config);

/* ---- in hooks ---- */

/* Returns whether a record of this kind is wanted. Called once a call: it counts the calls of
 * sampled kinds. */
bool filter_wants(enum record_kind kind);

/* The program has marked that an iteration begins; before filter_wants() is asked for the mark's
 * record. The mark that ends the last iteration wanted is itself still recorded. */
void filter_iteration(void);

/* ---- in the writer thread ---- */

/* Returns whether a record that was made lies in the window in time. */
bool filter_admits(const struct record *r);

/* From here on one GEMM in `rate` of each thread is recorded. */
void filter_sample(uint32_t rate);

uint64_t filter_skipped(void);           /* GEMMs that sampling has left out so far */
int64_t filter_iterations(void);         /* iterations that have begun */
bool filter_is_windowed(char text[128]); /* true: text says which part of the run is recorded */

#endif
