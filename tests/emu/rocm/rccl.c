/* SPDX-License-Identifier: MIT
 *
 * librccl.so.1: communicators without other members, and operations that take a millisecond and
 * move nothing. As in the real library, AllToAll and AllToAllv are groups of public Sends and
 * Receives, called through the PLT, where a preloaded library sees them.
 */
#include "hip.h"

#include <stdbool.h>
#include <stdlib.h>

#define WORK_NS 1000000u

struct ncclComm {
    int rank, ranks, device;
};

ncclResult_t ncclGetVersion(int *version)
{
    *version = 22203;
    return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId *id)
{
    for (size_t i = 0; i < sizeof id->internal; i++)
        id->internal[i] = (char)i;
    return ncclSuccess;
}

ncclResult_t ncclCommInitRank(ncclComm_t *comm, int nranks, ncclUniqueId id, int rank)
{
    (void)id;
    if (rank < 0 || rank >= nranks || (*comm = calloc(1, sizeof(**comm))) == NULL)
        return ncclInvalidArgument;
    (*comm)->rank = rank;
    (*comm)->ranks = nranks;
    return hipGetDevice(&(*comm)->device) ? ncclUnhandledCudaError : ncclSuccess;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm)
{
    free(comm);
    return ncclSuccess;
}

ncclResult_t ncclCommCount(const ncclComm_t comm, int *count)
{
    *count = comm->ranks;
    return ncclSuccess;
}

ncclResult_t ncclCommUserRank(const ncclComm_t comm, int *rank)
{
    *rank = comm->rank;
    return ncclSuccess;
}

ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int *device)
{
    *device = comm->device;
    return ncclSuccess;
}

/* Work inside a group starts with its end. */
static _Thread_local struct {
    int depth;
    bool any;
    hipStream_t stream;
} group;

static ncclResult_t work(const void *buffer, ncclComm_t comm, hipStream_t stream)
{
    if (comm == NULL || buffer == NULL)
        return ncclInvalidArgument;
    if (group.depth) {
        group.any = true;
        group.stream = stream;
    } else {
        emuHipWork(stream, WORK_NS);
    }
    return ncclSuccess;
}

ncclResult_t ncclGroupStart(void)
{
    group.depth++;
    return ncclSuccess;
}

ncclResult_t ncclGroupEnd(void)
{
    if (!group.depth)
        return ncclInvalidUsage;
    if (--group.depth == 0 && group.any) {
        group.any = false;
        emuHipWork(group.stream, WORK_NS);
    }
    return ncclSuccess;
}

ncclResult_t ncclAllReduce(const void *sendbuff, void *recvbuff, size_t count,
                           ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
                           hipStream_t stream)
{
    (void)recvbuff, (void)count, (void)datatype, (void)op;
    return work(sendbuff, comm, stream);
}

ncclResult_t ncclAllReduceWithBias(const void *sendbuff, void *recvbuff, size_t count,
                                   ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
                                   hipStream_t stream, const void *acc)
{
    return acc != NULL ? ncclAllReduce(sendbuff, recvbuff, count, datatype, op, comm, stream)
                       : ncclInvalidArgument;
}

ncclResult_t ncclSend(const void *sendbuff, size_t count, ncclDataType_t datatype, int peer,
                      ncclComm_t comm, hipStream_t stream)
{
    (void)count, (void)datatype, (void)peer;
    return work(sendbuff, comm, stream);
}

ncclResult_t ncclRecv(void *recvbuff, size_t count, ncclDataType_t datatype, int peer,
                      ncclComm_t comm, hipStream_t stream)
{
    (void)count, (void)datatype, (void)peer;
    return work(recvbuff, comm, stream);
}

ncclResult_t ncclAllToAll(const void *sendbuff, void *recvbuff, size_t count,
                          ncclDataType_t datatype, ncclComm_t comm, hipStream_t stream)
{
    ncclResult_t result = comm != NULL ? ncclGroupStart() : ncclInvalidArgument;
    for (int i = 0; !result && i < comm->ranks; i++) {
        result = ncclSend(sendbuff, count, datatype, i, comm, stream);
        if (!result)
            result = ncclRecv(recvbuff, count, datatype, i, comm, stream);
    }
    return result ? result : ncclGroupEnd();
}

ncclResult_t ncclAllToAllv(const void *sendbuff, const size_t *sendcounts, const size_t *sdispls,
                           void *recvbuff, const size_t *recvcounts, const size_t *rdispls,
                           ncclDataType_t datatype, ncclComm_t comm, hipStream_t stream)
{
    ncclResult_t result = comm != NULL ? ncclGroupStart() : ncclInvalidArgument;
    const char *from = sendbuff;
    char *to = recvbuff;
    for (int i = 0; !result && i < comm->ranks; i++) {
        result = ncclSend(from + sdispls[i], sendcounts[i], datatype, i, comm, stream);
        if (!result)
            result = ncclRecv(to + rdispls[i], recvcounts[i], datatype, i, comm, stream);
    }
    return result ? result : ncclGroupEnd();
}
