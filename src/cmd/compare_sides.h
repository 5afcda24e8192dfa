/* SPDX-License-Identifier: MIT
 *
 * For compare.c: the sides that the command line names, loaded and named.
 */
#ifndef SPECTER_CMD_COMPARE_SIDES_H
#define SPECTER_CMD_COMPARE_SIDES_H

#include "analysis/analysis.h"
#include "base/arena.h"
#include "base/err.h"
#include "compare/side.h"
#include "trace/run.h"

/* One side: its runs, loaded, or a replay. */
struct compared {
    const char *paths;            /* with commas between repeats */
    const char *label;            /* in the arena */
    char *real[COMPARE_RUNS_MAX]; /* real paths of its runs; owned */
    struct run runs[COMPARE_RUNS_MAX];
    struct analysis analyses[COMPARE_RUNS_MAX];
    const struct analysis *list[COMPARE_RUNS_MAX];
    size_t n;                               /* runs that are loaded and analysed; 0: a replay */
    struct prediction prediction;           /* of it */
    const struct predicted_step *predicted; /* the scale that is compared; NULL: runs */
    bool partial;
};

/* names: with commas, or NULL: as much of the end of each path as makes them differ. 0, or -1 with
 * e filled (ERR_USAGE). */
int compared_label(struct compared *sides, size_t n, const char *names, struct arena *arena,
                   struct err *e);

/* sides[i].paths are set, all else zeroed. all_runs: the paths are folders of runs. gpus: which
 * scale of a replay; 0: that of the recordings. 0, or -1 with e filled; to be released in either
 * case. */
int compared_load(struct compared *sides, size_t n, bool all_runs, int64_t gpus,
                  struct arena *arena, struct err *e);
void compared_release(struct compared *sides, size_t n);

struct compare_runs compared_runs(const struct compared *side);

#endif
