/* SPDX-License-Identifier: MIT
 *
 * What of the program is recorded just now: kinds of records that were not asked for, ranks that
 * were left out, windows in time and in iterations, sampling. Communicators, clocks and the numbers
 * that NCCL operations take go on whatever it says.
 *
 * The window in time counts from the first traced call, on the clock of the records' host_ns. Until
 * it opens, a call that would be recorded reads that clock once, in the place of all the work that
 * a recorded one is. Its end costs hooks nothing: the writer knows by host_ns what came too late,
 * and closes the gate when it sees the first such record.
 */
#ifndef SPECTER_TRACER_GATE_H
#define SPECTER_TRACER_GATE_H

#include "record.h"
#include "specter/trace.h"

#include <stdbool.h>
#include <stdint.h>

struct config;

/* Before the first hook asks. config: borrowed. */
void gate_begin(const struct config *config);

/* ---- in hooks ---- */

/* Is a record of this kind wanted? Asked once a call: of sampled kinds it counts the calls. */
bool gate_wants(enum record_kind kind);

/* A mark, at the moment at which what it names begins, and before gate_wants() is asked for its
 * record. Only iterations count; what carries SPECTER_MARKER's name comes as one. The mark that
 * ends the last iteration wanted is itself still recorded. */
void gate_mark(const char *name, enum specter_mark kind);

/* ---- in the writer thread ---- */

/* Does a record that was made lie in the window in time? */
bool gate_admits(const struct record *r);

/* From here on one GEMM in `rate` of each thread is recorded. */
void gate_sample(uint32_t rate);

uint64_t gate_skipped(void);           /* GEMMs that sampling has left out so far */
int64_t gate_iterations(void);         /* iterations that have begun */
bool gate_is_windowed(char text[128]); /* true: text says which part of the run is recorded */

#endif
