/* SPDX-License-Identifier: MIT
 *
 * Which files are of one job. The profilers' formats name no run, so this is worked out from what
 * the files hold, before anything is computed from them. Files that are not of one job are never
 * mixed: each job is a run of its own (load_jobs.c lists them and reads one).
 *
 * A file is a recording: one or more ranks over one stretch of time. Two recordings contradict each
 * other, and are never of one job, when
 *
 *   world     they record different world sizes, or one has a rank that the other's world lacks
 *   rank      both have a rank of the same number, and these are not windows of one process (below)
 *   full      together they have more ranks than the world size that they record
 *
 * As long as nothing contradicts they are of one job, by these rules in turn, within a folder
 * first:
 *
 *   process   they are windows of one process: process id, rank number, host, GPU model and world
 *             size agree as far as both know them, and one begins behind the end of the other
 *             (torch.profiler writes a file for each active window, nsys one for each capture
 *             range). Without process ids the rank numbers must be known and the folder be one;
 *             where neither rank nor host is known, at most RECORDINGS_UNNAMED_NS lie between them
 *   comm      they name one communicator by an id that is unique (NCCL's hash)
 *   time      they overlap in time, on the wall clock (where operations have no times, they were
 *             written within RECORDINGS_SKEW_NS), and more ties them: the world size that both
 *             record, a communicator of the same name and members; or, with GPUs of one model as
 *             far as known, numbers of all their ranks, or communication in both and one host as
 *             far as known
 *   default   when nothing tells: the time of one is not known, and their GPUs are of one model as
 *             far as known. Or wall clocks may differ: they are of different hosts as far as known,
 *             all their ranks have numbers, and at most RECORDINGS_SKEW_NS lie between them. Or
 *             they are rings of calls (rank->undated), of one folder, or at most
 *             RECORDINGS_UNNAMED_NS apart; the world size of these is not known
 *
 * Equal recordings of one process (same stretch of time, same number of operations) are copies of
 * one file.
 */
#ifndef SPECTER_TRACE_RECORDINGS_H
#define SPECTER_TRACE_RECORDINGS_H

#include "trace/run.h"

#define RECORDINGS_SKEW_NS ((int64_t)60 * 1000000000)
#define RECORDINGS_UNNAMED_NS ((int64_t)3600 * 1000000000)

struct recording {
    const struct run *part; /* what was read from the file; borrowed */
    const char *label;      /* of the file; borrowed */
    const char *folder;     /* borrowed; equal texts are one pointer */

    /* filled by recordings_group() */
    uint32_t job;             /* from 0, in the order of the list */
    int64_t begin_ns, end_ns; /* wall clock; UNKNOWN_NS: not known */
    uint32_t *processes;      /* [part->nranks] of each rank the number of its process in the list:
                                 windows of one process have one number; in the arena */
};

/* Sets the jobs of a list; returns how many there are. `unique_comms`: the format's ids of
 * communicators are unique. */
uint32_t recordings_group(struct recording *list, size_t n, bool unique_comms, struct arena *arena);

/* What keeps two jobs of the list apart, for the user: "another time". */
const char *recordings_why(struct recording *list, size_t n, uint32_t job_a, uint32_t job_b,
                           struct arena *arena);

#endif
