/* SPDX-License-Identifier: MIT */
#include "sim/iterate.h"

#include "base/hash.h"
#include "trace/busy.h"

#include <stdlib.h>
#include <string.h>

/* What is the same about an operation in every iteration. Sizes of copies and of AlltoAllv vary
 * with the data. */
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

static bool find_steps(struct iterations *it, const struct rank *rank,
                       const struct program_rank *program)
{
    uint32_t step = 0, last = ITERATION_NONE;
    it->count = 0;
    for (size_t i = 0; i < program->nissued; i++) {
        uint32_t op = program->issue[i];
        int64_t t_ns = rank->ops[op].host_ns;
        while (step < rank->nsteps && t_ns != UNKNOWN_NS && t_ns >= rank->steps[step].end_ns)
            step++;
        if (step == rank->nsteps)
            break;
        if (t_ns == UNKNOWN_NS || t_ns < rank->steps[step].start_ns)
            continue;
        it->count += step != last;
        it->of[op] = it->count - 1;
        last = step;
    }
    it->source = ITERATIONS_STEPS;
    return it->count > 0;
}

static bool find_period(struct iterations *it, const struct rank *rank,
                        const struct program_rank *program)
{
    uint64_t *symbols = malloc((program->nissued > 0 ? program->nissued : 1) * sizeof *symbols);
    struct stretch found;
    if (symbols == NULL)
        die("out of memory");
    for (size_t i = 0; i < program->nissued; i++)
        symbols[i] = signature(&rank->ops[program->issue[i]]);
    found = stretch_find(symbols, program->nissued);
    free(symbols);
    if (found.period == 0)
        return false;
    it->source = ITERATIONS_PERIOD;
    it->period = found.period;
    it->count = (uint32_t)(found.length / found.period);
    for (size_t i = 0; i < it->count * found.period; i++)
        it->of[program->issue[found.first + i]] = (uint32_t)(i / found.period);
    return true;
}

/* Of a loop's losses that are read one by one behind it, no copy has a time of its own. */
static void find_ends(struct iterations *it, const struct rank *rank)
{
    bool any = false;
    it->ends = array_new(rank->nops + 1, sizeof *it->ends);
    for (size_t i = 0; i < rank->nops; i++) {
        it->ends[i] = op_timed(&rank->ops[i]) && rank->ops[i].start_ns != UNKNOWN_NS;
        any = any || it->ends[i];
    }
    for (size_t i = 0; i < rank->nops && !any; i++)
        it->ends[i] = true;
}

void iterations_find(struct iterations *it, const struct rank *rank,
                     const struct program_rank *program)
{
    memset(it, 0, sizeof *it);
    it->of = malloc((rank->nops > 0 ? rank->nops : 1) * sizeof *it->of);
    if (it->of == NULL)
        die("out of memory");
    for (size_t i = 0; i < rank->nops; i++)
        it->of[i] = ITERATION_NONE;
    find_ends(it, rank);
    if (rank->nsteps > 0 && find_steps(it, rank, program))
        return;
    if (rank->nsteps == 0 && find_period(it, rank, program))
        return;
    it->source = ITERATIONS_WHOLE;
    it->count = 1;
    for (size_t i = 0; i < program->nissued; i++)
        it->of[program->issue[i]] = 0;
}

void iterations_release(struct iterations *it)
{
    free(it->of);
    free(it->ends);
    memset(it, 0, sizeof *it);
}

/* ---- what one takes ---- */

int64_t iteration_end(const struct iterations *it, size_t nops, const struct timeline *when,
                      uint32_t iteration)
{
    int64_t end_ns = UNKNOWN_NS;
    for (size_t i = 0; i < nops; i++) {
        if (when->spans[i].start_ns == UNKNOWN_NS || !it->ends[i])
            continue;
        if (iteration != ITERATION_NONE && it->of[i] != iteration)
            continue;
        if (when->spans[i].end_ns > end_ns)
            end_ns = when->spans[i].end_ns;
    }
    return end_ns;
}

struct window iteration_window(const struct iterations *it, size_t nops,
                               const struct timeline *when)
{
    struct window w = {when->begin_ns, when->end_ns, 1};
    int64_t last_ns = iteration_end(it, nops, when, ITERATION_NONE);
    if (it->count > 1) {
        int64_t start_ns = iteration_end(it, nops, when, 0);
        int64_t end_ns = iteration_end(it, nops, when, it->count - 1);
        if (start_ns != UNKNOWN_NS && end_ns > start_ns)
            return (struct window){start_ns, end_ns, it->count - 1};
    }
    if (last_ns > w.end_ns)
        w.end_ns = last_ns;
    w.iterations = it->count > 1 ? it->count : 1;
    return w;
}

static enum slice_kind slice_of(const struct op *op, const struct movement *move)
{
    switch (busy_kind_of(op)) {
    case BUSY_COMM:
        if (move == NULL || move->moved.start_ns == UNKNOWN_NS)
            return SLICE_TRANSFER;
        return move->pipeline ? SLICE_BUBBLE : SLICE_MEMBER_WAIT;
    case BUSY_MEMORY:
        return SLICE_MEMORY;
    default:
        return SLICE_COMPUTE;
    }
}

/* Waiting communication is all that does not move data: what moves it counts before what waits. */
static void collect(struct slices *slices, const struct rank *rank, const struct timeline *when)
{
    for (size_t i = 0; i < rank->nops; i++) {
        struct sim_span span = when->spans[i];
        const struct movement *move = when->moves != NULL ? &when->moves[i] : NULL;
        if (span.start_ns == UNKNOWN_NS)
            continue;
        slices_add(slices, slice_of(&rank->ops[i], move), span.start_ns, span.end_ns);
        if (move != NULL && move->moved.start_ns != UNKNOWN_NS)
            slices_add(slices, SLICE_TRANSFER, move->moved.start_ns, move->moved.end_ns);
    }
    for (size_t i = 0; i < when->nbeside; i++)
        slices_add(slices, when->beside[i].kind, when->beside[i].when.start_ns,
                   when->beside[i].when.end_ns);
}

static void fill(struct iteration_time *out, const struct slice_times *t, double n)
{
    const int64_t *shown = t->shown_ns;
    out->compute_ns = (double)shown[SLICE_COMPUTE] / n;
    out->untraced_ns = (double)shown[SLICE_UNTRACED] / n;
    out->comm_ns = (double)t->comm_ns / n;
    out->exposed_comm_ns = (double)(shown[SLICE_TRANSFER] + shown[SLICE_MEMBER_WAIT]) / n;
    out->comm_wait_ns = (double)shown[SLICE_MEMBER_WAIT] / n;
    out->memory_ns = (double)t->all_ns[SLICE_MEMORY] / n;
    out->exposed_memory_ns = (double)shown[SLICE_MEMORY] / n;
    out->host_bound_ns = (double)shown[SLICE_HOST_BOUND] / n;
    out->stream_wait_ns = (double)shown[SLICE_STREAM_WAIT] / n;
    out->bubble_ns = (double)shown[SLICE_BUBBLE] / n;
    out->other_idle_ns = (double)t->rest_ns / n;
    out->idle_ns = (double)(shown[SLICE_HOST_BOUND] + shown[SLICE_STREAM_WAIT] +
                            shown[SLICE_BUBBLE] + t->rest_ns) /
                   n;
}

void iteration_measure(struct iteration_time *out, const struct iterations *it,
                       const struct rank *rank, const struct timeline *when)
{
    struct window w = iteration_window(it, rank->nops, when);
    struct slices slices;
    struct slice_times t;
    slices_init(&slices, w.start_ns, w.end_ns);
    collect(&slices, rank, when);
    slices_measure(&slices, &t);
    slices_release(&slices);
    out->span_ns = (double)(w.end_ns - w.start_ns) / w.iterations;
    fill(out, &t, w.iterations);
}
