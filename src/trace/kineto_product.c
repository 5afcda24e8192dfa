/* SPDX-License-Identifier: MIT
 *
 * Matrix products: which operators are one, their shapes, and which kernel of theirs it is.
 */
#include "trace/kernel_names.h"
#include "trace/kineto.h"
#include "trace/kineto_name.h"

#include <stdlib.h>
#include <string.h>

/* Operators that are one matrix product; A and B stand at a and a + 1 of the inputs. */
static const struct {
    const char *name;
    int a;
} products[] = {
    {"aten::mm", 0},
    {"aten::addmm", 1},
    {"aten::bmm", 0},
    {"aten::linear", 0},
    {"aten::baddbmm", 1},
    {"aten::_scaled_mm", 0},
    {"aten::_addmm_activation", 1},
};

int kineto_product_operand(const char *name)
{
    for (size_t i = 0; i < sizeof products / sizeof *products; i++) {
        if (strcmp(name, products[i].name) == 0)
            return products[i].a;
    }
    return -1;
}

/* Extents multiplied; -1 when that is more than a product can have. */
static int64_t extent(const int64_t *list, int n)
{
    int64_t product = 1;
    for (int i = 0; i < n; i++) {
        if (list[i] < 0 || __builtin_mul_overflow(product, list[i], &product) ||
            product > UINT32_MAX)
            return -1;
    }
    return product;
}

struct kineto_product kineto_product_shape(const char *name, struct json_text dims,
                                           struct json_text types)
{
    struct kineto_product none = {0}, p = {0};
    bool linear = strcmp(name, "aten::linear") == 0;
    int operand = kineto_product_operand(name);
    int64_t a[8], b[8], m, n, k, batch;
    int na = kineto_shape_at(dims, operand, a, 8), nb = kineto_shape_at(dims, operand + 1, b, 8);
    if (na < 2 || nb < 2 || (linear ? nb != 2 : na != nb || na > 3))
        return none;
    batch = !linear && na == 3 ? extent(a, 1) : 1;
    m = linear ? extent(a, na - 1) : extent(&a[na - 2], 1);
    k = extent(&a[na - 1], 1);
    n = linear ? extent(b, 1) : extent(&b[nb - 1], 1);
    if (batch < 0 || m < 0 || n < 0 || k < 0 || k != b[linear ? 1 : nb - 2] ||
        (!linear && na == 3 && a[0] != b[0]))
        return none;
    p.m = (uint32_t)m;
    p.n = (uint32_t)n;
    p.k = (uint32_t)k;
    p.batch = (uint32_t)batch;
    p.dtype = kineto_type_at(types, operand);
    return p;
}

/* ---- kernels ---- */

/* Chooses for each operator the one kernel that is its product. */
static void choose_products(struct kineto *k)
{
    for (size_t i = 0; i < k->gemms.count; i++) {
        size_t at = k->gemms.list[i];
        struct kineto_host_op *host = kineto_around(k, &k->rank->ops[at]);
        while (host != NULL && host->kind != HOST_GEMM)
            host = kineto_outer(k, host);
        if (host == NULL)
            continue;
        if (host->work < 0 || (!kernel_is_first_pass(k->rank->ops[host->work].name) &&
                               kernel_is_first_pass(k->rank->ops[at].name)))
            host->work = (int64_t)at;
    }
}

void kineto_set_product(struct rank *rank, struct op *op, const struct kineto_product *product)
{
    op->class = OP_GEMM;
    op->dtype = (uint8_t)product->dtype;
    op->gemm.m = product->m;
    op->gemm.n = product->n;
    op->gemm.k = product->k;
    op->gemm.batch = product->batch;
    op->gemm.dtype_b = op->gemm.dtype_c = op->dtype;
    op->gemm.compute = SPECTER_DTYPE_UNKNOWN;
    rank->coverage |= COVER_GEMM;
}

void kineto_link_products(struct kineto *k)
{
    choose_products(k);
    for (size_t i = 0; i < k->host.count; i++) {
        const struct kineto_host_op *host = &k->host.list[i];
        if (host->kind == HOST_GEMM && host->work >= 0 && host->product.m > 0)
            kineto_set_product(k->rank, &k->rank->ops[host->work], &host->product);
    }
}
