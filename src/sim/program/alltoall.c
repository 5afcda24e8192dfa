/* SPDX-License-Identifier: MIT */
#include "sim/program/alltoall.h"

#include "base/idmap.h"

#include <stdlib.h>

static bool is_part(const struct op *op)
{
    return op->class == OP_P2P && op->coll.group >= 0 && op->coll.comm >= 0;
}

static int64_t key_of(const struct op *op)
{
    return (int64_t)op->coll.group << 32 | op->coll.comm;
}

uint64_t *alltoall_bytes(const struct rank *rank)
{
    struct idmap groups = {0};
    size_t n = rank->nops > 0 ? rank->nops : 1;
    uint64_t *by_op = calloc(n, sizeof *by_op), *sums = calloc(n, sizeof *sums);
    if (by_op == NULL || sums == NULL)
        die("out of memory");
    for (size_t i = 0; i < rank->nops; i++) {
        const struct op *op = &rank->ops[i];
        if (is_part(op) && op->coll.op == SPECTER_SEND)
            sums[idmap_add(&groups, key_of(op))] += op->bytes;
    }
    for (size_t i = 0; i < rank->nops; i++) {
        uint32_t group =
            is_part(&rank->ops[i]) ? idmap_find(&groups, key_of(&rank->ops[i])) : IDMAP_NONE;
        by_op[i] = group == IDMAP_NONE ? 0 : sums[group];
    }
    idmap_release(&groups);
    free(sums);
    return by_op;
}
