/* SPDX-License-Identifier: MIT
 *
 * Sums over the operations of this process for the closing record: of each kind of work, and of
 * each operation of each communicator with a histogram of its durations. They tell of the whole
 * run, also where records gave way (--ring), and answer `specter analyze --summary` without them.
 *
 * Memory is bounded: OP_SUMS_ROWS rows of a communicator and an operation, some times as many as
 * the record has room for. What comes beyond them is added to one row for each operation. All
 * functions are the writer thread's.
 */
#ifndef SPECTER_TRACER_OP_SUMS_H
#define SPECTER_TRACER_OP_SUMS_H

#include "record.h"

#include <stddef.h>

struct out;

#define OP_SUMS_ROWS 512

/* The most bytes that op_sums_put_time() adds, and op_sums_put_comms() for one row. */
#define OP_SUMS_TIME_BYTES 768
#define OP_SUMS_ROW_BYTES 1536

/* An operation that has its last times. bytes: that it moves; 0 unknown. */
void op_sums_add(const struct record *r, uint64_t bytes);

/* Appends two members of an object: `time` by op_sums_put_time(), and `comms` by
 * op_sums_put_comms(), which are public for tests. */
void op_sums_put(struct out *o, size_t room);

/* Appends a JSON object: when the device worked, and sums by kind of work. */
void op_sums_put_time(struct out *o);

/* Appends a JSON array in at most `room` bytes: rows in the order of their device time, as many as
 * fit, the rest merged into one row for each operation. Without room for those: null. */
void op_sums_put_comms(struct out *o, size_t room);

void op_sums_reset(void);

#endif
