/* SPDX-License-Identifier: MIT
 *
 * Hangs as sentences and as JSON (findings.h).
 */
#include "report/findings.h"

#include "base/arena.h"
#include "base/order.h"
#include "report/json_add.h"
#include "report/table.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CULPRITS_SHOWN 16 /* ranges of ranks at fault, */
#define MEMBERS_SHOWN 4   /* and of a communicator */
#define NAME_COLUMNS 40

/* "5", "0-3, 7", "0, 2, 4, 6 and 12 more"; numbers below 0 are not known. */
static void put_list(struct buf *out, const int *ranks, size_t n, size_t most)
{
    size_t shown = 0, ranges = 0;
    for (size_t i = 0; i < n && ranges < most; i++) {
        size_t last = i;
        if (ranks[i] < 0)
            continue;
        while (last + 1 < n && ranks[last + 1] == ranks[last] + 1)
            last++;
        buf_printf(out, last > i ? "%s%d-%d" : "%s%d", ranges++ > 0 ? ", " : "", ranks[i],
                   ranks[last]);
        shown += last - i + 1;
        i = last;
    }
    if (shown < n && shown > 0)
        buf_printf(out, " and %zu more", n - shown);
    else if (shown < n)
        buf_printf(out, "%zu that no trace names", n);
}

static void put_ranks(struct buf *out, const int *ranks, size_t n)
{
    buf_puts(out, n > 1 ? "ranks " : "rank ");
    put_list(out, ranks, n, CULPRITS_SHOWN);
}

static void put_safe(struct buf *out, const char *text)
{
    char safe[4 * NAME_COLUMNS + 4];
    buf_puts(out, text_safe(safe, sizeof safe, text, NAME_COLUMNS));
}

/* "64 MiB bf16". */
static void put_size(struct buf *out, const struct op *op)
{
    char bytes[32];
    buf_puts(out, op->flags & OP_BYTES_UNKNOWN
                      ? "size unknown"
                      : text_bytes(bytes, sizeof bytes, (double)op->bytes));
    if (op->dtype < SPECTER_DTYPE_COUNT)
        buf_printf(out, " %s", specter_dtype_name((enum specter_dtype)op->dtype));
}

/* "AllReduce #17", "Send #3", "GemmEx": how an operation is called in a sentence. */
static void op_text(struct buf *out, const struct op *op)
{
    int64_t seq;
    if (op->class == OP_GRAPH) {
        buf_printf(out, "launch #%llu of ", (unsigned long long)op->graph_launch.launch);
        if (op->graph >= 0)
            buf_printf(out, "graph %d", op->graph);
        else
            buf_puts(out, "a graph");
        return;
    }
    put_safe(out, op->name);
    if (!op_is_comm(op))
        return;
    seq = op->class == OP_P2P ? op->coll.p2p_seq : op->coll.seq;
    if (seq >= 0)
        buf_printf(out, " #%lld", (long long)seq);
}

/* `communicator "dp" (8 ranks: 0-7)`; the whole job's ranks are not listed. */
static void put_comm(struct buf *out, const struct run *run, int32_t index)
{
    const struct comm *comm = &run->comms[index];
    buf_puts(out, "communicator \"");
    put_safe(out, comm->name[0] != '\0' ? comm->name : comm->id);
    buf_printf(out, "\" (%d rank%s", comm->size, comm->size == 1 ? "" : "s");
    if (comm->size < run->world_size && comm->size > 0) {
        buf_puts(out, ": ");
        put_list(out, comm->ranks, (size_t)comm->size, MEMBERS_SHOWN);
    }
    buf_putc(out, ')');
}

/* Writes what the first of the ranks at fault does, where that says more. */
static void put_instead(struct buf *out, const struct hang *hang, const struct run *run)
{
    const struct op *op = hang->instead;
    char time[32];
    if (op == NULL)
        return;
    buf_puts(out, "; ");
    put_ranks(out, hang->missing >= 0 ? &hang->missing : hang->ranks, 1);
    if (op->timing == SPECTER_TIMING_NONE)
        buf_puts(out, " waits in ");
    else
        buf_puts(out, " called last ");
    op_text(out, op);
    if (op->class == OP_P2P && op->coll.comm >= 0) {
        const struct comm *comm = &run->comms[op->coll.comm];
        bool receives = op->coll.op == SPECTER_RECV || op->coll.op == SPECTER_WAIT_SIGNAL;
        /* a wait for signals has no peer, or many */
        if (op->coll.peer >= 0 && op->coll.peer < comm->size && comm->ranks[op->coll.peer] >= 0)
            buf_printf(out, " %s rank %d", receives ? "from" : "to", comm->ranks[op->coll.peer]);
    }
    if (op_is_comm(op) && op->coll.comm >= 0 && op->coll.comm != hang->comm) {
        buf_puts(out, " of ");
        put_comm(out, run, op->coll.comm);
    }
    if (op->timing != SPECTER_TIMING_NONE && hang->instead_ns != UNKNOWN_NS)
        buf_printf(out, ", %s before the newest time in the dumps",
                   text_ns(time, sizeof time, (double)hang->instead_ns));
}

static void put_waiting(struct buf *out, const struct hang *hang)
{
    const char *least = hang->at_least ? "at least " : "";
    char time[32];
    text_ns(time, sizeof time, (double)hang->waited_ns);
    if (hang->possible && hang->waiting > 0) {
        buf_printf(out, "; %zu rank%s", hang->waiting, hang->waiting == 1 ? " waits" : "s wait");
        if (hang->waited_ns > 0)
            buf_printf(out, ", and the dumps show no more than %s of that", time);
    } else if (hang->waiting == 1)
        buf_printf(out, "; rank %d has waited for %s%s", hang->one_waiting, least, time);
    else if (hang->waiting > 1)
        buf_printf(out, "; %zu ranks have waited for %s%s", hang->waiting, least, time);
    else if (hang->cause == HANG_UNFINISHED)
        buf_printf(out, "; it was called %s%s before", least, time);
    if (hang->waiting > 0 || hang->cause == HANG_UNFINISHED) {
        /* The age of the hang when the first time-out was over: PyTorch's watchdog then writes the
         * dumps. */
        char limit[32];
        if (hang_expired(hang))
            buf_printf(out, ", longer than its time-out of %s",
                       text_ns(limit, sizeof limit, (double)hang->timeout_ns));
        else if (hang->timed_out_ns != UNKNOWN_NS)
            buf_printf(out, ", %s if a time-out wrote the dumps",
                       text_ns(limit, sizeof limit, (double)hang->timed_out_ns));
    }
    if (hang->followers > 0)
        buf_printf(out, ", and %zu other operation%s because of it", hang->followers,
                   hang->followers == 1 ? " waits" : "s wait");
}

/* "AllReduce #17 (64 MiB bf16) of communicator ..."; a message with its other end. */
static void put_what(struct buf *out, const struct hang *hang, const struct run *run)
{
    const struct op *op = hang->op;
    if (hang->sender < 0 && hang->receiver < 0) {
        put_safe(out, op->name);
        if (hang->first < hang->seq)
            buf_printf(out, ", one of #%lld-#%lld", (long long)hang->first, (long long)hang->seq);
        else
            buf_printf(out, " #%lld", (long long)hang->seq);
    } else {
        bool sends = hang->nranks == 1 && hang->ranks[0] == hang->sender;
        buf_puts(out, sends ? "Send" : "Recv");
        if (hang->seq >= 0)
            buf_printf(out, " #%lld", (long long)hang->seq);
        buf_printf(out, " %s rank %d", sends ? "to" : "from",
                   sends ? hang->receiver : hang->sender);
    }
    buf_puts(out, " (");
    put_size(out, op);
    buf_puts(out, ") of ");
    put_comm(out, run, hang->comm);
}

static void put_other(struct buf *out, const struct hang *hang, const struct run *run)
{
    put_ranks(out, hang->ranks, hang->nranks);
    buf_puts(out, " called ");
    op_text(out, hang->instead);
    buf_puts(out, " (");
    put_size(out, hang->instead);
    buf_puts(out, ") where the others called ");
    put_what(out, hang, run);
}

static void put_differ(struct buf *out, const struct hang *hang, const struct run *run)
{
    if (hang->sender >= 0 || hang->receiver >= 0) {
        buf_printf(out, "rank %d sends ", hang->sender);
        put_size(out, hang->instead);
        buf_printf(out, " where rank %d receives another size: ", hang->receiver);
    } else {
        put_ranks(out, hang->ranks, hang->nranks);
        buf_puts(out, " do not call the same: rank ");
        buf_printf(out, "%d called ", hang->ranks[0]);
        op_text(out, hang->instead);
        buf_puts(out, " (");
        put_size(out, hang->instead);
        buf_puts(out, "), another one ");
    }
    put_what(out, hang, run);
}

/* The calls in other communicators may tell what those in this one do not. */
static void put_why_skipped(struct buf *out, const struct hang *hang, const struct run *run)
{
    if (hang->shared < 0) {
        buf_puts(out, ": from there on its calls are the others' next ones");
        return;
    }
    buf_puts(out, ": a call is missing beside those of the other members of ");
    put_comm(out, run, hang->shared);
}

static void put_ahead(struct buf *out, const struct hang *hang, const struct run *run)
{
    put_ranks(out, hang->ranks, hang->nranks);
    buf_puts(out, hang->nranks > 1 ? " have" : " has");
    buf_puts(out, " called ");
    put_what(out, hang, run);
    buf_puts(out, " before the other members of ");
    put_comm(out, run, hang->shared);
    buf_puts(out, " would: its calls are not in their order");
}

static void put_undecided(struct buf *out, const struct hang *hang)
{
    buf_printf(out, "; the %s do not tell which of them is wrong",
               hang->at_least ? "dumps" : "traces");
}

static void put_circle(struct buf *out, const struct hang *hang, const struct run *run)
{
    put_ranks(out, hang->ranks, hang->nranks);
    buf_puts(out, " wait for each other");
    put_undecided(out, hang);
    buf_puts(out, ": ");
    put_ranks(out, &hang->missing, 1);
    buf_puts(out, " has not called ");
    put_what(out, hang, run);
}

static void put_work(struct buf *out, const struct hang *hang)
{
    char time[32];
    op_text(out, hang->op);
    buf_puts(out, " on ");
    put_ranks(out, hang->ranks, hang->nranks);
    buf_printf(out, " has not ended for %s", text_ns(time, sizeof time, (double)hang->waited_ns));
}

/* " (process 1005 on nid002)" of a rank, " (on nid002)" of several on one node. */
static void put_node(struct buf *out, const struct hang *hang, const struct run *run)
{
    const struct rank *first = NULL;
    for (size_t i = 0; i < hang->nranks && run->name_nodes; i++) {
        int at = rank_index(run, hang->ranks[i]);
        const struct rank *rank = at >= 0 ? &run->ranks[at] : NULL;
        if (rank == NULL || rank->host[0] == '\0' ||
            (first != NULL && strcmp(first->host, rank->host) != 0))
            return;
        first = first != NULL ? first : rank;
    }
    if (first == NULL)
        return;
    buf_puts(out, " (");
    if (hang->nranks == 1 && first->pid >= 0)
        buf_printf(out, "process %lld ", (long long)first->pid);
    buf_puts(out, "on ");
    put_safe(out, first->host);
    buf_putc(out, ')');
}

/* "rank 5 <verb> AllReduce #17 ..." */
static void put_verb(struct buf *out, const struct hang *hang, const struct run *run,
                     const char *one, const char *several)
{
    put_ranks(out, hang->ranks, hang->nranks);
    put_node(out, hang, run);
    buf_printf(out, " %s ", hang->nranks > 1 ? several : one);
    put_what(out, hang, run);
}

/* Certainty that the ranks of a hang are at fault. */
enum certainty { CERTAIN, POSSIBLE, UNDECIDED, UNRECORDED };

static enum certainty certainty_of(const struct hang *hang)
{
    if (hang->cause == HANG_NO_TRACE)
        return UNRECORDED;
    if (hang->undecided)
        return UNDECIDED;
    return hang->possible ? POSSIBLE : CERTAIN;
}

/* The ranks of the hangs that are so sure, each once. The caller frees them. */
static int *culprits_of(const struct hangs *h, enum certainty certainty, size_t *count)
{
    int *list;
    size_t n = 0, kept = 0;
    for (size_t i = 0; i < h->count; i++)
        n += h->list[i].nranks;
    list = array_new(n, sizeof *list);
    n = 0;
    for (size_t i = 0; i < h->count; i++) {
        const struct hang *hang = &h->list[i];
        for (size_t k = 0; k < hang->nranks && certainty_of(hang) == certainty; k++)
            list[n++] = hang->ranks[k];
    }
    qsort(list, n, sizeof *list, order_ints);
    for (size_t i = 0; i < n; i++) {
        if (list[i] >= 0 && (kept == 0 || list[i] != list[kept - 1]))
            list[kept++] = list[i];
    }
    *count = kept;
    return list;
}

/* "ranks 4, 9 and possibly rank 3 and one of ranks 6-7"; how many that is. */
static size_t put_culprits(struct buf *out, const struct hangs *h)
{
    size_t certain, possible, n;
    int *lists[] = {culprits_of(h, CERTAIN, &certain), culprits_of(h, POSSIBLE, &possible)};
    if (certain > 0)
        put_ranks(out, lists[CERTAIN], certain);
    if (possible > 0) {
        buf_puts(out, certain > 0 ? " and possibly " : "");
        put_ranks(out, lists[POSSIBLE], possible);
    }
    n = certain + possible;
    for (size_t i = 0; i < h->count; i++) {
        if (certainty_of(&h->list[i]) != UNDECIDED)
            continue;
        buf_puts(out, n++ > 0 ? " and one of " : "one of ");
        put_ranks(out, h->list[i].ranks, h->list[i].nranks);
    }
    free(lists[CERTAIN]);
    free(lists[POSSIBLE]);
    return n;
}

bool hang_culprits_text(struct buf *out, const struct hangs *h)
{
    size_t culprit, unrecorded = h->nundumped;
    int *list = unrecorded == 0 ? culprits_of(h, UNRECORDED, &unrecorded) : NULL;
    if (h->count < 2 &&
        (h->count == 0 || h->nundumped == 0 || certainty_of(&h->list[0]) == UNRECORDED))
        unrecorded = 0;
    culprit = h->count > 1 || unrecorded > 0 ? put_culprits(out, h) : 0;
    if (culprit > 0)
        buf_puts(out, culprit > 1 ? " block the others" : " blocks the others");
    if (unrecorded > 0) {
        buf_puts(out, culprit > 0 ? ", and " : "");
        buf_puts(out, list == NULL ? "there is no dump of " : "nothing is recorded of ");
        put_ranks(out, list == NULL ? h->undumped : list, unrecorded);
    }
    free(list);
    return culprit + unrecorded > 0;
}

void hang_under_way_text(struct buf *out, const struct hangs *h, const struct run *run)
{
    char time[32];
    if (h->oldest.cause == HANG_WORK) {
        op_text(out, h->oldest.op);
        buf_puts(out, " on ");
        put_ranks(out, h->oldest.ranks, h->oldest.nranks);
        buf_puts(out, " had not ended, begun");
    } else {
        buf_puts(out, "all members had called ");
        put_what(out, &h->oldest, run);
        buf_puts(out, ",");
    }
    buf_printf(out, " at most %s before the newest time in the dumps",
               text_ns(time, sizeof time, (double)h->oldest.waited_ns));
    if (h->under_way > 1)
        buf_printf(out, "; so it is with %zu other operation%s", h->under_way - 1,
                   h->under_way == 2 ? "" : "s");
}

void hang_text(struct buf *out, const struct hang *hang, const struct run *run)
{
    switch (hang->cause) {
    case HANG_SKIPPED:
        put_verb(out, hang, run, "skipped", "skipped");
        put_why_skipped(out, hang, run);
        break;
    case HANG_EXTRA:
    case HANG_OTHER:
        if (hang->cause == HANG_EXTRA && hang->shared >= 0) {
            put_ahead(out, hang, run);
            break;
        }
        put_other(out, hang, run);
        if (hang->cause == HANG_EXTRA)
            buf_puts(out, ", and that one next");
        break;
    case HANG_DIFFER:
        put_differ(out, hang, run);
        put_undecided(out, hang);
        break;
    case HANG_NOT_CALLED:
    case HANG_CIRCLE:
        if (hang->undecided)
            put_circle(out, hang, run);
        else
            put_verb(out, hang, run, "has not called", "have not called");
        break;
    case HANG_UNFINISHED:
        put_verb(out, hang, run, "has not finished", "have not finished");
        buf_printf(out, ", which %zu other%s", hang->finished,
                   hang->finished > 1 ? "s have" : " has");
        break;
    case HANG_BEHIND:
        put_verb(out, hang, run, "has called but not begun", "have called but not begun");
        break;
    case HANG_NO_TRACE:
        buf_puts(out, hang->at_least ? "there is no dump of " : "nothing is recorded of ");
        put_ranks(out, hang->ranks, hang->nranks);
        buf_puts(out, ", which must take part in ");
        put_what(out, hang, run);
        break;
    case HANG_ALL_CALLED:
        buf_puts(out, "all members have called ");
        put_what(out, hang, run);
        buf_puts(out, ", and it does not end");
        break;
    case HANG_WORK:
    case HANG_CAUSE_COUNT:
        put_work(out, hang);
        return;
    }
    put_waiting(out, hang);
    if (hang->cause == HANG_NOT_CALLED || hang->cause == HANG_CIRCLE || hang->cause == HANG_BEHIND)
        put_instead(out, hang, run);
    if (hang->cause == HANG_CIRCLE && hang->undecided) {
        int other = hang->ranks[hang->ranks[0] == hang->missing];
        buf_puts(out, ", which ");
        put_ranks(out, &other, 1);
        buf_puts(out, " has not called");
    }
}

/* ---- JSON ---- */

static void add_op(cJSON *o, const char *key, const struct op *op)
{
    struct buf text = BUF_INIT;
    if (op == NULL) {
        cJSON_AddNullToObject(o, key);
        return;
    }
    op_text(&text, op);
    buf_putc(&text, '\0');
    json_add_text(o, key, text.data);
    buf_release(&text);
}

void hang_json(cJSON *o, const struct hang *h, const struct run *run)
{
    const struct comm *comm = h->comm >= 0 ? &run->comms[h->comm] : NULL;
    bool moves = op_is_comm(h->op) || h->op->class == OP_MEMORY;
    bool sized = moves && !(h->op->flags & OP_BYTES_UNKNOWN);
    struct buf text = BUF_INIT;
    hang_text(&text, h, run);
    buf_putc(&text, '\0');
    json_add_text(o, "cause", hang_cause_name(h->cause));
    json_add_text(o, "text", text.data);
    /* A member that no trace names is null. */
    cJSON *array = cJSON_AddArrayToObject(o, "ranks");
    for (size_t i = 0; i < h->nranks; i++)
        cJSON_AddItemToArray(array, h->ranks[i] >= 0 ? cJSON_CreateNumber(h->ranks[i])
                                                     : cJSON_CreateNull());
    json_add_text(o, "op", h->op->name);
    json_add_number(o, "bytes", sized ? (double)h->op->bytes : NAN);
    json_add_text(o, "dtype",
                  h->op->dtype < SPECTER_DTYPE_COUNT ? specter_dtype_name(h->op->dtype) : NULL);
    json_add_text(o, "comm", comm != NULL ? comm->id : NULL);
    json_add_text(o, "comm_name", comm != NULL ? comm->name : NULL);
    json_add_number(o, "comm_size", comm != NULL && comm->size > 0 ? comm->size : NAN);
    json_add_number(o, "seq", h->seq >= 0 ? (double)h->seq : NAN);
    json_add_number(o, "first_seq", h->first >= 0 ? (double)h->first : NAN);
    json_add_number(o, "sender", h->sender >= 0 ? h->sender : NAN);
    json_add_number(o, "receiver", h->receiver >= 0 ? h->receiver : NAN);
    add_op(o, "instead", h->instead);
    cJSON_AddNumberToObject(o, "waiting_ranks", (double)h->waiting);
    json_add_us(o, "waited_us", (double)h->waited_ns);
    json_add_us(o, "timed_out_us", h->timed_out_ns != UNKNOWN_NS ? (double)h->timed_out_ns : NAN);
    cJSON_AddNumberToObject(o, "finished_ranks", (double)h->finished);
    cJSON_AddNumberToObject(o, "followers", (double)h->followers);
    cJSON_AddBoolToObject(o, "possible", h->possible);
    cJSON_AddBoolToObject(o, "undecided", h->undecided);
    json_add_us(o, "timeout_us", h->timeout_ns != UNKNOWN_NS ? (double)h->timeout_ns : NAN);
    buf_release(&text);
}
