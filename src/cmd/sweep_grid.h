/* SPDX-License-Identifier: MIT
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
 * they were (sweep_id.h).
 */
#ifndef SPECTER_CMD_SWEEP_GRID_H
#define SPECTER_CMD_SWEEP_GRID_H

#include "base/arena.h"
#include "sim/replay/replay.h"

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

#endif
