/* SPDX-License-Identifier: MIT
 *
 * Making of communicators. A job is one pending ncclCommInitRank, ncclCommSplit or ncclCommGrow: it
 * arrives at once, so that several in one group do not wait for each other, and completes when all
 * members have come. A shrink is an init whose key all that remain compute alike.
 */
#ifndef EMU_JOB_H
#define EMU_JOB_H

#include "comm.h"

struct emu_job {
    struct ncclComm *comm;   /* to be made; NULL for a split without a color */
    struct ncclComm *parent; /* of a split or growth; counted; NULL otherwise */
    ncclComm_t *out;
    uint64_t number; /* of the split or growth, on its parent */
    int color;
    int grown;          /* growth: ranks of what is made; 0 otherwise */
    uint64_t grown_key; /* growth: of what is made, at the root; else 0 */
    pid_t grown_pid;
    bool arrived;
    struct emu_job *next;
};

/* Reads what the options have of it, as far as the caller's version of the struct reaches; what is
 * not set stays as it was. */
ncclResult_t job_config(const ncclConfig_t *config, struct comm_options *options);

struct emu_job *job_init(ncclComm_t *out, int ranks, int rank, uint64_t key, pid_t root_pid,
                         int device);
struct emu_job *job_split(ncclComm_t *out, struct ncclComm *parent, int color);

/* For a member of the parent; those that join call job_init() with the same key. key: 0 for all but
 * the root, which got it from the caller. */
struct emu_job *job_grow(ncclComm_t *out, struct ncclComm *parent, int ranks, uint64_t key,
                         pid_t root_pid);

ncclResult_t job_arrive(struct emu_job *job, struct emu_thread *self, int key);

/* Waits for the members, for at most `patience_ns` of real time; then opens what a split made, and
 * joins the caller's clock. ncclInProgress: not all have come. */
ncclResult_t job_complete(struct emu_job *job, struct emu_thread *self, uint64_t patience_ns);

/* The host time at which a completed job is over. */
uint64_t job_end(const struct emu_job *job);

/* Completes a job and writes the handle; of a non-blocking communicator, writes the handle and lets
 * ncclCommGetAsyncError complete it. Takes the job. */
ncclResult_t job_finish(struct emu_job *job, struct emu_thread *self);

void job_free(struct emu_job *job);

#endif
