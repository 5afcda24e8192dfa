/* SPDX-License-Identifier: MIT */
#include "analysis/critical.h"

#include "analysis/time_breakdown.h"
#include "base/arena.h"
#include "base/kernel_class.h"
#include "base/order.h"
#include "base/pool.h"

#include <stdlib.h>
#include <string.h>

#define CALLS_BEFORE 64 /* looked at of other threads, of those that began before the step */

/* The last operation of a step, with which the walk backwards begins, and the step's times. */
struct step_end {
    int64_t start_ns, end_ns;
    int64_t until_ns; /* the step's end: later where the host ends after its last operation */
    uint32_t rank, op;
};

struct path_ctx {
    struct critical *c;
    const struct run *run;
    struct rank_links *links; /* owned [nranks] */
    const struct matches *matches;
    struct last_member *last; /* owned [matches.count] */
    uint32_t *host_at;        /* owned [nranks]: calls from here on have been walked */
    struct step_end *ends;    /* owned [steps] */
    uint64_t hops, hops_max;  /* over all steps: damaged traces may lead round in circles */
    int64_t from_ns;          /* where the step begins */
    int64_t t_ns;             /* what is later has been explained */
    uint32_t rank, op;
    bool chosen;
};

static const struct op *op_at(const struct path_ctx *w, uint32_t rank, uint32_t op)
{
    return &w->run->ranks[rank].ops[op];
}

/* ---- sums ---- */

static size_t category_of(enum path_kind kind, const struct op *op)
{
    if (kind == PATH_COMPUTE && op->class == OP_GEMM)
        return SPECTER_KERNEL_GEMM;
    if (kind == PATH_COMPUTE)
        return kernel_class(op->name);
    if (kind == PATH_COMM)
        return SPECTER_KERNEL_CLASS_COUNT +
               (op->coll.op < SPECTER_COMM_OP_COUNT ? op->coll.op : SPECTER_COMM_OP_COUNT);
    return SPECTER_KERNEL_CLASS_COUNT + PATH_COMM_OPS + (size_t)kind;
}

static void add_to(struct path_sum *sum, int64_t ns, bool chosen)
{
    sum->all_ns += ns;
    sum->step_ns += chosen ? ns : 0;
}

/* [from, w->t_ns) is explained; what is in front of the step is cut off. */
static void explain(struct path_ctx *w, enum path_kind kind, int64_t from_ns)
{
    struct critical *c = w->c;
    const struct op *op = op_at(w, w->rank, w->op);
    int64_t ns;
    from_ns = from_ns < w->from_ns ? w->from_ns : from_ns;
    ns = w->t_ns - from_ns;
    if (ns <= 0)
        return;
    add_to(&c->categories[category_of(kind, op)], ns, w->chosen);
    add_to(&c->ranks[w->rank].sum, ns, w->chosen);
    add_to(&c->length, ns, w->chosen);
    if (kind <= PATH_GRAPH) { /* work */
        /* Names are interned, so that the pointer stands for the text. */
        uint32_t at = idmap_add(&c->names, (int64_t)(uintptr_t)op->name);
        ARRAY_GROW(c->ops, c->cap_ops, (size_t)at + 1);
        if (at >= c->nops) {
            c->nops = (size_t)at + 1;
            c->ops[at] = (struct path_op){.name = op->name, .class = op->class};
        }
        c->ops[at].count++;
        add_to(&c->ops[at].sum, ns, w->chosen);
    }
    if (w->chosen) {
        ARRAY_GROW(c->parts, c->cap_parts, c->nparts + 1);
        c->parts[c->nparts++] =
            (struct critical_part){from_ns, w->t_ns, w->rank, w->op, (uint8_t)kind};
    }
    w->t_ns = from_ns;
}

/* ---- inside an operation ---- */

static const enum path_kind kind_of_class[] = {
    [OP_COLL] = PATH_COMM,      [OP_P2P] = PATH_P2P,       [OP_GEMM] = PATH_COMPUTE,
    [OP_KERNEL] = PATH_COMPUTE, [OP_MEMORY] = PATH_MEMORY, [OP_GRAPH] = PATH_GRAPH,
};

/* Counts the time of communication of which not all members are seen: who came last is not known.
 */
static void note_unseen_members(struct path_ctx *w, const struct op *op,
                                const struct last_member *last)
{
    if (!op_is_comm(op) || (last != NULL && last->all) ||
        (op->coll.comm >= 0 && w->run->comms[op->coll.comm].size == 1))
        return;
    if (w->t_ns > op->start_ns)
        w->c->alone_ns += w->t_ns - (op->start_ns > w->from_ns ? op->start_ns : w->from_ns);
}

/* The operation itself, back to where it began or where its last member came; there the walk goes
 * on with that one. */
static void walk_op(struct path_ctx *w)
{
    const struct op *op = op_at(w, w->rank, w->op);
    uint32_t match = w->links[w->rank].late[w->op];
    const struct last_member *last = match > 0 ? &w->last[match - 1] : NULL;
    bool mine = last == NULL || last->start_ns <= op->start_ns || last->start_ns > w->t_ns;
    note_unseen_members(w, op, last);
    explain(w, kind_of_class[op->class], mine ? op->start_ns : last->start_ns);
    if (last != NULL && last->start_ns <= w->t_ns && w->t_ns > w->from_ns) {
        int64_t *margin = &w->c->ranks[last->who.rank].margin_ns;
        int64_t since = last->second_ns > w->from_ns ? last->second_ns : w->from_ns;
        ns_sum_add(margin, last->start_ns - since);
    }
    if (mine || w->t_ns <= w->from_ns)
        return;
    if (last->who.rank != w->rank) {
        w->c->changes_all++;
        w->c->changes_step += w->chosen;
        w->c->ranks[last->who.rank].entered++;
    }
    w->rank = last->who.rank;
    w->op = last->who.op;
}

/* ---- in front of an operation ---- */

static int64_t min_ns(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t ended_ns(const struct path_ctx *w, uint32_t op)
{
    return op != LINK_NONE ? min_ns(op_end_ns(op_at(w, w->rank, op)), w->t_ns) : INT64_MIN;
}

static enum path_kind gap_kind(const struct path_ctx *w, uint32_t pred, int64_t gap_ns)
{
    const struct rank_links *l = &w->links[w->rank];
    if (pred == LINK_NONE && gap_ns <= PATH_LAUNCH_NS)
        return PATH_LAUNCH;
    if (rank_links_untimed(l, w->op, pred))
        return PATH_UNTIMED;
    return gap_ns <= PATH_LAUNCH_NS ? PATH_LAUNCH : PATH_UNEXPLAINED;
}

/* Without events in the trace, what another stream ended just before may have been waited for. */
static uint32_t inferred(const struct path_ctx *w, int64_t known_ns)
{
    const struct rank_links *l = &w->links[w->rank];
    uint32_t op;
    if (l->rank->coverage & COVER_DEPS || known_ns >= w->t_ns - PATH_LAUNCH_NS)
        return LINK_NONE;
    op = rank_links_ended(l, w->t_ns);
    if (op == LINK_NONE || op == w->op || ended_ns(w, op) < w->t_ns - PATH_LAUNCH_NS)
        return LINK_NONE;
    return op;
}

/* If the host waited in `call` for device work: explains the time since as the host's, and goes on
 * with that work. Else returns false, perhaps after it has explained untimed work. */
static bool walk_wait(struct path_ctx *w, const struct linked_call *call)
{
    const struct rank_links *l = &w->links[w->rank];
    uint32_t target = call->target;
    int64_t end;
    if (target == LINK_ANY)
        target = rank_links_ended(l, call->end_ns);
    if (target == LINK_NONE)
        return false;
    end = op_end_ns(op_at(w, w->rank, target));
    if (end > call->end_ns)
        return false;
    if (end <= call->start_ns) {
        if (call->behind && call->end_ns - call->start_ns > PATH_LAUNCH_NS) {
            explain(w, PATH_HOST, min_ns(call->end_ns, w->t_ns));
            explain(w, PATH_UNTIMED, min_ns(call->start_ns, w->t_ns));
        }
        return false;
    }
    explain(w, PATH_HOST, min_ns(call->end_ns, w->t_ns));
    explain(w, call->behind ? PATH_UNTIMED : PATH_HOST, min_ns(end, w->t_ns));
    w->op = target;
    return true;
}

/* The thread that launched the operation, back to where it waited for the device. Another thread's
 * wait counts when it ended while this one was silent all along. */
static void walk_host(struct path_ctx *w)
{
    const struct rank_links *l = &w->links[w->rank];
    uint32_t at = l->call[w->op], tid, before = 0;
    int64_t silent_ns;
    if (at == LINK_NONE) {
        explain(w, PATH_UNEXPLAINED, w->from_ns);
        return;
    }
    tid = l->calls[at].tid;
    silent_ns = l->calls[at].start_ns;
    if (at > w->host_at[w->rank])
        at = w->host_at[w->rank];
    while (at > 0 && w->t_ns > w->from_ns) {
        const struct linked_call *call = &l->calls[--at];
        bool same = call->tid == tid;
        w->host_at[w->rank] = at;
        if ((same || call->end_ns <= silent_ns) && call->start_ns < w->t_ns && walk_wait(w, call))
            return;
        if (same)
            silent_ns = call->start_ns;
        if (call->start_ns <= w->from_ns && (same || ++before > CALLS_BEFORE))
            break;
    }
    explain(w, PATH_HOST, w->from_ns);
}

/* Goes on from the start of an operation to the one that it waited for last. */
static void walk_start(struct path_ctx *w)
{
    const struct rank_links *l = &w->links[w->rank];
    const struct op *op = op_at(w, w->rank, w->op);
    uint32_t pred = l->prev[w->op], dep = l->dep[w->op], guess;
    int64_t called_ns = op->host_end_ns != UNKNOWN_NS ? op->host_end_ns : op->host_ns, known_ns;
    int64_t host_ns = called_ns != UNKNOWN_NS ? min_ns(called_ns, w->t_ns) : INT64_MIN;
    if (ended_ns(w, dep) > ended_ns(w, pred))
        pred = dep;
    known_ns = ended_ns(w, pred) >= host_ns ? ended_ns(w, pred) : host_ns;
    guess = inferred(w, known_ns);
    if (guess != LINK_NONE) {
        w->c->inferred++;
        pred = guess;
        known_ns = ended_ns(w, guess);
    } else if (known_ns == INT64_MIN) {
        pred = rank_links_ended(l, w->t_ns - 1);
        known_ns = ended_ns(w, pred);
        explain(w, PATH_UNEXPLAINED, known_ns);
    }
    if (known_ns == INT64_MIN)
        return;
    if (guess == LINK_NONE && host_ns > ended_ns(w, pred))
        pred = LINK_NONE;
    explain(w, gap_kind(w, pred, w->t_ns - known_ns), known_ns);
    if (pred != LINK_NONE)
        w->op = pred;
    else if (w->t_ns > w->from_ns)
        walk_host(w);
}

/* ---- steps ---- */

static void walk_step(struct path_ctx *w, const struct step_end *step)
{
    w->from_ns = step->start_ns;
    w->t_ns = step->until_ns;
    w->rank = step->rank;
    w->op = step->op;
    explain(w, PATH_HOST, step->end_ns);
    for (size_t r = 0; r < w->run->nranks; r++)
        w->host_at[r] = (uint32_t)w->links[r].ncalls;
    for (; w->t_ns > w->from_ns && w->hops < w->hops_max; w->hops++) {
        walk_op(w);
        if (w->t_ns > w->from_ns)
            walk_start(w);
    }
    explain(w, PATH_UNEXPLAINED, w->from_ns);
}

/* The last operation of each step, on whichever rank. */
static void find_ends(struct path_ctx *w)
{
    const struct job_steps *steps = w->c->steps;
    int64_t start, end;
    w->ends = array_new(steps->count, sizeof *w->ends);
    for (size_t k = 0; k < steps->count; k++)
        w->ends[k] = (struct step_end){INT64_MAX, INT64_MIN, INT64_MIN, 0, 0};
    for (uint32_t r = 0; r < w->run->nranks; r++) {
        const struct rank *rank = &w->run->ranks[r];
        for (uint32_t i = 0; i < rank->nops; i++) {
            uint32_t k = steps->ranks[r].of[i];
            if (k == STEP_NONE || !op_device_time(&rank->ops[i], &start, &end) ||
                end <= w->ends[k].end_ns)
                continue;
            w->ends[k].end_ns = end;
            w->ends[k].rank = r;
            w->ends[k].op = i;
        }
    }
}

/* Keeps the steps that count, each from the end of the one before. A step whose work had all ended
 * by then is dropped. A single step begins where the step time does. */
static void join_steps(struct path_ctx *w, const struct step_time *time)
{
    const struct job_steps *steps = w->c->steps;
    bool several = time->window.several;
    int64_t before = several || time->window.steps == 0 ? INT64_MIN : time->window.start_ns;
    size_t n = 0;
    for (size_t k = 0; k < steps->count; k++) {
        struct step_end step = w->ends[k];
        step.start_ns = before;
        step.until_ns = step.end_ns;
        if (several && !step_counts(steps, (uint32_t)k)) {
            before = time->ends_ns[k];
            continue;
        }
        if (step.end_ns <= before)
            continue;
        before = step.end_ns;
        if (step.start_ns != INT64_MIN)
            w->ends[n++] = step;
    }
    if (!several && n == 1 && time->window.end_ns > w->ends[0].end_ns)
        w->ends[0].until_ns = time->window.end_ns;
    w->c->walked = n;
}

struct length_of {
    int64_t ns;
    size_t step;
};

static int by_length(const void *pa, const void *pb)
{
    const struct length_of *a = pa, *b = pb;
    return a->ns != b->ns ? ORDER(a->ns, b->ns) : ORDER(a->step, b->step);
}

static size_t median_step(const struct path_ctx *w)
{
    size_t n = w->c->walked, median;
    struct length_of *list = array_new(n, sizeof *list);
    for (size_t k = 0; k < n; k++)
        list[k] = (struct length_of){w->ends[k].until_ns - w->ends[k].start_ns, k};
    qsort(list, n, sizeof *list, by_length);
    median = list[(n - 1) / 2].step;
    free(list);
    return median;
}

static int by_cost(const void *pa, const void *pb)
{
    const struct path_op *a = pa, *b = pb;
    if (a->sum.all_ns != b->sum.all_ns)
        return ORDER(b->sum.all_ns, a->sum.all_ns);
    return strcmp(a->name, b->name);
}

static void init_links(void *arg, size_t r)
{
    const struct path_ctx *w = arg;
    rank_links_init(&w->links[r], &w->run->ranks[r]);
}

static void walk_all(struct path_ctx *w)
{
    struct critical *c = w->c;
    const struct run *run = w->run;
    w->links = array_new(run->nranks, sizeof *w->links);
    w->host_at = array_new(run->nranks, sizeof *w->host_at);
    w->hops_max = 16 * w->c->walked;
    pool_run(pool_cpus(), run->nranks, init_links, w, NULL);
    for (size_t r = 0; r < run->nranks; r++)
        w->hops_max += 4 * (uint64_t)w->links[r].nends;
    w->last = links_add_matches(w->links, run, w->matches);
    c->chosen = median_step(w);
    for (size_t k = 0; k < c->walked; k++) {
        w->chosen = k == c->chosen;
        walk_step(w, &w->ends[k]);
    }
    if (c->nops > 0)
        qsort(c->ops, c->nops, sizeof *c->ops, by_cost);
    for (size_t r = 0; r < run->nranks; r++)
        rank_links_release(&w->links[r]);
    free(w->links);
    free(w->last);
    free(w->host_at);
}

void critical_init(struct critical *c, const struct run *run, const struct matches *matches,
                   const struct job_steps *steps, const struct step_time *time)
{
    struct path_ctx w = {.c = c, .run = run, .matches = matches};
    memset(c, 0, sizeof *c);
    c->run = run;
    c->steps = steps;
    c->ranks = array_new(run->nranks + 1, sizeof *c->ranks);
    if (run->nranks > 1 && !run->clock_aligned) {
        c->why = "the clocks of the ranks cannot be compared";
        return;
    }
    find_ends(&w);
    join_steps(&w, time);
    if (c->walked > 0)
        walk_all(&w);
    else
        c->why = steps->untimed ? "no operation has device times"
                                : "no operation ends within the steps that count";
    free(w.ends);
}

void critical_release(struct critical *c)
{
    free(c->ops);
    free(c->ranks);
    free(c->parts);
    idmap_release(&c->names);
    memset(c, 0, sizeof *c);
}

/* ---- names and sums of kinds and categories ---- */

enum path_kind path_category_kind(size_t category)
{
    if (category < SPECTER_KERNEL_CLASS_COUNT)
        return PATH_COMPUTE;
    category -= SPECTER_KERNEL_CLASS_COUNT;
    return category < PATH_COMM_OPS ? PATH_COMM : (enum path_kind)(category - PATH_COMM_OPS);
}

const char *path_kind_name(enum path_kind kind)
{
    static const char *const names[] = {
#define X(id, name, what) name,
        PATH_KINDS(X)
#undef X
    };
    return names[kind];
}

const char *path_category_name(size_t category)
{
    size_t op = category - SPECTER_KERNEL_CLASS_COUNT;
    switch (path_category_kind(category)) {
    case PATH_COMPUTE:
        return specter_kernel_class_name((enum specter_kernel_class)category);
    case PATH_COMM:
        return op < SPECTER_COMM_OP_COUNT ? specter_comm_op_name((enum specter_comm_op)op)
                                          : "unknown";
    default:
        return path_kind_name(path_category_kind(category));
    }
}

struct path_sum path_kind_sum(const struct critical *c, enum path_kind kind)
{
    struct path_sum sum = {0, 0};
    for (size_t k = 0; k < PATH_CATEGORIES; k++) {
        if (path_category_kind(k) != kind)
            continue;
        sum.step_ns += c->categories[k].step_ns;
        sum.all_ns += c->categories[k].all_ns;
    }
    return sum;
}
