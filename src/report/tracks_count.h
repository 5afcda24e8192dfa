/* SPDX-License-Identifier: MIT
 *
 * Counts along the time of a rank: how much work of a stream waits between its call and its start,
 * and how many operations of communication run at once.
 */
#ifndef SPECTER_REPORT_TRACKS_COUNT_H
#define SPECTER_REPORT_TRACKS_COUNT_H

#include "report/tracks.h"

/* Calls track() and count() of the writer; track->number goes on counting. */
void tracks_count(const struct rank *rank, struct track *track, const struct track_writer *writer);

#endif
