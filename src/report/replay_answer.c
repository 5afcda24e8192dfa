/* SPDX-License-Identifier: MIT
 *
 * Shared by the writers of a replay: its answer in sentences, numbers, the parts of a step.
 */
#include "report/replay_internal.h"

#include "base/buf.h"
#include "report/table.h"

#include <math.h>
#include <string.h>

#define LIMIT_MIN 0.1 /* of the critical path: the second largest part is named from here on */
#define BASIS_MIN 0.005

/* ---- the answer ---- */

/* Returns whether the first row is the recording itself, with nothing changed. */
static bool is_own(const struct replay *rep)
{
    return rep->same_hardware && rep->calibrate && rep->host_speed == 1 &&
           rep->scales[0].scale == 1 && !(rep->scales[0].fault_free_ns > 0);
}

static void put_change(struct buf *b, const struct replay *rep, double span_ns)
{
    const double change = span_ns / rep->recorded.span_ns - 1;
    char text[32];
    if (isfinite(change))
        buf_printf(b, " (%s)", replay_change(text, sizeof text, change));
}

void replay_answer_text(struct buf *b, const struct replay *rep)
{
    const struct replay_scale *s = &rep->scales[0];
    const double ratio = rep->recorded.span_ns > 0 ? s->time.span_ns / rep->recorded.span_ns : NAN;
    char time[32];
    buf_printf(b, "%d %s: %s a step, recorded. ", rep->world,
               rep->gpu_known   ? rep->from.gpu->name
               : rep->world > 1 ? "unknown GPUs"
                                : "unknown GPU",
               text_ns(time, sizeof time, rep->recorded.span_ns));
    if (is_own(rep))
        buf_puts(b, "Replayed there: ");
    else
        buf_printf(b, "%lld %s: ", (long long)s->gpus,
                   rep->same_hardware ? "of them" : rep->to.gpu->name);
    buf_puts(b, text_ns(time, sizeof time, s->time.span_ns));
    if (is_own(rep)) {
        put_change(b, rep, s->time.span_ns);
        buf_putc(b, '.');
    } else if (!rep->gpu_known) {
        buf_puts(b, ", with the recorded times; name the recorded GPU (--from-gpu) to predict "
                    "another one.");
    } else if (fabs(ratio - 1) < 0.005) {
        buf_puts(b, ", the same.");
    } else if (isfinite(ratio) && ratio > 0) {
        buf_printf(b, ", %.3g times as %s.", fmax(ratio, 1 / ratio), ratio > 1 ? "long" : "fast");
    }
}

void replay_limit_text(struct buf *b, const struct replay_scale *s, size_t columns)
{
    const struct path_summary *path = &s->path;
    const size_t from = b->len;
    for (int i = 0; i < path->count && i < 2 && (i == 0 || path->parts[i].share >= LIMIT_MIN);
         i++) {
        size_t before = b->len;
        buf_printf(b, "%s%s %.0f %%", i == 0 ? "" : ", ", path->parts[i].name,
                   100 * path->parts[i].share);
        if (i > 0 && b->len - from > columns) {
            b->len = before;
            b->data[before] = '\0';
        }
    }
    if (b->len == from)
        buf_putc(b, '-');
}

void replay_basis_text(struct buf *b, const struct replay *rep)
{
    const struct replay_scale *last = &rep->scales[rep->nscales - 1];
    const struct uncertainty *u = &last->error;
    bool told[BASIS_COUNT] = {false};
    char time[32];
    if (!is_own(rep)) {
        buf_printf(b, "%s replays to %s",
                   rep->gpu_known ? "The recording" : "With its own times it",
                   text_ns(time, sizeof time, rep->own.span_ns));
        put_change(b, rep, rep->own.span_ns);
        buf_puts(b, ". ");
    }
    buf_printf(b, "At %lld GPU%s the critical path rests on: ", (long long)last->gpus,
               last->gpus > 1 ? "s" : "");
    for (int k = 0; k < BASIS_COUNT; k++) {
        int top = -1;
        for (int basis = 0; basis < BASIS_COUNT; basis++) {
            if (!told[basis] && u->shares[basis] >= BASIS_MIN &&
                (top < 0 || u->shares[basis] > u->shares[top]))
                top = basis;
        }
        if (top < 0)
            break;
        told[top] = true;
        buf_printf(b, "%s%s %.0f %%", k == 0 ? "" : ", ",
                   !rep->gpu_known && (top == BASIS_GEMM || top == BASIS_RULE)
                       ? "times of an unknown GPU"
                       : basis_words[top].path_text,
                   100 * u->shares[top]);
    }
    buf_puts(b, replay_unmeasured(last) ? "; ? marks what is assumed in part." : ".");
}

/* ---- numbers ---- */

/* "+2.1 %"; what rounds to nothing has no minus. */
char *replay_change(char *buf, size_t size, double share)
{
    snprintf(buf, size, "%+.1f %%", without_minus(100 * share, 1));
    return buf;
}

char *replay_rate(char *buf, size_t size, double per_s)
{
    static const char *const units[] = {"", " k", " M", " G", " T", " P", " E", " Z", " Y"};
    size_t unit = 0;
    if (isnan(per_s)) {
        snprintf(buf, size, "-");
        return buf;
    }
    while (per_s >= 999.5 && unit + 1 < sizeof units / sizeof *units) {
        per_s /= 1000;
        unit++;
    }
    snprintf(buf, size, "%.3g%s", per_s, units[unit]);
    return buf;
}

/* Of a text of text_ns(). */
static double unit_ns(const char *text)
{
    const char unit = text[strcspn(text, " ") + 1];
    return unit == 'n' ? 1 : unit == 'u' ? 1e3 : unit == 'm' ? 1e6 : 1e9;
}

char *replay_interval(char *buf, size_t size, const double ends_ns[2])
{
    char low[32], high[32];
    size_t n;
    if (!isfinite(ends_ns[0]) || !isfinite(ends_ns[1])) {
        snprintf(buf, size, "not known");
        return buf;
    }
    text_ns(low, sizeof low, ends_ns[0]);
    text_ns(high, sizeof high, ends_ns[1]);
    n = strcspn(low, " ");
    if (strcmp(low + n, high + strcspn(high, " ")) == 0) /* the unit once */
        low[n] = '\0';
    else
        snprintf(low, sizeof low, "%.2f", ends_ns[0] / unit_ns(high));
    snprintf(buf, size, "%s to %s", low, high);
    return buf;
}

bool replay_unmeasured(const struct replay_scale *s)
{
    return isfinite(s->error.share) && s->error.unmeasured > SHARE_SHOWN;
}

/* ---- parts of a step ---- */

const struct replay_part replay_parts[REPLAY_PARTS] = {
    {"compute", "compute", offsetof(struct iteration_time, compute_ns)},
    {"untimed", "untimed", offsetof(struct iteration_time, untraced_ns)},
    {"exposed comm", "comm", offsetof(struct iteration_time, exposed_comm_ns)},
    {"copies", "copies", offsetof(struct iteration_time, exposed_memory_ns)},
    {"pipeline bubble", "bubble", offsetof(struct iteration_time, bubble_ns)},
    {"host-bound", "host", offsetof(struct iteration_time, host_bound_ns)},
    {"waits for other streams", "streams", offsetof(struct iteration_time, stream_wait_ns)},
    {"idle", "idle", offsetof(struct iteration_time, other_idle_ns)},
    {"waits for ranks not recorded", "absent", offsetof(struct iteration_time, absent_wait_ns)},
};

double replay_part_share(const struct iteration_time *time, int part)
{
    const double ns = *(const double *)((const char *)time + replay_parts[part].offset);
    return time->span_ns > 0 ? ns / time->span_ns : 0;
}

bool replay_part_seen(const struct replay *rep, int part)
{
    for (size_t i = 0; i < rep->nscales; i++) {
        if (replay_part_share(&rep->scales[i].time, part) >= SHARE_SHOWN)
            return true;
    }
    return part == 0;
}

const struct axis_time *replay_axis(const struct replay_scale *s, const char *name)
{
    for (int i = 0; i < s->axes.count; i++) {
        if (strcmp(s->axes.list[i].name, name) == 0)
            return &s->axes.list[i];
    }
    return NULL;
}

double replay_exposed_percent(const struct replay_scale *s, const struct axis_time *axis)
{
    return s->time.span_ns > 0 ? 100 * axis->exposed_ns / s->time.span_ns : 0;
}
