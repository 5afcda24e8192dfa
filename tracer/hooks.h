/* SPDX-License-Identifier: MIT
 *
 * What is generated from hooks.def, apart from functions: libraries, hook ids and their names.
 */
#ifndef SPECTER_TRACER_HOOKS_H
#define SPECTER_TRACER_HOOKS_H

/* X(library, stems of its file name with | between them, value its functions return when there is
 * no real one) */
#define TRACER_LIBS(X)                                        \
    X(NCCL, "libnccl|librccl", ncclInternalError)             \
    X(RCCL, "librccl", ncclInternalError)                     \
    X(CUBLAS, "libcublas", CUBLAS_STATUS_NOT_INITIALIZED)     \
    X(CUBLASLT, "libcublasLt", CUBLAS_STATUS_NOT_INITIALIZED) \
    X(CUDART, "libcudart", cudaErrorUnknown)                  \
    X(CUDA, "libcuda", CUDA_ERROR_UNKNOWN)

enum lib_id {
#define X(_id, _stem, _error) LIB_##_id,
    TRACER_LIBS(X)
#undef X
        LIB_COUNT
};

/* Functions that the tracer itself calls, in the library that a hooked call went to.
 * X(library, function) */
#define TRACER_GETTERS(X)                         \
    X(NCCL, ncclGetVersion)                       \
    X(NCCL, ncclCommCount)                        \
    X(NCCL, ncclCommUserRank)                     \
    X(NCCL, ncclCommCuDevice)                     \
    X(CUBLAS, cublasGetStream_v2)                 \
    X(CUBLAS, cublasGetMathMode)                  \
    X(CUBLAS, cublasGetPointerMode_v2)            \
    X(CUBLASLT, cublasLtMatmulDescGetAttribute)   \
    X(CUBLASLT, cublasLtMatrixLayoutGetAttribute) \
    X(CUDART, cudaFuncGetName)                    \
    X(CUDART, cudaPeekAtLastError)                \
    X(CUDART, cudaGetLastError)

/* Hooks first, so that a hook's id is an index of its own. */
enum hook_id {
#define HOOK(_lib, _ret, _fn, _params, _args, _record) HOOK_##_fn,
#include "hooks.def"
    HOOK_COUNT,
    GETTER_BASE = HOOK_COUNT - 1,
#define X(_lib, _fn) GETTER_##_fn,
    TRACER_GETTERS(X)
#undef X
        FUNCTION_COUNT
};

struct function_name {
    const char *name;
    enum lib_id lib;
    int record; /* enum record_kind that a hook leaves; -1: none */
};

extern const struct function_name function_names[FUNCTION_COUNT];

#endif
