/* SPDX-License-Identifier: MIT */
#include "compare/work_kinds.h"

#include "base/hash.h"

#include <string.h>

int64_t work_key_of_comm(int op, int dtype, uint64_t bytes, int ranks)
{
    uint64_t key = hash_mix(hash_mix(HASH_BYTES, OP_COLL), (uint64_t)op);
    key = hash_mix(hash_mix(key, (uint64_t)dtype), bytes);
    return (int64_t)hash_mix(key, (uint64_t)ranks);
}

int64_t work_key_of_op(const struct op *op)
{
    uint64_t key = hash_mix(HASH_BYTES, op->class);
    switch ((enum op_class)op->class) {
    case OP_GEMM:
        key = hash_mix(hash_mix(key, op->gemm.m), op->gemm.n);
        key = hash_mix(hash_mix(key, op->gemm.k), op->gemm.batch);
        key = hash_bytes(key, op->gemm.trans, strnlen(op->gemm.trans, sizeof op->gemm.trans));
        return (int64_t)hash_mix(key, op->dtype);
    case OP_GRAPH:
        return (int64_t)hash_mix(key, (uint64_t)op->graph);
    case OP_MEMORY:
        key = hash_mix(key, op->bytes);
        break;
    default:
        break;
    }
    return (int64_t)hash_mix(key, hash_words(op->name, strlen(op->name)));
}

int64_t work_key_of_transfer(const struct program *p, uint32_t match)
{
    const struct match *m = &p->matches.list[match];
    return work_key_of_comm(m->op, m->dtype, m->bytes, p->run->comms[m->comm].size);
}

int64_t work_key(const struct program *p, const struct program_cost *cost)
{
    return cost->match != PROGRAM_NONE ? work_key_of_transfer(p, cost->match)
                                       : work_key_of_op(&p->run->ranks[cost->rank].ops[cost->op]);
}

bool work_is_computation(int class)
{
    return class == OP_GEMM || class == OP_KERNEL || class == OP_GRAPH;
}

bool work_is_timed_computation(const struct op *op)
{
    return work_is_computation(op->class) && op_timed(op);
}

bool work_step_counts(const struct job_steps *steps, uint32_t step)
{
    if (steps->source == STEPS_WHOLE)
        return true;
    if (step == STEP_NONE)
        return false;
    return steps->several ? step_counts(steps, step) : step == steps->parts[0].last;
}
