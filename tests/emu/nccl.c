/* SPDX-License-Identifier: MIT
 *
 * libnccl.so.2: the interface of NCCL 2.28.9 as far as the hook table and its users need it.
 *
 * Calls inside a group are only noted; the outermost ncclGroupEnd launches them, one kernel for
 * each communicator. As in the real library ncclX is a weak alias of pncclX, and ncclBcast and
 * ncclCommInitAll call public functions through the PLT, where a preloaded library sees them.
 */
#include <nccl.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collective.h"
#include "comm.h"
#include "fabric.h"
#include "group.h"
#include "hash.h"
#include "job.h"
#include "names.h"
#include "number.h"
#include "profiler.h"

/* How long ncclCommGetAsyncError waits, in real time, for members to come before it says that the
 * communicator is still in progress; within it the answer depends on virtual time only. */
#define POLL_PATIENCE_NS 2000000000u

/* Defines pncclX, and ncclX as its weak alias. */
#define NCCL(_ret, _fn, _params)                                     \
    EMU_API _ret p##_fn _params;                                     \
    EMU_API _ret _fn _params __attribute__((weak, alias("p" #_fn))); \
    _ret p##_fn _params

/* What a unique id holds; the rest is filler. */
struct id {
    uint64_t key;
    int32_t root_pid;
    uint32_t zero; /* where padding would differ from run to run */
};

/* ---- ids, versions, texts ---- */

NCCL(ncclResult_t, ncclGetVersion, (int *version))
{
    EMU_CALL(self);
    (void)self;
    if (!version)
        return ncclInvalidArgument;
    *version = NCCL_VERSION_CODE;
    return ncclSuccess;
}

static uint64_t random_key(void)
{
    uint64_t key = 0;
    int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);

    if (fd < 0 || read(fd, &key, sizeof(key)) != sizeof(key))
        key = emu_hash((uint64_t)getpid(), (uint64_t)(uintptr_t)&key);
    if (fd >= 0)
        close(fd);
    return key;
}

/* With EMU_DIR, which only one job uses, ids are the same in every run. */
NCCL(ncclResult_t, ncclGetUniqueId, (ncclUniqueId * uniqueId))
{
    static atomic_uint made;
    const char *dir = secure_getenv("EMU_DIR");
    struct id id = {0, (int32_t)getpid(), 0};

    EMU_CALL(self);
    (void)self;
    if (!uniqueId)
        return ncclInvalidArgument;
    if (dir && *dir) {
        id.key = emu_hash(emu_hash(emu_fabric()->seed, (uint64_t)emu_rank()),
                          atomic_fetch_add(&made, 1));
        id.root_pid = 0;
    } else {
        id.key = random_key();
        names_sweep();
    }
    for (size_t i = 0; i < sizeof(uniqueId->internal); i++)
        uniqueId->internal[i] = (char)emu_hash(id.key, i);
    memcpy(uniqueId->internal, &id, sizeof(id));
    return ncclSuccess;
}

NCCL(const char *, ncclGetErrorString, (ncclResult_t result))
{
    static const char *const texts[] = {
        "no error",
        "unhandled cuda error (run with NCCL_DEBUG=INFO for details)",
        "unhandled system error (run with NCCL_DEBUG=INFO for details)",
        "internal error - please report this issue to the NCCL developers",
        "invalid argument (run with NCCL_DEBUG=WARN for details)",
        "invalid usage (run with NCCL_DEBUG=WARN for details)",
        "remote process exited or there was a network error",
        "NCCL operation in progress",
    };

    return (unsigned)result < ncclNumResults ? texts[result] : "unknown result code";
}

NCCL(const char *, ncclGetLastError, (ncclComm_t comm))
{
    (void)comm;
    return comm_last_error();
}

/* ---- communicators ---- */

static ncclResult_t init_rank(struct emu_thread *self, ncclComm_t *out, int ranks,
                              const ncclUniqueId *unique, int rank, const ncclConfig_t *config)
{
    bool nonblocking = false;
    ncclResult_t result;
    struct emu_job *job;
    struct id id;

    if (!out || ranks < 1 || rank < 0 || rank >= ranks)
        return comm_fail(ncclInvalidArgument, "rank %d of %d", rank, ranks);
    result = job_config(config, &nonblocking);
    if (result)
        return result;
    if (emu_init() != CUDA_SUCCESS)
        return comm_fail(ncclUnhandledCudaError, "no device");
    memcpy(&id, unique->internal, sizeof(id));
    job = job_init(out, ranks, rank, id.key, id.root_pid,
                   emu_context_device(emu_runtime_context(self)));
    job->comm->nonblocking = nonblocking;
    job->comm->hash = profiler_hash(unique);
    return group_job(job, self, 0);
}

NCCL(ncclResult_t, ncclCommInitRank, (ncclComm_t * comm, int nranks, ncclUniqueId commId, int rank))
{
    EMU_CALL(self);
    return init_rank(self, comm, nranks, &commId, rank, NULL);
}

NCCL(ncclResult_t, ncclCommInitRankConfig,
     (ncclComm_t * comm, int nranks, ncclUniqueId commId, int rank, ncclConfig_t *config))
{
    EMU_CALL(self);
    return init_rank(self, comm, nranks, &commId, rank, config);
}

NCCL(ncclResult_t, ncclCommInitAll, (ncclComm_t * comm, int ndev, const int *devlist))
{
    EMU_CALL(self);
    struct emu_job **jobs;
    ncclResult_t result;
    ncclUniqueId unique;
    struct id id;

    if (!comm || ndev < 1 || emu_init() != CUDA_SUCCESS || ndev > emu_device_count())
        return comm_fail(ncclInvalidArgument, "%d devices", ndev);
    result = ncclGetUniqueId(&unique);
    memcpy(&id, unique.internal, sizeof(id));
    jobs = emu_alloc((size_t)ndev * sizeof(struct emu_job *));
    for (int i = 0; i < ndev && !result; i++) {
        jobs[i] = job_init(&comm[i], ndev, i, id.key, id.root_pid, devlist ? devlist[i] : i);
        jobs[i]->comm->hash = profiler_hash(&unique);
        result = job_arrive(jobs[i], self, 0);
    }
    for (int i = 0; i < ndev && !result; i++)
        result = job_finish(jobs[i], self);
    free(jobs);
    return result;
}

NCCL(ncclResult_t, ncclCommSplit,
     (ncclComm_t comm, int color, int key, ncclComm_t *newcomm, ncclConfig_t *config))
{
    EMU_CALL(self);
    ncclResult_t result = comm_check_ready(comm);
    bool nonblocking;
    struct emu_job *job;

    if (result)
        return result;
    if (!newcomm || (color < 0 && color != NCCL_SPLIT_NOCOLOR))
        return comm_fail(ncclInvalidArgument, "color %d", color);
    nonblocking = comm->nonblocking;
    result = job_config(config, &nonblocking);
    if (result)
        return result;
    job = job_split(newcomm, comm, color);
    if (color != NCCL_SPLIT_NOCOLOR) {
        job->comm = comm_new(1, 0, 0, comm->root_pid);
        job->comm->device = comm->device;
        job->comm->context = comm->context;
        job->comm->nonblocking = nonblocking;
    }
    return group_job(job, self, key);
}

/* Completes what a non-blocking communicator has begun, if all have come. */
static ncclResult_t poll_job(struct ncclComm *comm, struct emu_thread *self)
{
    struct emu_job *job = comm->job;
    ncclResult_t result = job_complete(job, self, POLL_PATIENCE_NS);

    if (result == ncclInProgress)
        return result;
    comm->job = NULL;
    if (result)
        atomic_store(&comm->error, (int)result);
    else
        comm->ready_at = emu_real_clock() ? 0 : job_end(job);
    if (!result)
        profiler_begin(comm);
    job_free(job);
    return result;
}

NCCL(ncclResult_t, ncclCommGetAsyncError, (ncclComm_t comm, ncclResult_t *asyncError))
{
    EMU_CALL(self);
    ncclResult_t result = comm_check(comm);

    if (result)
        return result;
    if (comm->job && !self->observer)
        poll_job(comm, self);
    *asyncError = (ncclResult_t)atomic_load(&comm->error);
    if (*asyncError == ncclSuccess && (comm->job || comm->ready_at > self->clock))
        *asyncError = ncclInProgress;
    return ncclSuccess;
}

NCCL(ncclResult_t, ncclCommFinalize, (ncclComm_t comm))
{
    EMU_CALL(self);
    ncclResult_t result = comm_check_ready(comm);

    if (!result)
        comm_drain(comm, self);
    return result;
}

NCCL(ncclResult_t, ncclCommDestroy, (ncclComm_t comm))
{
    EMU_CALL(self);
    ncclResult_t result;

    if (!comm)
        return ncclSuccess;
    result = comm_check_ready(comm);
    if (result)
        return result;
    comm_drain(comm, self);
    profiler_end(comm);
    comm_unref(comm);
    return ncclSuccess;
}

NCCL(ncclResult_t, ncclCommAbort, (ncclComm_t comm))
{
    EMU_CALL(self);
    ncclResult_t result;

    if (!comm)
        return ncclSuccess;
    result = comm_check(comm);
    if (result)
        return result;
    atomic_store(&comm->aborted, true);
    if (comm->job) {
        job_free(comm->job);
        comm->job = NULL;
    } else {
        comm_drain(comm, self);
    }
    profiler_end(comm);
    comm_unref(comm);
    return ncclSuccess;
}

/* QUERY(function, parameter, field): one number of a communicator. */
#define QUERY(_fn, _field)                                       \
    NCCL(ncclResult_t, _fn, (const ncclComm_t comm, int *value)) \
    {                                                            \
        EMU_CALL(self);                                          \
        ncclResult_t result = comm_check_ready(comm);            \
                                                                 \
        (void)self;                                              \
        if (!result)                                             \
            *value = comm->_field;                               \
        return result;                                           \
    }

QUERY(ncclCommCount, ranks)
QUERY(ncclCommUserRank, rank)
QUERY(ncclCommCuDevice, device)

NCCL(ncclResult_t, ncclRedOpCreatePreMulSum,
     (ncclRedOp_t * op, void *scalar, ncclDataType_t datatype, ncclScalarResidence_t residence,
      ncclComm_t comm))
{
    EMU_CALL(self);
    ncclResult_t result = comm_check_ready(comm);
    double *grown;

    (void)self;
    (void)residence; /* device memory is memory here */
    if (result)
        return result;
    grown = realloc(comm->premul, ((size_t)comm->premul_count + 1) * sizeof(*grown));
    if (!grown)
        return ncclSystemError;
    comm->premul = grown;
    grown[comm->premul_count] = number_get(scalar, 0, (enum number)datatype);
    *op = (ncclRedOp_t)(ncclNumOps + comm->premul_count++);
    return ncclSuccess;
}

NCCL(ncclResult_t, ncclRedOpDestroy, (ncclRedOp_t op, ncclComm_t comm))
{
    EMU_CALL(self);
    ncclResult_t result = comm_check(comm);

    (void)self;
    if (!result && (int)op < ncclNumOps)
        result = comm_fail(ncclInvalidArgument, "operator %d is built in", (int)op);
    return result;
}

/* ---- groups and operations ---- */

NCCL(ncclResult_t, ncclGroupStart, (void))
{
    EMU_CALL(self);
    (void)self;
    group_start();
    return ncclSuccess;
}

NCCL(ncclResult_t, ncclGroupEnd, (void))
{
    EMU_CALL(self);
    return group_end(self);
}

/* The estimate is the caller's to distrust: any number will do. */
NCCL(ncclResult_t, ncclGroupSimulateEnd, (ncclSimInfo_t * simInfo))
{
    EMU_CALL(self);
    (void)self;
    if (simInfo)
        simInfo->estimatedTime = 1;
    return group_simulate_end();
}

#define COLLECTIVE(_op, _send, _recv, _count, _redop, _root)                                 \
    group_task(self, &(struct task){TASK_COLLECTIVE, COLLECTIVE_##_op, _send, _recv, _count, \
                                    datatype, _redop, _root, comm, stream, NULL})

NCCL(ncclResult_t, ncclAllReduce,
     (const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype, ncclRedOp_t op,
      ncclComm_t comm, cudaStream_t stream))
{
    EMU_CALL(self);
    return COLLECTIVE(ALLREDUCE, sendbuff, recvbuff, count, (int)op, 0);
}

NCCL(ncclResult_t, ncclReduce,
     (const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype, ncclRedOp_t op,
      int root, ncclComm_t comm, cudaStream_t stream))
{
    EMU_CALL(self);
    bool needs = comm && comm->magic == COMM_MAGIC && comm->rank != root;

    return COLLECTIVE(REDUCE, sendbuff, needs && !recvbuff ? (void *)(uintptr_t)sendbuff : recvbuff,
                      count, (int)op, root);
}

NCCL(ncclResult_t, ncclBroadcast,
     (const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype, int root,
      ncclComm_t comm, cudaStream_t stream))
{
    EMU_CALL(self);
    return COLLECTIVE(BROADCAST, sendbuff ? sendbuff : recvbuff, recvbuff, count, 0, root);
}

NCCL(ncclResult_t, ncclBcast,
     (void *buff, size_t count, ncclDataType_t datatype, int root, ncclComm_t comm,
      cudaStream_t stream))
{
    EMU_CALL(self);
    (void)self;
    return ncclBroadcast(buff, buff, count, datatype, root, comm, stream);
}

NCCL(ncclResult_t, ncclAllGather,
     (const void *sendbuff, void *recvbuff, size_t sendcount, ncclDataType_t datatype,
      ncclComm_t comm, cudaStream_t stream))
{
    EMU_CALL(self);
    return COLLECTIVE(ALLGATHER, sendbuff, recvbuff, sendcount, 0, 0);
}

NCCL(ncclResult_t, ncclReduceScatter,
     (const void *sendbuff, void *recvbuff, size_t recvcount, ncclDataType_t datatype,
      ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream))
{
    EMU_CALL(self);
    return COLLECTIVE(REDUCESCATTER, sendbuff, recvbuff, recvcount, (int)op, 0);
}

NCCL(ncclResult_t, ncclAlltoAll,
     (const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype, ncclComm_t comm,
      cudaStream_t stream))
{
    EMU_CALL(self);
    return COLLECTIVE(ALLTOALL, sendbuff, recvbuff, count, 0, 0);
}

NCCL(ncclResult_t, ncclSend,
     (const void *sendbuff, size_t count, ncclDataType_t datatype, int peer, ncclComm_t comm,
      cudaStream_t stream))
{
    EMU_CALL(self);
    return group_task(
        self, &(struct task){TASK_SEND, 0, sendbuff, NULL, count, datatype, 0, peer, comm, stream, NULL});
}

NCCL(ncclResult_t, ncclRecv,
     (void *recvbuff, size_t count, ncclDataType_t datatype, int peer, ncclComm_t comm,
      cudaStream_t stream))
{
    EMU_CALL(self);
    return group_task(
        self, &(struct task){TASK_RECV, 0, NULL, recvbuff, count, datatype, 0, peer, comm, stream, NULL});
}

#define EMU_LIBRARY_NCCL
#include "hooks_check.h"
