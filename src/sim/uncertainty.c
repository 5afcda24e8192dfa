/* SPDX-License-Identifier: MIT */
#include "sim/uncertainty.h"

#include "model/accuracy.h"

#include <math.h>
#include <string.h>

static const enum accuracy_kind kinds[BASIS_COUNT] = {
    [BASIS_COLLECTIVE] = ACCURACY_COLLECTIVE,
    [BASIS_P2P] = ACCURACY_P2P,
    [BASIS_GEMM] = ACCURACY_GEMM,
};

const char *basis_name(enum basis basis)
{
    static const char *const names[] = {[BASIS_KEPT] = "measured",
                                        [BASIS_COLLECTIVE] = "collectives",
                                        [BASIS_P2P] = "messages",
                                        [BASIS_GEMM] = "gemms",
                                        [BASIS_RULE] = "rules"};
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
struct adding {
    struct uncertainty *out;
    double sums[BASIS_COUNT]; /* shares x errors */
    struct retarget *t;
    const struct certainty *known;
};

/* Of a modelled cost; *known: both ends of the ratio are. */
static double model_error(const struct adding *a, enum basis basis, bool ratio, bool *known)
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
static bool kept_blindly(const struct adding *a, enum basis basis)
{
    if (basis == BASIS_COLLECTIVE || basis == BASIS_P2P)
        return !a->known->network_known && a->known->network_asked_for;
    return !a->known->gpu_known && a->known->gpu_asked_for;
}

static int add_step(struct adding *a, const struct path_step *step, double share, struct err *e)
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
    if (retarget_cost(a->t, cost, &ns, e) < 0)
        return -1;
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
    struct adding a = {.out = out, .t = &again, .known = known};
    double squares = known->replay * known->replay;
    double span = (double)(path->end_ns - path->start_ns);
    memset(out, 0, sizeof *out);
    out->replay = known->replay;
    for (size_t i = 0; i < path->count && span > 0; i++) {
        const struct path_step *s = &path->list[i];
        if (add_step(&a, s, (double)(s->end_ns - s->start_ns) / span, e) < 0)
            return -1;
    }
    for (int b = 0; b < BASIS_COUNT; b++) {
        out->errors[b] = out->shares[b] > 0 ? a.sums[b] / out->shares[b] : 0;
        out->unmeasured += out->unknown[b];
        squares += a.sums[b] * a.sums[b];
    }
    out->share = sqrt(squares);
    return 0;
}
