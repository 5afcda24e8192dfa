/* SPDX-License-Identifier: MIT
 *
 * specter predict gemm --explain: every tile size and split of k, priced.
 */
#ifndef SPECTER_CMD_PREDICT_GEMM_H
#define SPECTER_CMD_PREDICT_GEMM_H

#include "model/cost.h"

struct cJSON;

/* Each tile size with its best split, the taken tile with every split; `cost` is shape's. */
int predict_print_tiles(const struct gpu_profile *gpu, const struct gemm_shape *shape,
                        const struct gemm_cost *cost, struct err *e);

/* All of them, as "candidates". */
int predict_add_tiles(struct cJSON *doc, const struct gpu_profile *gpu,
                      const struct gemm_shape *shape, struct err *e);

#endif
