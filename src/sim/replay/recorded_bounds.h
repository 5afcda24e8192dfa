/* SPDX-License-Identifier: MIT
 *
 * What bounds the recorded step, and the largest part of its critical path, as `analyze` tells: a
 * replay says why its prediction is bound otherwise.
 */
#ifndef SPECTER_SIM_REPLAY_RECORDED_BOUNDS_H
#define SPECTER_SIM_REPLAY_RECORDED_BOUNDS_H

#include "trace/verdict.h"

struct recorded_bounds {
    enum bound time, path;
    bool path_known;
};

#endif
