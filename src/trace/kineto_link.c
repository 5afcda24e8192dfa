/* SPDX-License-Identifier: MIT
 *
 * The end of a Kineto file: correlation ids lead from device work to the host calls that launched
 * it, and host time on one thread from those to the operators and annotations around them.
 *
 * Communicators. Where the trace names process groups these are it. An op without a group takes the
 * one that all others of its stream have; where a stream has none (traces before 2024), the i-th
 * stream with communication is taken to be the same communicator on every rank, over all ranks.
 * Messages (Send, Recv) are never guessed into one.
 *
 * Numbers. The n-th collective of a communicator on each rank is the same one, unless every trace
 * has PyTorch's own sequence numbers, which also hold when the traces begin at different moments.
 */
#include "trace/comm_order.h"
#include "trace/comm_resync.h"
#include "trace/kineto.h"

#include <stdlib.h>
#include <string.h>

/* ---- launches ---- */

static void link_launches(struct kineto *k)
{
    for (size_t i = 0; i < k->rank->nops; i++) {
        struct op *op = &k->rank->ops[i];
        uint32_t at = idmap_find(&k->launch_ids, (int64_t)op->id);
        if (at == IDMAP_NONE)
            continue;
        op->host_ns = k->launches.list[at].start_ns;
        op->host_end_ns = k->launches.list[at].end_ns;
        op->tid = k->launches.list[at].tid;
    }
}

static struct act *act_of(struct kineto *k, int64_t correlation)
{
    uint32_t at = correlation != ARG_NONE ? idmap_find(&k->act_ids, correlation) : IDMAP_NONE;
    return at != IDMAP_NONE ? &k->rank->acts[at] : NULL;
}

static int32_t small(int64_t stream)
{
    return stream >= 0 && stream <= INT32_MAX ? (int32_t)stream : -1;
}

/* A wait names its stream and the event, and the call that recorded that event, and where. */
static void link_syncs(struct kineto *k)
{
    for (size_t i = 0; i < k->syncs.count; i++) {
        const struct kineto_sync *sync = &k->syncs.list[i];
        struct act *act = act_of(k, sync->correlation);
        struct act *record = act_of(k, sync->record_correlation);
        if (act != NULL) {
            act->stream = small(sync->stream);
            act->event = sync->event;
        }
        if (record != NULL && record->kind == ACT_RECORD) {
            record->stream = small(sync->event_stream);
            record->event = sync->event;
        }
    }
}

/* ---- what is around a launch ---- */

static int compare_host(const void *pa, const void *pb)
{
    const struct kineto_host_op *a = pa, *b = pb;
    if (a->tid != b->tid)
        return a->tid < b->tid ? -1 : 1;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    return (a->end_ns < b->end_ns) - (a->end_ns > b->end_ns); /* the outer one first */
}

/* Sorts by thread and time and finds each one's parent. */
static void nest_host(struct kineto *k)
{
    struct kineto_host_op *list = k->host.list;
    if (k->host.count > 0)
        qsort(list, k->host.count, sizeof *list, compare_host);
    for (size_t i = 1; i < k->host.count; i++) {
        int32_t parent = (int32_t)i - 1;
        if (list[i].tid != list[i - 1].tid)
            continue;
        while (parent >= 0 && list[parent].end_ns < list[i].start_ns)
            parent = list[parent].parent;
        list[i].parent = parent;
    }
}

/* The innermost one around a moment of a thread, or NULL. Whole microseconds cut both ends, so that
 * a moment at the very end is still inside. */
static struct kineto_host_op *around(struct kineto *k, uint32_t tid, int64_t t_ns)
{
    struct kineto_host_op *list = k->host.list;
    size_t low = 0, high = k->host.count;
    int32_t at;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (list[mid].tid < tid || (list[mid].tid == tid && list[mid].start_ns <= t_ns))
            low = mid + 1;
        else
            high = mid;
    }
    at = (int32_t)low - 1;
    if (at < 0 || list[at].tid != tid)
        return NULL;
    while (at >= 0 && list[at].end_ns < t_ns)
        at = list[at].parent;
    return at >= 0 ? &list[at] : NULL;
}

static struct kineto_host_op *outer(struct kineto *k, const struct kineto_host_op *host)
{
    return host->parent >= 0 ? &k->host.list[host->parent] : NULL;
}

static struct kineto_host_op *around_op(struct kineto *k, const struct op *op)
{
    return op->host_ns != UNKNOWN_NS ? around(k, op->tid, op->host_ns) : NULL;
}

/* ---- communication ---- */

static void link_comm(struct kineto *k)
{
    for (size_t i = 0; i < k->comm.count; i++) {
        struct op *op = &k->rank->ops[k->comm.list[i].op];
        const struct kineto_meta *params = NULL, *annotation = NULL;
        struct kineto_host_op *host = around_op(k, op);
        for (; host != NULL; host = outer(k, host)) {
            if (host->kind == HOST_PARAMS && params == NULL)
                params = &host->meta;
            if (host->kind == HOST_COLLECTIVE && annotation == NULL)
                annotation = &host->meta;
        }
        kineto_set_comm(k, op, &k->comm.list[i].meta, params, annotation);
    }
}

/* Where no group's member list says so: ranks are their own numbers in a communicator over all. */
static void join_comms(struct kineto *k)
{
    for (size_t c = 0; c < k->run->ncomms; c++) {
        const struct comm *comm = &k->run->comms[c];
        if (comm->size == k->world_size && k->rank->rank >= 0 && k->rank->rank < comm->size &&
            comm->ranks[k->rank->rank] < 0)
            rank_add_member(k->rank, (int)c, k->rank->rank, -1);
    }
}

/* ---- matrix products ---- */

/* The kernel of a product that is not its second pass. */
static bool is_first_pass(const char *kernel)
{
    return strstr(kernel, "splitK") == NULL && strstr(kernel, "reduce") == NULL;
}

/* Chooses for each operator the one kernel that is its product. */
static void choose_products(struct kineto *k)
{
    for (size_t i = 0; i < k->gemms.count; i++) {
        size_t at = k->gemms.list[i];
        struct kineto_host_op *host = around_op(k, &k->rank->ops[at]);
        while (host != NULL && host->kind != HOST_GEMM)
            host = outer(k, host);
        if (host == NULL || host->gemm.m == 0)
            continue;
        if (host->gemm.kernel < 0 || (!is_first_pass(k->rank->ops[host->gemm.kernel].name) &&
                                      is_first_pass(k->rank->ops[at].name)))
            host->gemm.kernel = (int64_t)at;
    }
}

static void link_products(struct kineto *k)
{
    choose_products(k);
    for (size_t i = 0; i < k->host.count; i++) {
        const struct kineto_host_op *host = &k->host.list[i];
        struct op *op;
        if (host->kind != HOST_GEMM || host->gemm.kernel < 0)
            continue;
        op = &k->rank->ops[host->gemm.kernel];
        op->class = OP_GEMM;
        op->dtype = (uint8_t)host->gemm.dtype;
        op->gemm.m = host->gemm.m;
        op->gemm.n = host->gemm.n;
        op->gemm.k = host->gemm.k;
        op->gemm.batch = host->gemm.batch;
        op->gemm.dtype_b = op->gemm.dtype_c = op->dtype;
        op->gemm.compute = SPECTER_DTYPE_UNKNOWN;
        k->rank->coverage |= COVER_GEMM;
    }
}

void kineto_link(struct kineto *k)
{
    link_launches(k);
    link_syncs(k);
    nest_host(k);
    link_comm(k);
    order_name_lanes(k->run, k->rank, k->world_size, "process groups");
    join_comms(k);
    link_products(k);
    rank_shift(k->rank, k->base_ns);
    rank_sort(k->rank);
    order_number(k->rank);
}

/* ---- all files ---- */

/* Which communicators have usable recorded numbers: on every op of every rank, and growing. */
static bool *recorded_numbers(const struct run *run)
{
    bool *good = calloc(run->ncomms + 1, sizeof *good);
    int64_t *last = calloc(run->ncomms + 1, sizeof *last);
    if (good == NULL || last == NULL)
        die("out of memory");
    memset(good, true, run->ncomms);
    for (size_t r = 0; r < run->nranks; r++) {
        for (size_t c = 0; c < run->ncomms; c++)
            last[c] = -1;
        for (size_t i = 0; i < run->ranks[r].nops; i++) {
            const struct op *op = &run->ranks[r].ops[i];
            if (op->class != OP_COLL || op->coll.comm < 0)
                continue;
            good[op->coll.comm] &= op->coll.p2p_seq > last[op->coll.comm];
            last[op->coll.comm] = op->coll.p2p_seq;
        }
    }
    free(last);
    return good;
}

static void use_recorded_numbers(struct run *run)
{
    bool *good = recorded_numbers(run);
    for (size_t r = 0; r < run->nranks; r++) {
        for (size_t i = 0; i < run->ranks[r].nops; i++) {
            struct op *op = &run->ranks[r].ops[i];
            if (op->class != OP_COLL)
                continue;
            if (op->coll.comm >= 0 && good[op->coll.comm])
                op->coll.seq = op->coll.p2p_seq;
            op->coll.p2p_seq = -1;
        }
    }
    for (size_t c = 0; c < run->ncomms; c++)
        good[c] = !good[c];
    order_resync(run, good);
    free(good);
}

void kineto_finish(struct run *run)
{
    use_recorded_numbers(run);
    order_note_gaps(run);
}
