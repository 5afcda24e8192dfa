/* SPDX-License-Identifier: MIT
 *
 * Finds the call that a communication kernel carries out. The kernel's launch leads to the NCCL
 * calls that went to the device with it; where there are several, kernels and calls of one
 * operation are put together by their order. Without payloads the operation comes from PyTorch's
 * annotation or the kernel's name, and sizes stay unknown.
 *
 * Send and Recv of a group are one kernel. One of each with every rank of the communicator is an
 * all-to-all, which is how PyTorch writes it; else each message becomes an op with the kernel's
 * times.
 */
#include "base/idmap.h"
#include "base/order.h"
#include "trace/nsys.h"

#ifdef SPECTER_HAVE_SQLITE

#include "trace/kernel_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXCHANGE 1000 /* in place of an operation: a kernel that sends and receives */

/* A communication kernel, before its call is found. */
struct kernel {
    size_t member, op; /* indices */
    int32_t group;     /* -1: no call is known */
    int kind;          /* enum specter_comm_op by its name, or EXCHANGE */
    int64_t host_ns, start_ns;
};

/* Kernels of one kind that a group of calls launched on one device, and the calls that fit them. */
struct kernel_set {
    struct nsys *n;
    struct nsys_process *process;
    struct rank *rank;
    const struct kernel *kernels;
    size_t nkernels;
    int32_t device;
    const struct nsys_call **calls; /* owned */
    size_t ncalls, cap;
    int32_t group;
};

/* ---- communicators ---- */

static int comm_of(struct run *run, const struct nsys_call *call)
{
    char id[32];
    int len;
    if (!call->has_comm)
        return -1;
    len = snprintf(id, sizeof id, "%016llx", (unsigned long long)call->comm);
    return run_comm(run, id, (size_t)len, call->nranks > 0 ? call->nranks : 0);
}

static void join(struct nsys *n, struct nsys_process *p, const struct nsys_member *m, int comm,
                 int64_t comm_rank)
{
    uint32_t before = p->joined.count, at;
    if (idmap_add(&p->joined, idmap_pair(comm, m->device)) < before)
        return;
    at = idmap_add(&p->comm_ids, comm);
    ARRAY_GROW(p->comm_devices.list, p->comm_devices.cap, (size_t)at + 1);
    p->comm_devices.list[at]++;
    rank_add_member(&n->run->ranks[m->rank], comm, (int)comm_rank, m->device);
}

/* The process's device that a call names, or its only one; NULL. */
static const struct nsys_member *member_at(const struct nsys *n, const struct nsys_process *p,
                                           int64_t device)
{
    size_t process = (size_t)(p - n->processes.list), devices = 0;
    const struct nsys_member *only = NULL;
    for (size_t i = 0; i < n->members.count; i++) {
        const struct nsys_member *m = &n->members.list[i];
        if (m->process != process)
            continue;
        if (m->device == device)
            return m;
        devices++;
        only = m;
    }
    return devices == 1 ? only : NULL;
}

/* ---- one call, one kernel ---- */

/* bytes: the size that the call's own count makes, of all calls of the kernel together; -1 unknown.
 */
static void set_call(struct run *run, struct op *op, const struct nsys_call *call, int64_t bytes)
{
    int comm = comm_of(run, call);
    int64_t n = comm >= 0 ? run->comms[comm].size : 0;
    unsigned bits = specter_dtype_bits((enum specter_dtype)op->dtype);
    uint64_t full = bytes >= 0 ? specter_comm_op_bytes((enum specter_comm_op)call->op,
                                                       (uint64_t)bytes, SPECTER_UINT8, (uint64_t)n)
                               : 0;
    op->class = specter_comm_op_is_p2p((enum specter_comm_op)call->op) ? OP_P2P : OP_COLL;
    op->coll.op = call->op;
    op->coll.comm = comm;
    op->coll.peer = (int32_t)call->peer;
    if (call->redop != SPECTER_REDOP_NONE)
        op->coll.redop = call->redop;
    if (bytes < 0 || (bytes > 0 && full == 0))
        return; /* unknown as before */
    op->flags &= (uint8_t)~OP_BYTES_UNKNOWN;
    op->bytes = full;
    op->coll.count = bits >= 8 ? (uint64_t)bytes / (bits / 8) : 0;
}

/* Bytes of all calls; -1 when one does not say. */
static int64_t sum_bytes(const struct kernel_set *set)
{
    int64_t sum = 0;
    for (size_t i = 0; i < set->ncalls; i++) {
        if (set->calls[i]->bytes < 0 || __builtin_add_overflow(sum, set->calls[i]->bytes, &sum))
            return -1;
    }
    return sum;
}

/* Returns whether all calls have one communicator (and, with same_op, one operation). */
static bool alike(const struct kernel_set *set, bool same_op)
{
    for (size_t i = 1; i < set->ncalls; i++) {
        if (set->calls[i]->comm != set->calls[0]->comm ||
            set->calls[i]->has_comm != set->calls[0]->has_comm ||
            (same_op && set->calls[i]->op != set->calls[0]->op))
            return false;
    }
    return set->ncalls > 0;
}

static struct op *op_of(const struct kernel_set *set, size_t i)
{
    return &set->rank->ops[set->kernels[i].op];
}

/* ---- a kernel that sends and receives ---- */

/* Returns whether there is exactly one call of `op` for each of n peers. Their sizes are added;
 * *equal: all the same. */
static bool one_each(const struct kernel_set *set, int op, int64_t n, int64_t *bytes, bool *equal)
{
    bool *seen = array_new((size_t)n, sizeof *seen), good = true;
    int64_t count = 0, first = -1;
    *bytes = 0;
    for (size_t i = 0; i < set->ncalls; i++) {
        const struct nsys_call *call = set->calls[i];
        if (call->op != op)
            continue;
        good &= call->peer >= 0 && call->peer < n && !seen[call->peer] && call->bytes >= 0 &&
                !__builtin_add_overflow(*bytes, call->bytes, bytes);
        if (good)
            seen[call->peer] = true;
        first = count++ == 0 ? call->bytes : first;
        *equal &= call->bytes == first;
    }
    free(seen);
    return good && count == n;
}

static bool set_alltoall(struct kernel_set *set, struct op *op)
{
    int comm = alike(set, false) ? comm_of(set->n->run, set->calls[0]) : -1;
    int64_t n = comm >= 0 ? set->n->run->comms[comm].size : 0, sent, received;
    struct nsys_call call;
    bool equal = true;
    if (n < 2 || set->ncalls != 2 * (size_t)n || !one_each(set, SPECTER_SEND, n, &sent, &equal) ||
        !one_each(set, SPECTER_RECV, n, &received, &equal))
        return false;
    call = *set->calls[0];
    call.op = equal ? SPECTER_ALLTOALL : SPECTER_ALLTOALLV;
    call.peer = -1;
    set_call(set->n->run, op, &call, equal ? sent / n : sent);
    return true;
}

static bool peers_known(const struct kernel_set *set)
{
    for (size_t i = 0; i < set->ncalls; i++) {
        if (set->calls[i]->peer < 0 || !set->calls[i]->has_comm)
            return false;
    }
    return set->ncalls > 0;
}

/* The kernel becomes its first message; the others are ops beside it. */
static void set_messages(struct kernel_set *set)
{
    size_t at = set->kernels[0].op;
    for (size_t i = 0; i < set->ncalls; i++) {
        struct op *op = &set->rank->ops[at];
        if (i > 0) {
            op = rank_add_op(set->rank);
            *op = set->rank->ops[at];
            op->flags |= OP_BYTES_UNKNOWN;
            op->bytes = op->coll.count = 0;
        }
        set_call(set->n->run, op, set->calls[i], set->calls[i]->bytes);
        op->coll.group = set->ncalls > 1 ? set->group : -1;
    }
}

/* ---- the calls of a set of kernels ---- */

/* Returns whether this call is of the kind that the kernels are. */
static bool fits(const struct kernel_set *set, const struct nsys_call *call)
{
    if (set->kernels[0].kind != EXCHANGE)
        return call->op == set->kernels[0].kind;
    return specter_comm_op_is_p2p((enum specter_comm_op)call->op) || call->op == SPECTER_ALLTOALL ||
           call->op == SPECTER_GATHER || call->op == SPECTER_SCATTER;
}

/* The number of the process's devices that the call's communicator has, this one among them; 1
 * where it is unknown, 0 where it has only others. */
static int devices_of(const struct kernel_set *set, const struct nsys_call *call)
{
    const struct nsys_process *p = set->process;
    int comm = comm_of(set->n->run, call);
    uint32_t at = comm >= 0 ? idmap_find(&p->comm_ids, comm) : IDMAP_NONE;
    if (at == IDMAP_NONE)
        return 1;
    if (idmap_find(&p->joined, idmap_pair(comm, set->device)) == IDMAP_NONE)
        return 0;
    return p->comm_devices.list[at];
}

static void match_calls(struct kernel_set *set)
{
    struct run *run = set->n->run;
    /* The calls that went to this device. Of a communicator with several devices of the process
     * each has its own call of the same collective, so that one in so many is taken; messages
     * differ from device to device, and nothing says whose they are. */
    const struct nsys_process *p = set->process;
    const struct nsys_group *group = &p->groups.list[set->group];
    size_t shared = 0;
    set->ncalls = 0;
    for (size_t i = group->first; i < group->first + group->count; i++) {
        const struct nsys_call *call = &p->calls.list[p->ordered.list[i]];
        int devices = fits(set, call) ? devices_of(set, call) : 0;
        if (devices == 0 || (devices > 1 && set->kernels[0].kind == EXCHANGE) ||
            (devices > 1 && shared++ % (size_t)devices != 0))
            continue;
        ARRAY_GROW(set->calls, set->cap, set->ncalls + 1);
        set->calls[set->ncalls++] = call;
    }
    if (set->ncalls == 0)
        return;
    if (set->nkernels == set->ncalls) {
        for (size_t i = 0; i < set->nkernels; i++)
            set_call(run, op_of(set, i), set->calls[i], set->calls[i]->bytes);
    } else if (set->nkernels == 1 && set->kernels[0].kind == EXCHANGE) {
        if (!set_alltoall(set, op_of(set, 0)) && peers_known(set))
            set_messages(set);
    } else if (set->nkernels == 1 && alike(set, true)) {
        set_call(run, op_of(set, 0), set->calls[0], sum_bytes(set));
    }
}

/* ---- all kernels ---- */

/* Lists the communication kernels, and sets the operations that annotations or names tell. */
static size_t list_kernels(struct nsys *n, struct kernel **list)
{
    size_t count = 0, cap = 0;
    for (size_t m = 0; m < n->members.count; m++) {
        struct nsys_process *p = &n->processes.list[n->members.list[m].process];
        struct rank *rank = &n->run->ranks[n->members.list[m].rank];
        for (size_t i = 0; i < rank->nops; i++) {
            struct op *op = &rank->ops[i];
            uint32_t at =
                (int64_t)op->id >= 0 ? idmap_find(&p->launch_ids, (int64_t)op->id) : IDMAP_NONE;
            const struct nsys_launch *launch = at != IDMAP_NONE ? &p->launches.list[at] : NULL;
            if (launch != NULL)
                op->caller = launch->caller;
            if (op->class != OP_COLL)
                continue;
            int kind = kernel_is_sendrecv(op->name) ? EXCHANGE : kernel_comm_op(op->name);
            /* The operation that an annotation around the launch names, else the kernel's. */
            int code = launch != NULL ? launch->annotated_op : SPECTER_COMM_OP_COUNT;
            if (code == SPECTER_COMM_OP_COUNT && kind != EXCHANGE)
                code = kind;
            op->coll.op = (uint8_t)code;
            op->class = specter_comm_op_is_p2p((enum specter_comm_op)code) ||
                                (kind == EXCHANGE && code == SPECTER_COMM_OP_COUNT)
                            ? OP_P2P
                            : OP_COLL;
            if (specter_comm_op_reduces(code)) {
                op->dtype = (uint8_t)kernel_dtype(op->name);
                op->coll.redop = kernel_redop(op->name);
            }
            ARRAY_GROW(*list, cap, count + 1);
            (*list)[count++] = (struct kernel){
                m, i, launch != NULL ? launch->group : -1, kind, op->host_ns, op->start_ns};
        }
    }
    return count;
}

static int compare_sets(const struct kernel *a, const struct kernel *b)
{
    if (a->member != b->member)
        return ORDER(a->member, b->member);
    if (a->group != b->group)
        return ORDER(a->group, b->group);
    return ORDER(a->kind, b->kind);
}

static int compare_kernels(const void *pa, const void *pb)
{
    const struct kernel *a = pa, *b = pb;
    int order = compare_sets(a, b);
    if (order == 0)
        order = ORDER(a->host_ns, b->host_ns);
    return order != 0 ? order : ORDER(a->start_ns, b->start_ns);
}

void nsys_comm(struct nsys *n)
{
    struct kernel *list = NULL;
    size_t count;
    for (size_t i = 0; i < n->processes.count; i++) {
        /* Calls that make or end a communicator say its size, and who and where this rank is in it.
         */
        struct nsys_process *p = &n->processes.list[i];
        for (size_t c = 0; c < p->calls.count; c++) {
            const struct nsys_call *call = &p->calls.list[c];
            int comm = call->nranks > 0 ? comm_of(n->run, call) : -1;
            const struct nsys_member *m;
            if (comm < 0 || call->rank < 0 || call->rank >= call->nranks)
                continue;
            m = member_at(n, p, call->device);
            if (m != NULL)
                join(n, p, m, comm, call->rank);
        }
    }
    count = list_kernels(n, &list);
    struct kernel_set set = {.n = n};
    if (count > 0)
        qsort(list, count, sizeof *list, compare_kernels);
    for (size_t i = 0, end; i < count; i = end) {
        const struct nsys_member *m = &n->members.list[list[i].member];
        for (end = i + 1; end < count && compare_sets(&list[i], &list[end]) == 0;)
            end++;
        if (list[i].group < 0)
            continue;
        set.process = &n->processes.list[m->process];
        set.rank = &n->run->ranks[m->rank];
        set.kernels = &list[i];
        set.nkernels = end - i;
        set.group = list[i].group;
        set.device = m->device;
        match_calls(&set);
    }
    free(set.calls);
    free(list);
}

#endif
