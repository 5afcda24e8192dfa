/* SPDX-License-Identifier: MIT
 *
 * MPI: processes that mpirun or srun started, blocking calls. A call does not end when another
 * process has died (bench/backend.h).
 */
#include "bench/modules/host.h"

#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of this process: MPI is started once, whatever number of communicators is opened. */
static struct {
    bool started, broken; /* broken: a rank has failed, MPI_Finalize would wait for it */
} mpi;

static int failed(const char *what, int error, struct err *e)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length;
    MPI_Error_string(error, text, &length);
    return err_set(e, ERR_INPUT, "%s: %s", what, text);
}

/* ---- opening ---- */

static void finalize(void)
{
    if (!mpi.broken)
        MPI_Finalize();
}

/* "Open MPI v4.1.4, package: ..." -> "Open MPI 4.1.4"; "MPICH Version: 4.0.2..." -> its first line.
 */
static void name_library(char *name, size_t size)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length;
    char *v;
    MPI_Get_library_version(text, &length);
    text[strcspn(text, ",\n")] = '\0';
    v = strstr(text, " v");
    if (v != NULL)
        memmove(v + 1, v + 2, strlen(v + 2) + 1);
    snprintf(name, size, "%s", text);
}

static int start(const struct bench_members *m, struct err *e)
{
    int given, size = 0;
    if (!mpi.started) {
        int error;
        bench_calls_begin(m->calls, "MPI_Init");
        error = MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &given);
        bench_calls_end(m->calls);
        if (error != MPI_SUCCESS)
            return failed("MPI_Init", error, e);
        mpi.started = true;
        atexit(finalize);
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    }
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size == m->world)
        return 0;
    return err_set(e, ERR_INPUT,
                   "MPI knows %d of the %d processes: start them by mpirun -n %d, or by srun "
                   "--mpi=pmix",
                   size, m->world, m->world);
}

static void close_comm(struct bench_comm *c)
{
    MPI_Comm *comm = c != NULL ? c->handle : NULL;
    if (c != NULL)
        mpi.broken |= bench_ranks_failed(c->members.ranks);
    if (comm != NULL && *comm != MPI_COMM_NULL && !mpi.broken)
        MPI_Comm_free(comm);
    free(comm);
    bench_host_free(c);
}

static int make_comm(struct bench_comm *c, struct err *e)
{
    const struct bench_members *m = &c->members;
    MPI_Comm *comm = malloc(sizeof *comm);
    int error;
    c->handle = comm;
    if (comm == NULL)
        return err_set(e, ERR_INPUT, "out of memory");
    *comm = MPI_COMM_NULL;
    name_library(c->library, sizeof c->library);
    bench_calls_begin(c->members.calls, "MPI_Comm_split");
    error = MPI_Comm_split(MPI_COMM_WORLD, m->member < 0 ? MPI_UNDEFINED : 0, m->member, comm);
    bench_calls_end(c->members.calls);
    return error == MPI_SUCCESS ? 0 : failed("a communicator", error, e);
}

static int open_comm(const struct bench_members *m, struct bench_comm **comm, struct err *e)
{
    struct bench_comm *c = bench_host_new(m, e);
    int status = c == NULL ? -1 : start(m, e);
    status = bench_ranks_agree(m->ranks, status, e);
    if (status == 0)
        status = bench_ranks_agree(m->ranks, make_comm(c, e), e);
    if (status < 0 || m->member < 0) {
        close_comm(c);
        c = NULL;
    }
    *comm = c;
    return status;
}

/* ---- calls ---- */

/* Returns MPI_DATATYPE_NULL where MPI has no such type. */
static MPI_Datatype type_of(enum specter_dtype type)
{
    switch (type) {
    case SPECTER_INT8:
        return MPI_INT8_T;
    case SPECTER_UINT8:
        return MPI_UINT8_T;
    case SPECTER_INT32:
        return MPI_INT32_T;
    case SPECTER_UINT32:
        return MPI_UINT32_T;
    case SPECTER_INT64:
        return MPI_INT64_T;
    case SPECTER_UINT64:
        return MPI_UINT64_T;
    case SPECTER_FP32:
        return MPI_FLOAT;
    case SPECTER_FP64:
        return MPI_DOUBLE;
    default:
        return MPI_DATATYPE_NULL;
    }
}

static MPI_Op op_of(enum specter_redop redop)
{
    switch (redop) {
    case SPECTER_REDOP_SUM:
        return MPI_SUM;
    case SPECTER_REDOP_PROD:
        return MPI_PROD;
    case SPECTER_REDOP_MAX:
        return MPI_MAX;
    case SPECTER_REDOP_MIN:
        return MPI_MIN;
    default:
        return MPI_OP_NULL;
    }
}

/* MPI has every operation of benchmarks. `redop` is always one of op_of()'s four: benchmarks offer
 * no other, and it is set for operations that do not reduce, too. */
static int supports(enum specter_comm_op op, enum specter_dtype type, enum specter_redop redop,
                    struct err *e)
{
    (void)op;
    if (type_of(type) == MPI_DATATYPE_NULL)
        return err_set(e, ERR_USAGE, "MPI has no type %s", specter_dtype_name(type));
    if (op_of(redop) == MPI_OP_NULL)
        return err_set(e, ERR_USAGE, "MPI has no such reduction");
    return 0;
}

/* MPI leaves the result at the beginning of the buffer that it reduces in place, NCCL at this
 * rank's part of it. */
static int reduce_scatter(const struct bench_comm *c, const struct bench_call *k, MPI_Datatype type,
                          MPI_Op op, MPI_Comm comm)
{
    int n = (int)k->count, error;
    size_t part = (size_t)(k->count * specter_dtype_bits(k->dtype) / 8);
    const char *own = (const char *)k->send + (size_t)c->members.member * part;
    if (k->receive != own)
        return MPI_Reduce_scatter_block(k->send, k->receive, n, type, op, comm);
    error = MPI_Reduce_scatter_block(MPI_IN_PLACE, (void *)(uintptr_t)k->send, n, type, op, comm);
    if (k->receive != k->send)
        memcpy(k->receive, k->send, part);
    return error;
}

/* The root sends from its send buffer; out of place it has a copy at the end, as with NCCL. */
static int broadcast(const struct bench_comm *c, const struct bench_call *k, MPI_Datatype type,
                     MPI_Comm comm)
{
    bool root = c->members.member == k->root;
    int error = MPI_Bcast(root ? (void *)(uintptr_t)k->send : k->receive, (int)k->count, type,
                          k->root, comm);
    if (root && k->receive != k->send)
        memcpy(k->receive, k->send, (size_t)(k->count * specter_dtype_bits(k->dtype) / 8));
    return error;
}

static int dispatch(const struct bench_comm *c, const struct bench_call *k)
{
    MPI_Comm comm = *(const MPI_Comm *)c->handle;
    MPI_Datatype type = type_of(k->dtype);
    MPI_Op op = op_of(k->redop);
    int n = (int)k->count, size = c->members.size, member = c->members.member;
    size_t own = (size_t)member * (size_t)(k->count * specter_dtype_bits(k->dtype) / 8);
    bool root = member == k->root;
    const void *same = k->send == k->receive ? MPI_IN_PLACE : k->send;
    const void *part = k->send == (char *)k->receive + own ? MPI_IN_PLACE : k->send;
    void *mine = root && k->receive == (const char *)k->send + own ? MPI_IN_PLACE : k->receive;
    switch (k->op) {
    case SPECTER_ALLREDUCE:
        return MPI_Allreduce(same, k->receive, n, type, op, comm);
    case SPECTER_REDUCE:
        return MPI_Reduce(root ? same : k->send, k->receive, n, type, op, k->root, comm);
    case SPECTER_REDUCESCATTER:
        return reduce_scatter(c, k, type, op, comm);
    case SPECTER_BROADCAST:
        return broadcast(c, k, type, comm);
    case SPECTER_ALLGATHER:
        return MPI_Allgather(part, n, type, k->receive, n, type, comm);
    case SPECTER_ALLTOALL:
        return MPI_Alltoall(k->send, n, type, k->receive, n, type, comm);
    case SPECTER_GATHER:
        return MPI_Gather(root ? part : k->send, n, type, k->receive, n, type, k->root, comm);
    case SPECTER_SCATTER:
        return MPI_Scatter(k->send, n, type, mine, n, type, k->root, comm);
    case SPECTER_SEND:
        return MPI_Sendrecv(k->send, n, type, (member + 1) % size, 0, k->receive, n, type,
                            (member + size - 1) % size, 0, comm, MPI_STATUS_IGNORE);
    default:
        return MPI_ERR_OTHER;
    }
}

static int call(struct bench_comm *c, const struct bench_call *k, struct err *e)
{
    const char *name = specter_comm_op_name(k->op);
    int error;
    if (k->count > INT_MAX)
        return err_set(e, ERR_INPUT, "%s: MPI counts to %d elements", name, INT_MAX);
    bench_calls_begin(c->members.calls, name);
    error = dispatch(c, k);
    bench_calls_end(c->members.calls);
    return error == MPI_SUCCESS ? 0 : failed(name, error, e);
}

static const struct bench_backend backend = {
    .name = "mpi",
    .launcher = "mpirun",
    .open = open_comm,
    .close = close_comm,
    .supports = supports,
    .call = call,
    BENCH_HOST_BACKEND,
};

__attribute__((visibility("default"))) bench_module specter_bench_backend;

const struct bench_backend *specter_bench_backend(void)
{
    return &backend;
}
