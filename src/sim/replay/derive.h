/* SPDX-License-Identifier: MIT
 *
 * Inside a replay: what is looked at after each simulation besides the iteration's length.
 */
#ifndef SPECTER_SIM_REPLAY_DERIVE_H
#define SPECTER_SIM_REPLAY_DERIVE_H

#include "sim/replay/job.h"

/* Once, before the first simulation: of the recording. */
void derive_recording(struct replay_job *job);

/* Of the recording on its own hardware: whether its replay is to be trusted. */
void derive_own(struct replay_job *job);

/* Of the last simulation: communication by axis, critical path, uncertainty, throughput. */
int derive_scale(struct replay_job *job, const struct retarget *t, struct replay_scale *out,
                 struct err *e);

/* Its uncertainty alone, where the rest is not asked for. */
int derive_error(struct replay_job *job, const struct retarget *t, struct replay_scale *out,
                 struct err *e);

/* Gives the reason why another GPU or network changed nothing. */
void derive_reasons(struct replay_job *job, const struct replay_scale *base);

/* Finds the bound of the step, the largest part of its critical path, and why these differ, where
 * they do. */
void derive_verdict(struct replay_job *job, struct replay_scale *base);

#endif
