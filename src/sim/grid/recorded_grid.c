/* SPDX-License-Identifier: MIT */
#include "sim/grid/recorded_grid.h"

#include "sim/grid/grid_input.h"
#include "sim/program/program.h"

#include <string.h>

#define LATENCY_NS 2000 /* of launches; nothing that is asked here depends on it */

int recorded_grid_init(struct recorded_grid *rec, const struct run *run,
                       const struct job_steps *steps, const char *parallel, struct err *e)
{
    struct grid_input groups;
    struct program program;
    int rc = 0;
    memset(rec, 0, sizeof *rec);
    arena_init(&rec->arena);
    program_init(&program, run, LATENCY_NS, false);
    grid_input_fill(&groups, run, program.ranks, steps->ranks, &rec->arena);
    if (parallel == NULL)
        grid_find(&rec->grid, &groups);
    else
        rc = grid_from_text(&rec->grid, &groups, parallel, e);
    program_release(&program);
    return rc;
}

void recorded_grid_release(struct recorded_grid *rec)
{
    grid_release(&rec->grid);
    arena_release(&rec->arena);
}
