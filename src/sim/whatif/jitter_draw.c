/* SPDX-License-Identifier: MIT
 *
 * Iteration times under variation: every draw is a simulation in which each operation takes its
 * mean over the recorded iterations times a factor of its own. Where ranks are missing there are
 * two rounds of draws: the first tells how late simulated ranks come by themselves to each
 * collective with missing members, the second makes them as late as the latest of their likes.
 *
 * Drawn is the mean of the recorded times x a lognormal factor of mean 1 (random.h). A simulated
 * member of m stands for n/m - 1 others of n. L is how late it comes, from the end of the last
 * collective with missing members on its path. The first round gives mean mu and standard deviation
 * s of L; in the second it comes at max(L, mu + s z), Phi(z)^(n/m-1) = u, u uniform, one for a
 * replica and parent. Short sums keep their skewness (shifted lognormal); lasting differences add
 * (spread x computation)^2 to s^2.
 */
#include "base/order.h"
#include "base/stats.h"
#include "sim/whatif/whatif.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- arrivals: where simulated ranks meet ranks that are not simulated ----
 *
 * That is in a collective whose communicator has more members than joined it. Each simulated member
 * stands for itself and for `others` like it, and must come as late as the latest of these.
 *
 * A member comes when the events that its stream was told to await are over. Time still spent on
 * the previous arrival does not count: all members wait for that one together.
 *
 * An arrival's parent is the arrival before it on the path that decides when the member comes (in
 * the simulation without variation): there all were together last. So the time from the parent's
 * end to the member's arrival is what varies independently between a rank and its likes. The
 * carrier is the computation, or the transfer within the replica, on that path that ended last:
 * the rank's additional time is added to it, so that it is overlapped wherever later work would be.
 */

struct jitter_arrival {
    uint32_t rank, item, transfer;
    uint32_t ready;   /* item: at its end the member is there, but for arrivals in its stream;
                         SIM_NONE: at its own start */
    uint32_t parent;  /* transfer; JITTER_NONE: the path leads to the beginning of all */
    uint32_t carrier; /* cost, of an operation or a transfer; JITTER_NONE: only hosts on the path */
    uint32_t before;  /* the arrival whose carrier comes last before this one's; JITTER_NONE */
    uint32_t epoch;   /* of the rank: grows with its parents */
    uint32_t first;   /* arrivals of one transfer lie side by side: the first of them, */
    uint32_t members; /* and how many */
    int64_t start_ns; /* of the transfer, without variation */
    double others;
    double work_ns, work2, work3; /* computation on the path; sums of squares and cubes of it */
    double slow_ns;               /* by how much slow ranks make it longer (--straggler) */
};

struct jitter_arrivals {
    struct jitter_arrival *list; /* owned; in the order of start */
    size_t count, cap;
};

/* Members that each of those found stands for beside itself. Of data that go one way not all wait
 * for the latest. */
static double others_of(const struct whatif *v, const struct retarget *t, uint32_t match)
{
    const struct match *m = &v->program->matches.list[match];
    if (specter_comm_op_is_p2p((enum specter_comm_op)m->op) || m->nmembers == 0 ||
        v->program->run->comms[m->comm].size == 0 || v->program->one_ways[match].span > 0)
        return 0;
    return (double)t->to_where[m->comm].ranks / m->nmembers - 1;
}

static void add_arrivals(struct jitter_arrivals *out, const struct whatif *v, uint32_t match,
                         double others)
{
    const struct program *p = v->program;
    const struct match *m = &p->matches.list[match];
    struct sim_span span = sim_transfer_span(p->sim, match);
    ARRAY_GROW(out->list, out->cap, out->count + m->nmembers);
    for (uint32_t i = 0; i < m->nmembers && span.start_ns >= 0; i++) {
        struct match_member who = p->matches.members[m->first + i];
        out->list[out->count++] = (struct jitter_arrival){
            .rank = who.rank,
            .item = p->ranks[who.rank].item[who.op],
            .transfer = match,
            .parent = JITTER_NONE,
            .carrier = JITTER_NONE,
            .before = JITTER_NONE,
            .start_ns = span.start_ns,
            .others = others,
        };
    }
}

static int by_start(const void *pa, const void *pb)
{
    const struct jitter_arrival *a = pa, *b = pb;
    if (a->start_ns != b->start_ns)
        return ORDER(a->start_ns, b->start_ns);
    return a->transfer != b->transfer ? ORDER(a->transfer, b->transfer) : ORDER(a->rank, b->rank);
}

/* The owners of the program's items and transfers, for following paths. */
struct path_index {
    const struct whatif *v;
    bool *arrivals;        /* [matches] members are missing */
    uint32_t *cost_of;     /* [items] JITTER_NONE */
    uint32_t *transfer_of; /* [matches] cost */
    uint32_t *carries;     /* [ncosts] the last arrival that it is the carrier of */
};

static uint32_t *list_of_none(size_t n)
{
    uint32_t *list = array_new(n, sizeof *list);
    for (size_t i = 0; i < n; i++)
        list[i] = JITTER_NONE;
    return list;
}

static void path_index_init(struct path_index *w, const struct whatif *v)
{
    const struct program *p = v->program;
    size_t items = 0;
    for (size_t i = 0; i < p->ncosts; i++) {
        if (p->costs[i].match == PROGRAM_NONE && p->costs[i].target >= items)
            items = (size_t)p->costs[i].target + 1;
    }
    *w = (struct path_index){.v = v, .cost_of = list_of_none(items)};
    w->transfer_of = list_of_none(p->matches.count);
    w->carries = list_of_none(p->ncosts);
    w->arrivals = array_new(p->matches.count, sizeof *w->arrivals);
    for (size_t i = 0; i < p->ncosts; i++) {
        uint32_t *of = p->costs[i].match == PROGRAM_NONE ? w->cost_of : w->transfer_of;
        of[p->costs[i].target] = (uint32_t)i;
    }
}

static void pass(const struct path_index *w, struct jitter_arrival *arrival, uint32_t cost)
{
    if (arrival->carrier == JITTER_NONE)
        arrival->carrier = cost;
    if (arrival->before == JITTER_NONE)
        arrival->before = w->carries[cost];
}

static void follow(const struct path_index *w, struct jitter_arrival *arrival)
{
    const struct sim *sim = w->v->program->sim;
    struct sim_path path = sim_path_from_start(sim, arrival->item);
    struct sim_step step;
    arrival->ready = sim_awaited(sim, arrival->item);
    if (arrival->ready != SIM_NONE)
        path = sim_path_from_item(sim, arrival->ready);
    while (arrival->parent == JITTER_NONE && sim_path(sim, &path, &step)) {
        if (step.kind == SIM_STEP_WORK) {
            uint32_t cost = w->cost_of[step.who];
            int64_t ns = step.end_ns - step.start_ns;
            pass(w, arrival, cost);
            arrival->work_ns += (double)ns;
            arrival->work2 += pow((double)ns, 2);
            arrival->work3 += pow((double)ns, 3);
            arrival->slow_ns += (double)(faults_slowed(w->v, cost, ns) - ns);
        } else if (step.kind == SIM_STEP_TRANSFER && w->arrivals[step.who]) {
            arrival->parent = step.who;
        } else if (step.kind == SIM_STEP_TRANSFER) {
            pass(w, arrival, w->transfer_of[step.who]);
        }
    }
}

/* The program has run without variation, with causes kept. */
static void arrivals_find(struct jitter_arrivals *m, const struct whatif *v,
                          const struct retarget *t)
{
    struct path_index w;
    size_t nranks = v->program->run->nranks;
    uint32_t *parent = list_of_none(nranks), *epoch = array_new(nranks, sizeof *epoch);
    memset(m, 0, sizeof *m);
    path_index_init(&w, v);
    for (uint32_t i = 0; i < v->program->matches.count; i++) {
        double others = others_of(v, t, i);
        w.arrivals[i] = others > 0;
        if (others > 0)
            add_arrivals(m, v, i, others);
    }
    if (m->count > 0)
        qsort(m->list, m->count, sizeof *m->list, by_start);
    /* Arrivals are grouped by transfer on the way, and the epochs of each rank are counted. */
    for (size_t i = 0, first = 0; i < m->count; i++) {
        struct jitter_arrival *arrival = &m->list[i];
        if (arrival->transfer != m->list[first].transfer)
            first = i;
        arrival->first = (uint32_t)first;
        m->list[first].members = (uint32_t)(i - first) + 1;
        follow(&w, arrival);
        if (arrival->carrier != JITTER_NONE)
            w.carries[arrival->carrier] = (uint32_t)i;
        epoch[arrival->rank] += arrival->parent != parent[arrival->rank];
        parent[arrival->rank] = arrival->parent;
        arrival->epoch = epoch[arrival->rank];
    }
    free(parent);
    free(epoch);
    free(w.arrivals);
    free(w.cost_of);
    free(w.transfer_of);
    free(w.carries);
}

/* Returns the time from the end of the parent to the arrival of the member, in the last run. */
static double arrival_lateness(const struct jitter_arrival *arrival, const struct whatif *v)
{
    const struct sim *sim = v->program->sim;
    int64_t from_ns = 0;
    if (arrival->parent != JITTER_NONE)
        from_ns = sim_transfer_span(sim, arrival->parent).end_ns;
    if (arrival->ready != SIM_NONE)
        return (double)(sim_span(sim, arrival->ready).end_ns - from_ns);
    return (double)(sim_span(sim, arrival->item).start_ns - from_ns);
}

/* The purpose of a random number; a part of its key. */
enum purpose { FOR_WORK = 1, FOR_STEP, FOR_ITERATION, FOR_TRANSFER, FOR_HOST, FOR_LATEST };

struct draws {
    struct whatif *v;
    uint64_t count;
    int64_t *mean_ns;  /* [ncosts] without variation */
    int64_t *extra_ns; /* [ncosts] that a carrier takes longer in this draw */
    struct jitter_arrivals arrivals;
    bool *is_arrival;      /* [matches] a member arrives at it */
    double *lateness;      /* [count][arrivals] of the first round */
    double *mean, *spread; /* [arrivals] of it over draws */
    double *carried;       /* [arrivals] extra time on the path, in this draw */
    int64_t *delay_ns;     /* [matches] in this draw, where nothing can carry it */
    double *samples;
    size_t nsamples, cap_samples;
};

/* ---- costs of one draw ---- */

/* The same operation of all warm iterations takes their mean, in the first one, too. */
static void take_means(struct draws *d)
{
    const struct whatif *v = d->v;
    size_t ncosts = d->v->program->ncosts;
    double *sum = array_new(v->nslots, sizeof *sum);
    uint32_t *n = array_new(v->nslots, sizeof *n);
    for (size_t i = 0; i < ncosts; i++) {
        if (v->of[i].slot == JITTER_NONE || v->of[i].iteration == 0)
            continue;
        sum[v->of[i].slot] += (double)v->base_ns[i];
        n[v->of[i].slot]++;
    }
    for (size_t i = 0; i < ncosts; i++) {
        uint32_t slot = v->of[i].slot;
        bool known = slot != JITTER_NONE && n[slot] > 0;
        d->mean_ns[i] = known ? llround(sum[slot] / n[slot]) : v->base_ns[i];
    }
    free(sum);
    free(n);
}

static uint64_t key_of(const struct draws *d, uint64_t draw, enum purpose purpose)
{
    return random_key(random_key(d->v->opts.seed, purpose), draw);
}

static double factor(uint64_t key, double cv)
{
    return cv > 0 ? random_factor(random_normal(key), cv) : 1;
}

/* all: with what is common to all ranks in an iteration, which makes none later than another. */
static double factor_of(const struct draws *d, size_t cost, uint64_t draw, bool all)
{
    const struct jitter *v = &d->v->variation;
    const struct program_cost *c = &d->v->program->costs[cost];
    uint32_t k = d->v->of[cost].iteration;
    double f;
    if (c->match != PROGRAM_NONE)
        return factor(random_key(key_of(d, draw, FOR_TRANSFER), c->match), v->transfer);
    f = factor(random_key(key_of(d, draw, FOR_WORK), cost), v->work);
    f *= factor(random_key(random_key(key_of(d, draw, FOR_STEP), c->rank), k), v->step);
    return all ? f * factor(random_key(key_of(d, draw, FOR_ITERATION), k), v->iteration) : f;
}

static void set_draw(const struct draws *d, uint64_t draw, bool all)
{
    struct program *p = d->v->program;
    for (size_t i = 0; i < p->ncosts; i++) {
        int64_t ns = llround((double)d->mean_ns[i] * factor_of(d, i, draw, all));
        if (all)
            ns = faults_slowed(d->v, i, ns) + d->extra_ns[i];
        program_set_cost(p, i, ns);
    }
    for (uint32_t i = 0; i < p->matches.count; i++)
        sim_set_delay(p->sim, i, p->wait_ns[i] + (all ? d->delay_ns[i] : 0));
    for (size_t r = 0; r < p->run->nranks; r++) {
        double slow = all ? faults_host_slowness(d->v, r) : 1;
        slow *= factor(random_key(key_of(d, draw, FOR_HOST), r), d->v->variation.host);
        faults_set_hosts(d->v, r, slow);
    }
}

/* ---- the first round ---- */

/* Hosts as fast as recorded, and no delays but those that the recording shows. */
static void set_plain(const struct draws *d)
{
    const struct program *p = d->v->program;
    for (uint32_t i = 0; i < p->matches.count; i++)
        sim_set_delay(p->sim, i, p->wait_ns[i]);
    for (size_t r = 0; r < p->run->nranks; r++)
        faults_set_hosts(d->v, r, 1);
}

static int find_arrivals(struct draws *d, const struct retarget *t, struct err *e)
{
    struct program *p = d->v->program;
    int rc;
    set_plain(d);
    for (size_t i = 0; i < p->ncosts; i++)
        program_set_cost(p, i, d->mean_ns[i]);
    sim_keep_causes(p->sim, true);
    rc = program_run(p, e);
    if (rc == 0)
        arrivals_find(&d->arrivals, d->v, t);
    for (size_t i = 0; i < d->arrivals.count; i++)
        d->is_arrival[d->arrivals.list[i].transfer] = true;
    sim_keep_causes(p->sim, d->v->steps->count == 1); /* step_ns() asks for them */
    return rc;
}

static int observe(struct draws *d, struct err *e)
{
    size_t n = d->arrivals.count;
    d->lateness = array_new(n * d->count, sizeof *d->lateness);
    d->mean = array_new(n, sizeof *d->mean);
    d->spread = array_new(n, sizeof *d->spread);
    d->carried = array_new(n, sizeof *d->carried);
    for (uint64_t draw = 0; n > 0 && draw < d->count; draw++) {
        set_draw(d, draw, false);
        if (program_run(d->v->program, e) < 0)
            return -1;
        for (size_t i = 0; i < n; i++)
            d->lateness[draw * n + i] = arrival_lateness(&d->arrivals.list[i], d->v);
    }
    return 0;
}

/* Mean and variance over draws. What members of one collective have in common is their variance
 * and, where ranks differ for no reason but chance, their mean. */
static void learn_spreads(struct draws *d)
{
    size_t n = d->arrivals.count;
    double persistent = d->v->variation.rank;
    for (size_t i = 0; i < n; i++) {
        double sum = 0, square = 0;
        for (uint64_t k = 0; k < d->count; k++)
            sum += d->lateness[k * n + i];
        d->mean[i] = sum / (double)d->count;
        for (uint64_t k = 0; k < d->count; k++)
            square += pow(d->lateness[k * n + i] - d->mean[i], 2);
        d->spread[i] = square / (double)(d->count - 1);
    }
    for (size_t i = 0, end; i < n; i = end) {
        uint32_t members = d->arrivals.list[i].members;
        double mean = 0, variance = 0;
        end = i + members;
        for (size_t k = i; k < end; k++) {
            mean += d->mean[k] / members;
            variance += d->spread[k] / members;
        }
        for (size_t k = i; k < end; k++) {
            d->mean[k] = persistent > 0 ? mean : d->mean[k];
            d->spread[k] = hypot(sqrt(variance), persistent * d->arrivals.list[k].work_ns);
        }
    }
}

/* ---- the second round ---- */

/* The variance of the time on the path of an arrival: parts that vary by themselves add up, parts
 * that vary with the step do so as one. */
static double skewness_of(const struct jitter_arrival *m, const struct jitter *v)
{
    double variance = m->work2 * v->work * v->work + pow(m->work_ns * v->step, 2);
    double third = m->work3 * pow(v->work, 3) * random_skewness(v->work) +
                   pow(m->work_ns * v->step, 3) * random_skewness(v->step);
    return variance > 0 ? third / pow(variance, 1.5) : 0;
}

/* Ranks of one replica are late together: they wait for each other. */
static double latest_of(const struct draws *d, const struct jitter_arrival *arrival, uint64_t draw)
{
    const struct weak_scaling *g = d->v->growth;
    int rank = d->v->program->run->ranks[arrival->rank].rank;
    int replica = g->axis >= 0 && rank >= 0 ? grid_coordinate(&g->grid->axes[g->axis], rank) : rank;
    uint64_t key = random_key(key_of(d, draw, FOR_LATEST), (uint64_t)(int64_t)replica);
    return random_latest(random_uniform(random_key(key, arrival->epoch)), arrival->others);
}

/* Returns how much later than by itself the rank must come. */
static double wanted(const struct draws *d, size_t i, uint64_t draw)
{
    const struct jitter_arrival *arrival = &d->arrivals.list[i];
    double own = d->lateness[draw * d->arrivals.count + i] + arrival->slow_ns;
    double z = random_skewed(latest_of(d, arrival, draw), skewness_of(arrival, &d->v->variation));
    double latest = d->mean[i] + d->spread[i] * z;
    return fmax(latest - own, 0);
}

/* Makes the carrier of an arrival longer, or shorter where the one before it on the path brought
 * more than is wanted here. Of two arrivals with one carrier the first may take nothing back from.
 */
static void carry(struct draws *d, size_t i, double want)
{
    const struct jitter_arrival *arrival = &d->arrivals.list[i];
    const struct program_cost *cost = &d->v->program->costs[arrival->carrier];
    bool transfer = cost->match != PROGRAM_NONE;
    int64_t *extra_ns = transfer ? &d->delay_ns[cost->match] : &d->extra_ns[arrival->carrier];
    int64_t least_ns = transfer ? 0 : -d->mean_ns[arrival->carrier];
    double have = arrival->before != JITTER_NONE ? d->carried[arrival->before] : 0;
    bool shared = arrival->before != JITTER_NONE &&
                  d->arrivals.list[arrival->before].carrier == arrival->carrier;
    int64_t more = llround(want - have);
    if (shared && more < 0)
        more = 0;
    if (*extra_ns + more < least_ns)
        more = least_ns - *extra_ns;
    *extra_ns += more;
    d->carried[i] = have + (double)more;
}

/* ---- iterations ---- */

static void add_sample(struct draws *d, double ns)
{
    ARRAY_GROW(d->samples, d->cap_samples, d->nsamples + 1);
    d->samples[d->nsamples++] = ns;
}

static int64_t end_of(const struct whatif *v, size_t r, size_t i, bool simulated)
{
    const struct op *op = &v->program->run->ranks[r].ops[i];
    if (simulated)
        return program_span(v->program, r, i).end_ns;
    return op_timed(op) && op->start_ns != UNKNOWN_NS ? op_end_ns(op) : INT64_MIN;
}

/* Where ranks are missing, the work after the last arrival of the others does not represent
 * all. */
static bool counts(const struct draws *d, size_t r, size_t op)
{
    uint32_t match = d->v->program->ranks[r].match[op];
    return d->arrivals.count == 0 || (match != PROGRAM_NONE && d->is_arrival[match]);
}

/* From the end of one iteration to that of the next: of all ranks where their clocks are one, else
 * of the first rank. (Of the rank that takes longest it would be longer for the mere number of
 * ranks among which it is chosen.) */
static void add_iterations(struct draws *d, bool simulated)
{
    const struct whatif *v = d->v;
    uint32_t n = v->steps->count;
    int64_t *ends = array_new(n, sizeof *ends);
    size_t nranks = simulated || v->program->run->clock_aligned ? v->program->run->nranks : 1;
    for (uint32_t k = 0; k < n; k++)
        ends[k] = INT64_MIN;
    for (size_t r = 0; r < nranks; r++) {
        const struct rank_steps *it = &v->steps->ranks[r];
        for (size_t i = 0; i < v->program->run->ranks[r].nops; i++) {
            int64_t end_ns = end_of(v, r, i, simulated);
            if (it->of[i] < n && end_ns > ends[it->of[i]] && counts(d, r, i))
                ends[it->of[i]] = end_ns;
        }
    }
    for (uint32_t k = 1; k < n; k++) {
        if (step_counts(v->steps, k) && ends[k - 1] != INT64_MIN && ends[k] > ends[k - 1])
            add_sample(d, (double)(ends[k] - ends[k - 1]));
    }
    if (n == 1)
        add_sample(d, v->step_ns(v->context, simulated));
    free(ends);
}

static void summarise(struct draws *d, struct jitter_result *out)
{
    double sum = 0;
    for (size_t i = 0; i < d->nsamples; i++)
        sum += d->samples[i];
    *out = (struct jitter_result){.draws = d->count,
                                  .samples = d->nsamples,
                                  .mean_ns = d->nsamples > 0 ? sum / (double)d->nsamples : 0,
                                  .p50_ns = stats_quantile(d->samples, d->nsamples, 0.5),
                                  .p95_ns = stats_quantile(d->samples, d->nsamples, 0.95)};
}

static int second_round(struct draws *d, struct err *e)
{
    for (uint64_t draw = 0; draw < d->count; draw++) {
        memset(d->extra_ns, 0, d->v->program->ncosts * sizeof *d->extra_ns);
        memset(d->delay_ns, 0, d->v->program->matches.count * sizeof *d->delay_ns);
        for (size_t i = 0; i < d->arrivals.count; i++) {
            const struct jitter_arrival *arrival = &d->arrivals.list[i];
            double want = wanted(d, i, draw);
            int64_t *delay_ns = &d->delay_ns[arrival->transfer];
            if (arrival->carrier != JITTER_NONE)
                carry(d, i, want);
            else if (want > (double)*delay_ns)
                *delay_ns = llround(want);
        }
        set_draw(d, draw, true);
        if (program_run(d->v->program, e) < 0)
            return -1;
        add_iterations(d, true);
    }
    return 0;
}

int jitter_draw(struct whatif *v, const struct retarget *t, struct jitter_result *out,
                struct err *e)
{
    struct draws d;
    int rc;
    if (!whatif_has_jitter(v))
        return 0;
    d = (struct draws){.v = v, .count = (uint64_t)v->opts.draws};
    d.mean_ns = array_new(v->program->ncosts, sizeof *d.mean_ns);
    d.extra_ns = array_new(v->program->ncosts, sizeof *d.extra_ns);
    d.delay_ns = array_new(v->program->matches.count, sizeof *d.delay_ns);
    d.is_arrival = array_new(v->program->matches.count, sizeof *d.is_arrival);
    take_means(&d);
    rc = find_arrivals(&d, t, e);
    if (rc == 0)
        rc = observe(&d, e);
    if (rc == 0) {
        learn_spreads(&d);
        rc = second_round(&d, e);
    }
    if (rc == 0)
        summarise(&d, out);
    set_plain(&d);
    free(d.arrivals.list);
    free(d.mean_ns);
    free(d.extra_ns);
    free(d.delay_ns);
    free(d.is_arrival);
    free(d.lateness);
    free(d.mean);
    free(d.spread);
    free(d.carried);
    free(d.samples);
    return rc;
}

void jitter_recorded(struct whatif *v, struct jitter_result *out)
{
    struct draws d = {.v = v};
    add_iterations(&d, false);
    summarise(&d, out);
    free(d.samples);
}
