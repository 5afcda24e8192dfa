/* SPDX-License-Identifier: MIT
 *
 * Which training step a moment of a rank belongs to. Steps of different ranks are the same one when
 * they have the same number; where ranks do not mark equally many, or none, the whole trace is one.
 *
 * A step lasts from its mark to the next one, the last one to its end. Work belongs to the step in
 * which the host called for it, wherever the device runs it.
 */
#ifndef SPECTER_ANALYSIS_STEP_WINDOWS_H
#define SPECTER_ANALYSIS_STEP_WINDOWS_H

#include "trace/run.h"

#define STEP_NONE SIZE_MAX

struct step_windows {
    size_t count; /* at least 1 */
    bool marked;  /* else the whole trace is one step */
    bool uneven;  /* not marked because ranks mark different numbers of steps */
};

struct step_windows step_windows_of(const struct run *run);

/* STEP_NONE: in front of the first step or behind the last. */
size_t step_at(const struct step_windows *w, const struct rank *rank, int64_t t_ns);

/* When the host called for it; where that is not known, when it started; UNKNOWN_NS. */
int64_t op_issued_ns(const struct op *op);

#endif
