/* SPDX-License-Identifier: MIT
 *
 * Many ranks in few lines: the spread of each time, and the ranks that are extreme in one.
 */
#ifndef SPECTER_REPORT_RANK_SPREAD_H
#define SPECTER_REPORT_RANK_SPREAD_H

#include "analysis/analysis.h"

#define RANK_EXTREMES 5 /* of span, compute, exposed communication and copies, idle time */

/* Smallest, middle and largest of one time, an int64_t at `offset` in struct time_breakdown, over
 * the timed ranks, of which there is one; written into the three splits at the same place. */
void rank_spread(const struct analysis *a, size_t offset, struct time_breakdown spread[3]);

/* The ranks that a user wants to see by number: places in a->ranks of those where one of the times
 * is largest, each once. Returns how many. */
size_t rank_extremes(const struct analysis *a, size_t list[RANK_EXTREMES]);

#endif
