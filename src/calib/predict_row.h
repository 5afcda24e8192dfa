/* SPDX-License-Identifier: MIT
 *
 * What the models say of one measured row: the only way from a row to a time, for validation and
 * for fits alike.
 */
#ifndef SPECTER_CALIB_PREDICT_ROW_H
#define SPECTER_CALIB_PREDICT_ROW_H

#include "calib/measured.h"

struct row_prediction {
    double us;
    double lat_us;            /* of it: what does not depend on bytes; 0 for gemm */
    const char *algo, *proto; /* "" for gemm */
    int channels;
};

/* On other hardware than the row names when `gpu` and `net` say so: a fit passes the row's profiles
 * with parameters of its own (struct gemm_params, node_params and net_params in them). `net` is
 * NULL for gemm. 0, or -1 with e filled: the models cannot say. */
int predict_row(const struct measured_row *row, const struct gpu_profile *gpu,
                const struct network_profile *net, struct row_prediction *out, struct err *e);

/* Returns whether the row needs the network: it is on more than one node, or one NVLink domain of
 * nodes. */
bool predict_row_leaves_node(const struct measured_row *row);

/* Returns whether the row is beyond the range of its classes' fits (struct fit_range). Also true
 * where nothing was fitted. */
bool predict_row_outside(const struct measured_row *row);

#endif
