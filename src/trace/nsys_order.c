/* SPDX-License-Identifier: MIT
 *
 * Which collectives of the ranks are the same, behind the last file: by NCCL's communicator and
 * order where payloads name it, else by the order on each stream. On a common clock that order can
 * be checked: members of one collective run at the same time. A profile that begins in the middle
 * of one has it on some ranks only; then the order of a rank is moved to where the times fit.
 */
#include "trace/nsys.h"

#include "trace/comm_order.h"
#include "trace/kernel_names.h"

#include <stdlib.h>
#include <string.h>

#define SHIFT_MAX 8 /* collectives that the beginning of a profile may cut off */

/* ---- messages that are collectives ---- */

/* Does this stream carry collectives that are made of messages (an all-to-all)? */
static bool carries_exchanges(const struct rank *rank, const struct op *like)
{
    for (size_t i = 0; i < rank->nops; i++) {
        const struct op *op = &rank->ops[i];
        if (op->class == OP_COLL && op->device == like->device && op->stream == like->stream &&
            kernel_is_sendrecv(op->name))
            return true;
    }
    return false;
}

/* A kernel that exchanges messages and whose call the profile does not hold, on a stream where all
 * others are collectives, takes its place in their order; which operation it is stays unknown. */
static void adopt_exchanges(struct rank *rank)
{
    const struct op *last = NULL;
    bool carries = false;
    for (size_t i = 0; i < rank->nops; i++) {
        struct op *op = &rank->ops[i];
        if (op->class != OP_P2P || op->coll.op != SPECTER_COMM_OP_COUNT)
            continue;
        if (last == NULL || last->stream != op->stream || last->device != op->device)
            carries = carries_exchanges(rank, op);
        last = op;
        if (carries)
            op->class = OP_COLL;
    }
}

/* ---- order against time ---- */

/* The collectives of one communicator on one rank. */
struct row {
    struct op **ops; /* owned */
    size_t count, cap;
    int64_t wall_ns; /* to be added to their times */
};

static struct row row_of(struct rank *rank, int comm)
{
    struct row row = {.wall_ns = 0};
    if (rank->mono_ns != UNKNOWN_NS && rank->real_ns != UNKNOWN_NS)
        row.wall_ns = rank->real_ns - rank->mono_ns;
    for (size_t i = 0; i < rank->nops; i++) {
        if (rank->ops[i].class != OP_COLL || rank->ops[i].coll.comm != comm)
            continue;
        ARRAY_GROW(row.ops, row.cap, row.count + 1);
        row.ops[row.count++] = &rank->ops[i];
    }
    return row;
}

static bool overlap(const struct row *a, size_t i, const struct row *b, size_t j)
{
    const struct op *x = a->ops[i], *y = b->ops[j];
    int64_t xs = x->start_ns + a->wall_ns, ys = y->start_ns + b->wall_ns;
    return xs < ys + y->dur_ns && ys < xs + x->dur_ns;
}

/* How many of b fit a's when b's i-th is a's (i + shift)-th. */
static size_t fits(const struct row *a, const struct row *b, int64_t shift)
{
    size_t count = 0;
    for (size_t i = shift < 0 ? (size_t)-shift : 0; i < b->count; i++) {
        size_t at = (size_t)((int64_t)i + shift);
        if (at >= a->count)
            break;
        count += overlap(a, at, b, i);
    }
    return count;
}

static int64_t best_shift(const struct row *a, const struct row *b)
{
    int64_t best = 0;
    size_t most = fits(a, b, 0);
    for (int64_t by = 1; by <= SHIFT_MAX; by++) {
        for (int64_t shift = -by; shift <= by; shift += 2 * by) {
            size_t count = fits(a, b, shift);
            if (count <= most)
                continue;
            most = count;
            best = shift;
        }
    }
    return best;
}

struct verdict {
    size_t compared, apart; /* collectives; those that do not run at the same time */
    size_t moved;           /* ranks */
};

/* Aligns b to a; both are rows of one communicator and one file. */
static void align(const struct row *a, const struct row *b, struct verdict *v)
{
    int64_t shift = best_shift(a, b);
    size_t both;
    v->moved += shift != 0;
    for (size_t i = 0; i < b->count; i++)
        b->ops[i]->coll.seq += shift;
    both = shift < 0 ? (size_t)-shift : 0;
    both = b->count > both ? b->count - both : 0;
    if (both > a->count - (shift > 0 && (size_t)shift < a->count ? (size_t)shift : 0))
        both = a->count - (shift > 0 && (size_t)shift < a->count ? (size_t)shift : 0);
    v->compared += both;
    v->apart += both - fits(a, b, shift);
}

static void check_comm(struct run *run, int comm, struct verdict *v)
{
    struct row first = {0};
    const char *file = NULL;
    for (size_t r = 0; r < run->nranks; r++) {
        struct row row = row_of(&run->ranks[r], comm);
        for (size_t i = 0; i < row.count; i++)
            row.ops[i]->coll.seq += SHIFT_MAX; /* below 0 is unknown */
        if (file == NULL && row.count > 0) {
            first = row;
            file = run->ranks[r].file;
            continue;
        }
        if (row.count > 0 && strcmp(run->ranks[r].file, file) == 0)
            align(&first, &row, v);
        free(row.ops);
    }
    free(first.ops);
}

static void check_order(struct run *run)
{
    struct verdict v = {0};
    for (size_t c = 0; c < run->ncomms; c++) {
        if (strncmp(run->comms[c].id, "stream order ", 13) == 0)
            check_comm(run, (int)c, &v);
    }
    if (v.moved > 0)
        run_note(run, false,
                 "the order of collectives is moved on %zu rank%s to where their times fit: the "
                 "profile begins in the middle of one",
                 v.moved, v.moved > 1 ? "s" : "");
    if (v.apart > 0)
        run_note(run, false,
                 "%zu of %zu collectives that are the same by their order do not run at the same "
                 "time on two ranks: the order may be wrong",
                 v.apart, v.compared);
}

/* ---- clocks ---- */

/* Times of a single file without a date have one zero at least. */
static void date_single_file(struct run *run)
{
    for (size_t r = 0; r < run->nranks; r++) {
        if (run->ranks[r].mono_ns != UNKNOWN_NS ||
            strcmp(run->ranks[r].file, run->ranks[0].file) != 0)
            return;
    }
    for (size_t r = 0; r < run->nranks; r++)
        run->ranks[r].mono_ns = run->ranks[r].real_ns = 0;
}

/* ---- graphs ---- */

/* How many launches of the same graph came before each. */
static void count_launches(struct rank *rank)
{
    uint64_t *counts = NULL;
    size_t cap = 0;
    for (size_t i = 0; i < rank->nops; i++) {
        struct op *op = &rank->ops[i];
        if (op->class != OP_GRAPH || op->graph < 0)
            continue;
        ARRAY_GROW(counts, cap, (size_t)op->graph + 1);
        op->graph_launch.launch = counts[op->graph]++;
    }
    free(counts);
}

void nsys_finish(struct run *run)
{
    date_single_file(run);
    for (size_t r = 0; r < run->nranks; r++) {
        struct rank *rank = &run->ranks[r];
        rank_sort(rank);
        count_launches(rank);
        adopt_exchanges(rank);
        order_name_lanes(run, rank, 0, "communicators");
        order_number(rank);
    }
    check_order(run);
    order_note_gaps(run);
}
