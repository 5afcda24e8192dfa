/* SPDX-License-Identifier: MIT
 *
 * The report of `specter replay`: the scaling table with what it rests on, or everything as JSON
 * (schema "specter.replay/1", docs/replay.md), a page, and a timeline.
 */
#ifndef SPECTER_REPORT_REPLAY_REPORT_H
#define SPECTER_REPORT_REPLAY_REPORT_H

#include "report/screen.h"
#include "sim/replay/replay.h"

#include <stdio.h>

/* The first screen: at most SCREEN_LINES. */
void replay_summary(struct replay *rep, struct screen *screen);

/* All of it, at most 80 columns. Words are made in the grid's arena. */
void replay_text(struct replay *rep, const struct run *run, FILE *out);

/* Sentences of what was lost of the input, or of what was asked for; NULL after the last. In
 * `arena`. */
const char **replay_losses(const struct replay *rep, struct arena *arena);

struct cJSON;
struct cJSON *replay_json(struct replay *rep, const struct run *run); /* caller deletes */

/* ---- a page ----
 *
 * A replay as one page that needs nothing else: no network, no script. Charts are inline SVG;
 * colours follow the reader's light or dark scheme; it prints.
 *
 *     struct replay_html *h;
 *     if (replay_html_open(&h, "out.html", e) < 0) return -1;
 *     opts.watch = replay_html_watch(h);
 *     ... replay_run(&rep, &run, &opts, e) ...
 *     rc = replay_html_close(h, &rep, &run, e);
 *
 * Text of a trace is escaped; the same replay gives the same bytes. */
struct replay_html;

/* The step that is drawn is one of the first scale that is asked for. */
int replay_html_open(struct replay_html **out, const char *path, struct err *e);
struct replay_watch replay_html_watch(struct replay_html *h);

/* Writes the page and releases it. */
int replay_html_close(struct replay_html *h, struct replay *rep, const struct run *run,
                      struct err *e);

/* Of a replay that failed: releases it; an older page stays. */
void replay_html_discard(struct replay_html *h);

/* ---- a timeline ----
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
 * host thread. Times of both count from the start of the recording on the rank's host. Slices of
 * one track never overlap in part: what does, in a recording, gets a track of its own. Predicted
 * communication is two slices, the wait for the last member and the transfer. Arrows go from a
 * launch to its work, and along the members of a collective.
 *
 * Written while it is made; memory goes with the largest rank. Of a recording with more than
 * TIMELINE_OPS_MAX operations only the last iterations are written, at least one, and as many ranks
 * as fit; the file's otherData says which. */
#define TIMELINE_OPS_MAX 100000

struct timeline_file;

/* Opens the file for the prediction of the first scale that is asked for. */
int timeline_file_open(struct timeline_file **out, const char *path, struct err *e);
struct replay_watch timeline_file_watch(struct timeline_file *t);

/* Writes what is left and releases it. */
int timeline_file_close(struct timeline_file *t, struct err *e);

/* Of a replay that failed: releases it; an older file stays. */
void timeline_file_discard(struct timeline_file *t);

#endif
