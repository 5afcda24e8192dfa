/* SPDX-License-Identifier: MIT
 *
 * libnccl.so.2: windows and one-sided messages, memory and its registration.
 */
#include <stdlib.h>

#include "group.h"
#include "memory.h"
#include "nccl_call.h"
#include "number.h"

/* ---- one-sided ---- */

struct ncclWindow_vidmem {
    size_t size;
};

NCCL(ncclResult_t, ncclCommWindowRegister,
     (ncclComm_t comm, void *buff, size_t size, ncclWindow_t *win, int winFlags))
{
    EMU_CALL(self);
    ncclResult_t result = comm_check_ready(comm);
    (void)self;
    (void)winFlags;
    if (!result && (buff == NULL || win == NULL))
        result = comm_fail(ncclInvalidArgument, "a window of nothing");
    if (result)
        return result;
    *win = emu_alloc(sizeof(**win));
    (*win)->size = size;
    return ncclSuccess;
}

NCCL(ncclResult_t, ncclCommWindowDeregister, (ncclComm_t comm, ncclWindow_t win))
{
    EMU_CALL(self);
    ncclResult_t result = comm_check_ready(comm);
    (void)self;
    if (!result)
        free(win);
    return result;
}

NCCL(ncclResult_t, ncclPutSignal,
     (const void *localbuff, size_t count, ncclDataType_t datatype, int peer, ncclWindow_t peerWin,
      size_t peerWinOffset, int sigIdx, int ctx, unsigned int flags, ncclComm_t comm,
      cudaStream_t stream))
{
    EMU_CALL(self);
    size_t bytes;
    if (__builtin_mul_overflow(count, number_size((enum number)datatype), &bytes) ||
        peerWin == NULL || peerWinOffset > peerWin->size || bytes > peerWin->size - peerWinOffset ||
        sigIdx || ctx || flags)
        return comm_fail(ncclInvalidArgument, "%zu bytes at %zu of a window", bytes, peerWinOffset);
    return group_task(self, &(struct nccl_task){TASK_PUT, 0, localbuff, NULL, count, datatype, 0,
                                                peer, comm, stream, NULL});
}

NCCL(ncclResult_t, ncclSignal,
     (int peer, int sigIdx, int ctx, unsigned int flags, ncclComm_t comm, cudaStream_t stream))
{
    EMU_CALL(self);
    if (sigIdx || ctx || flags)
        return comm_fail(ncclInvalidArgument, "signal %d of context %d", sigIdx, ctx);
    return group_task(self, &(struct nccl_task){TASK_PUT, 0, NULL, NULL, 0, ncclInt8, 0, peer, comm,
                                                stream, NULL});
}

NCCL(ncclResult_t, ncclWaitSignal,
     (int nDesc, ncclWaitSignalDesc_t *signalDescs, ncclComm_t comm, cudaStream_t stream))
{
    EMU_CALL(self);
    ncclResult_t result = ncclSuccess;
    if (nDesc < 1 || signalDescs == NULL)
        return comm_fail(ncclInvalidArgument, "%d signals to wait for", nDesc);
    for (int i = 0; i < nDesc && !result; i++)
        result = group_task(self, &(struct nccl_task){TASK_AWAIT, 0, NULL, NULL,
                                                      (size_t)signalDescs[i].opCnt, ncclInt8, 0,
                                                      signalDescs[i].peer, comm, stream, NULL});
    return result;
}

/* ---- memory ---- */

NCCL(ncclResult_t, ncclMemAlloc, (void **ptr, size_t size))
{
    EMU_CALL(self);
    if (ptr == NULL || !size)
        return comm_fail(ncclInvalidArgument, "%zu bytes", size);
    if (emu_init() != CUDA_SUCCESS)
        return comm_fail(ncclUnhandledCudaError, "no device");
    *ptr = emu_memory_map(size, MEMORY_DEVICE, emu_context_device(emu_runtime_context(self)));
    return *ptr != NULL ? ncclSuccess : comm_fail(ncclUnhandledCudaError, "out of memory");
}

NCCL(ncclResult_t, ncclMemFree, (void *ptr))
{
    EMU_CALL(self);
    (void)self;
    if (ptr != NULL && emu_memory_unmap(ptr))
        return comm_fail(ncclUnhandledCudaError, "not memory of ncclMemAlloc");
    return ncclSuccess;
}

/* Registered memory is used as any other: the handle stands for nothing. */
NCCL(ncclResult_t, ncclCommRegister,
     (const ncclComm_t comm, void *buff, size_t size, void **handle))
{
    EMU_CALL(self);
    ncclResult_t result = comm_check_ready(comm);
    (void)self;
    if (!result && (buff == NULL || !size || handle == NULL))
        result = comm_fail(ncclInvalidArgument, "%zu bytes to register", size);
    if (!result)
        *handle = emu_alloc(1);
    return result;
}

NCCL(ncclResult_t, ncclCommDeregister, (const ncclComm_t comm, void *handle))
{
    EMU_CALL(self);
    ncclResult_t result = comm_check_ready(comm);
    (void)self;
    if (!result)
        free(handle);
    return result;
}

/* Communication from within kernels is not imitated. */
struct ncclDevComm;
struct ncclDevCommRequirements;

NCCL(ncclResult_t, ncclDevCommCreate,
     (ncclComm_t comm, const struct ncclDevCommRequirements *wanted, struct ncclDevComm *made))
{
    (void)comm;
    (void)wanted;
    (void)made;
    return comm_fail(ncclInvalidUsage, "communication from within kernels is not imitated");
}

NCCL(ncclResult_t, ncclDevCommDestroy, (ncclComm_t comm, const struct ncclDevComm *made))
{
    (void)comm;
    (void)made;
    return comm_fail(ncclInvalidUsage, "communication from within kernels is not imitated");
}

#define EMU_LIBRARY_NCCL
#include "hooks_check.h"
