/* SPDX-License-Identifier: MIT
 *
 * Between the files of `specter sweep`: its grid (sweep_grid.c), a row (sweep_line.c), the table of
 * all rows and the file that it is kept in (sweep_table.c).
 */
#ifndef SPECTER_CMD_SWEEP_H
#define SPECTER_CMD_SWEEP_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/terminal.h"
#include "sim/replay/replay.h"

#include <stdio.h>
#include <sys/types.h>

/* ---- the grid ----
 *
 * The grid of `specter sweep`: lists of values for the options of a replay, read from JSON, and the
 * points that they span.
 *
 *     {"traces": ["./traces"], "gpus": [null, "a100_sxm"], "scales": [1, 8, 64]}
 *
 * Every key is an axis (sweep_axes[]) and takes one value or a list of them. What is absent, or
 * null, is the default of `specter replay`. Points are numbered like the digits of a number, axes
 * in the order of the table whatever the order in the file, the last one fastest: scales, so that
 * the points of one replay_run() are neighbours. All points that differ in nothing but their scale
 * are a job.
 *
 * To add an axis: its row in sweep_axes[]. Ids of points that leave it at its default stay what
 * they were (sweep_table.c). */

#define SWEEP_POINTS_MAX 10000000 /* a grid with more is a slip */
#define SWEEP_AXES_MAX 32

enum sweep_kind {
    SWEEP_TRACE,   /* a folder, file or archive */
    SWEEP_GPU,     /* a profile's name or file */
    SWEEP_NETWORK, /* likewise */
    SWEEP_TEXT,
    SWEEP_FLAG,
    SWEEP_NUMBER, /* a double */
    SWEEP_COUNT,  /* an int64_t or uint64_t */
    SWEEP_SCALE,  /* whole numbers; the last axis */
};

struct sweep_axis {
    const char *key;    /* in the grid */
    const char *column; /* in the rows */
    enum sweep_kind kind;
    const char *standard;   /* a value that means the default when it is given; NULL: only null */
    size_t offset;          /* in struct replay_opts; of hardware, flags, numbers and counts */
    double lowest, highest; /* of numbers, counts and scales */
    bool source;            /* hardware: of the recording, not of the target */
    size_t network; /* SWEEP_GPU: the option that takes a file's network, unless one is named */
    /* SWEEP_TEXT: what the option of `specter replay` does with its argument. What it makes lives
     * in the arena; -1 with e filled, without the option's name. Called once for each value that is
     * read, then for each job. */
    int (*set)(struct replay_opts *opts, const char *text, struct arena *a, struct err *e);
};

extern const struct sweep_axis sweep_axes[];
extern const size_t sweep_axis_count;
#define SWEEP_TRACES ((size_t)0) /* the first axis */
#define SWEEP_SCALES (sweep_axis_count - 1)

/* Texts and profiles are the grid's. */
struct sweep_value {
    const char *text; /* as the grid has it; NULL: the default */
    const struct gpu_profile *gpu;
    const struct network_profile *network; /* SWEEP_GPU: the one in the GPU's file; NULL */
    int64_t number;                        /* of counts and scales; SWEEP_FLAG: 0 or 1 */
    double value;                          /* SWEEP_NUMBER */
};

struct sweep_list {
    struct sweep_value *values; /* owned */
    size_t count, cap;
};

/* A profile that the grid names; each is read once, so that equal names are equal hardware. */
struct sweep_profile {
    const char *text;
    const struct gpu_profile *gpu;
    const struct network_profile *network;
};

struct sweep_grid {
    struct sweep_list axes[SWEEP_AXES_MAX]; /* none is empty */
    size_t jobs, scales, points;            /* points = jobs x scales */
    struct sweep_profile *profiles;         /* owned */
    size_t nprofiles, cap_profiles;
    struct arena arena;
};

/* Reads the file. traces[0..ntraces), where there are any, take the place of the grid's. 0, or -1
 * with e filled (ERR_INPUT, "FILE:LINE: what"): no JSON, an unknown key (with the nearest known
 * one), a key or value given twice, a wrong type, an empty list, an unknown profile. To be released
 * in either case. */
int sweep_grid_read(struct sweep_grid *g, const char *path, char **traces, size_t ntraces,
                    struct err *e);
void sweep_grid_release(struct sweep_grid *g);

/* The value that a job has on an axis other than scales. */
const struct sweep_value *sweep_grid_value(const struct sweep_grid *g, size_t job, size_t axis);

/* All options of a job but its scales. Borrowed from the grid and the arena, which is the caller's:
 * several threads may ask at a time. */
void sweep_grid_opts(const struct sweep_grid *g, size_t job, struct arena *a,
                     struct replay_opts *out);

/* ---- a row ----
 *
 * A row of `specter sweep`: a line of CSV (RFC 4180), here without its end.
 *
 * Columns are id, specter (its version) and run, one for each axis, figures, status
 * and reason. A figure that is not known is empty. Where the hardware is not named, its column has
 * what the replay took; other options that are not named are empty.
 *
 * To add a figure: its line in FIGURES, sweep_line.c. */

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

/* ---- the table ----
 *
 * All rows of a sweep, by point and by id, and how many there are of each status. */

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

/* Takes the line, malloc'ed, of a point that is missing. */
void sweep_table_set(struct sweep_table *t, size_t point, char *line, enum sweep_status status);

/* The header and every row that is there, in the order of the grid, each with its line feed. */
void sweep_table_csv(const struct sweep_table *t, struct buf *out);

/* The same as JSON, schema "specter.sweep/1" (docs/sweep.md). The caller deletes it. */
struct cJSON *sweep_table_json(const struct sweep_table *t);

/* Prints the result on one screen (report/screen.h): at the largest scale with figures, the
 * shortest step and the other combinations in order. output: where the table was written; NULL:
 * nowhere. */
void sweep_summary(const struct sweep_table *t, const char *output, enum color_when color,
                   FILE *out);

/* ---- the file of the table ----
 *
 * The table that `specter sweep -o FILE` grows: rows are appended as they come, one write each, and
 * put into the order of the grid at the end, in another file that then takes FILE's name. So FILE
 * is a table of whole rows at any moment, but for a last line that a kill or a full disk has cut;
 * and the next call goes on from it.
 *
 *     if (sweep_file_open(&f, path, e) < 0 || sweep_file_resume(&f, &table, e) < 0) ...
 *     sweep_file_append(&f, &table, point, e) ...
 *     sweep_file_finish(&f, &table, e);
 *     sweep_file_close(&f);
 *
 * A FILE that is not a regular file (a pipe, /dev/stdout) gets all rows at the end, in order. */
struct sweep_file {
    const char *path; /* borrowed, as the user named it */
    char *target;     /* owned: without symbolic links */
    int fd;           /* -1: none */
    bool regular;
    bool in_order; /* what is in it is the beginning of the finished table */
    size_t last;   /* ... up to before this point */
    off_t length;  /* of whole lines */
    size_t rows;   /* points in it */
};

/* Opens or creates it, and locks it against another sweep. 0, or -1 with e filled. To be closed in
 * either case. */
int sweep_file_open(struct sweep_file *f, const char *path, struct err *e);

/* Puts its rows into the table, then drops a last line that is cut (*cut is its length). What is no
 * table of this grid and this version is refused with file and line, and left as it is. */
int sweep_file_resume(struct sweep_file *f, struct sweep_table *t, size_t *cut, struct err *e);

/* A row that is new. When it cannot be written, nothing of it stays. */
int sweep_file_append(struct sweep_file *f, const struct sweep_table *t, size_t point,
                      struct err *e);

/* In order. When that cannot be written, the file stays as it is. */
int sweep_file_finish(struct sweep_file *f, const struct sweep_table *t, struct err *e);
void sweep_file_close(struct sweep_file *f);

#endif
