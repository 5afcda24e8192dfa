/* SPDX-License-Identifier: MIT
 *
 * The table of communicators by handle, and where they are kept: chunks of slots, mapped as they
 * are needed, a list of those that are free, and a hash table whose buckets are lists of those in
 * use. A look-up takes no lock and costs the same however many there are, and so does finding out
 * that there is no room for one more.
 *
 * A slot never moves and is never unmapped. Any thread enters one; only the writer takes one out,
 * so that a list loses no slot that two threads are at. A look-up that meets a slot which moves to
 * another list meanwhile may miss what it looks for, and then looks again.
 */
#ifndef SPECTER_TRACER_COMM_TABLE_H
#define SPECTER_TRACER_COMM_TABLE_H

#include "comm.h"

#define COMM_TABLE_MAX 8192 /* slots */

/* The key of one that has ended: a look-up passes it. */
#define COMM_GONE ((ncclComm_t)(uintptr_t)1)

/* A slot, in state COMM_FILLING and in no list; NULL: there is no room. The other: one that is in
 * no list. */
struct traced_comm *comm_table_take(void);
void comm_table_give_back(struct traced_comm *c);

void comm_table_enter(struct traced_comm *c, ncclComm_t handle); /* it is COMM_LIVE then */
void comm_table_remove(struct traced_comm *c); /* the writer's: one that has ended */

/* All slots that were ever taken, by number; NULL after the last. */
struct traced_comm *comm_table_at(uint32_t number);

/* For tests: how many slots a look-up of the handle has to look at. */
uint32_t comm_table_steps(ncclComm_t handle);

void comm_table_reset(void);

#endif
