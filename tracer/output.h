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
 * All functions are the writer thread's, but output_open() and output_discard() before that thread
 * starts, and output_forked().
 */
#ifndef SPECTER_TRACER_OUTPUT_H
#define SPECTER_TRACER_OUTPUT_H

#include "config.h"
#include "format.h"
#include "record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct traced_comm;

/* Opens the file for a trace that began at these times. 0, or an errno. config: borrowed. */
int output_open(const struct config *config, int64_t mono_ns, int64_t real_ns);

/* Instead of all that follows, when nothing will be written: removes the file. */
void output_discard(void);

/* ---- lines ---- */

void output_init(void); /* the first one: what is known of the process */

/* A communicator that has an identity; a pair of clock readings. `unused` is for the callers, which
 * visit lists. */
void output_comm(const struct traced_comm *c, void *unused);
void output_clock(const struct clock_record *l, void *unused);

/* From time_ns on one GEMM in `rate` is recorded, because `why`: "asked" or "governor". */
void output_sample(uint64_t rate, const char *why, int64_t time_ns);

void output_plugin(const struct plugin_line *l); /* what NCCL's profiler plugin was told */

/* An operation that is not finished, and will come once more. Returns where its line is, which the
 * next two functions are then told as `shown`. */
#define NOT_SHOWN (-1)   /* not written yet */
#define NOT_WRITTEN (-2) /* nor will it be */
int64_t output_unfinished(const struct record *r, uint64_t id);

/* A record that has all it will get. id: of an operation. Times count from mono_ns. Fills start and
 * duration of an operation of which the host's call is the only time. */
void output_record(struct record *r, uint64_t id, int64_t shown);

/* An operation that will not be finished in this process. */
void output_abandoned(const struct record *r, uint64_t id, int64_t shown);

/* ---- when they are written ---- */

bool output_is_pending(void); /* lines wait in the buffer */

/* Writes them when they have waited for a tenth of a second, or `now`. */
void output_flush_old(bool now);

/* Writes them before the last operations are abandoned, so that it is known which of them are in
 * the file. */
void output_flush(void);

/* The first returns whether a dump was asked for (file.h); the second answers it. time_ns: the
 * moment by which all that is under way has been written. */
bool output_dump_is_asked(void);
void output_dump(int64_t time_ns);

/* The closing record, which ends the file. `dropped`: records that never came here. When that has
 * grown since, output_amend() writes the closing record once more in its place. */
void output_close(int64_t end_ns, uint64_t dropped);
void output_amend(uint64_t dropped);

/* In the child of a fork: lets go of the parent's file at once; output_reset() forgets the rest. */
void output_forked(void);
void output_reset(void);

/* ---- the first line (init_line.c) ---- */

#define INIT_LINE_GPUS 64 /* devices that it lists */
#define INIT_LINE_GPUS_BYTES (INIT_LINE_GPUS * 1024)

/* Times are when the trace began, as output_open() has them. gpus: memory for the list of GPUs,
 * needed until the function returns. */
void init_line_put(struct out *o, const struct config *config, int64_t mono_ns, int64_t real_ns,
                   char gpus[INIT_LINE_GPUS_BYTES]);

/* ---- what a line lists of a graph (graph_ops.c) ----
 *
 * The recorded operations that a graph holds: their ids by capture, kept until the graph's first
 * launch is written. The writer thread's own.
 *
 * Operations of a capture mostly have ids in a row, so ranges are kept, in fixed memory: when there
 * is none left, operations are counted but no longer listed. */

void graph_ops_add(uint32_t graph, uint64_t id);
uint64_t graph_ops_count(uint32_t graph);

/* The ids as a JSON array, as many as fit; text has room for `size` bytes, at least 32. */
void graph_ops_list(uint32_t graph, char *text, size_t size);

void graph_ops_release(uint32_t graph); /* the list; the count stays */

void graph_ops_reset(void);

/* ---- sums for the closing record (op_sums.c) ----
 *
 * Sums over the records of this process: how often each function was called, and for operations the
 * time of each kind of work, and of each operation of each communicator with a histogram of its
 * durations. They tell of the whole run, also where records gave way (--ring), and answer
 * `specter analyze --summary` without them.
 *
 * Memory is bounded: OP_SUMS_ROWS rows of a communicator and an operation, some times as many as
 * the closing record has room for. What comes beyond them is added to one row for each operation.
 * All functions are the writer thread's. */

#define OP_SUMS_ROWS 512

/* The most bytes that op_sums_put_time() adds, and op_sums_put_comms() for one row. */
#define OP_SUMS_TIME_BYTES 768
#define OP_SUMS_ROW_BYTES 1536

/* A record that has its last times. */
void op_sums_add(const struct record *r);

/* Appends members of an object: the counts of calls, `time` by op_sums_put_time(), and `comms` by
 * op_sums_put_comms(), which are public for tests. room: bytes for `comms`. */
void op_sums_put(struct out *o, size_t room);

/* Appends a JSON object: when the device worked, and sums by kind of work. */
void op_sums_put_time(struct out *o);

/* Appends a JSON array in at most `room` bytes: rows in the order of their device time, as many as
 * fit, the rest merged into one row for each operation. Without room for those: null. */
void op_sums_put_comms(struct out *o, size_t room);

void op_sums_reset(void);

/* ---- copies of NCCL that cannot be intercepted (coverage_gaps.c) ----
 *
 * The closing record lists them, because a missing record must not read as a missing call. Files
 * are read while the program runs, when libraries have been loaded: at its end a seccomp filter may
 * kill the program for opening one. */

/* The most bytes that coverage_gaps_put() adds. */
#define COVERAGE_GAPS_BYTES_MAX 12800

/* Opens what is read later, in the program's first traced call: a descriptor that the writer opened
 * would for a moment have the lowest free number, which the program may count on. */
void coverage_gaps_begin(void);

/* Called by the writer from time to time: reads the mappings again when libraries were loaded. */
void coverage_gaps_refresh(void);

/* Called in the child of a fork: closes the parent's file. */
void coverage_gaps_forked(void);
void coverage_gaps_reset(void);

/* Appends a JSON array of {"kind":K,"path":P}, P an object of this process:
 *   uncalled   a libnccl of which no call was intercepted
 *   static     another object that defines NCCL's functions for itself
 *   namespace  a libnccl in a namespace of its own (dlmopen), where nothing is interposed */
void coverage_gaps_put(struct out *o);

#endif
