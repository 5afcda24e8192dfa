/* SPDX-License-Identifier: MIT */
#include "trace/step_time.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The host's time from the start of the first step to the end of the last. */
struct host_time {
    int64_t from_ns, to_ns;
};

static bool is_within(const struct host_time *t, int64_t ns)
{
    return ns != UNKNOWN_NS && ns >= t->from_ns && ns < t->to_ns;
}

static void add_ops(struct rank *out, const struct rank *rank, const uint32_t *of, uint32_t first,
                    uint32_t last)
{
    size_t detail = 0;
    for (size_t i = 0; i < rank->nops; i++) {
        if (of[i] == STEP_NONE || of[i] < first || of[i] > last)
            continue;
        *rank_add_op(out) = rank->ops[i];
        while (detail < rank->ndetails && rank->details[detail].op < i)
            detail++;
        for (; detail < rank->ndetails && rank->details[detail].op == i; detail++) {
            struct comm_detail *d = rank_add_detail(out);
            *d = rank->details[detail];
            d->op = (uint32_t)out->nops - 1;
        }
    }
}

static void add_host_acts(struct rank *out, const struct rank *rank, const struct host_time *t)
{
    for (size_t i = 0; i < rank->nsync_calls; i++) {
        if (is_within(t, rank->sync_calls[i].host_ns))
            *rank_add_sync_call(out) = rank->sync_calls[i];
    }
    for (size_t i = 0; i < rank->nlaunches; i++) {
        if (is_within(t, rank->launches[i].host_ns))
            *rank_add_launches(out) = rank->launches[i];
    }
    for (size_t i = 0; i < rank->nsteps; i++) {
        if (is_within(t, rank->steps[i].start_ns))
            *rank_add_step(out) = rank->steps[i];
    }
    for (size_t i = 0; i < rank->nmarks; i++) {
        if (is_within(t, rank->marks[i].start_ns))
            *rank_add_mark(out) = rank->marks[i];
    }
}

static void add_rank(struct rank *out, const struct rank *rank, const struct rank_steps *steps,
                     uint32_t first, uint32_t last)
{
    const struct host_time t = {steps->from_ns[first], steps->from_ns[last + 1]};
    *out = *rank;
    out->ops = NULL;
    out->sync_calls = NULL;
    out->steps = NULL;
    out->launches = NULL;
    out->marks = NULL;
    out->details = NULL;
    out->nops = out->cap_ops = out->nsync_calls = out->cap_sync_calls = 0;
    out->nsteps = out->cap_steps = out->nlaunches = out->cap_launches = 0;
    out->nmarks = out->cap_marks = out->ndetails = out->cap_details = 0;
    out->end_ns = t.to_ns;
    add_ops(out, rank, steps->of, first, last);
    add_host_acts(out, rank, &t);
}

int run_part_init(struct run *part, const struct run *run, const struct job_steps *steps,
                  uint32_t first, uint32_t last)
{
    for (size_t r = 0; r < run->nranks; r++) {
        const struct rank_steps *s = &steps->ranks[r];
        if (s->from_ns == NULL || last >= s->count || s->from_ns[first] == UNKNOWN_NS ||
            s->from_ns[last + 1] == UNKNOWN_NS)
            return -1;
    }
    *part = *run;
    part->ranks = array_new(run->nranks, sizeof *part->ranks);
    for (size_t r = 0; r < run->nranks; r++)
        add_rank(&part->ranks[r], &run->ranks[r], &steps->ranks[r], first, last);
    return 0;
}

void run_part_release(struct run *part)
{
    for (size_t r = 0; r < part->nranks; r++) {
        struct rank *rank = &part->ranks[r];
        free(rank->ops);
        free(rank->sync_calls);
        free(rank->steps);
        free(rank->launches);
        free(rank->marks);
        free(rank->details);
    }
    free(part->ranks);
    memset(part, 0, sizeof *part);
}

bool run_part_typical(const struct job_steps *steps, const struct step_time *time, uint32_t n,
                      uint32_t *first, uint32_t *last)
{
    const struct step_part *part = &steps->parts[0];
    const int64_t *ends = time->ends_ns;
    const double mean_ns = step_window_mean(&time->window);
    double least_ns = INFINITY;
    if (!steps->several || steps->nparts != 1 || ends == NULL || n == 0 ||
        part->last - part->before <= n)
        return false;
    for (uint32_t k = part->before; k + n <= part->last; k++) {
        double off_ns;
        if (ends[k] == UNKNOWN_NS || ends[k + n] == UNKNOWN_NS)
            continue;
        off_ns = fabs((double)(ends[k + n] - ends[k]) / n - mean_ns);
        if (off_ns < least_ns) {
            least_ns = off_ns;
            *first = k;
            *last = k + n;
        }
    }
    return isfinite(least_ns);
}
