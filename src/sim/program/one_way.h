/* SPDX-License-Identifier: MIT
 *
 * Broadcast and Reduce around a ring: data go one way, from the root past all members or past all
 * members to the root. A member waits for those before it on the way alone; what it sends lies in
 * buffers until the next one takes it. NCCL has eight slots of 512 KiB a channel, sixteen channels
 * and more on links within a node: ONE_WAY_ROOM bytes. More data than that keep all members
 * together, as do operations in groups, and such of which root, size or members are not known.
 *
 * What a member takes when data are there is the transfer's cost, the shortest recorded time of
 * any (the source never waits). From its end to that of the member behind it data take one hop, or
 * more where that one came late; the sum of all hops is the fill. Hops of members that waited for
 * data count as they are, those of others at most as the mean of these, or as the shortest.
 */
#ifndef SPECTER_SIM_PROGRAM_ONE_WAY_H
#define SPECTER_SIM_PROGRAM_ONE_WAY_H

#include "sim/program/program.h"

#define ONE_WAY_ROOM (UINT64_C(64) << 20)

/* Finds the transfers of the program that go one way, and tells the engine. All ranks are in
 * place. */
void one_way_find(struct program *p);

/* The fill of a transfer all of whose members are timed on one clock, out of the program in which
 * ranks are apart, which has run; tells the engine. */
void one_way_learn(struct program *p, const struct program *isolated,
                   const struct program_cost *cost);

#endif
