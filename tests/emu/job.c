/* SPDX-License-Identifier: MIT
 *
 * See job.h.
 */
#include "job.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "fabric.h"
#include "hash.h"
#include "profiler.h"

/* True where the configuration has the field, and it is set. */
#define SET(_config, _field)                                                          \
    ((_config)->size >= offsetof(ncclConfig_t, _field) + sizeof((_config)->_field) && \
     (_config)->_field != NCCL_CONFIG_UNDEF_INT)

static ncclResult_t check_limits(const ncclConfig_t *c)
{
    bool least = SET(c, minCTAs), most = SET(c, maxCTAs);
    if ((least && c->minCTAs <= 0) || (most && c->maxCTAs <= 0) ||
        (least && most && c->minCTAs > c->maxCTAs))
        return comm_fail(ncclInvalidArgument, "minCTAs or maxCTAs");
    if (SET(c, splitShare) && c->splitShare != 0 && c->splitShare != 1)
        return comm_fail(ncclInvalidArgument, "splitShare is %d", c->splitShare);
    return ncclSuccess;
}

ncclResult_t job_config(const ncclConfig_t *config, struct comm_options *options)
{
    if (config == NULL)
        return ncclSuccess;
    if (config->magic != 0xcafebeef || config->size < offsetof(ncclConfig_t, cgaClusterSize))
        return comm_fail(ncclInvalidArgument, "ncclConfig_t is not initialised");
    if (check_limits(config))
        return ncclInvalidArgument;
    if (SET(config, minCTAs))
        options->ctas_min = config->minCTAs;
    if (SET(config, maxCTAs))
        options->ctas_max = config->maxCTAs;
    if (config->blocking == NCCL_CONFIG_UNDEF_INT)
        return ncclSuccess;
    if (config->blocking != 0 && config->blocking != 1)
        return comm_fail(ncclInvalidArgument, "blocking is %d", config->blocking);
    options->nonblocking = config->blocking == 0;
    return ncclSuccess;
}

struct emu_job *job_init(ncclComm_t *out, int ranks, int rank, uint64_t key, pid_t root_pid,
                         int device)
{
    struct emu_job *job = emu_alloc(sizeof *job);
    job->comm = comm_new(ranks, rank, key, root_pid);
    job->comm->device = device;
    job->comm->context = emu_primary(device);
    job->out = out;
    return job;
}

struct emu_job *job_split(ncclComm_t *out, struct ncclComm *parent, int color)
{
    struct emu_job *job = emu_alloc(sizeof *job);
    job->parent = parent;
    job->out = out;
    job->color = color;
    job->number = parent->splits++;
    atomic_fetch_add(&parent->refs, 1);
    return job;
}

struct emu_job *job_grow(ncclComm_t *out, struct ncclComm *parent, int ranks, uint64_t key,
                         pid_t root_pid)
{
    struct emu_job *job = job_split(out, parent, 0);
    job->grown = ranks;
    job->grown_key = key;
    job->grown_pid = root_pid;
    return job;
}

ncclResult_t job_arrive(struct emu_job *job, struct emu_thread *self, int key)
{
    struct split *mine;
    _Atomic uint32_t *bell;
    job->arrived = true;
    if (job->parent == NULL)
        return comm_attach(job->comm, self);
    mine = segment_split(job->parent->segment, job->number, (unsigned)job->parent->rank);
    mine->clock = self->clock;
    mine->color = job->color;
    mine->key = key;
    mine->grown_key = job->grown_key;
    mine->grown_pid = job->grown_pid;
    atomic_store(&mine->came, job->number + 1);
    bell = segment_split_bell(job->parent->segment);
    atomic_fetch_add(bell, 1);
    segment_wake(bell);
    return ncclSuccess;
}

static bool all_here(const struct emu_job *job)
{
    if (job->parent == NULL)
        return segment_complete(job->comm->segment);
    for (unsigned i = 0; i < (unsigned)job->parent->ranks; i++)
        if (atomic_load(&segment_split(job->parent->segment, job->number, i)->came) !=
            job->number + 1)
            return false;
    return true;
}

/* A member that came and died, or a parent's member that died before it came to the split. */
static bool member_gone(const struct emu_job *job)
{
    const struct ncclComm *comm = job->parent != NULL ? job->parent : job->comm;
    for (unsigned i = 0; i < (unsigned)comm->ranks; i++) {
        if (job->parent != NULL &&
            atomic_load(&segment_split(comm->segment, job->number, i)->came) == job->number + 1)
            continue;
        if (!segment_gone(comm->segment, i) || all_here(job))
            continue;
        fprintf(stderr, "emu: rank %d: rank %u is gone while a communicator is made\n", comm->rank,
                i);
        return true;
    }
    return false;
}

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static ncclResult_t wait_for_members(const struct emu_job *job, uint64_t patience_ns)
{
    struct segment *s = job->parent != NULL ? job->parent->segment : job->comm->segment;
    _Atomic uint32_t *bell = job->parent != NULL ? segment_split_bell(s) : segment_member_bell(s);
    uint64_t begun = now_ns();
    for (;;) {
        uint32_t seen = atomic_load(bell);
        if (all_here(job))
            return ncclSuccess;
        if (patience_ns != EMU_FOREVER && now_ns() - begun >= patience_ns)
            return ncclInProgress;
        segment_sleep(bell, seen);
        if (atomic_load(bell) == seen && member_gone(job))
            return comm_fail(ncclRemoteError, "a member is gone");
    }
}

/* Members of a color stand by key, then by their rank in the parent. */
static void find_place(const struct emu_job *job, int *ranks, int *rank)
{
    const struct ncclComm *parent = job->parent;
    int key = segment_split(parent->segment, job->number, (unsigned)parent->rank)->key;
    *ranks = *rank = 0;
    for (int i = 0; i < parent->ranks; i++) {
        const struct split *s = segment_split(parent->segment, job->number, (unsigned)i);
        if (s->color != job->color)
            continue;
        ++*ranks;
        *rank += s->key < key || (s->key == key && i < parent->rank);
    }
}

/* The nodes of a color, by the hosts of the parent's members: not all may have come to the child
 * yet. */
static unsigned count_nodes(const struct emu_job *job)
{
    struct segment *s = job->parent->segment;
    bool *seen = emu_alloc((size_t)job->parent->ranks * sizeof *seen);
    unsigned nodes = 0;
    for (unsigned i = 0; i < (unsigned)job->parent->ranks; i++) {
        if (segment_split(s, job->number, i)->color != job->color)
            continue;
        unsigned node = segment_node(s, i);
        nodes += !seen[node];
        seen[node] = true;
    }
    free(seen);
    return nodes;
}

static ncclResult_t open_child(struct emu_job *job, struct emu_thread *self)
{
    const struct ncclComm *parent = job->parent;
    uint64_t id = emu_hash(emu_hash(parent->key, job->number), (uint64_t)job->color);
    struct ncclComm *child = job->comm;
    int ranks, rank;
    find_place(job, &ranks, &rank);
    if (comm_count_peers(child, ranks))
        return ncclSystemError;
    child->ranks = ranks;
    child->rank = rank;
    child->key = id;
    child->hash = emu_hash(id, 1);
    atomic_store(&child->nodes, count_nodes(job));
    return comm_attach(child, self);
}

/* Members keep their ranks; the root has told the others where those that join will come. */
static ncclResult_t open_grown(struct emu_job *job, struct emu_thread *self)
{
    struct ncclComm *parent = job->parent, *child = job->comm;
    ncclResult_t result;
    for (int i = 0; i < parent->ranks; i++) {
        const struct split *s = segment_split(parent->segment, job->number, (unsigned)i);
        if (!s->grown_key)
            continue;
        child->key = s->grown_key;
        child->root_pid = s->grown_pid;
    }
    child->ranks = job->grown;
    child->rank = parent->rank;
    if (!child->key || comm_count_peers(child, child->ranks))
        return comm_fail(ncclInvalidUsage, "no member gave a unique id");
    result = comm_attach(child, self);
    while (!result && !segment_complete(child->segment)) {
        _Atomic uint32_t *bell = segment_member_bell(child->segment);
        uint32_t seen = atomic_load(bell);
        if (!segment_complete(child->segment))
            segment_sleep(bell, seen);
    }
    return result;
}

uint64_t job_end(const struct emu_job *job)
{
    const struct emu_fabric *f = emu_fabric();
    const struct ncclComm *comm = job->parent != NULL ? job->parent : job->comm;
    uint64_t last = 0;
    for (unsigned i = 0; i < (unsigned)comm->ranks; i++) {
        uint64_t clock = job->parent != NULL ? segment_split(comm->segment, job->number, i)->clock
                                             : segment_member(comm->segment, i)->init_clock;
        last = clock > last ? clock : last;
    }
    return last + (job->parent != NULL ? f->comm_split_ns : f->comm_init_ns);
}

/* Two ranks of a node may not share a device. */
static ncclResult_t own_device(const struct ncclComm *comm)
{
    int other = segment_beside(comm->segment);
    if (other < 0)
        return ncclSuccess;
    return comm_fail(ncclInvalidUsage,
                     "Duplicate GPU detected : rank %d and rank %d both on CUDA device %x",
                     comm->rank, other, emu_device_bus(comm->device) << 12);
}

ncclResult_t job_complete(struct emu_job *job, struct emu_thread *self, uint64_t patience_ns)
{
    ncclResult_t result = wait_for_members(job, patience_ns);
    if (!result && job->parent != NULL && job->comm != NULL)
        result = job->grown ? open_grown(job, self) : open_child(job, self);
    if (!result && (job->parent == NULL || job->grown))
        result = own_device(job->comm);
    return result;
}

/* A job on a non-blocking communicator goes on behind the caller's back. */
static ncclResult_t start_nonblocking(struct emu_job *job)
{
    *job->out = job->comm;
    if (job->comm == NULL) {
        job_free(job);
        return ncclInProgress;
    }
    job->comm->job = job;
    return ncclInProgress;
}

static ncclResult_t finish_blocking(struct emu_job *job, struct emu_thread *self)
{
    ncclResult_t result = job_complete(job, self, EMU_FOREVER);
    if (result) {
        comm_unref(job->comm);
        *job->out = NULL;
    } else {
        *job->out = job->comm;
        if (job->comm != NULL)
            profiler_begin(job->comm);
        if (!emu_real_clock())
            emu_advance(self, job_end(job));
    }
    job_free(job);
    return result;
}

ncclResult_t job_finish(struct emu_job *job, struct emu_thread *self)
{
    bool nonblocking =
        job->comm != NULL ? job->comm->options.nonblocking : job->parent->options.nonblocking;
    return nonblocking ? start_nonblocking(job) : finish_blocking(job, self);
}

void job_free(struct emu_job *job)
{
    if (job->parent != NULL)
        comm_unref(job->parent);
    free(job);
}
