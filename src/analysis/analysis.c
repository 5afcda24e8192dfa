/* SPDX-License-Identifier: MIT */
#include "analysis/analysis.h"

#include "base/buf.h"
#include "base/pool.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LISTED_RANGES 8 /* in a message about a rank that is not there */

static bool has_rank(const struct run *run, int64_t rank)
{
    bool has = rank == ANALYSIS_ALL_RANKS && run->nranks > 0;
    for (size_t i = 0; i < run->nranks; i++)
        has = has || run->ranks[i].rank == rank;
    return has;
}

static int no_such_rank(const struct run *run, int64_t rank, struct err *e)
{
    struct buf list = BUF_INIT; /* "0-3, 5, 7-9": the ranks of the run, which are sorted */
    int ranges = 0;
    for (size_t i = 0, last; i < run->nranks; i = last + 1) {
        for (last = i;
             last + 1 < run->nranks && run->ranks[last + 1].rank <= run->ranks[last].rank + 1;
             last++)
            ;
        if (ranges++ == LISTED_RANGES) {
            buf_puts(&list, ", ...");
            break;
        }
        buf_printf(&list, "%s%d", i > 0 ? ", " : "", run->ranks[i].rank);
        if (run->ranks[last].rank > run->ranks[i].rank)
            buf_printf(&list, "-%d", run->ranks[last].rank);
    }
    err_set(e, ERR_INPUT, "no rank %lld in '%s': it holds rank%s %s", (long long)rank, run->source,
            run->nranks == 1 ? "" : "s", list.data);
    buf_release(&list);
    return -1;
}

static void add_rank(struct analysis *a, size_t index)
{
    const struct rank *rank = &a->run->ranks[index];
    const struct intervals *wait = a->comm.wait_known[index] ? &a->comm.wait[index] : NULL;
    const struct step_window *window = &a->step_time.windows[index];
    ARRAY_GROW(a->ranks, a->cap_ranks, a->nranks + 1);
    struct rank_result *r = &a->ranks[a->nranks++];
    r->rank = rank;
    r->arrival = &a->stragglers.arrivals[index];
    time_breakdown_init(&r->breakdown, rank, wait, window);
    time_breakdown_init(&r->recorded, rank, NULL, NULL);
    time_breakdown_add(&a->total, &r->breakdown);
    a->ntimed += r->breakdown.timed_ops > 0;
    work_add_rank(&a->work, rank);
    other_work_add_rank(&a->other_work, rank);
    steps_add_rank(&a->steps, a->run, index, &a->job_steps);
    streams_add_rank(&a->idle, &a->launches, &a->queues, rank, window);
    a->gemm_sample = rank->gemm_sample > a->gemm_sample ? rank->gemm_sample : a->gemm_sample;
    a->coverage &= rank->coverage;
}

/* Empties what is added up over the selected ranks. */
static void begin_ranks(struct analysis *a)
{
    a->ranks = NULL;
    a->nranks = a->cap_ranks = a->ntimed = 0;
    a->total = (struct time_breakdown){0};
    a->coverage = ~0u;
    a->gemm_sample = 1;
    work_init(&a->work);
    other_work_init(&a->other_work);
    a->idle = (struct idle){0};
    a->launches = (struct launch_table){0};
    a->queues = (struct queue_table){0};
    a->steps = (struct steps){0};
}

static void finish_ranks(struct analysis *a)
{
    work_finish(&a->work);
    other_work_finish(&a->other_work);
    steps_finish(&a->steps, a->run, &a->job_steps, &a->step_time);
}

static void release_ranks(struct analysis *a)
{
    work_release(&a->work);
    other_work_release(&a->other_work);
    streams_release(&a->idle, &a->launches, &a->queues);
    steps_release(&a->steps);
    free(a->ranks);
}

void analysis_of_rank(struct analysis *out, const struct analysis *a, size_t index)
{
    *out = *a;
    begin_ranks(out);
    add_rank(out, (size_t)(a->ranks[index].rank - a->run->ranks));
    finish_ranks(out);
}

void analysis_of_rank_release(struct analysis *out)
{
    release_ranks(out);
    memset(out, 0, sizeof *out);
}

int analysis_init(struct analysis *a, const struct run *run, int64_t rank, struct err *e)
{
    return analysis_init_on(a, run, rank, NULL, NULL, e);
}

/* ---- two jobs at once ----
 *
 * Both read what was found before. One writes ranks, sums over them, work, other_work, steps, idle,
 * launches and queues; the other bubbles and critical. */

struct analysis_work {
    struct analysis *a;
    int64_t rank; /* ANALYSIS_ALL_RANKS: all */
};

static void analyse_part(void *arg, size_t part)
{
    const struct analysis_work *w = arg;
    struct analysis *a = w->a;
    if (part == 0) {
        for (size_t i = 0; i < a->run->nranks; i++) {
            if (w->rank == ANALYSIS_ALL_RANKS || a->run->ranks[i].rank == w->rank)
                add_rank(a, i);
        }
        finish_ranks(a);
    } else {
        bubbles_init(&a->bubbles, a->run, &a->comm.matches, &a->job_steps);
        critical_init(&a->critical, a->run, &a->comm.matches, &a->job_steps, &a->step_time);
    }
}

int analysis_init_on(struct analysis *a, const struct run *run, int64_t rank,
                     const struct gpu_profile *gpu, const struct network_profile *net,
                     struct err *e)
{
    struct comm_context context = {&a->machine, &a->node_map};
    memset(a, 0, sizeof *a);
    if (!has_rank(run, rank))
        return no_such_rank(run, rank, e);
    a->run = run;
    begin_ranks(a);
    job_steps_find(&a->job_steps, run);
    step_time_measure(&a->step_time, &a->job_steps, run);
    machine_find(&a->machine, run, gpu, net);
    node_map_init(&a->node_map, run, a->machine.net);
    comm_study_init(&a->comm, run);
    comm_rows_init(&a->collectives, &a->comm, &context, COMM_ROWS_COLLECTIVES);
    comm_rows_init(&a->collectives_named, &a->comm, &context, COMM_ROWS_COLLECTIVES_BY_NAME);
    comm_rows_init(&a->p2p, &a->comm, &context, COMM_ROWS_MESSAGES);
    traffic_init(&a->traffic, &a->comm, &a->node_map, &a->job_steps);
    alltoalls_init(&a->alltoalls, &a->comm);
    stragglers_init(&a->stragglers, &a->comm, &a->job_steps);
    hangs_find(&a->hangs, run);
    pool_run(pool_cpus(), 2, analyse_part, &(struct analysis_work){a, rank}, NULL);
    return 0;
}

void analysis_release(struct analysis *a)
{
    comm_rows_release(&a->collectives);
    comm_rows_release(&a->collectives_named);
    comm_rows_release(&a->p2p);
    stragglers_release(&a->stragglers);
    comm_study_release(&a->comm);
    node_map_release(&a->node_map);
    traffic_release(&a->traffic);
    alltoalls_release(&a->alltoalls);
    bubbles_release(&a->bubbles);
    critical_release(&a->critical);
    hangs_release(&a->hangs);
    release_ranks(a);
    job_steps_release(&a->job_steps);
    step_time_release(&a->step_time);
    memset(a, 0, sizeof *a);
}

bool analysis_timed(const struct analysis *a)
{
    return a->total.timed_ops > 0;
}

double analysis_mean_ns(const struct analysis *a, int64_t sum_ns)
{
    return a->ntimed > 0 ? (double)sum_ns / (double)a->ntimed : 0;
}

bool analysis_has_names(const struct analysis *a)
{
    const char *first = NULL;
    for (size_t i = 0; i < a->run->ncomms; i++) {
        const char *name = a->run->comms[i].name;
        if (name == NULL || name[0] == '\0')
            continue;
        if (first != NULL && strcmp(first, name) != 0)
            return true;
        first = name;
    }
    return false;
}

struct analysis_verdict analysis_verdict(const struct analysis *a)
{
    static const enum bound of_kind[PATH_KIND_COUNT] = {
        [PATH_COMPUTE] = BOUND_COMPUTE, [PATH_COMM] = BOUND_COMM,
        [PATH_P2P] = BOUND_COMM,        [PATH_MEMORY] = BOUND_COPIES,
        [PATH_GRAPH] = BOUND_COMPUTE,   [PATH_UNTIMED] = BOUND_COMPUTE,
        [PATH_HOST] = BOUND_HOST,       [PATH_LAUNCH] = BOUND_HOST,
    };
    const struct time_breakdown *s = &a->total;
    const double time[BOUNDS] = {[BOUND_COMPUTE] = (double)s->compute_ns,
                                 [BOUND_COMM] = (double)s->exposed_comm_ns,
                                 [BOUND_COPIES] = (double)s->exposed_memory_ns,
                                 [BOUND_HOST] = (double)s->idle_ns};
    double path[BOUNDS] = {0}, waiting = share_of(s->exposed_wait_ns, s->exposed_comm_ns);
    struct analysis_verdict v = {.time = bound_of(time), .path_share = NAN};
    v.path = v.time;
    if (a->critical.why != NULL || a->critical.length.all_ns <= 0)
        return v;
    for (int k = 0; k < PATH_UNEXPLAINED; k++)
        path[of_kind[k]] += (double)path_kind_sum(&a->critical, (enum path_kind)k).all_ns;
    v.path = bound_of(path);
    if ((double)path_kind_sum(&a->critical, PATH_UNEXPLAINED).all_ns >= path[v.path]) {
        v.path = v.time;
        return v;
    }
    v.path_share = path[v.path] / (double)a->critical.length.all_ns;
    v.why = bound_why(v.time, v.path, a->coverage & COVER_DEPS, s->wait_known ? waiting : NAN);
    return v;
}

double analysis_comm_share(const struct analysis *a, const struct comm_row *row)
{
    double members = (double)row->records / (double)row->count;
    return row->mean_ns * (double)row->timed * members / (double)run_recorded_ranks(a->run) /
           analysis_mean_ns(a, a->total.recorded_ns);
}

double share_of(int64_t part_ns, int64_t whole_ns)
{
    return whole_ns > 0 ? (double)part_ns / (double)whole_ns : NAN;
}
