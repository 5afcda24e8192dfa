/* SPDX-License-Identifier: MIT
 *
 * Makes ranks of the members of a RAS snapshot (ras.h): counts, operations that members wait in,
 * and notes of members that are behind or have a fault.
 */
#include "trace/ras.h"

#include "base/buf.h"
#include "base/order.h"

#include <stdlib.h>
#include <string.h>

#define UNKNOWN_FUNCTION (RAS_FUNCTIONS - 1) /* SPECTER_COMM_OP_COUNT */
#define NAMES_COMPARED 4096                  /* communicators; of more, names are their ids */
#define PLACES_NOTED 8    /* notes that name the process of a member that is behind */
#define TROUBLES_NOTED 32 /* notes of members with a fault; others are counted */

/* Orders members by host, process and GPU; of one GPU, the member of the largest communicator comes
 * first. */
static int by_gpu(const void *pa, const void *pb, void *file)
{
    const struct ras_member *a = pa, *b = pb;
    const struct ras_comm *comms = ((const struct ras_file *)file)->comms;
    int hosts = strcmp(a->host, b->host);
    if (hosts != 0)
        return hosts;
    if (a->pid != b->pid)
        return ORDER(a->pid, b->pid);
    if (a->device != b->device)
        return ORDER(a->device, b->device);
    if (a->pid < 0 && a->comm_rank != b->comm_rank) /* unknown processes are not one */
        return ORDER(a->comm_rank, b->comm_rank);
    if (comms[a->comm].size != comms[b->comm].size)
        return ORDER(comms[b->comm].size, comms[a->comm].size);
    return a->comm != b->comm ? ORDER(a->comm, b->comm) : ORDER(a->comm_rank, b->comm_rank);
}

/* Adds the communicators to the run, named by NCCL's hash where no other one has it. */
static void add_comms(struct ras_file *f)
{
    for (size_t i = 0; i < f->ncomms; i++) {
        struct ras_comm *c = &f->comms[i];
        bool unique = c->name[0] != '\0';
        c->comm =
            c->size > 0 && c->id[0] != '\0' ? run_comm(f->run, c->id, strlen(c->id), c->size) : -1;
        for (size_t k = 0; k < f->ncomms && unique; k++)
            unique = k == i || (f->ncomms <= NAMES_COMPARED && f->comms[k].name != c->name);
        if (!unique)
            c->name = c->id;
        if (c->comm >= 0)
            f->run->comms[c->comm].name = c->name;
    }
}

/* Finds the most and the fewest calls of the members of each communicator. */
static void count_calls(struct ras_file *f)
{
    for (size_t i = 0; i < f->nmembers; i++) {
        const struct ras_member *m = &f->members[i];
        struct ras_comm *c = &f->comms[m->comm];
        if (m->answer != RAS_HERE || m->apart)
            continue;
        c->count++;
        c->most = m->calls > c->most ? m->calls : c->most;
        if (m->calls < c->least) {
            c->least = m->calls;
            c->fewest = (uint32_t)i;
        }
    }
}

/* Returns the one function that `m` called more often than `fewest`; the unknown function when
 * there are several, or none. */
static int function_ahead(const struct ras_member *m, const struct ras_member *fewest)
{
    int found = UNKNOWN_FUNCTION;
    for (int op = 0; op < RAS_FUNCTIONS; op++) {
        if (m->of[op] <= fewest->of[op])
            continue;
        if (found != UNKNOWN_FUNCTION)
            return UNKNOWN_FUNCTION;
        found = op;
    }
    return found;
}

const char *ras_function_name(int function)
{
    return function < UNKNOWN_FUNCTION ? specter_comm_op_name((enum specter_comm_op)function)
                                       : "collective";
}

static void add_membership(struct ras_file *f, struct rank *rank, const struct ras_member *m)
{
    const struct ras_comm *c = &f->comms[m->comm];
    struct op *op;
    int function;
    if (c->comm < 0)
        return;
    rank_add_member(rank, c->comm, m->comm_rank, -1);
    rank->in[rank->nin - 1].called = m->calls - 1;
    if (m->calls <= c->least || c->unclear)
        return;
    function = function_ahead(m, &f->members[c->fewest]);
    op = rank_add_op(rank);
    op->id = rank->nops - 1;
    op->device = -1;
    op->class = OP_COLL;
    op->coll.op = (uint8_t)function;
    op->name = ras_function_name(function);
    op->coll.redop = SPECTER_REDOP_NONE;
    op->dtype = SPECTER_DTYPE_UNKNOWN;
    op->flags |= OP_BYTES_UNKNOWN;
    op->coll.comm = c->comm;
    op->coll.seq = c->least;
    op->coll.p2p_seq = op->coll.group = op->coll.peer = -1;
    op->timing = SPECTER_TIMING_NONE;
    op->stream = c->comm;
    op->host_ns = f->at_ns; /* had been called by then */
}

/* ---- what is said of members ---- */

const char *ras_error_name(int error)
{
    static const char *const names[] = {"",
                                        "Unhandled CUDA error",
                                        "System error",
                                        "Internal error",
                                        "Invalid argument",
                                        "Invalid usage",
                                        "Remote process error"};
    return error > 0 && (size_t)error < sizeof names / sizeof *names ? names[error] : "unknown";
}

void ras_put_member(struct buf *out, const struct ras_file *f, const struct ras_member *m)
{
    buf_printf(out, "rank %d of communicator %s", m->comm_rank, f->comms[m->comm].name);
    if (m->pid < 0)
        return;
    buf_puts(out, " (");
    if (m->device >= 0)
        buf_printf(out, "GPU %lld of ", (long long)m->device);
    buf_printf(out, "process %lld", (long long)m->pid);
    if (m->host[0] != '\0')
        buf_printf(out, " on %s", m->host);
    buf_putc(out, ')');
}

/* Faults of a member other than its calls; "" none. */
static void put_trouble(struct buf *out, const struct ras_member *m)
{
    static const char *const answers[] = {
        [RAS_ELSEWHERE] =
            " answers RAS but is not in the communicator: it has left it or not joined it",
        [RAS_SILENT] = " does not answer RAS",
        [RAS_DEAD] = " is dead, says RAS",
    };
    if (m->answer != RAS_HERE) {
        buf_puts(out, answers[m->answer]);
        return;
    }
    if (m->aborted)
        buf_puts(out, ": aborted");
    if (m->init_error != 0)
        buf_printf(out, "%s error %d (%s) of the initialisation", m->aborted ? "," : ":",
                   m->init_error, ras_error_name(m->init_error));
    if (m->error != 0)
        buf_printf(out, "%s asynchronous error %d (%s)",
                   m->aborted || m->init_error != 0 ? "," : ":", m->error,
                   ras_error_name(m->error));
}

/* Notes members with a trouble, and the process of the first that are behind. */
static void note_members(struct ras_file *f)
{
    struct buf text = BUF_INIT;
    size_t places = 0, troubles = 0;
    for (size_t i = 0; i < f->nmembers; i++) {
        const struct ras_member *m = &f->members[i];
        const struct ras_comm *c = &f->comms[m->comm];
        size_t before;
        buf_reset(&text);
        ras_put_member(&text, f, m);
        before = text.len;
        put_trouble(&text, m);
        if (text.len > before) {
            if (troubles++ < TROUBLES_NOTED)
                run_note(f->run, false, "%s: %s", f->label, text.data);
            if (troubles <= 2)
                buf_printf(&f->summary, "%s%s", troubles > 1 ? "; " : "NCCL's RAS: ", text.data);
        } else if (m->answer == RAS_HERE && m->calls < c->most && !c->unclear && !m->apart &&
                   m->pid >= 0 && places++ < PLACES_NOTED) {
            run_note(f->run, false, "%s: %s is behind", f->label, text.data);
        }
    }
    if (troubles > TROUBLES_NOTED)
        run_note(f->run, false, "%s: %zu more member%s a fault", f->label,
                 troubles - TROUBLES_NOTED, troubles - TROUBLES_NOTED > 1 ? "s have" : " has");
    if (troubles > 2)
        buf_printf(&f->summary, " and %zu more", troubles - 2);
    if (troubles > 0)
        buf_puts(&f->summary, ". ");
    buf_release(&text);
}

/* "rank 5 of communicator 0x1a2b (GPU 1 of process 1005 on 10.0.0.2) and 2 others are behind: 5
 * ranks have called more collectives": of each communicator the first member that is behind. */
static void put_behind(struct ras_file *f)
{
    size_t shown = 0;
    for (size_t i = 0; i < f->ncomms && shown < 2; i++) {
        const struct ras_comm *c = &f->comms[i];
        const struct ras_member *first = NULL;
        size_t behind = 0;
        for (size_t k = 0; k < f->nmembers && c->comm >= 0 && c->most > c->least && !c->unclear;
             k++) {
            const struct ras_member *m = &f->members[k];
            if (m->comm != i || m->answer != RAS_HERE || m->apart || m->calls > c->least)
                continue;
            first = first == NULL || m->comm_rank < first->comm_rank ? m : first;
            behind++;
        }
        if (first == NULL)
            continue;
        buf_puts(&f->summary, shown++ > 0 ? " " : "NCCL's RAS: ");
        ras_put_member(&f->summary, f, first);
        if (behind > 1)
            buf_printf(&f->summary, " and %zu other%s are", behind - 1, behind > 2 ? "s" : "");
        else
            buf_puts(&f->summary, " is");
        buf_printf(&f->summary, " behind: %zu of %lld ranks ha%s called more collectives.",
                   c->count - behind, (long long)c->size, c->count - behind == 1 ? "s" : "ve");
    }
}

/* Notes the first member that made as many calls as the others, but different ones: "rank 5 of
 * communicator 0x1a2b has called other collectives than rank 0: AllGather 11 times, not 10". */
static void note_other_calls(struct ras_file *f)
{
    for (size_t i = 0; i < f->nmembers; i++) {
        const struct ras_member *m = &f->members[i];
        const struct ras_comm *c = &f->comms[m->comm];
        const struct ras_member *other = &f->members[c->fewest];
        struct buf text = BUF_INIT;
        int function;
        if (m->answer != RAS_HERE || m->apart || c->most != c->least || c->unclear ||
            memcmp(m->of, other->of, sizeof m->of) == 0)
            continue;
        function = function_ahead(m, other);
        ras_put_member(&text, f, m);
        buf_printf(&text, " has called other collectives than rank %d", other->comm_rank);
        if (function < UNKNOWN_FUNCTION)
            buf_printf(&text, ": %s %lld times, not %lld", ras_function_name(function),
                       (long long)m->of[function], (long long)other->of[function]);
        run_note(f->run, false, "%s: %s", f->label, text.data);
        buf_printf(&f->summary, "NCCL's RAS: %s. ", text.data);
        buf_release(&text);
        return;
    }
}

/* ---- ranks ---- */

static bool same_gpu(const struct ras_member *a, const struct ras_member *b)
{
    if (a->pid < 0 || b->pid < 0)
        return a->pid == b->pid && a->comm_rank == b->comm_rank;
    return a->pid == b->pid && a->device == b->device && a->host == b->host;
}

static struct rank *add_rank(struct ras_file *f, const struct ras_member *m, int32_t number)
{
    struct rank *rank = run_add_rank(f->run);
    rank->file = arena_strdup(&f->run->arena, f->label);
    rank->rank = number;
    rank->host = m->host;
    rank->pid = m->pid;
    rank->coverage = COVER_NCCL;
    rank->complete = true; /* the format has no closing record */
    rank->undated = true;
    rank->end_ns = f->at_ns;
    return rank;
}

/* Writes the summary of a snapshot in which no rank waits for another and nothing is wrong. */
static void put_all_well(struct ras_file *f)
{
    for (size_t i = 0; i < f->ncomms; i++) {
        if (f->comms[i].most > f->comms[i].least)
            return;
    }
    if (f->summary.len == 0)
        buf_printf(&f->summary,
                   "NCCL's RAS shows no rank behind: the members of each communicator (%lld in "
                   "all) have called the same collectives.",
                   (long long)f->all_comms);
}

void ras_add_ranks(struct ras_file *f)
{
    struct rank *rank = NULL;
    int32_t number = -1; /* rank in the job: comm rank in the GPU's largest communicator */
    if (f->nmembers > 0)
        qsort_r(f->members, f->nmembers, sizeof *f->members, by_gpu, f);
    add_comms(f);
    count_calls(f);
    note_members(f);
    note_other_calls(f);
    put_behind(f);
    put_all_well(f);
    while (f->summary.len > 0 && f->summary.data[f->summary.len - 1] == ' ')
        f->summary.data[--f->summary.len] = '\0';
    f->run->summary = arena_strdup(&f->run->arena, f->summary.data);
    if (f->snapshots > 1)
        run_note(f->run, false, "%s: %zu whole snapshots: the last of them is read%s", f->label,
                 f->snapshots,
                 f->unchanged ? "; no count has changed since the one before it" : "");
    for (size_t i = 0; i < f->nmembers; i++) {
        const struct ras_member *m = &f->members[i];
        if (i == 0 || !same_gpu(m, m - 1)) {
            number = -1;
            rank = NULL;
        }
        if (m->apart)
            continue;
        number = number < 0 ? m->comm_rank : number;
        if (m->answer != RAS_HERE)
            continue;
        if (rank == NULL)
            rank = add_rank(f, m, number);
        add_membership(f, rank, m);
        rank->quiet = rank->nops == 0;
    }
}
