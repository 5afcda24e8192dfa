/* SPDX-License-Identifier: MIT */
#include "sim/step/step_parts.h"

void step_parts_init(struct step_parts *s, int64_t start_ns, int64_t end_ns)
{
    s->start_ns = start_ns;
    s->end_ns = end_ns;
    for (int k = 0; k < SLICE_KINDS; k++)
        intervals_init(&s->sets[k]);
}

void step_parts_release(struct step_parts *s)
{
    for (int k = 0; k < SLICE_KINDS; k++)
        intervals_release(&s->sets[k]);
}

void step_parts_add(struct step_parts *s, enum slice_kind kind, int64_t start_ns, int64_t end_ns)
{
    intervals_add(&s->sets[kind], start_ns > s->start_ns ? start_ns : s->start_ns,
                  end_ns < s->end_ns ? end_ns : s->end_ns);
}

/* into: becomes the union of both. */
static void unite(struct intervals *into, const struct intervals *more)
{
    struct intervals both;
    intervals_init(&both);
    intervals_union(&both, into, more);
    intervals_release(into);
    *into = both;
}

static int64_t comm_length(const struct step_parts *s)
{
    struct intervals comm;
    int64_t length;
    intervals_init(&comm);
    unite(&comm, &s->sets[SLICE_TRANSFER]);
    unite(&comm, &s->sets[SLICE_MEMBER_WAIT]);
    unite(&comm, &s->sets[SLICE_ABSENT_WAIT]);
    unite(&comm, &s->sets[SLICE_BUBBLE]);
    length = intervals_length(&comm);
    intervals_release(&comm);
    return length;
}

void step_parts_measure(struct step_parts *s, struct slice_times *out)
{
    struct intervals covered;
    int64_t before_ns = 0;
    intervals_init(&covered);
    for (int k = 0; k < SLICE_KINDS; k++) {
        intervals_merge(&s->sets[k]);
        unite(&covered, &s->sets[k]);
        out->all_ns[k] = intervals_length(&s->sets[k]);
        out->shown_ns[k] = intervals_length(&covered) - before_ns;
        before_ns += out->shown_ns[k];
    }
    intervals_release(&covered);
    out->comm_ns = comm_length(s);
    out->rest_ns = s->end_ns - s->start_ns - before_ns;
}
