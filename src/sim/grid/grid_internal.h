/* SPDX-License-Identifier: MIT
 *
 * Inside the finding of a grid: for grid.c (order of things, where communicators lie), grid_sets.c
 * (strides), grid_pattern.c (what a communicator looks like), grid_role.c (what an axis is for) and
 * grid_given.c (what the user says).
 */
#ifndef SPECTER_SIM_GRID_GRID_INTERNAL_H
#define SPECTER_SIM_GRID_GRID_INTERNAL_H

#include "sim/grid/grid.h"

/* The pattern of a communicator's traffic. */
enum grid_pattern {
    PATTERN_NONE, /* nothing but control calls */
    PATTERN_REDUCE,
    PATTERN_GATHER_AHEAD, /* AllGathers in runs, ReduceScatters: shards of parameters */
    PATTERN_BY_TURNS,     /* AllGather and ReduceScatter alternate: sequence parallelism */
    PATTERN_SHARD_ONCE,   /* as many of both, in runs of each: a sharded optimizer */
    PATTERN_EXCHANGE,     /* all to all */
    PATTERN_MESSAGES,
};

enum grid_pattern grid_pattern_of(const struct grid_comm *comm);

/* Groups that are made and never used, without a name that tells, do not shape the grid, as long as
 * others do: grid_any_used() says whether any does, grid_is_evidence() whether this one does. */
bool grid_any_used(const struct grid_input *in);
bool grid_is_evidence(const struct grid_comm *comm, bool any_used);

void grid_init(struct grid *g, const struct grid_input *in);

/* Completes a grid whose axes have roles: a data axis of size 1 where there is none, and the axes
 * that communicators span. */
void grid_complete(struct grid *g, const struct grid_input *in);

/* Fills axes (without roles) from the rank sets. False with g->problem set when there is no grid.
 */
bool grid_axes_from_sets(struct grid *g, const struct grid_input *in);

/* Finds where the members are, on the axes as they are. */
struct grid_place grid_place_of(const struct grid *g, const struct grid_comm *comm);
void grid_place_all(struct grid *g, const struct grid_input *in);

/* Returns whether some of the axes together have as many ranks as the communicator. */
bool grid_size_fits(const struct grid *g, const struct grid_comm *comm);

/* Names the axes; may add ones of size 1. Sets state, candidates and doubt. */
void grid_find_roles(struct grid *g, const struct grid_input *in);

/* Adds axes that communicators span beyond their sets: groups of the world span every axis, dense
 * gradients also the data axis of size 1. */
void grid_widen(struct grid *g, const struct grid_input *in);

/* Returns the role that a communicator's traffic suggests; GRID_ROLES when nothing tells. */
enum grid_role grid_own_role(const struct grid_comm *comm);

/* Adds an axis of size 1, where the usual order of roles has it: replicas that the recording does
 * not have are numbered inside the stages of a pipeline. NULL when there is no room. */
struct grid_axis *grid_add_single(struct grid *g, enum grid_role role);

const char *grid_text(struct grid *g, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The next order after this one, as numbers are ordered; false after the last. */
bool grid_next_order(int *order, int n);

/* The roles that a name of a group tells, as bits; 0 none. */
unsigned grid_roles_of_name(const char *name);
bool grid_one_role(unsigned roles);

#endif
