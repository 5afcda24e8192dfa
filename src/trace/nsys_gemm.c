/* SPDX-License-Identifier: MIT
 *
 * Operators whose arithmetic is known (product.h), where PyTorch's ranges carry the sizes of their
 * inputs: emit_nvtx(record_shapes=True), nsys --pytorch=autograd-shapes-nvtx. Types and values are
 * not recorded.
 */
#include "trace/nsys.h"

#ifdef SPECTER_HAVE_SQLITE

#include <stdlib.h>
#include <string.h>

int32_t nsys_product(struct nsys_process *p, const char *name, struct json_text text)
{
    static const char key[] = "sizes = ";
    const char *at = memmem(text.p, text.len, key, sizeof key - 1);
    struct product_inputs in = {{NULL, 0, false}, {NULL, 0, false}, {NULL, 0, false}};
    if (at == NULL || product_kind_of(name) == PRODUCT_NONE)
        return -1;
    at += sizeof key - 1;
    in.dims = (struct json_text){at, text.len - (uint32_t)(at - text.p), false};
    ARRAY_GROW(p->products.list, p->products.cap, p->products.count + 1);
    p->products.list[p->products.count] = product_of(name, &in);
    return (int32_t)p->products.count++;
}

static int32_t product_around(const struct nsys_process *p, const struct op *op)
{
    uint32_t at = op->class == OP_KERNEL && (int64_t)op->id >= 0
                      ? idmap_find(&p->launch_ids, (int64_t)op->id)
                      : IDMAP_NONE;
    return at != IDMAP_NONE ? p->launches.list[at].product : -1;
}

void nsys_products(struct nsys *n)
{
    struct product_kernel *list = NULL;
    size_t cap = 0;
    for (size_t m = 0; m < n->members.count; m++) {
        const struct nsys_process *p = &n->processes.list[n->members.list[m].process];
        struct rank *rank = &n->run->ranks[n->members.list[m].rank];
        size_t count = 0;
        for (size_t i = 0; i < rank->nops; i++) {
            int32_t at = product_around(p, &rank->ops[i]);
            if (at < 0)
                continue;
            ARRAY_GROW(list, cap, count + 1);
            list[count++] = (struct product_kernel){(size_t)at, i, &p->products.list[at]};
        }
        products_assign(rank, list, count, NULL, NULL);
    }
    free(list);
}

#endif
