/* SPDX-License-Identifier: MIT
 *
 * How the wrappers of hooks.def are exported, by the library of the hook:
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
 *     #define HOOK(_lib, _ret, _fn, _params, _args, _record) EXPORT_HOOK(_lib, _fn)
 */
#ifndef SPECTER_TRACER_EXPORT_H
#define SPECTER_TRACER_EXPORT_H

/* What the declaration of the function itself says. */
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
