/* SPDX-License-Identifier: MIT
 *
 * Joins what NCCL's profiler interface said to the operations that it said it of: by communicator
 * and number, and for a message also by peer and direction. Lines of a trace come in any order, so
 * that this is done when all are known; rank_detail() (run.h) then finds them.
 */
#ifndef SPECTER_TRACE_DETAIL_H
#define SPECTER_TRACE_DETAIL_H

#include "trace/run.h"

/* Needs ops in their final order. Returns how many fit no operation; they are dropped. */
size_t rank_join_details(struct rank *rank);

#endif
