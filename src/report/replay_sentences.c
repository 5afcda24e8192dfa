/* SPDX-License-Identifier: MIT
 *
 * Sentences that the text and the page of a replay share.
 */
#include "report/replay_internal.h"

#include "base/buf.h"
#include "report/table.h"

#include <math.h>
#include <string.h>

/* ---- critical paths ---- */

#define NAMED_LEAST 0.03      /* smaller parts go into the rest of a sentence */
#define NAMED_MAX 4           /* parts that a sentence names */
#define OVERLAPPED_LEAST 0.05 /* of a part's time: less is "not overlapped" */

static void put_part(struct buf *b, const struct path_part *p, int percent, bool first)
{
    static const char *const where[] = {"first", "middle", "last"};
    buf_printf(b, "%s%d %%%s %s", first ? "" : ", ", percent, first ? " of the step is" : "",
               p->name);
    if (!first)
        return;
    if (p->last == 1)
        buf_printf(b, ", nearly all in the last of its %u calls", p->calls);
    else if (p->last > 1)
        buf_printf(b, ", nearly all in the last %u of its %u calls", p->last, p->calls);
    for (int t = 0; t < 3 && p->last == 0 && p->many; t++) {
        if (p->thirds[t] >= PATH_ENDS)
            buf_printf(b, " in the %s third of it", where[t]);
    }
    if (p->what == PATH_COMM && p->overlapped_ns <= OVERLAPPED_LEAST * p->ns)
        buf_puts(b, ", not overlapped");
}

/* Whole percents of what a sentence names; what is left is the rest, never below 0. */
static int percents(const struct path_summary *s, int list[NAMED_MAX])
{
    int n = 0, sum = 0;
    while (n < s->count && n < NAMED_MAX && (n == 0 || s->parts[n].share >= NAMED_LEAST)) {
        list[n] = (int)lround(100 * s->parts[n].share);
        sum += list[n++];
    }
    for (int i = 0; sum > 100; i = (i + 1) % n, sum--)
        list[i]--;
    return n;
}

const char *replay_path_text(struct replay *rep, const struct path_summary *s)
{
    struct buf b = BUF_INIT;
    const char *text;
    int list[NAMED_MAX], n = percents(s, list), rest = 100;
    for (int i = 0; i < n; i++) {
        put_part(&b, &s->parts[i], list[i], i == 0);
        rest -= list[i];
    }
    if (n == 0)
        buf_puts(&b, "nothing is on the path");
    else if (rest > 0)
        buf_printf(&b, ", %d %% rest", rest);
    if (s->slow_rank >= 0)
        buf_printf(&b,
                   ". %.0f %% of the work on the path is rank %d's, which computes %.0f %% longer "
                   "than the median rank",
                   100 * s->slow_work, s->slow_rank, 100 * s->slower);
    text = arena_strdup(&rep->arena, b.data);
    buf_release(&b);
    return text;
}

bool replay_next_path(struct replay *rep, size_t *at, char gpus[64], const char **words)
{
    size_t first = *at, last = first;
    if (first >= rep->nscales)
        return false;
    *words = replay_path_text(rep, &rep->scales[first].path);
    while (last + 1 < rep->nscales &&
           strcmp(replay_path_text(rep, &rep->scales[last + 1].path), *words) == 0)
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

/* ---- intervals ---- */

/* Returns by how much the step may be shorter or longer because of this basis, whichever is more,
 * as a share. */
static double effect_of(const struct replay_scale *s, enum basis basis)
{
    const struct uncertainty *u = &s->error;
    return s->time.span_ns > 0 ? fmax(u->shorter_ns[basis], u->longer_ns[basis]) / s->time.span_ns
                               : 0;
}

/* Returns the scale whose step this basis may change most. */
static const struct replay_scale *scale_most_on(const struct replay *rep, enum basis basis)
{
    const struct replay_scale *top = &rep->scales[0];
    for (size_t i = 1; i < rep->nscales; i++) {
        if (effect_of(&rep->scales[i], basis) > effect_of(top, basis))
            top = &rep->scales[i];
    }
    return top;
}

#define SAME 0.0005 /* a ratio that is shown as 1 */

/* The origin of the error of a basis. */
static const char *reason_text(struct replay *rep, const struct uncertainty *u, enum basis basis)
{
    bool known = !(u->unknown[basis] > 0);
    bool source_known =
        basis == BASIS_COLLECTIVE || basis == BASIS_P2P ? rep->network_known : rep->gpu_known;
    if (basis <= BASIS_RULE && !known && !source_known &&
        u->errors[basis] > UNCERTAINTY_BLIND - 1 - SAME)
        return "kept as measured, as the recording's hardware is not known: half to twice of it "
               "is assumed";
    switch (basis) {
    case BASIS_UNSIZED:
        return "they keep their measured times, and half to twice of these is assumed";
    case BASIS_WAIT:
        if (u->errors[basis] >= 1)
            return "what they are on this hardware is not known, and all of it is assumed";
        if (fabs(u->wait_ratio - 1) < SAME)
            return "they are kept; up to half of them may disappear or appear on the target";
        return arena_printf(
            &rep->arena,
            "they take x %.3g, as computation does; up to half of them may disappear or "
            "appear on the target",
            u->wait_ratio);
    case BASIS_LATE:
        return "other ranks may finish a part before it arrives";
    case BASIS_RULE:
        return "not validated, the change is taken as the error";
    default:
        return known ? "the model's error on such machines outside its fit"
                     : "not measured on such hardware: the model's error on other hardware";
    }
}

/* "0.4 %", "6.2 %", "38 %", "> 999 %". */
static char *percent_text(char *buf, size_t size, double share)
{
    double percent = 100 * share;
    if (!isfinite(percent))
        snprintf(buf, size, "-");
    else if (percent > 999)
        snprintf(buf, size, "> 999 %%");
    else
        snprintf(buf, size, percent < 9.95 ? "%.1f %%" : "%.0f %%", percent);
    return buf;
}

static const char *basis_text(struct replay *rep, enum basis basis)
{
    const struct replay_scale *s = scale_most_on(rep, basis);
    const struct uncertainty *u = &s->error;
    char share[32], error[32], shorter[32], longer[32];
    if (!(effect_of(s, basis) > SHARE_SHOWN))
        return NULL;
    percent_text(share, sizeof share, u->shares[basis]);
    percent_text(error, sizeof error, u->errors[basis]);
    percent_text(shorter, sizeof shorter, u->shorter_ns[basis] / s->time.span_ns);
    percent_text(longer, sizeof longer, u->longer_ns[basis] / s->time.span_ns);
    if (basis == BASIS_LATE)
        return arena_printf(&rep->arena, "%s: %s; a step up to %s shorter",
                            basis_words[basis].error_text, reason_text(rep, u, basis), shorter);
    return arena_printf(
        &rep->arena, "%s: %s of the critical path%s%s (%s); a step %s shorter to %s longer",
        basis_words[basis].error_text, share, u->shares[basis] > 0 ? ", error " : "",
        u->shares[basis] > 0 ? error : "", reason_text(rep, u, basis), shorter, longer);
}

const char *replay_error_text(struct replay *rep, const char *list[REPLAY_BARS_MAX + 1])
{
    const struct uncertainty *u = &rep->scales[0].error;
    struct buf b = BUF_INIT;
    char off[32];
    bool unmeasured = false;
    int n = 0;
    for (int basis = BASIS_KEPT + 1; basis < BASIS_COUNT; basis++) {
        const char *words = basis_text(rep, (enum basis)basis);
        if (words != NULL)
            list[n++] = words;
    }
    list[n] = NULL;
    for (size_t i = 0; i < rep->nscales; i++)
        unmeasured = unmeasured || replay_unmeasured(&rep->scales[i]);
    percent_text(off, sizeof off, u->replay);
    /* own_error is relative to the replayed step; the headline has it of the recorded step. */
    if (rep->own_error >= SHARE_SHOWN)
        buf_printf(&b, "on the recording's hardware a step takes %s %s than its replay", off,
                   rep->recorded.span_ns > rep->own.span_ns ? "more" : "less");
    else
        buf_printf(&b, "the replay is %s off on the recording's hardware", off);
    if (u->steps > 0)
        buf_printf(&b, "; %s: %.0f %%", rep->lengths < STEPS_FEW ? "too few steps" : "steps differ",
                   100 * u->steps);
    if (unmeasured)
        buf_puts(&b, "; ? marks an interval that is assumed in part");
    if (!rep->same_hardware)
        buf_puts(&b, "; a target slower than its profile is not covered (specter bench measures "
                     "that)");
    if (n > 0)
        buf_puts(&b, "; and errors of");
    const char *text = arena_strdup(&rep->arena, b.data);
    buf_release(&b);
    return text;
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
                        rep->warm_up ? "recorded after a warm-up that is left out"
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
