/* SPDX-License-Identifier: MIT */
#include "sim/step/step_measure.h"

#include "trace/activity.h"

#include <string.h>

int64_t iteration_end(const struct rank_steps *it, size_t nops, const struct rank_timeline *when,
                      uint32_t step)
{
    int64_t end_ns = UNKNOWN_NS;
    for (size_t i = 0; i < nops; i++) {
        if (when->spans[i].start_ns != UNKNOWN_NS && it->ends[i] && it->of[i] == step &&
            when->spans[i].end_ns > end_ns)
            end_ns = when->spans[i].end_ns;
    }
    return end_ns;
}

void iteration_bounds(struct step_bounds *list, const struct rank_steps *it, size_t nops,
                      const struct rank_timeline *when)
{
    for (size_t p = 0; p < it->nparts; p++)
        list[p] = (struct step_bounds){when->begin_ns, when->end_ns, UNKNOWN_NS,
                                       UNKNOWN_NS,     UNKNOWN_NS,   UNKNOWN_NS};
    for (size_t i = 0; i < nops; i++) {
        int64_t end_ns = when->spans[i].end_ns;
        if (when->launched != NULL)
            step_bounds_add_call(list, it, i, when->launched[i]);
        if (when->spans[i].start_ns == UNKNOWN_NS || !it->ends[i] || it->of[i] == STEP_NONE)
            continue;
        for (size_t p = 0; p < it->nparts; p++) {
            if (it->of[i] <= it->parts[p].last && end_ns > list[p].last_ns)
                list[p].last_ns = end_ns;
            if (it->of[i] <= it->parts[p].before && end_ns > list[p].before_ns)
                list[p].before_ns = end_ns;
        }
    }
}

static enum slice_kind slice_of(const struct op *op, const struct movement *move)
{
    switch (activity_kind_of(op)) {
    case ACTIVITY_COMM:
        if (move == NULL || move->moved.start_ns == UNKNOWN_NS)
            return SLICE_TRANSFER;
        if (move->absent)
            return SLICE_ABSENT_WAIT;
        return move->pipeline ? SLICE_BUBBLE : SLICE_MEMBER_WAIT;
    case ACTIVITY_MEMORY:
        return SLICE_MEMORY;
    default:
        return SLICE_COMPUTE;
    }
}

static void add(struct step_parts *slices, const struct step_window *w, enum slice_kind kind,
                struct sim_span span)
{
    step_parts_add(slices, kind, step_window_at(w, span.start_ns), step_window_at(w, span.end_ns));
}

/* Waiting communication is all that does not move data: what moves it counts before what waits. */
static void collect(struct step_parts *slices, const struct step_window *w, const struct rank *rank,
                    const struct rank_timeline *when)
{
    for (size_t i = 0; i < rank->nops; i++) {
        struct sim_span span = when->spans[i];
        const struct movement *move = when->moves != NULL ? &when->moves[i] : NULL;
        if (span.start_ns == UNKNOWN_NS)
            continue;
        add(slices, w, slice_of(&rank->ops[i], move), span);
        if (move != NULL && move->moved.start_ns != UNKNOWN_NS)
            add(slices, w, SLICE_TRANSFER, move->moved);
    }
    for (size_t i = 0; i < when->nbeside; i++)
        add(slices, w, when->beside[i].kind, when->beside[i].when);
}

static void fill(struct iteration_time *out, const struct slice_times *t, double n)
{
    const int64_t *shown = t->shown_ns;
    out->compute_ns = (double)shown[SLICE_COMPUTE] / n;
    out->untraced_ns = (double)shown[SLICE_UNTRACED] / n;
    out->comm_ns = (double)t->comm_ns / n;
    out->exposed_comm_ns = (double)(shown[SLICE_TRANSFER] + shown[SLICE_MEMBER_WAIT]) / n;
    out->comm_wait_ns = (double)shown[SLICE_MEMBER_WAIT] / n;
    out->absent_wait_ns = (double)shown[SLICE_ABSENT_WAIT] / n;
    out->memory_ns = (double)t->all_ns[SLICE_MEMORY] / n;
    out->exposed_memory_ns = (double)shown[SLICE_MEMORY] / n;
    out->host_bound_ns = (double)shown[SLICE_HOST_BOUND] / n;
    out->stream_wait_ns = (double)shown[SLICE_STREAM_WAIT] / n;
    out->bubble_ns = (double)shown[SLICE_BUBBLE] / n;
    out->other_idle_ns = (double)t->rest_ns / n;
    out->idle_ns = (double)(shown[SLICE_HOST_BOUND] + shown[SLICE_STREAM_WAIT] +
                            shown[SLICE_BUBBLE] + t->rest_ns) /
                   n;
}

void iteration_measure(struct iteration_time *out, const struct step_window *window,
                       const struct rank *rank, const struct rank_timeline *when)
{
    struct step_parts slices;
    struct slice_times t;
    memset(out, 0, sizeof *out);
    if (window->steps == 0)
        return;
    step_parts_init(&slices, 0, step_window_ns(window));
    collect(&slices, window, rank, when);
    step_parts_measure(&slices, &t);
    step_parts_release(&slices);
    out->span_ns = step_window_mean(window);
    fill(out, &t, window->steps);
}

void iteration_add(struct iteration_time *out, const struct iteration_time *one, double factor)
{
    static const size_t fields = sizeof *out / sizeof(double);
    double *sum = (double *)out;
    const double *term = (const double *)one;
    for (size_t i = 0; i < fields; i++)
        sum[i] += term[i] * factor;
}
