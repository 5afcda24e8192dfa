/* SPDX-License-Identifier: MIT */
#include "sim/grid/grid_input.h"

#include "base/buf.h"
#include "sim/program/program.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

static void count_message(const struct surveyor *s, struct member_traffic *t,
                          const struct rank *rank, const struct op *op)
{
    const struct comm *comm = &s->run->comms[op->coll.comm];
    int peer = op->coll.peer;
    int32_t *open;
    if (peer < 0 || peer >= comm->size)
        return;
    if (t->sent == NULL) {
        t->sent = array_new((size_t)comm->size, sizeof *t->sent);
        t->open = array_new((size_t)comm->size, sizeof *t->open);
    }
    open = &t->open[peer];
    if (t->computed != s->passed)
        end_exchange(t, comm->size);
    t->computed = s->passed;
    t->unanswered -= *open != 0;
    *open += op->coll.op == SPECTER_SEND ? 1 : -1;
    t->unanswered += *open != 0;
    if (op->coll.op != SPECTER_SEND)
        return;
    t->sent_to += t->sent[peer]++ == 0;
    t->did.to_itself = t->did.to_itself || comm->ranks[peer] == rank->rank;
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
    if (op->coll.op == SPECTER_REDUCESCATTER)
        t->gathers = 0;
    if (op->coll.op == SPECTER_ALLGATHER && ++t->gathers > t->did.gather_run)
        t->did.gather_run = (uint32_t)t->gathers;
    if (op->class == OP_P2P)
        count_message(s, t, rank, op);
    if (op->coll.op == SPECTER_ALLREDUCE && total > 0) {
        t->did.placed++;
        t->did.early += 4 * done < total;
    }
}

static void count_rank(struct surveyor *s, const struct rank *rank,
                       const struct program_rank *program, const struct rank_steps *it)
{
    uint32_t now = STEP_NONE;
    uint64_t done = 0;
    s->computed = arena_alloc(s->arena, it->count * sizeof *s->computed);
    for (size_t i = 0; i < rank->nops; i++) {
        if (it->of[i] != STEP_NONE && is_compute(&rank->ops[i]))
            s->computed[it->of[i]]++;
    }
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
        if (op_is_comm(op) && op->coll.comm >= 0 && op->coll.op < SPECTER_COMM_OP_COUNT)
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
    for (size_t c = 0; c < run->ncomms; c++) {
        const struct comm *comm = &run->comms[c];
        s.comms[c] = (struct grid_comm){.id = comm->id,
                                        .name = comm->name,
                                        .size = comm->size,
                                        .ranks = comm->ranks,
                                        .user = -1};
        if (comm->size > 0)
            continue;
        /* Of a communicator without a size only its use is known. */
        s.comms[c].size = 1;
        s.comms[c].ranks = arena_alloc(arena, sizeof(int));
    }
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

/* ---- ranks of which there are no operations, and whether others can stand for them ---- */

/* Ranks that stand for one another differ by no more in what they call in a step: a trace may lack
 * its end. */
#define ALIKE 0.1

/* The calls of a rank in an iteration. */
struct habit {
    double calls[SPECTER_COMM_OP_COUNT], products;
};

static struct habit habit_of(const struct rank *rank, const struct rank_steps *it)
{
    struct habit h = {{0}, 0};
    for (size_t i = 0; i < rank->nops; i++) {
        const struct op *op = &rank->ops[i];
        bool comm = op_is_comm(op);
        if (it->of[i] == STEP_NONE)
            continue;
        h.products += op->class == OP_GEMM ? 1.0 / it->count : 0;
        if (comm && op->coll.op < SPECTER_COMM_OP_COUNT)
            h.calls[op->coll.op] += 1.0 / it->count;
    }
    return h;
}

static bool alike(double a, double b)
{
    return fabs(a - b) <= ALIKE * fmax(a, b);
}

/* The first operation by which they differ; NULL. */
static const char *difference(const struct habit *a, const struct habit *b)
{
    for (int op = 0; op < SPECTER_COMM_OP_COUNT; op++) {
        if (!alike(a->calls[op], b->calls[op]))
            return specter_comm_op_name((enum specter_comm_op)op);
    }
    return alike(a->products, b->products) ? NULL : "GEMMs";
}

static int stage_of(const struct grid *g, int rank)
{
    return grid_place_along(g, GRID_PP, rank);
}

static const char *list_absent(const char *present, int world, struct arena *arena)
{
    struct buf text = BUF_INIT;
    const char *copy;
    for (int r = 0; r < world; r++) {
        int first = r;
        if (present[r])
            continue;
        while (r + 1 < world && !present[r + 1])
            r++;
        buf_printf(&text, r > first ? "%s%d-%d" : "%s%d", text.len > 0 ? "," : "", first, r);
    }
    copy = arena_strndup(arena, text.data, text.len);
    buf_release(&text);
    return copy;
}

/* For each stage one of its recorded ranks, as index in run->ranks + 1; 0 none. */
static uint32_t *find_stages(const struct grid *g, const struct run *run, struct arena *arena)
{
    uint32_t *of = arena_alloc(arena, (size_t)grid_size(g, GRID_PP) * sizeof *of);
    for (size_t r = run->nranks; r-- > 0;) {
        if (run->ranks[r].nops > 0 && run->ranks[r].rank >= 0 && run->ranks[r].rank < g->world)
            of[stage_of(g, run->ranks[r].rank)] = (uint32_t)r + 1;
    }
    return of;
}

/* "1" or "1, 2": stages of the pipeline of which no rank has operations; NULL: none. */
static const char *unrecorded_stages(const struct grid *g, const uint32_t *of, struct arena *arena)
{
    const char *words = NULL;
    for (int stage = 0; stage < grid_size(g, GRID_PP); stage++) {
        if (of[stage] > 0)
            continue;
        words = words == NULL ? arena_printf(arena, "%d", stage)
                              : arena_printf(arena, "%s, %d", words, stage);
    }
    return words;
}

/* Returns why ranks cannot stand for others of their stage; NULL when they can. `of` is from
 * find_stages(). */
static const char *asymmetry(const struct grid *g, const struct run *run,
                             const struct rank_steps *iterations, const uint32_t *of,
                             struct arena *arena)
{
    for (size_t r = 0; r < run->nranks; r++) {
        const struct rank *rank = &run->ranks[r];
        struct habit first, other;
        const char *what;
        size_t k;
        if (rank->nops == 0 || rank->rank < 0 || rank->rank >= g->world)
            continue;
        k = of[stage_of(g, rank->rank)] - 1;
        first = habit_of(&run->ranks[k], &iterations[k]);
        other = habit_of(rank, &iterations[r]);
        what = difference(&first, &other);
        if (what != NULL)
            return arena_printf(arena, "ranks %d and %d should be alike, but their %s differ",
                                run->ranks[k].rank, rank->rank, what);
    }
    return NULL;
}

/* Axes on which two ranks differ; -1 when they are not of one stage. */
static int distance(const struct grid *g, int a, int b)
{
    int n = 0;
    for (int i = 0; i < g->naxes; i++) {
        bool differ = grid_coordinate(&g->axes[i], a) != grid_coordinate(&g->axes[i], b);
        if (differ && g->axes[i].role == GRID_PP)
            return -1;
        n += differ;
    }
    return n;
}

/* The recorded rank of its stage that is nearest; the lowest of several. */
static int nearest(const struct grid *g, const struct run *run, int rank)
{
    int best = rank, least = GRID_AXES_MAX + 1;
    for (size_t r = 0; r < run->nranks; r++) {
        int other = run->ranks[r].rank;
        int away = run->ranks[r].nops > 0 && other < g->world ? distance(g, rank, other) : -1;
        if (away < 0 || away >= least)
            continue;
        best = other;
        least = away;
    }
    return best;
}

/* Global rank of the other end of a message; -1. */
static int peer_of(const struct run *run, const struct op *op)
{
    const struct comm *comm;
    if (op->class != OP_P2P || op->coll.comm < 0 || op->coll.peer < 0)
        return -1;
    comm = &run->comms[op->coll.comm];
    return op->coll.peer < comm->size ? comm->ranks[op->coll.peer] : -1;
}

/* Communicators are alike that span the same axes: the first of them stands for all. */
static const int *alike_comms(const struct grid *g, struct arena *arena)
{
    int *alike_to = arena_alloc(arena, g->ncomms * sizeof *alike_to);
    int first[1 << GRID_AXES_MAX];
    memset(first, -1, sizeof first);
    for (size_t c = 0; c < g->ncomms; c++) {
        int *known = &first[g->comms[c].axes];
        alike_to[c] = (int)c;
        if (g->comms[c].known && *known < 0)
            *known = (int)c;
        else if (g->comms[c].known)
            alike_to[c] = *known;
    }
    return alike_to;
}

/* Stand-ins for messages from stage to stage, for the ranks that a recorded rank talks to. */
static void fill(struct grid_absent *out, const struct grid *g, const struct run *run,
                 struct arena *arena)
{
    int *stand = arena_alloc(arena, (size_t)g->world * sizeof *stand);
    for (int r = 0; r < g->world; r++)
        stand[r] = -1;
    for (size_t r = 0; r < run->nranks; r++) {
        if (run->ranks[r].nops > 0 && run->ranks[r].rank < g->world)
            stand[run->ranks[r].rank] = run->ranks[r].rank;
    }
    for (size_t r = 0; r < run->nranks; r++) {
        for (size_t i = 0; i < run->ranks[r].nops; i++) {
            int peer = peer_of(run, &run->ranks[r].ops[i]);
            if (peer >= 0 && peer < g->world && stand[peer] < 0)
                stand[peer] = nearest(g, run, peer);
        }
    }
    for (int r = 0; r < g->world; r++)
        stand[r] = stand[r] < 0 ? r : stand[r];
    out->standins =
        (struct match_standins){.rank = stand, .world = g->world, .comm = alike_comms(g, arena)};
    out->filled = true;
}

void grid_find_absent(struct grid_absent *out, const struct grid *g, const struct run *run,
                      const struct rank_steps *iterations, struct arena *arena)
{
    char *present = arena_alloc(arena, (size_t)g->world);
    uint32_t *of;
    *out = (struct grid_absent){.count = g->world};
    for (size_t r = 0; r < run->nranks; r++) {
        const struct rank *rank = &run->ranks[r];
        bool busy = rank->nops > 0 || rank->nlaunches > 0 || rank->quiet;
        if (rank->rank < 0 || rank->rank >= g->world || !busy || present[rank->rank])
            continue;
        present[rank->rank] = 1;
        out->count--;
    }
    if (out->count == 0 || out->count == g->world)
        return;
    out->words = list_absent(present, g->world, arena);
    of = find_stages(g, run, arena);
    if (g->state == GRID_FOUND)
        out->stages = unrecorded_stages(g, of, arena);
    if (g->state != GRID_NONE)
        out->refused = asymmetry(g, run, iterations, of, arena);
    if (g->state == GRID_FOUND && out->refused == NULL && grid_size(g, GRID_PP) > 1)
        fill(out, g, run, arena);
}

#define LATENCY_NS 2000 /* of launches; nothing that is asked here depends on it */

int recorded_grid_init(struct recorded_grid *rec, const struct run *run,
                       const struct job_steps *steps, const char *parallel, struct err *e)
{
    struct grid_input groups;
    struct program program;
    int rc = 0;
    memset(rec, 0, sizeof *rec);
    arena_init(&rec->arena);
    program_init(&program, run, LATENCY_NS, false);
    grid_input_fill(&groups, run, program.ranks, steps->ranks, &rec->arena);
    if (parallel == NULL)
        grid_find(&rec->grid, &groups);
    else
        rc = grid_from_text(&rec->grid, &groups, parallel, e);
    program_release(&program);
    return rc;
}

void recorded_grid_release(struct recorded_grid *rec)
{
    grid_release(&rec->grid);
    arena_release(&rec->arena);
}
