/* SPDX-License-Identifier: MIT
 *
 * See group.h.
 */
#include "group.h"

#include <stdlib.h>

#include "fabric.h"
#include "launch.h"
#include "lane.h"
#include "number.h"
#include "profiler.h"

/* The group of the calling thread. */
struct thread_group {
    unsigned depth;
    struct emu_job *jobs, **last_job;
    struct nccl_task *tasks;
    unsigned count, room;
    ncclResult_t error;
};

static _Thread_local struct thread_group group;

/* The streams of one communicator's tasks: the first gets the kernel, the others wait for it, and
 * it for what they hold. */
static ncclResult_t join_streams(struct emu_thread *self, const struct nccl_launch *l, bool before)
{
    struct CUstream_st *first, *other;
    for (unsigned i = 1; i < l->count; i++) {
        if (l->tasks[i].stream == l->tasks[0].stream)
            continue;
        if (emu_stream_find(self, l->tasks[0].stream, l->comm->context, &first) ||
            emu_stream_find(self, l->tasks[i].stream, l->comm->context, &other) ||
            emu_stream_follow(self, before ? first : other, before ? other : first))
            return comm_fail(ncclUnhandledCudaError, "invalid stream");
    }
    return ncclSuccess;
}

/* Takes the work. */
static ncclResult_t submit(struct emu_thread *self, struct emu_work *work, uint64_t at)
{
    const struct nccl_launch *l = work->data;
    ncclResult_t result = join_streams(self, l, true);
    struct CUstream_st *stream;
    if (!result && emu_stream_find(self, l->tasks[0].stream, l->comm->context, &stream))
        result = comm_fail(ncclUnhandledCudaError, "invalid stream");
    if (!result && emu_submit(self, stream, emu_work_ref(work), at))
        result = comm_fail(ncclUnhandledCudaError, "the stream does not take work");
    if (!result)
        result = join_streams(self, l, false);
    emu_work_unref(work);
    return result;
}

static void submit_late(struct emu_thread *self, void *work)
{
    const struct nccl_launch *l = ((struct emu_work *)work)->data;
    submit(self, work, l->comm->ready_at);
}

static bool is_captured(struct emu_thread *self, const struct nccl_task *t)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    return !emu_capture_status(self, t->stream, &status) && status != CU_STREAM_CAPTURE_STATUS_NONE;
}

/* One kernel for tasks of one communicator; takes them.
 *
 * A blocking communicator launches now. A non-blocking one launches from a thread of its own in the
 * real library, after the call has returned; here that is at the caller's next call, which is also
 * later than anything that a tracer does in this one, and not left to chance. */
static ncclResult_t launch(struct emu_thread *self, struct nccl_task *tasks, unsigned count)
{
    struct ncclComm *comm = tasks[0].comm;
    struct nccl_launch *l = emu_alloc(sizeof *l);
    struct emu_work *work;
    *l = (struct nccl_launch){comm, tasks, count, is_captured(self, &tasks[0])};
    atomic_fetch_add(&comm->refs, 1);
    emu_unpublish(&comm->published);
    emu_publish(&comm->published, self);
    work = emu_work_new(&launch_kind, l);
    if (!comm->options.nonblocking) {
        if (!l->captured)
            profiler_launch(l);
        return submit(self, work, self->clock);
    }
    if (!l->captured)
        profiler_launch_elsewhere(l);
    comm->ready_at = self->clock + emu_fabric()->async_launch_ns;
    emu_defer(self, submit_late, work);
    return ncclInProgress;
}

/* Takes the tasks of the first communicator out of the group, in order. */
static struct nccl_task *take_tasks(struct thread_group *g, unsigned *count)
{
    struct nccl_task *taken = emu_alloc(g->count * sizeof *taken);
    struct ncclComm *comm = g->tasks[0].comm;
    unsigned kept = 0;
    *count = 0;
    for (unsigned i = 0; i < g->count; i++)
        if (g->tasks[i].comm == comm)
            taken[(*count)++] = g->tasks[i];
        else
            g->tasks[kept++] = g->tasks[i];
    g->count = kept;
    return taken;
}

static void worse(ncclResult_t *result, ncclResult_t other)
{
    if (*result == ncclSuccess || (*result == ncclInProgress && other != ncclSuccess))
        *result = other;
}

/* A message of a rank to itself has its other half in the same group. */
static ncclResult_t check_own_messages(const struct thread_group *g)
{
    for (unsigned i = 0; i < g->count; i++) {
        const struct nccl_task *t = &g->tasks[i];
        unsigned sends = 0, receives = 0;
        if ((t->kind != TASK_SEND && t->kind != TASK_RECV) || t->root != t->comm->rank)
            continue;
        for (unsigned j = 0; j < g->count; j++) {
            const struct nccl_task *other = &g->tasks[j];
            if (other->comm != t->comm || other->root != t->root)
                continue;
            sends += other->kind == TASK_SEND;
            receives += other->kind == TASK_RECV;
        }
        if (sends != receives)
            return comm_fail(ncclInvalidUsage, "a message to oneself without its other half");
    }
    return ncclSuccess;
}

/* Returns an error where the algorithms and protocols that the program forces leave a collective of
 * the group none. */
static ncclResult_t check_choices(const struct thread_group *g)
{
    ncclResult_t result = ncclSuccess;
    struct run_method choice;
    for (unsigned i = 0; i < g->count && !result; i++)
        if (g->tasks[i].kind == TASK_COLLECTIVE && !tuning_is_free(&g->tasks[i].comm->tuning))
            result = launch_choose(&g->tasks[i], &choice);
    return result;
}

static ncclResult_t run_group(struct emu_thread *self)
{
    ncclResult_t result;
    if (!group.error)
        group.error = check_own_messages(&group);
    if (!group.error)
        group.error = check_choices(&group);

    if (group.count && !group.error && emu_init()) /* in a forked child the driver is no more */
        group.error = comm_fail(ncclUnhandledCudaError, "initialization error");
    result = group.error;
    for (struct emu_job *job = group.jobs, *next; job != NULL; job = next) {
        next = job->next;
        job->next = NULL;
        worse(&result, job_finish(job, self));
    }
    group.jobs = NULL;
    if (group.error)
        group.count = 0; /* nothing of a group with a bad call is launched */
    emu_lane_group(self, true);
    while (group.count) {
        unsigned count;
        struct nccl_task *tasks = take_tasks(&group, &count);
        worse(&result, launch(self, tasks, count));
    }
    emu_lane_group(self, false);
    group.error = ncclSuccess;
    return result;
}

void group_start(void)
{
    group.depth++;
}

ncclResult_t group_end(struct emu_thread *self)
{
    if (!group.depth)
        return comm_fail(ncclInvalidUsage, "ncclGroupEnd: not in a group call");
    if (--group.depth)
        return ncclSuccess;
    return run_group(self);
}

ncclResult_t group_simulate_end(void)
{
    ncclResult_t error = group.error;
    if (!group.depth)
        return comm_fail(ncclInvalidUsage, "ncclGroupSimulateEnd: not in a group call");
    if (--group.depth)
        return ncclSuccess;
    group.count = 0;
    group.error = ncclSuccess;
    return error;
}

ncclResult_t group_job(struct emu_job *job, struct emu_thread *self, int key)
{
    ncclResult_t result = job_arrive(job, self, key);
    if (result) {
        comm_unref(job->comm);
        job_free(job);
        return result;
    }
    if (!group.depth)
        return job_finish(job, self);
    if (group.jobs == NULL)
        group.last_job = &group.jobs;
    *group.last_job = job;
    group.last_job = &job->next;
    return ncclSuccess;
}

static ncclResult_t check_comm(const struct ncclComm *comm)
{
    ncclResult_t result = comm_check_ready(comm);
    if (!result && (atomic_load(&comm->revoked) || comm->suspended))
        result = comm_fail(ncclInvalidUsage, "communicator is revoked or suspended");
    return result;
}

static bool lacks_buffer(const struct nccl_task *t)
{
    bool sends = t->kind == TASK_COLLECTIVE || t->kind == TASK_SEND || t->kind == TASK_PUT;
    bool takes = t->kind == TASK_COLLECTIVE || t->kind == TASK_RECV;
    if (t->comm->ranks == 1 && t->kind == TASK_COLLECTIVE && t->send == t->recv)
        return false; /* nothing to copy */
    return t->count && ((sends && t->send == NULL) || (takes && t->recv == NULL));
}

static ncclResult_t check_task(const struct nccl_task *t)
{
    ncclResult_t result = check_comm(t->comm);
    if (result)
        return result;
    if (!number_size((enum number)t->type))
        return comm_fail(ncclInvalidArgument, "datatype %d", (int)t->type);
    if (t->root < 0 || t->root >= t->comm->ranks)
        return comm_fail(ncclInvalidArgument, "root or peer %d of %d", t->root, t->comm->ranks);
    if (!comm_knows(t->comm, t->redop))
        return comm_fail(ncclInvalidArgument, "operator %d", t->redop);
    if (lacks_buffer(t))
        return comm_fail(ncclInvalidArgument, "a buffer is NULL");
    return ncclSuccess;
}

static void note_task(const struct nccl_task *t)
{
    if (group.count == group.room) {
        group.room = group.room ? 2 * group.room : 16;
        group.tasks = realloc(group.tasks, group.room * sizeof *group.tasks);
        if (group.tasks == NULL)
            emu_die("out of memory");
    }
    group.tasks[group.count++] = *t;
}

ncclResult_t group_task(struct emu_thread *self, const struct nccl_task *t)
{
    ncclResult_t result = check_task(t);
    bool empty = !t->count && t->kind != TASK_PUT; /* a bare signal is work */
    if (result) {
        if (group.depth)
            worse(&group.error, result);
        return result;
    }
    if (!empty && t->kind == TASK_COLLECTIVE && t->recv == NULL)
        return ncclSuccess; /* one rank, from NULL to NULL */
    if (!empty)
        note_task(t);
    return group.depth || empty ? ncclSuccess : run_group(self);
}
