/* SPDX-License-Identifier: MIT
 *
 * libnccl.so.2: the interface of NCCL 2.28.9, and calls that came later, as far as the hook table
 * and its users need it: communicators. As in the real library ncclCommInitAll calls a public
 * function through the PLT, where a preloaded library sees it. Collectives and messages are in
 * nccl_calls.c, windows and memory in nccl_memory.c.
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
#include "nccl_call.h"
#include "number.h"
#include "profiler.h"

/* Real time that ncclCommGetAsyncError waits for members to come before it says that the
 * communicator is still in progress; within it the answer depends on virtual time only. */
#define POLL_PATIENCE_NS 2000000000u

/* The first bytes of a unique id; the rest is filler. */
struct unique_id {
    uint64_t key;
    int32_t root_pid;
    uint32_t zero; /* where padding would differ from run to run */
};

/* ---- ids, versions, texts ---- */

NCCL(ncclResult_t, ncclGetVersion, (int *version))
{
    EMU_CALL(self);
    (void)self;
    if (version == NULL)
        return ncclInvalidArgument;
    *version = NCCL_VERSION_CODE;
    return ncclSuccess;
}

static uint64_t random_key(void)
{
    uint64_t key = 0;
    int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    if (fd < 0 || read(fd, &key, sizeof key) != sizeof key)
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
    struct unique_id id = {0, (int32_t)getpid(), 0};
    EMU_CALL(self);
    (void)self;
    if (uniqueId == NULL)
        return ncclInvalidArgument;
    if (dir != NULL && *dir) {
        id.key = emu_hash(emu_hash(emu_fabric()->seed, (uint64_t)emu_rank()),
                          atomic_fetch_add(&made, 1));
        id.root_pid = 0;
    } else {
        id.key = random_key();
        names_sweep();
    }
    for (size_t i = 0; i < sizeof uniqueId->internal; i++)
        uniqueId->internal[i] = (char)emu_hash(id.key, i);
    memcpy(uniqueId->internal, &id, sizeof id);
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
    struct comm_options options = {0};
    ncclResult_t result;
    struct emu_job *job;
    struct unique_id id;
    if (out == NULL || ranks < 1 || rank < 0 || rank >= ranks)
        return comm_fail(ncclInvalidArgument, "rank %d of %d", rank, ranks);
    result = job_config(config, &options);
    if (result)
        return result;
    if (emu_init() != CUDA_SUCCESS)
        return comm_fail(ncclUnhandledCudaError, "no device");
    memcpy(&id, unique->internal, sizeof id);
    job = job_init(out, ranks, rank, id.key, id.root_pid,
                   emu_context_device(emu_runtime_context(self)));
    job->comm->options = options;
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

static bool lists_twice(const int *devices, int count)
{
    for (int i = 0; i < count; i++)
        for (int j = 0; j < i; j++)
            if (devices[i] == devices[j])
                return true;
    return false;
}

NCCL(ncclResult_t, ncclCommInitAll, (ncclComm_t * comm, int ndev, const int *devlist))
{
    EMU_CALL(self);
    struct emu_job **jobs;
    ncclResult_t result;
    ncclUniqueId unique;
    struct unique_id id;
    if (comm == NULL || ndev < 1 || emu_init() != CUDA_SUCCESS ||
        (devlist == NULL && ndev > emu_device_count()))
        return comm_fail(ncclInvalidArgument, "%d devices", ndev);
    if (devlist != NULL && lists_twice(devlist, ndev))
        return comm_fail(ncclInvalidUsage, "a device is listed twice");
    result = ncclGetUniqueId(&unique);
    memcpy(&id, unique.internal, sizeof id);
    jobs = emu_alloc((size_t)ndev * sizeof(struct emu_job *));
    for (int i = 0; i < ndev && !result; i++) {
        jobs[i] =
            job_init(&comm[i], ndev, i, id.key, id.root_pid, devlist != NULL ? devlist[i] : i);
        jobs[i]->comm->hash = profiler_hash(&unique);
        result = job_arrive(jobs[i], self, 0);
    }
    for (int i = 0; i < ndev && !result; i++)
        result = job_finish(jobs[i], self);
    free(jobs);
    return result;
}

/* As the real one, all ids in their order; the first says where members meet. */
NCCL(ncclResult_t, ncclCommInitRankScalable,
     (ncclComm_t * newcomm, int nranks, int myrank, int nId, ncclUniqueId *commIds,
      ncclConfig_t *config))
{
    EMU_CALL(self);
    ncclUniqueId all;
    struct unique_id id;
    if (nId < 1 || nId > nranks || commIds == NULL)
        return comm_fail(ncclInvalidArgument, "%d ids for %d ranks", nId, nranks);
    all = commIds[0];
    memcpy(&id, all.internal, sizeof id);
    for (int i = 1; i < nId; i++) {
        struct unique_id other;
        memcpy(&other, commIds[i].internal, sizeof other);
        id.key = emu_hash(id.key, other.key);
    }
    memcpy(all.internal, &id, sizeof id);
    return init_rank(self, newcomm, nranks, &all, myrank, config);
}

NCCL(ncclResult_t, ncclCommSplit,
     (ncclComm_t comm, int color, int key, ncclComm_t *newcomm, ncclConfig_t *config))
{
    EMU_CALL(self);
    ncclResult_t result = comm_check_ready(comm);
    struct comm_options options;
    struct emu_job *job;
    if (result)
        return result;
    if (newcomm == NULL || (color < 0 && color != NCCL_SPLIT_NOCOLOR))
        return comm_fail(ncclInvalidArgument, "color %d", color);
    options = comm->options;
    result = job_config(config, &options);
    if (result)
        return result;
    job = job_split(newcomm, comm, color);
    if (color != NCCL_SPLIT_NOCOLOR) {
        job->comm = comm_new(1, 0, 0, comm->root_pid);
        job->comm->device = comm->device;
        job->comm->context = comm->context;
        job->comm->options = options;
    }
    return group_job(job, self, key);
}

/* One for a growth of a communicator is an id like any other. */
NCCL(ncclResult_t, ncclCommGetUniqueId, (ncclComm_t comm, ncclUniqueId *uniqueId))
{
    EMU_CALL(self);
    ncclResult_t result = comm_check_ready(comm);
    (void)self;
    return result ? result : pncclGetUniqueId(uniqueId);
}

/* Returns how many of the listed ranks come before `rank`; -1 where `rank` is in the list. */
static int listed_before(const int *list, int count, int rank)
{
    int before = 0;
    for (int i = 0; i < count; i++) {
        if (list[i] == rank)
            return -1;
        before += list[i] < rank;
    }
    return before;
}

/* A communicator from another one, with the same ways unless the caller asks for others. */
static ncclResult_t derive_config(const struct ncclComm *parent, const ncclConfig_t *config,
                                  struct comm_options *options)
{
    *options = parent->options;
    return job_config(config, options);
}

NCCL(ncclResult_t, ncclCommShrink,
     (ncclComm_t comm, int *excludeRanksList, int excludeRanksCount, ncclComm_t *newcomm,
      ncclConfig_t *config, int shrinkFlags))
{
    EMU_CALL(self);
    ncclResult_t result = comm_check_ready(comm);
    uint64_t left_out = 0;
    struct comm_options options;
    struct emu_job *job;
    int before;
    if (result || (result = derive_config(comm, config, &options)))
        return result;
    if (newcomm == NULL || excludeRanksList == NULL || excludeRanksCount < 1 ||
        excludeRanksCount >= comm->ranks)
        return comm_fail(ncclInvalidArgument, "%d ranks to leave out", excludeRanksCount);
    before = listed_before(excludeRanksList, excludeRanksCount, comm->rank);
    if (before < 0)
        return comm_fail(ncclInvalidArgument, "rank %d leaves itself out", comm->rank);
    if (shrinkFlags & NCCL_SHRINK_ABORT)
        comm_revoke(comm, self);
    for (int i = 0; i < excludeRanksCount; i++)
        left_out += emu_hash(1, (uint64_t)excludeRanksList[i]);
    job = job_init(newcomm, comm->ranks - excludeRanksCount, comm->rank - before,
                   emu_hash(comm->key, left_out), comm->root_pid, comm->device);
    job->comm->options = options;
    return group_job(job, self, 0);
}

NCCL(ncclResult_t, ncclCommGrow,
     (ncclComm_t comm, int nRanks, const ncclUniqueId *uniqueId, int rank, ncclComm_t *newcomm,
      ncclConfig_t *config))
{
    EMU_CALL(self);
    ncclResult_t result;
    struct unique_id id = {0, 0, 0};
    struct comm_options options;
    struct emu_job *job;
    if (comm == NULL && uniqueId != NULL)
        return init_rank(self, newcomm, nRanks, uniqueId, rank, config);
    result = comm_check_ready(comm);
    if (result || (result = derive_config(comm, config, &options)))
        return result;
    if (newcomm == NULL || rank != -1 || nRanks <= comm->ranks)
        return comm_fail(ncclInvalidArgument, "growth to %d ranks", nRanks);
    if (uniqueId != NULL)
        memcpy(&id, uniqueId->internal, sizeof id);
    job = job_grow(newcomm, comm, nRanks, id.key, id.root_pid);
    job->comm = comm_new(1, 0, 0, comm->root_pid);
    job->comm->device = comm->device;
    job->comm->context = comm->context;
    job->comm->options = options;
    return group_job(job, self, 0);
}

NCCL(ncclResult_t, ncclCommRevoke, (ncclComm_t comm, int revokeFlags))
{
    EMU_CALL(self);
    ncclResult_t result = comm_check_ready(comm);
    if (!result && revokeFlags != NCCL_REVOKE_DEFAULT)
        result = comm_fail(ncclInvalidArgument, "flags %d", revokeFlags);
    if (!result)
        comm_revoke(comm, self);
    return result;
}

NCCL(ncclResult_t, ncclCommSuspend, (ncclComm_t comm, int flags))
{
    EMU_CALL(self);
    ncclResult_t result = comm_check_ready(comm);
    (void)flags;
    if (result)
        return result;
    comm_drain(comm, self);
    comm->suspended = true;
    return ncclSuccess;
}

NCCL(ncclResult_t, ncclCommResume, (ncclComm_t comm))
{
    EMU_CALL(self);
    ncclResult_t result = comm_check_ready(comm);
    (void)self;
    if (!result)
        comm->suspended = false;
    return result;
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
    if (asyncError == NULL)
        return comm_fail(ncclInvalidArgument, "a place for the error is NULL");
    if (comm->job != NULL && !self->observer)
        poll_job(comm, self);
    *asyncError = (ncclResult_t)atomic_load(&comm->error);
    if (*asyncError == ncclSuccess && (comm->job != NULL || comm->ready_at > self->clock))
        *asyncError = ncclInProgress;
    return ncclSuccess;
}

NCCL(ncclResult_t, ncclCommFinalize, (ncclComm_t comm))
{
    EMU_CALL(self);
    ncclResult_t result;
    if (comm == NULL)
        return ncclSuccess;
    result = comm_check_ready(comm);
    if (!result && comm->finalized)
        result = comm_fail(ncclInvalidArgument, "communicator is finalized already");
    if (result)
        return result;
    comm->finalized = true;
    comm_drain(comm, self);
    return ncclSuccess;
}

NCCL(ncclResult_t, ncclCommDestroy, (ncclComm_t comm))
{
    EMU_CALL(self);
    ncclResult_t result;
    if (comm == NULL)
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
    if (comm == NULL)
        return ncclSuccess;
    result = comm_check(comm);
    if (result)
        return result;
    if (comm->job != NULL) {
        atomic_store(&comm->aborted, true);
        job_free(comm->job);
        comm->job = NULL;
    } else {
        comm_abort(comm, self);
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
        if (!result && !value)                                   \
            result = comm_fail(ncclInvalidArgument, "NULL");     \
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
    struct premul *grown;
    (void)self;
    (void)residence; /* device memory is memory here */
    if (result)
        return result;
    grown = realloc(comm->premul, ((size_t)comm->premul_count + 1) * sizeof *grown);
    if (grown == NULL)
        return ncclSystemError;
    comm->premul = grown;
    grown[comm->premul_count] =
        (struct premul){number_get(scalar, 0, (enum number)datatype), false};
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
    if (!result && !comm_knows(comm, (int)op))
        result = comm_fail(ncclInvalidArgument, "operator %d is not there", (int)op);
    if (!result)
        comm->premul[(int)op - ncclNumOps].destroyed = true;
    return result;
}

#define EMU_LIBRARY_NCCL
#include "hooks_check.h"
