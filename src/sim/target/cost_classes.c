/* SPDX-License-Identifier: MIT */
#include "sim/target/cost_classes.h"

#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

/* Kinds are told apart by 64 bits of what they are: of a billion pairs not one is mistaken. */
struct keyed {
    uint64_t key;
    uint32_t cost;
};

static uint64_t key_of_transfer(const struct program *p, const struct program_cost *c)
{
    const struct match *m = &p->matches.list[c->match];
    const struct op *op = &p->run->ranks[c->rank].ops[c->op];
    uint64_t key = hash_mix(hash_mix(hash_mix(1, (uint32_t)m->comm), m->op), m->bytes);
    if (specter_comm_op_is_p2p((enum specter_comm_op)m->op)) /* who they are tells the way */
        key = hash_mix(hash_mix(key, c->rank), (uint32_t)op->coll.peer);
    return key;
}

static uint64_t key_of_gemm(const struct op *op)
{
    uint64_t trans = 0;
    memcpy(&trans, op->gemm.trans, sizeof op->gemm.trans);
    return hash_mix(
        hash_mix(hash_mix(hash_mix(op->gemm.m, op->gemm.n), op->gemm.k), op->gemm.batch),
        hash_mix(hash_mix(hash_mix(trans, op->gemm.dtype_b), op->gemm.dtype_c), op->gemm.compute));
}

static uint64_t key_of_op(const struct program_cost *c, const struct op *op)
{
    uint64_t key =
        hash_mix(hash_mix(hash_mix(2, op->class), op->dtype), (uintptr_t)op->name); /* interned */
    switch ((enum op_class)op->class) {
    case OP_GEMM:
        return hash_mix(key, key_of_gemm(op));
    case OP_MEMORY:
        return hash_mix(key, op->bytes);
    case OP_GRAPH:
        return hash_mix(hash_mix(key, (uint32_t)op->graph), c->rank);
    case OP_COLL:
    case OP_P2P:
        return hash_mix(hash_mix(hash_mix(key, op->coll.op), (uint32_t)op->coll.comm), op->bytes);
    case OP_KERNEL:
        break;
    }
    return key;
}

static uint64_t key_of(const struct program *p, const struct program_cost *c)
{
    uint64_t key = 3;
    if (c->match != PROGRAM_NONE)
        return key_of_transfer(p, c);
    if (c->op != PROGRAM_NONE)
        return key_of_op(c, &p->run->ranks[c->rank].ops[c->op]);
    for (int class = 0; class < SPECTER_KERNEL_CLASS_COUNT; class ++)
        key = hash_mix(key, c->classes[class]);
    return key;
}

static int by_key(const void *pa, const void *pb)
{
    const struct keyed *a = pa, *b = pb;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return (a->cost > b->cost) - (a->cost < b->cost);
}

void cost_classes_init(struct cost_classes *k, const struct program *p)
{
    struct keyed *list = array_new(p->ncosts, sizeof *list);
    k->of = array_new(p->ncosts, sizeof *k->of);
    k->first = array_new(p->ncosts, sizeof *k->first);
    k->count = 0;
    for (uint32_t i = 0; i < p->ncosts; i++)
        list[i] = (struct keyed){key_of(p, &p->costs[i]), i};
    if (p->ncosts > 0)
        qsort(list, p->ncosts, sizeof *list, by_key);
    for (size_t i = 0; i < p->ncosts; i++) {
        if (i == 0 || list[i].key != list[i - 1].key)
            k->first[k->count++] = list[i].cost;
        k->of[list[i].cost] = k->count - 1;
    }
    free(list);
}

void cost_classes_release(struct cost_classes *k)
{
    free(k->of);
    free(k->first);
    memset(k, 0, sizeof *k);
}
