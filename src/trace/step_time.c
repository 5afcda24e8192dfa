/* SPDX-License-Identifier: MIT
 *
 * Measures how long a step takes, from the ends of steps.
 */
#include "trace/step_time.h"

#include "base/arena.h"
#include "base/order.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WARM_UP_LENGTHS 3 /* fewer do not tell what is usual */

const char *step_source_name(enum step_source source)
{
    static const char *const names[] = {[STEPS_MARKED] = "marked steps",
                                        [STEPS_REPEATED] = "the period of the operations",
                                        [STEPS_WHOLE] = "the whole recording, taken for one step"};
    return names[source];
}

/* ---- a window ---- */

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b; /* UNKNOWN_NS is the smallest */
}

/* Returns the window of one part. list: its bounds of n ranks, each nparts after the one before. */
static struct step_window part_window(const struct step_part *part, const struct step_bounds *list,
                                      size_t n, size_t nparts)
{
    struct step_bounds all = {UNKNOWN_NS, UNKNOWN_NS, UNKNOWN_NS,
                              UNKNOWN_NS, UNKNOWN_NS, UNKNOWN_NS};
    int64_t first_ns = INT64_MAX, host_ns = 0;
    for (const struct step_bounds *b = list; b < list + n * nparts; b += nparts) {
        all.begin_ns = later(all.begin_ns, b->begin_ns);
        all.end_ns = later(all.end_ns, b->end_ns);
        all.before_ns = later(all.before_ns, b->before_ns);
        all.last_ns = later(all.last_ns, b->last_ns);
        if (b->begin_ns != UNKNOWN_NS && b->begin_ns < first_ns)
            first_ns = b->begin_ns;
        if (b->called_before_ns != UNKNOWN_NS && b->called_last_ns != UNKNOWN_NS)
            host_ns = later(host_ns, b->called_last_ns - b->called_before_ns);
    }
    if (part->last > part->before && all.before_ns != UNKNOWN_NS && all.last_ns > all.before_ns) {
        if (all.last_ns - all.before_ns < host_ns)
            all.before_ns = all.last_ns - host_ns;
        return (struct step_window){all.before_ns, all.last_ns, part->last - part->before,
                                    true,          NULL,        0};
    }
    all.end_ns = later(all.end_ns, all.last_ns);
    if (all.begin_ns == UNKNOWN_NS || all.end_ns == UNKNOWN_NS || all.end_ns < first_ns)
        return (struct step_window){0};
    if (all.end_ns <= all.begin_ns) /* a rank that begins after all work does not tell */
        all.begin_ns = first_ns;
    return (struct step_window){all.begin_ns, all.end_ns, 1, false, NULL, 0};
}

void steps_window(struct step_window *w, const struct job_steps *steps,
                  const struct step_bounds *list, size_t n)
{
    struct interval *pauses = w->pauses;
    *w = part_window(&steps->parts[0], list, n, steps->nparts);
    if (w->steps > 0 && !w->several)
        w->steps = steps->count;
    w->pauses = pauses;
    for (size_t p = 1; p < steps->nparts; p++) {
        struct step_window part = part_window(&steps->parts[p], list + p, n, steps->nparts);
        if (!part.several)
            continue;
        if (!w->several) { /* the first part holds one step */
            *w = part;
            w->pauses = pauses;
            continue;
        }
        if (part.start_ns > w->end_ns)
            pauses[w->npauses++] = (struct interval){w->end_ns, part.start_ns};
        w->end_ns = part.end_ns;
        w->steps += part.steps;
    }
}

int64_t step_window_at(const struct step_window *w, int64_t t_ns)
{
    int64_t paused_ns = 0;
    t_ns = t_ns < w->start_ns ? w->start_ns : t_ns > w->end_ns ? w->end_ns : t_ns;
    for (size_t p = 0; p < w->npauses && w->pauses[p].start < t_ns; p++)
        paused_ns += (t_ns < w->pauses[p].end ? t_ns : w->pauses[p].end) - w->pauses[p].start;
    return t_ns - w->start_ns - paused_ns;
}

int64_t step_window_ns(const struct step_window *w)
{
    return step_window_at(w, w->end_ns);
}

double step_window_mean(const struct step_window *w)
{
    return w->steps > 0 ? (double)step_window_ns(w) / w->steps : 0;
}

void step_bounds_add_call(struct step_bounds *b, const struct rank_steps *steps, size_t op,
                          int64_t t_ns)
{
    if (steps->of[op] == STEP_NONE || !steps->ends[op])
        return;
    for (size_t p = 0; p < steps->nparts; p++) {
        if (steps->of[op] == steps->parts[p].before)
            b[p].called_before_ns = later(b[p].called_before_ns, t_ns);
        if (steps->of[op] == steps->parts[p].last)
            b[p].called_last_ns = later(b[p].called_last_ns, t_ns);
    }
}

/* ---- as recorded ---- */

int64_t *rank_step_ends(const struct job_steps *steps, const struct run *run, size_t r)
{
    const struct rank_steps *s = &steps->ranks[r];
    const struct rank *rank = &run->ranks[r];
    int64_t *ends = array_new(s->count, sizeof *ends), last = UNKNOWN_NS;
    for (uint32_t k = 0; k < s->count; k++)
        ends[k] = UNKNOWN_NS;
    for (size_t i = 0; i < rank->nops; i++) {
        const struct op *op = &rank->ops[i];
        if (s->of[i] == STEP_NONE || !s->ends[i] || !op_timed(op) || op->start_ns == UNKNOWN_NS)
            continue;
        ends[s->of[i]] = later(ends[s->of[i]], ns_add(op->start_ns, op->dur_ns));
    }
    for (uint32_t k = 0; steps->untimed && s->from_ns != NULL && k < s->count; k++)
        ends[k] = s->from_ns[k + 1] != INT64_MAX ? s->from_ns[k + 1] : UNKNOWN_NS;
    for (uint32_t k = 0; k < s->count; k++)
        last = ends[k] = later(ends[k], last);
    return ends;
}

/* The first and the last of some moments; what lies beyond all times is damage. */
struct moments_extent {
    int64_t first, last;
};

static void reach(struct moments_extent *e, int64_t from_ns, int64_t to_ns)
{
    if (from_ns != UNKNOWN_NS && from_ns > -RUN_TIME_MAX && from_ns < e->first)
        e->first = from_ns;
    if (from_ns < RUN_TIME_MAX)
        e->last = later(e->last, from_ns);
    if (to_ns < RUN_TIME_MAX)
        e->last = later(e->last, to_ns);
}

/* The host's part of a recording: its first call to the end of its last. Where no call is that of
 * an operation, the recording lacks them, and begins with its first operation at the latest. */
static void whole_bounds(struct step_bounds *b, const struct rank *rank, const bool *ends)
{
    struct moments_extent e = {RUN_TIME_MAX, UNKNOWN_NS};
    bool called = false;
    for (size_t i = 0; i < rank->nops; i++) {
        reach(&e, rank->ops[i].host_ns, rank->ops[i].host_end_ns);
        called |= rank->ops[i].host_ns != UNKNOWN_NS;
    }
    for (size_t i = 0; i < rank->nsync_calls; i++)
        reach(&e, rank->sync_calls[i].host_ns, rank->sync_calls[i].host_end_ns);
    for (size_t i = 0; i < rank->nlaunches; i++) {
        if (rank->launches[i].graph < 0)
            reach(&e, rank->launches[i].host_ns, rank->launches[i].host_end_ns);
    }
    b->end_ns = e.last;
    for (size_t i = 0; i < rank->nops && !called; i++) {
        if (ends[i])
            reach(&e, rank->ops[i].start_ns, UNKNOWN_NS);
    }
    b->begin_ns = e.first != RUN_TIME_MAX ? e.first : UNKNOWN_NS;
}

void steps_bounds(struct step_bounds *list, const struct job_steps *steps, const struct run *run,
                  size_t rank)
{
    const struct rank_steps *s = &steps->ranks[rank];
    struct step_bounds b = {UNKNOWN_NS, UNKNOWN_NS, UNKNOWN_NS, UNKNOWN_NS, UNKNOWN_NS, UNKNOWN_NS};
    int64_t *ends = rank_step_ends(steps, run, rank);
    whole_bounds(&b, &run->ranks[rank], s->ends);
    if (s->from_ns != NULL) {
        b.begin_ns = s->from_ns[0];
        if (s->from_ns[s->count] != INT64_MAX)
            b.end_ns = s->from_ns[s->count];
    }
    for (size_t p = 0; p < steps->nparts; p++) {
        b.before_ns = ends[steps->parts[p].before];
        b.last_ns = ends[steps->parts[p].last];
        list[p] = b;
    }
    for (size_t i = 0; i < run->ranks[rank].nops; i++)
        step_bounds_add_call(list, s, i, run->ranks[rank].ops[i].host_ns);
    free(ends);
}

/* The ranks that are measured together, `only` where clocks are apart. */
static int64_t *job_ends(const struct job_steps *steps, const struct run *run, size_t only)
{
    int64_t *all = array_new(steps->count, sizeof *all);
    for (uint32_t k = 0; k < steps->count; k++)
        all[k] = UNKNOWN_NS;
    for (size_t r = 0; r < run->nranks; r++) {
        int64_t *ends;
        if (only != SIZE_MAX && r != only)
            continue;
        ends = rank_step_ends(steps, run, r);
        for (uint32_t k = 0; k < steps->count; k++)
            all[k] = later(all[k], ends[k]);
        free(ends);
    }
    return all;
}

/* The rank whose host takes longest over a part, of those that are measured together. */
static size_t slowest_host(const struct step_bounds *list, const struct job_steps *steps,
                           const struct run *run, size_t p, size_t only)
{
    size_t found = SIZE_MAX;
    int64_t longest_ns = -1;
    for (size_t r = 0, n = 0; r < run->nranks; r++) {
        const struct step_bounds *b = &list[n * steps->nparts + p];
        if (steps_blank(run, r) || (only != SIZE_MAX && r != only))
            continue;
        n++;
        if (b->called_before_ns == UNKNOWN_NS || b->called_last_ns == UNKNOWN_NS ||
            b->called_last_ns - b->called_before_ns <= longest_ns)
            continue;
        longest_ns = b->called_last_ns - b->called_before_ns;
        found = r;
    }
    return found;
}

/* Sets the ends of the steps of a part whose length is the host's time: a step ends as long before
 * the last one as its last call lies before the last call of all. */
static void end_with_calls(int64_t *ends_ns, const struct rank_steps *s, const struct rank *rank,
                           const struct step_part *part)
{
    int64_t *calls = array_new(s->count, sizeof *calls), called_ns;
    for (uint32_t k = 0; k < s->count; k++)
        calls[k] = UNKNOWN_NS;
    for (size_t i = 0; i < rank->nops; i++) {
        if (s->of[i] != STEP_NONE && s->ends[i])
            calls[s->of[i]] = later(calls[s->of[i]], rank->ops[i].host_ns);
    }
    called_ns = calls[part->before];
    for (uint32_t k = part->before; k < part->last; k++) {
        called_ns = later(called_ns, calls[k]);
        if (called_ns > calls[part->last])
            called_ns = calls[part->last];
        ends_ns[k] = ends_ns[part->last] - (calls[part->last] - called_ns);
    }
    free(calls);
}

/* Each rank by itself. Returns that whose steps take longest; SIZE_MAX: nothing has a time. */
static size_t measure_apart(struct step_time *out, const struct job_steps *steps,
                            const struct run *run, struct step_bounds *bounds)
{
    size_t longest = SIZE_MAX;
    for (size_t r = 0; r < run->nranks; r++) {
        struct step_window *w = &out->windows[r];
        if (steps_blank(run, r))
            continue;
        w->pauses = out->pauses + r * steps->nparts;
        steps_bounds(bounds, steps, run, r);
        steps_window(w, steps, bounds, 1);
        if (w->steps == 0 || step_window_mean(w) <= out->ns)
            continue;
        out->window = *w;
        out->ns = step_window_mean(w);
        longest = r;
    }
    return longest;
}

static void measure_together(struct step_time *out, const struct job_steps *steps,
                             const struct run *run, struct step_bounds *list)
{
    size_t n = 0;
    for (size_t r = 0; r < run->nranks; r++) {
        if (!steps_blank(run, r))
            steps_bounds(list + n++ * steps->nparts, steps, run, r);
    }
    out->window.pauses = out->pauses;
    steps_window(&out->window, steps, list, n);
    if (out->window.steps > 0)
        out->ns = step_window_mean(&out->window);
    for (size_t r = 0; r < run->nranks; r++) {
        if (!steps_blank(run, r))
            out->windows[r] = out->window;
    }
}

void step_time_measure(struct step_time *out, const struct job_steps *steps, const struct run *run)
{
    size_t n = run->nranks * steps->nparts, longest = SIZE_MAX;
    struct step_bounds *list = array_new(n, sizeof *list);
    *out = (struct step_time){.ns = NAN, .warm_up_ns = NAN};
    out->windows = array_new(run->nranks, sizeof *out->windows);
    out->pauses = array_new(n, sizeof *out->pauses);
    if (steps->apart)
        longest = measure_apart(out, steps, run, list);
    else
        measure_together(out, steps, run, list);
    out->ends_ns = job_ends(steps, run, longest);
    if (steps->warm_up && out->ends_ns[0] != UNKNOWN_NS)
        out->warm_up_ns = (double)(out->ends_ns[1] - out->ends_ns[0]);
    if (longest != SIZE_MAX)
        steps_bounds(list, steps, run, longest);
    if (out->window.several) {
        /* Of a part of which a host that is ahead of its device moves the begin to before the end
         * of step `before`, all ends are the host's: the device catches up once, and that is no
         * step's length. */
        for (size_t p = 0; p < steps->nparts; p++) {
            const struct step_part *part = &steps->parts[p];
            int64_t end_ns = out->ends_ns[part->before], begin_ns = out->window.start_ns;
            size_t rank;
            if (part->last == part->before || end_ns == UNKNOWN_NS)
                continue;
            for (size_t i = 0; i < out->window.npauses && out->window.pauses[i].end <= end_ns; i++)
                begin_ns = out->window.pauses[i].end;
            rank = begin_ns < end_ns ? slowest_host(list, steps, run, p, longest) : SIZE_MAX;
            if (rank != SIZE_MAX)
                end_with_calls(out->ends_ns, &steps->ranks[rank], &run->ranks[rank], part);
        }
    }
    free(list);
}

void step_time_release(struct step_time *t)
{
    free(t->ends_ns);
    free(t->windows);
    free(t->pauses);
    memset(t, 0, sizeof *t);
}

/* ---- which steps count ---- */

bool step_has_length(const struct job_steps *steps, uint32_t step)
{
    for (size_t p = 1; p < steps->nparts; p++) {
        if (step <= steps->parts[p - 1].last)
            return step > 0;
        if (step <= steps->parts[p].before)
            return false;
    }
    return step > 0;
}

bool step_counts(const struct job_steps *steps, uint32_t step)
{
    for (size_t p = 0; p < steps->nparts; p++) {
        if (step > steps->parts[p].before && step <= steps->parts[p].last)
            return true;
    }
    return false;
}

/* Returns whether the recorder paused between the ends of two steps. Times of pauses are on the
 * clock of the first domain, as are those of all ranks that are compared. */
static bool paused_between(const struct run *run, int64_t from_ns, int64_t to_ns)
{
    for (size_t p = 0; p < run->npauses; p++) {
        if (from_ns <= run->pauses[p].at_ns && run->pauses[p].at_ns < to_ns)
            return true;
    }
    return false;
}

bool job_steps_divide(struct job_steps *steps, const struct run *run)
{
    size_t only = 0;
    int64_t *ends;
    while (only + 1 < run->nranks && steps_blank(run, only))
        only++;
    ends = job_ends(steps, run, steps->apart ? only : SIZE_MAX);
    free(steps->parts);
    steps->parts = array_new(steps->count, sizeof *steps->parts);
    steps->nparts = 0;
    uint32_t before = 0;
    for (uint32_t k = 1; k <= steps->count; k++) {
        if (k < steps->count &&
            (ends[k - 1] == UNKNOWN_NS || !paused_between(run, ends[k - 1], ends[k])))
            continue;
        steps->several = steps->several || k - 1 > before;
        steps->parts[steps->nparts++] = (struct step_part){before, k - 1};
        before = k;
    }
    int64_t *lengths = array_new(steps->count, sizeof *lengths);
    struct step_part *part = &steps->parts[0];
    /* The steps that count but for the first. */
    size_t n = 0;
    for (uint32_t k = 2; k < steps->count; k++) {
        if (step_counts(steps, k) && ends[k - 1] != UNKNOWN_NS)
            lengths[n++] = ends[k] - ends[k - 1];
    }
    if (n > 0)
        qsort(lengths, n, sizeof *lengths, order_int64s);
    if (n + 1 >= WARM_UP_LENGTHS && part->last > 0 && ends[0] != UNKNOWN_NS) {
        double median = ((double)lengths[(n - 1) / 2] + (double)lengths[n / 2]) / 2;
        steps->warm_up = (double)(ends[1] - ends[0]) > STEP_WARM_UP * median;
        part->before += steps->warm_up;
    }
    free(lengths);
    while (part->before < part->last && ends[part->before] == UNKNOWN_NS &&
           ends[part->last] != UNKNOWN_NS)
        part->before++; /* nothing tells when those ended */
    for (size_t r = 0; r < steps->nranks; r++) {
        steps->ranks[r].parts = steps->parts;
        steps->ranks[r].nparts = steps->nparts;
    }
    free(ends);
    return steps->nparts == 1 || steps->several;
}
