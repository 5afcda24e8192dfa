/* SPDX-License-Identifier: MIT
 *
 * Communicators: their memory, shared and own.
 */
#include "comm.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "fabric.h"
#include "hash.h"
#include "names.h"
#include "stall.h"

/* Shared bytes of all members' posts together, so that many ranks do not take much memory. */
#define POSTS_BYTES (4u << 20)
#define MESSAGE_BYTES 65536u

static _Thread_local char last_error[256];

ncclResult_t comm_fail(ncclResult_t result, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(last_error, sizeof last_error, fmt, ap);
    va_end(ap);
    return result;
}

const char *comm_last_error(void)
{
    return last_error;
}

ncclResult_t comm_check(const struct ncclComm *comm)
{
    if (comm == NULL || comm->magic != COMM_MAGIC)
        return comm_fail(ncclInvalidArgument, "invalid communicator");
    return ncclSuccess;
}

bool comm_knows(const struct ncclComm *comm, int op)
{
    if (op < ncclNumOps)
        return op >= 0;
    return op < ncclNumOps + comm->premul_count && !comm->premul[op - ncclNumOps].destroyed;
}

ncclResult_t comm_check_ready(const struct ncclComm *comm)
{
    ncclResult_t result = comm_check(comm);
    if (!result && comm->job != NULL)
        result = comm_fail(ncclInvalidArgument, "communicator is still in progress");
    return result;
}

void names_segment(char *path, size_t size, uint64_t key, pid_t root_pid)
{
    const char *dir = secure_getenv("EMU_DIR");
    if (dir != NULL && *dir)
        snprintf(path, size, "%s/comm-%016llx", dir, (unsigned long long)key);
    else
        snprintf(path, size, "/dev/shm/emu-%d-%016llx", (int)root_pid, (unsigned long long)key);
}

/* Ours, a minute old, and made for a process that is gone. */
static bool left_over(int dir, const char *name)
{
    struct stat st;
    int pid;
    if (sscanf(name, "emu-%d-", &pid) != 1 || fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return false;
    return S_ISREG(st.st_mode) && st.st_uid == geteuid() && time(NULL) - st.st_mtime > 60 &&
           kill(pid, 0) != 0 && errno == ESRCH;
}

void names_sweep(void)
{
    DIR *dir = opendir("/dev/shm");
    struct dirent *entry;
    if (dir == NULL)
        return;
    while ((entry = readdir(dir)) != NULL)
        if (left_over(dirfd(dir), entry->d_name))
            unlinkat(dirfd(dir), entry->d_name, 0);
    closedir(dir);
}

static bool grow_counts(uint32_t **counts, int ranks)
{
    uint32_t *grown = realloc(*counts, (size_t)ranks * sizeof *grown);
    if (grown == NULL)
        return false;
    memset(grown, 0, (size_t)ranks * sizeof *grown);
    *counts = grown;
    return true;
}

int comm_count_peers(struct ncclComm *comm, int ranks)
{
    bool made = grow_counts(&comm->sent, ranks) && grow_counts(&comm->received, ranks) &&
                grow_counts(&comm->awaited, ranks);
    return made ? 0 : -1;
}

struct ncclComm *comm_new(int ranks, int rank, uint64_t key, pid_t root_pid)
{
    struct ncclComm *comm = emu_alloc(sizeof *comm);
    comm->magic = COMM_MAGIC;
    atomic_init(&comm->refs, 1);
    comm->ranks = ranks;
    comm->rank = rank;
    comm->key = key;
    comm->root_pid = root_pid;
    if (comm_count_peers(comm, ranks))
        emu_die("out of memory");
    pthread_mutex_init(&comm->lock, NULL);
    pthread_cond_init(&comm->turn, NULL);
    return comm;
}

void comm_unref(struct ncclComm *comm)
{
    if (comm == NULL || atomic_fetch_sub(&comm->refs, 1) != 1)
        return;
    if (comm->published.clock != NULL) {
        emu_unpublish(&comm->published);
        stall_leave(comm);
    }
    segment_close(comm->segment);
    pthread_mutex_destroy(&comm->lock);
    pthread_cond_destroy(&comm->turn);
    free(comm->sent);
    free(comm->received);
    free(comm->awaited);
    free(comm->premul);
    comm->magic = 0;
    free(comm);
}

/* By the place in the job; of a process that is no rank, by that in the communicator. */
static unsigned node_of(const struct ncclComm *comm)
{
    return emu_rank() >= 0 ? emu_node()
                           : (unsigned)comm->rank / (unsigned)emu_fabric()->gpus_per_node;
}

/* Returns the identity of a node: by NCCL_HOSTID where it is set, as NCCL does, else the node. */
static uint64_t host_of(const struct ncclComm *comm)
{
    const char *id = secure_getenv("NCCL_HOSTID");
    uint64_t host = 1;
    if (id == NULL || !*id)
        return node_of(comm);
    for (; *id; id++)
        host = emu_hash(host, (unsigned char)*id);
    return host;
}

ncclResult_t comm_attach(struct ncclComm *comm, struct emu_thread *self)
{
    size_t head = POSTS_BYTES / (unsigned)comm->ranks;
    ncclResult_t result =
        tuning_read(&comm->tuning, comm->options.ctas_min, comm->options.ctas_max);
    struct segment_member *m;
    char path[4096];
    if (result)
        return result;
    if (head > emu_fabric()->head_bytes)
        head = (size_t)emu_fabric()->head_bytes;
    head = head & ~(size_t)255 ? head & ~(size_t)255 : 256;
    names_segment(path, sizeof path, comm->key, comm->root_pid);
    comm->segment = segment_open(path, (unsigned)comm->ranks, (unsigned)comm->rank, head,
                                 head < MESSAGE_BYTES ? head : MESSAGE_BYTES);
    if (comm->segment == NULL)
        return comm_fail(ncclSystemError, "cannot share '%s': %s", path, strerror(errno));
    m = segment_member(comm->segment, (unsigned)comm->rank);
    comm->published.clock = &m->clock;
    comm->published.blocked = &m->blocked;
    segment_arrive(comm->segment, self->clock, host_of(comm), emu_device_bus(comm->device),
                   node_of(comm) * (unsigned)emu_fabric()->gpus_per_node +
                       emu_device_place(comm->device));
    emu_publish(&comm->published, self);
    stall_join(comm);
    return ncclSuccess;
}

void comm_drain(struct ncclComm *comm, struct emu_thread *self)
{
    int cancelling;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelling); /* never with the lock */
    pthread_mutex_lock(&comm->lock);
    while (comm->serving != comm->tickets)
        pthread_cond_wait(&comm->turn, &comm->lock);
    pthread_mutex_unlock(&comm->lock);
    pthread_setcancelstate(cancelling, NULL);
    if (!emu_real_clock())
        emu_advance(self, comm->last_end);
}

static bool is_busy(struct ncclComm *comm)
{
    bool busy;
    pthread_mutex_lock(&comm->lock);
    busy = comm->serving != comm->tickets;
    pthread_mutex_unlock(&comm->lock);
    return busy;
}

/* A kernel that looked just before the flag was set, and slept after it was woken, is woken again.
 */
static void wake_kernels(struct ncclComm *comm, struct emu_thread *self)
{
    while (is_busy(comm)) {
        segment_wake(&segment_slot(comm->segment, 0)->settled);
        segment_wake(&segment_slot(comm->segment, 1)->settled);
        segment_wake(&segment_member(comm->segment, (unsigned)comm->rank)->bell);
        usleep(200);
    }
    comm_drain(comm, self);
}

void comm_revoke(struct ncclComm *comm, struct emu_thread *self)
{
    comm->revoked_at = self->clock;
    atomic_store(&comm->revoked, true);
    wake_kernels(comm, self);
}

void comm_abort(struct ncclComm *comm, struct emu_thread *self)
{
    atomic_store(&comm->aborted, true);
    wake_kernels(comm, self);
}
