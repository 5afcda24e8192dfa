/* SPDX-License-Identifier: MIT
 *
 * All rows of a sweep, by point and by id, and how many there are of each status.
 */
#ifndef SPECTER_CMD_SWEEP_TABLE_H
#define SPECTER_CMD_SWEEP_TABLE_H

#include "cmd/sweep_line.h"

struct sweep_row {
    uint64_t id;
    char *line; /* owned; NULL while missing */
    enum sweep_status status;
};

struct sweep_table {
    const struct sweep_grid *grid; /* borrowed */
    struct sweep_row *rows;        /* [count], by point; owned */
    size_t *by_id;                 /* points, by id; owned */
    size_t count, have;            /* have: how many are there */
    size_t of[SWEEP_STATUSES];     /* by status */
};

/* No row is there yet. runs[] are the grid's traces, in its order. -1 with e filled when two points
 * ask the same; to be released in either case. */
int sweep_table_init(struct sweep_table *t, const struct sweep_grid *g, const struct run *runs,
                     struct err *e);
void sweep_table_release(struct sweep_table *t);

/* The point of this id; t->count when there is none. */
size_t sweep_table_find(const struct sweep_table *t, uint64_t id);

/* Takes the line, malloc'ed, of a point that is missing. */
void sweep_table_set(struct sweep_table *t, size_t point, char *line, enum sweep_status status);

/* The header and every row that is there, in the order of the grid, each with its line feed. */
void sweep_table_csv(const struct sweep_table *t, struct buf *out);

/* The same as JSON, schema "specter.sweep/1" (docs/sweep.md). The caller deletes it. */
struct cJSON *sweep_table_json(const struct sweep_table *t);

#endif
