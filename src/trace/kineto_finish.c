/* SPDX-License-Identifier: MIT
 *
 * Numbers of collectives and messages, and what is done behind the last Kineto file.
 *
 * The n-th collective of a communicator on each rank is the same one, unless every trace has
 * PyTorch's own sequence numbers, which also hold when the traces begin at different moments.
 */
#include "trace/kineto.h"

#include <stdlib.h>
#include <string.h>

/* ---- numbers ---- */

/* Counts from 0 for each key. */
struct counters {
    struct idmap keys;
    KINETO_LIST(int64_t, next);
};

static int64_t count_up(struct counters *c, int64_t key)
{
    uint32_t at = idmap_add(&c->keys, key);
    ARRAY_GROW(c->next.list, c->next.cap, (size_t)at + 1);
    return c->next.list[at]++;
}

/* In order of start: collectives by communicator, messages by communicator, peer and direction. */
void kineto_number(struct rank *rank)
{
    struct counters collectives = {0}, messages = {0};
    for (size_t i = 0; i < rank->nops; i++) {
        struct op *op = &rank->ops[i];
        if (op->class == OP_COLL && op->coll.comm >= 0)
            op->coll.seq = count_up(&collectives, op->coll.comm);
        else if (op->class == OP_P2P && op->coll.comm >= 0 && op->coll.peer >= 0)
            op->coll.p2p_seq =
                count_up(&messages, ((int64_t)op->coll.comm << 32 | (int64_t)op->coll.peer) * 2 +
                                        (op->coll.op == SPECTER_RECV));
    }
    idmap_release(&collectives.keys);
    idmap_release(&messages.keys);
    free(collectives.next.list);
    free(messages.next.list);
}

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
    free(good);
}

/* What the traces of all ranks do not tell. */
struct gaps {
    size_t ops, unlaunched;          /* device work, without the call that launched it */
    size_t comm, sizeless, nameless; /* communication, without bytes, without operation */
    size_t steps;
};

static void count_gaps(struct gaps *g, const struct rank *rank)
{
    g->steps += rank->nsteps;
    for (size_t i = 0; i < rank->nops; i++) {
        const struct op *op = &rank->ops[i];
        g->ops++;
        g->unlaunched += op->host_ns == UNKNOWN_NS;
        if (op->class != OP_COLL && op->class != OP_P2P)
            continue;
        g->comm++;
        g->sizeless += (op->flags & OP_BYTES_UNKNOWN) != 0;
        g->nameless += op->coll.op == SPECTER_COMM_OP_COUNT;
    }
}

static const char *const gap_texts[] = {
    " carry no size, in the trace's kernels or on the host's side; their measured times are kept",
    " communication kernels do not tell their operation",
    " GPU operations were launched by calls that the traces do not hold",
    "no kernel of these traces is communication by its name",
    "the traces mark no steps",
};

/* Notes of before, when less was known. */
static void drop_gap_notes(struct run *run)
{
    size_t kept = 0;
    for (size_t i = 0; i < run->nnotes; i++) {
        bool gap = false;
        for (size_t t = 0; t < sizeof gap_texts / sizeof *gap_texts; t++)
            gap |= strstr(run->notes[i].text, gap_texts[t]) != NULL;
        if (!gap)
            run->notes[kept++] = run->notes[i];
    }
    run->nnotes = kept;
}

void kineto_note_gaps(struct run *run)
{
    struct gaps g = {0};
    for (size_t r = 0; r < run->nranks; r++)
        count_gaps(&g, &run->ranks[r]);
    drop_gap_notes(run);
    if (g.sizeless > 0)
        run_note(run, false, "%zu of %zu communication kernels%s", g.sizeless, g.comm,
                 gap_texts[0]);
    if (g.nameless > 0)
        run_note(run, false, "%zu of %zu%s", g.nameless, g.comm, gap_texts[1]);
    if (g.unlaunched > 0)
        run_note(run, false, "%zu of %zu%s", g.unlaunched, g.ops, gap_texts[2]);
    if (g.comm == 0 && (run->nranks > 1 || run->world_size > 1))
        run_note(run, false, "%s, though there are several ranks", gap_texts[3]);
    if (g.steps == 0)
        run_note(run, false, "%s (ProfilerStep): no time is told by step", gap_texts[4]);
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
    use_recorded_numbers(run);
    kineto_note_gaps(run);
}
