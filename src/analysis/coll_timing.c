/* SPDX-License-Identifier: MIT */
#include "analysis/coll_timing.h"

#include "analysis/time_breakdown.h"

#include <math.h>

static const struct op *op_of(const struct run *run, const struct match_member *m)
{
    return &run->ranks[m->rank].ops[m->op];
}

/* The findings of one pass over the members. */
struct member_scan {
    uint32_t timed;   /* with a start */
    uint32_t lasting; /* with a duration */
    bool agree;       /* their clocks do */
    int domain;
    int64_t shortest_ns, longest_ns;
    double starts_ns; /* sum of start - that of the first member */
    int64_t base_ns;
};

static void add_start(struct coll_timing *m, int64_t start, uint32_t rank)
{
    if (start < m->first_start_ns) {
        m->first_start_ns = start;
        m->first_rank = rank;
    } else if (start == m->first_start_ns) {
        m->first_rank = RANK_UNKNOWN;
    }
    if (start > m->last_start_ns) {
        m->last_start_ns = start;
        m->last_rank = rank;
    } else if (start == m->last_start_ns) {
        m->last_rank = RANK_UNKNOWN;
    }
}

static void add_member(struct coll_timing *m, struct member_scan *s, int domain, uint32_t rank,
                       int64_t start, int64_t end)
{
    if (s->timed++ == 0) {
        s->domain = domain;
        s->base_ns = m->first_start_ns = m->last_start_ns = start;
        m->first_end_ns = m->last_end_ns = end;
        m->first_rank = m->last_rank = rank;
        return;
    }
    s->agree = s->agree && domain == s->domain;
    s->starts_ns += (double)(start - s->base_ns);
    add_start(m, start, rank);
    m->first_end_ns = end < m->first_end_ns ? end : m->first_end_ns;
    m->last_end_ns = end > m->last_end_ns ? end : m->last_end_ns;
}

static void add_duration(struct member_scan *s, int64_t dur)
{
    s->shortest_ns = s->lasting == 0 || dur < s->shortest_ns ? dur : s->shortest_ns;
    s->longest_ns = s->lasting == 0 || dur > s->longest_ns ? dur : s->longest_ns;
    s->lasting++;
}

void coll_timing_init(struct coll_timing *m, const struct run *run,
                      const struct match_member *members, uint32_t n)
{
    struct member_scan s = {.agree = true};
    int64_t start, end, dur;
    *m = (struct coll_timing){.first_start_ns = UNKNOWN_NS,
                              .last_start_ns = UNKNOWN_NS,
                              .first_end_ns = UNKNOWN_NS,
                              .last_end_ns = UNKNOWN_NS,
                              .first_rank = RANK_UNKNOWN,
                              .last_rank = RANK_UNKNOWN,
                              .arrive_wait_ns = NAN,
                              .wait_max_ns = NAN,
                              .moved_ns = UNKNOWN_NS,
                              .from_ns = UNKNOWN_NS,
                              .to_ns = UNKNOWN_NS};
    for (uint32_t i = 0; i < n; i++) {
        const struct rank *rank = &run->ranks[members[i].rank];
        if (op_device_duration(op_of(run, &members[i]), &dur))
            add_duration(&s, dur);
        if (op_device_time(op_of(run, &members[i]), &start, &end))
            add_member(m, &s, rank->domain, members[i].rank, start, end);
    }
    if (s.lasting >= 2)
        m->wait_max_ns = (double)(s.longest_ns - s.shortest_ns);
    if (s.timed >= 2 && (s.agree || run->clock_aligned)) {
        m->arrive_wait_ns = (double)(m->last_start_ns - s.base_ns) - s.starts_ns / s.timed;
        return;
    }
    if (s.timed > 0)
        m->first_start_ns = s.base_ns;
    m->last_start_ns = m->first_end_ns = m->last_end_ns = UNKNOWN_NS;
    m->first_rank = m->last_rank = RANK_UNKNOWN;
}

static void set_moved(struct coll_timing *m, int64_t from, int64_t to)
{
    m->moved_ns = to - from;
    m->from_ns = from;
    m->to_ns = to;
}

/* The shorter duration. */
static void set_unplaced(struct coll_timing *m, const struct run *run,
                         const struct match_member *members, uint32_t n)
{
    uint32_t lasting = 0;
    int64_t dur;
    for (uint32_t i = 0; i < n && i < 2; i++) {
        if (!op_device_duration(op_of(run, &members[i]), &dur))
            continue;
        if (lasting++ == 0 || dur < m->moved_ns)
            m->moved_ns = dur;
    }
    m->two_sided = lasting == 2;
}

void coll_timing_of_message(struct coll_timing *m, const struct run *run,
                            const struct match_member *members, uint32_t n)
{
    int64_t start[2], end[2];
    bool timed[2] = {false, false};
    for (uint32_t i = 0; i < n && i < 2; i++)
        timed[i] = op_device_time(op_of(run, &members[i]), &start[i], &end[i]);
    m->two_sided = timed[0] && timed[1];
    if (!m->two_sided) {
        if (timed[0] || timed[1])
            set_moved(m, start[timed[1]], end[timed[1]]);
        else
            set_unplaced(m, run, members, n);
        return;
    }
    if (m->last_start_ns == UNKNOWN_NS) {
        int64_t send = end[0] - start[0], recv = end[1] - start[1];
        set_moved(m, end[1] - (send < recv ? send : recv), end[1]);
    } else if (end[0] <= start[1]) {
        set_moved(m, start[0], end[0]);
    } else {
        set_moved(m, m->last_start_ns, m->last_end_ns);
    }
}

uint32_t op_step(const struct job_steps *job, size_t rank, size_t op)
{
    return job->source != STEPS_WHOLE ? job->ranks[rank].of[op] : STEP_NONE;
}

uint32_t counted_steps(const struct job_steps *job)
{
    return job->source != STEPS_WHOLE ? job->count : 0;
}

const char *op_step_name(const struct job_steps *job, const struct run *run, size_t rank,
                         uint32_t step)
{
    const struct rank *r = &run->ranks[rank];
    size_t low = 0, high = r->nsteps;
    int64_t from_ns;
    if (job->source != STEPS_MARKED || step == STEP_NONE || job->ranks[rank].from_ns == NULL)
        return "";
    from_ns = job->ranks[rank].from_ns[step];
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (r->steps[mid].start_ns < from_ns)
            low = mid + 1;
        else
            high = mid;
    }
    return low < r->nsteps && r->steps[low].start_ns == from_ns ? r->steps[low].name : "";
}
