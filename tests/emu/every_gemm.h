/* SPDX-License-Identifier: MIT
 *
 * Every function that the hook table gives to cuBLAS, to be called alike: each takes from one
 * struct what it has parameters for, by the names that the table's prototypes give them.
 *
 *     for (size_t i = 0; i < EVERY_GEMM_COUNT; i++)
 *         every_gemm[i].call(&arguments);
 */
#ifndef SPECTER_TESTS_EVERY_GEMM_H
#define SPECTER_TESTS_EVERY_GEMM_H

#include <cublasLt.h>
#include <cublas_v2.h>
#include <stdbool.h>

#include "../../tracer/abi/half.h"

/* X(type, parameter). Integers are int64_t here, arrays of them are as the function wants them. */
#define GEMM_PARAMETERS(X)                     \
    X(cublasHandle_t, handle)                  \
    X(cublasOperation_t, transa)               \
    X(cublasOperation_t, transb)               \
    X(int64_t, m)                              \
    X(int64_t, n)                              \
    X(int64_t, k)                              \
    X(const void *, alpha)                     \
    X(const void *, beta)                      \
    X(void *, A)                               \
    X(void *, B)                               \
    X(void *, C)                               \
    X(void *, Aarray)                          \
    X(void *, Barray)                          \
    X(void *, Carray)                          \
    X(cudaDataType, Atype)                     \
    X(cudaDataType, Btype)                     \
    X(cudaDataType, Ctype)                     \
    X(int64_t, lda)                            \
    X(int64_t, ldb)                            \
    X(int64_t, ldc)                            \
    X(long long, strideA)                      \
    X(long long, strideB)                      \
    X(long long, strideC)                      \
    X(int64_t, batchCount)                     \
    X(cublasComputeType_t, computeType)        \
    X(cublasGemmAlgo_t, algo)                  \
    X(const cublasOperation_t *, transa_array) \
    X(const cublasOperation_t *, transb_array) \
    X(const void *, m_array)                   \
    X(const void *, n_array)                   \
    X(const void *, k_array)                   \
    X(const void *, lda_array)                 \
    X(const void *, ldb_array)                 \
    X(const void *, ldc_array)                 \
    X(const void *, alpha_array)               \
    X(const void *, beta_array)                \
    X(int64_t, group_count)                    \
    X(const void *, group_size)

struct gemm_call {
#define X(_type, _name) _type _name;
    GEMM_PARAMETERS(X)
#undef X
};

enum gemm_kind { ONE_GEMM, BATCHED_GEMM, STRIDED_GEMM, GROUPED_GEMM };

struct gemm_function {
    const char *name;
    enum gemm_kind kind;
    bool wide; /* its integers are int64_t, else int */
    cublasStatus_t (*call)(const struct gemm_call *);
};

/* The real header declares those of __half for C++ only. */
#define HOOK(_lib, _ret, _fn, _params, _args, _record) _ret _fn _params;
#include "../../tracer/hooks/cublas.def"
#undef HOOK

#define X(_type, _name) __attribute__((unused)) _type const _name = x->_name;
#define CALLER_CUBLASLT(_fn, _args)
#define CALLER_CUBLAS(_fn, _args)                               \
    static cublasStatus_t call_##_fn(const struct gemm_call *x) \
    {                                                           \
        GEMM_PARAMETERS(X)                                      \
        return _fn _args;                                       \
    }
#define HOOK(_lib, _ret, _fn, _params, _args, _record) CALLER_##_lib(_fn, _args)
#include "../../tracer/hooks/cublas.def"
#undef HOOK
#undef X

#define KIND_OF_CALL_GEMM(_int, ...) ONE_GEMM, sizeof(_int) == 8
#define KIND_OF_CALL_GEMM_BATCHED(_int, ...) BATCHED_GEMM, sizeof(_int) == 8
#define KIND_OF_CALL_GEMM_STRIDED(_int, ...) STRIDED_GEMM, sizeof(_int) == 8
#define KIND_OF_CALL_GEMM_GROUPED(_int, ...) GROUPED_GEMM, sizeof(_int) == 8
#define ROW_CUBLASLT(_fn, _record)
#define ROW_CUBLAS(_fn, _record) {#_fn, KIND_OF_##_record, call_##_fn},
#define HOOK(_lib, _ret, _fn, _params, _args, _record) ROW_##_lib(_fn, _record)
static const struct gemm_function every_gemm[] = {
#include "../../tracer/hooks/cublas.def"
};
#undef HOOK

#define EVERY_GEMM_COUNT (sizeof every_gemm / sizeof *every_gemm)

#endif
