/* SPDX-License-Identifier: MIT
 *
 * What the kinds and categories of a critical path are called, and their sums.
 */
#include "analysis/critical.h"

static const char *const kind_names[] = {
#define X(id, name, what) name,
    PATH_KINDS(X)
#undef X
};

enum path_kind path_category_kind(size_t category)
{
    if (category < SPECTER_KERNEL_CLASS_COUNT)
        return PATH_COMPUTE;
    category -= SPECTER_KERNEL_CLASS_COUNT;
    return category < PATH_COMM_OPS ? PATH_COMM : (enum path_kind)(category - PATH_COMM_OPS);
}

const char *path_kind_name(enum path_kind kind)
{
    return kind_names[kind];
}

const char *path_category_name(size_t category)
{
    size_t op = category - SPECTER_KERNEL_CLASS_COUNT;
    switch (path_category_kind(category)) {
    case PATH_COMPUTE:
        return specter_kernel_class_name((enum specter_kernel_class)category);
    case PATH_COMM:
        return op < SPECTER_COMM_OP_COUNT ? specter_comm_op_name((enum specter_comm_op)op)
                                          : "not told";
    default:
        return kind_names[path_category_kind(category)];
    }
}

struct path_sum path_kind_sum(const struct critical *c, enum path_kind kind)
{
    struct path_sum sum = {0, 0};
    for (size_t k = 0; k < PATH_CATEGORIES; k++) {
        if (path_category_kind(k) != kind)
            continue;
        sum.step_ns += c->categories[k].step_ns;
        sum.all_ns += c->categories[k].all_ns;
    }
    return sum;
}
