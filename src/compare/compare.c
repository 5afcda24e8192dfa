/* SPDX-License-Identifier: MIT */
#include "compare/compare.h"

#include "analysis/settings.h"
#include "base/arena.h"
#include "base/condition.h"
#include "base/order.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *title;
} tables[] = {
#define X(id, name, title) {name, title},
    COMPARE_TABLES(X)
#undef X
};

const char *compare_table_name(enum compare_table table)
{
    return tables[table].name;
}

const char *compare_table_title(enum compare_table table)
{
    return tables[table].title;
}

const char *compare_verdict_name(enum compare_verdict verdict)
{
    static const char *const names[] = {
#define X(id, name) name,
        COMPARE_VERDICTS(X)
#undef X
    };
    return names[verdict];
}

double compare_change(const struct compare_row *row)
{
    if (row->test_ns == 0 && row->base_ns == 0)
        return 0;
    return (isfinite(row->noise.low) ? row->noise.ratio : row->test_ns / row->base_ns) - 1;
}

/* ---- what one side has ---- */

struct entry {
    struct compare_key of;
    struct time_series samples;
    double one_ns, count, step_ns; /* sums over the runs that have it */
    size_t runs;
};

struct side {
    struct entry *list; /* owned */
    size_t n, cap;
    bool several; /* both sides have several runs, whose means are the samples */
};

static struct entry *find(const struct side *s, const struct compare_key *of)
{
    for (size_t i = 0; i < s->n; i++) {
        if (memcmp(&s->list[i].of, of, sizeof *of) == 0)
            return &s->list[i];
    }
    return NULL;
}

static struct entry *entry_of(struct side *s, const struct compare_key *of)
{
    struct entry *e = find(s, of);
    if (e != NULL)
        return e;
    ARRAY_GROW(s->list, s->cap, s->n + 1);
    e = &s->list[s->n++];
    *e = (struct entry){.of = *of};
    return e;
}

/* What a run says of an entry: one of it, how many in a step, all of them in a step of a rank. */
static void add_run(const struct side *s, struct entry *e, double one_ns, double count,
                    double step_ns)
{
    e->one_ns += one_ns;
    e->count += count;
    e->step_ns += step_ns;
    e->runs++;
    if (s->several && isfinite(one_ns))
        time_series_add(&e->samples, one_ns);
}

static void add_sample(const struct side *s, struct entry *e, double ns)
{
    if (!s->several)
        time_series_add(&e->samples, ns);
}

/* The steps that tables of operations, which are of the whole recording, are of. */
static double recorded_steps(const struct analysis *a)
{
    return a->job_steps.source == STEPS_WHOLE || a->job_steps.count == 0
               ? 1
               : (double)a->job_steps.count;
}

static void add_step(struct side *s, const struct analysis *a)
{
    static const struct {
        enum compare_part part;
        size_t total, row; /* offsets in struct time_breakdown and struct step_row */
    } parts[] = {
        {COMPARE_COMPUTE, offsetof(struct time_breakdown, compute_ns),
         offsetof(struct step_row, compute_ns)},
        {COMPARE_COMM, offsetof(struct time_breakdown, exposed_comm_ns),
         offsetof(struct step_row, exposed_comm_ns)},
        {COMPARE_COPIES, offsetof(struct time_breakdown, exposed_memory_ns),
         offsetof(struct step_row, exposed_memory_ns)},
        {COMPARE_IDLE, offsetof(struct time_breakdown, idle_ns),
         offsetof(struct step_row, idle_ns)},
    };
    const struct step_window *w = &a->step_time.window;
    const double n = (double)a->nranks * (w->several ? w->steps : 1);
    struct entry *step =
        entry_of(s, &(struct compare_key){.table = COMPARE_STEP, .part = COMPARE_WHOLE});
    const int64_t *ends_ns = a->step_time.ends_ns; /* steps that repeat have no rows of their own */
    double span_ns = (double)a->total.span_ns / n;
    add_run(s, step, span_ns, NAN, span_ns);
    for (uint32_t k = 1; k < a->job_steps.count; k++) {
        if (step_counts(&a->job_steps, k) && ends_ns[k] != UNKNOWN_NS &&
            ends_ns[k - 1] != UNKNOWN_NS)
            add_sample(s, step, (double)(ends_ns[k] - ends_ns[k - 1]));
    }
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
        const int64_t *total = (const void *)((const char *)&a->total + parts[k].total);
        struct entry *part =
            entry_of(s, &(struct compare_key){.table = COMPARE_STEP, .part = parts[k].part});
        add_run(s, part, (double)*total / n, NAN, (double)*total / n);
        for (size_t i = 0; i < a->steps.count; i++) {
            const struct step_row *row = &a->steps.list[i];
            const double *sum = (const void *)((const char *)row + parts[k].row);
            if (row->counts && row->job_ns != UNKNOWN_NS && row->timed > 0)
                add_sample(s, part, *sum / row->timed);
        }
    }
}

static void add_ranks(struct side *s, const struct analysis *a)
{
    const struct step_window *w = &a->step_time.window;
    const double n = w->several ? w->steps : 1;
    for (size_t i = 0; i < a->nranks; i++) {
        const struct time_breakdown *t = &a->ranks[i].breakdown;
        if (t->timed_ops == 0)
            continue;
        const struct {
            enum compare_part part;
            double ns;
        } parts[] = {{COMPARE_COMPUTE, (double)t->compute_ns / n},
                     {COMPARE_COMM, (double)t->exposed_comm_ns / n}};
        for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
            const struct compare_key of = {
                .table = COMPARE_RANKS, .part = parts[k].part, .rank = a->ranks[i].rank->rank};
            add_run(s, entry_of(s, &of), parts[k].ns, NAN, parts[k].ns);
        }
    }
}

/* While the calls of a run are added up: sums of an entry. */
struct comm_sum {
    size_t entry; /* index into the side's list */
    double ns, timed, count, rank_ns;
};

static void add_collectives(struct side *s, const struct analysis *a)
{
    struct comm_sum *sums = NULL;
    size_t n = 0, cap = 0;
    const double steps = recorded_steps(a);
    for (size_t i = 0; i < a->comm.count; i++) {
        const struct comm_instance *in = &a->comm.list[i];
        struct entry *e;
        size_t at, k = 0;
        const struct compare_key of = {.table = COMPARE_COLLECTIVES,
                                       .op = in->op,
                                       .dtype = in->dtype,
                                       .ranks = in->comm_size,
                                       .bytes = in->bytes_known ? (int64_t)in->bytes : -1};
        e = entry_of(s, &of);
        at = (size_t)(e - s->list);
        while (k < n && sums[k].entry != at)
            k++;
        if (k == n) {
            ARRAY_GROW(sums, cap, n + 1);
            sums[n++] = (struct comm_sum){.entry = at};
        }
        sums[k].count++;
        if (in->transfer_ns == UNKNOWN_NS)
            continue;
        sums[k].timed++;
        sums[k].ns += (double)in->transfer_ns;
        sums[k].rank_ns += ((double)in->transfer_ns + (isfinite(in->wait_ns) ? in->wait_ns : 0)) *
                           in->members / (double)a->run->nranks;
        add_sample(s, e, (double)in->transfer_ns);
    }
    for (size_t k = 0; k < n; k++) {
        const struct comm_sum *sum = &sums[k];
        add_run(s, &s->list[sum->entry], sum->timed > 0 ? sum->ns / sum->timed : NAN,
                sum->count / steps, sum->timed > 0 ? sum->rank_ns / steps : NAN);
    }
    free(sums);
}

static void add_gemms(struct side *s, const struct analysis *a)
{
    const double each = recorded_steps(a) * (double)a->nranks;
    for (size_t i = 0; i < a->work.ngemms; i++) {
        const struct gemm_row *g = &a->work.gemms[i];
        double one_ns = g->timed > 0 ? g->total_ns / (double)g->timed : NAN;
        const struct compare_key of = {.table = COMPARE_GEMMS,
                                       .dtype = g->dtype,
                                       .m = g->m,
                                       .n = g->n,
                                       .k = g->k,
                                       .batch = g->batch};
        add_run(s, entry_of(s, &of), one_ns, (double)g->count / each,
                one_ns * (double)g->count / each);
    }
}

static void side_fill(struct side *s, const struct analysis *const *runs, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        add_step(s, runs[i]);
        add_ranks(s, runs[i]);
        add_collectives(s, runs[i]);
        add_gemms(s, runs[i]);
    }
}

static void side_release(struct side *s)
{
    for (size_t i = 0; i < s->n; i++)
        time_series_release(&s->list[i].samples);
    free(s->list);
}

/* ---- rows ---- */

static double mean_of(double sum, const struct entry *e)
{
    return e != NULL && e->runs > 0 ? sum / (double)e->runs : NAN;
}

static void add_row(struct comparison *c, const struct entry *base, const struct entry *test)
{
    static const struct time_series none;
    struct compare_row row = {.of = base != NULL ? base->of : test->of};
    row.base_ns = mean_of(base != NULL ? base->one_ns : 0, base);
    row.test_ns = mean_of(test != NULL ? test->one_ns : 0, test);
    row.base_count = mean_of(base != NULL ? base->count : 0, base);
    row.test_count = mean_of(test != NULL ? test->count : 0, test);
    row.base_step_ns = mean_of(base != NULL ? base->step_ns : 0, base);
    row.test_step_ns = mean_of(test != NULL ? test->step_ns : 0, test);
    row.base_two_groups = base != NULL && time_series_has_two_groups(&base->samples);
    row.test_two_groups = test != NULL && time_series_has_two_groups(&test->samples);
    sample_test(&row.noise, base != NULL ? &base->samples : &none,
                test != NULL ? &test->samples : &none, COMPARE_LEVEL);
    row.verdict = base == NULL ? COMPARE_IS_ADDED : test == NULL ? COMPARE_IS_REMOVED : 0;
    ARRAY_GROW(c->rows, c->cap_rows, c->nrows + 1);
    c->rows[c->nrows++] = row;
}

static bool is_known(const struct compare_row *row)
{
    return isfinite(row->noise.low);
}

static bool is_step(const struct compare_row *row)
{
    return row->of.table == COMPARE_STEP && row->of.part == COMPARE_WHOLE;
}

static enum compare_verdict judge(const struct compare_row *row, double threshold)
{
    const double change = compare_change(row);
    if (!is_known(row) && row->base_ns == 0 && row->test_ns > 0)
        return COMPARE_IS_ADDED;
    if (!is_known(row) && row->test_ns == 0 && row->base_ns > 0)
        return COMPARE_IS_REMOVED;
    if (!is_known(row))
        return fabs(change) < threshold ? COMPARE_IS_SIMILAR : COMPARE_IS_UNKNOWN;
    if (row->noise.low > 1 || row->noise.high < 1)
        return fabs(row->noise.ratio - 1) < threshold ? COMPARE_IS_SIMILAR
               : row->noise.ratio < 1                 ? COMPARE_IS_BETTER
                                                      : COMPARE_IS_WORSE;
    return row->noise.low >= 1 - threshold && row->noise.high <= 1 + threshold ? COMPARE_IS_SIMILAR
                                                                               : COMPARE_IS_UNKNOWN;
}

/* The verdicts of a table hold together: with n of them each is at a higher level (Bonferroni). The
 * step is the question itself, and alone. */
static void judge_all(struct comparison *c, const struct side *base, const struct side *test)
{
    size_t tested[COMPARE_TABLE_COUNT] = {0};
    for (size_t i = 0; i < c->nrows; i++)
        tested[c->rows[i].of.table] += is_known(&c->rows[i]) && !is_step(&c->rows[i]);
    for (size_t i = 0; i < c->nrows; i++) {
        struct compare_row *row = &c->rows[i];
        const size_t n = is_step(row) ? 1 : tested[row->of.table];
        if (row->verdict == COMPARE_IS_ADDED || row->verdict == COMPARE_IS_REMOVED)
            continue;
        if (is_known(row) && n > 1)
            sample_test(&row->noise, &find(base, &row->of)->samples, &find(test, &row->of)->samples,
                        1 - (1 - COMPARE_LEVEL) / (double)n);
        row->verdict = judge(row, c->threshold);
    }
}

static double weight(const struct compare_row *row)
{
    const double base = isfinite(row->base_step_ns) ? row->base_step_ns : 0;
    const double test = isfinite(row->test_step_ns) ? row->test_step_ns : 0;
    return fabs(test - base);
}

static int by_weight(const void *pa, const void *pb)
{
    const struct compare_row *a = pa, *b = pb;
    if (a->of.table != b->of.table)
        return ORDER(a->of.table, b->of.table);
    if (is_step(a) != is_step(b))
        return is_step(a) ? -1 : 1;
    if (weight(a) != weight(b))
        return weight(a) > weight(b) ? -1 : 1;
    return memcmp(&a->of, &b->of, sizeof a->of);
}

/* ---- what makes them hard to compare ---- */

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

static void find_differences(struct comparison *c, const struct analysis *base,
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

void compare_init(struct comparison *c, const struct analysis *const *base, size_t nbase,
                  const struct analysis *const *test, size_t ntest, double threshold)
{
    struct side b, t;
    *c = (struct comparison){.threshold = threshold, .nbase = nbase, .ntest = ntest};
    arena_init(&c->arena);
    b = t = (struct side){.several = nbase > 1 && ntest > 1};
    side_fill(&b, base, nbase);
    side_fill(&t, test, ntest);
    for (size_t i = 0; i < b.n; i++)
        add_row(c, &b.list[i], find(&t, &b.list[i].of));
    for (size_t i = 0; i < t.n; i++) {
        if (find(&b, &t.list[i].of) == NULL)
            add_row(c, NULL, &t.list[i]);
    }
    judge_all(c, &b, &t);
    qsort(c->rows, c->nrows, sizeof *c->rows, by_weight);
    c->step = &c->rows[0];
    find_differences(c, base[0], test[0]);
    find_settings(c, base[0]->run, test[0]->run);
    side_release(&b);
    side_release(&t);
}

void compare_release(struct comparison *c)
{
    free(c->rows);
    arena_release(&c->arena);
}

/* ---- --fail-on ---- */

static double value_of_step(const struct comparison *c)
{
    return compare_change(c->step);
}

static double value_of_step_low(const struct comparison *c)
{
    return c->step->noise.low - 1;
}

static double value_of_step_high(const struct comparison *c)
{
    return c->step->noise.high - 1;
}

static double value_of_worse(const struct comparison *c)
{
    double n = 0;
    for (size_t i = 0; i < c->nrows; i++)
        n += c->rows[i].verdict == COMPARE_IS_WORSE;
    return n;
}

static const struct condition_name condition_names[] = {
#define X(name, kind, lacks, help) {#name, CONDITION_##kind},
    COMPARE_CONDITIONS(X)
#undef X
};

static double condition_value(const void *of, size_t i, const char **lacks)
{
    static const struct {
        double (*value)(const struct comparison *);
        const char *lacks;
    } values[] = {
#define X(name, kind, lacks, help) {value_of_##name, lacks},
        COMPARE_CONDITIONS(X)
#undef X
    };
    *lacks = values[i].lacks;
    return values[i].value(of);
}

static const struct condition_table conditions = {condition_names,
                                                  sizeof condition_names / sizeof *condition_names,
                                                  "step>2%", "comparison", condition_value};

int compare_check_conditions(const char *expr, struct err *e)
{
    return conditions_check(&conditions, expr, e);
}

int compare_apply_conditions(const char *expr, const struct comparison *c, struct err *e)
{
    return conditions_apply(&conditions, expr, c, e);
}
