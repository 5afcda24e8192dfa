/* SPDX-License-Identifier: MIT
 *
 * A row of `specter sweep`: a line of CSV (RFC 4180), here without its end.
 *
 * Columns are id, specter (its version) and run, one for each axis (sweep_grid.h), figures, status
 * and reason. A figure that is not known is empty. Where the hardware is not named, its column has
 * what the replay took; other options that are not named are empty.
 *
 * To add a figure: its line in FIGURES, sweep_line.c.
 */
#ifndef SPECTER_CMD_SWEEP_LINE_H
#define SPECTER_CMD_SWEEP_LINE_H

#include "base/buf.h"
#include "cmd/sweep_grid.h"

enum sweep_status {
    SWEEP_MISSING, /* not computed yet; no row has it */
    SWEEP_OK,
    SWEEP_PARTIAL, /* computed from a part of the input: the reason says what was lost */
    SWEEP_FAILED,  /* cannot be computed: the reason says why */
    SWEEP_STATUSES,
};

/* The result of a point. */
struct sweep_result {
    const struct sweep_grid *grid;
    size_t job;
    const struct sweep_value *scale;
    uint64_t id;
    const struct run *run;
    const struct replay *rep;         /* after replay_run(), which may have failed */
    const struct replay_scale *times; /* NULL: it failed, and `failure` says why */
    const char *failure;
};

/* Malloc'ed. */
char *sweep_line(const struct sweep_result *result, enum sweep_status *status);

size_t sweep_columns(void);
char *sweep_header(void); /* malloc'ed */

/* The line that has these fields, as sweep_line() writes it; malloc'ed. */
char *sweep_line_of(char *const *fields, size_t count);

/* Id and status of a row's fields, of which there are sweep_columns(). -1 with e filled when they
 * are none, or another version's. */
int sweep_line_read(char *const *fields, uint64_t *id, enum sweep_status *status, struct err *e);

/* The last column of a row, for a message. */
void sweep_line_reason(const char *line, struct buf *out);

struct cJSON;
struct cJSON *sweep_line_json(const char *line); /* an object, column by column; caller deletes */

#endif
