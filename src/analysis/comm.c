/* SPDX-License-Identifier: MIT */
#include "analysis/comm.h"

#include "analysis/time_breakdown.h"
#include "base/order.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- times of one collective or message ---- */

static const struct op *member_op(const struct run *run, const struct match_member *m)
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
    int64_t base_ns;  /* start of the first timed member */
    double starts_ns; /* sum of start - base_ns */
};

static void time_member(struct coll_timing *m, struct member_scan *s, int domain, uint32_t rank,
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
    m->first_end_ns = end < m->first_end_ns ? end : m->first_end_ns;
    m->last_end_ns = end > m->last_end_ns ? end : m->last_end_ns;
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
        if (op_device_duration(member_op(run, &members[i]), &dur)) {
            s.shortest_ns = s.lasting == 0 || dur < s.shortest_ns ? dur : s.shortest_ns;
            s.longest_ns = s.lasting == 0 || dur > s.longest_ns ? dur : s.longest_ns;
            s.lasting++;
        }
        if (op_device_time(member_op(run, &members[i]), &start, &end))
            time_member(m, &s, rank->domain, members[i].rank, start, end);
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

static void set_moving(struct coll_timing *m, int64_t from, int64_t to, uint32_t clock_rank)
{
    m->moved_ns = to - from;
    m->from_ns = from;
    m->to_ns = to;
    m->clock_rank = clock_rank;
}

/* Sets the time of a message without starts: the shorter duration. */
static void set_unplaced(struct coll_timing *m, const struct run *run,
                         const struct match_member *members, uint32_t n)
{
    uint32_t lasting = 0;
    int64_t dur;
    for (uint32_t i = 0; i < n && i < 2; i++) {
        if (!op_device_duration(member_op(run, &members[i]), &dur))
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
        timed[i] = op_device_time(member_op(run, &members[i]), &start[i], &end[i]);
    m->two_sided = timed[0] && timed[1];
    if (!m->two_sided) {
        if (timed[0] || timed[1])
            set_moving(m, start[timed[1]], end[timed[1]], members[timed[1]].rank);
        else
            set_unplaced(m, run, members, n);
        return;
    }
    if (m->last_start_ns == UNKNOWN_NS) {
        int64_t send = end[0] - start[0], recv = end[1] - start[1];
        set_moving(m, end[1] - (send < recv ? send : recv), end[1], members[1].rank);
    } else if (end[0] <= start[1]) {
        set_moving(m, start[0], end[0], members[0].rank);
    } else {
        set_moving(m, m->last_start_ns, m->last_end_ns, members[1].rank);
    }
}

/* ---- instances ---- */

/* Operations that one rank launched together. Sends and receives run at the same time in opposite
 * directions, so their bytes are counted apart. */
struct launch_group {
    int32_t id;
    uint32_t ops;
    const struct op *first;
    bool mixed; /* different operations or communicators: no bandwidth can be told */
    uint64_t bytes, received;
};

struct launch_groups {
    struct launch_group *list; /* owned; by id */
    size_t count, cap;
};

/* Work space of comm_study_init(). */
struct study_work {
    struct comm_study *study;
    struct launch_groups *groups; /* [nranks] */
    bool **seen;                  /* [nranks][nops]: part of a match */
};

const char *comm_group_name(const struct run *run, int32_t comm)
{
    const char *name = NULL;
    if (comm >= 0 && (size_t)comm < run->ncomms)
        name = run->comms[comm].name;
    return name != NULL ? name : "";
}

/* Returns whether the size of an operation is known: 0 is no size where it has elements, or is an
 * unknown operation, as the recorder could not compute it. */
static bool bytes_known(const struct op *op)
{
    bool none = op->coll.count == 0 && op->coll.op < SPECTER_COMM_OP_COUNT;
    return !(op->flags & OP_BYTES_UNKNOWN) && (op->bytes > 0 || none);
}

static int by_group(const void *x, const void *y)
{
    const struct op *a = *(const struct op *const *)x, *b = *(const struct op *const *)y;
    return ORDER(a->coll.group, b->coll.group);
}

/* Returns whether the operation is a message from a rank to itself. */
static bool is_to_itself(const struct run *run, const struct rank *rank, const struct op *op)
{
    int32_t comm = op->coll.comm, peer = op->coll.peer;
    return op->class == OP_P2P && comm >= 0 && (size_t)comm < run->ncomms && peer >= 0 &&
           peer < run->comms[comm].size && rank->rank >= 0 &&
           run->comms[comm].ranks[peer] == rank->rank;
}

static void groups_init(struct launch_groups *groups, const struct run *run,
                        const struct rank *rank)
{
    const struct op **ops = NULL;
    size_t n = 0, cap = 0;
    for (size_t i = 0; i < rank->nops; i++) {
        if (!op_is_comm(&rank->ops[i]) || rank->ops[i].coll.group < 0)
            continue;
        ARRAY_GROW(ops, cap, n + 1);
        ops[n++] = &rank->ops[i];
    }
    if (n > 0)
        qsort(ops, n, sizeof *ops, by_group);
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || ops[i]->coll.group != ops[i - 1]->coll.group) {
            ARRAY_GROW(groups->list, groups->cap, groups->count + 1);
            groups->list[groups->count++] =
                (struct launch_group){.id = ops[i]->coll.group, .first = ops[i]};
        }
        struct launch_group *g = &groups->list[groups->count - 1];
        const struct op *op = ops[i];
        bool both_p2p = op->class == OP_P2P && g->first->class == OP_P2P;
        uint64_t *sum = op->coll.op == SPECTER_RECV ? &g->received : &g->bytes;
        g->ops++;
        g->mixed = g->mixed || !bytes_known(op) || op->coll.comm != g->first->coll.comm ||
                   (!both_p2p && op->coll.op != g->first->coll.op);
        /* Bytes that a rank sends to itself cross no link and are not counted. */
        if (__builtin_add_overflow(*sum, is_to_itself(run, rank, op) ? 0 : op->bytes, sum))
            g->mixed = true; /* damage: no number is better than a wrong one */
    }
    free(ops);
}

static int compare_group_id(const void *key, const void *elem)
{
    int32_t id = *(const int32_t *)key;
    const struct launch_group *g = elem;
    return ORDER(id, g->id);
}

/* Fills grouped and moved_bytes from the operation that gives the instance its time. */
static void set_moved(struct comm_instance *in, const struct launch_groups *groups,
                      const struct op *op)
{
    const struct launch_group *g = NULL;
    if (op->coll.group >= 0 && groups->count > 0)
        g = bsearch(&op->coll.group, groups->list, groups->count, sizeof *g, compare_group_id);
    in->grouped = g != NULL && g->ops > 1;
    in->group_ops = in->grouped ? g->ops : 1;
    if (!in->grouped)
        in->moved_bytes = in->to_itself ? 0 : in->bytes;
    else if (!g->mixed)
        in->moved_bytes = op->coll.op == SPECTER_RECV ? g->received : g->bytes;
}

static struct comm_instance *instance_add(struct comm_study *s, const struct match_member *first)
{
    const struct op *op = member_op(s->run, first);
    struct comm_instance *in;
    ARRAY_GROW(s->list, s->cap, s->count + 1);
    in = &s->list[s->count++];
    *in = (struct comm_instance){.op = op->coll.op,
                                 .dtype = op->dtype,
                                 .p2p = op->class == OP_P2P,
                                 .to_itself = is_to_itself(s->run, &s->run->ranks[first->rank], op),
                                 .first = *first,
                                 .consistent = true,
                                 .seq = -1,
                                 .comm = op->coll.comm,
                                 .transfer_ns = UNKNOWN_NS,
                                 .wait_ns = NAN};
    if (op->coll.comm >= 0 && (size_t)op->coll.comm < s->run->ncomms)
        in->comm_size = s->run->comms[op->coll.comm].size;
    return in;
}

/* Adds one member to the instance. True when the member is the shortest so far. */
static bool add_member(struct comm_instance *in, const struct op *op, double *sum_ns)
{
    int64_t dur_ns;
    if (bytes_known(op)) {
        if (!in->bytes_known)
            in->bytes = op->bytes;
        in->bytes_known = true;
        in->sized++;
        in->sent += (double)op->bytes;
        in->sent_max = fmax(in->sent_max, (double)op->bytes);
    }
    if (!op_device_duration(op, &dur_ns))
        return false;
    *sum_ns += (double)dur_ns;
    if (in->timed++ > 0 && dur_ns >= in->transfer_ns)
        return false;
    in->transfer_ns = dur_ns;
    return true;
}

static void add_match(struct study_work *w, const struct match *m,
                      const struct match_member *members)
{
    struct comm_study *s = w->study;
    struct comm_instance *in = instance_add(s, &members[0]);
    const struct match_member *shortest = &members[0]; /* the one that gives the time */
    double sum_ns = 0;
    in->op = m->op;
    in->dtype = m->dtype;
    in->matched = true;
    in->consistent = m->consistent;
    in->seq = m->seq;
    in->members = m->nmembers;
    coll_timing_init(&in->timing, s->run, members, m->nmembers);
    if (in->p2p)
        coll_timing_of_message(&in->timing, s->run, members, m->nmembers);
    for (uint32_t i = 0; i < m->nmembers; i++) {
        w->seen[members[i].rank][members[i].op] = true;
        if (in->detail == NULL)
            in->detail = rank_detail(&s->run->ranks[members[i].rank], members[i].op);
        if (add_member(in, member_op(s->run, &members[i]), &sum_ns))
            shortest = &members[i];
    }
    set_moved(in, &w->groups[shortest->rank], member_op(s->run, shortest));
    if (in->timed < 2)
        return;
    in->wait_ns = sum_ns / in->timed - (double)in->transfer_ns;
    for (uint32_t i = 0; i < m->nmembers; i++) {
        /* A member that was inside longer than the data needed was waiting, at the front. */
        int64_t start, end;
        if (!op_device_time(member_op(s->run, &members[i]), &start, &end))
            continue;
        intervals_add(&s->wait[members[i].rank], start, end - in->transfer_ns);
        s->wait_known[members[i].rank] = true;
    }
}

/* A record that could not be matched stands for itself. */
static void add_alone(struct study_work *w, struct match_member me)
{
    const struct op *op = member_op(w->study->run, &me);
    struct comm_instance *in = instance_add(w->study, &me);
    double sum_ns = 0;
    in->members = 1;
    add_member(in, op, &sum_ns);
    coll_timing_init(&in->timing, w->study->run, &me, 1);
    if (in->p2p)
        coll_timing_of_message(&in->timing, w->study->run, &me, 1);
    set_moved(in, &w->groups[me.rank], op);
}

void comm_study_init(struct comm_study *s, const struct run *run)
{
    struct study_work w = {.study = s,
                           .groups = array_new(run->nranks, sizeof *w.groups),
                           .seen = array_new(run->nranks, sizeof *w.seen)};
    *s = (struct comm_study){.run = run};
    s->wait = array_new(run->nranks, sizeof *s->wait);
    s->wait_known = array_new(run->nranks, sizeof *s->wait_known);
    matches_init(&s->matches, run);
    for (size_t r = 0; r < run->nranks; r++) {
        groups_init(&w.groups[r], run, &run->ranks[r]);
        w.seen[r] = array_new(run->ranks[r].nops, sizeof *w.seen[r]);
    }
    for (size_t i = 0; i < s->matches.count; i++) {
        const struct match *m = &s->matches.list[i];
        if (m->nmembers > 0)
            add_match(&w, m, &s->matches.members[m->first]);
    }
    for (size_t r = 0; r < run->nranks; r++) {
        for (size_t i = 0; i < run->ranks[r].nops; i++) {
            if (op_is_comm(&run->ranks[r].ops[i]) && !w.seen[r][i])
                add_alone(&w, (struct match_member){(uint32_t)r, (uint32_t)i});
        }
    }
    s->incomplete = s->matches.incomplete;
    s->inconsistent = s->matches.inconsistent;
    s->unnumbered = s->matches.unnumbered;
    for (size_t r = 0; r < run->nranks; r++) {
        intervals_merge(&s->wait[r]);
        free(w.groups[r].list);
        free(w.seen[r]);
    }
    free(w.groups);
    free(w.seen);
}

void comm_study_release(struct comm_study *s)
{
    for (size_t r = 0; s->wait != NULL && r < s->run->nranks; r++)
        intervals_release(&s->wait[r]);
    free(s->wait);
    free(s->wait_known);
    free(s->list);
    matches_release(&s->matches);
    memset(s, 0, sizeof *s);
}

/* ---- steps ---- */

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
    struct bisect find = {.high = r->nsteps};
    int64_t from_ns;
    if (job->source != STEPS_MARKED || step == STEP_NONE || job->ranks[rank].from_ns == NULL)
        return "";
    from_ns = job->ranks[rank].from_ns[step];
    while (bisect_next(&find))
        bisect_take(&find, r->steps[find.mid].start_ns < from_ns);
    return find.low < r->nsteps && r->steps[find.low].start_ns == from_ns ? r->steps[find.low].name
                                                                          : "";
}
