/* SPDX-License-Identifier: MIT
 *
 * Names of error numbers. A number without a name gives no answer, so that the answers are the list
 * of names.
 */
#include <string.h>

#include "facts.h"

static void runtime_error(void)
{
    const char *name = api.cudaGetErrorName((cudaError_t)asked_number);

    if (strcmp(name, "unrecognized error code") != 0)
        answer("%s: %s", name, api.cudaGetErrorString((cudaError_t)asked_number));
}

static void runtime_unknown(void)
{
    answer("%s: %s", api.cudaGetErrorName((cudaError_t)12345),
           api.cudaGetErrorString((cudaError_t)12345));
}

static void driver_error(void)
{
    const char *name = NULL, *text = NULL;

    if (api.cuGetErrorName((CUresult)asked_number, &name) == CUDA_SUCCESS &&
        api.cuGetErrorString((CUresult)asked_number, &text) == CUDA_SUCCESS)
        answer("%s: %s", name, text);
}

static void driver_unknown(void)
{
    const char *name = "";
    CUresult result = api.cuGetErrorName((CUresult)12345, &name);

    answer("%s, name %s", name_driver(result), name ? "set" : "NULL");
}

static void nccl_result(void)
{
    answer("%s", api.ncclGetErrorString((ncclResult_t)asked_number));
}

static void cublas_status(void)
{
    const char *name = api.cublasGetStatusName((cublasStatus_t)asked_number);

    answer("%s: %s", name, api.cublasGetStatusString((cublasStatus_t)asked_number));
}

static void cublaslt_status(void)
{
    const char *name = api.cublasLtGetStatusName((cublasStatus_t)asked_number);

    answer("%s: %s", name, api.cublasLtGetStatusString((cublasStatus_t)asked_number));
}

static void sticky(void)
{
    cudaError_t first, second;

    api.cudaGetLastError();
    api.cudaEventQuery(NULL);
    first = api.cudaPeekAtLastError();
    second = api.cudaGetLastError();
    answer("%s, %s, then %s", name_cuda(first), name_cuda(second),
           name_cuda(api.cudaGetLastError()));
}

static void not_ready_is_kept(void)
{
    cudaStream_t stream = new_stream();
    cudaError_t asked;

    TRY(keep_busy(stream));
    api.cudaGetLastError();
    asked = api.cudaStreamQuery(stream);
    answer("%s, last %s", name_cuda(asked), name_cuda(api.cudaGetLastError()));
    api.cudaStreamSynchronize(stream);
}

static void success_clears(void)
{
    int device;

    api.cudaSetDevice(-1);
    TRY(api.cudaGetDevice(&device));
    answer_cuda(api.cudaGetLastError());
}

static void peek_elsewhere(void *error)
{
    *(cudaError_t *)error = api.cudaPeekAtLastError();
}

static void of_thread(void)
{
    cudaError_t there = cudaErrorUnknown;

    api.cudaSetDevice(-1);
    elsewhere(peek_elsewhere, &there);
    answer("%s here, %s there", name_cuda(api.cudaGetLastError()), name_cuda(there));
}

static const struct fact table[] = {
    FACT_OF("cuda", NOTHING, runtime_error, 0, 1050, "name and text of a cudaError_t"),
    FACT("cuda_unknown", NOTHING, runtime_unknown, "name and text of 12345"),
    FACT_OF("nccl", NOTHING, nccl_result, -1, 9, "text of an ncclResult_t"),
    FACT_OF("cublas", NOTHING, cublas_status, 0, 20, "name and text of a cublasStatus_t"),
    FACT_OF("cublasLt", NOTHING, cublaslt_status, 0, 20, "the same by cublasLt"),
    FACT_OF("driver", NOTHING, driver_error, 0, 1050, "name and text of a CUresult"),
    FACT("driver_unknown", NOTHING, driver_unknown, "cuGetErrorName of 12345"),
    FACT("last.kept", DEVICE, sticky, "Peek, Get and Get again after a failed call"),
    FACT("last.not_ready", DEVICE, not_ready_is_kept,
         "query of a busy stream, the last error then"),
    FACT("last.success", DEVICE, success_clears, "last error after a failed call and a good one"),
    FACT("last.thread", DEVICE, of_thread, "last error here and in another thread"),
};
const struct subject errors = SUBJECT("error", table);
