/* SPDX-License-Identifier: MIT
 *
 * Which fitted parameters (model/params.h) the predictions of some rows rest on: what an error must
 * be seen against. A value that several machines share counts once.
 */
#ifndef SPECTER_CALIB_USED_PARAMS_H
#define SPECTER_CALIB_USED_PARAMS_H

#include "calib/measured.h"

struct used_param {
    enum param_group group;
    const char *owner; /* a class ("hopper", "efa", "any"), or a profile with values of its own */
    const struct param *param;
    double value;
};

struct used_params {
    struct used_param *list; /* owned; in the order of groups, owners, parameters */
    size_t count, cap;
    const struct measured_row *last; /* borrowed: rows of one machine come together */
};

void used_params_init(struct used_params *u);
void used_params_release(struct used_params *u);
void used_params_add(struct used_params *u, const struct measured_row *row);
void used_params_sort(struct used_params *u); /* behind the last row */

#endif
