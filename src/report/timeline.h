/* SPDX-License-Identifier: MIT
 *
 * A recording and its prediction side by side, as Chrome trace events (JSON that Perfetto and
 * chrome://tracing open):
 *
 *     struct timeline_file *t;
 *     if (timeline_file_open(&t, "out.json.gz", e) < 0) return -1;
 *     opts.watch = timeline_file_watch(t);
 *     rc = replay_run(&rep, &run, &opts, e);
 *     if (timeline_file_close(t, e) < 0) ...
 *
 * One process a rank and kind ("rank 0 recorded", "rank 0 predicted"), one track a stream and a
 * host thread. Times of both count from the begin of the recording on the rank's host. Slices of
 * one track never overlap in part: what does, in a recording, gets a track of its own. Predicted
 * communication is two slices, the wait for the last member and the transfer. Arrows go from a
 * launch to its work, and along the members of a collective.
 *
 * Written while it is made; memory goes with the largest rank. Of a recording with more than
 * TIMELINE_OPS_MAX operations only the last iterations are written, at least one, and as many ranks
 * as fit; the file's otherData says which.
 */
#ifndef SPECTER_REPORT_TIMELINE_H
#define SPECTER_REPORT_TIMELINE_H

#include "sim/replay/replay.h"

#define TIMELINE_OPS_MAX 100000

struct timeline_file;

/* What is written is the prediction of the first scale that is asked for. */
int timeline_file_open(struct timeline_file **out, const char *path, struct err *e);
struct replay_watch timeline_file_watch(struct timeline_file *t);

/* The scale is not written twice, nor none at all: a replay that failed leaves an empty list. */
int timeline_file_close(struct timeline_file *t, struct err *e);

#endif
