/* SPDX-License-Identifier: MIT */
#include "metrics/metrics.h"

#include "base/buf.h"
#include "base/opt.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define OLD_SUFFIX "_16"

static const struct {
    const char *name, *unit;
    void (*compute)(struct metrics *, struct metric *);
} known[] = {
#define X(name, unit, definition) {#name, unit, metric_##name},
    METRICS(X)
#undef X
};

#define KNOWN (sizeof known / sizeof *known)

/* "tp=2,pp=4,dp=8" of a card that tells its parallelism; NULL. */
static const char *parallel_of(const struct card *card, struct arena *arena)
{
    struct buf text = BUF_INIT;
    const char *copy = NULL;
    const struct {
        const char *role;
        double size;
    } axes[] = {{"tp", card->tp}, {"cp", card->cp}, {"pp", card->pp}, {"dp", card_dp(card)}};
    for (size_t i = 0; i < sizeof axes / sizeof *axes; i++) {
        if (axes[i].size > 1)
            buf_printf(&text, "%s%s=%.0f", text.len > 0 ? "," : "", axes[i].role, axes[i].size);
    }
    if (text.len > 0)
        copy = arena_strndup(arena, text.data, text.len);
    buf_release(&text);
    return copy;
}

/* The grid that is told must fit; one that only the card tells, with another number of ranks than
 * the trace has, say, gives way to what the trace shows. */
int metrics_init(struct metrics *m, const struct metrics_input *in, struct err *e)
{
    const char *told;
    struct err ignored;
    memset(m, 0, sizeof *m);
    m->in = *in;
    arena_init(&m->arena);
    if (in->parallel != NULL)
        return recorded_grid_init(&m->recorded, in->run, &in->analysis->job_steps, in->parallel, e);
    told = parallel_of(in->card, &m->arena);
    if (told != NULL &&
        recorded_grid_init(&m->recorded, in->run, &in->analysis->job_steps, told, &ignored) == 0)
        return 0;
    if (told != NULL)
        recorded_grid_release(&m->recorded);
    return recorded_grid_init(&m->recorded, in->run, &in->analysis->job_steps, NULL, e);
}

void metrics_release(struct metrics *m)
{
    for (size_t i = 0; i < m->count; i++)
        free(m->list[i].fields);
    free(m->list);
    recorded_grid_release(&m->recorded);
    arena_release(&m->arena);
}

/* Its place in `known`, or KNOWN. */
static size_t find(const char *name, size_t len)
{
    size_t old = strlen(OLD_SUFFIX);
    if (len > old && memcmp(name + len - old, OLD_SUFFIX, old) == 0)
        len -= old;
    for (size_t i = 0; i < KNOWN; i++) {
        if (strlen(known[i].name) == len && memcmp(known[i].name, name, len) == 0)
            return i;
    }
    return KNOWN;
}

int metrics_check(const char *name, size_t len, struct err *e)
{
    const char *best = known[0].name;
    char text[64];
    if (find(name, len) < KNOWN)
        return 0;
    snprintf(text, sizeof text, "%.*s", (int)(len < sizeof text ? len : sizeof text), name);
    for (size_t i = 1; i < KNOWN; i++) {
        if (opt_distance(text, known[i].name) < opt_distance(text, best))
            best = known[i].name;
    }
    return err_set(e, ERR_USAGE,
                   "there is no metric '%s'; did you mean '%s'? (--list-metrics lists them)", text,
                   best);
}

int metrics_add(struct metrics *m, const char *name, size_t len, struct err *e)
{
    size_t i = find(name, len);
    struct metric *metric;
    if (metrics_check(name, len, e) < 0)
        return -1;
    ARRAY_GROW(m->list, m->cap, m->count + 1);
    metric = &m->list[m->count++];
    *metric = (struct metric){.name = known[i].name, .unit = known[i].unit, .value = NAN};
    known[i].compute(m, metric);
    if (isnan(metric->value) && metric->reason == NULL)
        metric->reason = "the trace does not hold what it is made of";
    return 0;
}

void metric_number(struct metric *metric, const char *key, double value)
{
    ARRAY_GROW(metric->fields, metric->cap_fields, metric->nfields + 1);
    metric->fields[metric->nfields++] = (struct metric_field){key, NULL, value};
}

void metric_text(struct metric *metric, const char *key, const char *text)
{
    ARRAY_GROW(metric->fields, metric->cap_fields, metric->nfields + 1);
    metric->fields[metric->nfields++] = (struct metric_field){key, text, NAN};
}

const char *metric_key(struct metrics *m, const char *fmt, ...)
{
    struct buf text = BUF_INIT;
    const char *copy;
    va_list args;
    va_start(args, fmt);
    buf_vprintf(&text, fmt, args);
    va_end(args);
    copy = arena_strndup(&m->arena, text.data, text.len);
    buf_release(&text);
    return copy;
}
