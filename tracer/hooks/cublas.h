/* SPDX-License-Identifier: MIT
 *
 * What cublas.def may say of a call: how its arguments become a struct call.
 */
#ifndef SPECTER_TRACER_HOOKS_CUBLAS_H
#define SPECTER_TRACER_HOOKS_CUBLAS_H

/* clang-format off */

/* One shape, however the matrices are given. _complex: operations of a complex product for one
 * m, n, k. */
#define CALL_GEMM(_int, _handle, _transa, _transb, _m, _n, _k, _batch, _a, _b, _c, _compute,       \
                  _complex, _lda, _ldb, _ldc, _beta)                                               \
    describe_gemm(&call,                                                                           \
                  &(struct gemm_args){_handle, {_a, _b, _c, (int)(_compute)}, _transa, _transb,    \
                                      _m, _n, _k, _batch, _lda, _ldb, _ldc, _complex, _beta})
#define CALL_GEMM_BATCHED CALL_GEMM
#define CALL_GEMM_STRIDED CALL_GEMM

/* Arrays of _int in host memory, an entry a group. */
#define CALL_GEMM_GROUPED(_int, _handle, _transa, _transb, _m, _n, _k, _count, _size, _a, _b, _c,  \
                          _compute, _lda, _ldb, _ldc, _beta)                                       \
    describe_gemm_grouped(&call,                                                                   \
                          &(struct grouped_args){_handle, {_a, _b, _c, (int)(_compute)},           \
                                                 sizeof(_int) == sizeof(int64_t), _count, _transa, \
                                                 _transb, _m, _n, _k, _size, _lda, _ldb, _ldc,     \
                                                 _beta})

/* clang-format on */

#define CALL_LT_MATMUL(_desc, _a, _b, _d, _beta, _stream) \
    describe_lt_matmul(&call, &(struct lt_args){_desc, _a, _b, _d, _beta, _stream})

/* The kind of record that each leaves. */
#define RECORD_OF_CALL_GEMM(...) RECORD_GEMM
#define RECORD_OF_CALL_GEMM_BATCHED(...) RECORD_GEMM
#define RECORD_OF_CALL_GEMM_STRIDED(...) RECORD_GEMM
#define RECORD_OF_CALL_GEMM_GROUPED(...) RECORD_GEMM
#define RECORD_OF_CALL_LT_MATMUL(...) RECORD_GEMM

#endif
