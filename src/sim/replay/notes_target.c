/* SPDX-License-Identifier: MIT
 *
 * Facts of the target: rules of scale, overlap, the host, jitter and faults.
 */
#include "sim/replay/job.h"

#include <math.h>

/* ---- rules of scale ---- */

static bool same_role(enum grid_role a, enum grid_role b)
{
    bool data_a = a == GRID_DP || a == GRID_FSDP, data_b = b == GRID_DP || b == GRID_FSDP;
    return a == b || (data_a && data_b);
}

/* Each axis of which the operations, or names, tell another role than the user does. */
void note_given_grid(struct replay *rep)
{
    struct grid found;
    grid_find(&found, &rep->groups);
    for (int i = 0; i < GRID_AXES_MAX * GRID_AXES_MAX; i++) {
        int a = i / GRID_AXES_MAX, b = i % GRID_AXES_MAX;
        const struct grid_axis *given = &rep->grid.axes[a], *seen = &found.axes[b];
        if (a >= rep->grid.naxes || b >= found.naxes || found.state != GRID_FOUND)
            continue;
        if (given->size > 1 && given->size == seen->size && given->stride == seen->stride &&
            seen->trust >= GRID_LIKELY && !same_role(given->role, seen->role))
            fact_add(rep, FACT_PARALLEL_DIFFERS,
                     VALUES(fact_text(grid_role_name(given->role)),
                            fact_count((uint64_t)given->size), fact_count((uint64_t)given->stride),
                            fact_text(grid_role_name(seen->role)), fact_text(seen->why)));
    }
    grid_release(&found);
}

void note_strong(struct replay *rep, const struct strong_scaling *s)
{
    if (!rep->strong || s->refused != NULL)
        return;
    fact_add(rep, FACT_STRONG_SCALING, VALUES(fact_count(s->tokens)));
    fact_add(rep, FACT_STRONG_RULES, NULL);
}

void note_undivided(struct replay *rep, double share)
{
    fact_add(rep, FACT_UNDIVIDED,
             VALUES(fact_number(100 * share), fact_number(100 * STRONG_UNTOLD_MAX)));
}

void note_exchanges(struct replay *rep, const struct weak_scaling *g)
{
    if (weak_scaling_alltoalls(g) && g->refused == NULL)
        fact_add(rep, FACT_ALLTOALLS, NULL);
}

/* Blocks on both sides are the usual case and get no note. */
void note_placement(struct replay *rep, const struct weak_scaling *g)
{
    bool plain = g->target.kind == PLACE_BLOCK && g->target.per_node == 0;
    if (g->source_given)
        fact_add(rep, FACT_PLACED_AS_HOSTS_TELL,
                 VALUES(fact_text(placement_text(&g->source, &rep->arena))));
    else if (g->source_doubt != NULL)
        fact_add(rep, FACT_PLACED_BY_BLOCK, VALUES(fact_text(g->source_doubt)));
    if (!plain || g->source_given)
        fact_add(rep, FACT_PLACED_ON_TARGET, VALUES(fact_text(rep->placement)));
}

/* ---- computation beside communication, ports that communicators share, and the host ---- */

#define NEXT_TO_NOTHING 0.005 /* of an iteration */

static void note_shown(struct replay *rep, const struct overlap *o)
{
    for (int b = 0; b < OVERLAP_BOUNDS; b++) {
        const struct overlap_shown *s = &o->shown[b];
        if (s->pairs >= OVERLAP_PAIRS_MIN)
            fact_add(rep, FACT_OVERLAP_SHOWN,
                     VALUES(fact_count(b == OVERLAP_SM), fact_count(b == OVERLAP_MEMORY),
                            fact_count(b == OVERLAP_BOTH), fact_number(100 * s->longer),
                            fact_count(s->pairs), fact_number(s->seen),
                            fact_count(s->seen > s->factor), fact_number(OVERLAP_FACTOR_MAX)));
    }
}

/* Notes figures of profiles: of the source where the recording shows nothing, of the target where
 * it is another GPU. */
static void note_profile(struct replay *rep, const struct overlap *o)
{
    for (int b = 0; b < OVERLAP_BOUNDS; b++) {
        const struct overlap_shown *s = &o->shown[b];
        struct fact_value sm = fact_count(b == OVERLAP_SM);
        struct fact_value memory = fact_count(b == OVERLAP_MEMORY);
        struct fact_value both = fact_count(b == OVERLAP_BOTH);
        bool target;
        double factor = overlap_factor(o, &rep->from, &rep->to, (enum overlap_bound)b, &target);
        if (s->from_profile && s->factor > 0)
            fact_add(
                rep, FACT_OVERLAP_OF_PROFILE,
                VALUES(sm, memory, both, fact_text(rep->from.gpu->name), fact_number(s->factor)));
        if (target)
            fact_add(rep, FACT_OVERLAP_ON_TARGET,
                     VALUES(sm, memory, both, fact_number(factor), fact_text(rep->to.gpu->name)));
    }
}

void note_overlap(struct replay *rep, const struct overlap *o)
{
    uint64_t untold = 0;
    fact_add_count_ns(rep, FACT_OVERLAP, o->beside, o->taken_ns);
    if (o->beside > 0) {
        note_shown(rep, o);
        if (o->counted > 0)
            fact_add(rep, FACT_OVERLAP_CHANNELS,
                     VALUES(fact_count(o->counted), fact_count(o->transfers)));
    }
    note_profile(rep, o);
    /* No slowdown is put in where none is known to have been taken out. */
    for (int b = 0; b < OVERLAP_BOUNDS; b++)
        untold += o->shown[b].factor > 0 ? 0 : o->shown[b].untold;
    if (untold > 0 && !rep->same_hardware)
        fact_add(rep, FACT_OVERLAP_UNKNOWN, VALUES(fact_count(untold)));
    fact_add_count_ns(rep, FACT_NICS_SHARED, o->contended, o->shared_ns);
    fact_add_count_ns(rep, FACT_QUEUED, o->queued, o->queued_ns);
    if (rep->host_speed != 1)
        fact_add(rep, FACT_HOST_SPEED, VALUES(fact_number(rep->host_speed)));
}

void note_host_speed(struct replay *rep, const struct iteration_time *target)
{
    const struct iteration_time *own = &rep->own;
    if (rep->host_speed == 1 || !rep->same_hardware || !rep->calibrate ||
        fabs(target->span_ns - own->span_ns) > NEXT_TO_NOTHING * own->span_ns)
        return;
    fact_add(rep, FACT_HOST_SPEED_NO_EFFECT,
             VALUES(fact_number(100 * own->host_bound_ns / own->span_ns)));
}

/* ---- jitter and injected faults ---- */

void note_variation(struct replay *rep, const struct whatif_opts *opts)
{
    const struct jitter *v = &rep->variation;
    if (opts->jitter == JITTER_GIVEN) {
        fact_add(rep, FACT_JITTER_GIVEN, VALUES(fact_number(100 * opts->cv)));
        return;
    }
    if (v->iterations < JITTER_STEPS_MIN) {
        fact_add(rep, FACT_JITTER_UNKNOWN,
                 VALUES(fact_count(v->iterations), fact_count(v->iterations != 1),
                        fact_count(JITTER_STEPS_MIN)));
        return;
    }
    fact_add(rep, FACT_JITTER_LEARNED,
             VALUES(fact_count(v->iterations), fact_number(100 * v->work),
                    fact_number(100 * v->step), fact_number(100 * v->iteration),
                    fact_number(100 * v->transfer), fact_number(100 * v->host)));
    if (v->alike > 1)
        fact_add(rep, FACT_RANKS_ALIKE, VALUES(fact_count(v->alike), fact_number(100 * v->rank)));
    else
        fact_add(rep, FACT_RANKS_UNLIKE, NULL);
}

size_t note_absent_faults(struct replay *rep, const struct whatif *v, int64_t gpus)
{
    size_t absent = 0;
    for (size_t i = 0; i < v->opts.nfaults; i++) {
        if (v->placed[i])
            continue;
        fact_add(rep, FACT_FAULT_ABSENT,
                 VALUES(fact_text(v->opts.faults[i].text), fact_count((uint64_t)gpus)));
        absent++;
    }
    return absent;
}

void note_faults(struct replay *rep, const struct retarget *faulty, double fault_free_ns,
                 double fault_ns)
{
    int64_t gpus = faulty->scale * rep->world;
    struct fact_value count = fact_count((uint64_t)gpus);
    bool one_node = placement_nodes(faulty->there.placement, rep->to.network, gpus) == 1;
    bool links = faulty->slow_link != NULL;
    if (fault_ns > fault_free_ns)
        fact_add(rep, FACT_FAULT_ADDS,
                 VALUES(count, fact_number(100 * (fault_ns / fault_free_ns - 1))));
    else if (links && faulty->slowed == 0)
        fact_add(rep, FACT_LINKS_UNUSED,
                 VALUES(count, fact_count(one_node), fact_count(!one_node)));
    else
        fact_add(rep, FACT_FAULT_OFF_PATH, VALUES(count));
}
