/* SPDX-License-Identifier: MIT
 *
 * The page of `specter compare`: the answer, why the step changed as bars, the timelines of both
 * sides, collectives of both by size, and every table; of several tests their ranking first, and
 * then each beside its base.
 */
#include "report/compare_report.h"

#include "base/arena.h"
#include "report/page.h"
#include "report/plot.h"
#include "report/page_timeline.h"
#include "report/sheet.h"
#include "report/table.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TIMELINES_MAX ((size_t)3500000) /* bytes of both: with its tables a page has 5 MB */
#define OP_BYTES_MIN 8                  /* of an operation in the data of a timeline, at least */
#define COLOUR_WORSE 4
#define COLOUR_BETTER 0
#define COLOUR_BASE 2
#define COLOUR_TEST 0
#define BARS_MAX 12

/* ---- the timelines ---- */

/* One side while it is drawn. */
struct drawn_side {
    const struct analysis *a;
    size_t run; /* of its runs, which */
    const struct compare_runs *runs;
    const char *label;
    struct run_timeline drawn;
    struct timeline_part part;
    int64_t step_ns; /* 0: no step is known */
};

static double step_of(const struct analysis *a)
{
    return step_window_mean(&a->step_time.window);
}

/* Of several runs the one whose step is the median. */
static size_t median_run(const struct compare_runs *runs)
{
    for (size_t i = 0; i < runs->n; i++) {
        size_t less = 0;
        for (size_t k = 0; k < runs->n; k++)
            less += step_of(runs->list[k]) < step_of(runs->list[i]) ||
                    (k < i && !(step_of(runs->list[k]) > step_of(runs->list[i])));
        if (less == (runs->n - 1) / 2)
            return i;
    }
    return 0;
}

static void side_init(struct drawn_side *s, const struct compare_runs *runs, const char *label,
                      const char *name)
{
    const int64_t *ends;
    *s = (struct drawn_side){.runs = runs, .label = label, .run = median_run(runs)};
    s->a = runs->list[s->run];
    ends = s->a->step_time.ends_ns;
    run_timeline_init(&s->drawn, s->a, STEP_NONE);
    s->part = (struct timeline_part){.step = run_timeline_median(s->a), .every = 1, .side = name};
    if (s->part.step != STEP_NONE) {
        s->part.zero_ns = ends[s->part.step - 1];
        s->step_ns = ends[s->part.step] - s->part.zero_ns;
    } else {
        s->part.zero_ns = run_timeline_first(s->a, STEP_NONE);
    }
}

static void draw_sides(struct page_timeline *out, struct drawn_side sides[2])
{
    page_timeline_release(out);
    page_timeline_init(out);
    for (int i = 0; i < 2; i++) {
        struct drawn_side *s = &sides[i];
        s->part.first_link = i > 0 ? (int64_t)sides[0].a->comm.matches.count : 0;
        page_timeline_panel(out, s->part.side, s->label, s->step_ns);
        run_timeline_add(out, &s->drawn, &s->part);
    }
}

/* A timeline larger than TIMELINES_MAX shrinks to the median steps, and then to some of the ranks:
 * the same on both sides. */
static void choose_part(struct page_timeline *out, struct drawn_side sides[2])
{
    const size_t base = sides[0].a->run->nranks, test = sides[1].a->run->nranks;
    const size_t ops = run_count_ops(sides[0].a->run) + run_count_ops(sides[1].a->run);
    const size_t ranks = base > test ? base : test;
    if (ops < TIMELINES_MAX / OP_BYTES_MIN)
        draw_sides(out, sides);
    if (out->nops > 0 && page_timeline_size(out) <= TIMELINES_MAX)
        return;
    for (int i = 0; i < 2; i++) {
        run_timeline_release(&sides[i].drawn);
        run_timeline_init(&sides[i].drawn, sides[i].a, sides[i].part.step);
    }
    draw_sides(out, sides);
    while (page_timeline_size(out) > TIMELINES_MAX && 2 * sides[0].part.every <= ranks) {
        for (int i = 0; i < 2; i++)
            sides[i].part.every *= 2;
        draw_sides(out, sides);
    }
}

/* "step 7 of 10 of base", "run 2 of base" */
static void put_which(struct buf *b, const struct drawn_side *s)
{
    char label[64];
    if (s->part.step != STEP_NONE)
        buf_printf(b, "step %" PRIu32 " of %" PRIu32 " of ", s->part.step + 1,
                   s->a->job_steps.count);
    if (s->runs->n > 1)
        buf_printf(b, "run %zu of ", s->run + 1);
    buf_puts(b, text_safe(label, sizeof label, s->label, 30));
}

static void put_timeline_notes(struct page *p, const struct drawn_side sides[2])
{
    struct buf b = BUF_INIT;
    const bool steps = sides[0].part.step != STEP_NONE && sides[1].part.step != STEP_NONE;
    buf_puts(&p->body, "<p class=note>");
    buf_puts(&b, "Above ");
    put_which(&b, &sides[0]);
    buf_puts(&b, ", below ");
    put_which(&b, &sides[1]);
    buf_puts(&b, steps ? ": steps of median length, between dashed lines, both from 0 on."
                       : ", both from 0 on.");
    if (sides[0].drawn.only != STEP_NONE && steps)
        buf_puts(&b, " The recordings are too large for a page: these steps are shown alone.");
    if (sides[0].part.every > 1)
        buf_printf(&b, " Only one rank in %zu is shown.", sides[0].part.every);
    buf_puts(&b, " Pointing at an operation shows it on both sides.");
    for (int i = 0; i < 2; i++) {
        if (sides[i].a->job_steps.apart) {
            buf_puts(&b, " Clocks of ranks cannot be compared: each begins at its own step.");
            break;
        }
    }
    html_text(&p->body, b.data);
    buf_puts(&p->body, "</p>\n");
    buf_release(&b);
}

/* The timelines of both sides; nothing where one is a prediction. */
static void put_timeline(struct page *p, const struct compare_report *r)
{
    struct page_timeline out;
    struct drawn_side sides[2];
    if (r->base_runs.n == 0 || r->test_runs.n == 0)
        return;
    side_init(&sides[0], &r->base_runs, r->base, "base");
    side_init(&sides[1], &r->test_runs, r->test, "test");
    page_timeline_init(&out);
    choose_part(&out, sides);
    if (out.nops > 0) {
        page_heading(p, "timeline", "Timeline", "Timelines of both sides");
        put_timeline_notes(p, sides);
        page_timeline_put(&p->body, &out, true);
    }
    page_timeline_release(&out);
    for (int i = 0; i < 2; i++)
        run_timeline_release(&sides[i].drawn);
}

/* ---- a pair ---- */

static void put_cards(struct page *p, const struct compare_report *r)
{
    const struct compare_row *step = r->c->step;
    char value[32], what[160], label[64];
    buf_puts(&p->body, "<div class=cards>");
    snprintf(what, sizeof what, "a step of %s", text_safe(label, sizeof label, r->base, 15));
    page_card(p, "tables", -1, text_ns(value, sizeof value, step->base_ns), what);
    snprintf(what, sizeof what, "a step of %s", text_safe(label, sizeof label, r->test, 15));
    page_card(p, "tables", COLOUR_TEST, text_ns(value, sizeof value, step->test_ns), what);
    snprintf(value, sizeof value, "%+.1f %%", without_minus(100 * compare_change(step), 1));
    snprintf(what, sizeof what, "%s", compare_verdict_name(step->verdict));
    page_card(p, "causes", compare_change(step) > 0 ? COLOUR_WORSE : COLOUR_BETTER, value, what);
    buf_puts(&p->body, "</div>\n");
}

static void put_notes(struct page *p, const struct compare_report *r)
{
    const struct comparison *c = r->c;
    struct buf b = BUF_INIT;
    compare_samples_text(&b, r);
    if (c->ndifferences + c->nsettings == 0 && b.len == 0)
        return;
    buf_puts(&p->body, "<ul>");
    for (size_t i = 0; i < c->ndifferences; i++)
        html_item(&p->body, c->differences[i]);
    if (b.len > 0)
        html_item(&p->body, b.data);
    for (size_t i = 0; i < c->nsettings; i++) {
        buf_reset(&b);
        buf_printf(&b, "%s: %s, %s", c->settings[i].name, compare_setting_text(c->settings[i].base),
                   compare_setting_text(c->settings[i].test));
        html_item(&p->body, b.data);
    }
    buf_puts(&p->body, "</ul>\n");
    buf_release(&b);
}

/* A bar as long as the part that it has of the largest; longer steps and shorter ones differ in
 * colour and in their sign. */
static void put_bar(struct page *p, const char *name, double change_ns, double most_ns)
{
    char text[32];
    buf_puts(&p->body, "<div class=row><span>");
    html_text(&p->body, name);
    buf_printf(
        &p->body,
        "</span><div class=stack><i class=k%d style=\"width:%.2f%%\"></i>&nbsp;%s%s</div></div>",
        change_ns > 0 ? COLOUR_WORSE : COLOUR_BETTER, 60 * fabs(change_ns) / most_ns,
        change_ns > 0 ? "+" : "-", text_ns(text, sizeof text, fabs(change_ns)));
}

static void put_causes(struct page *p, const struct compare_report *r)
{
    const struct causes *causes = r->causes;
    struct buf b = BUF_INIT;
    double most_ns = fabs((double)causes->rest_ns);
    page_heading(p, "causes", "Causes", "Why the step changed");
    if (causes->unknown != NULL || causes->n == 0) {
        buf_puts(&p->body, "<p>");
        html_text(&p->body,
                  causes->unknown != NULL ? causes->unknown : "Nothing changed the step.");
        buf_puts(&p->body, "</p>\n");
        return;
    }
    buf_puts(&p->body,
             "<p class=note>The base's job, simulated with the test's times of one kind of "
             "work at a time; what other work overlaps changes nothing.</p>");
    for (size_t i = 0; i < causes->n; i++)
        most_ns = fmax(most_ns, fabs((double)causes->list[i].change_ns));
    buf_puts(&p->body, "<div class=causes>");
    for (size_t i = 0; i < causes->n && i < BARS_MAX && most_ns > 0; i++)
        put_bar(p, compare_cause_name(&b, &causes->list[i]), (double)causes->list[i].change_ns,
                most_ns);
    if (most_ns > 0)
        put_bar(p, "rest", (double)causes->rest_ns, most_ns);
    buf_puts(&p->body, "</div>\n");
    buf_release(&b);
}

/* The times of one operation on both sides by size. */
static void put_curve(struct page *p, const struct compare_report *r, enum specter_comm_op op,
                      int ranks)
{
    const struct comparison *c = r->c;
    double *bytes = array_new(c->nrows, sizeof *bytes), *base = array_new(c->nrows, sizeof *base),
           *test = array_new(c->nrows, sizeof *test);
    size_t n = 0;
    struct buf title = BUF_INIT;
    for (size_t i = 0; i < c->nrows; i++) {
        const struct compare_row *row = &c->rows[i];
        if (row->of.table != COMPARE_COLLECTIVES || row->of.op != (int32_t)op ||
            row->of.ranks != ranks || row->of.bytes <= 0)
            continue;
        bytes[n] = (double)row->of.bytes;
        base[n] = row->base_ns / 1e3;
        test[n++] = row->test_ns / 1e3;
    }
    const struct plot_series series[] = {
        {r->base, PLOT_POINTS, COLOUR_BASE, bytes, base, n, NULL},
        {r->test, PLOT_POINTS, COLOUR_TEST, bytes, test, n, NULL},
    };
    buf_printf(&title, "%s on %d rank%s", specter_comm_op_name(op), ranks, ranks > 1 ? "s" : "");
    plot_curves(&p->body, &(struct plot){.title = title.data,
                                         .x = {"bytes", PLOT_BYTES, true},
                                         .y = {"us", PLOT_US, true},
                                         .x_text = "size",
                                         .y_text = "mean time",
                                         .series = series,
                                         .nseries = 2});
    buf_release(&title);
    free(bytes);
    free(base);
    free(test);
}

/* Returns whether row i is the first of its operation and number of ranks. */
static bool is_first(const struct comparison *c, size_t i)
{
    const struct compare_key *of = &c->rows[i].of;
    for (size_t k = 0; k < i; k++) {
        const struct compare_key *other = &c->rows[k].of;
        if (other->table == COMPARE_COLLECTIVES && other->op == of->op && other->ranks == of->ranks)
            return false;
    }
    return of->table == COMPARE_COLLECTIVES && of->op < SPECTER_COMM_OP_COUNT;
}

static void put_collectives(struct page *p, const struct compare_report *r)
{
    size_t mark;
    page_heading(p, "collectives", "Collectives", "Collectives of both sides by size");
    mark = page_charts(p);
    for (size_t i = 0; i < r->c->nrows; i++) {
        if (is_first(r->c, i))
            put_curve(p, r, (enum specter_comm_op)r->c->rows[i].of.op, r->c->rows[i].of.ranks);
    }
    page_charts_end(p, mark);
}

static void put_tables(struct page *p, const struct compare_report *r, const char *title)
{
    page_group(p, title, COMPARE_TABLE_COUNT);
    for (int t = 0; t < COMPARE_TABLE_COUNT; t++) {
        struct sheet s;
        compare_sheet(&s, r, (enum compare_table)t);
        page_sheet(p, &s, "specter compare --table");
        sheet_release(&s);
    }
    page_group_end(p);
}

/* ---- several tests ---- */

static void put_ranking(struct page *p, const struct compare_report *const *reports,
                        const struct ranking *ranking)
{
    struct table t;
    table_init(&t);
    table_column(&t, "place", TABLE_RIGHT);
    table_column(&t, "side", TABLE_LEFT);
    table_column(&t, "step", TABLE_RIGHT);
    table_column(&t, "change", TABLE_RIGHT);
    for (size_t i = 0; i < ranking->n; i++) {
        const struct ranked *of = &ranking->list[i];
        const struct compare_report *r = of->side > 0 ? reports[of->side - 1] : NULL;
        char time[32];
        table_cell(&t, "%zu", of->place);
        table_text(&t, r != NULL ? r->test : reports[0]->base, 80);
        table_cell(&t, "%s", text_ns(time, sizeof time, of->step_ns));
        if (r == NULL)
            table_cell(&t, "base");
        else
            table_cell(&t, "%+.1f %%", without_minus(100 * compare_change(r->c->step), 1));
    }
    page_table(&p->body, &t, "Ranking");
    table_release(&t);
}

int compare_html(const struct compare_report *const *reports, size_t n,
                 const struct ranking *ranking, const char *path, struct err *e)
{
    struct page p;
    struct buf text = BUF_INIT, source = BUF_INIT;
    int rc;
    buf_printf(&source, "%s", reports[0]->base);
    for (size_t i = 0; i + 1 < ranking->n; i++)
        buf_printf(&source, ", %s", reports[i]->test);
    page_init(&p, "compare", source.data);
    if (ranking->n > 2)
        compare_fastest_text(&text, reports, ranking);
    else
        compare_answer_text(&text, reports[0]);
    buf_puts(&p.body, "<h1>");
    html_text(&p.body, text.data);
    buf_puts(&p.body, "</h1>\n");
    if (ranking->n > 2) {
        put_ranking(&p, reports, ranking);
    } else {
        put_cards(&p, reports[0]);
        put_notes(&p, reports[0]);
        put_causes(&p, reports[0]);
        put_timeline(&p, reports[0]);
        put_collectives(&p, reports[0]);
    }
    page_heading(&p, "tables", "Tables", "All tables");
    for (size_t i = 0; i < n; i++) {
        buf_reset(&text);
        buf_printf(&text, "%s against %s", reports[i]->test, reports[i]->base);
        p.part = i;
        put_tables(&p, reports[i], n > 1 ? text.data : "Every table");
    }
    rc = page_write(&p, path, e);
    page_release(&p);
    buf_release(&text);
    buf_release(&source);
    return rc;
}
