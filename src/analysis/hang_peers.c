/* SPDX-License-Identifier: MIT */
#include "analysis/hang_finder.h"

#include "analysis/hang_order.h"
#include "base/arena.h"

#include <stdlib.h>

/* Calls of the operation's members do not tell which of them is at fault. */
static bool is_doubtful(const struct hang_finder *f, uint32_t n)
{
    const struct wait_node *node = &f->nodes[n];
    enum hang_cause cause = finder_cause(f, node);
    if (node->opaque || (node->root != NONE && node->root != n))
        return false;
    if (cause == HANG_DIFFER)
        return true;
    return node->root == NONE &&
           (cause == HANG_CIRCLE || cause == HANG_BEHIND || cause == HANG_ALL_CALLED);
}

/* Marks the communicators of which a doubtful operation's members are members. */
static bool mark_shared(const struct hang_finder *f, bool *shared)
{
    bool any = false;
    for (uint32_t n = 0; n < f->nnodes; n++) {
        const struct comm *comm = &f->run->comms[f->waiters[f->nodes[n].first].comm];
        for (int i = 0; i < comm->size && is_doubtful(f, n); i++) {
            uint32_t r = finder_rank(f, comm->ranks[i]);
            for (size_t k = 0; r != NONE && k < f->run->ranks[r].nin; k++)
                shared[f->run->ranks[r].in[k].comm] = any = true;
        }
    }
    return any;
}

static void compare_all(struct hang_finder *f, struct order_verdicts *v, const bool *shared)
{
    for (size_t c = 0; c < f->run->ncomms; c++) {
        const struct comm *comm = &f->run->comms[c];
        uint32_t *members;
        size_t n = 0;
        if (!shared[c] || comm->size < 3)
            continue;
        members = array_new((size_t)comm->size, sizeof *members);
        for (int i = 0; i < comm->size; i++) {
            uint32_t r = finder_rank(f, comm->ranks[i]);
            if (r != NONE)
                members[n++] = r;
        }
        order_compare(v, f->run, members, n, (int32_t)c);
        free(members);
    }
}

/* The fault that the operation has of this rank already; NULL. */
static const struct fault *fault_of(const struct hang_finder *f, const struct wait_node *node,
                                    int rank)
{
    for (size_t i = node->first_fault; i < node->first_fault + node->nfaults; i++) {
        if (f->faults[i].rank == rank)
            return &f->faults[i];
    }
    return NULL;
}

/* Returns the rank's call under the operation's number. */
static const struct op *called_there(const struct hang_finder *f, const struct blocked_rank *w,
                                     uint32_t r)
{
    struct numbered_call key = {
        .comm = w->comm, .kind = CALL_COLLECTIVE, .peer = -1, .seq = w->seq};
    return w->sender < 0 ? finder_op(f, r, &key) : NULL;
}

/* The fault of a member whose calls are not in the order of the others'. False: nothing to say of
 * it in this operation. */
static bool make_fault(struct fault *fault, const struct hang_finder *f,
                       const struct wait_node *node, uint32_t r, enum order_fault found)
{
    const struct blocked_rank *w = &f->waiters[node->first];
    int rank = f->run->ranks[r].rank;
    const struct fault *before = fault_of(f, node, rank);
    bool differs = before != NULL && before->cause == HANG_DIFFER;
    *fault = (struct fault){HANG_SKIPPED, rank, w->seq, w->seq, called_there(f, w, r), -1, false};
    if (before != NULL)
        *fault = *before;
    fault->cause = found == ORDER_FEWER  ? HANG_SKIPPED
                   : found == ORDER_MORE ? HANG_EXTRA
                   : differs             ? HANG_OTHER
                                         : HANG_CIRCLE;
    if (found == ORDER_FEWER)
        return true;
    return found == ORDER_MORE ? fault->instead != NULL : before != NULL;
}

/* Where the orders of calls distinguish members, these are at fault, and no other. */
static void name_members(struct hang_finder *f, uint32_t n, const struct order_verdicts *v)
{
    struct wait_node *node = &f->nodes[n];
    const struct blocked_rank *w = &f->waiters[node->first];
    const struct comm *comm = &f->run->comms[w->comm];
    size_t first = f->nfaults, same = 0;
    for (int i = 0; i < comm->size; i++) {
        uint32_t r = finder_rank(f, comm->ranks[i]);
        int32_t shared = -1;
        enum order_fault found = r != NONE ? order_find(v, r, w->comm, &shared) : ORDER_UNKNOWN;
        struct fault fault;
        same += found == ORDER_SAME;
        if (found <= ORDER_SAME || (w->sender >= 0 && i != w->sender && i != w->receiver) ||
            !make_fault(&fault, f, node, r, found))
            continue;
        fault.shared = shared;
        ARRAY_GROW(f->faults, f->cap_faults, f->nfaults + 1);
        f->faults[f->nfaults++] = fault;
    }
    if (f->nfaults == first || same == 0) {
        f->nfaults = first;
        return;
    }
    node->first_fault = first;
    node->nfaults = f->nfaults - first;
}

void finder_ask_peers(struct hang_finder *f)
{
    struct order_verdicts v = {.list = NULL};
    bool *shared = array_new(f->run->ncomms, sizeof *shared);
    if (mark_shared(f, shared))
        compare_all(f, &v, shared);
    for (uint32_t n = 0; n < f->nnodes && v.count > 0; n++) {
        if (is_doubtful(f, n))
            name_members(f, n, &v);
    }
    free(v.list);
    free(shared);
}
