/* SPDX-License-Identifier: MIT
 *
 * The libraries whose functions are hooked, the ids and names of the hooks (both from hooks.def),
 * and the form in which wrappers are exported.
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

/* ---- exports ----
 *
 * Versions with which the wrappers of hooks.def are exported, by the library of the hook:
 *
 *   cuBLAS, cudart   without a version. References to these libraries ask for versions, whose names
 *                    change with the library, and a symbol without one serves them all.
 *   the others       in version SPECTER, as a version that is not the default. References to these
 *                    libraries ask for no version: the loader binds them to the first version of an
 *                    object, default or not. dlsym() takes none but the default, so it passes over
 *                    ours, and finds what it would have found without us.
 *
 * After the functions' definitions, with the same HOOK table:
 *
 *     #define HOOK(_lib, _ret, _fn, _params, _args, _record) EXPORT_HOOK(_lib, _fn) */

/* The visibility in the declaration of the function itself. */
#define EXPORT_VISIBILITY(_lib) __attribute__((visibility(EXPORT_VISIBILITY_##_lib)))
#define EXPORT_VISIBILITY_NCCL "hidden"
#define EXPORT_VISIBILITY_RCCL "hidden"
#define EXPORT_VISIBILITY_CUBLAS "default"
#define EXPORT_VISIBILITY_CUBLASLT "default"
#define EXPORT_VISIBILITY_CUDART "default"
#define EXPORT_VISIBILITY_CUDA "hidden"

/* wrapper_X: a name that no other library can take, where the entries of dlsym_entry.S lead.
 * versioned_X: is exported as X@SPECTER and, by the version script, under no other name. */
#define EXPORT_HOOK(_lib, _fn)                                                               \
    extern __typeof__(_fn) wrapper_##_fn __attribute__((alias(#_fn), visibility("hidden"))); \
    EXPORT_AS_##_lib(_fn)
#define EXPORT_VERSIONED(_fn)                                                                   \
    extern __typeof__(_fn) versioned_##_fn __attribute__((alias(#_fn), visibility("default"))); \
    __asm__(".symver versioned_" #_fn ", " #_fn "@SPECTER");
#define EXPORT_AS_NCCL(_fn) EXPORT_VERSIONED(_fn)
#define EXPORT_AS_RCCL(_fn) EXPORT_VERSIONED(_fn)
#define EXPORT_AS_CUBLAS(_fn)
#define EXPORT_AS_CUBLASLT(_fn)
#define EXPORT_AS_CUDART(_fn)
#define EXPORT_AS_CUDA(_fn) EXPORT_VERSIONED(_fn)

#endif
