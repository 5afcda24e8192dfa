/* SPDX-License-Identifier: MIT
 *
 * Matrix products with their shapes: where PyTorch's ranges carry the sizes of their inputs
 * (emit_nvtx(record_shapes=True), nsys --pytorch=autograd-shapes-nvtx), the kernel that such an
 * operator launched and that is named as products are is that product. Types are not recorded.
 */
#include "trace/kernel_names.h"
#include "trace/nsys.h"

#ifdef SPECTER_HAVE_SQLITE

#include <string.h>

/* Operators that are one matrix product; A and B stand at a and a + 1 of the inputs. */
static const struct {
    const char *name;
    int a;
} products[] = {
    {"aten::mm", 0},     {"aten::addmm", 1},   {"aten::bmm", 0},
    {"aten::linear", 0}, {"aten::baddbmm", 1}, {"aten::_addmm_activation", 1},
};

/* The i-th of a list of shapes: up to `max` extents; how many, -1 when it is no plain shape. */
static int shape_at(struct json_text sizes, int i, int64_t *out, int max)
{
    struct json j;
    int n = 0;
    json_init(&j, sizes.p, sizes.len);
    if (json_peek(&j) != '[' || !json_enter(&j, '['))
        return -1;
    while (json_next_item(&j) && i-- > 0)
        json_skip(&j);
    if (i >= 0 || json_peek(&j) != '[' || !json_enter(&j, '['))
        return -1;
    while (json_next_item(&j)) {
        if (json_peek(&j) != '0' || n == max)
            return -1;
        out[n] = json_i64(&j, -1);
        if (out[n] < 1 || out[n] > UINT32_MAX)
            return -1;
        n++;
    }
    return j.error == NULL ? n : -1;
}

/* Row-major [m,k] x [k,n], or for linear [...,k] x [n,k]; with a batch in front where both have it.
 */
static bool take_shape(struct nsys_shape *s, struct json_text sizes, int at, bool linear)
{
    int64_t a[8], b[8], m = 1;
    int na = shape_at(sizes, at, a, 8), nb = shape_at(sizes, at + 1, b, 8);
    bool batched = !linear && na == 3;
    if (na < 2 || nb < 2 || (linear ? nb != 2 : na != nb || na > 3) || (batched && a[0] != b[0]) ||
        a[na - 1] != b[linear ? 1 : nb - 2])
        return false;
    for (int i = batched ? 1 : 0; i < na - 1; i++) {
        if (__builtin_mul_overflow(m, a[i], &m) || m > UINT32_MAX)
            return false;
    }
    *s = (struct nsys_shape){(uint32_t)m, (uint32_t)b[linear ? 0 : nb - 1], (uint32_t)a[na - 1],
                             batched ? (uint32_t)a[0] : 1, false};
    return true;
}

int32_t nsys_shape(struct nsys_process *p, const char *name, struct json_text text)
{
    static const char key[] = "sizes = ";
    const char *at = memmem(text.p, text.len, key, sizeof key - 1);
    struct nsys_shape shape;
    if (at == NULL)
        return -1;
    at += sizeof key - 1;
    for (size_t i = 0; i < sizeof products / sizeof *products; i++) {
        struct json_text sizes = {at, text.len - (uint32_t)(at - text.p), false};
        if (strcmp(name, products[i].name) != 0 ||
            !take_shape(&shape, sizes, products[i].a, strcmp(name, "aten::linear") == 0))
            continue;
        ARRAY_GROW(p->shapes.list, p->shapes.cap, p->shapes.count + 1);
        p->shapes.list[p->shapes.count] = shape;
        return (int32_t)p->shapes.count++;
    }
    return -1;
}

static struct nsys_shape *shape_of(struct nsys_process *p, const struct op *op)
{
    uint32_t at = op->class == OP_KERNEL && (int64_t)op->id >= 0
                      ? idmap_find(&p->launch_ids, (int64_t)op->id)
                      : IDMAP_NONE;
    int32_t shape = at != IDMAP_NONE ? p->launches.list[at].shape : -1;
    return shape >= 0 && kernel_is_gemm(op->name) ? &p->shapes.list[shape] : NULL;
}

/* Of several kernels of one operator the first that is no second pass is the product. */
void nsys_products(struct nsys *n)
{
    for (size_t m = 0; m < n->members.count; m++) {
        struct nsys_process *p = &n->processes.list[n->members.list[m].process];
        struct rank *rank = &n->run->ranks[n->members.list[m].rank];
        for (size_t i = 0; i < rank->nops; i++) {
            struct op *op = &rank->ops[i];
            struct nsys_shape *s = shape_of(p, op);
            if (s == NULL || s->taken || !kernel_is_first_pass(op->name))
                continue;
            s->taken = true;
            op->class = OP_GEMM;
            op->gemm.m = s->m;
            op->gemm.n = s->n;
            op->gemm.k = s->k;
            op->gemm.batch = s->batch;
            op->gemm.dtype_b = op->gemm.dtype_c = op->dtype;
            op->gemm.compute = SPECTER_DTYPE_UNKNOWN;
            rank->coverage |= COVER_GEMM;
        }
    }
}

#endif
