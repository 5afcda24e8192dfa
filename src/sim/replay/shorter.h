/* SPDX-License-Identifier: MIT
 *
 * A step that takes less time on more GPUs, and why. Weak scaling adds members to collectives and
 * takes nothing from a GPU, so that a shorter step needs its cause beside it: NCCL
 * chooses its algorithm and protocol by size and nodes, and the choice at one scale may be slower
 * than that at the next.
 */
#ifndef SPECTER_SIM_REPLAY_SHORTER_H
#define SPECTER_SIM_REPLAY_SHORTER_H

#include "sim/replay/replay.h"

#define SHORTER 0.005 /* of a step: less is none */

/* Says why the step is shorter than that of the scale simulated before, where that had fewer GPUs.
 * t: of the simulation behind `now`. Remembers `now` for the next call. */
void shorter_derive(struct replay_job *job, const struct retarget *t,
                    const struct replay_scale *now);

#endif
