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
const struct param_class gemm_classes[] = {
#include "fitted.def"
};
#undef GEMM
#undef NODE

#define GEMM SKIP
#define NODE(_key, _range, ...) {_key, _range, &(const struct node_params){__VA_ARGS__}},
const struct param_class node_classes[] = {
#include "fitted.def"
};
#undef NODE
#undef NET

#define NODE SKIP
#define NET(_key, _range, ...) {_key, _range, &(const struct net_params){__VA_ARGS__}},
const struct param_class net_classes[] = {
#include "fitted.def"
};

const size_t gemm_class_count = sizeof gemm_classes / sizeof *gemm_classes;
const size_t node_class_count = sizeof node_classes / sizeof *node_classes;
const size_t net_class_count = sizeof net_classes / sizeof *net_classes;
