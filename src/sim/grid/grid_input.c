/* SPDX-License-Identifier: MIT */
#include "sim/grid/grid_input.h"

#include <stdlib.h>
#include <string.h>

static bool is_comm(const struct op *op)
{
    return (op->class == OP_COLL || op->class == OP_P2P) && op->coll.comm >= 0 &&
           op->coll.op < SPECTER_COMM_OP_COUNT;
}

static bool is_compute(const struct op *op)
{
    return op->class == OP_GEMM || op->class == OP_KERNEL;
}

/* The traffic of one rank in one communicator. */
struct member_traffic {
    struct grid_traffic did;
    uint64_t gathers; /* since the last ReduceScatter */
    uint64_t all;
    uint32_t *sent; /* [size] messages to each member; NULL: none so far; owned */
    int32_t *open;  /* [size] sent less received since the last computation; owned, as `sent` */
    uint32_t sent_to;
    uint32_t unanswered; /* members of whom that is not 0 */
    uint64_t computed;   /* computations of the rank before these messages */
    bool touched;
};

struct surveyor {
    const struct run *run;
    struct grid_comm *comms;
    struct member_traffic *tallies; /* [ncomms] of the rank at hand */
    uint32_t *touched;              /* [ntouched] communicators that it used */
    size_t ntouched;
    uint64_t *computed; /* by iteration: computations of the rank at hand */
    uint64_t passed;    /* of these, before the operation at hand */
    struct grid_edge *edges;
    size_t nedges, cap_edges;
    struct arena *arena;
};

/* A message without an answer by the time of the next computation went one way. */
static void end_exchange(struct member_traffic *t, int size)
{
    t->did.one_way = t->did.one_way || t->unanswered > 0;
    if (t->unanswered > 0)
        memset(t->open, 0, (size_t)size * sizeof *t->open);
    t->unanswered = 0;
}

static void count_way(const struct surveyor *s, struct member_traffic *t, const struct op *op,
                      int size)
{
    int32_t *open = &t->open[op->coll.peer];
    if (t->computed != s->passed)
        end_exchange(t, size);
    t->computed = s->passed;
    t->unanswered -= *open != 0;
    *open += op->coll.op == SPECTER_SEND ? 1 : -1;
    t->unanswered += *open != 0;
}

static void count_message(const struct surveyor *s, struct member_traffic *t,
                          const struct rank *rank, const struct op *op)
{
    const struct comm *comm = &s->run->comms[op->coll.comm];
    int peer = op->coll.peer;
    if (peer < 0 || peer >= comm->size)
        return;
    if (t->sent == NULL) {
        t->sent = array_new((size_t)comm->size, sizeof *t->sent);
        t->open = array_new((size_t)comm->size, sizeof *t->open);
    }
    count_way(s, t, op, comm->size);
    if (op->coll.op != SPECTER_SEND)
        return;
    t->sent_to += t->sent[peer]++ == 0;
    t->did.to_itself = t->did.to_itself || comm->ranks[peer] == rank->rank;
}

static void count_shards(struct member_traffic *t, const struct op *op)
{
    if (op->coll.op == SPECTER_REDUCESCATTER)
        t->gathers = 0;
    if (op->coll.op == SPECTER_ALLGATHER && ++t->gathers > t->did.gather_run)
        t->did.gather_run = (uint32_t)t->gathers;
}

/* done of total: computations of the iteration that were issued before it. */
static void count_op(struct surveyor *s, const struct rank *rank, const struct op *op,
                     uint64_t done, uint64_t total)
{
    struct member_traffic *t = &s->tallies[op->coll.comm];
    if (!t->touched)
        s->touched[s->ntouched++] = (uint32_t)op->coll.comm;
    t->touched = true;
    if (op->bytes <= GRID_CONTROL_BYTES && !(op->flags & OP_BYTES_UNKNOWN)) {
        t->did.control++;
        return;
    }
    t->all++;
    t->did.calls[op->coll.op]++;
    t->did.bytes[op->coll.op] += op->bytes;
    count_shards(t, op);
    if (op->class == OP_P2P)
        count_message(s, t, rank, op);
    if (op->coll.op == SPECTER_ALLREDUCE && total > 0) {
        t->did.placed++;
        t->did.early += 4 * done < total;
    }
}

static void count_computations(struct surveyor *s, const struct rank *rank,
                               const struct rank_steps *it)
{
    s->computed = arena_alloc(s->arena, it->count * sizeof *s->computed);
    for (size_t i = 0; i < rank->nops; i++) {
        if (it->of[i] != STEP_NONE && is_compute(&rank->ops[i]))
            s->computed[it->of[i]]++;
    }
}

static void count_rank(struct surveyor *s, const struct rank *rank,
                       const struct program_rank *program, const struct rank_steps *it)
{
    uint32_t now = STEP_NONE;
    uint64_t done = 0;
    count_computations(s, rank, it);
    for (size_t i = 0; i < program->nissued; i++) {
        const struct op *op = &rank->ops[program->issue[i]];
        uint32_t of = it->of[program->issue[i]];
        if (of == STEP_NONE)
            continue;
        if (of != now)
            done = 0;
        now = of;
        done += is_compute(op);
        s->passed += is_compute(op);
        if (is_comm(op))
            count_op(s, rank, op, done, s->computed[of]);
    }
}

static void add_edges(struct surveyor *s, const struct rank *rank, size_t c)
{
    const struct comm *comm = &s->run->comms[c];
    const struct member_traffic *t = &s->tallies[c];
    bool to_all = t->did.to_itself || (comm->size > 3 && t->sent_to + 1 >= (uint32_t)comm->size);
    if (t->sent == NULL || to_all || comm->size == 2)
        return;
    for (int peer = 0; peer < comm->size; peer++) {
        if (t->sent[peer] == 0 || comm->ranks[peer] < 0 || rank->rank < 0)
            continue;
        ARRAY_GROW(s->edges, s->cap_edges, s->nedges + 1);
        s->edges[s->nedges++] = (struct grid_edge){rank->rank, comm->ranks[peer], t->did.one_way};
    }
}

/* The member that called most speaks for all. */
static void merge(struct surveyor *s, const struct rank *rank, uint64_t *most)
{
    for (size_t i = 0; i < s->ntouched; i++) {
        uint32_t c = s->touched[i];
        struct member_traffic *t = &s->tallies[c];
        struct grid_traffic *did = &s->comms[c].did;
        uint32_t fewest = did->fewest_sent;
        bool to_itself = did->to_itself || t->did.to_itself, one_way;
        end_exchange(t, s->comms[c].size);
        one_way = did->one_way || t->did.one_way;
        s->comms[c].user = rank->rank;
        add_edges(s, rank, c);
        if (t->sent != NULL && (fewest == 0 || t->sent_to < fewest))
            fewest = t->sent_to;
        if (t->all > most[c]) {
            most[c] = t->all;
            *did = t->did;
        } else if (most[c] == 0) {
            did->control += t->did.control;
        }
        did->fewest_sent = fewest;
        did->to_itself = to_itself;
        did->one_way = one_way;
        free(t->sent);
        free(t->open);
        *t = (struct member_traffic){0};
    }
    s->ntouched = 0;
}

static void list_comms(struct surveyor *s)
{
    for (size_t c = 0; c < s->run->ncomms; c++) {
        const struct comm *comm = &s->run->comms[c];
        s->comms[c] = (struct grid_comm){.id = comm->id,
                                         .name = comm->name,
                                         .size = comm->size,
                                         .ranks = comm->ranks,
                                         .user = -1};
        if (comm->size > 0)
            continue;
        /* Of a communicator without a size only its use is known. */
        s->comms[c].size = 1;
        s->comms[c].ranks = arena_alloc(s->arena, sizeof(int));
    }
}

void grid_input_fill(struct grid_input *in, const struct run *run, const struct program_rank *ranks,
                     const struct rank_steps *iterations, struct arena *arena)
{
    struct surveyor s = {.run = run, .arena = arena};
    uint64_t *most = arena_alloc(arena, run->ncomms * sizeof *most);
    struct grid_edge *kept;
    double steps = 1;
    s.comms = arena_alloc(arena, run->ncomms * sizeof *s.comms);
    s.tallies = arena_alloc(arena, run->ncomms * sizeof *s.tallies);
    s.touched = arena_alloc(arena, run->ncomms * sizeof *s.touched);
    list_comms(&s);
    for (size_t r = 0; r < run->nranks; r++) {
        if (run->ranks[r].nops > 0 && iterations[r].count > steps)
            steps = iterations[r].count;
        count_rank(&s, &run->ranks[r], &ranks[r], &iterations[r]);
        merge(&s, &run->ranks[r], most);
    }
    kept = arena_alloc(arena, s.nedges * sizeof *kept);
    if (s.nedges > 0)
        memcpy(kept, s.edges, s.nedges * sizeof *kept);
    free(s.edges);
    *in = (struct grid_input){.world = run->world_size > (int)run->nranks ? run->world_size
                                                                          : (int)run->nranks,
                              .steps = steps,
                              .comms = s.comms,
                              .ncomms = run->ncomms,
                              .edges = kept,
                              .nedges = s.nedges};
}
