/* SPDX-License-Identifier: MIT
 *
 * Waits for ranks that were not recorded. What a collective or message took on the recorded ranks
 * holds the wait for its last member, and no other rank's time tells how long that was. The
 * shortest of all calls of its kind waited least: it stands for the transfer, and what a call took
 * longer is its wait. A kind of which even the shortest call takes several times what the model
 * says waited every time. But where other transfers of the rank ran beside a call they shared
 * its port: as long as they were beside it, though no more than each takes by itself, is part of
 * the transfer.
 *
 * On a target the transfer is scaled and the wait is kept, as the missing ranks do what the
 * recorded ones do; with the computation of another GPU it takes as much less or more as that does.
 * It is no part of a transfer's cost but a delay in front of it (sim_set_delay).
 */
#ifndef SPECTER_SIM_TARGET_ABSENT_WAIT_H
#define SPECTER_SIM_TARGET_ABSENT_WAIT_H

#include "sim/program/program.h"
#include "sim/target/retarget.h"

struct cost_classes;

#define ABSENT_MODEL_MAX 2.0 /* a transfer takes no more than so many times what the model says */

/* Splits measured_ns of transfers that lack members into the transfer, which stays measured_ns, and
 * the wait. own: the recording on its own hardware. */
void absent_wait_find(struct program *p, const struct cost_classes *kinds,
                      const struct retarget *own);

/* Returns the wait on the target, as a multiple of the recorded one: how much longer computation
 * takes there. Of a simulation whose costs t has set. */
double absent_wait_ratio(const struct retarget *t);

/* Sets the delays of a simulation whose costs t has set. */
void absent_wait_apply(struct program *p, const struct retarget *t);

#endif
