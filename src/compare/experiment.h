/* SPDX-License-Identifier: MIT
 *
 * An experiment: one command under several settings, each several times, in an order that a seed
 * draws. What was asked for and what came of each run is its manifest, a JSON file (schema
 * "specter.experiment/1", docs/experiment.md), from which an experiment that was cut off goes on.
 *
 *     struct experiment x;
 *     if (experiment_read(&x, "tuning.json", e) < 0) return -1;        or experiment_preset()
 *     experiment_plan(&x, repeat, seed);
 *     for (size_t i = 0; i < x.nruns; i++)
 *         ... run x.runs[i], and experiment_write(&x, "manifest.json", e)
 *     experiment_release(&x);
 */
#ifndef SPECTER_COMPARE_EXPERIMENT_H
#define SPECTER_COMPARE_EXPERIMENT_H

#include "base/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

#define EXPERIMENT_SETTINGS_MAX 256
#define EXPERIMENT_LABEL_MAX 64 /* bytes */

struct experiment_env {
    const char *name, *value;
};

struct experiment_setting {
    const char *label; /* the name of its folder, too: no '/', ',' or control character, and no
                          name of a file that stands beside it */
    struct experiment_env *env;
    size_t nenv;
    const char **args; /* behind the command */
    size_t nargs;
    const char **capture; /* options of `specter capture` */
    size_t ncapture;
};

#define EXPERIMENT_NOT_RUN (-1)

struct experiment_run {
    size_t setting; /* index */
    int64_t repeat; /* from 1 */
    int status;     /* of the command; EXPERIMENT_NOT_RUN */
    double seconds;
    const char *library; /* the file of NCCL that it loaded, as traces tell; NULL: not known */
};

struct experiment {
    struct arena arena; /* all texts and lists */
    const char *name;   /* in the name of its folder, as a label */
    struct experiment_setting *settings;
    size_t nsettings;
    const char **command;
    size_t ncommand;
    int64_t repeat, seed;
    const char *profiler;        /* "specter", "kineto" */
    struct experiment_run *runs; /* in the order in which they run */
    size_t nruns;
};

#define EXPERIMENT_MANIFEST "manifest.json"
#define EXPERIMENT_COMPARISON "comparison.json"

/* X(name): the presets. nccl_tuning: NCCL's algorithm, protocol and number of channels, one at a
 * time. rccl_warp_speed: RCCL's compute units and threads. */
#define EXPERIMENT_PRESETS(X) X(nccl_tuning) X(rccl_warp_speed)

/* Settings from a file, or of a preset by its name. pairs: "56,256 37,384" for rccl_warp_speed;
 * NULL: the usual ones. 0, or -1 with e filled (ERR_INPUT, ERR_USAGE), and nothing to release. */
int experiment_read(struct experiment *x, const char *path, struct err *e);
int experiment_preset(struct experiment *x, const char *name, const char *pairs, struct err *e);

/* The runs: every setting once in each round, rounds shuffled one by one. The same seed gives the
 * same order everywhere. Command and profiler are set by the caller. */
void experiment_plan(struct experiment *x, int64_t repeat, int64_t seed);

/* Writes the manifest, or without a plan what experiment_read() takes. The file is replaced at
 * once, so that it is never half of one. path NULL: to stdout. */
int experiment_write(const struct experiment *x, const char *path, struct err *e);

/* Takes over from a manifest what has run already. -1 with e filled: it cannot be read, or it is of
 * another experiment, and of what. */
int experiment_resume(struct experiment *x, const char *path, struct err *e);

/* The first label that is this; nsettings: none. */
size_t experiment_find(const struct experiment *x, const char *label);

void experiment_release(struct experiment *x);

#endif
