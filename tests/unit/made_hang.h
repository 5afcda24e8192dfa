/* SPDX-License-Identifier: MIT
 *
 * Recordings of jobs that do not go on: a rank calls collectives and messages one after the other,
 * a millisecond apart; from some point on they do not end.
 */
#ifndef SPECTER_TEST_MADE_HANG_H
#define SPECTER_TEST_MADE_HANG_H

#include "analysis/analysis.h"
#include "base/buf.h"
#include "made_device.h"
#include "report/findings.h"
#include "test.h"

#include <stdio.h>

#define MS INT64_C(1000000)
#define LATER (20000 * MS) /* the last moment of a trace; calls are made in its first second */
#define MIB ((uint64_t)1 << 20)

/* An operation that a rank calls ENDS, or PENDS: it is under way at the end of the trace. */
enum fate { ENDS, PENDS };

static inline void open_run(struct run *run, int ranks)
{
    device_run_on(run, ranks, "", COVER_NCCL | COVER_DEPS);
    for (int r = 0; r < ranks; r++) {
        run->ranks[r].complete = false;
        run->ranks[r].end_ns = LATER;
    }
}

/* A communicator of ranks first, first + step, ... */
static inline int open_comm(struct run *run, const char *id, const char *name, int size, int first,
                            int step)
{
    int comm = device_comm(run, id, first, step, size);
    run->comms[comm].name = name;
    for (int i = 0; i < size; i++)
        rank_add_member(&run->ranks[first + i * step], comm, i, -1);
    return comm;
}

/* A communicator of which a trace tells its first member alone. */
static inline int open_comm_of_one(struct run *run, int size)
{
    int comm = run_comm(run, "c0ffee", 6, size);
    rank_add_member(&run->ranks[0], comm, 0, -1);
    run->comms[comm].ranks[0] = 0;
    return comm;
}

static inline struct op *add_op(struct run *run, int r, int stream, enum fate fate)
{
    int64_t t_ns = (int64_t)(run->ranks[r].nops + 1) * MS, begin_ns = t_ns + MS / 10;
    struct op *op = device_op(run, r, stream, t_ns, begin_ns, begin_ns, begin_ns + MS / 2);
    op->id = run->ranks[r].nops;
    if (fate == PENDS) {
        op->timing = SPECTER_TIMING_NONE;
        op->start_ns = op->dur_ns = UNKNOWN_NS;
    }
    return op;
}

/* The rank's collective of that number, on a stream of the communicator's. */
static inline struct op *reduce_nth(struct run *run, int r, int comm, int64_t seq, uint64_t bytes,
                                    enum fate fate)
{
    struct op *op = device_coll(add_op(run, r, comm, fate), SPECTER_ALLREDUCE, comm, seq, bytes);
    op->dtype = SPECTER_BF16;
    op->coll.redop = SPECTER_REDOP_SUM;
    return op;
}

/* The rank's next collective of the communicator. */
static inline struct op *reduce(struct run *run, int r, int comm, uint64_t bytes, enum fate fate)
{
    int64_t seq = 0;
    for (size_t i = 0; i < run->ranks[r].nops; i++) {
        const struct op *op = &run->ranks[r].ops[i];
        seq += op->class == OP_COLL && op->coll.comm == comm;
    }
    return reduce_nth(run, r, comm, seq, bytes, fate);
}

static inline struct op *message(struct run *run, int r, enum specter_comm_op kind, int comm,
                                 int peer, int64_t seq, enum fate fate)
{
    struct op *op = device_coll(add_op(run, r, 100 + (int)kind, fate), kind, comm, seq, 4096);
    op->dtype = SPECTER_BF16;
    op->coll.peer = peer;
    return op;
}

/* Stream `to` waits for what was called so far on `from`. */
static inline void wait_for_event(struct run *run, int r, int from, int to)
{
    device_sync_call(run, r, SYNC_CALL_RECORD, from, 77, 3 * MS / 2, 3 * MS / 2);
    device_sync_call(run, r, SYNC_CALL_WAIT, to, 77, 3 * MS / 2, 3 * MS / 2);
}

/* The only hang; a hang of nothing, and a failure, when there is not one. */
static inline struct hang the_hang(struct hangs *h, const struct run *run)
{
    static const struct op none = {.name = ""};
    hangs_find(h, run);
    CHECK_INT(h->count, 1);
    return h->count == 1 ? h->list[0] : (struct hang){.op = &none, .cause = HANG_CAUSE_COUNT};
}

/* Returns the sentence of the first hang; "" where there is none. */
static inline const char *text_of(const struct hangs *h, const struct run *run)
{
    static char text[1024];
    struct buf b = BUF_INIT;
    if (h->count == 0)
        return "";
    hang_text(&b, &h->list[0], run);
    snprintf(text, sizeof text, "%.*s", (int)b.len, b.data);
    buf_release(&b);
    return text;
}

static inline int the_rank(const struct hang *hang)
{
    return hang->nranks == 1 ? hang->ranks[0] : -1;
}

/* There is one hang, and this is said of it. */
static inline void check_hang(const struct run *run, enum hang_cause cause, const char *text)
{
    struct hangs h;
    CHECK_INT(the_hang(&h, run).cause, cause);
    CHECK_STR(text_of(&h, run), text);
    hangs_release(&h);
}

/* The same, and this is part of what is said. */
static inline void check_hang_has(const struct run *run, enum hang_cause cause, const char *part)
{
    struct hangs h;
    CHECK_INT(the_hang(&h, run).cause, cause);
    CHECK_HAS(text_of(&h, run), part);
    hangs_release(&h);
}

static inline void check_none(const struct run *run)
{
    struct hangs h;
    hangs_find(&h, run);
    CHECK_STR(text_of(&h, run), "");
    hangs_release(&h);
}

/* All members but 5 of 8 reach number `last`, of 64 MiB as all before, which does not end. */
static inline int world_but_5(struct run *run, int last)
{
    open_run(run, 8);
    int dp = open_comm(run, "c0ffee", "dp", 8, 0, 1);
    for (int r = 0; r < 8; r++) {
        for (int k = 0; k < last; k++)
            reduce(run, r, dp, 64 * MIB, ENDS);
        if (r != 5)
            reduce(run, r, dp, 64 * MIB, PENDS);
    }
    return dp;
}

#endif
