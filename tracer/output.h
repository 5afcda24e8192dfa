/* SPDX-License-Identifier: MIT
 *
 * The lines of the trace file: what is known of the process, and one line a finished record. Lines
 * are gathered and written in batches of up to 60 KiB, at most a tenth of a second old; the first
 * one at once.
 *
 * When the file can no longer be written, the program is told once on stderr and everything after
 * that is only counted; so it is, without a word, when the file has its full size
 * (SPECTER_MAX_SIZE). The counts of the closing record are exact: `total_ops` operations have a
 * line in the file, and the last line of `dropped` records is not in it.
 *
 * All functions are the writer thread's, but output_open() and output_abandon() before that thread
 * starts, and output_forked().
 */
#ifndef SPECTER_TRACER_OUTPUT_H
#define SPECTER_TRACER_OUTPUT_H

#include "config.h"
#include "format.h"
#include "record.h"

#include <stdbool.h>

struct traced_comm;

/* Opens the file for a trace that began at these times. 0, or an errno. config: borrowed. */
int output_open(const struct config *config, int64_t mono_ns, int64_t real_ns);

void output_init(void);
void output_comm(const struct traced_comm *c, void *unused);
void output_sample(uint64_t rate, const char *why, int64_t time_ns); /* from then on */
void output_plugin(const struct plugin_line *l);
void output_clock(const struct clock_record *l, void *unused);

/* An operation that is not finished, and will come once more. Where its line is, for then. */
#define NOT_SHOWN (-1)   /* not written yet */
#define NOT_WRITTEN (-2) /* nor will it be */
int64_t output_unfinished(const struct record *r, uint64_t id);

/* An operation, dependency or synchronisation that has all it will get. Times count from mono_ns.
 * shown: where it stands as not finished, or negative. */
void output_record(struct record *r, uint64_t id, int64_t shown);

/* One that will not be finished in this process. */
void output_abandoned(const struct record *r, uint64_t id, int64_t shown);

/* Writes the lines in the buffer before the last operations are abandoned, so that it is known
 * which of them are in the file. */
void output_flush(void);

/* The closing record, which ends the file. `dropped`: records that never came here. Then, when it
 * has grown, the same record once more in its place. */
void output_close(int64_t end_ns, uint64_t dropped);
void output_amend(uint64_t dropped);

/* The first returns whether a dump was asked for (file.h); then the second puts what is there.
 * time_ns: the moment by which all that is under way has been written. */
bool output_is_asked(void);
void output_answer(int64_t time_ns);

bool output_is_pending(void); /* lines wait in the buffer */

/* Writes them when they have waited long enough, or `now`. */
void output_flush_old(bool now);

/* Instead, when nothing will be written: no file stays behind. */
void output_abandon(void);

/* In the child of a fork: lets go of the parent's file at once; output_reset() forgets the rest. */
void output_forked(void);
void output_reset(void);

#endif
