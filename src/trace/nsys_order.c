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

static int64_t stream_key(const struct op *op)
{
    return idmap_pair(op->device, op->stream);
}

/* A kernel that exchanges messages and whose call the profile does not hold takes its place in the
 * order of its stream where others there are collectives made of messages (an all-to-all); which
 * operation it is stays unknown. */
static void adopt_exchanges(struct rank *rank)
{
    struct idmap streams = {0};
    for (size_t i = 0; i < rank->nops; i++) {
        if (rank->ops[i].class == OP_COLL && kernel_is_sendrecv(rank->ops[i].name))
            idmap_add(&streams, stream_key(&rank->ops[i]));
    }
    for (size_t i = 0; i < rank->nops; i++) {
        struct op *op = &rank->ops[i];
        if (op->class == OP_P2P && op->coll.op == SPECTER_COMM_OP_COUNT &&
            idmap_find(&streams, stream_key(op)) != IDMAP_NONE)
            op->class = OP_COLL;
    }
    idmap_release(&streams);
}

/* ---- order against time ---- */

/* A collective whose place is known by its stream's order only. */
struct ordered_op {
    int32_t comm;
    uint32_t rank;
    struct op *op;
};

/* The collectives of one communicator on one rank: a part of the list of all. */
struct order_row {
    const struct ordered_op *list;
    size_t count;
    int64_t wall_ns; /* to be added to their times */
};

static int compare_placed(const void *pa, const void *pb)
{
    const struct ordered_op *a = pa, *b = pb;
    if (a->comm != b->comm)
        return a->comm < b->comm ? -1 : 1;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return (a->op > b->op) - (a->op < b->op); /* as in the rank */
}

static size_t find_placed(struct run *run, struct ordered_op **list)
{
    size_t n = 0, cap = 0;
    for (size_t r = 0; r < run->nranks; r++) {
        for (size_t i = 0; i < run->ranks[r].nops; i++) {
            struct op *op = &run->ranks[r].ops[i];
            if (op->class != OP_COLL || op->coll.comm < 0 || !order_is_guessed(run, op->coll.comm))
                continue;
            ARRAY_GROW(*list, cap, n + 1);
            (*list)[n++] = (struct ordered_op){op->coll.comm, (uint32_t)r, op};
        }
    }
    if (n > 0)
        qsort(*list, n, sizeof **list, compare_placed);
    return n;
}

/* The row that begins here. */
static struct order_row row_at(const struct run *run, const struct ordered_op *list, size_t n)
{
    struct order_row row = {list, 1, 0};
    const struct rank *rank = &run->ranks[list->rank];
    while (row.count < n && list[row.count].rank == list->rank &&
           list[row.count].comm == list->comm)
        row.count++;
    if (rank->mono_ns != UNKNOWN_NS && rank->real_ns != UNKNOWN_NS)
        row.wall_ns = rank->real_ns - rank->mono_ns;
    return row;
}

static bool overlap(const struct order_row *a, size_t i, const struct order_row *b, size_t j)
{
    const struct op *x = a->list[i].op, *y = b->list[j].op;
    int64_t xs = x->start_ns + a->wall_ns, ys = y->start_ns + b->wall_ns;
    return xs < ys + y->dur_ns && ys < xs + x->dur_ns;
}

/* How many of b fit a's when b's i-th is a's (i + shift)-th. */
static size_t fits(const struct order_row *a, const struct order_row *b, int64_t shift)
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

static int64_t best_shift(const struct order_row *a, const struct order_row *b)
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

struct order_check {
    size_t compared, apart; /* collectives; those that do not run at the same time */
    size_t moved;           /* ranks */
};

/* Aligns b to a; both are rows of one communicator and one file. */
static void align(const struct order_row *a, const struct order_row *b, struct order_check *v)
{
    int64_t shift = best_shift(a, b);
    size_t both;
    v->moved += shift != 0;
    for (size_t i = 0; i < b->count; i++)
        b->list[i].op->coll.seq += shift;
    both = shift < 0 ? (size_t)-shift : 0;
    both = b->count > both ? b->count - both : 0;
    if (both > a->count - (shift > 0 && (size_t)shift < a->count ? (size_t)shift : 0))
        both = a->count - (shift > 0 && (size_t)shift < a->count ? (size_t)shift : 0);
    v->compared += both;
    v->apart += both - fits(a, b, shift);
}

/* Every row against the first of its communicator, where they are of one file. */
static void check_rows(const struct run *run, const struct ordered_op *list, size_t n,
                       struct order_check *v)
{
    struct order_row first = {NULL, 0, 0};
    for (size_t i = 0; i < n;) {
        struct order_row row = row_at(run, list + i, n - i);
        i += row.count;
        for (size_t k = 0; k < row.count; k++)
            row.list[k].op->coll.seq += SHIFT_MAX; /* below 0 is unknown */
        if (first.list == NULL || first.list->comm != row.list->comm)
            first = row;
        else if (strcmp(run->ranks[row.list->rank].file, run->ranks[first.list->rank].file) == 0)
            align(&first, &row, v);
    }
}

static void check_order(struct run *run)
{
    struct order_check v = {0};
    struct ordered_op *list = NULL;
    size_t n = find_placed(run, &list);
    check_rows(run, list, n, &v);
    free(list);
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

/* ---- who is in a communicator that only order names ---- */

/* Numbers ranks that have none by file, process and device, when nothing else tells: then their
 * numbers are their places in a communicator of all. False where payloads or names of files say
 * who is who. */
static bool number_ranks(struct run *run)
{
    for (size_t r = 0; r < run->nranks; r++) {
        if (run->ranks[r].rank >= 0 || run->ranks[r].nin > 0)
            return false;
    }
    for (size_t r = 0; r < run->nranks; r++)
        run->ranks[r].rank = (int)r;
    if (run->nranks > 1)
        run_note(run, false,
                 "the traces do not say which rank is which: %zu are numbered by file, process and "
                 "device",
                 run->nranks);
    return true;
}

/* A communicator by stream order is one of all ranks when every rank has it, as the run is taken to
 * be all of the job. */
static void fill_ordered(struct run *run)
{
    size_t *members = array_new(run->ncomms + 1, sizeof *members);
    struct ordered_op *list = NULL;
    size_t n = find_placed(run, &list);
    for (size_t i = 0; i < n; i++)
        members[list[i].comm] +=
            i == 0 || list[i].comm != list[i - 1].comm || list[i].rank != list[i - 1].rank;
    for (size_t c = 0; c < run->ncomms; c++) {
        const char *id = run->comms[c].id;
        if (members[c] != run->nranks || run->comms[c].size != 0 ||
            run_comm(run, id, strlen(id), (int64_t)run->nranks) < 0)
            continue;
        for (size_t r = 0; r < run->nranks; r++)
            rank_add_member(&run->ranks[r], (int)c, run->ranks[r].rank, -1);
    }
    free(members);
    free(list);
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
    if (number_ranks(run))
        fill_ordered(run);
    order_note_gaps(run);
}
