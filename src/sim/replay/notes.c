/* SPDX-License-Identifier: MIT */
#include "sim/replay/notes.h"

#include "sim/program/backlog.h"

#include "base/buf.h"

#include <string.h>

static unsigned long long u(uint64_t n)
{
    return (unsigned long long)n;
}

/* ---- how the program was made ---- */

/* Kernels that the trace counts: their time is the gap that nothing else explains. */
static void note_untimed(struct replay *rep, const struct program_facts *f)
{
    if (f->untimed[UNTIMED_WORK] > 0)
        replay_assume(rep,
                      "%llu untimed kernels take the gap between the operations around them, "
                      "%.0f us in all",
                      u(f->untimed[UNTIMED_WORK]), (double)f->untimed_ns / 1e3);
    if (f->untimed[UNTIMED_HOST] > 0)
        replay_assume(rep,
                      "%llu untimed kernels ran while the device waited for the host: their time "
                      "is not known and taken as 0",
                      u(f->untimed[UNTIMED_HOST]));
    if (f->gaps[GAP_GRAPH] > 0)
        replay_assume(rep,
                      "%llu operations in or behind launches of graphs started later than their "
                      "stream explains: %.0f us in all count as unrecorded work of graphs",
                      u(f->gaps[GAP_GRAPH]), (double)f->gap_ns[GAP_GRAPH] / 1e3);
    if (f->gaps[GAP_NO_LAUNCH] > 0)
        replay_assume(rep,
                      "%llu operations without a recorded call keep their distance from the one "
                      "before them on the stream, %.0f us in all",
                      u(f->gaps[GAP_NO_LAUNCH]), (double)f->gap_ns[GAP_NO_LAUNCH] / 1e3);
}

/* Counts that are worth a sentence when they are not 0. */
static void note_facts(struct replay *rep, const struct program_facts *f)
{
    if (f->syncs_guessed > 0)
        replay_assume(rep,
                      "%llu stream synchronisations name no stream: each waits for that of the "
                      "operation that ended when it returned, else for the one on which its thread "
                      "launched last",
                      u(f->syncs_guessed));
    if (f->syncs_found > 0)
        replay_assume(
            rep,
            "%llu event synchronisations name no event: each waits for the operation that "
            "ended when it returned",
            u(f->syncs_found));
    if (f->shared > 0)
        replay_assume(
            rep,
            "%llu GPUs are driven by processes that have several: a thread that works for "
            "several keeps its order",
            u(f->shared));
    if (f->threads_apart > 0)
        replay_assume(rep,
                      "%llu threads overlap others: each runs on its own from its recorded offset",
                      u(f->threads_apart));
    if (f->no_host_time > 0)
        replay_note(rep, false,
                    "%llu operations have no host time: issued right after the one before",
                    u(f->no_host_time));
    if (f->syncs_untold > 0)
        replay_note(rep, false,
                    "%llu calls waited for something that is not recorded, %.0f us in all: counted "
                    "as CPU time and as part of the error",
                    u(f->syncs_untold), (double)f->untold_ns / 1e3);
    if (f->captured > 0 && f->graphs == 0)
        replay_note(rep, false, "%llu operations were captured into a graph: not replayed",
                    u(f->captured));
    if (f->graphs > 0)
        replay_assume(rep,
                      "%llu launches of graphs are blocks of work that last as recorded, waits for "
                      "other ranks included; elsewhere what is in them (%llu operations) by the "
                      "models, the rest as other kernels",
                      u(f->graphs), u(f->captured));
    if (f->waiting_copies > 0)
        replay_assume(rep,
                      "%llu calls of copies waited for the device: they returned when the copy, or "
                      "what was before it on its stream, had ended",
                      u(f->waiting_copies));
    if (f->allocations > 0)
        replay_assume(rep,
                      "%llu calls that allocate or free memory waited for the device, which became "
                      "idle in them",
                      u(f->allocations));
    if (f->blocked > 0)
        replay_assume(rep,
                      "%llu launch calls waited for room in the launch queue of their stream: not "
                      "CPU time, simulated anew (%d launches)",
                      u(f->blocked), BACKLOG_DEPTH);
    note_untimed(rep, f);
}

static void note_waits(struct replay *rep, const struct program *p)
{
    const struct program_facts *f = &p->facts;
    if (f->ranks_inferred == 0)
        return;
    replay_assume(rep,
                  f->inferred[INFER_BY_GAP] + f->inferred[INFER_BY_ISSUE] > 0
                      ? "the traces of %llu of %llu ranks lack what streams wait for; "
                        "inferred from recorded times: %llu waits behind another stream's "
                        "operation, %llu collectives behind the computation issued before them"
                      : "the traces of %llu of %llu ranks lack what streams wait for; "
                        "recorded times show no wait",
                  u(f->ranks_inferred), u(p->run->nranks), u(f->inferred[INFER_BY_GAP]),
                  u(f->inferred[INFER_BY_ISSUE]));
}

/* Operations that could not be matched across ranks are a loss: their waits are not recomputed. */
static void note_matches(struct replay *rep, const struct matches *m)
{
    if (m->incomplete > 0)
        replay_note(rep, true,
                    "%llu of %llu collectives and messages lack members: replayed with those that "
                    "are there",
                    u(m->incomplete), u(m->count));
    if (m->inconsistent > 0)
        replay_note(rep, true, "%llu collectives whose members disagree on what they are",
                    u(m->inconsistent));
    if (m->unnumbered > 0)
        replay_note(rep, true,
                    "%llu communication operations name no communicator or number: replayed on "
                    "each rank alone, with their recorded waits",
                    u(m->unnumbered));
}

/* A record that is missing must not read as work that was not there. */
static void note_coverage(struct replay *rep, const struct run *run)
{
    size_t copies = 0, kernels = 0, blind = 0;
    for (size_t r = 0; r < run->nranks; r++) {
        bool no_copies = !(run->ranks[r].coverage & COVER_MEMORY);
        bool no_kernels = !(run->ranks[r].coverage & (COVER_LAUNCHES | COVER_KERNELS));
        copies += no_copies;
        kernels += no_kernels;
        blind += no_copies || no_kernels;
    }
    if (blind > 0)
        replay_assume(rep,
                      "%zu of %zu ranks were not traced for %s: what waits for those on the device "
                      "is replayed too early",
                      blind, run->nranks,
                      kernels == 0  ? "copies"
                      : copies == 0 ? "other kernels"
                                    : "copies and other kernels");
}

void note_program(struct replay *rep, const struct program *p)
{
    rep->topic = TOPIC_RECORDING;
    replay_assume(rep, "a transfer takes what it took once its last member was there; waits for "
                       "late members come out of the simulation");
    if (p->run->ndomains > 1 && !p->run->clock_aligned)
        replay_assume(rep, "ranks on %d clocks begin together: the clocks share no zero",
                      p->run->ndomains);
    note_waits(rep, p);
    note_coverage(rep, p->run);
    note_facts(rep, &p->facts);
    note_matches(rep, &p->matches);
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
    rep->topic = TOPIC_RECORDING;
    if (all_ns > 0)
        replay_assume(rep,
                      "of %.0f us that transfers with ranks that were not recorded took, %.0f us "
                      "were waits for these: what a transfer took longer than the shortest of its "
                      "kind. Transfers are scaled, waits take as much longer or less as "
                      "computation does",
                      all_ns / 1e3, wait_ns / 1e3);
}

/* ---- iterations ---- */

static void note_few(struct replay *rep)
{
    if (rep->lengths < STEPS_FEW && rep->source != STEPS_WHOLE)
        replay_note(rep, false,
                    "%s: how much steps differ, and whether they warm up, is not known below %d; "
                    "the error is wider by %.0f %%",
                    rep->iterations == 1
                        ? "1 step was recorded to the end"
                        : arena_printf(&rep->arena, "the step time rests on %u step length%s",
                                       rep->lengths, rep->lengths > 1 ? "s" : ""),
                    STEPS_FEW, 100 * (rep->iterations > 1 ? STEP_SECOND : STEP_ALONE));
    else if (rep->source == STEPS_WHOLE)
        replay_note(rep, false,
                    "the recording marks no steps: that all of it is one step is taken for "
                    "granted; the error is wider by %.0f %%",
                    100 * STEP_ALONE);
}

void note_iterations(struct replay *rep)
{
    const struct job_steps *steps = rep->steps;
    if (rep->source == STEPS_WHOLE && steps->doubt != NULL && steps->repeats > 0)
        replay_assume(rep,
                      "the whole recording is one step: the operations repeat %zu times, but are "
                      "not taken for steps: %s (marks tell, ProfilerStep or NVTX)",
                      steps->repeats, steps->doubt);
    else if (rep->source == STEPS_WHOLE)
        replay_assume(rep, "the whole recording is one step: %s",
                      steps->doubt != NULL ? steps->doubt
                                           : "no step is marked, and no sequence of operations "
                                             "repeats");
    else
        replay_assume(rep, "%u step%s (%s)%s", rep->iterations, rep->iterations > 1 ? "s" : "",
                      rep->source == STEPS_MARKED ? "marked" : "the sequence of operations repeats",
                      rep->iterations <= 1 ? ""
                      : steps->nparts > 1
                          ? "; the first behind each pause of the recorder has no known begin and "
                            "is left out"
                      : steps->warm_up ? "; the first two warm up and are left out"
                                       : "; the first has no known begin and is left out");
    if (steps->cut > 0)
        replay_note(rep, false, "the last %s not count: the recording ends in %s",
                    steps->cut > 1 ? arena_printf(&rep->arena, "%u marked steps do", steps->cut)
                                   : "marked step does",
                    steps->cut > 1 ? "them" : "it");
    note_few(rep);
}

/* ---- the grid ---- */

/* Notes assumptions about the grid, and which ranks stand for which. */
void note_grid(struct replay *rep)
{
    const struct grid *g = &rep->grid;
    const struct grid_absent *absent = &rep->absent;
    rep->topic = TOPIC_SCALE;
    for (int a = 0; a < g->naxes; a++) {
        if (g->axes[a].trust == GRID_ASSUMED && g->axes[a].size > 1 && g->state == GRID_FOUND)
            replay_assume(rep, "%s=%d is assumed: %s%s%s (--parallel)",
                          grid_role_name(g->axes[a].role), g->axes[a].size, g->axes[a].why,
                          g->axes[a].doubt ? "; it could be " : "",
                          g->axes[a].doubt ? g->axes[a].doubt : "");
    }
    if (absent->count > 0 && absent->words != NULL && g->state != GRID_NONE)
        replay_assume(rep,
                      "%d of %d ranks have no operations (%s): each is taken to do what a recorded "
                      "rank of %s does, at the same time",
                      absent->count, g->world, absent->words,
                      grid_size(g, GRID_PP) > 1 ? "its pipeline stage" : "the job");
    if (absent->count > 0 && absent->stages != NULL)
        replay_assume(rep,
                      "no rank of pipeline stage %s was recorded: what messages to it waited is "
                      "kept",
                      absent->stages);
    if (absent->count > 0 && absent->words != NULL && g->state == GRID_NONE)
        replay_note(rep, true,
                    "%d of %d ranks have no operations (%s), and which they are like is "
                    "not known: %s",
                    absent->count, g->world, absent->words, g->problem);
}

/* ---- scaling ---- */

/* Of an axis that grows. */
static const char *const scaling_text[GRID_ROLES] = {
    [GRID_TP] = "heads and inner width grow with tp, the hidden size stays: GEMMs and activations "
                "of each GPU keep their shapes",
    [GRID_EP] = "experts grow with ep, as many on each GPU: tokens spread over more of them as "
                "unevenly as recorded",
    [GRID_FSDP] = "parameters are cut into more shards",
    [GRID_DP] = NULL,
    [GRID_PP] = NULL,
};

/* Communicators that span the same axes, wholly or in part. */
struct comm_kind {
    uint64_t count;
    size_t first; /* of them */
    int smallest, largest;
};

static struct comm_kind *kind_of(struct comm_kind *kinds, const struct grid_place *place)
{
    return &kinds[place->axes << 2 | (unsigned)place->part << 1 | (unsigned)place->known];
}

static void note_kind(struct replay *rep, const struct weak_scaling *g, const struct comm_kind *k)
{
    replay_assume(rep, "communicators of %s (%llu, of %s rank%s) %s",
                  grid_comm_text(&rep->grid, k->first), u(k->count),
                  k->smallest == k->largest
                      ? arena_printf(&rep->arena, "%d", k->smallest)
                      : arena_printf(&rep->arena, "%d to %d", k->smallest, k->largest),
                  k->largest == 1 ? "" : "s",
                  weak_scaling_grows(g, (int)k->first) ? "grow with the scale" : "keep their size");
}

static void count_kinds(struct comm_kind *kinds, const struct replay *rep,
                        const struct weak_scaling *g)
{
    for (size_t c = 0; c < g->run->ncomms; c++) {
        struct comm_kind *k = kind_of(kinds, &rep->grid.comms[c]);
        int size = g->run->comms[c].size;
        if (k->count++ == 0)
            *k = (struct comm_kind){1, c, size, size};
        k->smallest = size < k->smallest ? size : k->smallest;
        k->largest = size > k->largest ? size : k->largest;
    }
}

/* Those that span most, as an outer axis counts, come first. */
static void note_kinds(struct replay *rep, const struct weak_scaling *g)
{
    unsigned n = 4u << rep->grid.naxes;
    struct comm_kind *kinds = arena_alloc(&rep->arena, n * sizeof *kinds);
    count_kinds(kinds, rep, g);
    while (n-- > 0) {
        if (kinds[n].largest > 1 ||
            (kinds[n].count > 0 && weak_scaling_grows(g, (int)kinds[n].first)))
            note_kind(rep, g, &kinds[n]);
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
    enum grid_role role;
    rep->topic = TOPIC_SCALE;
    if (g->refused != NULL)
        return;
    role = rep->grid.axes[g->axis].role;
    if (!rep->strong)
        replay_assume(rep, "weak scaling by %s (--grow): every GPU keeps its work%s",
                      grid_role_name(role),
                      role == GRID_DP || role == GRID_FSDP
                          ? "; buffer sizes stay, so shards of AllGather and ReduceScatter shrink"
                          : "");
    if (scaling_text[role] != NULL)
        replay_assume(rep, "%s", scaling_text[role]);
    if (role == GRID_FSDP && !weak_scaling_shards(g))
        replay_assume(rep, "the optimizer's work on a shard is kept: no gradients are scattered "
                           "over its ranks");
    note_kinds(rep, g);
    if (grows_from_one(g))
        replay_assume(rep, "a communicator of 1 rank that grows takes the model's time: what it "
                           "was measured at is no transfer");
}

/* ---- costs ---- */

void note_latency(struct replay *rep)
{
    double profile_us = rep->from.gpu->launch_us;
    rep->topic = TOPIC_RECORDING;
    if (rep->latency_us == profile_us)
        replay_assume(rep, "work starts %g us after its launch or later (launch_us of %s)",
                      profile_us, rep->from.gpu->name);
    else
        replay_assume(rep,
                      "work starts %.1f us after its launch or later: recorded "
                      "synchronisations are so much longer than the work they await, as far "
                      "as it is traced (launch_us of %s is %g)",
                      rep->latency_us, rep->from.gpu->name, profile_us);
}

static void note_ratios(struct replay *rep, const struct retarget *t)
{
    replay_assume(rep,
                  "copies on the device and other kernels: measured time x %.3g, the ratio of "
                  "memory bandwidths; attention x %.3g, half of it the ratio of 16-bit peaks; "
                  "GEMMs without a shape x %.3g, that ratio",
                  t->other_ratio[SPECTER_KERNEL_OTHER], t->other_ratio[SPECTER_KERNEL_ATTENTION],
                  t->other_ratio[SPECTER_KERNEL_GEMM]);
    if (t->sums[COST_LINK].count > 0)
        replay_assume(rep,
                      "copies between host and device: measured time x %.3g, the ratio of host "
                      "links (pcie_GBps)",
                      t->link_ratio);
}

static void note_scaling_rules(struct replay *rep, const struct retarget *t)
{
    if (rep->same_hardware && rep->calibrate) {
        replay_assume(rep, "same hardware as recorded: measured times are kept; a communicator "
                           "that grows takes measured time x model(grown) / model(recorded)");
        return;
    }
    if (rep->calibrate && rep->from.gpu == rep->to.gpu && rep->from.network == rep->to.network) {
        replay_assume(rep, "nothing was retargeted, because the source is unknown: measured times "
                           "are kept; a communicator that grows takes measured time x "
                           "model(grown) / model(recorded)");
        return;
    }
    if (rep->calibrate)
        replay_assume(rep, "communication and GEMMs: measured time x model(%s, %s) / model(%s, %s)",
                      rep->to.gpu->name, rep->to.network->name, rep->from.gpu->name,
                      rep->from.network->name);
    else
        replay_assume(rep,
                      "communication and GEMMs: the model's time on %s, %s, whatever was "
                      "measured",
                      rep->to.gpu->name, rep->to.network->name);
    if (rep->from.gpu != rep->to.gpu)
        note_ratios(rep, t);
    if (rep->host_speed == 1)
        replay_assume(rep, "CPU time between calls is kept as recorded");
}

/* The rule by which an optimizer's work shrinks with its shard, and how much it concerns. */
static void note_shards(struct replay *rep, const struct retarget *t)
{
    if (t->shard_ns > 0)
        replay_assume(
            rep,
            "optimizer on shards: kernels with an optimizer's name, %.0f us of all ranks, "
            "take their time / scale; of kernels counted together with others an even "
            "part",
            t->shard_ns / 1e3);
    else
        replay_assume(rep, "optimizer on shards: no kernel has an optimizer's name, so that none "
                           "takes less time as shards shrink");
}

/* Notes the share of the time that rests on no model. */
static void note_unmodelled(struct replay *rep, const struct retarget *t)
{
    struct buf b = BUF_INIT;
    if (t->sums[COST_KERNEL].count > 0)
        buf_printf(&b, ", kernels without a model (%llu)", u(t->sums[COST_KERNEL].count));
    if (t->sums[COST_KEPT].count > 0)
        buf_printf(&b, ", operations of unknown size (%llu)", u(t->sums[COST_KEPT].count));
    if (t->sums[COST_GRAPH].count > 0)
        buf_puts(&b, ", graphs in part");
    if (b.len > 0)
        replay_assume(rep, "%.1f %% of traced device time has no model: %s", 100 * rep->unmodelled,
                      b.data + strlen(", "));
    else
        replay_assume(rep, "all traced device time has a model or a measurement of the "
                           "operation");
    buf_release(&b);
}

/* Notes what the models say of operations that also have a measured time. */
static void note_models(struct replay *rep, const struct retarget *t)
{
    static const struct {
        enum cost_rule rule;
        const char *words;
    } models[] = {{COST_GEMM, "GEMMs"}, {COST_COMM, "communication"}};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        const struct cost_sum *sum = &t->sums[models[i].rule];
        if (sum->measured_ns > 0)
            replay_assume(rep,
                          "%s of the recording: %.0f us by the model where %.0f us was measured, "
                          "in all (%+.1f %%)",
                          models[i].words, sum->target_ns / 1e3, sum->measured_ns / 1e3,
                          100 * (sum->target_ns / sum->measured_ns - 1));
    }
}

void note_costs(struct replay *rep, const struct retarget *t)
{
    rep->topic = TOPIC_COST;
    note_scaling_rules(rep, t);
    if (!rep->calibrate)
        note_models(rep, t);
    note_unmodelled(rep, t);
    if (weak_scaling_shards(t->growth))
        note_shards(rep, t);
    if (t->sums[COST_KEPT].count > 0)
        replay_note(rep, false,
                    "%llu operations keep their measured time at every scale: their "
                    "size or communicator is not known",
                    u(t->sums[COST_KEPT].count));
    if (t->calibrate && t->modelled > 0)
        replay_note(rep, false, "%llu operations were not timed: the model's time is taken",
                    u(t->modelled));
    if (t->sums[COST_SMALL].count > 0)
        replay_assume(rep, "%llu small copies were not timed on the device: taken as 0 there",
                      u(t->sums[COST_SMALL].count));
    if (t->sums[COST_NONE].count > 0)
        replay_note(rep, true, "%llu operations have neither a time nor a model: taken as 0",
                    u(t->sums[COST_NONE].count));
}
