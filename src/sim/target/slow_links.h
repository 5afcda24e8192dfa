/* SPDX-License-Identifier: MIT
 *
 * For retarget.c: NICs of some nodes that carry less than their profile says. A transfer runs at
 * the pace of its slowest member's link: it is priced as if all NICs were as slow.
 */
#ifndef SPECTER_SIM_TARGET_SLOW_LINKS_H
#define SPECTER_SIM_TARGET_SLOW_LINKS_H

#include "sim/target/retarget.h"

/* Returns by how much the slowest NICs of a transfer on the target are slower than usual; 1: none.
 * Both ends of a message count, and all members of a collective. */
double slow_link_factor(const struct retarget *t, const struct rank *rank, const struct op *op,
                        bool p2p);

/* Returns whether that is more than 1, and the transfer leaves its node there. */
bool slow_link_is_met(const struct retarget *t, const struct program_cost *cost);

/* Prices it anew for NICs at 1/slow, done in the way that `price` says: NCCL knows what a NIC
 * should carry, not what it does carry. */
int slow_link_price(struct hardware on, enum specter_comm_op what, double bytes,
                    struct layout where, double slow, struct comm_cost *price, struct err *e);

#endif
