/* SPDX-License-Identifier: MIT */
#include "sim/replay/job.h"

#include <math.h>

/* ---- how the program was made ---- */

static void note_counts(struct replay *rep, const struct program_facts *f)
{
    fact_add_count(rep, FACT_SYNCS_GUESSED, f->syncs_guessed);
    fact_add_count(rep, FACT_SYNCS_FOUND, f->syncs_found);
    fact_add_count(rep, FACT_SHARED_THREADS, f->shared);
    fact_add_count(rep, FACT_THREADS_APART, f->threads_apart);
    fact_add_count(rep, FACT_NO_HOST_TIME, f->no_host_time);
    fact_add_count_ns(rep, FACT_SYNCS_UNTOLD, f->syncs_untold, f->untold_ns);
    if (f->graphs == 0)
        fact_add_count(rep, FACT_CAPTURED, f->captured);
    else
        fact_add(rep, FACT_GRAPHS, VALUES(fact_count(f->graphs), fact_count(f->captured)));
    fact_add_count(rep, FACT_WAITING_COPIES, f->waiting_copies);
    fact_add_count(rep, FACT_ALLOCATIONS, f->allocations);
    if (f->blocked > 0)
        fact_add(rep, FACT_QUEUE_FULL, VALUES(fact_count(f->blocked), fact_count(BACKLOG_DEPTH)));
    fact_add_count_ns(rep, FACT_UNTIMED_KERNELS, f->untimed[UNTIMED_WORK], f->untimed_ns);
    fact_add_count(rep, FACT_UNTIMED_KERNELS_AS_0, f->untimed[UNTIMED_HOST]);
    fact_add_count_ns(rep, FACT_GAPS_OF_GRAPHS, f->gaps[GAP_GRAPH], f->gap_ns[GAP_GRAPH]);
    fact_add_count_ns(rep, FACT_NO_LAUNCH, f->gaps[GAP_NO_LAUNCH], f->gap_ns[GAP_NO_LAUNCH]);
    fact_add_count_ns(rep, FACT_UNCOUNTED, f->gaps[GAP_UNCOUNTED], f->gap_ns[GAP_UNCOUNTED]);
}

static void note_waits(struct replay *rep, const struct program *p)
{
    const struct program_facts *f = &p->facts;
    struct fact_value ranks = fact_count(f->ranks_inferred), all = fact_count(p->run->nranks);
    if (f->ranks_inferred == 0)
        return;
    if (f->inferred[INFER_BY_GAP] + f->inferred[INFER_BY_ISSUE] > 0)
        fact_add(rep, FACT_WAITS_INFERRED,
                 VALUES(ranks, all, fact_count(f->inferred[INFER_BY_GAP]),
                        fact_count(f->inferred[INFER_BY_ISSUE])));
    else
        fact_add(rep, FACT_WAITS_NONE, VALUES(ranks, all));
}

/* A record that is missing must not read as work that was not there. */
static void note_coverage(struct replay *rep, const struct run *run)
{
    size_t copies = 0, kernels = 0, either = 0;
    for (size_t r = 0; r < run->nranks; r++) {
        bool no_copies = !(run->ranks[r].coverage & COVER_MEMORY);
        bool no_kernels = !(run->ranks[r].coverage & (COVER_LAUNCHES | COVER_KERNELS));
        copies += no_copies;
        kernels += no_kernels;
        either += no_copies || no_kernels;
    }
    if (either > 0)
        fact_add(rep, FACT_NOT_TRACED,
                 VALUES(fact_count(either), fact_count(run->nranks), fact_count(copies > 0),
                        fact_count(copies > 0 && kernels > 0), fact_count(kernels > 0)));
}

void note_program(struct replay *rep, const struct program *p)
{
    const struct matches *m = &p->matches;
    fact_add(rep, FACT_TRANSFERS, NULL);
    if (p->run->ndomains > 1 && !p->run->clock_aligned)
        fact_add(rep, FACT_CLOCKS, VALUES(fact_count((uint64_t)p->run->ndomains)));
    note_waits(rep, p);
    note_coverage(rep, p->run);
    note_counts(rep, &p->facts);
    /* Operations that could not be matched across ranks are a loss: their waits are not simulated.
     */
    if (m->incomplete > 0)
        fact_add_loss(rep, !run_alone(p->run), FACT_INCOMPLETE,
                      VALUES(fact_count(m->incomplete), fact_count(m->count)));
    fact_add_count(rep, FACT_INCONSISTENT, m->inconsistent);
    fact_add_count(rep, FACT_UNNUMBERED, m->unnumbered);
}

void note_absent_waits(struct replay *rep, const struct program *p)
{
    double wait_ns = 0, all_ns = 0;
    for (size_t i = 0; i < p->ncosts; i++) {
        const struct program_cost *c = &p->costs[i];
        if (c->match == PROGRAM_NONE || p->absent_ns[c->match] == 0)
            continue;
        wait_ns += (double)p->absent_ns[c->match];
        all_ns += (double)(p->absent_ns[c->match] + c->measured_ns);
    }
    if (all_ns > 0)
        fact_add(rep, FACT_ABSENT_WAITS,
                 VALUES(fact_number(all_ns / 1e3), fact_number(wait_ns / 1e3)));
}

/* ---- iterations ---- */

static void note_steps(struct replay *rep)
{
    const struct job_steps *steps = rep->steps;
    bool several = rep->iterations > 1, parts = steps->nparts > 1;
    if (rep->source != STEPS_WHOLE)
        fact_add(rep, FACT_STEPS,
                 VALUES(fact_count(rep->iterations), fact_count(several),
                        fact_count(rep->source == STEPS_MARKED),
                        fact_count(rep->source != STEPS_MARKED), fact_count(several && parts),
                        fact_count(several && !parts && steps->warm_up),
                        fact_count(several && !parts && !steps->warm_up)));
    else if (steps->doubt != NULL && steps->repeats > 0)
        fact_add(rep, FACT_WHOLE_REPEATS,
                 VALUES(fact_count(steps->repeats), fact_text(steps->doubt)));
    else if (steps->doubt != NULL)
        fact_add(rep, FACT_WHOLE_DOUBTED, VALUES(fact_text(steps->doubt)));
    else
        fact_add(rep, FACT_WHOLE, NULL);
}

void note_iterations(struct replay *rep)
{
    uint32_t cut = rep->steps->cut;
    bool one = rep->iterations == 1;
    note_steps(rep);
    if (cut > 0)
        fact_add(rep, FACT_STEPS_CUT,
                 VALUES(fact_count(cut == 1), fact_count(cut > 1), fact_count(cut),
                        fact_count(cut == 1), fact_count(cut > 1)));
    if (rep->source == STEPS_WHOLE)
        fact_add(rep, FACT_NO_MARKS, VALUES(fact_number(100 * STEP_ALONE)));
    else if (rep->lengths < STEPS_FEW)
        fact_add(rep, FACT_FEW_STEPS,
                 VALUES(fact_count(one), fact_count(!one), fact_count(rep->lengths),
                        fact_count(rep->lengths > 1), fact_count(STEPS_FEW),
                        fact_number(100 * (rep->iterations > 1 ? STEP_SECOND : STEP_ALONE))));
}

/* ---- the grid ---- */

static void note_axis(struct replay *rep, const struct grid_axis *axis)
{
    if (axis->trust == GRID_ASSUMED && axis->size > 1)
        fact_add(rep, FACT_AXIS_ASSUMED,
                 VALUES(fact_text(grid_role_name(axis->role)), fact_count((uint64_t)axis->size),
                        fact_text(axis->why), fact_count(axis->doubt != NULL),
                        fact_text(axis->doubt != NULL ? axis->doubt : "")));
}

/* Notes assumptions about the grid, and which ranks stand for which. */
void note_grid(struct replay *rep)
{
    const struct grid *g = &rep->grid;
    const struct grid_absent *absent = &rep->absent;
    struct fact_value count = fact_count((uint64_t)absent->count);
    struct fact_value world = fact_count((uint64_t)g->world);
    bool stages = grid_size(g, GRID_PP) > 1;
    for (int a = 0; a < g->naxes && g->state == GRID_FOUND; a++)
        note_axis(rep, &g->axes[a]);
    if (absent->count == 0)
        return;
    if (absent->words != NULL && g->state != GRID_NONE)
        fact_add(rep, FACT_ABSENT_RANKS,
                 VALUES(count, world, fact_text(absent->words), fact_count(stages),
                        fact_count(!stages)));
    if (absent->stages != NULL)
        fact_add(rep, FACT_ABSENT_STAGES, VALUES(fact_text(absent->stages)));
    if (absent->words != NULL && g->state == GRID_NONE)
        fact_add_loss(rep, (int)absent->count != g->world - 1, FACT_ABSENT_UNKNOWN,
                      VALUES(count, world, fact_text(absent->words), fact_text(g->problem)));
}

/* ---- scaling ---- */

/* Communicators that span the same axes, wholly or in part. */
struct comm_kind {
    uint64_t count;
    size_t first; /* of them */
    int smallest, largest;
};

/* Those that span most, as an outer axis counts, come first. */
static void note_kinds(struct replay *rep, const struct weak_scaling *g)
{
    unsigned n = 4u << rep->grid.naxes;
    struct comm_kind *kinds = arena_alloc(&rep->arena, n * sizeof *kinds);
    for (size_t c = 0; c < g->run->ncomms; c++) {
        const struct grid_place *place = &rep->grid.comms[c];
        struct comm_kind *k =
            &kinds[place->axes << 2 | (unsigned)place->part << 1 | (unsigned)place->known];
        int size = g->run->comms[c].size;
        if (k->count++ == 0)
            *k = (struct comm_kind){1, c, size, size};
        k->smallest = size < k->smallest ? size : k->smallest;
        k->largest = size > k->largest ? size : k->largest;
    }
    while (n-- > 0) {
        const struct comm_kind *k = &kinds[n];
        bool grows = k->count > 0 && weak_scaling_grows(g, (int)k->first);
        if (k->largest > 1 || grows)
            fact_add(rep, FACT_COMMUNICATORS,
                     VALUES(fact_text(grid_comm_text(&rep->grid, k->first)), fact_count(k->count),
                            fact_count((uint64_t)k->smallest), fact_count(k->largest > k->smallest),
                            fact_count((uint64_t)k->largest), fact_count(k->largest > 1),
                            fact_count(grows), fact_count(!grows)));
    }
}

static bool grows_from_one(const struct weak_scaling *g)
{
    for (size_t c = 0; c < g->run->ncomms; c++) {
        if (g->run->comms[c].size == 1 && weak_scaling_grows(g, (int)c))
            return true;
    }
    return false;
}

void note_growth(struct replay *rep, const struct weak_scaling *g)
{
    const struct grid_axis *axis;
    enum grid_role role;
    if (g->refused != NULL)
        return;
    axis = &rep->grid.axes[g->axis];
    role = axis->role;
    if (!rep->strong)
        fact_add(rep, FACT_WEAK_SCALING,
                 VALUES(fact_text(grid_role_name(role)),
                        fact_count(role == GRID_DP || role == GRID_FSDP)));
    if (role == GRID_TP)
        fact_add(rep, FACT_GROWS_TP, NULL);
    if (role == GRID_EP)
        fact_add(rep, FACT_GROWS_EP, NULL);
    if (role == GRID_FSDP)
        fact_add(rep, FACT_GROWS_FSDP, NULL);
    if (role == GRID_FSDP && !weak_scaling_shards(g))
        fact_add(rep, FACT_OPTIMIZER_KEPT, NULL);
    note_kinds(rep, g);
    if (grows_from_one(g))
        fact_add(rep, FACT_GROWS_FROM_ONE, NULL);
    if (axis->size == 1 && axis->trust != GRID_TOLD && g->axis + 1 < rep->grid.naxes &&
        axis->stride < g->world)
        fact_add(rep, FACT_GROWS_INSIDE,
                 VALUES(fact_text(grid_role_name(role)), fact_text(grid_role_name(axis[1].role)),
                        fact_text(grid_spell(&rep->grid)), fact_text(grid_role_name(role)),
                        fact_count((uint64_t)g->world)));
}

/* ---- costs ---- */

void note_latency(struct replay *rep)
{
    struct fact_value gpu = fact_text(rep->from.gpu->name);
    double profile_us = rep->from.gpu->launch_us;
    if (rep->latency_us == profile_us)
        fact_add(rep, FACT_LATENCY_OF_PROFILE, VALUES(fact_number(profile_us), gpu));
    else
        fact_add(rep, FACT_LATENCY_RECORDED,
                 VALUES(fact_number(rep->latency_us), gpu, fact_number(profile_us)));
}

static void note_scaling_rules(struct replay *rep, const struct retarget *t)
{
    const struct hardware *from = &rep->from, *to = &rep->to;
    struct fact_value to_gpu = fact_text(to->gpu->name);
    struct fact_value to_network = fact_text(to->network->name);
    if (rep->same_hardware && rep->calibrate) {
        fact_add(rep, FACT_SAME_HARDWARE, NULL);
        return;
    }
    if (rep->calibrate && from->gpu == to->gpu && from->network == to->network) {
        fact_add(rep, FACT_NOT_RETARGETED, NULL);
        return;
    }
    if (rep->calibrate)
        fact_add(
            rep, FACT_RETARGETED,
            VALUES(to_gpu, to_network, fact_text(from->gpu->name), fact_text(from->network->name)));
    else
        fact_add(rep, FACT_MODELLED, VALUES(to_gpu, to_network));
    if (from->gpu != to->gpu) {
        fact_add(rep, FACT_OTHER_RATIOS,
                 VALUES(fact_number(t->other_ratio[SPECTER_KERNEL_OTHER]),
                        fact_number(t->other_ratio[SPECTER_KERNEL_ATTENTION]),
                        fact_number(t->other_ratio[SPECTER_KERNEL_GEMM])));
        if (t->sums[COST_LINK].count > 0)
            fact_add(rep, FACT_LINK_RATIO, VALUES(fact_number(t->link_ratio)));
    }
    if (rep->host_speed == 1)
        fact_add(rep, FACT_CPU_TIME_KEPT, NULL);
}

/* Notes the share of the time that rests on no model. */
static void note_unmodelled(struct replay *rep, const struct retarget *t)
{
    uint64_t kernels = t->sums[COST_KERNEL].count, kept = t->sums[COST_KEPT].count;
    uint64_t graphs = t->sums[COST_GRAPH].count;
    if (kernels + kept + graphs > 0)
        fact_add(rep, FACT_UNMODELLED,
                 VALUES(fact_number(100 * rep->unmodelled), fact_count(kernels), fact_count(kept),
                        fact_count(graphs)));
    else
        fact_add(rep, FACT_ALL_MODELLED, NULL);
}

/* Notes the model's time of operations that also have a measured time. */
static void note_model(struct replay *rep, enum replay_fact fact, const struct cost_sum *sum)
{
    if (sum->measured_ns > 0)
        fact_add(rep, fact,
                 VALUES(fact_number(sum->target_ns / 1e3), fact_number(sum->measured_ns / 1e3),
                        fact_number(100 * (sum->target_ns / sum->measured_ns - 1))));
}

/* Returns within what factor of the model's price 80 % of operations of the rule are expected: mean
 * by their time, 0 where none of them has an interval. */
static double usual_factor(const struct retarget *t, enum cost_rule rule)
{
    const struct program *p = t->program;
    double sum_ns = 0, all_ns = 0;
    for (size_t i = 0; i < p->ncosts; i++) {
        const struct program_cost *cost = &p->costs[i];
        struct accuracy_interval in;
        if (cost->measured_ns == UNKNOWN_NS || retarget_rule(t, cost) != rule)
            continue;
        retarget_interval(t, cost, ON_SOURCE, &in);
        if (in.known) {
            sum_ns += log(in.factor80) * (double)cost->measured_ns;
            all_ns += (double)cost->measured_ns;
        }
    }
    return all_ns > 0 ? exp(sum_ns / all_ns) : 0;
}

#define SLOWER_MATTERS 0.1 /* of the critical path */

/* Notes that the recorded machine is slower than its profile by more than the model errs: the
 * target is taken to be as slow beside its own. share: of the critical path. */
static void note_slower(struct replay *rep, const struct retarget *t, enum cost_rule rule,
                        double share)
{
    const struct cost_sum *sum = &t->sums[rule];
    const bool gemms = rule == COST_GEMM;
    const double ratio = sum->price_ns > 0 ? sum->priced_ns / sum->price_ns : 0;
    const double usual = share >= SLOWER_MATTERS && ratio > 1 ? usual_factor(t, rule) : 0;
    if (usual > 0 && ratio > usual)
        fact_add(rep, FACT_SLOWER_THAN_MODEL,
                 VALUES(fact_count(gemms), fact_count(!gemms), fact_number(ratio),
                        fact_text(gemms ? t->from.gpu->name : t->from.network->name),
                        fact_number(usual),
                        fact_text(gemms ? t->to.gpu->name : t->to.network->name)));
}

void note_costs(struct replay *rep, const struct retarget *t, const struct uncertainty *error)
{
    /* Transfers with ranks that were not recorded may hold waits for them. */
    if (rep->absent.count == 0)
        note_slower(rep, t, COST_COMM, error->shares[BASIS_COLLECTIVE] + error->shares[BASIS_P2P]);
    note_slower(rep, t, COST_GEMM, error->shares[BASIS_GEMM]);
    note_scaling_rules(rep, t);
    if (!rep->calibrate) {
        note_model(rep, FACT_MODEL_OF_GEMMS, &t->sums[COST_GEMM]);
        note_model(rep, FACT_MODEL_OF_COMM, &t->sums[COST_COMM]);
    }
    note_unmodelled(rep, t);
    if (weak_scaling_shards(t->growth) && t->shard_ns > 0)
        fact_add(rep, FACT_OPTIMIZER_SHARDS, VALUES(fact_number(t->shard_ns / 1e3)));
    else if (weak_scaling_shards(t->growth))
        fact_add(rep, FACT_NO_OPTIMIZER, NULL);
    fact_add_count(rep, FACT_TIME_KEPT, t->sums[COST_KEPT].count);
    if (t->calibrate)
        fact_add_count(rep, FACT_NOT_TIMED, t->modelled);
    fact_add_count(rep, FACT_SMALL_COPIES, t->sums[COST_SMALL].count);
    if (t->sums[COST_NONE].count > 0)
        fact_add_loss(rep, true, FACT_TAKEN_AS_0, VALUES(fact_count(t->sums[COST_NONE].count)));
}
