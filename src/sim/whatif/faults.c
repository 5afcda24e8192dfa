/* SPDX-License-Identifier: MIT
 *
 * Slow ranks, slow links and failed NICs. Replicas are alike: what is wrong with one of them that
 * is not simulated is wrong with the simulated one, for which all others wait as they would for
 * that one.
 */
#include "sim/replay/job.h"
#include "sim/replay/notes.h"

#include <math.h>

static bool is_link(const struct vary_fault *f)
{
    return f->kind == FAULT_SLOW_LINK || f->kind == FAULT_NO_NIC;
}

/* Ranks or nodes of a job of so many GPUs, of which a fault names one. */
static int64_t places(const struct job *job, const struct vary_fault *f, int64_t gpus)
{
    if (f->kind == FAULT_SLOW_RANK)
        return gpus;
    return placement_nodes(&job->growth.target, job->rep->to.network, gpus);
}

/* Ranks among which those of a fault are: first, first + step, ... below end. */
struct stretch_of_ranks {
    int64_t first, end, step;
};

static struct stretch_of_ranks stretch_of(const struct job *job, const struct vary_fault *f,
                                          int64_t gpus)
{
    const struct placement *p = &job->growth.target;
    int64_t n = placement_per_node(p, job->rep->to.network);
    struct stretch_of_ranks at = {f->where, f->where + 1, 1};
    if (f->kind != FAULT_SLOW_RANK && p->kind == PLACE_BLOCK)
        at = (struct stretch_of_ranks){f->where * n, (f->where + 1) * n, 1};
    else if (f->kind != FAULT_SLOW_RANK && p->kind == PLACE_CYCLIC)
        at = (struct stretch_of_ranks){f->where, gpus, places(job, f, gpus)};
    else if (f->kind != FAULT_SLOW_RANK)
        at = (struct stretch_of_ranks){0, p->count, 1};
    at.end = at.end < gpus ? at.end : gpus;
    return at;
}

static bool is_about(const struct job *job, const struct vary_fault *f, int64_t rank, int64_t gpus)
{
    return f->kind == FAULT_SLOW_RANK ||
           placement_node(&job->growth.target, job->rep->to.network, rank, gpus) == f->where;
}

/* ---- may it be asked for ---- */

/* NICs of the node of faults[i] that do not work, by all that is said of it. */
static double failed_nics(const struct vary_opts *opts, size_t i)
{
    double failed = 0;
    for (size_t k = 0; k < opts->nfaults; k++) {
        if (opts->faults[k].kind == FAULT_NO_NIC && opts->faults[k].where == opts->faults[i].where)
            failed += (double)opts->faults[k].count;
    }
    return failed;
}

static int check_nics(const struct vary_opts *opts, size_t i, const struct network_profile *net,
                      struct err *e)
{
    const struct vary_fault *f = &opts->faults[i];
    if (!is_link(f))
        return 0;
    if (!(net->nics_per_node >= 1))
        return err_set(e, ERR_USAGE, "'%s': a node of network '%s' has no NIC", f->text, net->name);
    if (failed_nics(opts, i) >= net->nics_per_node)
        return err_set(e, ERR_USAGE, "'%s': a node of network '%s' has %g NICs, none would be left",
                       f->text, net->name, net->nics_per_node);
    return 0;
}

int vary_check_faults(struct job *job, const int64_t *scales, size_t n, struct err *e)
{
    const struct network_profile *net = job->rep->to.network;
    int64_t most = 1;
    for (size_t i = 0; i < n; i++)
        most = scales[i] > most ? scales[i] : most;
    for (size_t i = 0; i < job->vary.opts.nfaults; i++) {
        const struct vary_fault *f = &job->vary.opts.faults[i];
        int64_t there = places(job, f, most * job->rep->world);
        if (f->where >= there)
            return err_set(e, ERR_USAGE, "'%s': the largest job has %s 0 to %lld", f->text,
                           f->kind == FAULT_SLOW_RANK ? "ranks" : "nodes", (long long)there - 1);
        if (check_nics(&job->vary.opts, i, net, e) < 0)
            return -1;
    }
    return 0;
}

/* ---- where it is ---- */

/* All that is wrong with the links of the node of faults[i]. */
static double node_slowness(const struct vary_opts *opts, size_t i,
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

static void place(struct job *job, size_t i, const struct network_profile *net, int64_t scale)
{
    struct vary_job *v = &job->vary;
    const struct vary_fault *f = &v->opts.faults[i];
    double slow = is_link(f) ? node_slowness(&v->opts, i, net) : f->slow;
    double *list = is_link(f) ? v->slow_link : v->slow_work;
    int64_t gpus = scale * job->rep->world;
    struct stretch_of_ranks at = stretch_of(job, f, gpus);
    v->placed[i] = f->where < places(job, f, gpus);
    for (int64_t r = at.first; v->placed[i] && r < at.end; r += at.step) {
        int kind = growth_kind(&job->growth, r, scale);
        if (is_about(job, f, r, gpus))
            list[kind] = fmax(list[kind], slow);
    }
    v->wrong_link = v->wrong_link || (v->placed[i] && is_link(f));
    v->wrong_work = v->wrong_work || (v->placed[i] && !is_link(f));
}

double vary_host_slowness(const struct job *job, size_t r)
{
    int rank = job->program.run->ranks[r].rank;
    bool known = job->vary.wrong_work && rank >= 0 && rank < job->rep->world;
    return known ? job->vary.slow_work[rank] : 1;
}

void vary_set_hosts(const struct job *job, size_t r, double slow)
{
    const struct program_rank *rank = &job->program.ranks[r];
    for (uint32_t h = 0; h < rank->nhosts; h++)
        sim_set_host_speed(job->program.sim, rank->first_host + h, job->vary.host_speed / slow);
}

/* A process with several ranks issues for all of them as slowly as for the slowest. */
static void set_hosts(struct job *job)
{
    for (size_t r = 0; r < job->rep->nranks; r++)
        vary_set_hosts(job, r, 1);
    for (size_t r = 0; r < job->rep->nranks; r++) {
        if (vary_host_slowness(job, r) > 1)
            vary_set_hosts(job, r, vary_host_slowness(job, r));
    }
}

void vary_place_faults(struct job *job, const struct target *target, struct retarget *t)
{
    struct vary_job *v = &job->vary;
    v->host_speed = target->host_speed > 0 ? target->host_speed : 1;
    if (v->opts.nfaults == 0)
        return;
    v->wrong_link = v->wrong_work = false;
    for (int r = 0; r < job->rep->world; r++)
        v->slow_work[r] = v->slow_link[r] = 1;
    for (size_t i = 0; i < v->opts.nfaults && target->faulty; i++)
        place(job, i, target->to.network, target->scale);
    t->slow_link = v->wrong_link ? v->slow_link : NULL;
    set_hosts(job);
}

bool vary_faulty(const struct job *job)
{
    return job->vary.wrong_link || job->vary.wrong_work;
}

int64_t vary_slowed(const struct job *job, size_t cost, int64_t ns)
{
    const struct program_cost *c = &job->program.costs[cost];
    if (!job->vary.wrong_work || c->match != PROGRAM_NONE)
        return ns;
    return llround((double)ns * vary_host_slowness(job, c->rank));
}

int64_t vary_note_cost(struct job *job, size_t cost, int64_t ns)
{
    if (job->vary.base_ns != NULL)
        job->vary.base_ns[cost] = ns;
    return vary_slowed(job, cost, ns);
}

/* ---- what is said ---- */

size_t vary_say_absent(struct job *job, int64_t gpus)
{
    size_t absent = 0;
    for (size_t i = 0; i < job->vary.opts.nfaults; i++) {
        if (job->vary.placed[i])
            continue;
        replay_note(job->rep, false, "'%s' is not in the job of %lld GPUs",
                    job->vary.opts.faults[i].text, (long long)gpus);
        absent++;
    }
    return absent;
}

void vary_say_faults(struct job *job, const struct retarget *faulty, double sound_ns,
                     double wrong_ns)
{
    struct replay *rep = job->rep;
    int64_t gpus = faulty->scale * rep->world;
    bool one_node = placement_nodes(&job->growth.target, rep->to.network, gpus) == 1;
    bool links = faulty->slow_link != NULL;
    rep->topic = TOPIC_VARIATION;
    if (wrong_ns > sound_ns) {
        replay_assume(rep, "%lld GPUs: what is wrong makes the iteration %.1f %% longer",
                      (long long)gpus, 100 * (wrong_ns / sound_ns - 1));
    } else if (links && faulty->slowed == 0) {
        replay_note(rep, false, "%lld GPUs: slow links change nothing: %s", (long long)gpus,
                    one_node
                        ? "the job sits on one node"
                        : "no communicator of the ranks beside them has members on other nodes");
    } else {
        replay_note(rep, false,
                    "%lld GPUs: what is wrong changes nothing: it is not on the critical path, "
                    "others are waited for longer",
                    (long long)gpus);
    }
}
