/* SPDX-License-Identifier: MIT */
#include "trace/et.h"

#include "base/buf.h"
#include "base/order.h"
#include "trace/comm_order.h"
#include "trace/kernel_names.h"
#include "trace/reader.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define LANES_MAX 256  /* streams with communication */
#define PAIRS_MAX 4096 /* threads of one trace times threads of the other that are compared */

/* ---- the rank ---- */

/* The last number in the file's name; -1. */
static int last_number(const char *label)
{
    const char *base = strrchr(label, '/');
    int number = -1;
    for (const char *p = base != NULL ? base + 1 : label; *p != '\0'; p++) {
        if (!isdigit((unsigned char)*p))
            continue;
        number = 0;
        for (; isdigit((unsigned char)*p); p++)
            number = number < RUN_RANKS_MAX ? number * 10 + (*p - '0') : number;
        if (*p == '\0')
            break;
    }
    return number < RUN_RANKS_MAX ? number : -1;
}

/* The one rank of that process and of that number, each -1 where it does not matter. NULL: none, or
 * more than one. */
static struct rank *only(struct run *run, int64_t pid, int number)
{
    struct rank *found = NULL;
    for (size_t r = 0; r < run->nranks; r++) {
        struct rank *rank = &run->ranks[r];
        if ((pid >= 0 && rank->pid != pid) || (number >= 0 && rank->rank != number))
            continue;
        if (found != NULL)
            return NULL;
        found = rank;
    }
    return found;
}

static struct rank *find_rank(struct et *et)
{
    int number = rank_in_name(et->label);
    struct rank *rank = et->pid >= 0 ? only(et->run, et->pid, -1) : NULL;
    if (number < 0)
        number = last_number(et->label);
    if (rank == NULL && number >= 0)
        rank = only(et->run, -1, number);
    return rank != NULL ? rank : only(et->run, -1, -1);
}

/* ---- the calls ---- */

/* Counts of what a join found. */
struct join_counts {
    size_t calls; /* that both traces have */
    size_t comms, products;
    size_t repeats; /* how often the execution trace's calls are in the profile, at most */
};

static void join_call(struct et *et, struct rank *rank, const struct anchor *anchor,
                      const struct et_call *call, struct join_counts *counts)
{
    struct op *op = anchor->op != ANCHOR_NONE ? &rank->ops[anchor->op] : NULL;
    counts->calls++;
    if (op == NULL)
        return;
    if (op_is_comm(op) && call->product.kind == PRODUCT_NONE)
        counts->comms += kineto_complete_comm(&et->k, op, &call->meta);
    else if (op->class == OP_KERNEL && !(op->kernel.flops > 0))
        counts->products += product_set(rank, op, &call->product);
}

/* By PyTorch's record function id, which is unique in a process. */
static void join_by_id(struct et *et, struct rank *rank, struct join_counts *counts)
{
    struct idmap ids = {0};
    uint32_t *calls = array_new(et->calls.count, sizeof *calls);
    for (size_t i = 0; i < et->calls.count && i < UINT32_MAX; i++) {
        uint32_t at;
        if (et->calls.list[i].record_id == 0)
            continue;
        at = idmap_add(&ids, (int64_t)et->calls.list[i].record_id);
        calls[at] = (uint32_t)i;
    }
    for (size_t i = 0; i < rank->nanchors; i++) {
        const struct anchor *anchor = &rank->anchors[i];
        uint32_t at =
            anchor->record_id != 0 ? idmap_find(&ids, (int64_t)anchor->record_id) : IDMAP_NONE;
        if (at != IDMAP_NONE && et->calls.list[calls[at]].name == anchor->name)
            join_call(et, rank, anchor, &et->calls.list[calls[at]], counts);
    }
    idmap_release(&ids);
    free(calls);
}

/* ---- by order ---- */

static int compare_calls(const void *pa, const void *pb)
{
    const struct et_call *a = pa, *b = pb;
    if (a->tid != b->tid)
        return ORDER(a->tid, b->tid);
    if (a->record_id != b->record_id)
        return ORDER(a->record_id, b->record_id);
    return a->place < b->place ? -1 : a->place > b->place;
}

/* The calls of one thread. */
struct thread_calls {
    size_t first, count;
};

struct thread_calls_list {
    KINETO_LIST(struct thread_calls, of);
};

static bool same_names(const struct et *et, const struct rank *rank, struct thread_calls a,
                       struct thread_calls c)
{
    if (a.count % c.count != 0)
        return false;
    for (size_t i = 0; i < a.count; i++) {
        if (rank->anchors[a.first + i].name != et->calls.list[c.first + i % c.count].name)
            return false;
    }
    return true;
}

static void join_by_order(struct et *et, struct rank *rank, struct join_counts *counts)
{
    struct thread_calls_list anchors = {0}, calls = {0};
    for (size_t i = 0; i < rank->nanchors; i++) {
        if (i == 0 || rank->anchors[i].tid != rank->anchors[i - 1].tid) {
            ARRAY_GROW(anchors.of.list, anchors.of.cap, anchors.of.count + 1);
            anchors.of.list[anchors.of.count++] = (struct thread_calls){i, 0};
        }
        anchors.of.list[anchors.of.count - 1].count++;
    }
    for (size_t i = 0; i < et->calls.count; i++) {
        if (i == 0 || et->calls.list[i].tid != et->calls.list[i - 1].tid) {
            ARRAY_GROW(calls.of.list, calls.of.cap, calls.of.count + 1);
            calls.of.list[calls.of.count++] = (struct thread_calls){i, 0};
        }
        calls.of.list[calls.of.count - 1].count++;
    }
    for (size_t a = 0; a < anchors.of.count && calls.of.count * anchors.of.count <= PAIRS_MAX;
         a++) {
        struct thread_calls at = anchors.of.list[a], fit = {0, 0};
        size_t fits = 0;
        for (size_t c = 0; c < calls.of.count; c++) {
            if (same_names(et, rank, at, calls.of.list[c]) && fits++ == 0)
                fit = calls.of.list[c];
        }
        if (fits != 1)
            continue;
        if (at.count / fit.count > counts->repeats)
            counts->repeats = at.count / fit.count;
        for (size_t i = 0; i < at.count; i++)
            join_call(et, rank, &rank->anchors[at.first + i],
                      &et->calls.list[fit.first + i % fit.count], counts);
    }
    free(anchors.of.list);
    free(calls.of.list);
}

/* ---- numbers ---- */

/* The guessed communicators of the streams of a rank. */
struct guessed_comms {
    KINETO_LIST(struct op, of); /* one op of each */
};

static const struct op *find_lane(const struct guessed_comms *lanes, const struct op *op)
{
    for (size_t i = 0; i < lanes->of.count; i++) {
        if (lanes->of.list[i].stream == op->stream && lanes->of.list[i].device == op->device)
            return &lanes->of.list[i];
    }
    return NULL;
}

/* A collective that was taken for a message is in the communicator of its stream, where that has a
 * guessed one. */
static void place_collectives(struct run *run, struct rank *rank)
{
    struct guessed_comms lanes = {0};
    for (size_t i = 0; i < rank->nops && lanes.of.count < LANES_MAX; i++) {
        const struct op *op = &rank->ops[i];
        if (op->class != OP_COLL || op->coll.comm < 0 || !order_is_guessed(run, op->coll.comm) ||
            find_lane(&lanes, op) != NULL)
            continue;
        ARRAY_GROW(lanes.of.list, lanes.of.cap, lanes.of.count + 1);
        lanes.of.list[lanes.of.count++] = *op;
    }
    for (size_t i = 0; i < rank->nops; i++) {
        struct op *op = &rank->ops[i];
        const struct op *lane;
        if (op->class != OP_COLL || op->coll.comm >= 0 || op->coll.op >= SPECTER_COMM_OP_COUNT ||
            !kernel_is_nccl(op->name))
            continue;
        lane = find_lane(&lanes, op);
        op->coll.comm = lane != NULL ? lane->coll.comm
                                     : run_comm(run, ORDER_GUESSED "0", strlen(ORDER_GUESSED "0"),
                                                run->world_size);
    }
    free(lanes.of.list);
}

/* ---- groups ---- */

/* Groups whose members no profile lists: "5[64 ranks]". */
static void join_members(struct et *et)
{
    struct run *run = et->run;
    struct buf id = BUF_INIT;
    for (size_t g = 0; g < et->k.groups.count && g < PAIRS_MAX; g++) {
        const struct kineto_group *group = &et->k.groups.list[g];
        if (group->ranks == NULL || group->name[0] == '\0')
            continue;
        buf_reset(&id);
        buf_printf(&id, "%s[%d ranks]", group->name, group->size);
        for (size_t c = 0; c < run->ncomms; c++) {
            struct comm *comm = &run->comms[c];
            if (comm->size != group->size || strcmp(comm->id, id.data) != 0)
                continue;
            for (int i = 0; i < comm->size; i++)
                comm->ranks[i] = group->ranks[i];
            if (comm->name[0] == '\0')
                comm->name = group->text;
        }
    }
    buf_release(&id);
}

/* ---- together ---- */

static void note_join(struct et *et, const struct rank *rank, const struct join_counts *counts)
{
    if (rank == NULL)
        run_note(et->run, false, "%s: an execution trace of no rank whose profile is here",
                 et->label);
    else if (counts->calls == 0 && rank->nanchors > 0)
        run_note(et->run, false,
                 "%s: an execution trace whose calls are not those of the profile of rank %d: not "
                 "used",
                 et->label, rank->rank);
    if (counts->comms > 0)
        run_note(et->run, false,
                 "operations and sizes of communication that the profile does not tell are from "
                 "the execution traces");
    if (counts->products > 0)
        run_note(et->run, false,
                 "shapes of GEMMs that the profile does not tell are from the execution "
                 "traces");
    if (counts->repeats > 1 && counts->comms + counts->products > 0)
        run_note(et->run, false,
                 "the execution traces hold one of the iterations in the profile: the others are "
                 "taken to be like it");
}

void et_join(struct et *et)
{
    struct rank *rank = find_rank(et);
    struct join_counts counts = {0};
    /* The communicators of which the profile itself knew the numbers. */
    size_t nknown = et->run->ncomms;
    bool *known = array_new(nknown + 1, sizeof *known);
    for (size_t i = 0; rank != NULL && i < rank->nops; i++) {
        const struct op *op = &rank->ops[i];
        if (op->class == OP_COLL && !order_is_guessed(et->run, op->coll.comm))
            known[op->coll.comm] = true;
    }
    join_members(et);
    if (rank != NULL && et->calls.count > 0) {
        qsort(et->calls.list, et->calls.count, sizeof *et->calls.list, compare_calls);
        join_by_id(et, rank, &counts);
        if (counts.calls == 0)
            join_by_order(et, rank, &counts);
    }
    if (counts.comms > 0) {
        place_collectives(et->run, rank);
        /* Numbers anew, in order of start, what was not known before. */
        int64_t *next = array_new(et->run->ncomms, sizeof *next);
        for (size_t i = 0; i < rank->nops; i++) {
            struct op *op = &rank->ops[i];
            if (op->class != OP_COLL || op->coll.comm < 0 ||
                ((size_t)op->coll.comm < nknown && known[op->coll.comm]))
                continue;
            op->coll.seq = next[op->coll.comm]++;
            op->coll.p2p_seq = -1;
        }
        free(next);
        order_number_messages(rank);
    }
    note_join(et, rank, &counts);
    free(known);
}
