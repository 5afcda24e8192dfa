/* SPDX-License-Identifier: MIT */
#include "trace/detail.h"

#include "base/order.h"

#include <stdlib.h>

#define NO_OP UINT32_MAX

static int by_key(const void *pa, const void *pb)
{
    const struct comm_detail *a = pa, *b = pb;
    if (a->comm != b->comm)
        return ORDER(a->comm, b->comm);
    if (a->seq != b->seq)
        return ORDER(a->seq, b->seq);
    if (a->peer != b->peer)
        return ORDER(a->peer, b->peer);
    return ORDER(a->comm_op, b->comm_op);
}

static int by_op(const void *pa, const void *pb)
{
    const struct comm_detail *a = pa, *b = pb;
    return ORDER(a->op, b->op);
}

/* The key under which the operation would be found. The number alone names a collective. */
static bool key_of(struct comm_detail *key, const struct op *op)
{
    bool message = op->class == OP_P2P;
    if (op->class != OP_COLL && !message)
        return false;
    key->comm = op->coll.comm;
    key->seq = message ? op->coll.p2p_seq : op->coll.seq;
    key->peer = message ? op->coll.peer : -1;
    key->comm_op = message ? op->coll.op : (uint8_t)SPECTER_COMM_OP_COUNT;
    return key->comm >= 0 && key->seq >= 0;
}

size_t rank_join_details(struct rank *rank)
{
    struct comm_detail key = {0}, *found;
    size_t kept = 0, all = rank->ndetails;
    if (all == 0)
        return 0;
    for (size_t i = 0; i < all; i++)
        rank->details[i].op = NO_OP;
    qsort(rank->details, all, sizeof key, by_key);
    for (size_t i = 0; i < rank->nops; i++) {
        if (!key_of(&key, &rank->ops[i]))
            continue;
        found = bsearch(&key, rank->details, all, sizeof key, by_key);
        if (found != NULL)
            found->op = (uint32_t)i;
    }
    for (size_t i = 0; i < all; i++) {
        if (rank->details[i].op != NO_OP)
            rank->details[kept++] = rank->details[i];
    }
    rank->ndetails = kept;
    if (kept > 0)
        qsort(rank->details, kept, sizeof key, by_op);
    return all - kept;
}

const struct comm_detail *rank_detail(const struct rank *rank, size_t op)
{
    struct comm_detail key = {.op = (uint32_t)op};
    if (rank->ndetails == 0)
        return NULL;
    return bsearch(&key, rank->details, rank->ndetails, sizeof key, by_op);
}
