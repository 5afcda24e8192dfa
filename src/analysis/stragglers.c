/* SPDX-License-Identifier: MIT */
#include "analysis/stragglers.h"

#include "analysis/time_breakdown.h"
#include "base/interval.h"
#include "base/order.h"
#include "trace/activity.h"

#include <stdlib.h>
#include <string.h>

#define LOOK_BACK 4    /* collectives of the communicator, for one that both ranks have timed */
#define LOOK_ROUND 256 /* operations of the late rank, for a later one of another communicator */
#define AT_ONCE 8      /* operations of one rank that may be under way beside each other */

/* ---- what a rank does, and when ---- */

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
    s->sets[LATE_compute] = busy.sets[ACTIVITY_COMPUTE]; /* which it owns from now on */
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

/* The first interval that ends after t_ns. */
static size_t first_behind(const struct intervals *s, int64_t t_ns)
{
    struct bisect find = {.high = s->count};
    while (bisect_next(&find))
        bisect_take(&find, s->list[find.mid].end <= t_ns);
    return find.low;
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

/* ---- starts ---- */

/* One operation of a rank that is part of a match. */
struct visit {
    int64_t start_ns, end_ns;
    size_t match;
};

struct visits {
    struct visit *list; /* owned; by start */
    size_t count, cap;
};

/* The starts of one match. */
struct starts {
    int64_t earliest, latest, second; /* second: of the others, the latest */
    uint32_t last, before;            /* ranks; before: whose the second is */
    uint32_t n;
    double sum_ns; /* of start - earliest */
};

/* Waiting in one step, by its origin. */
struct share {
    uint32_t step;
    uint32_t rank;
    double ns;
};

struct late_work {
    struct stragglers *s;
    const struct run *run;
    const struct job_steps *job;
    const struct matches *m;
    struct late_activity *sets; /* owned [nranks], as all below */
    struct visits *visits;      /* [nranks] */
    uint32_t *origin;           /* [matches]; UINT32_MAX: no rank was last, or not known */
    size_t *order;              /* [matches]: by latest start */
    struct share *shares;
    size_t nshares, cap_shares;
    struct visit *starts; /* of one match: match is the rank */
    size_t cap_starts;
};

static bool time_of(const struct late_work *w, const struct match_member *m, int64_t *start,
                    int64_t *end)
{
    return op_device_time(&w->run->ranks[m->rank].ops[m->op], start, end);
}

static bool is_collective(const struct late_work *w, const struct match *match)
{
    const struct match_member *m = &w->m->members[match->first];
    return w->run->ranks[m->rank].ops[m->op].class == OP_COLL;
}

static struct starts starts_of(const struct late_work *w, const struct match *match)
{
    struct starts st = {.earliest = INT64_MAX, .latest = INT64_MIN, .second = INT64_MIN};
    int64_t start, end;
    for (uint32_t k = 0; k < match->nmembers; k++) {
        const struct match_member *m = &w->m->members[match->first + k];
        if (!time_of(w, m, &start, &end))
            continue;
        st.n++;
        st.earliest = start < st.earliest ? start : st.earliest;
        if (start > st.latest) {
            st.second = st.latest;
            st.before = st.last;
            st.latest = start;
            st.last = m->rank;
        } else if (start > st.second) {
            st.second = start;
            st.before = m->rank;
        }
    }
    for (uint32_t k = 0; k < match->nmembers; k++) {
        if (time_of(w, &w->m->members[match->first + k], &start, &end))
            st.sum_ns += (double)(start - st.earliest);
    }
    return st;
}

/* Returns whether one rank was clearly last: clocks of two hosts agree only so well. */
static bool has_last(const struct late_work *w, const struct starts *st)
{
    bool apart = w->run->ranks[st->last].domain != w->run->ranks[st->before].domain;
    return st->n > 1 &&
           (double)st->latest - (double)st->second > (apart ? w->run->clock_residual_ns : 0.0);
}

/* ---- what lies before a late start ---- */

static int by_start(const void *pa, const void *pb)
{
    const struct visit *a = pa, *b = pb;
    return a->start_ns != b->start_ns ? ORDER(a->start_ns, b->start_ns) : ORDER(a->match, b->match);
}

/* The member that stands in the middle of all but the last, by start. */
static uint32_t middle_rank(struct late_work *w, const struct match *match, uint32_t last)
{
    size_t n = 0;
    int64_t start, end;
    ARRAY_GROW(w->starts, w->cap_starts, match->nmembers);
    for (uint32_t k = 0; k < match->nmembers; k++) {
        const struct match_member *m = &w->m->members[match->first + k];
        if (m->rank != last && time_of(w, m, &start, &end))
            w->starts[n++] = (struct visit){start, end, m->rank};
    }
    qsort(w->starts, n, sizeof *w->starts, by_start);
    return (uint32_t)w->starts[(n - 1) / 2].match;
}

static int by_rank(const void *key, const void *elem)
{
    uint32_t rank = *(const uint32_t *)key;
    const struct match_member *m = elem;
    return ORDER(rank, m->rank);
}

/* Returns the member of a collective that is on the rank; NULL. */
static const struct match_member *member_of(const struct late_work *w, const struct match *match,
                                            uint32_t rank)
{
    return bsearch(&rank, &w->m->members[match->first], match->nmembers, sizeof *w->m->members,
                   by_rank);
}

/* From the end of the collective before to the start of this one, on the late rank [0] and on the
 * median rank [1]. */
struct between {
    int64_t from_ns[2], to_ns[2];
};

/* The ends of a collective on ranks a and b; false: not both are known. */
static bool ends_of(const struct late_work *w, const struct match *match, uint32_t a, uint32_t b,
                    int64_t end_ns[2])
{
    const struct match_member *x = member_of(w, match, a), *y = member_of(w, match, b);
    int64_t start;
    return x != NULL && y != NULL && time_of(w, x, &start, &end_ns[0]) &&
           time_of(w, y, &start, &end_ns[1]);
}

/* The first of the rank's visits that begins at t_ns or later. */
static size_t first_visit(const struct visits *v, int64_t t_ns)
{
    struct bisect find = {.high = v->count};
    while (bisect_next(&find))
        bisect_take(&find, v->list[find.mid].start_ns < t_ns);
    return find.low;
}

/* Returns whether the rank computes while the data of the collective that ends then move. Such a
 * rank leaves the collective together with the others, but may have fallen behind before. */
static bool computes_beside(const struct late_work *w, uint32_t rank, const struct match *match,
                            int64_t end_ns)
{
    double parts[LATE_CAUSE_COUNT] = {0};
    late_activity_add(&w->sets[rank], end_ns - match->transfer_ns, end_ns, 1, parts);
    return parts[LATE_compute] > 0;
}

/* A later collective of any communicator in which both ranks took part with all of their devices,
 * if there is one after t->from_ns: from there on they were together, so that what lies before it
 * explains nothing. */
static bool look_round(const struct late_work *w, uint32_t a, uint32_t b, bool found,
                       struct between *t)
{
    const struct visits *v = &w->visits[a];
    size_t i = first_visit(v, t->to_ns[0]);
    for (size_t looked = 0; i-- > 0 && looked < LOOK_ROUND; looked++) {
        const struct match *match = &w->m->list[v->list[i].match];
        int64_t end_ns[2];
        if (found && v->list[i].start_ns < t->from_ns[0])
            return true;
        if (!is_collective(w, match) || !ends_of(w, match, a, b, end_ns) ||
            end_ns[0] > t->to_ns[0] || end_ns[1] > t->to_ns[1] ||
            computes_beside(w, a, match, end_ns[0]) || computes_beside(w, b, match, end_ns[1]))
            continue;
        memcpy(t->from_ns, end_ns, sizeof end_ns);
        return true;
    }
    return found;
}

/* The match in which the rank waited longest within [from_ns, to_ns) for another one; SIZE_MAX. */
static size_t longest_wait(const struct late_work *w, uint32_t rank, int64_t from_ns, int64_t to_ns)
{
    const struct visits *v = &w->visits[rank];
    size_t low = first_visit(v, from_ns), best = SIZE_MAX;
    int64_t most = 0;
    for (size_t i = low > AT_ONCE ? low - AT_ONCE : 0; i < v->count; i++) {
        const struct visit *x = &v->list[i];
        int64_t end = x->end_ns - w->m->list[x->match].transfer_ns;
        int64_t start = x->start_ns > from_ns ? x->start_ns : from_ns;
        if (x->start_ns >= to_ns)
            break;
        end = end < to_ns ? end : to_ns;
        if (end - start <= most || w->origin[x->match] == UINT32_MAX || w->origin[x->match] == rank)
            continue;
        most = end - start;
        best = x->match;
    }
    return best;
}

/* Adds to the reasons of the last rank, and tells whose waiting it passes on; itself. */
static uint32_t find_origin(struct late_work *w, size_t at, uint32_t last)
{
    struct arrival *a = &w->s->arrivals[last];
    uint32_t middle = middle_rank(w, &w->m->list[at], last);
    double parts[LATE_CAUSE_COUNT] = {0}, late = 0;
    struct between t = {0};
    bool found = false;
    int64_t end;
    time_of(w, member_of(w, &w->m->list[at], last), &t.to_ns[0], &end);
    time_of(w, member_of(w, &w->m->list[at], middle), &t.to_ns[1], &end);
    /* The nearest collective of the communicator before this one that both have timed. Messages
     * stand among them, by numbers of their own that say nothing of the time. */
    for (size_t i = at, looked = 0; !found && i > 0 && looked < LOOK_BACK; i--) {
        const struct match *before = &w->m->list[i - 1];
        if (before->comm != w->m->list[at].comm)
            break;
        if (!is_collective(w, before))
            continue;
        found = ends_of(w, before, last, middle, t.from_ns);
        looked++;
    }
    if (!look_round(w, last, middle, found, &t))
        return last;
    late_activity_add(&w->sets[last], t.from_ns[0], t.to_ns[0], 1, parts);
    late_activity_add(&w->sets[middle], t.from_ns[1], t.to_ns[1], -1, parts);
    a->explained++;
    for (int k = 0; k < LATE_CAUSE_COUNT; k++) {
        a->why_ns[k] += parts[k];
        late += parts[k];
    }
    if (!(parts[LATE_waiting] > 0 && parts[LATE_waiting] * 2 > late))
        return last;
    at = longest_wait(w, last, t.from_ns[0], t.to_ns[0]);
    return at != SIZE_MAX ? w->origin[at] : last;
}

/* ---- one match ---- */

/* Puts the waiting where it comes from. */
static void attribute(struct late_work *w, size_t at, uint32_t last, double ns)
{
    const struct match_member *m = member_of(w, &w->m->list[at], last);
    struct arrival *a = &w->s->arrivals[last];
    uint32_t step = op_step(w->job, last, m->op);
    a->last++;
    a->caused_ns += ns;
    if (ns > a->worst_ns) {
        a->worst_ns = ns;
        a->worst = at;
    }
    w->s->caused_ns += ns;
    w->s->arrivals[w->origin[at]].origin_ns += ns;
    if (w->origin[at] != last)
        a->passed_ns += ns;
    if (step == STEP_NONE)
        return;
    a->stepped_ns += ns;
    ARRAY_GROW(w->shares, w->cap_shares, w->nshares + 1);
    w->shares[w->nshares++] = (struct share){step, w->origin[at], ns};
}

/* A message only needs its last rank, for the ranks that its waiting makes late. */
static void take_match(struct late_work *w, size_t at)
{
    const struct match *match = &w->m->list[at];
    struct starts st = starts_of(w, match);
    bool collective = is_collective(w, match);
    double skew, others;
    int64_t start, end;
    if (st.n < 2)
        return;
    for (uint32_t k = 0; collective && k < match->nmembers; k++) {
        const struct match_member *m = &w->m->members[match->first + k];
        if (!time_of(w, m, &start, &end))
            continue;
        w->s->arrivals[m->rank].collectives++;
        w->s->arrivals[m->rank].late_ns += (double)(start - st.earliest);
    }
    if (!has_last(w, &st))
        return;
    w->origin[at] = collective ? find_origin(w, at, st.last) : st.last;
    if (!collective)
        return;
    /* Each of the others waited for latest - own start; the mean. */
    skew = (double)(st.latest - st.earliest);
    others = st.n - 1;
    attribute(w, at, st.last, (others * skew - (st.sum_ns - skew)) / others);
}

/* ---- steps ---- */

static int by_step(const void *pa, const void *pb)
{
    const struct share *a = pa, *b = pb;
    return a->step != b->step ? ORDER(a->step, b->step) : ORDER(a->rank, b->rank);
}

/* In each step, the rank in which most waiting has its origin. */
static void count_steps(struct late_work *w)
{
    if (w->nshares > 0)
        qsort(w->shares, w->nshares, sizeof *w->shares, by_step);
    for (size_t i = 0, from = 0; i < w->nshares; from = i) {
        double most = -1;
        uint32_t top = 0;
        while (i < w->nshares && w->shares[i].step == w->shares[from].step) {
            uint32_t rank = w->shares[i].rank;
            double sum = 0;
            for (; i < w->nshares && w->shares[i].step == w->shares[from].step &&
                   w->shares[i].rank == rank;
                 i++)
                sum += w->shares[i].ns;
            if (sum > most) {
                most = sum;
                top = rank;
            }
        }
        w->s->arrivals[top].top_steps++;
        w->s->steps++;
    }
}

/* ---- together ---- */

/* The matches that each rank takes part in, and the matches in the order in which they began. */
static void collect(struct late_work *w)
{
    struct visit *all = array_new(w->m->count + 1, sizeof *all);
    int64_t start, end;
    for (size_t i = 0; i < w->m->count; i++) {
        const struct match *match = &w->m->list[i];
        all[i] = (struct visit){INT64_MIN, 0, i};
        w->origin[i] = UINT32_MAX;
        for (uint32_t k = 0; k < match->nmembers; k++) {
            const struct match_member *m = &w->m->members[match->first + k];
            struct visits *v = &w->visits[m->rank];
            if (!time_of(w, m, &start, &end))
                continue;
            all[i].start_ns = start > all[i].start_ns ? start : all[i].start_ns;
            ARRAY_GROW(v->list, v->cap, v->count + 1);
            v->list[v->count++] = (struct visit){start, end, i};
        }
    }
    for (size_t r = 0; r < w->run->nranks; r++) {
        if (w->visits[r].count > 0)
            qsort(w->visits[r].list, w->visits[r].count, sizeof *w->visits[r].list, by_start);
    }
    if (w->m->count > 0)
        qsort(all, w->m->count, sizeof *all, by_start);
    for (size_t i = 0; i < w->m->count; i++)
        w->order[i] = all[i].match;
    free(all);
}

void stragglers_init(struct stragglers *s, const struct comm_study *study,
                     const struct job_steps *job)
{
    struct late_work w = {.s = s, .run = study->run, .job = job, .m = &study->matches};
    size_t nranks = study->run->nranks;
    *s = (struct stragglers){.arrivals = array_new(nranks + 1, sizeof *s->arrivals)};
    if (!study->run->clock_aligned)
        return;
    w.sets = array_new(nranks + 1, sizeof *w.sets);
    w.visits = array_new(nranks + 1, sizeof *w.visits);
    w.origin = array_new(w.m->count + 1, sizeof *w.origin);
    w.order = array_new(w.m->count + 1, sizeof *w.order);
    for (size_t r = 0; r < nranks; r++)
        late_activity_init(&w.sets[r], &study->run->ranks[r], &study->wait[r]);
    collect(&w);
    for (size_t i = 0; i < w.m->count; i++)
        take_match(&w, w.order[i]);
    count_steps(&w);
    for (size_t r = 0; r < nranks; r++) {
        late_activity_release(&w.sets[r]);
        free(w.visits[r].list);
    }
    free(w.sets);
    free(w.visits);
    free(w.origin);
    free(w.order);
    free(w.shares);
    free(w.starts);
}

void stragglers_release(struct stragglers *s)
{
    free(s->arrivals);
    memset(s, 0, sizeof *s);
}
