/* SPDX-License-Identifier: MIT
 *
 * Launch calls that waited for room. A CUDA stream takes about 1,022 launches ahead of the device
 * (NVIDIA, CUDA C++ Best Practices: "the launch queue"); the next call returns when one of them is
 * over. That is no CPU time, and the engine simulates it: so the time of such a call beyond the
 * usual one of its class is left out of the host's.
 *
 * Told from host times and order alone: a call behind so many launches on its stream since the host
 * last waited for them, that took more than BACKLOG_TIMES times the median of the calls of its
 * class which were not behind so many, and BACKLOG_LEAST_NS more.
 */
#ifndef SPECTER_SIM_PROGRAM_BACKLOG_H
#define SPECTER_SIM_PROGRAM_BACKLOG_H

#define BACKLOG_DEPTH 1022
#define BACKLOG_TIMES 4
#define BACKLOG_LEAST_NS 5000

struct builder;

/* Fills b->blocked_ns and the facts. */
void backlog_find(struct builder *b);

#endif
