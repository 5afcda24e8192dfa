/* SPDX-License-Identifier: MIT
 *
 * Errors of predictions against measurements: for all rows and for each class of them. The error of
 * a row is predicted / measured - 1, its absolute value the APE (absolute percentage error).
 *
 *     struct score s;
 *     score_init(&s);
 *     score_add(&s, row, &prediction, outside);        for each row
 *     score_finish(&s);
 *     ... s.all.median_ape, s.groups[i].key
 *     score_release(&s);
 *
 * Rows are borrowed. The order of groups does not depend on the order of rows.
 */
#ifndef SPECTER_CALIB_SCORE_H
#define SPECTER_CALIB_SCORE_H

#include "calib/measured.h"
#include "calib/predict_row.h"
#include "model/accuracy.h"

struct score_stats {
    size_t n;
    double median_ape, mean_ape, p90_ape; /* fractions: 0.08 is 8 %; NAN when n is 0 */
    double bias;                          /* median of the signed error */
    double within_25;                     /* share of rows whose APE is at most 0.25 */
};

/* Classes of rows; each row is in one group of each `by` that its kind has. */
struct score_group {
    enum measured_kind kind; /* MEASURED_KINDS: over all kinds */
    const char *by;          /* "kind", "size", "collective", "gpu", "network", "source", ... */
    const char *key;         /* "64 KiB-1 MiB", "AllReduce", "h100_sxm"; owned by the score */
    double order;            /* where it stands among those of its `by` */
    struct score_stats stats;
};

struct scored_row {
    const struct measured_row *row;
    struct row_prediction predicted;
    double error; /* predicted.us / row->time_us - 1 */
    bool outside; /* beyond what the parameters were fitted on */
};

/* Within which factors of the prediction measured times lie. False where nothing of the kind was
 * measured. */
bool scored_row_interval(const struct scored_row *s, struct accuracy_interval *in);

struct score {
    struct arena arena;
    struct scored_row *rows; /* owned; after score_finish() the worst come first */
    size_t nrows, cap_rows;
    struct score_stats all;
    struct score_stats source_weighted; /* of all rows, each source weighing the same */
    size_t nsources, noutside;
    struct score_group *groups; /* owned; by kind, then `by`, then order */
    size_t ngroups, cap_groups;
};

void score_init(struct score *s);
void score_release(struct score *s);
void score_add(struct score *s, const struct measured_row *row, const struct row_prediction *p,
               bool outside);
void score_finish(struct score *s); /* once, after the last row */

/* Predicts and adds each row of m with the profiles it names; rows that the models refuse become
 * skips of m. score_finish() is left to the caller. */
void score_predict(struct score *s, struct measured *m);

/* ---- the fitted parameters (model/params.h) that predictions rest on: used_params.c ----
 *
 * An error must be seen against them. A value that several machines share counts once. */
struct used_param {
    enum param_group group;
    const char *owner; /* a class ("hopper", "efa", "any"), or a profile with values of its own */
    const struct param *param;
    double value;
};

/* Empty at first: {0}. */
struct used_params {
    struct used_param *list; /* owned; in the order of groups, owners, parameters */
    size_t count, cap;
    const struct measured_row *last; /* borrowed: rows of one machine come together */
};

void used_params_release(struct used_params *u);
void used_params_add(struct used_params *u, const struct measured_row *row);
void used_params_sort(struct used_params *u); /* after the last row */

/* ---- leave one out (leave_one_out.c) ----
 *
 * Each row is predicted with parameters fitted without its source, or without its
 * GPU. What comes out is the error to expect of measurements that the fit has not seen.
 *
 *     gpu      a GPU's rows are left out, on all networks and of all sources, and predicted
 *     source   where two sources have measured a machine (GPU and network): what one of them says
 *              of this GPU is left out, on all networks, and its rows on the machine are predicted;
 *              machines with one source only: as `gpu`
 *
 * The fits start in the middle of the parameters' bounds: what is compiled in has seen all rows. */

#define LOO_GEMM_ROWS 400 /* of each GPU in a fit (calibrate.h), since there are many fits */

enum loo_by { LOO_SOURCE, LOO_GPU, LOO_NONE };

/* "source", "gpu"; LOO_NONE for another word. */
enum loo_by loo_parse(const char *name);

/* Adds the rows of m to s, each predicted so. The rows that the models refuse become skips of m, as
 * in score_predict(). folds: how many fits it took; may be NULL. 0, or -1 with e filled. */
int loo_score(struct score *s, struct measured *m, enum loo_by by, size_t *folds, struct err *e);

/* ---- intervals (coverage.c) ----
 *
 * The width that an interval around predictions must have to hold half, or 80 %, of the measured
 * times, by class (model/accuracy.h), and the share that it holds on machines that had no part in
 * it. It is worth something for rows that were predicted by fits without their source
 * (loo_score()). A machine is a GPU on a network in one source's tables; each weighs alike, one of
 * fewer than ACCURACY_ROWS_MIN rows less. */

struct coverage {
    size_t rows, machines;     /* 0: the class has none, and nothing else holds */
    double factor50, factor80; /* quantiles of max(measured / predicted, predicted / measured) */
    double inside50, inside80; /* shares of rows, weighed as above, within the factors that the rows
                                * of all other machines of the class give; NAN: there is one */
    unsigned ops;              /* of collectives: 1 << enum specter_comm_op */
};

/* By class and size; of GEMMs and messages SIZE_ALL alone. */
void coverage_of(const struct score *s, struct coverage out[INTERVAL_CLASSES][SIZE_CLASSES]);

#endif
