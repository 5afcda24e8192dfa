/* SPDX-License-Identifier: MIT
 *
 * Arguments that are refused before any device is looked at, and what needs none.
 */
#include <stdlib.h>
#include <string.h>

#include "facts.h"

/* ---- NCCL ---- */

/* NULL, or memory that is no communicator. */
static ncclComm_t no_comm(void)
{
    return asked_number ? calloc(1, 4 << 20) : NULL;
}

#define COMM_CALL(_name, _call)            \
    static void _name(void)                \
    {                                      \
        const ncclComm_t comm = no_comm(); \
        int number = 0;                    \
        ncclResult_t error = 0;            \
        ncclRedOp_t op = 0;                \
        float scalar = 1;                  \
                                           \
        (void)number;                      \
        (void)error;                       \
        (void)op;                          \
        (void)scalar;                      \
        answer_nccl(_call);                \
    }

COMM_CALL(comm_count, api.ncclCommCount(comm, &number))
COMM_CALL(comm_rank, api.ncclCommUserRank(comm, &number))
COMM_CALL(comm_device, api.ncclCommCuDevice(comm, &number))
COMM_CALL(async_error, api.ncclCommGetAsyncError(comm, &error))
COMM_CALL(op_create,
          api.ncclRedOpCreatePreMulSum(&op, &scalar, ncclFloat32, ncclScalarHostImmediate, comm))
COMM_CALL(op_destroy, api.ncclRedOpDestroy(op, comm))
COMM_CALL(all_reduce, api.ncclAllReduce(NULL, NULL, 1, ncclFloat32, ncclSum, comm, NULL))
COMM_CALL(reduce, api.ncclReduce(NULL, NULL, 1, ncclFloat32, ncclSum, 0, comm, NULL))
COMM_CALL(broadcast, api.ncclBroadcast(NULL, NULL, 1, ncclFloat32, 0, comm, NULL))
COMM_CALL(bcast, api.ncclBcast(NULL, 1, ncclFloat32, 0, comm, NULL))
COMM_CALL(all_gather, api.ncclAllGather(NULL, NULL, 1, ncclFloat32, comm, NULL))
COMM_CALL(reduce_scatter, api.ncclReduceScatter(NULL, NULL, 1, ncclFloat32, ncclSum, comm, NULL))
COMM_CALL(all_to_all, api.ncclAlltoAll(NULL, NULL, 1, ncclFloat32, comm, NULL))
COMM_CALL(gather, api.ncclGather(NULL, NULL, 1, ncclFloat32, 0, comm, NULL))
COMM_CALL(scatter, api.ncclScatter(NULL, NULL, 1, ncclFloat32, 0, comm, NULL))
COMM_CALL(send, api.ncclSend(NULL, 1, ncclFloat32, 0, comm, NULL))
COMM_CALL(recv, api.ncclRecv(NULL, 1, ncclFloat32, 0, comm, NULL))
COMM_CALL(nothing_to_reduce, api.ncclAllReduce(NULL, NULL, 0, ncclFloat32, ncclSum, comm, NULL))

static void destroy_null(void)
{
    answer_nccl(api.ncclCommDestroy(NULL));
}

static void abort_null(void)
{
    answer_nccl(api.ncclCommAbort(NULL));
}

static void finalize_null(void)
{
    answer_nccl(api.ncclCommFinalize(NULL));
}

static void version_null(void)
{
    answer_nccl(api.ncclGetVersion(NULL));
}

static void unique_id_null(void)
{
    answer_nccl(api.ncclGetUniqueId(NULL));
}

static void unique_ids_differ(void)
{
    ncclUniqueId a, b;

    TRY(api.ncclGetUniqueId(&a));
    TRY(api.ncclGetUniqueId(&b));
    answer_yes(memcmp(&a, &b, sizeof(a)) != 0);
}

static void group_end_alone(void)
{
    answer_nccl(api.ncclGroupEnd());
}

static void simulate_end_alone(void)
{
    ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER;

    answer_nccl(api.ncclGroupSimulateEnd(&info));
}

static void group_of_nothing(void)
{
    TRY(api.ncclGroupStart());
    answer_nccl(api.ncclGroupEnd());
}

static void nested_groups(void)
{
    ncclResult_t ends[4];

    for (int i = 0; i < 3; i++)
        TRY(api.ncclGroupStart());
    for (int i = 0; i < 4; i++)
        ends[i] = api.ncclGroupEnd();
    answer("%s, %s, %s, %s", name_nccl(ends[0]), name_nccl(ends[1]), name_nccl(ends[2]),
           name_nccl(ends[3]));
}

static void group_with_bad_call(void)
{
    ncclResult_t call, end, next;

    TRY(api.ncclGroupStart());
    call = api.ncclAllReduce(NULL, NULL, 1, ncclFloat32, ncclSum, NULL, NULL);
    end = api.ncclGroupEnd();
    TRY(api.ncclGroupStart());
    next = api.ncclGroupEnd();
    answer("%s, end %s, next group %s", name_nccl(call), name_nccl(end), name_nccl(next));
}

static void last_error(void)
{
    bool fresh = !*api.ncclGetLastError(NULL);

    api.ncclGroupEnd();
    answer("%s, after an error %s", fresh ? "empty" : "a text",
           *api.ncclGetLastError(NULL) ? "a text" : "empty");
}

/* ---- the runtime ---- */

static void runtime_version_null(void)
{
    answer_cuda(api.cudaRuntimeGetVersion(NULL));
}

static void driver_version_null(void)
{
    answer_cuda(api.cudaDriverGetVersion(NULL));
}

static void first_last_error(void)
{
    answer_cuda(api.cudaGetLastError());
}

/* ---- cuBLAS ---- */

static void cublas_create_null(void)
{
    answer_cublas(api.cublasCreate(NULL));
}

static void cublas_destroy_null(void)
{
    answer_cublas(api.cublasDestroy(NULL));
}

static void cublas_set_stream_null(void)
{
    answer_cublas(api.cublasSetStream(NULL, NULL));
}

static void cublas_get_stream_null(void)
{
    cudaStream_t stream;

    answer_cublas(api.cublasGetStream(NULL, &stream));
}

static void cublas_pointer_mode_null(void)
{
    cublasPointerMode_t mode;

    answer_cublas(api.cublasGetPointerMode(NULL, &mode));
}

static void cublas_version_null(void)
{
    int version = 0;
    cublasStatus_t status = api.cublasGetVersion(NULL, &version);

    answer("%s, version %s", api.cublasGetStatusName(status), version ? "set" : "not set");
}

static void cublas_sgemm_null(void)
{
    float one = 1, zero = 0;

    answer_cublas(api.cublasSgemm_v2(NULL, 0, 0, 1, 1, 1, &one, NULL, 1, NULL, 1, &zero, NULL, 1));
}

static void cublas_gemm_ex_null(void)
{
    float one = 1, zero = 0;

    answer_cublas(api.cublasGemmEx(NULL, 0, 0, 1, 1, 1, &one, NULL, CUDA_R_16F, 1, NULL, CUDA_R_16F,
                                   1, &zero, NULL, CUDA_R_16F, 1, CUBLAS_COMPUTE_32F,
                                   CUBLAS_GEMM_DEFAULT));
}

static void cublaslt_destroy_null(void)
{
    answer_cublas(api.cublasLtDestroy(NULL));
}

static void cublaslt_create_null(void)
{
    answer_cublas(api.cublasLtCreate(NULL));
}

#define OF_COMM(_name, _ask) \
    FACT_OF(_name, NOTHING, _ask, 0, 1, "its result for a NULL communicator, and for blank memory")

static const struct fact table[] = {
    OF_COMM("ncclCommCount", comm_count),
    OF_COMM("ncclCommUserRank", comm_rank),
    OF_COMM("ncclCommCuDevice", comm_device),
    OF_COMM("ncclCommGetAsyncError", async_error),
    OF_COMM("ncclRedOpCreatePreMulSum", op_create),
    OF_COMM("ncclRedOpDestroy", op_destroy),
    OF_COMM("ncclAllReduce", all_reduce),
    OF_COMM("ncclReduce", reduce),
    OF_COMM("ncclBroadcast", broadcast),
    OF_COMM("ncclBcast", bcast),
    OF_COMM("ncclAllGather", all_gather),
    OF_COMM("ncclReduceScatter", reduce_scatter),
    OF_COMM("ncclAlltoAll", all_to_all),
    OF_COMM("ncclGather", gather),
    OF_COMM("ncclScatter", scatter),
    OF_COMM("ncclSend", send),
    OF_COMM("ncclRecv", recv),
    OF_COMM("ncclAllReduce.count0", nothing_to_reduce),
    FACT("ncclCommDestroy.null", NOTHING, destroy_null, "ncclCommDestroy(NULL)"),
    FACT("ncclCommAbort.null", NOTHING, abort_null, "ncclCommAbort(NULL)"),
    FACT("ncclCommFinalize.null", NOTHING, finalize_null, "ncclCommFinalize(NULL)"),
    FACT("ncclGetVersion.null", NOTHING, version_null, "ncclGetVersion(NULL)"),
    FACT("ncclGetUniqueId.null", NOTHING, unique_id_null, "ncclGetUniqueId(NULL)"),
    FACT("ncclGetUniqueId.twice", NOTHING, unique_ids_differ, "whether two unique ids differ"),
    FACT("ncclGroupEnd.alone", NOTHING, group_end_alone, "ncclGroupEnd outside a group"),
    FACT("ncclGroupSimulateEnd.alone", NOTHING, simulate_end_alone, "the same outside a group"),
    FACT("group.empty", NOTHING, group_of_nothing, "ncclGroupEnd of a group of no calls"),
    FACT("group.nested", NOTHING, nested_groups,
         "ends of three nested groups and one end too many"),
    FACT("group.bad_call", NOTHING, group_with_bad_call,
         "a call with a NULL communicator in a group, the group's end, the next group"),
    FACT("ncclGetLastError", NOTHING | ALONE, last_error, "at first, and after a failed call"),
    FACT("cudaRuntimeGetVersion.null", NOTHING, runtime_version_null, "of NULL"),
    FACT("cudaDriverGetVersion.null", NOTHING, driver_version_null, "of NULL"),
    FACT("cudaGetLastError.first", DEVICE | ALONE, first_last_error, "as the first call"),
    FACT("cublasCreate.null", NOTHING | ALONE, cublas_create_null, "cublasCreate(NULL)"),
    FACT("cublasDestroy.null", NOTHING, cublas_destroy_null, "cublasDestroy(NULL)"),
    FACT("cublasSetStream.null", NOTHING, cublas_set_stream_null, "with a NULL handle"),
    FACT("cublasGetStream.null", NOTHING, cublas_get_stream_null, "with a NULL handle"),
    FACT("cublasGetPointerMode.null", NOTHING, cublas_pointer_mode_null, "with a NULL handle"),
    FACT("cublasGetVersion.null", NOTHING, cublas_version_null, "with a NULL handle"),
    FACT("cublasSgemm.null", NOTHING, cublas_sgemm_null, "with a NULL handle"),
    FACT("cublasGemmEx.null", NOTHING, cublas_gemm_ex_null, "with a NULL handle"),
    FACT("cublasLtDestroy.null", NOTHING, cublaslt_destroy_null, "cublasLtDestroy(NULL)"),
    FACT("cublasLtCreate.null", NOTHING | ALONE, cublaslt_create_null, "cublasLtCreate(NULL)"),
};
const struct subject arguments = SUBJECT("argument", table);
