/* SPDX-License-Identifier: MIT
 *
 * Predictions of measured rows: the only way from a row to a time, for validation and for fits
 * alike. A fit sets the parameters of the machines that its rows are of.
 */
#ifndef SPECTER_CALIB_PREDICT_ROW_H
#define SPECTER_CALIB_PREDICT_ROW_H

#include "calib/measured.h"
#include "model/params.h"

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

/* ---- rows made ready for fits ----
 *
 * A row has copies of its machine's profiles, whose parameters (model/params.h) can be set, and the
 * group of parameters that it is fitted in.
 *
 *     struct fit_rows rows;
 *     fit_rows_init(&rows, measured.rows, measured.nrows);
 *     fit_rows_set(&rows.machines[k], PARAMS_NET, values);
 *     ... fit_rows_log_error(&rows, i)
 *     fit_rows_release(&rows);
 *
 * A GPU in a network, as rows name it; gpu.gemm, net.node and net.net are the fit's. */
struct fit_machine {
    const struct gpu_profile *of_gpu;     /* what rows name: borrowed */
    const struct network_profile *of_net; /* NULL for gemm */
    struct gpu_profile gpu;
    struct network_profile net;
};

struct fit_row {
    const struct measured_row *row; /* borrowed */
    size_t machine;
    /* GEMM for products; NET for what answers to a parameter of the network, by trying; NODE for
     * the rest. So an NVLink domain of many nodes counts as one node. */
    enum param_group group;
};

struct fit_rows {
    struct fit_row *rows; /* owned; those that the models can predict, in the given order */
    size_t nrows, cap_rows;
    struct fit_machine *machines; /* owned, in order of appearance */
    size_t nmachines, cap_machines;
};

void fit_rows_init(struct fit_rows *f, const struct measured_row *rows, size_t n);
void fit_rows_release(struct fit_rows *f);

/* The machine's struct of a group. */
void *fit_rows_params(struct fit_machine *machine, enum param_group group);

/* Sets a machine's parameters, in the order of the group's table; 0: the class's. */
void fit_rows_set(struct fit_machine *machine, enum param_group group, const double *values);

/* Gets the values that the models take for it just now: its own, and its class's where it has
 * none. */
void fit_rows_get(const struct fit_machine *machine, enum param_group group, double *values);

/* Rows of GEMMs that fits pass over, so that they do not take minutes: all but about `most` of a
 * GPU, the same ones each time. The caller frees it. */
bool *fit_rows_thinned(const struct fit_rows *rows, size_t most);
#define FIT_GEMM_ROWS 1200 /* more say nothing new of ten parameters */

/* Row i on its machine as it is just now. 0, or -1 with e filled: the models refuse. */
int fit_rows_predict(const struct fit_rows *f, size_t i, struct row_prediction *out, struct err *e);

/* Its time; NAN when the models refuse. */
double fit_rows_us(const struct fit_rows *f, size_t i);

/* log(predicted / measured) of row i. */
double fit_rows_log_error(const struct fit_rows *f, size_t i);

#endif
