/* SPDX-License-Identifier: MIT
 *
 * The kernels of operators whose arithmetic is known (product.h).
 */
#include "trace/kineto.h"

#include <stdlib.h>

/* The innermost such operator around the launch; NULL. */
static struct kineto_host_op *operator_of(struct kineto *k, const struct op *op)
{
    struct kineto_host_op *host = kineto_around(k, op);
    while (host != NULL && host->kind != HOST_PRODUCT)
        host = kineto_outer(k, host);
    return host;
}

static void note_work(void *ctx, size_t call, size_t op)
{
    struct kineto *k = ctx;
    k->host.list[call].work = (int64_t)op;
}

void kineto_link_products(struct kineto *k)
{
    struct product_kernel *list = array_new(k->computing.count + 1, sizeof *list);
    size_t n = 0;
    for (size_t i = 0; i < k->computing.count; i++) {
        size_t op = k->computing.list[i];
        const struct kineto_host_op *host = operator_of(k, &k->rank->ops[op]);
        if (host != NULL)
            list[n++] = (struct product_kernel){(size_t)(host - k->host.list), op, &host->product};
    }
    products_assign(k->rank, list, n, note_work, k);
    free(list);
}
