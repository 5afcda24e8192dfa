/* SPDX-License-Identifier: MIT
 *
 * One fit over many machines: the rows of profiles/fitted.def. A class's parameters are fitted on
 * the rows of its machines and drawn towards those of the wider class, which are fitted on all its
 * machines, a machine weighing as the square root of its rows:
 *
 *     any  <-  any/nvswitch  <-  hopper/nvswitch    (node)
 *     any  <-  hopper                               (gemm)
 *     any  <-  efa                                  (net; see below)
 *
 * The draw weighs CLASSES_PRIOR rows. A parameter that a class's rows do not determine (fit.h), or
 * that comes out as it is in the wider class (within CLASSES_SIGMAS standard deviations, or
 * CLASSES_SHIFT), is not fitted there: it has the wider class's value. A class whose rows are all
 * those of the wider one has no row of its own. `node` is fitted on what stays within a node or
 * NVLink domain, then `net` on the rest; large tables of products are thinned out evenly.
 *
 * The widest class starts in the middle of its bounds: what is compiled in has no part in a fit, so
 * that the same rows give the same values, and those that are left out have not been seen.
 * "any" of net is no fit but an estimate, and stays as it is: transports differ in kind, so that
 * what was measured of some says nothing of another.
 */
#ifndef SPECTER_CALIB_FIT_CLASSES_H
#define SPECTER_CALIB_FIT_CLASSES_H

#include "calib/fit.h"
#include "calib/predict_row.h"

#include <stdio.h>

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
