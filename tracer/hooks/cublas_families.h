/* SPDX-License-Identifier: MIT
 *
 * The families of cuBLAS's products, so that cublas.def needs one line a function. Each expands to
 * HOOK(), whatever that means where it is expanded. In all of them
 *   _int  int, or int64_t for a function whose name ends in _64
 *   _t    the elements, one of the letters below: what cuBLAS has in the function's name
 *
 * The prototypes are those of cublas_api.h, CUDA 13.0 (tests/cli/emu/abi.sh compares them). What
 * older toolkits lack is never called there: _64 came with CUDA 12.0, the grouped products with
 * 12.4 and, as Ex, 12.5.
 */
#ifndef SPECTER_TRACER_HOOKS_CUBLAS_FAMILIES_H
#define SPECTER_TRACER_HOOKS_CUBLAS_FAMILIES_H

/* clang-format off */

/* Of each letter: the C type, the cudaDataType, the type it is computed in, and how many operations
 * a complex product takes for one m, n, k: 8, or 6 with three real products instead of four. */
#define GEMM_TYPE_S float
#define GEMM_TYPE_D double
#define GEMM_TYPE_H __half
#define GEMM_TYPE_C cuComplex
#define GEMM_TYPE_Z cuDoubleComplex
#define GEMM_TYPE_C3M cuComplex
#define GEMM_TYPE_Z3M cuDoubleComplex

#define GEMM_CUDA_S CUDA_R_32F
#define GEMM_CUDA_D CUDA_R_64F
#define GEMM_CUDA_H CUDA_R_16F
#define GEMM_CUDA_C CUDA_C_32F
#define GEMM_CUDA_Z CUDA_C_64F
#define GEMM_CUDA_C3M CUDA_C_32F
#define GEMM_CUDA_Z3M CUDA_C_64F

#define GEMM_COMPUTE_S CUBLAS_COMPUTE_32F
#define GEMM_COMPUTE_D CUBLAS_COMPUTE_64F
#define GEMM_COMPUTE_H CUBLAS_COMPUTE_16F
#define GEMM_COMPUTE_C CUBLAS_COMPUTE_32F
#define GEMM_COMPUTE_Z CUBLAS_COMPUTE_64F
#define GEMM_COMPUTE_C3M CUBLAS_COMPUTE_32F
#define GEMM_COMPUTE_Z3M CUBLAS_COMPUTE_64F

#define GEMM_COMPLEX_S 8
#define GEMM_COMPLEX_D 8
#define GEMM_COMPLEX_H 8
#define GEMM_COMPLEX_C 8
#define GEMM_COMPLEX_Z 8
#define GEMM_COMPLEX_C3M 6
#define GEMM_COMPLEX_Z3M 6

/* One product. */
#define GEMM(_fn, _t, _int)                                                                        \
    HOOK(CUBLAS, cublasStatus_t, _fn,                                                              \
         (cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, _int m,       \
          _int n, _int k, const GEMM_TYPE_##_t *alpha, const GEMM_TYPE_##_t *A, _int lda,          \
          const GEMM_TYPE_##_t *B, _int ldb, const GEMM_TYPE_##_t *beta, GEMM_TYPE_##_t *C,        \
          _int ldc),                                                                               \
         (handle, transa, transb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc),                   \
         CALL_GEMM(_int, handle, transa, transb, m, n, k, 1, GEMM_CUDA_##_t, GEMM_CUDA_##_t,       \
                   GEMM_CUDA_##_t, GEMM_COMPUTE_##_t, GEMM_COMPLEX_##_t, lda, ldb, ldc, beta))

/* One product of matrices whose elements the call names; _t is that of the scalars. */
#define GEMM_OF(_fn, _t, _int)                                                                     \
    HOOK(CUBLAS, cublasStatus_t, _fn,                                                              \
         (cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, _int m,       \
          _int n, _int k, const GEMM_TYPE_##_t *alpha, const void *A, cudaDataType Atype,          \
          _int lda, const void *B, cudaDataType Btype, _int ldb, const GEMM_TYPE_##_t *beta,       \
          void *C, cudaDataType Ctype, _int ldc),                                                  \
         (handle, transa, transb, m, n, k, alpha, A, Atype, lda, B, Btype, ldb, beta, C, Ctype,    \
          ldc),                                                                                    \
         CALL_GEMM(_int, handle, transa, transb, m, n, k, 1, Atype, Btype, Ctype,                  \
                   GEMM_COMPUTE_##_t, GEMM_COMPLEX_##_t, lda, ldb, ldc, beta))

/* One product of which the call names everything. */
#define GEMM_EX(_fn, _int)                                                                         \
    HOOK(CUBLAS, cublasStatus_t, _fn,                                                              \
         (cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, _int m,       \
          _int n, _int k, const void *alpha, const void *A, cudaDataType Atype, _int lda,          \
          const void *B, cudaDataType Btype, _int ldb, const void *beta, void *C,                  \
          cudaDataType Ctype, _int ldc, cublasComputeType_t computeType, cublasGemmAlgo_t algo),   \
         (handle, transa, transb, m, n, k, alpha, A, Atype, lda, B, Btype, ldb, beta, C, Ctype,    \
          ldc, computeType, algo),                                                                 \
         CALL_GEMM(_int, handle, transa, transb, m, n, k, 1, Atype, Btype, Ctype, computeType, 8,  \
                   lda, ldb, ldc, beta))

/* batchCount products of one shape, whose matrices arrays in device memory point to. */
#define GEMM_BATCHED(_fn, _t, _int)                                                                \
    HOOK(CUBLAS, cublasStatus_t, _fn,                                                              \
         (cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, _int m,       \
          _int n, _int k, const GEMM_TYPE_##_t *alpha, const GEMM_TYPE_##_t *const Aarray[],       \
          _int lda, const GEMM_TYPE_##_t *const Barray[], _int ldb, const GEMM_TYPE_##_t *beta,    \
          GEMM_TYPE_##_t *const Carray[], _int ldc, _int batchCount),                              \
         (handle, transa, transb, m, n, k, alpha, Aarray, lda, Barray, ldb, beta, Carray, ldc,     \
          batchCount),                                                                             \
         CALL_GEMM_BATCHED(_int, handle, transa, transb, m, n, k, batchCount, GEMM_CUDA_##_t,      \
                           GEMM_CUDA_##_t, GEMM_CUDA_##_t, GEMM_COMPUTE_##_t, GEMM_COMPLEX_##_t,   \
                           lda, ldb, ldc, beta))

#define GEMM_BATCHED_EX(_fn, _int)                                                                 \
    HOOK(CUBLAS, cublasStatus_t, _fn,                                                              \
         (cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, _int m,       \
          _int n, _int k, const void *alpha, const void *const Aarray[], cudaDataType Atype,       \
          _int lda, const void *const Barray[], cudaDataType Btype, _int ldb, const void *beta,    \
          void *const Carray[], cudaDataType Ctype, _int ldc, _int batchCount,                     \
          cublasComputeType_t computeType, cublasGemmAlgo_t algo),                                 \
         (handle, transa, transb, m, n, k, alpha, Aarray, Atype, lda, Barray, Btype, ldb, beta,    \
          Carray, Ctype, ldc, batchCount, computeType, algo),                                      \
         CALL_GEMM_BATCHED(_int, handle, transa, transb, m, n, k, batchCount, Atype, Btype, Ctype, \
                           computeType, 8, lda, ldb, ldc, beta))

/* batchCount products of one shape, whose matrices lie at even distances. */
#define GEMM_STRIDED(_fn, _t, _int)                                                                \
    HOOK(CUBLAS, cublasStatus_t, _fn,                                                              \
         (cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, _int m,       \
          _int n, _int k, const GEMM_TYPE_##_t *alpha, const GEMM_TYPE_##_t *A, _int lda,          \
          long long strideA, const GEMM_TYPE_##_t *B, _int ldb, long long strideB,                 \
          const GEMM_TYPE_##_t *beta, GEMM_TYPE_##_t *C, _int ldc, long long strideC,              \
          _int batchCount),                                                                        \
         (handle, transa, transb, m, n, k, alpha, A, lda, strideA, B, ldb, strideB, beta, C, ldc,  \
          strideC, batchCount),                                                                    \
         CALL_GEMM_STRIDED(_int, handle, transa, transb, m, n, k, batchCount, GEMM_CUDA_##_t,      \
                           GEMM_CUDA_##_t, GEMM_CUDA_##_t, GEMM_COMPUTE_##_t, GEMM_COMPLEX_##_t,   \
                           lda, ldb, ldc, beta))

#define GEMM_STRIDED_EX(_fn, _int)                                                                 \
    HOOK(CUBLAS, cublasStatus_t, _fn,                                                              \
         (cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, _int m,       \
          _int n, _int k, const void *alpha, const void *A, cudaDataType Atype, _int lda,          \
          long long strideA, const void *B, cudaDataType Btype, _int ldb, long long strideB,       \
          const void *beta, void *C, cudaDataType Ctype, _int ldc, long long strideC,              \
          _int batchCount, cublasComputeType_t computeType, cublasGemmAlgo_t algo),                \
         (handle, transa, transb, m, n, k, alpha, A, Atype, lda, strideA, B, Btype, ldb, strideB,  \
          beta, C, Ctype, ldc, strideC, batchCount, computeType, algo),                            \
         CALL_GEMM_STRIDED(_int, handle, transa, transb, m, n, k, batchCount, Atype, Btype, Ctype, \
                           computeType, 8, lda, ldb, ldc, beta))

/* group_count groups of products, each of a shape of its own. All arrays but those of matrices are
 * in host memory and have group_count entries. */
#define GEMM_GROUPED(_fn, _t, _int)                                                                \
    HOOK(CUBLAS, cublasStatus_t, _fn,                                                              \
         (cublasHandle_t handle, const cublasOperation_t transa_array[],                           \
          const cublasOperation_t transb_array[], const _int m_array[], const _int n_array[],      \
          const _int k_array[], const GEMM_TYPE_##_t alpha_array[],                                \
          const GEMM_TYPE_##_t *const Aarray[], const _int lda_array[],                            \
          const GEMM_TYPE_##_t *const Barray[], const _int ldb_array[],                            \
          const GEMM_TYPE_##_t beta_array[], GEMM_TYPE_##_t *const Carray[],                       \
          const _int ldc_array[], _int group_count, const _int group_size[]),                      \
         (handle, transa_array, transb_array, m_array, n_array, k_array, alpha_array, Aarray,      \
          lda_array, Barray, ldb_array, beta_array, Carray, ldc_array, group_count, group_size),   \
         CALL_GEMM_GROUPED(_int, handle, transa_array, transb_array, m_array, n_array, k_array,    \
                           group_count, group_size, GEMM_CUDA_##_t, GEMM_CUDA_##_t,                \
                           GEMM_CUDA_##_t, GEMM_COMPUTE_##_t, lda_array, ldb_array, ldc_array,     \
                           beta_array))

#define GEMM_GROUPED_EX(_fn, _int)                                                                 \
    HOOK(CUBLAS, cublasStatus_t, _fn,                                                              \
         (cublasHandle_t handle, const cublasOperation_t transa_array[],                           \
          const cublasOperation_t transb_array[], const _int m_array[], const _int n_array[],      \
          const _int k_array[], const void *alpha_array, const void *const Aarray[],               \
          cudaDataType_t Atype, const _int lda_array[], const void *const Barray[],                \
          cudaDataType_t Btype, const _int ldb_array[], const void *beta_array,                    \
          void *const Carray[], cudaDataType_t Ctype, const _int ldc_array[], _int group_count,    \
          const _int group_size[], cublasComputeType_t computeType),                               \
         (handle, transa_array, transb_array, m_array, n_array, k_array, alpha_array, Aarray,      \
          Atype, lda_array, Barray, Btype, ldb_array, beta_array, Carray, Ctype, ldc_array,        \
          group_count, group_size, computeType),                                                   \
         CALL_GEMM_GROUPED(_int, handle, transa_array, transb_array, m_array, n_array, k_array,    \
                           group_count, group_size, Atype, Btype, Ctype, computeType, lda_array,   \
                           ldb_array, ldc_array, beta_array))

/* clang-format on */

#endif
