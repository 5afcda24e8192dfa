/* SPDX-License-Identifier: MIT */
#include "trace/product.h"

#include "base/kernel_class.h"
#include "base/order.h"
#include "trace/kineto.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DIMS_MAX 8

/* ---- operators ---- */

enum form {
    MATRICES, /* [m,k] x [k,n], with a batch in front where both have it */
    LINEAR,   /* [...,k] x [n,k] */
    GROUPED,
    CONV,
    CONV_BACKWARD,
    BSHD, /* query [batch, sequence, heads, dim] */
    BHSD, /* query [batch, heads, sequence, dim] */
    BSHD_BACKWARD,
    BHSD_BACKWARD,
};

/* The places of operands among the inputs: `a` is A, the input or the query, after which B, the
 * weight or the key stands (and then the value). Of a convolution the places of stride, padding,
 * dilation, and of `transposed` or, where there is none, -1; of one backward that of the output's
 * mask after it. Of attention where `causal` stands, and the sequences' lengths where they differ.
 * The order is that of ATen's native_functions.yaml. */
static const struct operator_row {
    const char *name;
    enum form form;
    int a;
    int stride, padding, dilation, transposed, mask;
    int causal, lengths;
} operators[] = {
#define GEMM_OP(name, form, a)                             \
    {                                                      \
        "aten::" name, form, a, -1, -1, -1, -1, -1, -1, -1 \
    }
#define CONV_OP(name, stride, padding, dilation, transposed)                      \
    {                                                                             \
        "aten::" name, CONV, 0, stride, padding, dilation, transposed, -1, -1, -1 \
    }
#define ATTENTION_OP(name, form, a, causal, lengths)                \
    {                                                               \
        "aten::" name, form, a, -1, -1, -1, -1, -1, causal, lengths \
    }
    GEMM_OP("mm", MATRICES, 0),
    GEMM_OP("addmm", MATRICES, 1),
    GEMM_OP("bmm", MATRICES, 0),
    GEMM_OP("linear", LINEAR, 0),
    GEMM_OP("baddbmm", MATRICES, 1),
    GEMM_OP("_scaled_mm", MATRICES, 0),
    GEMM_OP("_addmm_activation", MATRICES, 1),
    GEMM_OP("_grouped_mm", GROUPED, 0),
    GEMM_OP("_scaled_grouped_mm", GROUPED, 0),
    CONV_OP("convolution", 3, 4, 5, 6),
    CONV_OP("_convolution", 3, 4, 5, 6),
    CONV_OP("convolution_overrideable", 3, 4, 5, 6),
    CONV_OP("cudnn_convolution", 3, 2, 4, -1),
    CONV_OP("cudnn_convolution_relu", 3, 4, 5, -1),
    CONV_OP("miopen_convolution", 4, 3, 5, -1),
    CONV_OP("miopen_depthwise_convolution", 4, 3, 5, -1),
    CONV_OP("_conv_depthwise2d", 4, 5, 6, -1),
    {"aten::convolution_backward", CONV_BACKWARD, 1, 4, 5, 6, 7, 10, -1, -1},
    ATTENTION_OP("_flash_attention_forward", BSHD, 0, 8, 3),
    ATTENTION_OP("_efficient_attention_forward", BSHD, 0, 9, 4),
    ATTENTION_OP("_cudnn_attention_forward", BHSD, 0, 10, 4),
    ATTENTION_OP("_scaled_dot_product_flash_attention", BHSD, 0, 4, -1),
    ATTENTION_OP("_scaled_dot_product_efficient_attention", BHSD, 0, 6, -1),
    ATTENTION_OP("_scaled_dot_product_cudnn_attention", BHSD, 0, 6, -1),
    ATTENTION_OP("_flash_attention_backward", BSHD_BACKWARD, 1, 11, 6),
    ATTENTION_OP("_efficient_attention_backward", BSHD_BACKWARD, 1, 14, 6),
    ATTENTION_OP("_scaled_dot_product_flash_attention_backward", BHSD_BACKWARD, 1, 11, 6),
    ATTENTION_OP("_scaled_dot_product_efficient_attention_backward", BHSD_BACKWARD, 1, 11, -1),
    ATTENTION_OP("_scaled_dot_product_cudnn_attention_backward", BHSD_BACKWARD, 1, 14, 9),
};

static const struct operator_row *row_of(const char *op)
{
    if (strncmp(op, "aten::", 6) != 0)
        return NULL;
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
        if (strcmp(op, operators[i].name) == 0)
            return &operators[i];
    }
    return NULL;
}

static enum product_kind kind_of(enum form form)
{
    switch (form) {
    case MATRICES:
    case LINEAR:
        return PRODUCT_GEMM;
    case GROUPED:
        return PRODUCT_GROUPED;
    case CONV:
    case CONV_BACKWARD:
        return PRODUCT_CONV;
    case BSHD:
    case BHSD:
    case BSHD_BACKWARD:
    case BHSD_BACKWARD:
        break;
    }
    return PRODUCT_ATTENTION;
}

enum product_kind product_kind_of(const char *op)
{
    const struct operator_row *row = row_of(op);
    return row != NULL ? kind_of(row->form) : PRODUCT_NONE;
}

/* ---- matrices ---- */

/* Extents multiplied; 0 when one is missing, or that is more than a product can have. */
static uint32_t extent(const int64_t *list, int n)
{
    int64_t product = 1;
    for (int i = 0; i < n; i++) {
        if (list[i] < 1 || __builtin_mul_overflow(product, list[i], &product) ||
            product > UINT32_MAX)
            return 0;
    }
    return (uint32_t)product;
}

static void take_gemm(struct product *p, const struct operator_row *row, struct json_text dims)
{
    bool linear = row->form == LINEAR;
    int64_t a[DIMS_MAX], b[DIMS_MAX];
    int na = kineto_shape_at(dims, row->a, a, DIMS_MAX);
    int nb = kineto_shape_at(dims, row->a + 1, b, DIMS_MAX);
    bool batched = !linear && na == 3;
    uint32_t m, n, k, batch;
    if (na < 2 || nb < 2 || (linear ? nb != 2 : na != nb || na > 3) || (batched && a[0] != b[0]) ||
        a[na - 1] != b[linear ? 1 : nb - 2])
        return;
    m = linear ? extent(a, na - 1) : extent(&a[na - 2], 1);
    n = extent(&b[linear ? 0 : nb - 1], 1);
    k = extent(&a[na - 1], 1);
    batch = batched ? extent(a, 1) : 1;
    if (m == 0 || n == 0 || k == 0 || batch == 0)
        return;
    p->m = m;
    p->n = n;
    p->k = k;
    p->batch = batch;
}

/* ---- the others ---- */

/* Extents multiplied; 0 where one is not there. */
static double volume(const int64_t *list, int n)
{
    double product = 1;
    for (int i = 0; i < n; i++)
        product *= list[i] > 0 ? (double)list[i] : 0;
    return product;
}

/* Rows of all groups against each one's matrix: [m,k] x [g,k,n], [g,m,k] x [k,n]; sums over groups:
 * [m,k] x [k,n]; or [g,m,k] x [g,k,n]. Rows after the last group's count, too. */
static double grouped_flops(const struct operator_row *row, struct json_text dims)
{
    int64_t a[DIMS_MAX], b[DIMS_MAX];
    int na = kineto_shape_at(dims, row->a, a, DIMS_MAX);
    int nb = kineto_shape_at(dims, row->a + 1, b, DIMS_MAX);
    if (na < 2 || na > 3 || nb < 2 || nb > 3 || a[na - 1] != b[nb - 2] ||
        (na == 3 && nb == 3 && a[0] != b[0]))
        return 0;
    return 2 * volume(&a[na - 2], 2) * volume(&b[nb - 1], 1) *
           (na == 3 && nb == 3 ? volume(a, 1) : 1);
}

/* The i-th of the values: its text, which lists are written as, too; p NULL unknown. */
static struct json_text value_at(struct json_text values, int i)
{
    struct json j;
    struct json_text none = {NULL, 0, false}, text;
    if (i < 0 || !kineto_go_to_item(&j, values, i) || json_peek(&j) != '"')
        return none;
    text = json_string(&j);
    return j.error == NULL && text.len > 0 ? text : none;
}

/* 1, 0; -1 unknown. Kinds of masks are numbers, of which 0 is none. */
static int value_flag(struct json_text values, int i)
{
    struct json_text text = value_at(values, i);
    if (json_text_is(text, "True") || json_text_is(text, "1") || json_text_is(text, "2"))
        return 1;
    return json_text_is(text, "False") || json_text_is(text, "0") ? 0 : -1;
}

/* Reads a number for each of n dimensions, from a list that has so many, or one for all. */
static bool value_list(struct json_text values, int i, int64_t *out, int n)
{
    struct json_text text = value_at(values, i);
    struct json j;
    int count = 0;
    json_init(&j, text.p, text.len);
    if (text.p == NULL || json_peek(&j) != '[' || !json_enter(&j, '['))
        return false;
    while (json_next_item(&j) && count < DIMS_MAX && json_peek(&j) == '0')
        out[count++] = json_i64(&j, -1);
    for (int k = 1; count == 1 && k < n; k++)
        out[k] = out[0];
    return j.error == NULL && (count == n || count == 1);
}

/* Returns how many gradients of input and weight "[True, True, False]" asks for; 0 unknown. */
static int mask_count(struct json_text values, int i)
{
    struct json_text text = value_at(values, i);
    int count = 0;
    for (uint32_t at = 0, commas = 0; at < text.len && commas < 2; at++) {
        commas += text.p[at] == ',';
        count += text.p[at] == 'T';
    }
    return count;
}

/* Elements of the output that a convolution has along each dimension of space; 0 unknown. */
static double output_volume(const struct operator_row *row, const struct product_inputs *in,
                            const int64_t *input, const int64_t *weight, int n)
{
    int64_t stride[DIMS_MAX], padding[DIMS_MAX], dilation[DIMS_MAX];
    double product = 1;
    if (!value_list(in->values, row->stride, stride, n) ||
        !value_list(in->values, row->padding, padding, n) ||
        !value_list(in->values, row->dilation, dilation, n))
        return 0;
    for (int i = 0; i < n; i++) {
        double reach = (double)dilation[i] * ((double)weight[i] - 1) + 1;
        double room = (double)input[i] + 2 * (double)padding[i] - reach;
        if (stride[i] < 1 || room < 0)
            return 0;
        product *= floor(room / (double)stride[i]) + 1;
    }
    return product;
}

/* 2 x outputs x channels of a group x volume of the weight; a transposed one has its inputs in
 * place of the outputs. Each gradient takes as much as the forward pass. */
static double conv_flops(const struct operator_row *row, const struct product_inputs *in)
{
    bool backward = row->form == CONV_BACKWARD;
    int64_t input[DIMS_MAX], weight[DIMS_MAX], output[DIMS_MAX];
    int n = kineto_shape_at(in->dims, row->a, input, DIMS_MAX);
    int transposed = row->transposed >= 0 ? value_flag(in->values, row->transposed) : 0;
    double outputs;
    if (n < 3 || kineto_shape_at(in->dims, row->a + 1, weight, DIMS_MAX) != n || transposed < 0)
        return 0;
    if (transposed)
        outputs = volume(input, n);
    else if (backward)
        outputs = kineto_shape_at(in->dims, 0, output, DIMS_MAX) == n ? volume(output, n) : 0;
    else
        outputs = volume(input, 1) * volume(weight, 1) *
                  output_volume(row, in, &input[2], &weight[2], n - 2);
    return 2 * outputs * volume(&weight[1], n - 1) *
           (backward ? mask_count(in->values, row->mask) : 1);
}

/* Pairs of a query and a key that it sees. */
static double pairs(double queries, double keys, bool causal)
{
    if (!causal)
        return queries * keys;
    if (queries > keys)
        return 0; /* which of them see nothing depends on the library */
    return queries * (keys - queries) + queries * (queries + 1) / 2;
}

/* Forward two products over all pairs (scores, output), backward five, the scores anew among them.
 */
static double attention_flops(const struct operator_row *row, const struct product_inputs *in)
{
    bool backward = row->form == BSHD_BACKWARD || row->form == BHSD_BACKWARD;
    int seq = row->form == BSHD || row->form == BSHD_BACKWARD ? 1 : 2;
    int64_t q[DIMS_MAX], k[DIMS_MAX], v[DIMS_MAX], lengths[DIMS_MAX];
    int causal = value_flag(in->values, row->causal);
    double seen;
    if (kineto_shape_at(in->dims, row->a, q, DIMS_MAX) != 4 ||
        kineto_shape_at(in->dims, row->a + 1, k, DIMS_MAX) != 4 ||
        kineto_shape_at(in->dims, row->a + 2, v, DIMS_MAX) != 4 || causal < 0 ||
        (row->lengths >= 0 && kineto_shape_at(in->dims, row->lengths, lengths, DIMS_MAX) > 0))
        return 0;
    seen =
        pairs((double)q[seq], (double)k[seq], causal != 0) * volume(q, 1) * volume(&q[3 - seq], 1);
    return 2 * seen *
           (backward ? 3 * volume(&q[3], 1) + 2 * volume(&v[3], 1)
                     : volume(&q[3], 1) + volume(&v[3], 1));
}

struct product product_of(const char *op, const struct product_inputs *in)
{
    const struct operator_row *row = row_of(op);
    struct product p = {.dtype = SPECTER_DTYPE_UNKNOWN};
    if (row == NULL)
        return p;
    p.kind = (uint8_t)kind_of(row->form);
    p.dtype = (uint8_t)kineto_type_at(in->types, row->a);
    switch ((enum product_kind)p.kind) {
    case PRODUCT_GEMM:
        take_gemm(&p, row, in->dims);
        break;
    case PRODUCT_GROUPED:
        p.flops = grouped_flops(row, in->dims);
        break;
    case PRODUCT_CONV:
        p.flops = conv_flops(row, in);
        break;
    case PRODUCT_ATTENTION:
        p.flops = attention_flops(row, in);
        break;
    case PRODUCT_NONE:
        break;
    }
    return p;
}

/* ---- kernels ---- */

/* A pass that adds up the parts of a split product, or brings them to their type. */
static bool is_second_pass(const char *kernel)
{
    static const char *const words[] = {"splitkreduce", "splitk_reduce", "reducesplitk",
                                        "reduce_splitk", "postgsu"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (specter_kernel_holds(kernel, words[i]))
            return true;
    }
    return false;
}

/* Returns the type in which a GEMM of fp32 is computed, where the kernel's name tells it. */
static uint8_t compute_of(const struct op *op, const struct product *product)
{
    bool tf32 = product->dtype == SPECTER_FP32 &&
                (specter_kernel_holds(op->name, "tf32") || specter_kernel_holds(op->name, "s1688"));
    return tf32 ? SPECTER_TF32 : SPECTER_DTYPE_UNKNOWN;
}

bool product_set(struct rank *rank, struct op *op, const struct product *product)
{
    int64_t rest_ns = op->kernel.rest_ns;
    if (product->kind != PRODUCT_GEMM ? !(product->flops > 0) : product->m == 0)
        return false;
    op->dtype = product->dtype;
    if (product->kind != PRODUCT_GEMM) {
        op->kernel.flops = product->flops;
        op->kernel.compute = compute_of(op, product);
        return true;
    }
    op->class = OP_GEMM;
    op->gemm.m = product->m;
    op->gemm.n = product->n;
    op->gemm.k = product->k;
    op->gemm.batch = product->batch;
    op->gemm.dtype_b = op->gemm.dtype_c = op->dtype;
    op->gemm.compute = compute_of(op, product);
    memset(op->gemm.trans, 0, sizeof op->gemm.trans);
    op->gemm.rest_ns = rest_ns;
    rank->coverage |= COVER_GEMM;
    return true;
}

static int compare_kernels(const void *pa, const void *pb, void *ops)
{
    const struct product_kernel *a = pa, *b = pb;
    const struct op *list = ops;
    if (a->call != b->call)
        return ORDER(a->call, b->call);
    if (list[a->op].start_ns != list[b->op].start_ns)
        return ORDER(list[a->op].start_ns, list[b->op].start_ns);
    return ORDER(a->op, b->op);
}

/* Gives the arithmetic of a call to its kernels, which come in order of time. */
static void assign(struct rank *rank, const struct product_kernel *list, size_t n,
                   product_chosen *chosen, void *ctx)
{
    size_t main = 0;
    struct op *op;
    bool other_way = false;
    while (main < n && is_second_pass(rank->ops[list[main].op].name))
        main++;
    if (main == n)
        return; /* what it adds up was launched before the recording */
    op = &rank->ops[list[main].op];
    op->kernel.rest_ns = 0;
    for (size_t i = 0; i < n; i++) {
        const struct op *part = &rank->ops[list[i].op];
        /* Winograd's and Fourier's ways take other operations than those that the shapes tell. */
        other_way = other_way || (specter_kernel_holds(part->name, "winograd") ||
                                  specter_kernel_holds(part->name, "fft"));
        if (i != main && part->dur_ns != UNKNOWN_NS)
            op->kernel.rest_ns += part->dur_ns;
    }
    if (!other_way)
        product_set(rank, op, list[main].product);
    if (chosen != NULL)
        chosen(ctx, list[main].call, list[main].op);
}

void products_assign(struct rank *rank, struct product_kernel *list, size_t n,
                     product_chosen *chosen, void *ctx)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        /* By its class, the kernel does arithmetic of its operator. */
        const struct op *op = &rank->ops[list[i].op];
        bool attention = list[i].product->kind == PRODUCT_ATTENTION;
        if (op->class == OP_KERNEL &&
            kernel_class(op->name) == (attention ? SPECTER_KERNEL_ATTENTION : SPECTER_KERNEL_GEMM))
            list[kept++] = list[i];
    }
    if (kept > 0)
        qsort_r(list, kept, sizeof *list, compare_kernels, rank->ops);
    for (size_t i = 0, end; i < kept; i = end) {
        for (end = i + 1; end < kept && list[end].call == list[i].call;)
            end++;
        assign(rank, &list[i], end - i, chosen, ctx);
    }
}
