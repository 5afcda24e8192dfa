/* SPDX-License-Identifier: MIT
 *
 * The compiled-in rows of profiles/fitted.def. For params.c alone; everybody else asks params.h.
 */
#ifndef SPECTER_MODEL_PARAMS_ROWS_H
#define SPECTER_MODEL_PARAMS_ROWS_H

#include "model/params.h"

extern const struct param_class gemm_classes[], node_classes[], net_classes[];
extern const size_t gemm_class_count, node_class_count, net_class_count;

#endif
