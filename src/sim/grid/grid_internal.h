/* SPDX-License-Identifier: MIT
 *
 * Inside the finding of a grid: for grid.c (order of things), grid_sets.c (strides), grid_place.c
 * (where communicators lie), grid_pattern.c (what one of them looks like), grid_role.c (what an
 * axis is for) and grid_given.c (what the user says).
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

/* A tenth of its AllReduces or more come early: they are of activations. */
bool grid_is_early(const struct grid_comm *comm);

/* Groups that are made and never used, without a name that tells, do not shape the grid, as long as
 * others do: grid_any_used() says whether any does, grid_shapes() whether this one does. */
bool grid_any_used(const struct grid_input *in);
bool grid_shapes(const struct grid_comm *comm, bool any_used);

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

/* Lists the members where the trace does not write them all: those that differ from a known one on
 * no axis but the communicator's, in order. Needs complete places. */
void grid_fill_members(struct grid *g, const struct grid_input *in);

/* Names the axes; may add ones of size 1. Sets state, candidates and doubt. */
void grid_find_roles(struct grid *g, const struct grid_input *in);

/* Adds axes that communicators span beyond their sets: groups of the world span every axis, dense
 * gradients also the data axis of size 1. */
void grid_widen(struct grid *g, const struct grid_input *in);

/* The number of the only axis; -1: none, or several. */
int grid_only_axis(unsigned axes);

/* The role of a group of one, as a bit; 0 when nothing tells. */
unsigned grid_single_role(const struct grid_comm *comm);

/* Returns the role that a communicator's traffic suggests; GRID_ROLES when nothing tells. */
enum grid_role grid_own_role(const struct grid_comm *comm);

/* For rank sets that do not determine the axes: records which groups were seen, as the problem,
 * and, where their sizes make the world, the grid that they suggest, as a candidate. False when
 * none does. */
bool grid_ask(struct grid *g, const struct grid_input *in);

/* Groups of one that have a name or do something are an axis of size 1. */
void grid_add_singles(struct grid *g, const struct grid_input *in);

/* An axis of size 1, outside all others. NULL when there is no room. */
struct grid_axis *grid_add_single(struct grid *g, enum grid_role role);

const char *grid_text(struct grid *g, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The axes as --parallel takes them, strides included where sizes alone would leave a choice. */
const char *grid_spell(struct grid *g);

/* Grids from sizes alone, where ranks did not write their members: the orders of the axes that fit
 * all that is known of the members. Returns how many; the first GRID_CANDIDATES_MAX are spelled in
 * orders[][], as permutations of sizes. */
int grid_orders(const struct grid_input *in, const int *sizes, int n,
                int orders[GRID_CANDIDATES_MAX][GRID_AXES_MAX]);

/* Axes of those sizes in that order, without roles. */
void grid_set_axes(struct grid *g, const int *sizes, const int *order, int n);

/* The next order after this one, as numbers are ordered; false behind the last. */
bool grid_next_order(int *order, int n);

/* The roles that a name of a group tells, as bits; 0 none. */
unsigned grid_roles_of_name(const char *name);
bool grid_one_role(unsigned roles);
enum grid_role grid_role_of_bit(unsigned roles); /* the lowest; roles is not 0 */

#endif
