/* SPDX-License-Identifier: MIT
 *
 * The names and texts of a status of cuBLAS and cublasLt.
 */
#ifndef EMU_STATUS_H
#define EMU_STATUS_H

#include <cublas_v2.h>
#include <stddef.h>

static const struct status_text {
    cublasStatus_t status;
    const char *name, *text;
} status_texts[] = {
#define STATUS(_status, _text)   \
    {                            \
        _status, #_status, _text \
    }
    STATUS(CUBLAS_STATUS_SUCCESS, "success"),
    STATUS(CUBLAS_STATUS_NOT_INITIALIZED, "the library was not initialized"),
    STATUS(CUBLAS_STATUS_ALLOC_FAILED, "the resource allocation failed"),
    STATUS(CUBLAS_STATUS_INVALID_VALUE,
           "an unsupported value or parameter was passed to the function"),
    STATUS(CUBLAS_STATUS_ARCH_MISMATCH,
           "the function requires an architectural feature absent from the device"),
    STATUS(CUBLAS_STATUS_MAPPING_ERROR, "an access to GPU memory space failed"),
    STATUS(CUBLAS_STATUS_EXECUTION_FAILED, "the function failed to launch on the GPU"),
    STATUS(CUBLAS_STATUS_INTERNAL_ERROR, "an internal operation failed"),
    STATUS(CUBLAS_STATUS_NOT_SUPPORTED, "the requested functionality is not supported"),
    STATUS(CUBLAS_STATUS_LICENSE_ERROR, "the license check failed"),
#undef STATUS
};

static inline const struct status_text *status_find(cublasStatus_t status)
{
    static const struct status_text unknown = {0, "unrecognized status", "unrecognized status"};
    for (size_t i = 0; i < sizeof status_texts / sizeof *status_texts; i++)
        if (status_texts[i].status == status)
            return &status_texts[i];
    return &unknown;
}

static inline const char *status_name(cublasStatus_t status)
{
    return status_find(status)->name;
}

static inline const char *status_text(cublasStatus_t status)
{
    return status_find(status)->text;
}

#endif
