/* SPDX-License-Identifier: MIT */
#include "analysis/stragglers.h"

#include "analysis/split.h"

#include <stdlib.h>
#include <string.h>

static const struct op *member_op(const struct run *run, const struct match_member *m)
{
    return &run->ranks[m->rank].ops[m->op];
}

/* The starts of one collective, relative to the earliest. */
struct starts {
    int64_t earliest, latest, second; /* second: of the others, the latest */
    uint32_t last_rank, n;
    double sum_ns; /* of start - earliest */
};

static struct starts starts_of(const struct run *run, const struct match_member *members,
                               uint32_t n)
{
    struct starts st = {.earliest = INT64_MAX, .latest = INT64_MIN, .second = INT64_MIN};
    int64_t start, end;
    for (uint32_t i = 0; i < n; i++) {
        if (!op_device_time(member_op(run, &members[i]), &start, &end))
            continue;
        st.n++;
        st.earliest = start < st.earliest ? start : st.earliest;
        if (start > st.latest) {
            st.second = st.latest;
            st.latest = start;
            st.last_rank = members[i].rank;
        } else if (start > st.second) {
            st.second = start;
        }
    }
    return st;
}

static void add_arrivals(struct stragglers *s, const struct run *run,
                         const struct match_member *members, uint32_t n)
{
    struct starts st = starts_of(run, members, n);
    int64_t start, end;
    if (st.n < 2)
        return;
    for (uint32_t i = 0; i < n; i++) {
        struct arrival *a = &s->arrivals[members[i].rank];
        if (!op_device_time(member_op(run, &members[i]), &start, &end))
            continue;
        a->collectives++;
        a->late_ns += (double)(start - st.earliest);
        st.sum_ns += (double)(start - st.earliest);
    }
    if (st.latest == st.second)
        return; /* nobody was last */
    double skew = (double)(st.latest - st.earliest);
    double others = (st.n - 1) * skew - (st.sum_ns - skew); /* sum of latest - own start */
    s->arrivals[st.last_rank].last++;
    s->arrivals[st.last_rank].caused_ns += others / (st.n - 1);
}

void stragglers_make(struct stragglers *s, const struct run *run, const struct matches *m)
{
    size_t cap = 0;
    *s = (struct stragglers){0};
    ARRAY_GROW(s->arrivals, cap, run->nranks);
    for (size_t i = 0; run->clock_aligned && i < m->count; i++) {
        if (m->list[i].nmembers > 1 &&
            run->ranks[m->members[m->list[i].first].rank].ops[m->members[m->list[i].first].op].class
                == OP_COLL)
            add_arrivals(s, run, &m->members[m->list[i].first], m->list[i].nmembers);
    }
}

void stragglers_release(struct stragglers *s)
{
    free(s->arrivals);
    memset(s, 0, sizeof *s);
}
