/* SPDX-License-Identifier: MIT */
#include "compare/differences.h"

#include "analysis/settings.h"
#include "compare/prediction.h"

#include <string.h>

static void differ(struct comparison *c, const char *text)
{
    const char **more = arena_alloc(&c->arena, (c->ndifferences + 1) * sizeof *more);
    for (size_t i = 0; i < c->ndifferences; i++)
        more[i] = c->differences[i];
    more[c->ndifferences++] = text;
    c->differences = more;
}

static const char *or_unknown(const char *text)
{
    return text[0] != '\0' ? text : "unknown";
}

#define RANKS_NAMED 8 /* that one side alone has; more are counted */

static bool has_rank(const struct run *run, int rank)
{
    for (size_t i = 0; i < run->nranks; i++) {
        if (run->ranks[i].rank == rank)
            return true;
    }
    return false;
}

/* "ranks 6, 7 in the base alone"; NULL: the other side has them all. */
static const char *ranks_alone(struct comparison *c, const struct run *run, const struct run *other,
                               const char *side)
{
    const char *list = "";
    size_t n = 0;
    for (size_t i = 0; i < run->nranks; i++) {
        const int rank = run->ranks[i].rank;
        if (has_rank(other, rank))
            continue;
        if (n++ < RANKS_NAMED)
            list = arena_printf(&c->arena, "%s%s%d", list, n > 1 ? ", " : "", rank);
    }
    if (n == 0)
        return NULL;
    if (n > RANKS_NAMED)
        list = arena_printf(&c->arena, "%s and %zu more", list, n - RANKS_NAMED);
    return arena_printf(&c->arena, "rank%s %s in the %s alone", n > 1 ? "s" : "", list, side);
}

/* Of equal jobs of which other ranks were recorded. Means are over the ranks of each side. */
static void find_other_ranks(struct comparison *c, const struct run *base, const struct run *test)
{
    const char *texts[] = {ranks_alone(c, base, test, "base"), ranks_alone(c, test, base, "test")};
    for (int i = 0; i < 2; i++) {
        if (texts[i] != NULL)
            differ(c, texts[i]);
    }
}

/* The value of a setting, or all of them where ranks differ; NULL: it is not set. */
static const char *values_of(struct comparison *c, const struct settings *s, const char *name)
{
    const char *text = NULL;
    for (size_t i = 0; i < s->n; i++) {
        if (strcmp(s->list[i].name, name) == 0)
            text = text == NULL ? s->list[i].value
                                : arena_printf(&c->arena, "%s and %s", text, s->list[i].value);
    }
    return text;
}

static void add_setting(struct comparison *c, const char *name, const char *base, const char *test)
{
    struct compare_setting *more = arena_alloc(&c->arena, (c->nsettings + 1) * sizeof *c->settings);
    if (c->nsettings > 0)
        memcpy(more, c->settings, c->nsettings * sizeof *more);
    more[c->nsettings++] = (struct compare_setting){name, base, test};
    c->settings = more;
}

/* Settings that are not the same on both sides, by name; first those of the base. */
static void find_settings(struct comparison *c, const struct run *base, const struct run *test)
{
    struct settings b, t;
    settings_init(&b, base);
    settings_init(&t, test);
    for (size_t i = 0; i < b.n + t.n && b.n > 0 && t.n > 0; i++) {
        const struct settings *of = i < b.n ? &b : &t;
        const size_t at = i < b.n ? i : i - b.n;
        const char *name = of->list[at].name, *old = values_of(c, &b, name),
                   *new = values_of(c, &t, name);
        if (settings_is_identity(name) || (at > 0 && strcmp(of->list[at - 1].name, name) == 0) ||
            (of == &t && old != NULL))
            continue;
        if (old == NULL || new == NULL || strcmp(old, new) != 0)
            add_setting(c, name, old, new);
    }
    settings_release(&b);
    settings_release(&t);
}

static int64_t gpus_of(struct compare_runs side)
{
    return side.predicted != NULL ? side.predicted->gpus : side.list[0]->run->world_size;
}

/* Where one of them is a prediction. */
static void find_other_size(struct comparison *c, struct compare_runs base,
                            struct compare_runs test)
{
    const long long b = gpus_of(base), t = gpus_of(test);
    if (b != t)
        differ(c, arena_printf(&c->arena, "ranks: %lld, %lld", b, t));
}

static void find_other_recording(struct comparison *c, const struct analysis *base,
                                 const struct analysis *test)
{
    const struct run *b = base->run, *t = test->run;
    if (b->world_size != t->world_size)
        differ(c, arena_printf(&c->arena, "ranks: %d, %d", b->world_size, t->world_size));
    else
        find_other_ranks(c, b, t);
    if (strcmp(b->ranks[0].gpu, t->ranks[0].gpu) != 0)
        differ(c, arena_printf(&c->arena, "GPU: %s, %s", or_unknown(b->ranks[0].gpu),
                               or_unknown(t->ranks[0].gpu)));
    if (base->node_map.nodes > 0 && test->node_map.nodes > 0 &&
        base->node_map.nodes != test->node_map.nodes)
        differ(c, arena_printf(&c->arena, "nodes: %d, %d", base->node_map.nodes,
                               test->node_map.nodes));
    if (strcmp(b->format, t->format) != 0)
        differ(c, arena_printf(&c->arena, "recorded by: %s, %s", b->format, t->format));
    if (base->coverage != test->coverage)
        differ(c, "what was recorded (coverage in analyze's JSON): a part may be missing on one "
                  "side alone");
    if (base->job_steps.source != test->job_steps.source)
        differ(c, arena_printf(&c->arena, "steps: %s, %s", step_source_name(base->job_steps.source),
                               step_source_name(test->job_steps.source)));
    find_settings(c, b, t);
}

void find_differences(struct comparison *c, struct compare_runs base, struct compare_runs test)
{
    if (base.predicted != NULL || test.predicted != NULL)
        find_other_size(c, base, test);
    else
        find_other_recording(c, base.list[0], test.list[0]);
}
