/* SPDX-License-Identifier: MIT
 *
 * Which steps a recording holds, and which operations are in each: the choice between marked steps,
 * repeated ones and the whole recording.
 */
#include "trace/step_found.h"

#include "base/arena.h"

#include <stdlib.h>
#include <string.h>

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
    size_t low = 0, high = (size_t)s->count + 1;
    if (t_ns == UNKNOWN_NS)
        return STEP_NONE;
    while (low < high) { /* the first that begins later */
        size_t mid = low + (high - low) / 2;
        if (s->from_ns[mid] <= t_ns)
            low = mid + 1;
        else
            high = mid;
    }
    return low == 0 || low > s->count ? STEP_NONE : (uint32_t)(low - 1);
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

static void assign_marked(struct rank_steps *s, const struct rank *rank, const struct found *f)
{
    bool host_times = step_has_host_times(rank);
    fill_from(s, f);
    for (size_t i = 0; i < rank->nops; i++)
        s->of[i] = step_of(s, step_called_ns(&rank->ops[i], host_times));
}

static void assign_repeated(struct rank_steps *s, const struct found *f)
{
    fill_from(s, f);
    s->period = f->period;
    for (size_t i = 0; i < s->count * f->period; i++)
        s->of[f->issue[f->list[f->shift].first + i]] = (uint32_t)(i / f->period);
}

static void assign(struct job_steps *steps, const struct run *run, const struct found *list)
{
    for (size_t r = 0; r < run->nranks; r++) {
        struct rank_steps *s = &steps->ranks[r];
        s->source = steps->source;
        s->count = steps->count;
        for (size_t i = 0; i < run->ranks[r].nops; i++)
            s->of[i] = STEP_NONE;
        if (steps->source == STEPS_MARKED && list[r].holds)
            assign_marked(s, &run->ranks[r], &list[r]);
        else if (steps->source == STEPS_REPEATED && list[r].holds)
            assign_repeated(s, &list[r]);
        else if (steps->source == STEPS_WHOLE)
            for (size_t i = 0; i < run->ranks[r].nops; i++)
                if (run->ranks[r].ops[i].timing != SPECTER_TIMING_CAPTURED)
                    s->of[i] = 0;
    }
}

/* ---- the last step ---- */

/* How many operations of the rank are in each step. The caller frees it. */
static size_t *count_ops(const struct rank_steps *s, const struct rank *rank)
{
    size_t *counts = array_new(s->count, sizeof *counts);
    for (size_t i = 0; i < rank->nops; i++) {
        if (s->of[i] != STEP_NONE)
            counts[s->of[i]]++;
    }
    return counts;
}

/* How many steps of a rank its recording holds to their ends. The last that has operations was cut
 * where, when several tell, it has fewer than any between the first and it. A recording ends once:
 * no step before that one is judged. *begun: how many come up to it. */
static uint32_t count_whole(const struct rank_steps *s, const struct rank *rank, uint32_t *begun)
{
    size_t *counts = count_ops(s, rank), least = SIZE_MAX;
    uint32_t n = s->count;
    while (n > 0 && counts[n - 1] == 0)
        n--;
    *begun = n;
    for (uint32_t k = 1; k + 1 < n; k++)
        least = counts[k] < least ? counts[k] : least;
    n -= n > LIKE_MOST + 1 && counts[n - 1] < least;
    free(counts);
    return n;
}

static void drop_last(struct job_steps *steps, const struct run *run)
{
    steps->count--;
    for (size_t r = 0; r < run->nranks; r++) {
        steps->ranks[r].count--;
        for (size_t i = 0; i < run->ranks[r].nops; i++) {
            if (steps->ranks[r].of[i] == steps->count)
                steps->ranks[r].of[i] = STEP_NONE;
        }
    }
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
        drop_last(steps, run);
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

static bool has_believable_time(const struct op *op)
{
    return op_timed(op) && op->start_ns > -RUN_TIME_MAX && op->start_ns < RUN_TIME_MAX &&
           op->dur_ns >= 0 && op->dur_ns < RUN_TIME_MAX;
}

/* Of a loop's losses that are read one by one behind it, no copy has a time of its own. */
static void find_ends(struct rank_steps *s, const struct rank *rank)
{
    bool any = false;
    s->ends = array_new(rank->nops + 1, sizeof *s->ends);
    for (size_t i = 0; i < rank->nops; i++) {
        s->ends[i] = has_believable_time(&rank->ops[i]);
        any = any || s->ends[i];
    }
    for (size_t i = 0; i < rank->nops && !any; i++)
        s->ends[i] = true;
    s->timed = any;
}

static void find_marked(struct job_steps *steps, const struct run *run, struct found *list)
{
    bool missing = false;
    step_lend_marks(list, run);
    for (size_t r = 0; r < run->nranks; r++) {
        missing = missing || (list[r].holds && list[r].count == 0);
        steps->cut = list[r].cut ? 1 : steps->cut;
    }
    steps->count = missing ? 0 : step_align_ranks(list, run);
    if (steps->count > 0)
        steps->source = STEPS_MARKED;
    else
        steps->doubt = "the ranks have no marked step in common";
}

static void find_repeated(struct job_steps *steps, const struct run *run, struct found *list)
{
    bool missing = false;
    for (size_t r = 0; r < run->nranks; r++) {
        if (!list[r].holds)
            continue;
        step_find_repeats(&list[r], &run->ranks[r], steps);
        missing = missing || list[r].count < 2;
    }
    if (!missing && steps->doubt == NULL && !step_same_lengths(list, run->nranks))
        steps->doubt = "the ranks repeat theirs in different times";
    if (missing || steps->doubt != NULL)
        return;
    steps->count = step_align_ranks(list, run);
    if (steps->count > 1)
        steps->source = STEPS_REPEATED;
}

static void release_found(struct found *list, size_t n)
{
    for (size_t r = 0; r < n; r++) {
        free(list[r].list);
        free(list[r].issue);
    }
    free(list);
}

void job_steps_find(struct job_steps *steps, const struct run *run)
{
    struct found *list = array_new(run->nranks, sizeof *list);
    bool any = false, marks = false, timed = false;
    *steps = (struct job_steps){.source = STEPS_WHOLE, .nranks = run->nranks};
    steps->apart = run->nranks > 1 && !run->clock_aligned;
    steps->ranks = array_new(run->nranks, sizeof *steps->ranks);
    for (size_t r = 0; r < run->nranks; r++) {
        const struct rank *rank = &run->ranks[r];
        list[r].holds = !steps_blank(run, r) && (rank->nops > 0 || rank->nsteps > 0);
        any = any || list[r].holds;
        find_ends(&steps->ranks[r], rank);
        steps->ranks[r].of = array_new(rank->nops, sizeof *steps->ranks[r].of);
        step_find_issue(&list[r], rank);
        if (list[r].holds)
            step_find_marks(&list[r], rank);
        marks = marks || rank->nsteps > 0;
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
    release_found(list, run->nranks);
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
