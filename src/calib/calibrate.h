/* SPDX-License-Identifier: MIT
 *
 * The parameters (model/params.h) of one machine, fitted to its own rows: `specter calibrate`.
 *
 *     struct calibration c;
 *     calibration_init(&c, &rows);           all that its rows can be fitted in
 *     calibration_only(&c, "start_us", e)    or some of them
 *     if (calibration_run(&c, e) < 0) ...
 *     for (i < c.nparams) c.params[i].fit
 *
 * The fit starts from what the machine has (its profile's own values, else its class's) and is
 * drawn back to it by CALIBRATION_PRIOR rows: what the rows do not determine stays near it. Whether
 * a parameter is determined is judged without that draw (fit.h). How many parameters the rows
 * support is for cross_validate_run() to say.
 */
#ifndef SPECTER_CALIB_CALIBRATE_H
#define SPECTER_CALIB_CALIBRATE_H

#include <stdio.h>

#include "calib/fit.h"
#include "calib/measured.h"
#include "calib/predict_row.h"
#include "calib/score.h"

/* The weight of the value from before, in rows: CALIBRATION_PRIOR where rows scatter by
 * CALIBRATION_SCATTER about the best fit, and as the square of their scatter elsewhere. Rows of a
 * curve err together, so that many of them can mislead as few; where they hardly err, they are
 * right. Between 0.1 and 1 what one collective's fit says of others is best
 * (tests/unit/test_calibrate_data.c). */
#define CALIBRATION_PRIOR 0.3
#define CALIBRATION_SCATTER 0.06
#define CALIBRATION_PRIOR_MIN 0.003
#define CALIBRATION_PRIOR_MAX 1.0
#define CALIBRATION_STARTS 8 /* models are minima over algorithms: one start may see one only */

/* A parameter is fitted, or the reason why it is not. */
enum calibration_held {
    CALIBRATION_FITTED,
    CALIBRATION_NO_ROWS,  /* no row is of its group */
    CALIBRATION_NO_SENSE, /* nothing that this machine can do answers to it (a share of NICs where
                             there are none) */
    CALIBRATION_FIXED,    /* the caller's wish */
    CALIBRATION_NO_GAIN,  /* with it, left-out rows are not predicted better */
};

/* The parameters that are fitted: none; those that differ most from machine to machine (what a link
 * and the arithmetic reach, and what a collective takes to start); all that there are rows for. */
enum calibration_extent { CALIBRATION_NONE, CALIBRATION_FEW, CALIBRATION_ALL, CALIBRATION_EXTENTS };

struct calibration_param {
    enum param_group group;
    const struct param *param;
    enum calibration_held held;
    double before;
    struct fit_estimate fit; /* with `with` an index into params; value is `before` when held */
};

#define CALIBRATION_PARAMS_MAX (PARAM_GROUPS * FIT_PARAMS_MAX)

struct calibration {
    struct fit_rows *rows; /* borrowed; of one GPU and at most one network */
    struct calibration_param params[CALIBRATION_PARAMS_MAX];
    size_t nparams;
    int starts; /* of each fit (struct fit_problem) */
    /* A fit to more rows, whose values are a start, too; or NULL. */
    const struct calibration *whole;
};

void calibration_init(struct calibration *c, struct fit_rows *rows);

/* Fits the named parameter and none that is not named so; or does not fit it. -1 with e filled
 * (ERR_USAGE): unknown name; or (ERR_INPUT) no row for it. */
int calibration_only(struct calibration *c, const char *name, struct err *e);
int calibration_fix(struct calibration *c, const char *name, struct err *e);

/* Returns whether anything is fitted. */
bool calibration_fits(const struct calibration *c);

/* Fits, and leaves the machines of `rows` with the values found. 0 also when some parameters come
 * out undetermined; -1 with e filled: nothing to fit. */
int calibration_run(struct calibration *c, struct err *e);

/* Returns whether it was fitted, and left open by the rows: without an effect on them, uncertain,
 * or not to be told from another. A parameter at its bound is not. */
bool calibration_is_open(const struct calibration_param *p);

/* The measurement that answers most to a parameter of the machine, in words ("AllGather of 1 GiB on
 * 8 ranks"). False when none does. */
bool calibration_advice(const struct fit_machine *machine, enum param_group group, size_t param,
                        char *text, size_t size);

/* ---- cross validation (cross_validate.c) ----
 *
 * Finds how many parameters of a machine its rows support, and how far its predictions are from
 * rows that had no part in the fit: the rows are dealt into CROSS_FOLDS parts, and each part is
 * predicted by a fit to the others. A curve (an operation on so many ranks, messages on one kind of
 * link) stays together, as its rows resemble each other; each GEMM is by itself. Where all rows of
 * GEMMs or of communication are one curve, its parts are ranges of sizes.
 *
 *     struct cross_validation v;
 *     if (cross_validate_run(&calibration, &v, e) == 0)
 *         ... v.before.all.median_ape, v.left_out.all.median_ape
 *     cross_validation_release(&v);
 *
 * Its findings hold for sizes and numbers of ranks as they were measured, on this machine. */

#define CROSS_FOLDS 5

#define CROSS_GAIN 0.05 /* more parameters must predict left-out rows better by this share */

/* The scores are of the same rows: as the machine was known before, and each predicted
 * by the fit without its part. Rows that nothing else of their kind predicts are not among them. */
struct cross_validation {
    enum calibration_extent took[2]; /* of communication, of GEMMs */
    struct score before, left_out;
};

/* Fits as calibration_run() does, but for GEMMs and for communication each the extent that predicts
 * left-out rows best. 0; or -1 with e filled and nothing to release: nothing to fit, or too few
 * rows to tell. */
int cross_validate_run(struct calibration *c, struct cross_validation *v, struct err *e);
void cross_validation_release(struct cross_validation *v);

/* Puts the factors of intervals into the profiles; classes with fewer than ACCURACY_ROWS_MIN rows
 * have none. Either may be NULL. */
void cross_validate_factors(const struct score *s, struct gpu_profile *gpu,
                            struct network_profile *net);

/* ---- what a GPU's kernels lose beside communication ----
 *
 * From the tables of `specter bench overlap`: the factors on what the models say of it
 * (sim/target/overlap.h), which a profile holds as overlap_sm and overlap_memory.
 *
 * Of a row the models say a load: channels / SMs of a compute-bound GEMM, traffic of the collective
 * / memory bandwidth of a memory-bound one. Measured is the loss, 1 - alone / beside. The factor is
 * the line through 0 that fits loss over load by least squares, so that large loads tell most.
 * Where the library chose the channels itself in some rows, only these count: so it does in a job,
 * and the factor then makes up for a wrong guess of their number. */
struct overlap_figure {
    double factor; /* 0: no row tells it */
    double off;    /* one standard deviation, from the scatter of the rows about the line */
    size_t rows;
};

struct overlap_fit {
    struct overlap_figure sm, memory;
};

/* rows: of one GPU. */
struct overlap_fit overlap_fit(const struct measured_overlap *rows, size_t n);

/* ---- fit_classes.c ----
 *
 * One fit over many machines: the rows of profiles/fitted.def. A class's parameters are fitted on
 * the rows of its machines and drawn towards those of the wider class, which are fitted on all its
 * machines, a machine weighing as the square root of its rows:
 *
 *     any  <-  any/nvswitch  <-  hopper/nvswitch    (node)
 *     any  <-  hopper                               (gemm)
 *     any  <-  efa                                  (net; see below)
 *
 * The draw weighs CLASSES_PRIOR rows; where rows determine only several parameters together, such
 * as the start and a step of one size of job, it decides how the difference is divided among them.
 * A parameter that comes out as it is in the wider class (within CLASSES_SIGMAS standard deviations
 * where its rows determine it, else within CLASSES_SHIFT) is not fitted there: it has the wider
 * class's value. A class whose rows are all those of the wider one has no row of its own.
 * `node` is fitted on what stays within a node or NVLink domain, then `net` on the rest; large
 * tables of products are thinned out evenly.
 *
 * The widest class starts in the middle of its bounds: what is compiled in has no part in a fit, so
 * that the same rows give the same values, and those that are left out have not been seen.
 * "any" of net is no fit but an estimate, and stays as it is: transports differ in kind, so that
 * what was measured of some says nothing of another. */

#define CLASSES_PRIOR 0.1
#define CLASSES_SIGMAS 2.0
#define CLASSES_SHIFT 0.02

struct fitted_class {
    enum param_group group;
    char key[PARAM_KEY_MAX];
    struct fit_range range;
    double values[FIT_PARAMS_MAX];            /* by the group's table, all of them */
    struct fit_estimate fits[FIT_PARAMS_MAX]; /* FIT_HELD: the value is the wider class's */
};

struct fitted_classes {
    struct fitted_class *rows; /* owned; wider classes before narrower ones */
    size_t nrows, cap;
};

struct classes_opts {
    const bool *leave_out; /* one a row: not fitted on; NULL: none is left out */
    size_t gemm_rows;      /* 0: FIT_GEMM_ROWS */
};

/* 0, or -1 with e filled. classes_release() is due in both cases. The parameters of rows->machines
 * are those fitted. */
int classes_fit(struct fitted_classes *c, struct fit_rows *rows, const struct classes_opts *opts,
                struct err *e);
void classes_release(struct fitted_classes *c);

/* The number of values that were fitted. */
size_t classes_parameters(const struct fitted_classes *c);

/* As profiles/fitted.def, with the classes of the compiled-in table that are estimates (no rows)
 * and are none of these. */
void classes_write(const struct fitted_classes *c, FILE *out);

#endif
