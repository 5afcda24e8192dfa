/* SPDX-License-Identifier: MIT
 *
 * Finishes a run once, after the readers: gives ranks distinct numbers, communicators their
 * members, hosts one clock (align.h) and all lists their order, and notes what is missing.
 */
#include "base/buf.h"
#include "base/idmap.h"
#include "base/order.h"
#include "base/pool.h"
#include "trace/align.h"
#include "trace/api_calls.h"
#include "trace/graph.h"
#include "trace/rank_join.h"
#include "trace/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "0-3,7": the numbers for which `in` says true, below n. */
static void put_ranks(struct buf *out, const bool *in, int n)
{
    size_t shown = 0;
    for (int i = 0; i < n; i++) {
        int first = i;
        if (!in[i])
            continue;
        while (i + 1 < n && in[i + 1])
            i++;
        if (shown++ == 16) {
            buf_puts(out, ",...");
            return;
        }
        buf_printf(out, i > first ? "%s%d-%d" : "%s%d", shown > 1 ? "," : "", first, i);
    }
}

/* ---- numbers ---- */

static int compare_ranks(const void *pa, const void *pb)
{
    const struct rank *a = pa, *b = pb;
    return a->rank != b->rank ? ORDER(a->rank, b->rank) : strcmp(a->file, b->file);
}

static int rank_in_comm(const struct rank *rank, int comm)
{
    const struct membership *in = rank_member(rank, comm);
    return in != NULL ? in->rank : -1;
}

/* The number of the first rank of the process that the launcher calls so; -1. */
static int process_number(const struct run *run, const int *launcher, int number)
{
    for (size_t r = 0; r < run->nranks; r++) {
        if (run->ranks[r].process >= 0 && launcher[r] == number)
            return run->ranks[r].rank;
    }
    return -1;
}

/* With several GPUs in a process the launcher's numbers, and their count, are those of processes:
 * all ranks take those of the largest communicator, which is the job where it has all of them. What
 * is in none is a child of the process of its number, and remains a second trace of that. */
static void number_devices(struct run *run, int world)
{
    int *launcher = NULL;
    size_t cap = 0, n = 0, outside = 0;
    for (size_t r = 0; r < run->nranks; r++)
        n += run->ranks[r].process >= 0;
    if (n == 0 || world < 0)
        return;
    run_note(run, false,
             "%zu ranks are GPUs of processes that drive several: numbered as in the largest "
             "communicator",
             n);
    ARRAY_GROW(launcher, cap, run->nranks);
    for (size_t r = 0; r < run->nranks; r++) {
        launcher[r] = run->ranks[r].rank;
        run->ranks[r].rank = rank_in_comm(&run->ranks[r], world);
        outside += run->ranks[r].nin > 0 && run->ranks[r].rank < 0;
    }
    run->world_size = outside == 0 ? run->comms[world].size : 0;
    for (size_t r = 0; r < run->nranks; r++) {
        if (run->ranks[r].nin == 0 && launcher[r] >= 0)
            run->ranks[r].rank = process_number(run, launcher, launcher[r]);
    }
    free(launcher);
}

/* Orders files as people count: host2 before host10. */
static int compare_files(const void *pa, const void *pb)
{
    const struct rank *const *a = pa, *const *b = pb;
    int order = strverscmp((*a)->file, (*b)->file);
    return order != 0 ? order : ORDER(*a, *b); /* of one file as they stand in it */
}

/* Gives ranks that have none the numbers that are free. Returns how many there were. */
static int number_in_order(struct run *run, struct idmap *taken)
{
    struct rank **list = array_new(run->nranks + 1, sizeof *list);
    int n = 0, next = 0;
    for (size_t r = 0; r < run->nranks; r++) {
        if (run->ranks[r].rank < 0)
            list[n++] = &run->ranks[r];
    }
    qsort(list, (size_t)n, sizeof *list, compare_files);
    for (int i = 0; i < n; i++) {
        while (idmap_find(taken, next) != IDMAP_NONE)
            next++;
        list[i]->rank = next++;
    }
    free(list);
    return n;
}

/* A rank without a number is its comm rank in the largest communicator, which is the whole job's in
 * all but odd cases; one that is not in it gets the next free number. */
static void number_ranks(struct run *run)
{
    int world = -1, from_comm = 0, in_order; /* world: the largest communicator */
    struct idmap taken = {0};
    for (size_t c = 0; c < run->ncomms; c++) {
        if (world < 0 || run->comms[c].size > run->comms[world].size)
            world = (int)c;
    }
    number_devices(run, world);
    for (size_t r = 0; r < run->nranks; r++) {
        if (run->ranks[r].rank >= 0)
            idmap_add(&taken, run->ranks[r].rank);
    }
    for (size_t r = 0; r < run->nranks; r++) {
        int number = run->ranks[r].rank < 0 ? rank_in_comm(&run->ranks[r], world) : -1;
        if (number < 0 || idmap_find(&taken, number) != IDMAP_NONE)
            continue;
        run->ranks[r].rank = number;
        idmap_add(&taken, number);
        from_comm++;
    }
    in_order = number_in_order(run, &taken);
    idmap_release(&taken);
    if (from_comm > 0 && run->world_size == 0)
        run->world_size = run->comms[world].size;
    if (from_comm > 0)
        run_note(run, false,
                 "%d trace%s without a rank took the number in the largest communicator", from_comm,
                 from_comm > 1 ? "s" : "");
    if (in_order > 0 && run->nranks > 1)
        run_note(run, false, "%d trace%s without a rank %s numbered in the order of the files",
                 in_order, in_order > 1 ? "s" : "", in_order > 1 ? "were" : "was");
}

/* ---- two files of one rank ---- */

/* The original tool can write NCCL and cuBLAS calls to a file each: together they are the rank. */
static bool complementary(const struct rank *a, const struct rank *b)
{
    return a->mono_ns == UNKNOWN_NS && b->mono_ns == UNKNOWN_NS &&
           (a->coverage | b->coverage) == (COVER_NCCL | COVER_GEMM) &&
           (a->coverage & b->coverage) == 0;
}

static void drop_duplicates(struct run *run)
{
    size_t kept = 0, dropped = 0;
    const char *one = "", *other = "";
    int number = -1;
    for (size_t r = 0; r < run->nranks; r++) {
        struct rank *last = kept > 0 ? &run->ranks[kept - 1] : NULL;
        if (last == NULL || last->rank != run->ranks[r].rank) {
            if (kept != r)
                run->ranks[kept] = run->ranks[r];
            kept++;
            continue;
        }
        if (!complementary(last, &run->ranks[r]) && dropped++ == 0) {
            number = last->rank;
            one = last->file;
            other = run->ranks[r].file;
        }
        /* Keeps one of two ranks with the same number in *a. A recorder's second file is a child
         * process: the member of a communicator counts, else the one that did more. */
        struct rank *a = last, *b = &run->ranks[r], swap;
        if (complementary(a, b)) {
            rank_append(a, b);
        } else if ((b->nin > 0) != (a->nin > 0) ? b->nin > 0 : b->nops > a->nops) {
            swap = *a;
            *a = *b;
            *b = swap;
        }
        rank_clear(b);
    }
    run->nranks = kept;
    if (dropped > 0)
        run_note(
            run, true,
            "more than one trace of a rank (%d in '%s' and '%s'): the one with more operations "
            "is kept, %zu left out",
            number, one, other, dropped);
}

/* ---- order ---- */

static int64_t op_key(const struct op *op)
{
    return op->start_ns != UNKNOWN_NS ? op->start_ns : op->host_ns;
}

static int compare_ops(const void *pa, const void *pb)
{
    const struct op *a = pa, *b = pb;
    int order = ORDER(op_key(a), op_key(b));
    return order != 0 ? order : ORDER(a->id, b->id);
}

static int compare_sync_calls(const void *pa, const void *pb)
{
    const struct sync_call *a = pa, *b = pb;
    int order = ORDER(a->host_ns, b->host_ns);
    return order != 0 ? order : ORDER(a->host_end_ns, b->host_end_ns);
}

static int compare_steps(const void *pa, const void *pb)
{
    const struct step *a = pa, *b = pb;
    int order = ORDER(a->start_ns, b->start_ns);
    return order != 0 ? order : ORDER(a->end_ns, b->end_ns);
}

static int compare_launches(const void *pa, const void *pb)
{
    const struct launches *a = pa, *b = pb;
    int order = ORDER(a->host_ns, b->host_ns);
    return order != 0 ? order : ORDER(a->host_end_ns, b->host_end_ns);
}

static int compare_marks(const void *pa, const void *pb)
{
    const struct mark *a = pa, *b = pb;
    int order = ORDER(a->start_ns, b->start_ns);
    return order != 0 ? order : ORDER(b->end_ns, a->end_ns); /* the outer range first */
}

/* qsort, but nothing for what is in order already, as most traces are. */
static void sort(void *list, size_t n, size_t size, int (*compare)(const void *, const void *))
{
    const char *p = list;
    for (size_t i = 1; i < n; i++) {
        if (compare(p + (i - 1) * size, p + i * size) > 0) {
            qsort(list, n, size, compare);
            return;
        }
    }
}

void rank_sort(struct rank *rank)
{
    sort(rank->ops, rank->nops, sizeof *rank->ops, compare_ops);
    sort(rank->sync_calls, rank->nsync_calls, sizeof *rank->sync_calls, compare_sync_calls);
    sort(rank->steps, rank->nsteps, sizeof *rank->steps, compare_steps);
    sort(rank->launches, rank->nlaunches, sizeof *rank->launches, compare_launches);
    sort(rank->marks, rank->nmarks, sizeof *rank->marks, compare_marks);
}

/* ---- what NCCL's profiler interface said ----
 *
 * It is joined to the operations that it was said of: by communicator and number, and for a message
 * also by peer and direction. Lines of a trace come in any order, so that this is done when all are
 * known; rank_detail() (run.h) then finds them. */

#define NO_OP UINT32_MAX

static int by_op(const void *pa, const void *pb)
{
    const struct comm_detail *a = pa, *b = pb;
    return ORDER(a->op, b->op);
}

/* The key under which the operation would be found. The number alone names a collective. */
static bool key_of(struct comm_detail *key, const struct op *op)
{
    bool message = op->class == OP_P2P;
    if (op->class != OP_COLL && !message)
        return false;
    key->comm = op->coll.comm;
    key->seq = message ? op->coll.p2p_seq : op->coll.seq;
    key->peer = message ? op->coll.peer : -1;
    key->comm_op = message ? op->coll.op : (uint8_t)SPECTER_COMM_OP_COUNT;
    return key->comm >= 0 && key->seq >= 0;
}

static int by_key(const void *pa, const void *pb)
{
    const struct comm_detail *a = pa, *b = pb;
    if (a->comm != b->comm)
        return ORDER(a->comm, b->comm);
    if (a->seq != b->seq)
        return ORDER(a->seq, b->seq);
    if (a->peer != b->peer)
        return ORDER(a->peer, b->peer);
    return ORDER(a->comm_op, b->comm_op);
}

/* Needs ops in their final order. Returns how many fit no operation; they are dropped. */
static size_t rank_join_details(struct rank *rank)
{
    struct comm_detail key = {0}, *found;
    size_t kept = 0, all = rank->ndetails;
    if (all == 0)
        return 0;
    for (size_t i = 0; i < all; i++)
        rank->details[i].op = NO_OP;
    qsort(rank->details, all, sizeof key, by_key);
    for (size_t i = 0; i < rank->nops; i++) {
        if (!key_of(&key, &rank->ops[i]))
            continue;
        found = bsearch(&key, rank->details, all, sizeof key, by_key);
        if (found != NULL)
            found->op = (uint32_t)i;
    }
    for (size_t i = 0; i < all; i++) {
        if (rank->details[i].op != NO_OP)
            rank->details[kept++] = rank->details[i];
    }
    rank->ndetails = kept;
    if (kept > 0)
        qsort(rank->details, kept, sizeof key, by_op);
    return all - kept;
}

const struct comm_detail *rank_detail(const struct rank *rank, size_t op)
{
    struct comm_detail key = {.op = (uint32_t)op};
    if (rank->ndetails == 0)
        return NULL;
    return bsearch(&key, rank->details, rank->ndetails, sizeof key, by_op);
}

/* ---- what is missing ---- */

static bool is_cut(const struct rank *rank)
{
    return rank->torn;
}

static bool is_open(const struct rank *rank)
{
    return !rank->complete && !rank->torn;
}

static bool has_pending(const struct rank *rank)
{
    for (size_t i = 0; i < rank->nops; i++) {
        if (rank->ops[i].timing == SPECTER_TIMING_NONE)
            return true;
    }
    return false;
}

static bool has_dropped(const struct rank *rank)
{
    return rank->dropped > 0;
}

static void note_set(struct run *run, bool loss, const char *text,
                     bool (*test)(const struct rank *))
{
    /* The ranks for which test() holds; those missing when test is NULL. */
    bool *in = array_new((size_t)run->world_size + 1, sizeof *in);
    if (test == NULL)
        memset(in, true, (size_t)run->world_size);
    for (size_t r = 0; r < run->nranks; r++)
        in[run->ranks[r].rank] = test != NULL && test(&run->ranks[r]);
    struct buf list = BUF_INIT;
    int count = 0;
    for (int i = 0; i < run->world_size; i++)
        count += in[i];
    if (count > 0) {
        put_ranks(&list, in, run->world_size);
        run_note(run, loss, "%s: rank%s %s", text, count > 1 ? "s" : "", list.data);
    }
    buf_release(&list);
    free(in);
}

static void note_losses(struct run *run)
{
    char text[96];
    uint64_t dropped = 0;
    for (size_t r = 0; r < run->nranks; r++)
        dropped += run->ranks[r].dropped;
    snprintf(text, sizeof text, "the recorder dropped %llu operations",
             (unsigned long long)dropped);
    note_set(run, true, text, has_dropped);
    note_set(run, false, "no shutdown record (the program was killed or still runs)", is_open);
    note_set(run, false, "cut off in the last line (the program was killed or still runs)", is_cut);
    note_set(run, false, "operations that had not finished when the trace ends", has_pending);
    snprintf(text, sizeof text, "%zu of %d ranks have a trace; missing", run->nranks,
             run->world_size);
    note_set(run, !run_alone(run), text, NULL);
}

/* Sorts the lists of a rank, and then sets what refers from one to another, a thread a rank. */
struct rank_finish {
    struct run *run;
    size_t *alone; /* [nranks] details that belong to no operation */
};

static void finish_rank(void *arg, size_t r)
{
    const struct rank_finish *f = arg;
    struct rank *rank = &f->run->ranks[r];
    rank_sort(rank);
    host_waits_find(rank);
    f->alone[r] = rank_join_details(rank);
    graphs_flag(rank);
}

/* Returns how many details belong to no operation. */
static size_t finish_ranks(struct run *run)
{
    struct rank_finish f = {run, array_new(run->nranks, sizeof *f.alone)};
    size_t alone = 0;
    pool_run(pool_cpus(), run->nranks, finish_rank, &f, NULL);
    for (size_t r = 0; r < run->nranks; r++)
        alone += f.alone[r];
    free(f.alone);
    return alone;
}

void run_finish(struct run *run)
{
    number_ranks(run);
    if (run->nranks > 0)
        qsort(run->ranks, run->nranks, sizeof *run->ranks, compare_ranks);
    drop_duplicates(run);
    size_t clashes = 0;
    for (size_t r = 0; r < run->nranks; r++) {
        const struct rank *rank = &run->ranks[r];
        for (size_t i = 0; i < rank->nin; i++) {
            struct comm *comm = &run->comms[rank->in[i].comm];
            int at = rank->in[i].rank;
            if (at < 0 || at >= comm->size)
                continue;
            clashes += comm->ranks[at] >= 0 && comm->ranks[at] != rank->rank;
            comm->ranks[at] = rank->rank;
        }
    }
    if (clashes > 0)
        run_note(run, false, "%zu places in communicators are claimed by two ranks", clashes);
    clocks_align(run);
    const size_t alone = finish_ranks(run);
    if (alone > 0)
        run_note(run, false,
                 "%zu record%s of NCCL's profiler belong%s to no operation that is there", alone,
                 alone > 1 ? "s" : "", alone > 1 ? "" : "s");
    int highest = run->nranks > 0 ? run->ranks[run->nranks - 1].rank : -1;
    if (run->world_size > 0 && highest >= run->world_size)
        run_note(run, false, "rank %d in a world of %d", highest, run->world_size);
    if (highest >= run->world_size)
        run->world_size = highest + 1;
    note_losses(run);
}
