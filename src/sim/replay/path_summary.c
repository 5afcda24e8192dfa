/* SPDX-License-Identifier: MIT
 *
 * A critical path in numbers.
 */
#include "sim/replay/path.h"

#include "base/order.h"
#include "sim/replay/job.h"
#include "trace/activity.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SLOWER 0.02 /* a rank is named when its work takes so much longer */
#define PLACED 12   /* operations of an iteration, for its thirds to mean something */
#define BLAMED 0.6  /* of the path's work that must be the named rank's */

static const char *const names[PATH_WHATS] = {
    [PATH_GEMM] = "GEMMs",
    [PATH_ATTENTION] = "attention kernels",
    [PATH_KERNEL] = "other kernels",
    [PATH_UNTRACED] = "untimed kernels",
    [PATH_GRAPH] = "graphs",
    [PATH_COPY] = "copies",
    [PATH_COMM] = "communication",
    [PATH_LATE] = "waits for ranks not recorded",
    [PATH_LAUNCH] = "launch latency",
    [PATH_HOST] = "host CPU time",
    [PATH_BEGIN] = "time before a rank's host began",
};

/* Per communication operation of one rank: its ordinal among operations of the same kind in its
 * iteration, and its position in the order of issue. */
struct op_positions {
    uint32_t *nth;   /* [nops] */
    float *position; /* [nops] 0 .. 1 */
    size_t per_iteration;
};

/* While a summary is made. */
struct summary_ctx {
    struct path_summary *out;
    const struct replay_job *job;
    const struct path *path;
    struct op_positions *positions; /* [nranks]; filled when asked for */
    struct intervals computes;      /* of the deciding rank */
    struct path_part *list;         /* all parts */
    double **by_call;               /* of each: ns by nth call; owned */
    size_t *cap_calls;              /* of each */
    size_t count, cap, cap_by, cap_cap;
    struct part_key {
        uint8_t what, op;
        int32_t comm;
        size_t part;
    } * kinds; /* parts found before; owned */
    size_t nkinds, cap_kinds;
};

/* ---- where in the step ---- */

static bool alike(const struct op *a, const struct op *b)
{
    return a->class == b->class && a->coll.op == b->coll.op && a->coll.comm == b->coll.comm;
}

/* Calls of the same kind that were issued before in the same iteration. Communicators are few. */
static void number_calls(struct op_positions *at, const struct rank *rank,
                         const struct rank_steps *it, const struct program_rank *program)
{
    struct op_calls {
        uint32_t op, iteration, count;
    } *seen = NULL;
    size_t nseen = 0, cap = 0, k;
    for (size_t i = 0; i < program->nissued; i++) {
        uint32_t op = program->issue[i];
        if (rank->ops[op].class != OP_COLL && rank->ops[op].class != OP_P2P)
            continue;
        for (k = 0; k < nseen && !alike(&rank->ops[seen[k].op], &rank->ops[op]); k++) {
        }
        if (k == nseen) {
            ARRAY_GROW(seen, cap, nseen + 1);
            seen[nseen++] = (struct op_calls){op, it->of[op], 0};
        }
        if (seen[k].iteration != it->of[op])
            seen[k] = (struct op_calls){op, it->of[op], 0};
        at->nth[op] = seen[k].count++;
    }
    free(seen);
    at->per_iteration = program->nissued / it->count;
}

static const struct op_positions *positions_of(struct summary_ctx *a, uint32_t r)
{
    const struct rank *rank = &a->job->program.run->ranks[r];
    struct op_positions *at = &a->positions[r];
    const struct program_rank *program = &a->job->program.ranks[r];
    const struct rank_steps *it = &a->job->steps.ranks[r];
    size_t end;
    if (at->nth != NULL)
        return at;
    at->nth = array_new(rank->nops, sizeof *at->nth);
    at->position = array_new(rank->nops, sizeof *at->position);
    number_calls(at, rank, it, program);
    for (size_t first = 0; first < program->nissued; first = end) {
        uint32_t iteration = it->of[program->issue[first]];
        for (end = first; end < program->nissued && it->of[program->issue[end]] == iteration;)
            end++;
        for (size_t i = first; i < end; i++)
            at->position[program->issue[i]] = (float)(i - first) / (float)(end - first);
    }
    return at;
}

/* ---- parts ---- */

static const char *name_of(struct summary_ctx *a, const struct path_step *step)
{
    const struct op *op;
    if (step->what != PATH_COMM || step->op == PATH_NO_OP)
        return names[step->what];
    op = &a->job->program.run->ranks[step->rank].ops[step->op];
    if (op->coll.op >= SPECTER_COMM_OP_COUNT)
        return names[PATH_COMM];
    return arena_printf(&a->job->rep->arena, "%s %s", axis_name(a->job, op->coll.comm),
                        specter_comm_op_name((enum specter_comm_op)op->coll.op));
}

static size_t part_named(struct summary_ctx *a, enum path_what what, const char *name)
{
    for (size_t i = 0; i < a->count; i++) {
        if (a->list[i].what == what && strcmp(a->list[i].name, name) == 0)
            return i;
    }
    ARRAY_GROW(a->list, a->cap, a->count + 1);
    ARRAY_GROW(a->by_call, a->cap_by, a->count + 1);
    ARRAY_GROW(a->cap_calls, a->cap_cap, a->count + 1);
    a->list[a->count] = (struct path_part){.what = what, .name = name};
    a->by_call[a->count] = NULL;
    a->cap_calls[a->count] = 0;
    return a->count++;
}

static size_t part_of(struct summary_ctx *a, const struct path_step *step)
{
    struct part_key kind = {(uint8_t)step->what, SPECTER_COMM_OP_COUNT, -1, 0};
    if (step->what == PATH_COMM && step->op != PATH_NO_OP) {
        kind.op = a->job->program.run->ranks[step->rank].ops[step->op].coll.op;
        kind.comm = a->job->program.run->ranks[step->rank].ops[step->op].coll.comm;
    }
    for (size_t i = 0; i < a->nkinds; i++) {
        const struct part_key *k = &a->kinds[i];
        if (k->what == kind.what && k->op == kind.op && k->comm == kind.comm)
            return k->part;
    }
    kind.part = part_named(a, step->what, name_of(a, step));
    ARRAY_GROW(a->kinds, a->cap_kinds, a->nkinds + 1);
    a->kinds[a->nkinds++] = kind;
    return kind.part;
}

static void add_call(struct summary_ctx *a, size_t part, const struct path_step *step, double ns)
{
    const struct op *op = &a->job->program.run->ranks[step->rank].ops[step->op];
    uint32_t nth = positions_of(a, step->rank)->nth[step->op];
    struct path_part *p = &a->list[part];
    if (p->calls == 0) {
        const struct rank *rank = &a->job->program.run->ranks[step->rank];
        const struct rank_steps *it = &a->job->steps.ranks[step->rank];
        /* Calls like it in its iteration, of the same rank. */
        for (size_t i = 0; i < rank->nops; i++)
            p->calls += it->of[i] == it->of[step->op] && alike(&rank->ops[i], op) &&
                        rank->ops[i].timing != SPECTER_TIMING_CAPTURED;
        p->bytes = op->bytes;
    }
    if (nth >= p->calls)
        p->calls = nth + 1;
    if (op->bytes != p->bytes)
        p->bytes = 0;
    ARRAY_GROW(a->by_call[part], a->cap_calls[part], (size_t)p->calls);
    a->by_call[part][nth] += ns;
}

static void add_step(struct summary_ctx *a, const struct path_step *step)
{
    struct interval one = {step->start_ns, step->end_ns};
    struct intervals span = {&one, 1, 1};
    double ns = (double)(step->end_ns - step->start_ns);
    size_t part = part_of(a, step);
    struct path_part *p = &a->list[part];
    p->ns += ns;
    if (step->what == PATH_COMM)
        p->overlapped_ns += (double)intervals_common(&span, &a->computes);
    if (step->op == PATH_NO_OP)
        return;
    p->many = p->many || positions_of(a, step->rank)->per_iteration >= PLACED;
    int third = (int)(3 * positions_of(a, step->rank)->position[step->op]);
    p->thirds[third < 2 ? third : 2] += ns;
    if (step->what == PATH_COMM)
        add_call(a, part, step, ns);
}

/* Returns how many of the last calls make nearly all of it. */
static uint32_t last_calls(const double *by_call, uint32_t calls, double all)
{
    double sum = 0;
    for (uint32_t k = 1; k <= calls; k++) {
        sum += by_call[calls - k];
        if (sum >= PATH_ENDS * all)
            return 2 * k <= calls ? k : 0;
    }
    return 0;
}

static int by_time(const void *pa, const void *pb)
{
    const struct path_part *a = pa, *b = pb;
    if (a->ns != b->ns)
        return ORDER(b->ns, a->ns);
    return strcmp(a->name, b->name);
}

static void finish(struct summary_ctx *a)
{
    struct path_summary *out = a->out;
    double n = a->path->iterations, all = 0;
    out->span_ns = (double)a->path->length_ns / n;
    for (size_t i = 0; i < a->count; i++) {
        struct path_part *p = &a->list[i];
        if (p->calls > 0)
            p->last = last_calls(a->by_call[i], p->calls, p->ns);
        for (int t = 0; t < 3; t++)
            p->thirds[t] /= p->ns;
        p->ns /= n;
        p->overlapped_ns /= n;
        p->share = out->span_ns > 0 ? p->ns / out->span_ns : 0;
    }
    if (a->count > 0)
        qsort(a->list, a->count, sizeof *a->list, by_time);
    for (size_t i = 0; i < a->count && i < PATH_PARTS_MAX; i++) {
        out->parts[out->count++] = a->list[i];
        all += a->list[i].ns;
    }
    out->rest_ns = fmax(out->span_ns - all, 0);
}

/* ---- which rank ---- */

/* Returns how long a rank computes in the whole simulation. */
static double work_of(const struct program *p, uint32_t r)
{
    double sum = 0;
    for (size_t i = 0; i < p->run->ranks[r].nops; i++) {
        struct sim_span span = program_span(p, r, i);
        if (span.end_ns >= 0 && activity_kind_of(&p->run->ranks[r].ops[i]) == ACTIVITY_COMPUTE)
            sum += (double)(span.end_ns - span.start_ns);
    }
    for (size_t i = 0; i < p->ranks[r].nuntraced; i++) {
        struct sim_span span = sim_span(p->sim, p->ranks[r].untraced[i].item);
        if (span.end_ns >= 0)
            sum += (double)(span.end_ns - span.start_ns);
    }
    return sum;
}

/* The rank that most of the path's work is of, where the others have less to do. */
static void blame(struct summary_ctx *a)
{
    const struct program *p = &a->job->program;
    size_t nranks = p->run->nranks, n = 0;
    double *on_path = array_new(nranks, sizeof *on_path), *work = array_new(nranks, sizeof *work);
    double all = 0, own;
    uint32_t top = 0;
    a->out->slow_rank = -1;
    for (size_t i = 0; i < a->path->count; i++) {
        const struct path_step *s = &a->path->list[i];
        if (s->what > PATH_GRAPH || s->rank == PATH_NO_OP) /* no work */
            continue;
        on_path[s->rank] += (double)(s->end_ns - s->start_ns);
        all += (double)(s->end_ns - s->start_ns);
    }
    for (uint32_t r = 0; r < nranks; r++) {
        top = on_path[r] > on_path[top] ? r : top;
        if (!steps_blank(p->run, r))
            work[n++] = work_of(p, r);
    }
    own = work_of(p, top);
    qsort(work, n, sizeof *work, order_doubles);
    if (n > 1 && all > 0 && on_path[top] >= BLAMED * all &&
        own > (1 + SLOWER) * work[(n - 1) / 2] && work[(n - 1) / 2] > 0) {
        a->out->slow_rank = p->run->ranks[top].rank;
        a->out->slow_work = on_path[top] / all;
        a->out->slower = own / work[(n - 1) / 2] - 1;
    }
    free(on_path);
    free(work);
}

/* ---- all of it ---- */

static void find_computes(struct summary_ctx *a)
{
    const struct rank *rank = &a->job->program.run->ranks[a->path->rank];
    struct job_view v;
    intervals_init(&a->computes);
    job_view_init(&v, a->job, a->path->rank, true);
    for (size_t i = 0; i < rank->nops; i++) {
        if (v.spans[i].start_ns != UNKNOWN_NS &&
            activity_kind_of(&rank->ops[i]) == ACTIVITY_COMPUTE)
            intervals_add(&a->computes, v.spans[i].start_ns, v.spans[i].end_ns);
    }
    for (size_t i = 0; i < v.when.nbeside; i++) {
        if (v.beside[i].kind == SLICE_UNTRACED)
            intervals_add(&a->computes, v.beside[i].when.start_ns, v.beside[i].when.end_ns);
    }
    intervals_merge(&a->computes);
    job_view_release(&v);
}

void path_summarise(struct path_summary *out, const struct path *path, const struct replay_job *job)
{
    size_t nranks = job->program.run->nranks;
    struct summary_ctx a = {
        .out = out, .job = job, .path = path, .positions = array_new(nranks, sizeof *a.positions)};
    memset(out, 0, sizeof *out);
    find_computes(&a);
    for (size_t i = 0; i < path->count; i++)
        add_step(&a, &path->list[i]);
    finish(&a);
    blame(&a);
    for (size_t r = 0; r < nranks; r++) {
        free(a.positions[r].nth);
        free(a.positions[r].position);
    }
    for (size_t i = 0; i < a.count; i++)
        free(a.by_call[i]);
    intervals_release(&a.computes);
    free(a.positions);
    free(a.list);
    free(a.by_call);
    free(a.cap_calls);
    free(a.kinds);
}
