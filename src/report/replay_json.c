/* SPDX-License-Identifier: MIT
 *
 * `specter replay --json` (replay_report.h; docs/replay.md has the keys).
 */
#include "report/replay_report.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/order.h"
#include "report/json_add.h"
#include "report/replay_internal.h"
#include "report/table.h"

#include <cjson/cJSON.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SCHEMA "specter.replay/1"

static void add_time(cJSON *o, const struct iteration_time *t)
{
    json_add_us(o, "iteration_us", t->span_ns);
    json_add_us(o, "compute_us", t->compute_ns);
    json_add_us(o, "untraced_us", t->untraced_ns);
    json_add_us(o, "comm_us", t->comm_ns);
    json_add_us(o, "exposed_comm_us", t->exposed_comm_ns);
    json_add_us(o, "comm_wait_us", t->comm_wait_ns);
    json_add_us(o, "absent_wait_us", t->absent_wait_ns);
    json_add_us(o, "memory_us", t->memory_ns);
    json_add_us(o, "exposed_memory_us", t->exposed_memory_ns);
    json_add_us(o, "idle_us", t->idle_ns);
    json_add_us(o, "host_bound_us", t->host_bound_ns);
    json_add_us(o, "stream_wait_us", t->stream_wait_ns);
    json_add_us(o, "bubble_us", t->bubble_ns);
    json_add_us(o, "other_idle_us", t->other_idle_ns);
}

/* null where it is not known. */
static void add_name(cJSON *o, const char *key, const char *name)
{
    if (name != NULL)
        cJSON_AddStringToObject(o, key, name);
    else
        cJSON_AddNullToObject(o, key);
}

/* Of recorded iterations, the first left out; null when there was no second. */
static void add_spread(cJSON *o, const struct iteration_spread *s)
{
    cJSON *one;
    if (s->count == 0) {
        cJSON_AddNullToObject(o, "spread");
        return;
    }
    one = cJSON_AddObjectToObject(o, "spread");
    cJSON_AddNumberToObject(one, "count", (double)s->count);
    json_add_us(one, "mean_us", s->mean_ns);
    json_add_us(one, "median_us", s->median_ns);
    json_add_us(one, "min_us", s->min_ns);
    json_add_us(one, "p5_us", s->p5_ns);
    json_add_us(one, "p95_us", s->p95_ns);
    json_add_us(one, "max_us", s->max_ns);
}

/* Its version, 22809; null where none is known, and for RCCL. */
static void add_nccl(cJSON *o, const struct hardware *on)
{
    const bool known = on->network->nccl > 0 && on->gpu->cc > 0;
    json_add_number(o, "nccl", known ? on->network->nccl : (double)NAN);
}

static void add_source(cJSON *doc, const struct replay *rep, const struct run *run)
{
    cJSON *o = cJSON_AddObjectToObject(doc, "source");
    add_name(o, "gpu", rep->gpu_known ? rep->from.gpu->name : NULL);
    add_name(o, "network", rep->network_known ? rep->from.network->name : NULL);
    add_nccl(o, &rep->from);
    json_add_text(o, "traces", run->source);
    json_add_text(o, "run", run->id);
    cJSON_AddNumberToObject(o, "ranks", (double)rep->nranks);
    cJSON_AddNumberToObject(o, "world_size", rep->world);
    cJSON_AddNumberToObject(o, "iterations", rep->iterations);
    cJSON_AddStringToObject(o, "steps_from", step_source_name(rep->source));
    cJSON_AddStringToObject(o, "bound", bound_name(rep->bound));
    cJSON_AddStringToObject(o, "path", bound_name(rep->path_bound));
    add_name(o, "why", rep->bound_why);
    add_name(o, "recorded_why", replay_bounds_cause(rep->recorded_cause));
    add_spread(o, &rep->spread);
    add_time(cJSON_AddObjectToObject(o, "recorded"), &rep->recorded);
    add_time(cJSON_AddObjectToObject(o, "replayed"), &rep->own);
    const struct waits *w = &rep->waits;
    cJSON *waits = cJSON_AddObjectToObject(o, "waits");
    cJSON_AddNumberToObject(waits, "collectives", (double)w->collectives);
    json_add_us(waits, "recorded_us", w->recorded_ns);
    json_add_us(waits, "replayed_us", w->replayed_ns);
    json_add_number(waits, "median_off", w->median_off);
}

/* ---- the grid ---- */

static const char *const states[] = {
    [GRID_FOUND] = "found", [GRID_AMBIGUOUS] = "ambiguous", [GRID_NONE] = "unknown"};

struct comm_place {
    const struct grid_comm *comm;
    size_t at; /* in the replay's list */
    int lowest;
};

static int lowest_rank(const struct grid_comm *c)
{
    int lowest = INT_MAX;
    for (int i = 0; i < c->size; i++)
        lowest = c->ranks[i] >= 0 && c->ranks[i] < lowest ? c->ranks[i] : lowest;
    return lowest;
}

/* By lowest rank, the largest first: their own order is that of the files. */
static int by_members(const void *pa, const void *pb)
{
    const struct comm_place *a = pa, *b = pb;
    if (a->lowest != b->lowest)
        return ORDER(a->lowest, b->lowest);
    if (a->comm->size != b->comm->size)
        return ORDER(b->comm->size, a->comm->size);
    return strcmp(a->comm->id, b->comm->id);
}

static void add_communicators(cJSON *o, struct replay *rep)
{
    cJSON *list = cJSON_AddArrayToObject(o, "communicators");
    const size_t n = rep->groups.ncomms;
    struct comm_place *order = array_new(n + 1, sizeof *order);
    for (size_t c = 0; c < n; c++)
        order[c] =
            (struct comm_place){&rep->groups.comms[c], c, lowest_rank(&rep->groups.comms[c])};
    qsort(order, n, sizeof *order, by_members);
    for (size_t i = 0; i < n; i++) {
        const struct grid_comm *comm = order[i].comm;
        cJSON *one = json_add_object(list);
        json_add_text(one, "comm", comm->id);
        json_add_text(one, "name", comm->name);
        cJSON_AddNumberToObject(one, "size", comm->size);
        add_name(one, "axes",
                 rep->grid.state == GRID_FOUND ? grid_comm_text(&rep->grid, order[i].at) : NULL);
    }
    free(order);
}

static void add_parallel(cJSON *doc, struct replay *rep)
{
    cJSON *o = cJSON_AddObjectToObject(doc, "parallel"), *list;
    const struct grid *g = &rep->grid;
    cJSON_AddStringToObject(o, "grid", states[g->state]);
    cJSON *axes = cJSON_AddArrayToObject(o, "axes");
    for (int a = 0; a < rep->grid.naxes; a++) {
        const struct grid_axis *axis = &rep->grid.axes[a];
        cJSON *one;
        if (axis->size == 1 && rep->grid.world > 1)
            continue;
        one = json_add_object(axes);
        add_name(one, "name", rep->grid.state == GRID_FOUND ? grid_role_name(axis->role) : NULL);
        cJSON_AddNumberToObject(one, "size", axis->size);
        cJSON_AddNumberToObject(one, "stride", axis->stride);
        add_name(one, "from", rep->grid.state == GRID_FOUND ? grid_trust_name(axis->trust) : NULL);
        json_add_text(one, "evidence", grid_axis_text(&rep->grid, &rep->groups, a));
    }
    add_communicators(o, rep);
    list = cJSON_AddArrayToObject(o, "candidates");
    for (int i = 0; i < g->ncandidates; i++)
        cJSON_AddItemToArray(list, cJSON_CreateString(g->candidates[i]));
    json_add_text(o, "problem", g->problem);
    add_name(o, "absent", rep->absent.count > 0 ? rep->absent.words : NULL);
    cJSON_AddStringToObject(o, "grow", grid_role_name(rep->grown));
}

static void add_ranks(cJSON *doc, const struct replay *rep)
{
    cJSON *list = cJSON_AddArrayToObject(doc, "ranks");
    for (size_t r = 0; r < rep->nranks; r++) {
        cJSON *o = json_add_object(list);
        cJSON_AddNumberToObject(o, "rank", rep->ranks[r].rank);
        cJSON_AddNumberToObject(o, "iterations", rep->iterations);
        /* Coordinates of a rank, by role: a key is there once, also where two axes have it. */
        const struct grid *g = &rep->grid;
        cJSON *place = cJSON_AddObjectToObject(o, "place");
        for (int a = 0; g->state == GRID_FOUND && rep->ranks[r].rank >= 0 && a < g->naxes; a++) {
            enum grid_role role = g->axes[a].role;
            if (g->axes[a].size > 1 && !cJSON_HasObjectItem(place, grid_role_name(role)))
                cJSON_AddNumberToObject(place, grid_role_name(role),
                                        grid_place_along(g, role, rep->ranks[r].rank));
        }
        json_add_us(o, "recorded_us", rep->ranks[r].recorded_ns);
        json_add_us(o, "replayed_us", rep->ranks[r].replayed_ns);
        json_add_us(o, "recorded_waits_us", rep->ranks[r].waits.recorded_ns);
        json_add_us(o, "replayed_waits_us", rep->ranks[r].waits.replayed_ns);
    }
}

/* Iteration times over draws, or recorded ones. */
static void add_samples(cJSON *o, const struct jitter_result *r)
{
    cJSON_AddNumberToObject(o, "samples", (double)r->samples);
    if (r->draws > 0)
        cJSON_AddNumberToObject(o, "draws", (double)r->draws);
    json_add_us(o, "mean_us", r->mean_ns);
    json_add_us(o, "p50_us", r->p50_ns);
    json_add_us(o, "p95_us", r->p95_ns);
}

/* Adds the question of --jitter; no key without it. */
static void add_variation(cJSON *doc, const struct replay *rep)
{
    const struct jitter *v = &rep->variation;
    const struct {
        const char *key;
        double value;
    } parts[] = {{"operation", v->work},      {"rank_in_iteration", v->step}, {"rank", v->rank},
                 {"iteration", v->iteration}, {"transfer", v->transfer},      {"host", v->host}};
    cJSON *o;
    if (rep->recorded_spread.samples == 0)
        return;
    o = cJSON_AddObjectToObject(doc, "variation");
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        json_add_number(o, parts[i].key, parts[i].value);
    cJSON_AddNumberToObject(o, "iterations", v->iterations);
    cJSON_AddNumberToObject(o, "seed", (double)rep->seed);
    add_samples(cJSON_AddObjectToObject(o, "recorded"), &rep->recorded_spread);
}

static void add_path(cJSON *o, struct replay *rep, const struct path_summary *s)
{
    cJSON *path = cJSON_AddObjectToObject(o, "critical_path"), *list;
    json_add_text(path, "words", replay_path_text(rep, s));
    list = cJSON_AddArrayToObject(path, "parts");
    for (int i = 0; i < s->count; i++) {
        const struct path_part *p = &s->parts[i];
        cJSON *one = json_add_object(list), *thirds;
        json_add_text(one, "name", p->name);
        json_add_us(one, "us", p->ns);
        json_add_number(one, "share", p->share);
        thirds = cJSON_AddArrayToObject(one, "thirds");
        for (int t = 0; t < 3; t++)
            cJSON_AddItemToArray(thirds, cJSON_CreateNumber(p->thirds[t]));
        if (p->what == PATH_COMM) {
            json_add_us(one, "overlapped_us", p->overlapped_ns);
            cJSON_AddNumberToObject(one, "calls", p->calls);
            cJSON_AddNumberToObject(one, "last_calls", p->last);
            json_add_number(one, "bytes", p->bytes > 0 ? (double)p->bytes : NAN);
        }
    }
    json_add_us(path, "rest_us", s->rest_ns);
    json_add_number(path, "slow_rank", s->slow_rank >= 0 ? s->slow_rank : NAN);
    json_add_number(path, "slow_rank_work", s->slow_rank >= 0 ? s->slow_work : NAN);
    json_add_number(path, "slower", s->slow_rank >= 0 ? s->slower : NAN);
}

static void add_error(cJSON *o, const struct uncertainty *u)
{
    cJSON *error = cJSON_AddObjectToObject(o, "error"), *list;
    json_add_number(error, "share", u->share);
    json_add_number(error, "replay", u->replay);
    json_add_number(error, "waits", u->waits);
    json_add_number(error, "steps", u->steps);
    json_add_number(error, "unmeasured", u->unmeasured);
    list = cJSON_AddArrayToObject(error, "rests_on");
    for (int b = 0; b < BASIS_COUNT; b++) {
        cJSON *one;
        if (!(u->shares[b] > 0) && !(u->longer_ns[b] > 0) && !(u->shorter_ns[b] > 0))
            continue;
        one = json_add_object(list);
        cJSON_AddStringToObject(one, "what", basis_words[b].name);
        json_add_number(one, "share", u->shares[b]);
        json_add_number(one, "error", u->errors[b]);
        json_add_number(one, "unmeasured", u->unknown[b]);
        json_add_us(one, "shorter_us", u->shorter_ns[b]);
        json_add_us(one, "longer_us", u->longer_ns[b]);
    }
}

static void add_scales(cJSON *doc, struct replay *rep)
{
    cJSON *list = cJSON_AddArrayToObject(doc, "scales");
    for (size_t i = 0; i < rep->nscales; i++) {
        const struct replay_scale *s = &rep->scales[i];
        cJSON *o = json_add_object(list);
        cJSON_AddNumberToObject(o, "scale", (double)s->scale);
        cJSON_AddNumberToObject(o, "gpus", (double)s->gpus);
        add_time(o, &s->time);
        json_add_number(o, "speedup", s->speedup);
        json_add_number(o, "efficiency", s->efficiency);
        const struct workload *w = &rep->workload;
        json_add_interval(o, "interval50", s->error.interval50);
        json_add_interval(o, "interval80", s->error.interval80);
        add_error(o, &s->error);
        const struct axis_times *axes = &s->axes;
        cJSON *groups = cJSON_AddArrayToObject(o, "groups");
        for (int k = 0; k < axes->count; k++) {
            cJSON *group = json_add_object(groups);
            json_add_text(group, "axes", axes->list[k].name);
            json_add_us(group, "comm_us", axes->list[k].total_ns);
            json_add_us(group, "exposed_us", axes->list[k].exposed_ns);
        }
        add_path(o, rep, &s->path);
        json_add_number(o, "tokens_per_s", w->tokens > 0 ? s->rate.tokens_per_s : NAN);
        json_add_number(o, "tokens_per_s_gpu", w->tokens > 0 ? s->rate.tokens_per_s_gpu : NAN);
        json_add_number(o, "utilisation", w->missing == NULL ? s->rate.utilisation : NAN);
        if (s->jitter.samples > 0)
            add_samples(cJSON_AddObjectToObject(o, "variation"), &s->jitter);
        if (s->fault_free_ns > 0)
            json_add_us(o, "sound_us", s->fault_free_ns);
    }
}

/* Device time, measured and predicted, by the rule that predicted it. */
static void add_device_time(cJSON *doc, const struct replay *rep)
{
    cJSON *list = cJSON_AddArrayToObject(doc, "device_time");
    double all_ns = retarget_measured_ns(rep->device_time);
    for (int rule = 0; rule < COST_RULES; rule++) {
        const struct cost_sum *sum = &rep->device_time[rule];
        cJSON *o;
        if (sum->count == 0)
            continue;
        o = json_add_object(list);
        cJSON_AddStringToObject(o, "rule", cost_rule_name((enum cost_rule)rule));
        cJSON_AddNumberToObject(o, "operations", (double)sum->count);
        cJSON_AddNumberToObject(o, "timed", (double)sum->timed);
        json_add_us(o, "measured_us", sum->measured_ns);
        json_add_us(o, "target_us", sum->target_ns);
        json_add_number(o, "share", all_ns > 0 ? sum->measured_ns / all_ns : NAN);
        json_add_number(o, "over_model", sum->price_ns > 0 ? sum->priced_ns / sum->price_ns : NAN);
    }
}

static void add_lines(cJSON *doc, const char *key, const char *const *lines)
{
    cJSON *list = cJSON_AddArrayToObject(doc, key);
    for (; *lines != NULL; lines++)
        cJSON_AddItemToArray(list, cJSON_CreateString(*lines));
}

cJSON *replay_json(struct replay *rep, const struct run *run)
{
    cJSON *doc = cJSON_CreateObject(), *target;
    cJSON_AddStringToObject(doc, "schema", SCHEMA);
    add_source(doc, rep, run);
    target = cJSON_AddObjectToObject(doc, "target");
    add_name(target, "gpu", rep->to.gpu->name);
    add_name(target, "network", rep->to.network->name);
    add_nccl(target, &rep->to);
    cJSON_AddStringToObject(target, "placement", rep->placement);
    cJSON_AddBoolToObject(target, "strong", rep->strong);
    cJSON_AddBoolToObject(doc, "calibrated", rep->calibrate);
    cJSON_AddNumberToObject(doc, "host_speed", rep->host_speed);
    json_add_number(doc, "unmodelled", rep->unmodelled);
    add_device_time(doc, rep);
    /* Of one iteration of the whole recorded job. */
    const struct workload *w = &rep->workload;
    cJSON *o = cJSON_AddObjectToObject(doc, "work");
    json_add_number(o, "tokens", w->tokens > 0 ? w->tokens : NAN);
    json_add_number(o, "flops", w->flops > 0 ? w->flops : NAN);
    cJSON_AddStringToObject(o, "flops_from", w->given ? "told" : "gemms");
    json_add_number(o, "peak_tflops", w->peak_tflops > 0 ? w->peak_tflops : NAN);
    add_name(o, "mix", w->mix != NULL && w->mix[0] != '\0' ? w->mix : NULL);
    add_name(o, "missing", w->missing);
    cJSON_AddNumberToObject(o, "gemms_without_shape", (double)w->shapeless);
    add_parallel(doc, rep);
    add_variation(doc, rep);
    add_scales(doc, rep);
    add_ranks(doc, rep);
    add_lines(doc, "assumptions", replay_assumptions(rep));
    add_lines(doc, "notes", replay_notes(rep));
    return doc;
}
