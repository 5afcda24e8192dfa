/* SPDX-License-Identifier: MIT
 *
 * For program.c: appends the actions of one rank to the program.
 */
#ifndef SPECTER_SIM_BUILD_H
#define SPECTER_SIM_BUILD_H

#include "sim/calls.h"
#include "sim/program.h"

/* p->ranks[r] has its match, origin and begin; the rest of it is filled here. */
void build_rank(struct program *p, uint32_t r, const struct calls *calls, int64_t latency_ns);

/* Two transfers have an item in common. */
void program_tie(struct program *p, uint32_t match_a, uint32_t match_b);

#endif
