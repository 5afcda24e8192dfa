/* SPDX-License-Identifier: MIT
 *
 * What bounds the recorded step, and the largest part of its critical path, as `analyze` tells: a
 * replay says why its prediction is bound otherwise.
 */
#ifndef SPECTER_SIM_REPLAY_RECORDED_BOUNDS_H
#define SPECTER_SIM_REPLAY_RECORDED_BOUNDS_H

#include "trace/activity.h"

struct recorded_bounds {
    enum bound time, path;
    bool path_known;
};

/* Why a prediction is bound otherwise than the recording is. */
enum bounds_cause {
    BOUNDS_SAME,
    BOUNDS_REPLAY_OFF,    /* the replay is far off the recording on its own hardware */
    BOUNDS_UNTIMED,       /* what was not timed is work in a replay, and idle time to analyze */
    BOUNDS_TARGET,        /* on the target the parts of a step take other times */
    BOUNDS_WAITS_UNKNOWN, /* the replay infers what the host waited for */
    BOUNDS_CLOSE,         /* the host is ahead of busy devices by little */
    BOUNDS_CAUSES
};

#endif
