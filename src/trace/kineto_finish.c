/* SPDX-License-Identifier: MIT
 *
 * What is done behind the last Kineto file.
 *
 * The n-th collective of a communicator on each rank is the same one, unless every trace has
 * PyTorch's own sequence numbers, which also hold when the traces begin at different moments.
 */
#include "trace/comm_order.h"
#include "trace/comm_resync.h"
#include "trace/kineto.h"

#include <stdlib.h>
#include <string.h>

/* ---- all files ---- */

/* A kernel without a record (launched before the profile began, say) has the number before that of
 * the next one of its communicator; behind the last one, the number after it. */
static void fill_numbers(struct run *run, struct rank *rank, int64_t *known)
{
    for (size_t c = 0; c < run->ncomms; c++)
        known[c] = -1;
    for (size_t i = rank->nops; i-- > 0;) {
        struct op *op = &rank->ops[i];
        if (op->class != OP_COLL || op->coll.comm < 0)
            continue;
        if (op->coll.p2p_seq < 0 && known[op->coll.comm] > 0)
            op->coll.p2p_seq = known[op->coll.comm] - 1;
        known[op->coll.comm] = op->coll.p2p_seq;
    }
    for (size_t c = 0; c < run->ncomms; c++)
        known[c] = -1;
    for (size_t i = 0; i < rank->nops; i++) {
        struct op *op = &rank->ops[i];
        if (op->class != OP_COLL || op->coll.comm < 0)
            continue;
        if (op->coll.p2p_seq < 0 && known[op->coll.comm] >= 0)
            op->coll.p2p_seq = known[op->coll.comm] + 1;
        known[op->coll.comm] = op->coll.p2p_seq;
    }
}

/* Which communicators have usable recorded numbers: on every op of every rank, and growing. */
static bool *recorded_numbers(struct run *run)
{
    bool *good = calloc(run->ncomms + 1, sizeof *good);
    int64_t *last = calloc(run->ncomms + 1, sizeof *last);
    if (good == NULL || last == NULL)
        die("out of memory");
    memset(good, true, run->ncomms);
    for (size_t r = 0; r < run->nranks; r++) {
        fill_numbers(run, &run->ranks[r], last);
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

/* What else is not in the traces of any rank. */
static void note_missing(struct run *run)
{
    size_t comm = 0, steps = 0;
    for (size_t r = 0; r < run->nranks; r++) {
        steps += run->ranks[r].nsteps;
        for (size_t i = 0; i < run->ranks[r].nops; i++)
            comm += run->ranks[r].ops[i].class == OP_COLL || run->ranks[r].ops[i].class == OP_P2P;
    }
    if (comm == 0 && (run->nranks > 1 || run->world_size > 1))
        run_note(run, false,
                 "no kernel of these traces is communication by its name, though there are several "
                 "ranks");
    if (steps == 0)
        run_note(run, false, "the traces mark no steps (ProfilerStep): no time is told by step");
}

/* Small times without a base have no date. Where all ranks are so, the tool that made the files cut
 * the same off all of them; beside dated ones they cannot be placed. */
static void date_ranks(struct run *run)
{
    size_t undated = 0;
    for (size_t r = 0; r < run->nranks; r++)
        undated += run->ranks[r].real_ns == UNKNOWN_NS;
    for (size_t r = 0; r < run->nranks; r++) {
        if (run->ranks[r].real_ns == UNKNOWN_NS)
            run->ranks[r].mono_ns = run->ranks[r].real_ns = undated < run->nranks ? UNKNOWN_NS : 0;
    }
    if (undated > 0 && undated < run->nranks)
        run_note(
            run, false,
            "%zu of %zu traces have no base for their times (baseTimeNanoseconds): they cannot "
            "be compared with the others",
            undated, run->nranks);
}

void kineto_finish(struct run *run)
{
    date_ranks(run);
    for (size_t r = 0; r < run->nranks; r++)
        order_number(&run->ranks[r]);
    use_recorded_numbers(run);
    order_note_gaps(run);
    note_missing(run);
}
