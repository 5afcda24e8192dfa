/* SPDX-License-Identifier: MIT
 *
 * One clock for the ranks of all hosts; docs/clocks.md says how and when.
 *
 *     align.c       which ranks share a clock, and what is said of the others
 *     align_ends.c  what two clocks have in common: ends of collectives
 *     align_fit.c   a line through them
 *     align_tree.c  from clock to clock to the first
 *     align_map.c   the times of a rank, on that clock
 */
#ifndef SPECTER_TRACE_ALIGN_H
#define SPECTER_TRACE_ALIGN_H

#include "trace/run.h"

/* Sets rank->domain, run->domains, clock_aligned and clock_residual_ns, and moves the times of all
 * domains to the clock of the first: by collectives where these say enough, else, where both are
 * dated, by the wall clock. A note tells which. Needs numbered ranks and communicators. */
void clocks_align(struct run *run);

/* Returns whether both are surely on the clock of one host. Needs their numbers where the trace
 * names no host. */
bool ranks_share_clock(const struct rank *a, const struct rank *b);

#endif
