/* SPDX-License-Identifier: MIT */
#include "analysis/late_cause.h"

#include "analysis/time_breakdown.h"
#include "trace/activity.h"

void late_activity_init(struct late_activity *s, const struct rank *rank,
                        const struct intervals *wait)
{
    struct intervals moving, rest;
    struct activity busy;
    int64_t start, end;
    activity_init(&busy);
    for (size_t i = 0; i < rank->nops; i++) {
        if (op_device_time(&rank->ops[i], &start, &end))
            activity_add(&busy, &rank->ops[i], start, end);
    }
    for (int k = 0; k < ACTIVITY_KINDS; k++)
        intervals_merge(&busy.sets[k]);
    for (int k = 0; k < LATE_idle; k++)
        intervals_init(&s->sets[k]);
    intervals_init(&moving);
    intervals_init(&rest);
    intervals_union(&moving, &busy.sets[ACTIVITY_COMM], &busy.sets[ACTIVITY_MEMORY]);
    intervals_subtract(&s->sets[LATE_waiting], wait, &busy.sets[ACTIVITY_COMPUTE]);
    intervals_subtract(&rest, &moving, &busy.sets[ACTIVITY_COMPUTE]);
    intervals_subtract(&s->sets[LATE_moving], &rest, &s->sets[LATE_waiting]);
    s->sets[LATE_compute] = busy.sets[ACTIVITY_COMPUTE];
    intervals_init(&busy.sets[ACTIVITY_COMPUTE]);
    intervals_release(&moving);
    intervals_release(&rest);
    activity_release(&busy);
}

void late_activity_release(struct late_activity *s)
{
    for (int k = 0; k < LATE_idle; k++)
        intervals_release(&s->sets[k]);
}

/* The first interval that ends behind t_ns. */
static size_t first_behind(const struct intervals *s, int64_t t_ns)
{
    size_t low = 0, high = s->count;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (s->list[mid].end <= t_ns)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

void late_activity_add(const struct late_activity *s, int64_t from_ns, int64_t to_ns, double sign,
                       double parts[LATE_CAUSE_COUNT])
{
    int64_t idle_ns = to_ns - from_ns;
    if (to_ns <= from_ns)
        return;
    for (int k = 0; k < LATE_idle; k++) {
        const struct intervals *set = &s->sets[k];
        int64_t sum_ns = 0;
        for (size_t i = first_behind(set, from_ns); i < set->count && set->list[i].start < to_ns;
             i++) {
            int64_t start = set->list[i].start > from_ns ? set->list[i].start : from_ns;
            int64_t end = set->list[i].end < to_ns ? set->list[i].end : to_ns;
            sum_ns += end - start;
        }
        parts[k] += sign * (double)sum_ns;
        idle_ns -= sum_ns;
    }
    parts[LATE_idle] += sign * (double)idle_ns;
}
