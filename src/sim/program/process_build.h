/* SPDX-License-Identifier: MIT
 *
 * For program.c: appends the actions of one process to the program.
 */
#ifndef SPECTER_SIM_PROGRAM_PROCESS_BUILD_H
#define SPECTER_SIM_PROGRAM_PROCESS_BUILD_H

#include "sim/program/host_calls.h"
#include "sim/program/program.h"

/* ranks[0..n) are those of the process, whose calls these are. Each has its match, origin, begin
 * and hosts; the rest of it is filled here. Streams are the engine's next. */
void build_process(struct program *p, const uint32_t *ranks, size_t n,
                   const struct host_calls *calls, int64_t latency_ns);

/* Two transfers have an item in common. */
void program_tie(struct program *p, uint32_t match_a, uint32_t match_b);

#endif
