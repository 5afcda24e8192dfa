/* SPDX-License-Identifier: MIT
 *
 * Sentences that the text and the page of a replay share.
 */
#include "report/replay_internal.h"

#include "report/table.h"

#include <math.h>
#include <string.h>

bool replay_next_path(const struct replay *rep, size_t *at, char gpus[64], const char **words)
{
    size_t first = *at, last = first;
    if (first >= rep->nscales)
        return false;
    *words = rep->scales[first].path.words;
    while (last + 1 < rep->nscales && strcmp(rep->scales[last + 1].path.words, *words) == 0)
        last++;
    if (last > first)
        snprintf(gpus, 64, "%lld to %lld GPUs", (long long)rep->scales[first].gpus,
                 (long long)rep->scales[last].gpus);
    else
        snprintf(gpus, 64, "%lld GPU%s", (long long)rep->scales[first].gpus,
                 rep->scales[first].gpus > 1 ? "s" : "");
    *at = last + 1;
    return true;
}

/* ---- error bars ---- */

/* Waits that are sure to stay are no error. */
static double weight_of(const struct replay_scale *s, enum basis basis)
{
    return s->error.shares[basis] * (basis == BASIS_WAIT ? s->error.errors[basis] : 1);
}

/* The scale whose path rests most on this. */
static const struct replay_scale *most(const struct replay *rep, enum basis basis)
{
    const struct replay_scale *top = &rep->scales[0];
    for (size_t i = 1; i < rep->nscales; i++) {
        if (weight_of(&rep->scales[i], basis) > weight_of(top, basis))
            top = &rep->scales[i];
    }
    return top;
}

#define SAME 0.0005 /* a ratio that is shown as 1 */

/* Of waits for ranks that were not recorded. */
static const char *wait_text(struct replay *rep, const struct uncertainty *u, const char *share,
                             const char *error)
{
    const char *start = arena_printf(
        &rep->arena, "up to %s of the step is waits for ranks that were not recorded", share);
    if (u->errors[BASIS_WAIT] >= 1)
        return arena_printf(&rep->arena,
                            "%s: what they are on this hardware is not known, and they are taken "
                            "to be off by as much",
                            start);
    if (fabs(u->wait_ratio - 1) < SAME)
        return arena_printf(&rep->arena,
                            "%s: they are kept, and taken to be off by %s, as communication "
                            "changes",
                            start, error);
    return arena_printf(&rep->arena,
                        "%s: they take x %.3g, as computation does, and are taken to be off by %s, "
                        "as computation and communication change",
                        start, u->wait_ratio, error);
}

static const char *basis_text(struct replay *rep, enum basis basis)
{
    static const char *const on[] = {[BASIS_COLLECTIVE] = "the model of collectives",
                                     [BASIS_P2P] = "the model of messages",
                                     [BASIS_GEMM] = "the model of GEMMs",
                                     [BASIS_RULE] = "ratios of the hardware's figures"};
    const struct uncertainty *u = &most(rep, basis)->error;
    char share[32], error[32];
    if (!(weight_of(most(rep, basis), basis) > 0.0005))
        return NULL;
    replay_percent(share, sizeof share, u->shares[basis]);
    replay_percent(error, sizeof error, u->errors[basis]);
    if (basis == BASIS_UNSIZED)
        return arena_printf(
            &rep->arena,
            "up to %s of the step is communication of unknown size or communicator: "
            "it keeps its measured time, and its error is taken as all of it",
            share);
    if (basis == BASIS_WAIT)
        return wait_text(rep, u, share, error);
    if (u->unknown[basis] > 0 && u->errors[basis] == 1)
        return arena_printf(
            &rep->arena,
            "up to %s is measured times that were kept: their times on this hardware are "
            "not known, so their error is taken as their whole time",
            share);
    if (!(u->unknown[basis] > 0))
        return arena_printf(&rep->arena,
                            "up to %s is predicted by %s: error %s, as measured on such hardware",
                            share, on[basis], error);
    if (basis == BASIS_RULE)
        return arena_printf(&rep->arena,
                            "up to %s is scaled by %s: not validated, the error is taken as the "
                            "change (%s)",
                            share, on[basis], error);
    return arena_printf(
        &rep->arena,
        "up to %s is predicted by %s: not validated on this hardware; %s is the error of such "
        "models on hardware they were not fitted to",
        share, on[basis], error);
}

static bool any_unmeasured(const struct replay *rep)
{
    for (size_t i = 0; i < rep->nscales; i++) {
        if (replay_unmeasured(&rep->scales[i]))
            return true;
    }
    return false;
}

const char *replay_error_text(struct replay *rep, const char *list[REPLAY_BARS_MAX + 1])
{
    char off[32];
    int n = 0;
    for (int b = BASIS_KEPT + 1; b < BASIS_COUNT && rep->nscales > 0; b++) {
        const char *words = basis_text(rep, (enum basis)b);
        if (words != NULL)
            list[n++] = words;
    }
    list[n] = NULL;
    replay_percent(off, sizeof off, rep->scales[0].error.replay);
    return arena_printf(
        &rep->arena, "%s%s%s%s",
        rep->own_error > REPLAY_ERROR_MAX
            ? arena_printf(&rep->arena,
                           "on the recording's own hardware a step takes %s %s than its replay",
                           off, rep->recorded.span_ns > rep->own.span_ns ? "more" : "less")
            : arena_printf(&rep->arena, "the replay is %s off on the recording's own hardware",
                           off),
        rep->scales[0].error.steps > 0
            ? arena_printf(&rep->arena, "; %s: %.0f %%",
                           rep->lengths < STEPS_FEW ? "too few steps" : "steps differ",
                           100 * rep->scales[0].error.steps)
            : "",
        any_unmeasured(rep) ? "; ? marks an error that is not measured in full" : "",
        n > 0 ? ". Of the critical path" : "");
}

/* ---- the recording ---- */

const char *replay_own_text(struct replay *rep)
{
    char recorded[32], own[32], off[32];
    double change = rep->own.span_ns / rep->recorded.span_ns - 1;
    text_ns(recorded, sizeof recorded, rep->recorded.span_ns);
    text_ns(own, sizeof own, rep->own.span_ns);
    return arena_printf(&rep->arena, "%s recorded, %s replayed %s%s%s%s", recorded, own,
                        rep->gpu_known ? "on the same hardware" : "with its own times",
                        isfinite(change) ? " (" : "",
                        isfinite(change) ? replay_change(off, sizeof off, change) : "",
                        isfinite(change) ? ")" : "");
}

const char *replay_spread_text(struct replay *rep)
{
    const struct iteration_spread *s = &rep->spread;
    char median[32], low[32], high[32];
    if (s->count == 0)
        return NULL;
    text_ns(median, sizeof median, s->median_ns);
    text_ns(low, sizeof low, s->p5_ns);
    text_ns(high, sizeof high, s->p95_ns);
    return arena_printf(&rep->arena, "%zu %s: median %s, %s%s to %s", s->count,
                        rep->warm_up ? "recorded behind a warm-up that is left out"
                                     : "of known length",
                        median, s->count < 20 ? "" : "5 to 95 % of them ", low, high);
}

const char *replay_work_text(struct replay *rep)
{
    const struct workload *w = &rep->workload;
    char tokens[64] = "";
    if (w->tokens > 0)
        snprintf(tokens, sizeof tokens, w->tokens < 1e9 ? "%.0f tokens%s" : "%.6g tokens%s",
                 w->tokens, w->missing == NULL ? ", " : " an iteration");
    if (w->missing != NULL)
        return w->tokens > 0 || w->given
                   ? arena_printf(&rep->arena, "%s%sutilisation not known: %s", tokens,
                                  w->tokens > 0 ? "; " : "", w->missing)
                   : NULL;
    return arena_printf(
        &rep->arena, "%s%.3g FLOPs an iteration (%s%s); a GPU's dense peak is %.4g TFLOPS (%s)",
        tokens, w->flops,
        w->given ? "given"
                 : arena_printf(&rep->arena, "of the recorded %s, recomputation included", w->of),
        !w->given && w->shapeless > 0 ? ", those of unknown shape left out" : "", w->peak_tflops,
        w->mix);
}
