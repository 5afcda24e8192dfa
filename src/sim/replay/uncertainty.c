/* SPDX-License-Identifier: MIT */
#include "sim/replay/uncertainty.h"

#include "model/accuracy.h"
#include "sim/target/absent_wait.h"

#include <math.h>
#include <string.h>

static const enum accuracy_kind kinds[BASIS_COUNT] = {
    [BASIS_COLLECTIVE] = ACCURACY_COLLECTIVE,
    [BASIS_P2P] = ACCURACY_P2P,
    [BASIS_GEMM] = ACCURACY_GEMM,
};

const char *basis_name(enum basis basis)
{
    static const char *const names[] = {
        [BASIS_KEPT] = "measured",       [BASIS_COLLECTIVE] = "collectives",
        [BASIS_P2P] = "messages",        [BASIS_GEMM] = "gemms",
        [BASIS_RULE] = "rules",          [BASIS_WAIT] = "absent_waits",
        [BASIS_UNSIZED] = "unknown_size"};
    return names[basis];
}

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

/* While the path is gone through. */
struct uncertainty_ctx {
    struct uncertainty *out;
    double sums[BASIS_COUNT]; /* shares x errors */
    struct retarget *t;
    const struct certainty *known;
    double wait_error; /* of waits that are no part of a transfer: that transfers change */
    double wait_rule;  /* of all waits: that they were scaled */
};

/* Of a modelled cost; *known: both ends of the ratio are. */
static double model_error(const struct uncertainty_ctx *a, enum basis basis, bool ratio,
                          bool *known)
{
    const struct hardware *from = &a->t->from, *to = &a->t->to;
    bool gemm = basis == BASIS_GEMM, source = true;
    double target = accuracy_of(kinds[basis], gemm ? to->gpu->name : to->network->name, known);
    double other = 0;
    if (ratio)
        other = accuracy_of(kinds[basis], gemm ? from->gpu->name : from->network->name, &source);
    *known = *known && source && (gemm ? a->known->gpu_known : a->known->network_known);
    if (!*known && source)
        target = other = accuracy_of(kinds[basis], "", &source);
    return ratio ? hypot(target, other) : target;
}

/* A measured time that stands for one on hardware that was asked for, as its own is not known. */
static bool kept_blindly(const struct uncertainty_ctx *a, enum basis basis)
{
    if (basis == BASIS_COLLECTIVE || basis == BASIS_P2P)
        return !a->known->network_known && a->known->network_asked_for;
    return !a->known->gpu_known && a->known->gpu_asked_for;
}

/* Returns how much, as a share, waits may change on the target: see the header. */
static double wait_error(const struct retarget *t)
{
    const struct cost_sum *comm = &t->sums[COST_COMM];
    double all_ns = retarget_measured_ns(t->sums);
    if (!(comm->measured_ns > 0) || !(all_ns > 0))
        return 0;
    return fmin(comm->measured_ns / all_ns * fabs(comm->target_ns / comm->measured_ns - 1), 1);
}

/* Returns the error of the rule by which waits are scaled. */
static double wait_rule_error(double ratio)
{
    return fmin(fabs(1 - 1 / ratio), 1);
}

/* ns: what the transfer behind the wait takes on the target. */
static void add_wait(struct uncertainty_ctx *a, const struct program_cost *cost, int64_t ns,
                     double share)
{
    const struct program *p = a->t->program;
    double ratio = cost->measured_ns > 0 ? (double)ns / (double)cost->measured_ns : 1;
    double doubt = (double)p->doubt_ns[cost->match] / (double)p->absent_ns[cost->match];
    double error = doubt * fmin(fabs(ratio - 1), 1) + (1 - doubt) * a->wait_error;
    error = kept_blindly(a, BASIS_WAIT) ? 1 : fmin(hypot(error, a->wait_rule), 1);
    a->out->shares[BASIS_WAIT] += share;
    a->sums[BASIS_WAIT] += share * error;
    a->out->unknown[BASIS_WAIT] += error > 0 ? share : 0;
}

static int add_step(struct uncertainty_ctx *a, const struct path_step *step, double share,
                    struct err *e)
{
    struct uncertainty *u = a->out;
    const struct program_cost *cost;
    enum basis basis;
    bool known = false;
    double error = 1;
    int64_t ns;
    if (step->cost == PROGRAM_NONE) {
        u->shares[BASIS_KEPT] += share;
        return 0;
    }
    cost = &a->t->program->costs[step->cost];
    if (step->what != PATH_LATE && retarget_unsized(a->t, cost))
        return 0; /* known->unsized holds it */
    if (retarget_cost(a->t, cost, &ns, e) < 0)
        return -1;
    if (step->what == PATH_LATE) {
        add_wait(a, cost, ns, share);
        return 0;
    }
    basis = basis_of(a->t, cost);
    if (ns == cost->measured_ns && !kept_blindly(a, basis)) {
        u->shares[BASIS_KEPT] += share;
        return 0;
    }
    if (ns != cost->measured_ns && basis != BASIS_RULE && basis != BASIS_KEPT)
        error = model_error(a, basis, a->t->calibrate && cost->measured_ns != UNKNOWN_NS, &known);
    else if (ns != cost->measured_ns && ns > 0 && cost->measured_ns != UNKNOWN_NS)
        error = fabs((double)(ns - cost->measured_ns)) / (double)ns;
    u->shares[basis] += share;
    a->sums[basis] += share * error;
    u->unknown[basis] += known ? 0 : share;
    return 0;
}

int uncertainty_of(struct uncertainty *out, const struct path *path, const struct retarget *t,
                   const struct certainty *known, struct err *e)
{
    struct retarget again = *t; /* its counters are not for us */
    double ratio = absent_wait_ratio(t);
    struct uncertainty_ctx a = {.out = out,
                                .t = &again,
                                .known = known,
                                .wait_error = wait_error(t),
                                .wait_rule = wait_rule_error(ratio)};
    double squares = known->replay * known->replay + known->waits * known->waits;
    double span = (double)path->length_ns;
    memset(out, 0, sizeof *out);
    out->wait_ratio = ratio;
    out->replay = known->replay;
    out->waits = known->waits;
    if (known->lengths < STEPS_FEW)
        out->steps = known->steps == 1 ? STEP_ALONE : STEP_SECOND;
    out->steps = hypot(out->steps, known->spread);
    squares += out->steps * out->steps;
    for (size_t i = 0; i < path->count && span > 0; i++) {
        const struct path_step *s = &path->list[i];
        if (add_step(&a, s, (double)(s->end_ns - s->start_ns) / span, e) < 0)
            return -1;
    }
    out->shares[BASIS_UNSIZED] = out->unknown[BASIS_UNSIZED] = a.sums[BASIS_UNSIZED] =
        known->unsized;
    for (int b = 0; b < BASIS_COUNT; b++) {
        out->errors[b] = out->shares[b] > 0 ? a.sums[b] / out->shares[b] : 0;
        out->unmeasured += out->unknown[b];
        squares += a.sums[b] * a.sums[b];
    }
    out->share = sqrt(squares);
    return 0;
}
