/* SPDX-License-Identifier: MIT
 *
 * The compiled-in fitted parameters: fitted.def as one array a group.
 */
#include "model/params.h"

#define SKIP(...)
#define RANGE(...)  \
    {               \
        __VA_ARGS__ \
    }

#define GEMM(_key, _range, ...) {_key, _range, &(const struct gemm_params){__VA_ARGS__}},
#define NODE SKIP
#define NET SKIP
const struct param_row gemm_param_rows[] = {
#include "fitted.def"
};
#undef GEMM
#undef NODE

#define GEMM SKIP
#define NODE(_key, _range, ...) {_key, _range, &(const struct node_params){__VA_ARGS__}},
const struct param_row node_param_rows[] = {
#include "fitted.def"
};
#undef NODE
#undef NET

#define NODE SKIP
#define NET(_key, _range, ...) {_key, _range, &(const struct net_params){__VA_ARGS__}},
const struct param_row net_param_rows[] = {
#include "fitted.def"
};

const size_t gemm_param_row_count = sizeof gemm_param_rows / sizeof *gemm_param_rows;
const size_t node_param_row_count = sizeof node_param_rows / sizeof *node_param_rows;
const size_t net_param_row_count = sizeof net_param_rows / sizeof *net_param_rows;
