/* SPDX-License-Identifier: MIT */
#include "sim/replay/uncertainty.h"

#include "model/accuracy.h"
#include "sim/target/retarget.h"

#include <math.h>
#include <string.h>

static const enum accuracy_kind kinds[BASIS_COUNT] = {
    [BASIS_COLLECTIVE] = ACCURACY_COLLECTIVE,
    [BASIS_P2P] = ACCURACY_P2P,
    [BASIS_GEMM] = ACCURACY_GEMM,
};

const struct basis_words basis_words[BASIS_COUNT] = {
#define X(id, name, path_text, error_text) {name, path_text, error_text},
    BASES(X)
#undef X
};

static enum basis basis_of(const struct retarget *t, const struct program_cost *cost)
{
    switch (retarget_rule(t, cost)) {
    case COST_GEMM:
        return BASIS_GEMM;
    case COST_COMM:
        return specter_comm_op_is_p2p(
                   (enum specter_comm_op)t->program->matches.list[cost->match].op)
                   ? BASIS_P2P
                   : BASIS_COLLECTIVE;
    case COST_KEPT:
        return BASIS_KEPT;
    default:
        return BASIS_RULE;
    }
}

/* ---- of one cost ---- */

/* Adds the error of a model's price on one side; `out` has that of the other side, or 0. */
static void add_model(struct cost_error *out, const struct program_cost *cost,
                      const struct retarget *t, enum retarget_side side, bool trusted)
{
    struct accuracy_interval in;
    double log50, log80;
    retarget_interval(t, cost, side, &in);
    if (in.known && trusted) {
        log50 = log(in.factor50);
        log80 = log(in.factor80);
    } else {
        log80 = log(accuracy_stand_in80(kinds[out->basis], &in));
        log50 = UNCERTAINTY_HALF * log80;
        out->known = false;
    }
    out->log50 = hypot(out->log50, log50);
    out->log80 = hypot(out->log80, log80);
}

/* A measured time that stands for one on hardware that was asked for, as its own is not known. */
static bool kept_blindly(const struct certainty *known, enum basis basis)
{
    if (basis == BASIS_COLLECTIVE || basis == BASIS_P2P)
        return !known->network_known && known->network_asked_for;
    return !known->gpu_known && known->gpu_asked_for;
}

static struct cost_error assumed(enum basis basis, double log80)
{
    return (struct cost_error){.basis = basis, .log50 = UNCERTAINTY_HALF * log80, .log80 = log80};
}

static int find_basis(struct cost_error *out, const struct program_cost *cost,
                      const struct retarget *t, const struct certainty *known, struct err *e)
{
    struct retarget again = *t; /* its counters are not for us */
    enum basis basis = basis_of(t, cost);
    bool trusted = basis == BASIS_GEMM ? known->gpu_known : known->network_known;
    int64_t ns;
    *out = (struct cost_error){.basis = BASIS_KEPT, .known = true};
    if (retarget_unsized(t, cost)) {
        *out = assumed(BASIS_UNSIZED, log(UNCERTAINTY_BLIND));
        return 0;
    }
    if (retarget_cost(&again, cost, &ns, e) < 0)
        return -1;
    if (ns == cost->measured_ns && !kept_blindly(known, basis))
        return 0;
    *out = assumed(basis, log(UNCERTAINTY_BLIND));
    if (ns != cost->measured_ns && basis != BASIS_RULE && basis != BASIS_KEPT) {
        *out = (struct cost_error){.basis = basis, .known = true};
        add_model(out, cost, t, ON_TARGET, trusted);
        if (t->calibrate && cost->measured_ns != UNKNOWN_NS)
            add_model(out, cost, t, ON_SOURCE, trusted);
    } else if (ns != cost->measured_ns && ns > 0 && cost->measured_ns > 0) {
        *out = assumed(basis, fabs(log((double)ns / (double)cost->measured_ns)));
    }
    return 0;
}

int uncertainty_of_cost(struct cost_error *out, const struct program_cost *cost,
                        const struct retarget *t, const struct certainty *known, struct err *e)
{
    if (find_basis(out, cost, t, known, e) < 0)
        return -1;
    if (known->slowed)
        out->early = retarget_done_early(t, cost);
    return 0;
}

/* ---- waits for ranks that were not recorded ---- */

/* Returns how much, as a share, waits may change on the target because transfers do. */
static double transfers_change(const struct retarget *t)
{
    const struct cost_sum *comm = &t->sums[COST_COMM];
    double all_ns = retarget_measured_ns(t->sums);
    if (!(comm->measured_ns > 0) || !(all_ns > 0))
        return 0;
    return fmin(comm->measured_ns / all_ns * fabs(comm->target_ns / comm->measured_ns - 1), 1);
}

double uncertainty_of_wait(const struct program_cost *cost, const struct retarget *t,
                           const struct certainty *known)
{
    const struct program *p = t->program;
    double scaled = fmin(fabs(1 - 1 / absent_wait_ratio(t)), 1);
    double ratio = cost->measured_ns > 0 ? (double)cost->set_ns / (double)cost->measured_ns : 1;
    double doubt = (double)p->doubt_ns[cost->match] / (double)p->absent_ns[cost->match];
    double error = doubt * fmin(fabs(ratio - 1), 1) + (1 - doubt) * transfers_change(t);
    bool same = t->scale == 1 && t->from.gpu == t->to.gpu && t->from.network == t->to.network;
    if (kept_blindly(known, BASIS_WAIT))
        return 1;
    return same ? fmin(hypot(error, scaled), 1)
                : fmin(hypot(hypot(error, scaled), UNCERTAINTY_WAIT), 1);
}

/* ---- the path ---- */

static int add_step(struct uncertainty *u, const struct path_step *step, double share,
                    const struct retarget *t, const struct certainty *known, struct err *e)
{
    const struct program_cost *cost;
    struct cost_error error = {.basis = BASIS_KEPT, .known = true};
    double part;
    if (step->cost != PROGRAM_NONE) {
        cost = &t->program->costs[step->cost];
        if (step->what == PATH_LATE) {
            part = uncertainty_of_wait(cost, t, known);
            u->shares[BASIS_WAIT] += share;
            u->errors[BASIS_WAIT] += share * part;
            u->unknown[BASIS_WAIT] += part > 0 ? share : 0;
            return 0;
        }
        if (uncertainty_of_cost(&error, cost, t, known, e) < 0)
            return -1;
        if (error.basis == BASIS_UNSIZED)
            return 0; /* known->unsized holds it */
    }
    u->shares[error.basis] += share;
    u->errors[error.basis] += share * expm1(error.log80);
    u->unknown[error.basis] += error.known ? 0 : share;
    return 0;
}

void uncertainty_forget(struct uncertainty *u)
{
    u->share = NAN;
    for (int end = 0; end < 2; end++)
        u->interval50[end] = u->interval80[end] = NAN;
}

int uncertainty_of(struct uncertainty *out, const struct path *path, const struct retarget *t,
                   const struct certainty *known, struct err *e)
{
    double span = (double)path->length_ns;
    *out = (struct uncertainty){
        .wait_ratio = absent_wait_ratio(t), .replay = known->replay, .waits = known->waits};
    uncertainty_forget(out);
    if (known->lengths < STEPS_FEW)
        out->steps = known->steps == 1 ? STEP_ALONE : STEP_SECOND;
    out->steps = hypot(out->steps, known->spread);
    for (size_t i = 0; i < path->count && span > 0; i++) {
        const struct path_step *s = &path->list[i];
        if (add_step(out, s, (double)(s->end_ns - s->start_ns) / span, t, known, e) < 0)
            return -1;
    }
    out->shares[BASIS_UNSIZED] = out->unknown[BASIS_UNSIZED] = known->unsized;
    out->errors[BASIS_UNSIZED] = known->unsized * (UNCERTAINTY_BLIND - 1);
    for (int b = 0; b < BASIS_COUNT; b++) {
        out->errors[b] = out->shares[b] > 0 ? out->errors[b] / out->shares[b] : 0;
        out->unmeasured += out->unknown[b];
    }
    return 0;
}

/* ---- intervals ---- */

void uncertainty_sum(struct uncertainty *u, double span_ns, const double half[BASIS_COUNT])
{
    double others =
        span_ns * sqrt(u->replay * u->replay + u->waits * u->waits + u->steps * u->steps);
    double low80 = others, high80 = others;
    double low50 = UNCERTAINTY_HALF * others, high50 = low50;
    for (int b = 0; b < BASIS_COUNT; b++) {
        low80 = hypot(low80, u->shorter_ns[b]);
        high80 = hypot(high80, u->longer_ns[b]);
        low50 = hypot(low50, half[b] * u->shorter_ns[b]);
        high50 = hypot(high50, half[b] * u->longer_ns[b]);
    }
    u->interval50[0] = fmax(span_ns - low50, 0);
    u->interval50[1] = span_ns + high50;
    u->interval80[0] = fmax(span_ns - low80, 0);
    u->interval80[1] = span_ns + high80;
    u->share = span_ns > 0 ? (low80 + high80) / 2 / span_ns : NAN;
}
