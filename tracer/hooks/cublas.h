/* SPDX-License-Identifier: MIT
 *
 * What cublas.def may say of a call: how its arguments become a struct call.
 */
#ifndef SPECTER_TRACER_HOOKS_CUBLAS_H
#define SPECTER_TRACER_HOOKS_CUBLAS_H

#define CALL_GEMM(_handle, _transa, _transb, _m, _n, _k, _batch, _a, _b, _c, _compute, _lda, _ldb, \
                  _ldc, _beta)                                                                     \
    describe_gemm(&call, &(struct gemm_args){_handle, _transa, _transb, _m, _n, _k, _batch, _a,    \
                                             _b, _c, _compute, _lda, _ldb, _ldc, _beta})
#define CALL_LT_MATMUL(_desc, _a, _b, _c, _d, _beta, _stream) \
    describe_lt_matmul(&call, &(struct lt_args){_desc, _a, _b, _c, _d, _beta, _stream})

/* The kind of record that each leaves. */
#define RECORD_OF_CALL_GEMM(...) RECORD_GEMM
#define RECORD_OF_CALL_LT_MATMUL(...) RECORD_GEMM

#endif
