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

uint64_t filter_skipped(void);               /* GEMMs that sampling has left out so far */
int64_t filter_iterations(void);             /* iterations that have begun */
bool filter_describe_window(char text[128]); /* true: text says which part of the run is recorded */

/* ---- sampling when recording costs too much ----
 *
 * Keeps the tracer's share of the program's time below what was asked (SPECTER_OVERHEAD).
 *
 * The share is counted, not sampled: the records that came in a while times what one costs, plus
 * the pairs of events among them times what a pair costs, over that while. Both costs are measured
 * in this process before they are needed, the pair on a private stream of the context. All threads'
 * records are added up, as if one thread had made them: with several threads the share that a
 * thread feels is smaller, never larger. What the writer thread does itself, on a core of its own,
 * is not in it.
 *
 * Over the limit for two looks in a row, half of the GEMMs that are recorded no longer are, and so
 * on. The rate never falls again within a run: a trace whose rate goes up and down is hard to read.
 * In virtual time, where costs mean nothing, there is no governor. */

#define GOVERNOR_RATE_MAX 1024

void governor_begin(void); /* after filter_begin() */

/* A record has come. */
void governor_count(const struct record *r);

/* The rate that holds from now on when it changes, else 0. pair_ns: the cost of a pair of events;
 * 0: not known. */
uint32_t governor_update(double pair_ns);

#endif
