/* SPDX-License-Identifier: MIT
 *
 * A run as a timeline: tracks with slices, and arrows between slices. What every export draws is
 * decided here; a format only writes it down, through four callbacks.
 *
 * A rank has tracks for its steps, its marks by thread, the calls and waits of each host thread,
 * and each of its streams. Slices of one track come by start, and nest: what overlaps a slice in
 * part is on a track of its own ("stream 7 (2)"), as long as 255 are enough; what finds none is
 * left out. Times are of the run's common timeline, so that ranks line up as far as their clocks do
 * (run->clock_aligned).
 *
 * After these come tracks of counts: of each stream the work that is called and has not begun, and
 * how many operations of communication run at once.
 *
 * Arrows ("flows"): from a call to the work that it launched, and along the members of a
 * collective, or from a send to its receive, in the order in which they end. A flow has a number;
 * the slices that it passes say which part of it they are.
 */
#ifndef SPECTER_REPORT_TRACKS_H
#define SPECTER_REPORT_TRACKS_H

#include "trace/run.h"

/* Tracks of slices; from TRACK_QUEUE on of counts. */
enum track_kind { TRACK_STEPS, TRACK_MARKS, TRACK_THREAD, TRACK_STREAM, TRACK_QUEUE, TRACK_COMMS };

struct track {
    const struct rank *rank;
    size_t rank_index;
    enum track_kind kind;
    int32_t id;      /* thread or stream as the trace numbers them; stream -1 unknown */
    uint32_t lane;   /* 0; more where slices overlap in part */
    uint32_t number; /* of the rank, from 1, in the order in which they are shown */
    const char *name;
};

enum slice_what { SLICE_STEP, SLICE_MARK, SLICE_CALL, SLICE_SYNC_CALL, SLICE_LAUNCHES, SLICE_OP };

enum flow_part { FLOW_NONE, FLOW_FIRST, FLOW_NEXT, FLOW_LAST };

struct track_slice {
    int64_t start_ns, end_ns;
    enum slice_what what;
    const char *title;    /* valid during the call */
    const char *category; /* constant */
    const struct op *op;  /* SLICE_CALL and SLICE_OP; else NULL */
    uint64_t launch;      /* flow from the call to the work; 0 none */
    enum flow_part launch_part;
    uint64_t members; /* flow along the members of the match; 0 none */
    enum flow_part members_part;
};

struct track_writer {
    void *context;
    void (*rank)(void *context, const struct rank *rank, size_t index);
    void (*track)(void *context, const struct track *track); /* before its slices */
    void (*slice)(void *context, const struct track *track, const struct track_slice *slice);

    /* From that moment on; 0 before the first. */
    void (*count)(void *context, const struct track *track, int64_t at_ns, int64_t value);
};

/* The first moment that anything here begins: the zero of exported times. 0 for an empty run. */
int64_t tracks_origin(const struct run *run);

/* `only`: index of a rank; SIZE_MAX: all. */
void tracks_write(const struct run *run, size_t only, const struct track_writer *writer);

#endif
