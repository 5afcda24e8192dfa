/* SPDX-License-Identifier: MIT */
#include "analysis/comm.h"

#include "analysis/time_breakdown.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

static bool is_comm(const struct op *op)
{
    return op->class == OP_COLL || op->class == OP_P2P;
}

/* A recorded size of 0 with elements in it, or of an unknown operation, is a size that could not be
 * computed. */
static bool bytes_known(const struct op *op)
{
    bool none = op->coll.count == 0 && op->coll.op < SPECTER_COMM_OP_COUNT;
    return !(op->flags & OP_BYTES_UNKNOWN) && (op->bytes > 0 || none);
}

static int by_group(const void *x, const void *y)
{
    const struct op *a = *(const struct op *const *)x, *b = *(const struct op *const *)y;
    return (a->coll.group > b->coll.group) - (a->coll.group < b->coll.group);
}

/* A message from a rank to itself. */
static bool is_to_itself(const struct run *run, const struct rank *rank, const struct op *op)
{
    int32_t comm = op->coll.comm, peer = op->coll.peer;
    return op->class == OP_P2P && comm >= 0 && (size_t)comm < run->ncomms && peer >= 0 &&
           peer < run->comms[comm].size && rank->rank >= 0 &&
           run->comms[comm].ranks[peer] == rank->rank;
}

/* Bytes that a rank sends to itself cross no link and are not counted. */
static void group_add(struct launch_group *g, const struct op *op, bool to_itself)
{
    bool both_p2p = op->class == OP_P2P && g->first->class == OP_P2P;
    g->ops++;
    g->mixed = g->mixed || !bytes_known(op) || op->coll.comm != g->first->coll.comm ||
               (!both_p2p && op->coll.op != g->first->coll.op);
    uint64_t *sum = op->coll.op == SPECTER_RECV ? &g->received : &g->bytes;
    if (__builtin_add_overflow(*sum, to_itself ? 0 : op->bytes, sum))
        g->mixed = true; /* damage: no number is better than a wrong one */
}

static void groups_init(struct launch_groups *groups, const struct run *run,
                        const struct rank *rank)
{
    const struct op **ops = NULL;
    size_t n = 0, cap = 0;
    for (size_t i = 0; i < rank->nops; i++) {
        if (!is_comm(&rank->ops[i]) || rank->ops[i].coll.group < 0)
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
        group_add(&groups->list[groups->count - 1], ops[i], is_to_itself(run, rank, ops[i]));
    }
    free(ops);
}

static int group_has_id(const void *key, const void *elem)
{
    int32_t id = *(const int32_t *)key;
    const struct launch_group *g = elem;
    return (id > g->id) - (id < g->id);
}

/* Fills grouped and moved_bytes from the operation that gives the instance its time. */
static void set_moved(struct comm_instance *in, const struct launch_groups *groups,
                      const struct op *op)
{
    const struct launch_group *g = NULL;
    if (op->coll.group >= 0 && groups->count > 0)
        g = bsearch(&op->coll.group, groups->list, groups->count, sizeof *g, group_has_id);
    in->grouped = g != NULL && g->ops > 1;
    in->group_ops = in->grouped ? g->ops : 1;
    if (!in->grouped)
        in->moved_bytes = in->to_itself ? 0 : in->bytes;
    else if (!g->mixed)
        in->moved_bytes = op->coll.op == SPECTER_RECV ? g->received : g->bytes;
}

static const struct op *member_op(const struct run *run, const struct match_member *m)
{
    return &run->ranks[m->rank].ops[m->op];
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

/* A member that was inside the operation longer than the data needed was waiting, at its front. */
static void add_waits(struct comm_study *s, const struct match_member *members, uint32_t n,
                      int64_t transfer_ns)
{
    int64_t start, end;
    for (uint32_t i = 0; i < n; i++) {
        if (!op_device_time(member_op(s->run, &members[i]), &start, &end))
            continue;
        intervals_add(&s->wait[members[i].rank], start, end - transfer_ns);
        s->wait_known[members[i].rank] = true;
    }
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
    add_waits(s, members, m->nmembers, in->transfer_ns);
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

static void study_all(struct study_work *w, const struct matches *m)
{
    const struct run *run = w->study->run;
    for (size_t i = 0; i < m->count; i++) {
        if (m->list[i].nmembers > 0)
            add_match(w, &m->list[i], &m->members[m->list[i].first]);
    }
    for (size_t r = 0; r < run->nranks; r++) {
        for (size_t i = 0; i < run->ranks[r].nops; i++) {
            if (is_comm(&run->ranks[r].ops[i]) && !w->seen[r][i])
                add_alone(w, (struct match_member){(uint32_t)r, (uint32_t)i});
        }
    }
}

static void work_init(struct study_work *w, struct comm_study *s)
{
    size_t groups = 0, seen = 0, flags;
    *w = (struct study_work){.study = s};
    ARRAY_GROW(w->groups, groups, s->run->nranks);
    ARRAY_GROW(w->seen, seen, s->run->nranks);
    for (size_t r = 0; r < s->run->nranks; r++) {
        flags = 0;
        groups_init(&w->groups[r], s->run, &s->run->ranks[r]);
        ARRAY_GROW(w->seen[r], flags, s->run->ranks[r].nops + 1);
    }
}

static void work_release(struct study_work *w)
{
    for (size_t r = 0; r < w->study->run->nranks; r++) {
        free(w->groups[r].list);
        free(w->seen[r]);
    }
    free(w->groups);
    free(w->seen);
}

void comm_study_init(struct comm_study *s, const struct run *run)
{
    struct study_work w;
    size_t wait = 0, known = 0;
    *s = (struct comm_study){.run = run};
    ARRAY_GROW(s->wait, wait, run->nranks);
    ARRAY_GROW(s->wait_known, known, run->nranks);
    matches_init(&s->matches, run);
    work_init(&w, s);
    study_all(&w, &s->matches);
    s->incomplete = s->matches.incomplete;
    s->inconsistent = s->matches.inconsistent;
    s->unnumbered = s->matches.unnumbered;
    for (size_t r = 0; r < run->nranks; r++)
        intervals_merge(&s->wait[r]);
    work_release(&w);
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
