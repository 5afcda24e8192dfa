/* SPDX-License-Identifier: MIT
 *
 * Calls that a program gives in one batch (batch_isend_irecv, a coalescing manager). Each records
 * itself (record_param_comms) and launches nothing; the kernel comes at the batch's end, in none of
 * these records and without args. It is that of the records before it on its thread, as far back as
 * the launch of the communication before: its messages, each an operation with the kernel's times,
 * or its collectives of one kind, which together are one with the sum of their sizes. Where these
 * do not fit the kernel, it stays unknown; so does what a graph holds, whose records are those of
 * its capture.
 */
#include "trace/kineto.h"

#include "base/order.h"
#include "trace/kernel_names.h"

#include <stdlib.h>

/* A communication kernel by its launch. */
struct batch_kernel {
    int64_t host_ns;
    size_t comm; /* index into k->comm */
    uint32_t tid;
};

struct batches {
    struct kineto *k;
    uint32_t *launched; /* owned; work that each of k->launches has launched */
    KINETO_LIST(struct kineto_host_op *, calls);
    int32_t groups; /* of messages, so far */
};

static struct op *op_of(const struct batches *b, const struct batch_kernel *kernel)
{
    return &b->k->rank->ops[b->k->comm.list[kernel->comm].op];
}

static struct kineto_meta call_meta(const struct batches *b, size_t call)
{
    return kineto_meta_of(b->k, &b->calls.list[call]->meta);
}

static int compare_kernels(const void *pa, const void *pb)
{
    const struct batch_kernel *a = pa, *b = pb;
    if (a->tid != b->tid)
        return ORDER(a->tid, b->tid);
    if (a->host_ns != b->host_ns)
        return ORDER(a->host_ns, b->host_ns);
    return ORDER(a->comm, b->comm);
}

/* Returns whether neither the kernel's args nor a record around it name its call. */
static bool is_unidentified(const struct batches *b, const struct batch_kernel *kernel)
{
    struct kineto *k = b->k;
    const struct op *op = op_of(b, kernel);
    const struct kineto_host_op *host = kineto_around(k, op);
    uint32_t at = idmap_find(&k->launch_ids, (int64_t)op->id);
    if (!kernel_is_nccl(op->name) || at == IDMAP_NONE || b->launched[at] > 1 ||
        kineto_meta_of(k, &k->comm.list[kernel->comm].meta).op < SPECTER_COMM_OP_COUNT)
        return false;
    for (; host != NULL; host = kineto_outer(k, host)) {
        if (host->kind == HOST_PARAMS && kineto_meta_of(k, &host->meta).op < SPECTER_COMM_OP_COUNT)
            return false;
    }
    return true;
}

/* Returns whether all calls are messages. */
static bool are_messages(const struct batches *b)
{
    for (size_t i = 0; i < b->calls.count; i++) {
        if (!specter_comm_op_is_p2p((enum specter_comm_op)call_meta(b, i).op))
            return false;
    }
    return b->calls.count > 0;
}

/* Returns whether the calls are one collective in several parts, and of the kind that the kernel
 * names, if it names one. */
static bool are_parts(const struct batches *b, const struct op *op)
{
    int kind = kernel_comm_op(op->name);
    struct kineto_meta first;
    if (b->calls.count == 0)
        return false;
    first = call_meta(b, 0);
    if (specter_comm_op_is_p2p((enum specter_comm_op)first.op) ||
        (kind != SPECTER_COMM_OP_COUNT && kind != first.op))
        return false;
    for (size_t i = 1; i < b->calls.count; i++) {
        struct kineto_meta meta = call_meta(b, i);
        if (meta.op != first.op || meta.dtype != first.dtype || meta.group != first.group ||
            meta.group_size != first.group_size)
            return false;
    }
    return true;
}

/* Adds an operation with the times of the kernel. */
static struct op *add_twin(struct kineto *k, size_t at)
{
    struct op *op = rank_add_op(k->rank);
    int64_t external = k->externals.list[at];
    *op = k->rank->ops[at];
    ARRAY_GROW(k->externals.list, k->externals.cap, k->rank->nops);
    k->externals.list[k->externals.count++] = external;
    return op;
}

static void set_messages(struct batches *b, size_t at)
{
    struct kineto *k = b->k;
    for (size_t i = 0; i < b->calls.count; i++) {
        struct op *op = i > 0 ? add_twin(k, at) : &k->rank->ops[at];
        struct kineto_meta meta = call_meta(b, i);
        op->flags &= (uint8_t)~OP_BYTES_UNKNOWN;
        op->bytes = op->coll.count = 0;
        op->coll.comm = op->coll.peer = -1;
        kineto_set_comm(k, op, NULL, &meta, NULL);
        op->coll.group = b->calls.count > 1 ? b->groups : -1;
    }
    b->groups += b->calls.count > 1;
}

static void set_batch(struct batches *b, const struct batch_kernel *kernel)
{
    struct op *op = op_of(b, kernel);
    if (!is_unidentified(b, kernel))
        return;
    if (are_messages(b) &&
        (kernel_is_sendrecv(op->name) || kernel_comm_op(op->name) == SPECTER_COMM_OP_COUNT)) {
        set_messages(b, b->k->comm.list[kernel->comm].op);
    } else if (!kernel_is_sendrecv(op->name) && are_parts(b, op)) {
        struct kineto_meta sum = call_meta(b, 0);
        for (size_t i = 1; i < b->calls.count; i++) {
            struct kineto_meta meta = call_meta(b, i);
            if (meta.in_count < 0 || sum.in_count < 0 ||
                __builtin_add_overflow(sum.in_count, meta.in_count, &sum.in_count))
                sum.in_count = -1;
            if (meta.out_count < 0 || sum.out_count < 0 ||
                __builtin_add_overflow(sum.out_count, meta.out_count, &sum.out_count))
                sum.out_count = -1;
        }
        op->flags &= (uint8_t)~OP_BYTES_UNKNOWN;
        kineto_set_comm(b->k, op, NULL, &sum, NULL);
    } else {
        return;
    }
    for (size_t i = 0; i < b->calls.count; i++)
        b->calls.list[i]->work = WORK_MANY;
}

/* A record that launched nothing, of a group of more than one rank. */
static bool is_open(const struct kineto *k, const struct kineto_host_op *host)
{
    struct kineto_meta meta;
    if (host->kind != HOST_PARAMS || host->work != WORK_NONE)
        return false;
    meta = kineto_meta_of(k, &host->meta);
    return meta.op < SPECTER_COMM_OP_COUNT && meta.group_size != 1;
}

void kineto_link_batches(struct kineto *k)
{
    struct batches b = {.k = k};
    /* Those whose launch is known, by thread and time. */
    struct batch_kernel *list = array_new(k->comm.count + 1, sizeof *list);
    size_t count = 0, next = 0;
    for (size_t i = 0; i < k->comm.count; i++) {
        const struct op *op = &k->rank->ops[k->comm.list[i].op];
        if (op->host_ns != UNKNOWN_NS)
            list[count++] = (struct batch_kernel){op->host_ns, i, op->tid};
    }
    if (count > 0)
        qsort(list, count, sizeof *list, compare_kernels);
    b.launched = array_new(k->launches.count + 1, sizeof *b.launched);
    for (size_t i = 0; i < k->rank->nops; i++) {
        uint32_t at = idmap_find(&k->launch_ids, (int64_t)k->rank->ops[i].id);
        if (at != IDMAP_NONE)
            b.launched[at]++;
    }
    for (size_t i = 0; i < count; i++) {
        const struct batch_kernel *kernel = &list[i];
        if (i > 0 && kernel->tid != kernel[-1].tid)
            b.calls.count = 0;
        for (; next < k->host.count; next++) {
            struct kineto_host_op *host = &k->host.list[next];
            if (host->tid > kernel->tid ||
                (host->tid == kernel->tid && host->start_ns > kernel->host_ns))
                break;
            if (host->tid != kernel->tid || host->end_ns > kernel->host_ns || !is_open(k, host))
                continue;
            ARRAY_GROW(b.calls.list, b.calls.cap, b.calls.count + 1);
            b.calls.list[b.calls.count++] = host;
        }
        set_batch(&b, kernel);
        b.calls.count = 0;
    }
    free(b.calls.list);
    free(b.launched);
    free(list);
}
