/* SPDX-License-Identifier: MIT
 *
 * Slow ranks, slow links and failed NICs. Replicas are alike: what is wrong with one of them that
 * is not simulated is wrong with the simulated one, for which all others wait as they would for
 * that one.
 */
#include "sim/job.h"
#include "sim/say.h"

#include <math.h>

static int per_node(const struct network_profile *net)
{
    return net->gpus_per_node >= 1 ? (int)net->gpus_per_node : 1;
}

static bool is_link(const struct vary_fault *f)
{
    return f->kind == FAULT_SLOW_LINK || f->kind == FAULT_NO_NIC;
}

/* First rank that a fault is about, and how many there are. */
static int64_t ranks_of(const struct vary_fault *f, const struct network_profile *net, int64_t gpus,
                        int64_t *first)
{
    int64_t n = f->kind == FAULT_SLOW_RANK ? 1 : per_node(net);
    if (f->where > (gpus - 1) / n)
        return 0;
    *first = f->where * n;
    return *first + n > gpus ? gpus - *first : n;
}

/* ---- may it be asked for ---- */

static int check_nics(const struct vary_fault *f, const struct network_profile *net, struct err *e)
{
    if (!is_link(f))
        return 0;
    if (!(net->nics_per_node >= 1))
        return err_set(e, ERR_USAGE, "'%s': a node of network '%s' has no NIC", f->text, net->name);
    if (f->kind == FAULT_NO_NIC && (double)f->count >= net->nics_per_node)
        return err_set(e, ERR_USAGE, "'%s': a node of network '%s' has %g NICs, none would be left",
                       f->text, net->name, net->nics_per_node);
    return 0;
}

int vary_check_faults(struct job *job, const int64_t *scales, size_t n, struct err *e)
{
    const struct network_profile *net = job->rep->to.network;
    int64_t most = 1, first;
    for (size_t i = 0; i < n; i++)
        most = scales[i] > most ? scales[i] : most;
    for (size_t i = 0; i < job->vary.opts.nfaults; i++) {
        const struct vary_fault *f = &job->vary.opts.faults[i];
        int64_t gpus = most * job->rep->world, nodes = (gpus - 1) / per_node(net) + 1;
        bool rank = f->kind == FAULT_SLOW_RANK;
        if (ranks_of(f, net, gpus, &first) == 0)
            return err_set(e, ERR_USAGE, "'%s': the largest job has %s 0 to %lld", f->text,
                           rank ? "ranks" : "nodes", (long long)((rank ? gpus : nodes) - 1));
        if (check_nics(f, net, e) < 0)
            return -1;
    }
    return 0;
}

/* ---- where it is ---- */

static double slowness(const struct vary_fault *f, const struct network_profile *net)
{
    if (f->kind == FAULT_NO_NIC)
        return net->nics_per_node / (net->nics_per_node - (double)f->count);
    return f->slow;
}

/* All that is wrong with the links of the node of faults[i]. */
static double node_slowness(const struct vary_opts *opts, size_t i,
                            const struct network_profile *net)
{
    double slow = 1;
    for (size_t k = 0; k < opts->nfaults; k++) {
        if (is_link(&opts->faults[k]) && opts->faults[k].where == opts->faults[i].where)
            slow *= slowness(&opts->faults[k], net);
    }
    return slow;
}

static void place(struct job *job, size_t i, const struct network_profile *net, int64_t scale)
{
    struct vary_job *v = &job->vary;
    const struct vary_fault *f = &v->opts.faults[i];
    double slow = is_link(f) ? node_slowness(&v->opts, i, net) : f->slow;
    double *list = is_link(f) ? v->slow_link : v->slow_work;
    int64_t first = 0, n = ranks_of(f, net, scale * job->rep->world, &first);
    v->placed[i] = n > 0;
    for (int64_t r = first; r < first + n; r++) {
        int kind = growth_kind(&job->growth, r, scale);
        list[kind] = fmax(list[kind], slow);
    }
    v->wrong_link = v->wrong_link || (n > 0 && is_link(f));
    v->wrong_work = v->wrong_work || (n > 0 && !is_link(f));
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

void vary_say_absent(struct job *job, int64_t gpus)
{
    for (size_t i = 0; i < job->vary.opts.nfaults; i++) {
        if (!job->vary.placed[i])
            replay_note(job->rep, false, "'%s' is not in the job of %lld GPUs",
                        job->vary.opts.faults[i].text, (long long)gpus);
    }
}

void vary_say_faults(struct job *job, const struct retarget *faulty, double sound_ns,
                     double wrong_ns)
{
    struct replay *rep = job->rep;
    int64_t gpus = faulty->scale * rep->world;
    bool one_node = gpus <= per_node(rep->to.network);
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
