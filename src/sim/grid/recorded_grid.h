/* SPDX-License-Identifier: MIT
 *
 * What a recording shows of its job without any model of hardware: its parallel grid.
 *
 *     struct recorded_grid rec;
 *     if (recorded_grid_init(&rec, &run, &steps, NULL, e) < 0) ...
 *     recorded_grid_release(&rec);
 */
#ifndef SPECTER_SIM_GRID_RECORDED_GRID_H
#define SPECTER_SIM_GRID_RECORDED_GRID_H

#include "sim/grid/grid.h"
#include "sim/step/step_measure.h"
#include "trace/run.h"

struct recorded_grid {
    struct arena arena;
    struct grid grid;
};

/* steps: of the run. parallel: the grid as grid_from_text() takes it; NULL: found. 0, or -1 with e
 * filled (ERR_USAGE): what is told does not fit. To be released in either case. */
int recorded_grid_init(struct recorded_grid *rec, const struct run *run,
                       const struct job_steps *steps, const char *parallel, struct err *e);
void recorded_grid_release(struct recorded_grid *rec);

#endif
