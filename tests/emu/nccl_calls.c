/* SPDX-License-Identifier: MIT
 *
 * libnccl.so.2: groups, collectives and messages. Calls inside a group are only noted; the
 * outermost ncclGroupEnd launches them, one kernel for each communicator. As in the real library
 * ncclBcast calls ncclBroadcast through the PLT, where a preloaded library sees it.
 */
#include "collective.h"
#include "group.h"
#include "nccl_call.h"

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
    if (simInfo != NULL)
        simInfo->estimatedTime = 1;
    return group_simulate_end();
}

#define COLLECTIVE(_op, _send, _recv, _count, _redop, _root)                                      \
    group_task(self, &(struct nccl_task){TASK_COLLECTIVE, COLLECTIVE_##_op, _send, _recv, _count, \
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
    bool needs = comm != NULL && comm->magic == COMM_MAGIC && comm->rank != root;
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

/* Only the root has both buffers; the others' second one may be NULL, and is not touched. */
static bool is_not_root(ncclComm_t comm, int root)
{
    return comm != NULL && comm->magic == COMM_MAGIC && comm->rank != root;
}

NCCL(ncclResult_t, ncclGather,
     (const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype, int root,
      ncclComm_t comm, cudaStream_t stream))
{
    EMU_CALL(self);
    bool alone = is_not_root(comm, root) && recvbuff == NULL;
    return COLLECTIVE(GATHER, sendbuff, alone ? (void *)(uintptr_t)sendbuff : recvbuff, count, 0,
                      root);
}

NCCL(ncclResult_t, ncclScatter,
     (const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype, int root,
      ncclComm_t comm, cudaStream_t stream))
{
    EMU_CALL(self);
    bool alone = is_not_root(comm, root) && sendbuff == NULL;
    return COLLECTIVE(SCATTER, alone ? recvbuff : sendbuff, recvbuff, count, 0, root);
}

/* CONFIGURED(function, parameters, arguments): the call with a configuration, which is ignored. */
#define CONFIGURED(_fn, _params, _args)      \
    NCCL(ncclResult_t, _fn##Config, _params) \
    {                                        \
        (void)config;                        \
        return p##_fn _args;                 \
    }

CONFIGURED(ncclAllReduce,
           (const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype,
            ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream, const ncclCollConfig_t *config),
           (sendbuff, recvbuff, count, datatype, op, comm, stream))
CONFIGURED(ncclReduce,
           (const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype,
            ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream,
            const ncclCollConfig_t *config),
           (sendbuff, recvbuff, count, datatype, op, root, comm, stream))
CONFIGURED(ncclBroadcast,
           (const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype, int root,
            ncclComm_t comm, cudaStream_t stream, const ncclCollConfig_t *config),
           (sendbuff, recvbuff, count, datatype, root, comm, stream))
CONFIGURED(ncclAllGather,
           (const void *sendbuff, void *recvbuff, size_t sendcount, ncclDataType_t datatype,
            ncclComm_t comm, cudaStream_t stream, const ncclCollConfig_t *config),
           (sendbuff, recvbuff, sendcount, datatype, comm, stream))
CONFIGURED(ncclReduceScatter,
           (const void *sendbuff, void *recvbuff, size_t recvcount, ncclDataType_t datatype,
            ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream, const ncclCollConfig_t *config),
           (sendbuff, recvbuff, recvcount, datatype, op, comm, stream))
CONFIGURED(ncclAlltoAll,
           (const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype,
            ncclComm_t comm, cudaStream_t stream, const ncclCollConfig_t *config),
           (sendbuff, recvbuff, count, datatype, comm, stream))
CONFIGURED(ncclGather,
           (const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype, int root,
            ncclComm_t comm, cudaStream_t stream, const ncclCollConfig_t *config),
           (sendbuff, recvbuff, count, datatype, root, comm, stream))
CONFIGURED(ncclScatter,
           (const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype, int root,
            ncclComm_t comm, cudaStream_t stream, const ncclCollConfig_t *config),
           (sendbuff, recvbuff, count, datatype, root, comm, stream))

NCCL(ncclResult_t, ncclSend,
     (const void *sendbuff, size_t count, ncclDataType_t datatype, int peer, ncclComm_t comm,
      cudaStream_t stream))
{
    EMU_CALL(self);
    return group_task(self, &(struct nccl_task){TASK_SEND, 0, sendbuff, NULL, count, datatype, 0,
                                                peer, comm, stream, NULL});
}

NCCL(ncclResult_t, ncclRecv,
     (void *recvbuff, size_t count, ncclDataType_t datatype, int peer, ncclComm_t comm,
      cudaStream_t stream))
{
    EMU_CALL(self);
    return group_task(self, &(struct nccl_task){TASK_RECV, 0, NULL, recvbuff, count, datatype, 0,
                                                peer, comm, stream, NULL});
}

#define EMU_LIBRARY_NCCL
#include "hooks_check.h"
