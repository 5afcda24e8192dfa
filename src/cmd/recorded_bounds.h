/* SPDX-License-Identifier: MIT
 *
 * What `analyze` says bounds a recording, for the commands that predict: a file of its own, as
 * names of src/analysis and src/sim clash.
 */
#ifndef SPECTER_CMD_RECORDED_BOUNDS_H
#define SPECTER_CMD_RECORDED_BOUNDS_H

#include "sim/replay/recorded_bounds.h"
#include "trace/run.h"

/* 0, or -1 with e filled. */
int recorded_bounds_find(struct recorded_bounds *out, const struct run *run, struct err *e);

#endif
