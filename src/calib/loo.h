/* SPDX-License-Identifier: MIT
 *
 * Leave one out: each row is predicted with parameters fitted without its source, or without its
 * GPU. What comes out is the error to expect of measurements that the fit has not seen.
 *
 *     gpu      a GPU's rows are left out, on all networks and of all sources, and predicted
 *     source   where two sources have measured a machine (GPU and network): what one of them says
 *              of this GPU is left out, on all networks, and its rows on the machine are predicted;
 *              machines with one source only: as `gpu`
 *
 * The fits start in the middle of the parameters' bounds: what is compiled in has seen all rows.
 */
#ifndef SPECTER_CALIB_LOO_H
#define SPECTER_CALIB_LOO_H

#include "calib/score.h"

#define LOO_GEMM_ROWS 400 /* of each GPU in a fit (fit_classes.h), since there are many fits */

enum loo_by { LOO_SOURCE, LOO_GPU, LOO_NONE };

/* "source", "gpu"; LOO_NONE for another word. */
enum loo_by loo_parse(const char *name);

/* Adds the rows of m to s, each predicted so. The rows that the models refuse become skips of m, as
 * in score_predict(). folds: how many fits it took; may be NULL. 0, or -1 with e filled. */
int loo_score(struct score *s, struct measured *m, enum loo_by by, size_t *folds, struct err *e);

#endif
