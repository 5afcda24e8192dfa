/* SPDX-License-Identifier: MIT */
#include "trace/run.h"

#include "base/buf.h"
#include "base/order.h"
#include "specter/nccl_names.h"
#include "trace/et.h"
#include "trace/job.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Members of all communicators together: 256 MiB of rank tables. */
#define COMM_MEMBERS_MAX ((uint64_t)1 << 26)

/* Beyond these a time is damage: 2^61 ns is the year 2043 as an epoch. They keep differences of
 * any two times within an int64_t. */
#define TIME_MAX_NS ((int64_t)1 << 61)

bool op_device_duration(const struct op *op, int64_t *dur_ns)
{
    *dur_ns = op->dur_ns;
    return op_timed(op) && op->dur_ns >= 0 && op->dur_ns <= TIME_MAX_NS;
}

bool op_device_time(const struct op *op, int64_t *start_ns, int64_t *end_ns)
{
    int64_t dur_ns;
    if (!op_device_duration(op, &dur_ns))
        return false;
    if (op->start_ns < -TIME_MAX_NS || op->start_ns > TIME_MAX_NS) /* UNKNOWN_NS is one of them */
        return false;
    *start_ns = op->start_ns;
    *end_ns = op_end_ns(op);
    return true;
}

void run_init(struct run *run)
{
    memset(run, 0, sizeof *run);
    arena_init(&run->arena);
    arena_init(&run->tables);
    intern_init(&run->names, &run->arena);
    run->id = run->source = run->format = run->summary = run->job_note = "";
    run->clock_aligned = true;
}

void rank_clear(struct rank *rank)
{
    free(rank->thread_ids);
    free(rank->ops);
    free(rank->sync_calls);
    free(rank->steps);
    free(rank->launches);
    free(rank->marks);
    free(rank->details);
    free(rank->in);
    free(rank->settings);
    free(rank->anchors);
    memset(rank, 0, sizeof *rank);
}

#define FIT(rank, list) \
    (rank)->list =      \
        array_fit((rank)->list, &(rank)->cap_##list, (rank)->n##list, sizeof *(rank)->list)

void rank_fit(struct rank *rank)
{
    FIT(rank, ops);
    FIT(rank, sync_calls);
    FIT(rank, launches);
    FIT(rank, marks);
    FIT(rank, details);
    FIT(rank, anchors);
}

void run_hand_over(const struct run *run, struct rank *rank)
{
    if (run->taker == NULL)
        return;
    if (rank->nops > 0)
        run->taker->take(run->taker->arg, rank, rank->ops, rank->nops);
    rank->nops = rank->nsync_calls = rank->nsteps = 0;
    rank->nlaunches = rank->nmarks = rank->ndetails = rank->nanchors = 0;
}

size_t run_count_ops(const struct run *run)
{
    size_t n = 0;
    for (size_t r = 0; r < run->nranks; r++)
        n += run->ranks[r].nops;
    return n;
}

void run_release(struct run *run)
{
    for (size_t r = 0; r < run->nranks; r++)
        rank_clear(&run->ranks[r]);
    free(run->ranks);
    free(run->comms);
    free(run->comm_slots);
    free(run->notes);
    job_free(run->job);
    intern_release(&run->names);
    arena_release(&run->tables);
    arena_release(&run->arena);
    memset(run, 0, sizeof *run);
}

struct rank *run_add_rank(struct run *run)
{
    struct rank *rank;
    ARRAY_GROW(run->ranks, run->cap_ranks, run->nranks + 1);
    rank = &run->ranks[run->nranks++];
    memset(rank, 0, sizeof *rank);
    rank->rank = rank->process = rank->device = -1;
    rank->pid = -1;
    rank->host = rank->gpu = rank->file = "";
    rank->mono_ns = rank->real_ns = rank->end_ns = rank->dump_ns = UNKNOWN_NS;
    rank->gemm_sample = 1;
    return rank;
}

/* Interned ids are equal when their pointers are. */
static uint32_t *comm_slot(const struct run *run, const char *id)
{
    size_t mask = run->ncomm_slots - 1;
    size_t i = ((uintptr_t)id >> 4) * 0x9E3779B97F4A7C15u >> 32 & mask;
    while (run->comm_slots[i] != 0 && run->comms[run->comm_slots[i] - 1].id != id)
        i = (i + 1) & mask;
    return &run->comm_slots[i];
}

int run_comm(struct run *run, const char *id, size_t len, int64_t size)
{
    const char *name;
    struct comm *comm;
    uint32_t *slot;
    if (size < 0 || size > RUN_RANKS_MAX || run->comm_members + (uint64_t)size > COMM_MEMBERS_MAX)
        return -1;
    if (run->ncomms * 2 >= run->ncomm_slots) {
        free(run->comm_slots);
        run->ncomm_slots = run->ncomm_slots ? run->ncomm_slots * 2 : 64;
        run->comm_slots = array_new(run->ncomm_slots, sizeof *run->comm_slots);
        for (size_t c = 0; c < run->ncomms; c++)
            *comm_slot(run, run->comms[c].id) = (uint32_t)c + 1;
    }
    name = intern_add(&run->names, id, len);
    slot = comm_slot(run, name);
    if (*slot == 0) {
        ARRAY_GROW(run->comms, run->cap_comms, run->ncomms + 1);
        comm = &run->comms[run->ncomms++];
        memset(comm, 0, sizeof *comm);
        comm->id = name;
        comm->name = "";
        comm->parent = comm->nodes = -1;
        *slot = (uint32_t)run->ncomms;
    }
    /* Room for the members. Two traces that disagree on the size leave the first one's: their
     * operations then show as incomplete. */
    comm = &run->comms[*slot - 1];
    if (comm->size == 0 && size != 0) {
        comm->ranks = arena_alloc(&run->tables, (size_t)size * sizeof *comm->ranks);
        for (int64_t i = 0; i < size; i++)
            comm->ranks[i] = -1;
        comm->size = (int)size;
        run->comm_members += (uint64_t)size;
    }
    return (int)*slot - 1;
}

struct op *rank_add_op(struct rank *rank)
{
    struct op *op;
    ARRAY_ROOM(rank->ops, rank->cap_ops, rank->nops + 1);
    op = &rank->ops[rank->nops++];
    memset(op, 0, sizeof *op);
    op->start_ns = op->dur_ns = op->host_ns = op->host_end_ns = UNKNOWN_NS;
    op->name = op->caller = "";
    op->stream = op->graph = -1;
    op->dtype = SPECTER_DTYPE_UNKNOWN;
    return op;
}

struct sync_call *rank_add_sync_call(struct rank *rank)
{
    struct sync_call *sync;
    ARRAY_ROOM(rank->sync_calls, rank->cap_sync_calls, rank->nsync_calls + 1);
    sync = &rank->sync_calls[rank->nsync_calls++];
    memset(sync, 0, sizeof *sync);
    sync->host_ns = sync->host_end_ns = UNKNOWN_NS;
    sync->stream = -1;
    sync->event = -1;
    return sync;
}

struct step *rank_add_step(struct rank *rank)
{
    struct step *step;
    ARRAY_GROW(rank->steps, rank->cap_steps, rank->nsteps + 1);
    step = &rank->steps[rank->nsteps++];
    *step = (struct step){.start_ns = UNKNOWN_NS, .end_ns = UNKNOWN_NS, .name = ""};
    return step;
}

void rank_add_setting(struct rank *rank, const char *name, const char *value)
{
    ARRAY_GROW(rank->settings, rank->cap_settings, rank->nsettings + 1);
    rank->settings[rank->nsettings++] = (struct setting){name, value};
}

int run_nccl_version(const struct run *run)
{
    int oldest = 0;
    for (size_t r = 0; r < run->nranks; r++) {
        const struct rank *rank = &run->ranks[r];
        for (size_t i = 0; i < rank->nsettings; i++) {
            if (strcmp(rank->settings[i].name, "NCCL") != 0)
                continue;
            int version = specter_nccl_version_parse(rank->settings[i].value);
            oldest = oldest == 0 || (version != 0 && version < oldest) ? version : oldest;
        }
    }
    return oldest;
}

struct launches *rank_add_launches(struct rank *rank)
{
    struct launches *launches;
    ARRAY_ROOM(rank->launches, rank->cap_launches, rank->nlaunches + 1);
    launches = &rank->launches[rank->nlaunches++];
    memset(launches, 0, sizeof *launches);
    launches->host_ns = launches->host_end_ns = launches->max_gap_ns = UNKNOWN_NS;
    launches->stream = launches->graph = -1;
    return launches;
}

struct mark *rank_add_mark(struct rank *rank)
{
    ARRAY_GROW(rank->marks, rank->cap_marks, rank->nmarks + 1);
    rank->marks[rank->nmarks] = (struct mark){UNKNOWN_NS, UNKNOWN_NS, "", 0};
    return &rank->marks[rank->nmarks++];
}

struct comm_detail *rank_add_detail(struct rank *rank)
{
    ARRAY_GROW(rank->details, rank->cap_details, rank->ndetails + 1);
    rank->details[rank->ndetails] = (struct comm_detail){.kernel_ns = UNKNOWN_NS,
                                                         .algo = "",
                                                         .proto = "",
                                                         .seq = -1,
                                                         .comm = -1,
                                                         .peer = -1,
                                                         .member = UINT32_MAX};
    return &rank->details[rank->ndetails++];
}

void rank_add_member(struct rank *rank, int comm, int comm_rank, int32_t device)
{
    ARRAY_GROW(rank->in, rank->cap_in, rank->nin + 1);
    rank->in[rank->nin++] = (struct membership){comm, comm_rank, device, -1, UNKNOWN_NS};
}

const struct membership *rank_member(const struct rank *rank, int comm)
{
    for (size_t i = 0; i < rank->nin; i++) {
        if (rank->in[i].comm == comm)
            return &rank->in[i];
    }
    return NULL;
}

int rank_index(const struct run *run, int rank)
{
    struct bisect find = {.high = run->nranks};
    while (bisect_next(&find))
        bisect_take(&find, run->ranks[find.mid].rank < rank);
    return find.low < run->nranks && run->ranks[find.low].rank == rank ? (int)find.low : -1;
}

static bool has_note(const struct run *run, const char *text)
{
    for (size_t i = 0; i < run->nnotes; i++) {
        if (strcmp(run->notes[i].text, text) == 0)
            return true;
    }
    return false;
}

static void add_note(struct run *run, enum note_kind kind, bool loss, const char *fmt, va_list ap)
    __attribute__((format(printf, 4, 0)));

static void add_note(struct run *run, enum note_kind kind, bool loss, const char *fmt, va_list ap)
{
    struct buf text = BUF_INIT, safe = BUF_INIT;
    buf_vprintf(&text, fmt, ap);
    buf_put_printable(&safe, text.data, text.len);
    if (!has_note(run, safe.data)) {
        ARRAY_GROW(run->notes, run->cap_notes, run->nnotes + 1);
        run->notes[run->nnotes].text = arena_strndup(&run->arena, safe.data, safe.len);
        run->notes[run->nnotes].loss = loss;
        run->notes[run->nnotes].kind = (uint8_t)kind;
        run->nnotes++;
    }
    buf_release(&text);
    buf_release(&safe);
}

void run_note(struct run *run, bool loss, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    add_note(run, NOTE_PLAIN, loss, fmt, ap);
    va_end(ap);
}

void run_note_of(struct run *run, enum note_kind kind, bool loss, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    add_note(run, kind, loss, fmt, ap);
    va_end(ap);
}

void run_drop_notes(struct run *run, enum note_kind kind)
{
    size_t kept = 0;
    for (size_t i = 0; i < run->nnotes; i++) {
        if (run->notes[i].kind != kind)
            run->notes[kept++] = run->notes[i];
    }
    run->nnotes = kept;
}

bool run_alone(const struct run *run)
{
    return run->nranks == 1 && run->world_size > 1;
}

size_t run_recorded_ranks(const struct run *run)
{
    size_t n = 0;
    for (size_t r = 0; r < run->nranks; r++)
        n += run->ranks[r].nops > 0;
    return n > 0 ? n : run->nranks;
}

bool run_partial(const struct run *run)
{
    for (size_t i = 0; i < run->nnotes; i++) {
        if (run->notes[i].loss)
            return true;
    }
    return false;
}

static int by_call(const void *pa, const void *pb)
{
    const struct rank_call *a = pa, *b = pb;
    if (a->t_ns != b->t_ns)
        return ORDER(a->t_ns, b->t_ns);
    return a->before != b->before ? ORDER(a->before, b->before) : ORDER(a->index, b->index);
}

struct rank_call *rank_calls(const struct rank *rank,
                             const enum host_call_kind order[HOST_CALL_KINDS], size_t *n)
{
    const size_t counts[HOST_CALL_KINDS] = {rank->nops, rank->nsync_calls, rank->nlaunches};
    struct rank_call *list =
        array_new(rank->nops + rank->nsync_calls + rank->nlaunches + 1, sizeof *list);
    *n = 0;
    for (uint8_t k = 0; k < HOST_CALL_KINDS; k++) {
        for (uint32_t i = 0; i < counts[order[k]]; i++) {
            int64_t t_ns = order[k] == HOST_CALL_OP     ? op_issued_ns(&rank->ops[i])
                           : order[k] == HOST_CALL_SYNC ? rank->sync_calls[i].host_ns
                                                        : rank->launches[i].host_ns;
            if (t_ns != UNKNOWN_NS)
                list[(*n)++] = (struct rank_call){t_ns, i, (uint8_t)order[k], k};
        }
    }
    qsort(list, *n, sizeof *list, by_call);
    return list;
}
