/* SPDX-License-Identifier: MIT
 *
 * The growth of a run's data axis, with the grid that its communicators alone tell.
 */
#ifndef SPECTER_TEST_GROWN_H
#define SPECTER_TEST_GROWN_H

#include "sim/grid/grid_input.h"
#include "sim/scaling/scaling.h"

struct grown {
    struct arena arena;
    struct grid_input in;
    struct grid grid;
    struct weak_scaling g;
};

/* The operations of ranks are not looked at. */
static inline void grown_init(struct grown *to, const struct run *run)
{
    struct run names = *run;
    names.nranks = 0;
    arena_init(&to->arena);
    grid_input_fill(&to->in, &names, NULL, NULL, &to->arena);
    to->in.world = run->world_size;
    grid_find(&to->grid, &to->in);
    weak_scaling_init(&to->g, run, &to->grid, GRID_DP);
}

static inline void grown_release(struct grown *to)
{
    weak_scaling_release(&to->g);
    grid_release(&to->grid);
    arena_release(&to->arena);
}

#endif
