/* SPDX-License-Identifier: MIT */
#include "analysis/time_breakdown.h"

#include "base/idmap.h"

#include <string.h>

/* An operation without device time, by the reason. A record that claims to have one and does not
 * is damaged and counts as unknown. */
static void count_untimed(struct time_breakdown *s, const struct op *op)
{
    int64_t dur_ns;
    if (op->start_ns == UNKNOWN_NS && op_device_duration(op, &dur_ns)) {
        s->unplaced_ops++;
        return;
    }
    switch ((enum specter_timing)op->timing) {
    case SPECTER_TIMING_HOST:
    case SPECTER_TIMING_CAPTURED:
    case SPECTER_TIMING_NONE:
        s->untimed_ops[op->timing]++;
        break;
    default:
        s->untimed_ops[SPECTER_TIMING_UNKNOWN]++;
        break;
    }
}

/* Counts the rank's operations, and finds where they begin and end. */
static void scan_ops(struct time_breakdown *s, const struct rank *rank, int64_t *first,
                     int64_t *last)
{
    int64_t start, end;
    struct idmap devices = {0};
    *first = INT64_MAX;
    *last = INT64_MIN;
    for (size_t i = 0; i < rank->nops; i++) {
        const struct op *op = &rank->ops[i];
        if (!op_device_time(op, &start, &end)) {
            count_untimed(s, op);
            continue;
        }
        s->timed_ops++;
        if (op->device >= 0) /* else not known */
            idmap_add(&devices, op->device);
        *first = start < *first ? start : *first;
        *last = end > *last ? end : *last;
    }
    s->recorded_ns = s->timed_ops > 0 ? *last - *first : 0;
    s->devices = (int)devices.count;
    idmap_release(&devices);
}

/* The part of the waits in the window, without times in which the rank computes. */
static int64_t exposed_wait(const struct intervals *wait, const struct intervals *compute,
                            const struct step_window *w)
{
    struct intervals within;
    int64_t ns;
    intervals_init(&within);
    for (size_t i = 0; i < wait->count; i++)
        intervals_add(&within, step_window_at(w, wait->list[i].start),
                      step_window_at(w, wait->list[i].end));
    intervals_merge(&within);
    ns = intervals_length(&within) - intervals_common(&within, compute);
    intervals_release(&within);
    return ns;
}

/* The times of each set of kinds from those of at least that set: what is in all three is in each
 * pair, and so on. */
static void find_active(struct time_breakdown *s, const struct activity *busy,
                        const struct activity_times *t)
{
    const struct intervals *sets = busy->sets;
    const int c = 1 << ACTIVITY_COMPUTE, n = 1 << ACTIVITY_COMM, m = 1 << ACTIVITY_MEMORY;
    struct intervals both;
    int64_t cm = intervals_common(&sets[ACTIVITY_COMPUTE], &sets[ACTIVITY_MEMORY]);
    int64_t nm = intervals_common(&sets[ACTIVITY_COMM], &sets[ACTIVITY_MEMORY]), all;
    intervals_init(&both);
    intervals_intersect(&both, &sets[ACTIVITY_COMPUTE], &sets[ACTIVITY_COMM]);
    all = intervals_common(&both, &sets[ACTIVITY_MEMORY]);
    intervals_release(&both);
    s->active_ns[0] = s->idle_ns;
    s->active_ns[c | n | m] = all;
    s->active_ns[c | n] = t->overlap_ns - all;
    s->active_ns[c | m] = cm - all;
    s->active_ns[n | m] = nm - all;
    s->active_ns[c] = t->compute_ns - t->overlap_ns - cm + all;
    s->active_ns[n] = t->comm_ns - t->overlap_ns - nm + all;
    s->active_ns[m] = t->memory_ns - cm - nm + all;
}

void time_breakdown_init(struct time_breakdown *s, const struct rank *rank,
                         const struct intervals *wait, const struct step_window *window)
{
    struct step_window all = {0};
    struct activity busy;
    struct activity_times t;
    int64_t start, end;
    memset(s, 0, sizeof *s);
    scan_ops(s, rank, &all.start_ns, &all.end_ns);
    if (s->timed_ops == 0)
        return;
    window = window != NULL && window->steps > 0 ? window : &all;
    activity_init(&busy);
    for (size_t i = 0; i < rank->nops; i++) {
        if (op_device_time(&rank->ops[i], &start, &end))
            activity_add(&busy, &rank->ops[i], step_window_at(window, start),
                         step_window_at(window, end));
    }
    activity_measure(&busy, &t);
    s->span_ns = step_window_ns(window);
    s->from_ns = window->start_ns - all.start_ns;
    s->compute_ns = t.compute_ns;
    s->comm_ns = t.comm_ns;
    s->memory_ns = t.memory_ns;
    s->overlap_ns = t.overlap_ns;
    s->exposed_comm_ns = t.exposed_comm_ns;
    s->exposed_memory_ns = t.exposed_memory_ns;
    s->idle_ns = s->span_ns - t.all_ns;
    find_active(s, &busy, &t);
    if (wait != NULL) {
        s->wait_known = true;
        s->exposed_wait_ns = exposed_wait(wait, &busy.sets[ACTIVITY_COMPUTE], window);
    }
    activity_release(&busy);
}

void time_breakdown_add(struct time_breakdown *s, const struct time_breakdown *more)
{
#define X(name) ns_sum_add(&s->name##_ns, more->name##_ns);
    BREAKDOWN_TIMES(X)
#undef X
    ns_sum_add(&s->recorded_ns, more->recorded_ns);
    for (int k = 0; k < 1 << ACTIVITY_KINDS; k++)
        ns_sum_add(&s->active_ns[k], more->active_ns[k]);
    ns_sum_add(&s->exposed_wait_ns, more->exposed_wait_ns);
    s->wait_known = s->wait_known || more->wait_known;
    s->timed_ops += more->timed_ops;
    s->unplaced_ops += more->unplaced_ops;
    for (int t = 0; t < SPECTER_TIMING_COUNT; t++)
        s->untimed_ops[t] += more->untimed_ops[t];
    s->devices = more->devices > s->devices ? more->devices : s->devices;
}

uint64_t time_breakdown_untimed(const struct time_breakdown *s)
{
    uint64_t n = 0;
    for (int t = 0; t < SPECTER_TIMING_COUNT; t++)
        n += s->untimed_ops[t];
    return n;
}
