/* SPDX-License-Identifier: MIT
 *
 * GEMMs as work of a stream, for the cuBLAS stand-ins: how long the imitated GPU takes,
 * and the arithmetic itself where it is small (gemm_products of the fabric).
 */
#ifndef EMU_GEMM_H
#define EMU_GEMM_H

#include <cublasLt.h>

#include "core.h"

struct gemm_matrix {
    void *data;         /* read only, except D */
    void *const *array; /* instead: where each matrix of the batch is, read when the work is done */
    cudaDataType type;
    int64_t row_step, col_step, batch_step; /* in elements */
    bool conjugate;
};

/* D = epilogue(alpha * A * B + beta * C), A m*k, B k*n as the steps walk them. */
struct gemm {
    uint64_t m, n, k, batch;
    struct gemm_matrix a, b, c, d;
    cublasComputeType_t compute;
    cudaDataType scale_type;
    bool device_scalars;
    uint64_t alpha_bits[2], beta_bits[2]; /* host scalars as they were at the call */
    const void *alpha, *beta;             /* device scalars, read when the work is done */
    unsigned epilogue;                    /* bits of cublasLtEpilogue_t */
    const void *bias;                     /* m elements of D's type, or NULL */
};

/* Takes the scalars over from where the caller's pointers are. */
EMU_API void emu_gemm_scalars(struct gemm *g, const void *alpha, const void *beta,
                              cudaDataType scale_type, bool on_device);

/* The type of alpha and beta that a compute type implies for elements of this type. */
EMU_API cudaDataType emu_gemm_scale_type(cublasComputeType_t compute, cudaDataType type);

EMU_API size_t emu_gemm_type_size(cudaDataType type); /* bytes; 0: not imitated */

/* CUBLAS_STATUS_NOT_SUPPORTED for element types that are not imitated. */
EMU_API cublasStatus_t emu_gemm_submit(struct emu_thread *self, CUstream handle,
                                       const struct gemm *g);

#endif
