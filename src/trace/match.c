/* SPDX-License-Identifier: MIT */
#include "trace/match.h"

#include "base/order.h"

#include <stdlib.h>
#include <string.h>

/* The fields that the members of one match share, and the rank and operation of each. Sorting by it
 * puts them side by side. */
struct key {
    int64_t seq;
    int32_t comm;
    int32_t src, dst; /* pairs: global ranks; NO_PAIR for a collective */
    uint32_t role;    /* 1 for a Recv, so that the Send comes first */
    uint32_t rank, op;
};

struct keys {
    struct key *list; /* owned */
    size_t count, cap;
};

#define NO_PAIR INT32_MIN

/* Orders keys by the match that they name. */
static int compare_match(const struct key *a, const struct key *b)
{
    if (a->comm != b->comm)
        return ORDER(a->comm, b->comm);
    if (a->seq != b->seq)
        return ORDER(a->seq, b->seq);
    if (a->src != b->src)
        return ORDER(a->src, b->src);
    return ORDER(a->dst, b->dst);
}

/* Orders the members of a match. */
static int compare_member(const struct key *a, const struct key *b)
{
    if (a->role != b->role)
        return ORDER(a->role, b->role);
    return ORDER(a->rank, b->rank);
}

static int compare_keys(const void *pa, const void *pb)
{
    const struct key *a = pa, *b = pb;
    int order = compare_match(a, b);
    if (order == 0)
        order = compare_member(a, b);
    return order != 0 ? order : ORDER(a->op, b->op);
}

/* The global rank at the other end. When no trace says who that is, its comm rank stands for it, as
 * a negative number that no rank has: such an end has no counterpart anyway. */
static int32_t other_end(const struct comm *comm, int32_t peer)
{
    int32_t rank = peer < comm->size ? comm->ranks[peer] : -1;
    return rank >= 0 ? rank : -1 - peer;
}

static bool key_of(struct key *key, const struct run *run, uint32_t r, uint32_t i)
{
    const struct rank *rank = &run->ranks[r];
    const struct op *op = &rank->ops[i];
    bool pair = op->class == OP_P2P, recv = op->coll.op == SPECTER_RECV;
    int32_t end;
    key->comm = op->coll.comm;
    key->seq = pair ? op->coll.p2p_seq : op->coll.seq;
    key->src = key->dst = NO_PAIR;
    key->role = 0;
    key->rank = r;
    key->op = i;
    if (key->comm < 0 || key->seq < 0)
        return false;
    if (!pair)
        return true;
    if (op->coll.peer < 0 || (!recv && op->coll.op != SPECTER_SEND))
        return false;
    end = other_end(&run->comms[key->comm], op->coll.peer);
    key->src = recv ? end : rank->rank;
    key->dst = recv ? rank->rank : end;
    key->role = recv;
    return true;
}

static int32_t stand_in(const struct match_standins *standins, int32_t rank)
{
    return rank >= 0 && rank < standins->world ? standins->rank[rank] : rank;
}

static bool same_bytes(const struct match *match, const struct op *op)
{
    if (op->flags & OP_BYTES_UNKNOWN || op->coll.op == SPECTER_ALLTOALLV)
        return true;
    return op->bytes == match->bytes;
}

static bool same_op(const struct match *match, const struct op *op)
{
    if (op->class == OP_P2P)
        return true; /* a Send and a Recv differ by name and belong together */
    return op->coll.op == match->op || op->coll.op == SPECTER_COMM_OP_COUNT;
}

/* Makes the match of keys[0..n), which all name it. */
static void find_matches(struct matches *m, const struct run *run, const struct key *keys, size_t n)
{
    struct match *match = &m->list[m->count++];
    bool pair = keys->src != NO_PAIR;
    match->comm = keys->comm;
    match->seq = keys->seq;
    match->op = SPECTER_COMM_OP_COUNT;
    match->dtype = SPECTER_DTYPE_UNKNOWN;
    match->consistent = true;
    match->first = m->nmembers;
    match->transfer_ns = UNKNOWN_NS;
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && compare_member(&keys[i - 1], &keys[i]) == 0) {
            match->consistent = false;
            continue;
        }
        const struct op *op = &run->ranks[keys[i].rank].ops[keys[i].op];
        /* Fills op, dtype and bytes from the first member that has each. */
        if (match->op == SPECTER_COMM_OP_COUNT)
            match->op = op->class == OP_P2P ? (uint8_t)SPECTER_SEND : op->coll.op;
        if (match->dtype == SPECTER_DTYPE_UNKNOWN)
            match->dtype = op->dtype;
        if (match->bytes == 0 && !(op->flags & OP_BYTES_UNKNOWN))
            match->bytes = op->bytes;
        if (!same_op(match, op) || !same_bytes(match, op) ||
            !(op->dtype == match->dtype || op->dtype == SPECTER_DTYPE_UNKNOWN))
            match->consistent = false;
        if (op_timed(op) && (match->transfer_ns == UNKNOWN_NS || op->dur_ns < match->transfer_ns))
            match->transfer_ns = op->dur_ns;
        m->members[m->nmembers++] = (struct match_member){keys[i].rank, keys[i].op};
    }
    match->nmembers = (uint32_t)(m->nmembers - match->first);
    match->expected = pair ? 2 : (uint32_t)run->comms[keys->comm].size;
    if (match->expected == 0)
        match->expected = match->nmembers;
    m->incomplete += match->nmembers < match->expected;
    m->inconsistent += !match->consistent;
}

void matches_init(struct matches *m, const struct run *run)
{
    matches_make_filled(m, run, NULL);
}

void matches_make_filled(struct matches *m, const struct run *run,
                         const struct match_standins *standins)
{
    struct keys keys = {0};
    size_t cap_list = 0, cap_members = 0;
    memset(m, 0, sizeof *m);
    for (uint32_t r = 0; r < run->nranks; r++) {
        for (uint32_t i = 0; i < run->ranks[r].nops; i++) {
            if (!op_is_comm(&run->ranks[r].ops[i]))
                continue;
            ARRAY_GROW(keys.list, keys.cap, keys.count + 1);
            if (!key_of(&keys.list[keys.count], run, r, i)) {
                m->unnumbered++;
                continue;
            }
            /* A message of a rank that others stand in for, as one between those. */
            struct key *key = &keys.list[keys.count++];
            if (standins == NULL || key->src == NO_PAIR)
                continue;
            key->src = stand_in(standins, key->src);
            key->dst = stand_in(standins, key->dst);
            key->comm = standins->comm[key->comm];
        }
    }
    if (keys.count > 0)
        qsort(keys.list, keys.count, sizeof *keys.list, compare_keys);
    ARRAY_GROW(m->members, cap_members, keys.count);
    for (size_t i = 0, end; i < keys.count; i = end) {
        end = i + 1;
        while (end < keys.count && compare_match(&keys.list[i], &keys.list[end]) == 0)
            end++;
        ARRAY_GROW(m->list, cap_list, m->count + 1);
        find_matches(m, run, &keys.list[i], end - i);
    }
    free(keys.list);
}

void matches_release(struct matches *m)
{
    free(m->list);
    free(m->members);
    memset(m, 0, sizeof *m);
}
