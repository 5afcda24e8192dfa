/* SPDX-License-Identifier: MIT
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
 * In virtual time, where costs mean nothing, there is no governor.
 */
#ifndef SPECTER_TRACER_GOVERNOR_H
#define SPECTER_TRACER_GOVERNOR_H

#include "config.h"
#include "record.h"

#define GOVERNOR_RATE_MAX 1024

/* All functions are the writer thread's. */
void governor_begin(const struct config *config);

/* A record has come. */
void governor_count(const struct record *r);

/* The rate that holds from now on when it changes, else 0. */
uint32_t governor_update(void);

#endif
