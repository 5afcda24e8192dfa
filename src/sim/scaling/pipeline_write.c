/* SPDX-License-Identifier: MIT
 *
 * A run of more stages out of what the recorded ones did.
 */
#include "sim/scaling/pipeline_internal.h"

#include <stdlib.h>
#include <string.h>

/* Operations of a run; fewer iterations are laid out where all of them would be more. */
#define OPS_MAX ((uint64_t)1 << 24)

#define EXCHANGES_MAX 16

/* One rank while it is written. */
struct rank_writer {
    const struct pipeline *pl;
    struct longer_run *out;
    int stages, stage;             /* of the longer job */
    const struct pipe_stage *from; /* whose pieces it is made of */
    int from_stage;
    uint32_t iterations, k;
    size_t r;
    struct rank *rank;
    size_t cap_origin;
    int64_t cursor_ns;
    int64_t *seq; /* owned; by communicator of the longer run */
    size_t cap_seq;
    int64_t sent[EXCHANGES_MAX], others; /* messages so far */
    int32_t group, group_from;           /* the last group, and what it was in the recording */
    int messages;                        /* communicator of the pipeline */
    struct err *e;
};

/* ---- communicators ---- */

static int moved(const struct rank_writer *w, int rank, int stage)
{
    const struct grid_axis *axis = w->pl->axis;
    int block = axis->stride * axis->size;
    return rank / block * (axis->stride * w->stages) + stage * axis->stride + rank % axis->stride;
}

/* The stage of the longer pipeline on which a member of the recorded one is, when only the ends of
 * the pipeline take part. */
static int end_stage(const struct rank_writer *w, int rank)
{
    int stage = grid_coordinate(w->pl->axis, rank);
    return stage == 0 ? 0 : stage == w->pl->nstages - 1 ? w->stages - 1 : -1;
}

/* Members of `from`, wherever they are now: on this stage, on all, or on the ends. */
static int fill_members(const struct rank_writer *w, const struct comm *from, struct comm *to,
                        bool spans, bool part)
{
    int n = 0;
    for (int i = 0; i < from->size; i++) {
        int rank = from->ranks[i];
        if (rank < 0)
            return 0; /* members stay unknown */
        if (part && end_stage(w, rank) < 0)
            return -1;
        if (part || !spans) {
            to->ranks[n++] = moved(w, rank, part ? end_stage(w, rank) : w->stage);
            continue;
        }
        for (int s = 0; grid_coordinate(w->pl->axis, rank) == 0 && s < w->stages; s++)
            to->ranks[n++] = moved(w, rank, s);
    }
    return 0;
}

static int refuse(const struct rank_writer *w, const char *what, const char *id)
{
    return err_set(w->e, ERR_INPUT, "--grow pp: communicator '%s' %s", id, what);
}

static int add_comm(struct rank_writer *w, const char *id, int size, int origin)
{
    struct longer_run *out = w->out;
    int c = run_comm(&out->run, id, strlen(id), size);
    if (c < 0)
        return refuse(w, "would have too many members", id);
    if ((size_t)c == out->ncomms) {
        ARRAY_GROW(out->comm, out->cap_comms, out->ncomms + 1);
        out->comm[out->ncomms++] = origin;
    }
    ARRAY_GROW(w->seq, w->cap_seq, out->ncomms);
    return c;
}

/* The longer job's communicator for a recorded one; -1 with the error filled. */
static int map_comm(struct rank_writer *w, int recorded)
{
    const struct comm *from = &w->pl->run->comms[recorded];
    struct grid_place place = w->pl->in.growth->grid->comms[recorded];
    bool spans = place.axes & 1u << w->pl->in.growth->axis, part = spans && place.part;
    int size = spans && !part ? from->size / w->pl->nstages * w->stages : from->size;
    const char *id = from->id;
    size_t before = w->out->ncomms;
    int c;
    if (!place.known)
        return refuse(w, "has no place in the grid", id);
    if (!spans)
        id = arena_printf(&w->out->run.arena, "%s@%d", from->id, w->stage);
    c = add_comm(w, id, size, recorded);
    if (c < 0 || (size_t)c < before)
        return c;
    if (fill_members(w, from, &w->out->run.comms[c], spans, part) < 0)
        return refuse(w, "is of some stages that are not the ends", from->id);
    return c;
}

/* With two stages, a group of both may be of all stages or of the ends. */
static int check_comm(const struct rank_writer *w, const struct op *op)
{
    struct grid_place place = w->pl->in.growth->grid->comms[op->coll.comm];
    bool only = place.axes == 1u << w->pl->in.growth->axis && !place.part;
    if (w->pl->nstages == 2 && only && op->bytes > GRID_CONTROL_BYTES)
        return refuse(w, "is of both recorded stages: of all stages, or of the first and last",
                      w->pl->run->comms[op->coll.comm].id);
    return 0;
}

/* Returns whether it belongs to the ends of the pipeline, and this stage is none of them. */
static bool is_left_out(const struct rank_writer *w, const struct op *op)
{
    struct grid_place place = w->pl->in.growth->grid->comms[op->coll.comm];
    return w->stage > 0 && w->stage + 1 < w->stages && place.part &&
           place.axes & 1u << w->pl->in.growth->axis;
}

/* ---- operations ---- */

static struct op *add_op(struct rank_writer *w, const struct op *like,
                         struct weak_scaling_op origin)
{
    struct op *op = rank_add_op(w->rank);
    uint64_t id = w->rank->nops;
    ARRAY_GROW(w->out->op[w->r], w->cap_origin, w->rank->nops);
    w->out->op[w->r][w->rank->nops - 1] = origin;
    *op = *like;
    op->id = id;
    return op;
}

static int32_t map_group(struct rank_writer *w, int32_t group)
{
    if (group < 0)
        return -1;
    if (group != w->group_from) {
        w->group_from = group;
        w->group++;
    }
    return w->group;
}

/* 0, 1 to leave it out, -1. */
static int map_coll(struct rank_writer *w, const struct pipe_stage *s, struct op *op)
{
    int message = pipe_message_of(w->pl, (int)(s - w->pl->stages), op), comm;
    op->coll.group = map_group(w, op->coll.group);
    if (message > 0) {
        bool up = message == PIPE_ACT_OUT || message == PIPE_GRAD_IN;
        op->coll.comm = w->messages;
        op->coll.peer = w->stage + (up ? 1 : -1);
        op->coll.p2p_seq = w->sent[message]++;
        return 0;
    }
    if (op->coll.comm < 0)
        return 0;
    if (is_left_out(w, op))
        return 1;
    if (op->class == OP_COLL && check_comm(w, op) < 0)
        return -1;
    comm = map_comm(w, op->coll.comm);
    if (comm < 0)
        return -1;
    op->coll.comm = comm;
    if (op->class == OP_COLL)
        op->coll.seq = w->seq[comm]++;
    else
        op->coll.p2p_seq = w->others++;
    return 0;
}

/* Names that specter_kernel_class_of() knows. */
static const char *const class_names[SPECTER_KERNEL_CLASS_COUNT] = {
    [SPECTER_KERNEL_ATTENTION] = "attention",
    [SPECTER_KERNEL_GEMM] = "gemm",
    [SPECTER_KERNEL_ELEMENTWISE] = "elementwise",
    [SPECTER_KERNEL_REDUCTION] = "reduction",
    [SPECTER_KERNEL_COPY] = "memcpy",
    [SPECTER_KERNEL_OPTIMIZER] = "adam",
    [SPECTER_KERNEL_COMM] = "nccl",
    [SPECTER_KERNEL_OTHER] = "kernel",
};

/* Work that no operation stands for, of `like`'s thread and stream. */
static void add_counted(struct rank_writer *w, const struct pipe_stage *s, const struct op *like,
                        enum specter_kernel_class class, int64_t ns)
{
    struct op op = {.class = OP_KERNEL, .name = class_names[class], .dur_ns = ns, .tid = like->tid};
    op.timing = SPECTER_TIMING_DEVICE;
    op.flags = OP_COUNTED;
    op.dtype = SPECTER_DTYPE_UNKNOWN;
    op.stream = like->stream;
    op.device = like->device;
    op.graph = -1;
    op.start_ns = op.host_ns = op.host_end_ns = w->cursor_ns;
    add_op(w, &op, (struct weak_scaling_op){s->r, UINT32_MAX});
}

static int copy_op(struct rank_writer *w, const struct pipe_stage *s, const struct host_call *call,
                   int64_t end_ns)
{
    struct op op = s->rank->ops[call->index];
    int64_t clean_ns = w->pl->clean_ns[s->r][call->index], cut_ns = 0;
    int rc = op_is_comm(&op) ? map_coll(w, s, &op) : 0;
    if (rc != 0)
        return rc < 0 ? -1 : 0;
    if (op.timing == SPECTER_TIMING_SYNC && clean_ns != UNKNOWN_NS && op.dur_ns > clean_ns)
        cut_ns = op.dur_ns - clean_ns; /* the call held the wait */
    if (op_call_waits(&op) && op.copy.wait_ns != UNKNOWN_NS) {
        cut_ns = op.copy.wait_ns;
        op.copy.wait_ns = 0;
    }
    op.dur_ns = clean_ns;
    op.host_ns = op.start_ns = w->cursor_ns;
    op.host_end_ns = end_ns - cut_ns > op.host_ns ? end_ns - cut_ns : op.host_ns;
    if (s != w->from && op.device == s->device) {
        op.device = w->from->device;
        op.stream = op.stream == s->compute ? w->from->compute : op.stream;
    }
    if (w->pl->gap_ns[s->r][call->index] > 0)
        add_counted(w, s, &op, SPECTER_KERNEL_OTHER, w->pl->gap_ns[s->r][call->index]);
    op.flags &= (uint8_t)~OP_IN_GRAPH;
    add_op(w, &op, (struct weak_scaling_op){s->r, call->index});
    w->cursor_ns = op.host_end_ns;
    return 0;
}

static void copy_sync_call(struct rank_writer *w, const struct pipe_stage *s,
                           const struct host_call *call, int64_t end_ns)
{
    struct sync_call *sync = rank_add_sync_call(w->rank);
    *sync = s->rank->sync_calls[call->index];
    sync->host_ns = w->cursor_ns;
    sync->host_end_ns = w->cursor_ns = end_ns;
}

/* Kernels that were counted, as work of the time that they are taken to have: by class, as many
 * parts of it as kernels. */
static void copy_launches(struct rank_writer *w, const struct pipe_stage *s,
                          const struct host_call *call)
{
    const struct launches *l = &s->rank->launches[call->index];
    int64_t left_ns = w->pl->untimed_ns[s->r][call->index];
    const uint64_t *classes = w->pl->untimed_classes[s->r][call->index];
    uint64_t kernels = 0;
    for (int c = 0; classes != NULL && c < SPECTER_KERNEL_CLASS_COUNT; c++)
        kernels += classes[c];
    for (int c = 0; c < SPECTER_KERNEL_CLASS_COUNT && kernels > 0; c++) {
        int64_t ns = (int64_t)((double)left_ns * ((double)classes[c] / (double)kernels));
        struct op like = {.tid = l->tid, .stream = l->stream, .device = l->device};
        if (classes[c] == 0)
            continue;
        add_counted(w, s, &like, (enum specter_kernel_class)c, ns);
        left_ns -= ns;
        kernels -= classes[c];
    }
}

/* ---- pieces ---- */

static int copy_call(struct rank_writer *w, const struct pipe_stage *s, uint32_t c)
{
    const struct host_call *call = &s->calls.list[c];
    int64_t clock_ns = s->clock_ns[c], begin_ns = call->start_ns, end_ns;
    if (begin_ns > clock_ns)
        w->cursor_ns += begin_ns - clock_ns;
    else
        begin_ns = clock_ns;
    end_ns = w->cursor_ns + (call->end_ns > begin_ns ? call->end_ns - begin_ns : 0);
    switch (call->what) {
    case HOST_CALL_SYNC:
        copy_sync_call(w, s, call, end_ns);
        return 0;
    case HOST_CALL_LAUNCHES:
        copy_launches(w, s, call);
        return 0;
    default:
        return copy_op(w, s, call, end_ns);
    }
}

static int copy_piece(struct rank_writer *w, const struct pipe_stage *s, struct pipe_piece piece)
{
    w->group_from = -1;
    for (uint32_t c = piece.first; c < piece.end; c++) {
        if (copy_call(w, s, c) < 0)
            return -1;
    }
    return 0;
}

/* The middle one of several exchanges of that kind; NULL. */
static const struct pipe_found *find_exchange(const struct pipe_iteration *it, unsigned exchange)
{
    size_t n = 0;
    for (size_t i = 0; i < it->count; i++)
        n += it->list[i].exchange == exchange;
    n = (n + 1) / 2;
    for (size_t i = 0; n > 0 && i < it->count; i++) {
        n -= it->list[i].exchange == exchange;
        if (n == 0)
            return &it->list[i];
    }
    return NULL;
}

static bool any_sync_call(const struct pipe_stage *s, struct pipe_piece piece)
{
    for (uint32_t c = piece.first; c < piece.end; c++) {
        if (s->calls.list[c].what == HOST_CALL_SYNC)
            return true;
    }
    return false;
}

/* Its own stage shows how messages are exchanged, or another one does, as long as no event of that
 * one's is in it. */
static int write_exchange(struct rank_writer *w, unsigned exchange,
                          const struct pipe_found *own[EXCHANGES_MAX])
{
    if (own[exchange] != NULL)
        return copy_piece(w, w->from, own[exchange]->calls);
    for (int i = 0; i < w->pl->nstages; i++) {
        const struct pipe_stage *s = &w->pl->stages[i];
        const struct pipe_found *found = find_exchange(&s->iterations[w->k], exchange);
        if (found != NULL && !any_sync_call(s, found->calls))
            return copy_piece(w, s, found->calls);
    }
    return err_set(w->e, ERR_INPUT,
                   "--grow pp: no recorded stage shows how messages are exchanged that a stage of "
                   "%d has",
                   w->stages);
}

static struct pipe_piece piece_of(const struct rank_writer *w, struct pipe_part part)
{
    const struct pipe_iteration *it = &w->from->iterations[w->k];
    bool common = w->pl->nstages == 2 && w->stage > 0;
    switch (part.kind) {
    case PART_PROLOGUE:
        return it->prologue;
    case PART_EPILOGUE:
        return it->epilogue;
    case PART_FORWARD:
        return common ? w->pl->middle_forward[w->k] : it->forward[part.nth];
    default:
        return common ? w->pl->middle_backward[w->k] : it->backward[part.nth];
    }
}

static int write_token(struct rank_writer *w, const struct pipe_token *token,
                       const struct pipe_found *own[EXCHANGES_MAX])
{
    if (token->exchange != 0)
        return write_exchange(w, token->exchange, own);
    for (int i = 0; i < token->nparts; i++) {
        if (copy_piece(w, w->from, piece_of(w, token->parts[i])) < 0)
            return -1;
    }
    return 0;
}

/* Where the order is that of the recording, everything is copied as it was. */
static int write_iteration(struct rank_writer *w, const struct pipe_plan *plan, bool same)
{
    const struct pipe_iteration *it = &w->from->iterations[w->k];
    const struct pipe_found *own[EXCHANGES_MAX];
    int64_t start_ns = w->cursor_ns;
    struct step *step;
    int rc = 0;
    for (unsigned exchange = 1; exchange < EXCHANGES_MAX; exchange++)
        own[exchange] = find_exchange(it, exchange);
    for (size_t i = 0; i < plan->count && rc == 0; i++)
        rc = same ? copy_piece(w, w->from, it->list[i].calls) : write_token(w, &plan->list[i], own);
    step = rank_add_step(w->rank);
    step->start_ns = start_ns;
    step->end_ns = w->cursor_ns;
    step->name = "";
    step->tid = UINT32_MAX;
    return rc;
}

/* ---- ranks ---- */

static bool same_plan(const struct pipe_plan *a, const struct pipe_plan *b)
{
    bool same = a->count == b->count;
    for (size_t i = 0; same && i < a->count; i++) {
        same = a->list[i].exchange == b->list[i].exchange &&
               a->list[i].nparts == b->list[i].nparts &&
               memcmp(a->list[i].parts, b->list[i].parts, sizeof a->list[i].parts) == 0;
    }
    return same;
}

/* First and last are those recorded; those between are recorded middle ones by turns, or of two
 * stages what the first has in common. */
static int stage_like(const struct pipeline *pl, int stage, int stages)
{
    if (stage == 0)
        return 0;
    if (stage == stages - 1)
        return pl->nstages - 1;
    return pl->nstages == 2 ? 0 : 1 + (stage - 1) % (pl->nstages - 2);
}

static int write_rank(struct rank_writer *w, int stage)
{
    struct pipe_plan plan, recorded;
    const struct rank *like;
    bool same, first_of_two;
    int rc = 0;
    w->stage = stage;
    w->from_stage = stage_like(w->pl, stage, w->stages);
    w->from = &w->pl->stages[w->from_stage];
    w->rank = run_add_rank(&w->out->run);
    w->r = w->out->run.nranks - 1;
    w->cap_origin = 0;
    w->others = 0;
    w->group = 0;
    memset(w->sent, 0, sizeof w->sent);
    if (w->seq != NULL)
        memset(w->seq, 0, w->cap_seq * sizeof *w->seq);
    like = w->from->rank;
    w->rank->rank = moved(w, w->pl->stages[0].rank->rank, stage);
    w->rank->gpu = like->gpu;
    w->rank->file = like->file;
    w->rank->coverage = like->coverage & ~(unsigned)COVER_LAUNCHES;
    w->rank->complete = true;
    w->rank->nthreads = like->nthreads;
    w->cursor_ns = w->from->clock_ns[w->from->iterations[0].list[0].calls.first];
    pipe_plan_init(&plan, w->pl->schedule, stage, w->stages, w->pl->micro);
    pipe_plan_init(&recorded, w->pl->schedule, w->from_stage, w->pl->nstages, w->pl->micro);
    first_of_two = w->from_stage == 0 && stage > 0;
    same = same_plan(&plan, &recorded) && !first_of_two;
    for (w->k = 0; w->k < w->iterations && rc == 0; w->k++)
        rc = write_iteration(w, &plan, same);
    pipe_plan_release(&plan);
    pipe_plan_release(&recorded);
    return rc;
}

static int add_messages(struct rank_writer *w)
{
    struct comm *comm;
    w->messages = add_comm(w, "pipeline", w->stages, -1);
    if (w->messages < 0)
        return -1;
    comm = &w->out->run.comms[w->messages];
    for (int s = 0; s < w->stages; s++)
        comm->ranks[s] = moved(w, w->pl->stages[0].rank->rank, s);
    return 0;
}

/* All iterations, or as many as are not too much; two at least, where there are two. */
static int choose_iterations(struct rank_writer *w)
{
    uint64_t calls = 1, fit;
    uint32_t least = w->pl->niterations > 1 ? 2 : 1;
    for (int s = 0; s < w->pl->nstages; s++) {
        uint64_t n = w->pl->stages[s].calls.count / w->pl->niterations;
        calls = n > calls ? n : calls;
    }
    fit = OPS_MAX / (calls * (uint64_t)w->stages);
    if (fit < least)
        return err_set(w->e, ERR_USAGE, "--grow pp: %d stages of %llu calls each are too many",
                       w->stages, (unsigned long long)calls);
    w->iterations = fit < w->pl->niterations ? (uint32_t)fit : w->pl->niterations;
    return 0;
}

int pipeline_write(const struct pipeline *pl, int stages, struct longer_run *out, struct err *e)
{
    struct rank_writer w = {.pl = pl, .out = out, .stages = stages, .e = e};
    int rc;
    memset(out, 0, sizeof *out);
    run_init(&out->run);
    out->op = array_new((size_t)stages, sizeof *out->op);
    out->run.source = pl->run->source;
    out->run.format = pl->run->format;
    out->run.ndomains = 1;
    out->run.world_size = pl->in.growth->world / pl->nstages * stages;
    rc = choose_iterations(&w) < 0 || add_messages(&w) < 0 ? -1 : 0;
    for (int s = 0; s < stages && rc == 0; s++)
        rc = write_rank(&w, s);
    free(w.seq);
    out->origin = (struct weak_scaling_origin){pl->in.growth, out->comm, out->op};
    weak_scaling_init_made(&out->growth, &out->run, &out->origin);
    return rc;
}

void longer_run_release(struct longer_run *longer)
{
    for (size_t r = 0; longer->op != NULL && r < longer->run.nranks; r++)
        free(longer->op[r]);
    free(longer->op);
    free(longer->comm);
    weak_scaling_release(&longer->growth);
    run_release(&longer->run);
}
