/* SPDX-License-Identifier: MIT
 *
 * Operators of PyTorch whose arithmetic follows from what they were called with: GEMMs,
 * grouped ones, convolutions, attention. Which operators these are, what their inputs tell, and
 * which of an operator's kernels carry it out. One for all readers: Kineto's "Input Dims", the
 * "sizes" of NVTX ranges and execution traces write shapes alike.
 *
 * Deciding values that are not recorded are not guessed: the stride of a convolution and whether
 * attention is causal stand in the values of the inputs ("Concrete Inputs") alone. Then the FLOPs
 * stay unknown, as they do for sequences of unequal length, and for Winograd and FFT kernels.
 */
#ifndef SPECTER_TRACE_PRODUCT_H
#define SPECTER_TRACE_PRODUCT_H

#include "base/json.h"
#include "trace/run.h"

enum product_kind {
    PRODUCT_NONE,
    PRODUCT_GEMM,      /* also a batch of equal ones */
    PRODUCT_GROUPED,   /* several of different sizes in one call */
    PRODUCT_CONV,      /* forward or backward */
    PRODUCT_ATTENTION, /* likewise, fused */
};

/* One call of such an operator. */
struct product {
    double flops;            /* of all kinds but PRODUCT_GEMM; 0 unknown */
    uint32_t m, n, k, batch; /* PRODUCT_GEMM: C[m,n] = A[m,k] B[k,n], row-major; m 0 unknown */
    uint8_t kind;            /* enum product_kind */
    uint8_t dtype;           /* of A, the input, the query; SPECTER_DTYPE_UNKNOWN */
};

/* The recorded inputs of a call: lists in JSON, of shapes, of types, of values as text; p NULL
 * where the trace has none. */
struct product_inputs {
    struct json_text dims, types, values;
};

/* Returns the kind of an operator; PRODUCT_NONE of one that is not among these. */
enum product_kind product_kind_of(const char *op);

/* The call of an operator, as far as its inputs tell. */
struct product product_of(const char *op, const struct product_inputs *in);

/* One kernel that a call launched. */
struct product_kernel {
    size_t call, op; /* index of the call, by the caller's own count; into the rank's ops */
    const struct product *product;
};

/* Tells each call's kernels what they are. Of those that do the call's arithmetic by their class
 * (others are passed over) the first in time that is no second pass (a split product's sum) stands
 * for the call: it is given the product, and the time of all others (op_rest_ns()). `chosen` hears
 * of it, also where nothing of the product is known. Orders the list. */
typedef void product_chosen(void *ctx, size_t call, size_t op);
void products_assign(struct rank *rank, struct product_kernel *list, size_t n,
                     product_chosen *chosen, void *ctx);

/* Gives an operation (OP_KERNEL) what is known of its product. Returns whether that is anything. */
bool product_set(struct rank *rank, struct op *op, const struct product *product);

#endif
