/* SPDX-License-Identifier: MIT
 *
 * What a log does not say but its numbers tell: which operation it is and how many ranks took part.
 * nccl-tests prints size, count, operator, root, algbw and busbw; size / (count x element size) is
 * 1 or the number of ranks, and busbw / algbw is the operation's factor for that number
 * (specter_comm_op_bus_factor()). What several operations or numbers of ranks explain is left open.
 */
#ifndef SPECTER_BENCH_INFER_H
#define SPECTER_BENCH_INFER_H

#include "bench/result.h"

/* Fills in the operation of rows without one, and where.ranks, of rows and run, when it is 0: by
 * counting on all rows of the run. Then the rates of known
 * operations again, from times, which have more digits. `op`:
 * one that the user names for rows without one; SPECTER_COMM_OP_COUNT: none. */
void bench_infer(struct bench_run *run, enum specter_comm_op op);

#endif
