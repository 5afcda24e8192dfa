/* SPDX-License-Identifier: MIT
 *
 * Finds the steps of a recording, and the operations in each: the choice between marked steps,
 * repeated ones and the whole recording.
 */
#include "base/arena.h"
#include "base/hash.h"
#include "base/kernel_class.h"
#include "base/order.h"
#include "base/pool.h"
#include "trace/api_calls.h"
#include "trace/step_time.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The steps of one rank by itself, as marks name them or as operations repeat, before the ranks are
 * compared. */
struct found_step {
    int64_t from_ns;
    const char *name; /* "" when the operations repeat */
    size_t first;     /* when operations repeat: index into the order of issue */
};

struct found {
    struct found_step *list; /* owned [count] */
    size_t count;
    int64_t end_ns; /* where the last one ends on the host */
    size_t period;
    uint32_t *issue; /* owned: operations in the order in which they were called for */
    size_t nissued;
    bool cut;          /* a further one is cut by the recording's end */
    bool holds;        /* the rank has operations of its own */
    int64_t shift;     /* step k of the job is list[k + shift] */
    size_t repeats;    /* how often its sequence repeats, taken for a step or not */
    const char *doubt; /* why it is not; NULL */
};

#define BATCH_BYTES 1024 /* a copy from the host of less is an argument, not a batch */

/* ---- the order in which the host called ---- */

static bool has_host_times(const struct rank *rank)
{
    for (size_t i = 0; i < rank->nops; i++) {
        if (rank->ops[i].host_ns != UNKNOWN_NS)
            return true;
    }
    return false;
}

/* Returns when an operation was called for; UNKNOWN_NS. host_times false: the rank's recording
 * holds no call at all, and the operation's start stands for it. */
static int64_t called_ns(const struct op *op, bool host_times)
{
    return host_times ? op->host_ns : op->start_ns;
}

struct op_issue_time {
    int64_t t_ns;
    uint32_t op;
};

static int by_issue(const void *pa, const void *pb)
{
    const struct op_issue_time *a = pa, *b = pb;
    return a->t_ns != b->t_ns ? ORDER(a->t_ns, b->t_ns) : ORDER(a->op, b->op);
}

/* Fills the rank's order of issue. An operation without a call is taken to be called for right
 * after the operation before it. Operations recorded into a graph do not run then. */
static void find_issue(struct found *f, const struct rank *rank)
{
    bool host_times = has_host_times(rank);
    struct op_issue_time *list = array_new(rank->nops, sizeof *list);
    int64_t last_ns = INT64_MIN, before_ns = INT64_MIN;
    bool sorted = true; /* as most recorders leave them */
    f->issue = array_new(rank->nops, sizeof *f->issue);
    for (size_t i = 0; i < rank->nops; i++) {
        int64_t t_ns = called_ns(&rank->ops[i], host_times);
        last_ns = t_ns != UNKNOWN_NS ? t_ns : last_ns;
        if (rank->ops[i].timing == SPECTER_TIMING_CAPTURED)
            continue;
        list[f->nissued++] = (struct op_issue_time){last_ns, (uint32_t)i};
        sorted = sorted && last_ns >= before_ns;
        before_ns = last_ns;
    }
    if (!sorted)
        qsort(list, f->nissued, sizeof *list, by_issue);
    for (size_t i = 0; i < f->nissued; i++)
        f->issue[i] = list[i].op;
    free(list);
}

/* ---- what repeats in it ---- */

/* Returns a hash of what is the same about an operation in every step. Sizes of copies and of
 * AlltoAllv vary with the data. */
static uint64_t signature(const struct op *op)
{
    uint64_t hash = hash_mix(hash_mix(op->class, (uint32_t)op->stream), op->dtype);
    switch (op->class) {
    case OP_COLL:
    case OP_P2P:
        hash = hash_mix(hash_mix(hash, op->coll.op), (uint32_t)op->coll.comm);
        hash = hash_mix(hash, (uint32_t)op->coll.peer);
        return op->coll.op == SPECTER_ALLTOALLV ? hash : hash_mix(hash, op->bytes);
    case OP_GEMM:
        hash = hash_mix(hash_mix(hash, op->gemm.m), op->gemm.n);
        return hash_mix(hash_mix(hash, op->gemm.k), op->gemm.batch);
    case OP_GRAPH:
        return hash_mix(hash, (uint32_t)op->graph);
    default:
        return hash_mix(hash, (uintptr_t)op->name); /* interned */
    }
}

/* An operation that a step has and a layer has not: a copy by which it takes its batch or hands out
 * its loss, or an optimizer's kernel. */
static bool tells_step(const struct op *op)
{
    if (op->class == OP_MEMORY) {
        enum specter_copy kind = copy_kind(op->name);
        return kind == SPECTER_COPY_D2H || (kind == SPECTER_COPY_H2D && op->bytes >= BATCH_BYTES);
    }
    return op->class == OP_KERNEL && kernel_class(op->name) == SPECTER_KERNEL_OPTIMIZER;
}

/* True where each repetition has such an operation, or the recording would not show them. */
static bool may_be_steps(const struct found *f, const struct rank *rank, const struct period *found)
{
    if (!(rank->coverage & COVER_MEMORY) || !(rank->coverage & COVER_KERNELS))
        return true;
    for (size_t i = 0; i < found->period; i++) {
        if (tells_step(&rank->ops[f->issue[found->first + i]]))
            return true;
    }
    return false;
}

/* Returns whether what lies before the repeating part, or after it, repeats as often. Layers run
 * forward, then backward. */
static bool repeats_beside(const uint64_t *symbols, size_t n, const struct period *found)
{
    size_t times = found->length / found->period, behind = found->first + found->length;
    struct period sides[] = {period_find(symbols, found->first),
                             period_find(symbols + behind, n - behind)};
    for (int i = 0; i < 2; i++) {
        size_t other = sides[i].period > 0 ? sides[i].length / sides[i].period : 0;
        if (times > 2 && other + 1 >= times && other <= times + 1)
            return true;
    }
    return false;
}

/* Fills the repetitions of a rank, or says why what repeats is no step. */
static void find_repeats(struct found *f, const struct rank *rank)
{
    bool host_times = has_host_times(rank);
    uint64_t *symbols = array_new(f->nissued, sizeof *symbols);
    struct period found;
    size_t n;
    for (size_t i = 0; i < f->nissued; i++)
        symbols[i] = signature(&rank->ops[f->issue[i]]);
    found = period_find(symbols, f->nissued);
    n = found.period > 0 ? found.length / found.period : 0;
    n = n < STEPS_FEW ? 0 : n; /* by chance, or halves of a step */
    if (n > 0 && repeats_beside(symbols, f->nissued, &found))
        f->doubt = "what lies beside it repeats as often, as layers do forward and backward";
    else if (n > 0 && !may_be_steps(f, rank, &found))
        f->doubt = "no repetition has an optimizer or copies a batch or a result, as layers of "
                   "one step do not";
    free(symbols);
    f->repeats = n;
    if (n == 0 || f->doubt != NULL)
        return;
    f->period = found.period;
    free(f->list);
    f->list = array_new(n, sizeof *f->list);
    for (size_t k = 0; k < n; k++) {
        size_t at = found.first + k * found.period;
        f->list[f->count++] =
            (struct found_step){called_ns(&rank->ops[f->issue[at]], host_times), "", at};
    }
    f->end_ns = INT64_MAX;
    if (found.first + n * found.period < f->nissued)
        f->end_ns = called_ns(&rank->ops[f->issue[found.first + n * found.period]], host_times);
}

/* ---- which steps of the ranks are the same, and which all of them hold ---- */

/* Repetitions of two ranks are the same steps: one's length over the other's. */
#define SAME_LENGTH 1.25

/* A rank whose marks, or repetitions, the others are compared with: one that has fewest. */
static size_t reference_of(const struct found *list, size_t n)
{
    size_t least = SIZE_MAX;
    for (size_t r = 0; r < n; r++) {
        if (list[r].holds && (least == SIZE_MAX || list[r].count < list[least].count))
            least = r;
    }
    return least;
}

static bool numbered(const struct found *f)
{
    for (size_t i = 1; i < f->count; i++) {
        if (f->list[i].name == f->list[i - 1].name)
            return false;
    }
    return f->count > 0 && f->list[0].name[0] != '\0';
}

static size_t by_name(const struct found *f, const char *name)
{
    for (size_t i = 0; i < f->count; i++) {
        if (f->list[i].name == name || strcmp(f->list[i].name, name) == 0)
            return i;
    }
    return SIZE_MAX;
}

static size_t nearest(const struct found *f, int64_t t_ns)
{
    size_t best = 0;
    for (size_t i = 1; i < f->count && t_ns != UNKNOWN_NS; i++) {
        if (f->list[i].from_ns == UNKNOWN_NS)
            continue;
        if (f->list[best].from_ns == UNKNOWN_NS ||
            llabs(f->list[i].from_ns - t_ns) < llabs(f->list[best].from_ns - t_ns))
            best = i;
    }
    return best;
}

/* Returns the shift of a rank's steps against the reference: the index of its step that is the
 * middle one there, minus that one's index. */
static int64_t shift_of(const struct found *f, const struct found *to, bool by_number, bool by_time)
{
    size_t middle = to->count / 2, at;
    if (by_number && numbered(to)) {
        at = by_name(f, to->list[middle].name);
        if (at != SIZE_MAX)
            return (int64_t)at - (int64_t)middle;
    }
    if (f->count == to->count && !by_time)
        return 0;
    if (by_time)
        return (int64_t)nearest(f, to->list[middle].from_ns) - (int64_t)middle;
    return (int64_t)f->count - (int64_t)to->count;
}

/* A rank is incomplete where its recording may have lost steps at either end. */
static bool lost_steps(const struct run *run, const struct found *list)
{
    bool incomplete = false, uneven = false;
    size_t first = reference_of(list, run->nranks);
    for (size_t r = 0; r < run->nranks; r++) {
        incomplete = incomplete || (list[r].holds && !run->ranks[r].complete);
        uneven = uneven || (list[r].holds && list[r].count != list[first].count);
    }
    return incomplete || uneven;
}

/* Over all ranks, list[run->nranks]: lets steps of one rank be those of the others, by their
 * `shift`. Returns how many steps all ranks hold; 0: they have none in common. */
static uint32_t align_ranks(struct found *list, const struct run *run)
{
    size_t to = reference_of(list, run->nranks);
    int64_t low = 0, high = (int64_t)list[to].count;
    bool by_time = run->clock_aligned && lost_steps(run, list);
    for (size_t r = 0; r < run->nranks; r++) {
        struct found *f = &list[r];
        if (!f->holds)
            continue;
        f->shift = shift_of(f, &list[to], true, by_time);
        low = -f->shift > low ? -f->shift : low;
        high = (int64_t)f->count - f->shift < high ? (int64_t)f->count - f->shift : high;
    }
    for (size_t r = 0; r < run->nranks; r++)
        list[r].shift += low;
    return high > low ? (uint32_t)(high - low) : 0;
}

/* Returns the mean length of a repetition; NAN where an operation that begins one has no time. */
static double mean_length(const struct found *f)
{
    int64_t from_ns = f->list[0].from_ns, to_ns = f->list[f->count - 1].from_ns;
    if (from_ns == UNKNOWN_NS || to_ns == UNKNOWN_NS)
        return NAN;
    return (double)(to_ns - from_ns) / (double)(f->count - 1);
}

/* Returns whether repetitions of all ranks take equally long: else they are not the same steps. */
static bool same_lengths(const struct found *list, size_t n)
{
    size_t to = reference_of(list, n);
    const struct found *a = &list[to];
    double one;
    if (a->count < 2)
        return true;
    one = mean_length(a);
    for (size_t r = 0; r < n; r++) {
        const struct found *b = &list[r];
        double other;
        if (!b->holds)
            continue;
        other = mean_length(b);
        if (!(other <= SAME_LENGTH * one) || !(one <= SAME_LENGTH * other))
            return false;
    }
    return true;
}

/* ---- the steps of a rank that the program or the profiler marked ---- */

bool step_believable(const struct step *step)
{
    return step->start_ns != UNKNOWN_NS && step->end_ns != UNKNOWN_NS &&
           step->end_ns >= step->start_ns && step->start_ns > -RUN_TIME_MAX &&
           step->end_ns < RUN_TIME_MAX;
}

/* The marked steps of a rank, up to one that the recording's end cuts. */
static void find_marks(struct found *f, const struct rank *rank)
{
    f->list = array_new(rank->nsteps, sizeof *f->list);
    f->end_ns = INT64_MIN;
    for (size_t i = 0; i < rank->nsteps; i++) {
        const struct step *step = &rank->steps[i];
        if (!step_believable(step))
            continue;
        if (f->count > 0)
            f->end_ns = step->start_ns;
        f->cut = step->cut;
        if (step->cut)
            break;
        f->list[f->count++] = (struct found_step){step->start_ns, step->name, 0};
        f->end_ns = step->end_ns;
    }
}

#define LIKE_MOST 2 /* steps before the last that tell how many operations a step has */

bool steps_blank(const struct run *run, size_t rank)
{
    if (run->ranks[rank].nops > 0)
        return false;
    for (size_t r = 0; r < run->nranks; r++) {
        if (run->ranks[r].nops > 0)
            return true;
    }
    return false;
}

/* ---- operations of the steps ---- */

static uint32_t step_of(const struct rank_steps *s, int64_t t_ns)
{
    struct bisect find = {.high = (size_t)s->count + 1};
    if (t_ns == UNKNOWN_NS)
        return STEP_NONE;
    while (bisect_next(&find)) /* the first that begins later */
        bisect_take(&find, s->from_ns[find.mid] <= t_ns);
    return find.low == 0 || find.low > s->count ? STEP_NONE : (uint32_t)(find.low - 1);
}

uint32_t job_steps_at(const struct job_steps *steps, size_t rank, int64_t t_ns)
{
    const struct rank_steps *s = &steps->ranks[rank];
    if (s->from_ns == NULL)
        return steps->source == STEPS_WHOLE ? 0 : STEP_NONE;
    return step_of(s, t_ns);
}

static void fill_from(struct rank_steps *s, const struct found *f)
{
    size_t end = (size_t)f->shift + s->count;
    s->from_ns = array_new((size_t)s->count + 1, sizeof *s->from_ns);
    for (uint32_t k = 0; k < s->count; k++)
        s->from_ns[k] = f->list[(size_t)f->shift + k].from_ns;
    s->from_ns[s->count] = end < f->count ? f->list[end].from_ns : f->end_ns;
}

static void assign(struct job_steps *steps, const struct run *run, const struct found *list)
{
    for (size_t r = 0; r < run->nranks; r++) {
        struct rank_steps *s = &steps->ranks[r];
        s->source = steps->source;
        s->count = steps->count;
        for (size_t i = 0; i < run->ranks[r].nops; i++)
            s->of[i] = STEP_NONE;
        if (steps->source == STEPS_MARKED && list[r].holds) {
            const struct rank *rank = &run->ranks[r];
            bool host_times = has_host_times(rank);
            fill_from(s, &list[r]);
            for (size_t i = 0; i < rank->nops; i++)
                s->of[i] = step_of(s, called_ns(&rank->ops[i], host_times));
        } else if (steps->source == STEPS_REPEATED && list[r].holds) {
            const struct found *f = &list[r];
            fill_from(s, f);
            s->period = f->period;
            for (size_t i = 0; i < s->count * f->period; i++)
                s->of[f->issue[f->list[f->shift].first + i]] = (uint32_t)(i / f->period);
        } else if (steps->source == STEPS_WHOLE)
            for (size_t i = 0; i < run->ranks[r].nops; i++)
                if (run->ranks[r].ops[i].timing != SPECTER_TIMING_CAPTURED)
                    s->of[i] = 0;
    }
}

/* ---- the last step ---- */

/* Returns how many steps of a rank its recording holds to their ends. The last that has operations
 * was cut where, when several tell, it has fewer than any between the first and it. A recording
 * ends once: no step before that one is judged. *begun: how many come up to it. */
static uint32_t count_whole(const struct rank_steps *s, const struct rank *rank, uint32_t *begun)
{
    size_t *counts = array_new(s->count, sizeof *counts), least = SIZE_MAX; /* operations */
    uint32_t n = s->count;
    for (size_t i = 0; i < rank->nops; i++) {
        if (s->of[i] != STEP_NONE)
            counts[s->of[i]]++;
    }
    while (n > 0 && counts[n - 1] == 0)
        n--;
    *begun = n;
    for (uint32_t k = 1; k + 1 < n; k++)
        least = counts[k] < least ? counts[k] : least;
    n -= n > LIKE_MOST + 1 && counts[n - 1] < least;
    free(counts);
    return n;
}

/* Steps at the end do not count that are empty on all ranks, or that a rank's recording ends in or
 * before. */
static void drop_cut(struct job_steps *steps, const struct run *run)
{
    uint32_t begun = 0, whole = steps->count;
    for (size_t r = 0; r < run->nranks; r++) {
        uint32_t n, of_rank;
        if (steps->ranks[r].from_ns == NULL)
            continue;
        n = count_whole(&steps->ranks[r], &run->ranks[r], &of_rank);
        begun = of_rank > begun ? of_rank : begun;
        whole = n > LIKE_MOST && n < whole ? n : whole;
    }
    whole = begun < whole ? begun : whole;
    while (begun > 0 && steps->count > 1 && steps->count > whole) {
        steps->count--;
        for (size_t r = 0; r < run->nranks; r++) {
            steps->ranks[r].count--;
            for (size_t i = 0; i < run->ranks[r].nops; i++) {
                if (steps->ranks[r].of[i] == steps->count)
                    steps->ranks[r].of[i] = STEP_NONE;
            }
        }
        steps->cut++;
    }
}

/* A ring may hold marks of steps whose operations it has lost: how many come first. */
static uint32_t count_lost(const struct job_steps *steps, const struct run *run)
{
    uint32_t first = STEP_NONE;
    for (size_t r = 0; r < run->nranks; r++) {
        for (size_t i = 0; i < run->ranks[r].nops; i++)
            first = steps->ranks[r].of[i] < first ? steps->ranks[r].of[i] : first;
    }
    return first == STEP_NONE ? 0 : first;
}

/* The first n steps do not count, nor do operations that are in them. */
static void drop_first(struct job_steps *steps, const struct run *run, uint32_t n)
{
    steps->count -= n;
    for (size_t r = 0; r < run->nranks && n > 0; r++) {
        struct rank_steps *s = &steps->ranks[r];
        s->count -= n;
        for (size_t i = 0; i < run->ranks[r].nops; i++)
            s->of[i] = s->of[i] == STEP_NONE || s->of[i] < n ? STEP_NONE : s->of[i] - n;
        if (s->from_ns != NULL)
            memmove(s->from_ns, s->from_ns + n, ((size_t)s->count + 1) * sizeof *s->from_ns);
    }
}

/* ---- all of it ---- */

/* Finds the operations whose ends are ends of steps: those that have times, or all where none has.
 */
static void find_ends(struct rank_steps *s, const struct rank *rank)
{
    bool any = false;
    s->ends = array_new(rank->nops + 1, sizeof *s->ends);
    for (size_t i = 0; i < rank->nops; i++) {
        const struct op *op = &rank->ops[i];

        s->ends[i] = op_timed(op) && op->start_ns > -RUN_TIME_MAX && op->start_ns < RUN_TIME_MAX &&
                     op->dur_ns >= 0 && op->dur_ns < RUN_TIME_MAX;
        any = any || s->ends[i];
    }
    for (size_t i = 0; i < rank->nops && !any; i++)
        s->ends[i] = true;
    s->timed = any;
}

static void find_marked(struct job_steps *steps, const struct run *run, struct found *list)
{
    bool missing = false;
    /* Gives marks to ranks that lack them, where their clock is that of one that has some. */
    size_t from = SIZE_MAX;
    for (size_t r = 0; r < run->nranks && from == SIZE_MAX; r++)
        from = list[r].count > 0 ? r : from;
    for (size_t r = 0; r < run->nranks; r++) {
        if (!list[r].holds || list[r].count > 0 || from == SIZE_MAX || !run->clock_aligned)
            continue;
        free(list[r].list);
        list[r].list = array_new(list[from].count, sizeof *list[r].list);
        memcpy(list[r].list, list[from].list, list[from].count * sizeof *list[r].list);
        list[r].count = list[from].count;
        list[r].end_ns = list[from].end_ns;
    }
    for (size_t r = 0; r < run->nranks; r++) {
        missing = missing || (list[r].holds && list[r].count == 0);
        steps->cut = list[r].cut ? 1 : steps->cut;
    }
    steps->count = missing ? 0 : align_ranks(list, run);
    if (steps->count > 0)
        steps->source = STEPS_MARKED;
    else
        steps->doubt = "the ranks have no marked step in common";
}

/* The input and output of looks at one rank by itself. */
struct rank_look {
    const struct run *run;
    struct job_steps *steps;
    struct found *list; /* [nranks] */
};

static void look_for_marks(void *arg, size_t r)
{
    const struct rank_look *look = arg;
    const struct rank *rank = &look->run->ranks[r];
    struct rank_steps *s = &look->steps->ranks[r];
    struct found *f = &look->list[r];
    f->holds = !steps_blank(look->run, r) && (rank->nops > 0 || rank->nsteps > 0);
    find_ends(s, rank);
    s->of = array_new(rank->nops, sizeof *s->of);
    find_issue(f, rank);
    if (f->holds)
        find_marks(f, rank);
}

static void look_for_repeats(void *arg, size_t r)
{
    const struct rank_look *look = arg;
    if (look->list[r].holds)
        find_repeats(&look->list[r], &look->run->ranks[r]);
}

static void find_repeated(struct job_steps *steps, const struct run *run, struct found *list)
{
    bool missing = false;
    pool_run(pool_cpus(), run->nranks, look_for_repeats, &(struct rank_look){run, steps, list},
             NULL);
    for (size_t r = 0; r < run->nranks; r++) {
        const struct found *f = &list[r];
        steps->doubt = f->doubt != NULL ? f->doubt : steps->doubt;
        steps->repeats = f->repeats > steps->repeats ? f->repeats : steps->repeats;
        missing = missing || (f->holds && f->count < 2);
    }
    if (!missing && steps->doubt == NULL && !same_lengths(list, run->nranks))
        steps->doubt = "the ranks repeat theirs in different times";
    if (missing || steps->doubt != NULL)
        return;
    steps->count = align_ranks(list, run);
    if (steps->count > 1)
        steps->source = STEPS_REPEATED;
}

void job_steps_find(struct job_steps *steps, const struct run *run)
{
    struct found *list = array_new(run->nranks, sizeof *list);
    bool any = false, marks = false, timed = false;
    *steps = (struct job_steps){.source = STEPS_WHOLE, .nranks = run->nranks};
    steps->apart = run->nranks > 1 && !run->clock_aligned;
    steps->ranks = array_new(run->nranks, sizeof *steps->ranks);
    pool_run(pool_cpus(), run->nranks, look_for_marks, &(struct rank_look){run, steps, list}, NULL);
    for (size_t r = 0; r < run->nranks; r++) {
        any = any || list[r].holds;
        marks = marks || run->ranks[r].nsteps > 0;
        timed = timed || steps->ranks[r].timed;
    }
    steps->untimed = !timed;
    if (any && marks)
        find_marked(steps, run, list);
    else if (any)
        find_repeated(steps, run, list);
    if (steps->source == STEPS_WHOLE)
        steps->count = 1;
    assign(steps, run, list);
    if (steps->source == STEPS_MARKED) {
        drop_cut(steps, run);
        drop_first(steps, run, count_lost(steps, run));
    }
    for (size_t r = 0; r < run->nranks; r++) {
        free(list[r].list);
        free(list[r].issue);
    }
    free(list);
    if (job_steps_divide(steps, run))
        return;
    drop_first(steps, run, steps->count - 1);
    job_steps_divide(steps, run);
}

void job_steps_release(struct job_steps *steps)
{
    for (size_t r = 0; r < steps->nranks; r++) {
        free(steps->ranks[r].of);
        free(steps->ranks[r].ends);
        free(steps->ranks[r].from_ns);
    }
    free(steps->ranks);
    free(steps->parts);
    memset(steps, 0, sizeof *steps);
}
