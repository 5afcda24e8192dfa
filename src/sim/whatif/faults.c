/* SPDX-License-Identifier: MIT
 *
 * Slow ranks, slow links and failed NICs. Replicas are alike: a fault of one that is not
 * simulated is given to the simulated one, for which all others wait as they would for that one.
 */
#include "sim/whatif/whatif_job.h"

#include <math.h>

static bool is_link(const struct whatif_fault *f)
{
    return f->kind == FAULT_SLOW_LINK || f->kind == FAULT_NO_NIC;
}

/* Ranks or nodes of a job of so many GPUs, of which a fault names one. */
static int64_t places(const struct whatif *v, const struct whatif_fault *f, int64_t gpus)
{
    if (f->kind == FAULT_SLOW_RANK)
        return gpus;
    return placement_nodes(&v->growth->target, v->net, gpus);
}

/* Ranks among which those of a fault are: first, first + step, ... below end. */
struct rank_range {
    int64_t first, end, step;
};

static struct rank_range range_of(const struct whatif *v, const struct whatif_fault *f,
                                  int64_t gpus)
{
    const struct placement *p = &v->growth->target;
    int64_t n = placement_per_node(p, v->net);
    struct rank_range at = {f->where, f->where + 1, 1};
    if (f->kind != FAULT_SLOW_RANK && p->kind == PLACE_BLOCK)
        at = (struct rank_range){f->where * n, (f->where + 1) * n, 1};
    else if (f->kind != FAULT_SLOW_RANK && p->kind == PLACE_CYCLIC)
        at = (struct rank_range){f->where, gpus, places(v, f, gpus)};
    else if (f->kind != FAULT_SLOW_RANK)
        at = (struct rank_range){0, p->count, 1};
    at.end = at.end < gpus ? at.end : gpus;
    return at;
}

static bool is_about(const struct whatif *v, const struct whatif_fault *f, int64_t rank,
                     int64_t gpus)
{
    return f->kind == FAULT_SLOW_RANK ||
           placement_node(&v->growth->target, v->net, rank, gpus) == f->where;
}

/* ---- may it be asked for ---- */

/* NICs of the node of faults[i] that do not work, by all that is said of it. */
static double failed_nics(const struct whatif_opts *opts, size_t i)
{
    double failed = 0;
    for (size_t k = 0; k < opts->nfaults; k++) {
        if (opts->faults[k].kind == FAULT_NO_NIC && opts->faults[k].where == opts->faults[i].where)
            failed += (double)opts->faults[k].count;
    }
    return failed;
}

static int check_nics(const struct whatif_opts *opts, size_t i, const struct network_profile *net,
                      struct err *e)
{
    const struct whatif_fault *f = &opts->faults[i];
    if (!is_link(f))
        return 0;
    if (!(net->nics_per_node >= 1))
        return err_set(e, ERR_USAGE, "'%s': a node of network '%s' has no NIC", f->text, net->name);
    if (failed_nics(opts, i) >= net->nics_per_node)
        return err_set(e, ERR_USAGE, "'%s': a node of network '%s' has %g NICs, none would be left",
                       f->text, net->name, net->nics_per_node);
    return 0;
}

int faults_check(struct whatif *v, const int64_t *scales, size_t n, struct err *e)
{
    const struct network_profile *net = v->net;
    int64_t most = 1;
    for (size_t i = 0; i < n; i++)
        most = scales[i] > most ? scales[i] : most;
    for (size_t i = 0; i < v->opts.nfaults; i++) {
        const struct whatif_fault *f = &v->opts.faults[i];
        int64_t there = places(v, f, most * v->world);
        if (f->where >= there)
            return err_set(e, ERR_USAGE, "'%s': the largest job has %s 0 to %lld", f->text,
                           f->kind == FAULT_SLOW_RANK ? "ranks" : "nodes", (long long)there - 1);
        if (check_nics(&v->opts, i, net, e) < 0)
            return -1;
    }
    return 0;
}

/* ---- where it is ---- */

/* All that is wrong with the links of the node of faults[i]. */
static double node_slowness(const struct whatif_opts *opts, size_t i,
                            const struct network_profile *net)
{
    double slow = 1, failed = failed_nics(opts, i);
    for (size_t k = 0; k < opts->nfaults; k++) {
        if (opts->faults[k].kind == FAULT_SLOW_LINK &&
            opts->faults[k].where == opts->faults[i].where)
            slow *= opts->faults[k].slow;
    }
    return failed > 0 ? slow * net->nics_per_node / (net->nics_per_node - failed) : slow;
}

static void place(struct whatif *v, size_t i, int64_t scale)
{
    const struct whatif_fault *f = &v->opts.faults[i];
    double slow = is_link(f) ? node_slowness(&v->opts, i, v->net) : f->slow;
    double *list = is_link(f) ? v->slow_link : v->slow_work;
    int64_t gpus = scale * v->world;
    struct rank_range at = range_of(v, f, gpus);
    v->placed[i] = f->where < places(v, f, gpus);
    for (int64_t r = at.first; v->placed[i] && r < at.end; r += at.step) {
        int kind = weak_scaling_kind(v->growth, r, scale);
        if (is_about(v, f, r, gpus))
            list[kind] = fmax(list[kind], slow);
    }
    v->has_slow_links = v->has_slow_links || (v->placed[i] && is_link(f));
    v->has_slow_ranks = v->has_slow_ranks || (v->placed[i] && !is_link(f));
}

double faults_host_slowness(const struct whatif *v, size_t r)
{
    int rank = v->program->run->ranks[r].rank;
    bool known = v->has_slow_ranks && rank >= 0 && rank < v->world;
    return known ? v->slow_work[rank] : 1;
}

void faults_set_hosts(const struct whatif *v, size_t r, double slow)
{
    const struct program_rank *rank = &v->program->ranks[r];
    for (uint32_t h = 0; h < rank->nhosts; h++)
        sim_set_host_speed(v->program->sim, rank->first_host + h, v->host_speed / slow);
}

/* A process with several ranks issues for all of them as slowly as for the slowest. */
static void set_hosts(struct whatif *v)
{
    for (size_t r = 0; r < v->program->run->nranks; r++)
        faults_set_hosts(v, r, 1);
    for (size_t r = 0; r < v->program->run->nranks; r++) {
        if (faults_host_slowness(v, r) > 1)
            faults_set_hosts(v, r, faults_host_slowness(v, r));
    }
}

void faults_place(struct whatif *v, bool faulty, double host_speed, struct retarget *t)
{
    v->host_speed = host_speed > 0 ? host_speed : 1;
    if (v->opts.nfaults == 0)
        return;
    v->has_slow_links = v->has_slow_ranks = false;
    for (int r = 0; r < v->world; r++)
        v->slow_work[r] = v->slow_link[r] = 1;
    for (size_t i = 0; i < v->opts.nfaults && faulty; i++)
        place(v, i, t->scale);
    t->slow_link = v->has_slow_links ? v->slow_link : NULL;
    set_hosts(v);
}

bool faults_are_placed(const struct whatif *v)
{
    return v->has_slow_links || v->has_slow_ranks;
}

int64_t faults_slowed(const struct whatif *v, size_t cost, int64_t ns)
{
    const struct program_cost *c;
    if (!v->has_slow_ranks)
        return ns;
    c = &v->program->costs[cost];
    return c->match != PROGRAM_NONE ? ns : llround((double)ns * faults_host_slowness(v, c->rank));
}

int64_t faults_note_cost(struct whatif *v, size_t cost, int64_t ns)
{
    if (v->base_ns != NULL)
        v->base_ns[cost] = ns;
    return faults_slowed(v, cost, ns);
}
