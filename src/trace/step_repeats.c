/* SPDX-License-Identifier: MIT
 *
 * The steps of a rank as the sequence of operations that it repeats.
 */
#include "trace/step_found.h"

#include "base/arena.h"
#include "base/hash.h"
#include "base/order.h"
#include "trace/host_waits.h"
#include "trace/period.h"

#include <stdlib.h>

#define BATCH_BYTES 1024 /* a copy from the host of less is an argument, not a batch */

/* ---- the order in which the host called ---- */

bool step_has_host_times(const struct rank *rank)
{
    for (size_t i = 0; i < rank->nops; i++) {
        if (rank->ops[i].host_ns != UNKNOWN_NS)
            return true;
    }
    return false;
}

int64_t step_called_ns(const struct op *op, bool host_times)
{
    return host_times ? op->host_ns : op->start_ns;
}

struct op_issue_time {
    int64_t t_ns;
    uint32_t op;
};

static int by_issue(const void *pa, const void *pb)
{
    const struct op_issue_time *a = pa, *b = pb;
    return a->t_ns != b->t_ns ? ORDER(a->t_ns, b->t_ns) : ORDER(a->op, b->op);
}

/* One without a call is taken to be called for right behind the operation before it. Operations
 * recorded into a graph do not run then. */
void step_find_issue(struct found *f, const struct rank *rank)
{
    bool host_times = step_has_host_times(rank);
    struct op_issue_time *list = array_new(rank->nops, sizeof *list);
    int64_t last_ns = INT64_MIN;
    f->issue = array_new(rank->nops, sizeof *f->issue);
    for (size_t i = 0; i < rank->nops; i++) {
        int64_t t_ns = step_called_ns(&rank->ops[i], host_times);
        last_ns = t_ns != UNKNOWN_NS ? t_ns : last_ns;
        if (rank->ops[i].timing != SPECTER_TIMING_CAPTURED)
            list[f->nissued++] = (struct op_issue_time){last_ns, (uint32_t)i};
    }
    if (f->nissued > 0)
        qsort(list, f->nissued, sizeof *list, by_issue);
    for (size_t i = 0; i < f->nissued; i++)
        f->issue[i] = list[i].op;
    free(list);
}

/* ---- what repeats in it ---- */

/* What is the same about an operation in every step. Sizes of copies and of AlltoAllv vary with the
 * data. */
static uint64_t signature(const struct op *op)
{
    uint64_t hash = hash_mix(hash_mix(op->class, (uint32_t)op->stream), op->dtype);
    switch (op->class) {
    case OP_COLL:
    case OP_P2P:
        hash = hash_mix(hash_mix(hash, op->coll.op), (uint32_t)op->coll.comm);
        hash = hash_mix(hash, (uint32_t)op->coll.peer);
        return op->coll.op == SPECTER_ALLTOALLV ? hash : hash_mix(hash, op->bytes);
    case OP_GEMM:
        hash = hash_mix(hash_mix(hash, op->gemm.m), op->gemm.n);
        return hash_mix(hash_mix(hash, op->gemm.k), op->gemm.batch);
    case OP_GRAPH:
        return hash_mix(hash, (uint32_t)op->graph);
    default:
        return hash_mix(hash, (uintptr_t)op->name); /* interned */
    }
}

/* An operation that a step has and a layer has not: a copy by which it takes its batch or hands out
 * its loss, or an optimizer's kernel. */
static bool tells_step(const struct op *op)
{
    if (op->class == OP_MEMORY) {
        enum specter_copy kind = copy_kind(op->name);
        return kind == SPECTER_COPY_D2H || (kind == SPECTER_COPY_H2D && op->bytes >= BATCH_BYTES);
    }
    return op->class == OP_KERNEL && specter_kernel_class_of(op->name) == SPECTER_KERNEL_OPTIMIZER;
}

/* True where each repetition has such an operation, or the recording would not show them. */
static bool may_be_steps(const struct found *f, const struct rank *rank, const struct period *found)
{
    if (!(rank->coverage & COVER_MEMORY) || !(rank->coverage & COVER_KERNELS))
        return true;
    for (size_t i = 0; i < found->period; i++) {
        if (tells_step(&rank->ops[f->issue[found->first + i]]))
            return true;
    }
    return false;
}

/* Returns whether what lies before the repeating part, or behind it, repeats as often. Layers run
 * forward, then backward. */
static bool repeats_beside(const uint64_t *symbols, size_t n, const struct period *found)
{
    size_t times = found->length / found->period, behind = found->first + found->length;
    struct period sides[] = {period_find(symbols, found->first),
                             period_find(symbols + behind, n - behind)};
    for (int i = 0; i < 2; i++) {
        size_t other = sides[i].period > 0 ? sides[i].length / sides[i].period : 0;
        if (times > 2 && other + 1 >= times && other <= times + 1)
            return true;
    }
    return false;
}

/* Fills the repetitions of a rank, or says why what repeats is no step. */
void step_find_repeats(struct found *f, const struct rank *rank, struct job_steps *steps)
{
    bool host_times = step_has_host_times(rank);
    uint64_t *symbols = array_new(f->nissued, sizeof *symbols);
    struct period found;
    size_t n;
    for (size_t i = 0; i < f->nissued; i++)
        symbols[i] = signature(&rank->ops[f->issue[i]]);
    found = period_find(symbols, f->nissued);
    n = found.period > 0 ? found.length / found.period : 0;
    n = n < STEPS_FEW ? 0 : n; /* by chance, or halves of a step */
    if (n > 0 && repeats_beside(symbols, f->nissued, &found))
        steps->doubt = "what lies beside it repeats as often, as layers do forward and backward";
    else if (n > 0 && !may_be_steps(f, rank, &found))
        steps->doubt = "no repetition has an optimizer or copies a batch or a result, as layers of "
                       "one step do not";
    free(symbols);
    steps->repeats = n > steps->repeats ? n : steps->repeats;
    if (n == 0 || steps->doubt != NULL)
        return;
    f->period = found.period;
    free(f->list);
    f->list = array_new(n, sizeof *f->list);
    for (size_t k = 0; k < n; k++) {
        size_t at = found.first + k * found.period;
        f->list[f->count++] =
            (struct found_step){step_called_ns(&rank->ops[f->issue[at]], host_times), "", at};
    }
    f->end_ns = INT64_MAX;
    if (found.first + n * found.period < f->nissued)
        f->end_ns =
            step_called_ns(&rank->ops[f->issue[found.first + n * found.period]], host_times);
}
