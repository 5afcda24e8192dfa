/* SPDX-License-Identifier: MIT
 *
 * The page of `specter analyze`: the verdict and what it rests on, findings, the timeline, charts,
 * and every table.
 */
#include "report/analyze_report.h"

#include "base/arena.h"
#include "report/analyze_internal.h"
#include "report/analyze_sheets.h"
#include "report/page.h"
#include "report/page_timeline.h"
#include "report/table.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FINDINGS_SHOWN 3
#define STEP_MAX ((size_t)24 << 20) /* bytes of a timeline that is one step */
#define CARD_MIN 0.02               /* of the step: a smaller part has no card */

/* The page while it is written. */
struct analyze_page {
    struct page page;
    const struct analysis *a;
    const struct findings *f;
    struct answer answer; /* of an analysis with times */
    bool timed;
    struct sheet sheets[ANALYZE_SHEET_COUNT]; /* owned */
};

static bool has_sheet(const struct analyze_page *x, const char *name, size_t len)
{
    for (size_t i = 0; i < ANALYZE_SHEET_COUNT; i++) {
        if (strlen(analyze_sheets[i].name) == len && memcmp(analyze_sheets[i].name, name, len) == 0)
            return sheet_rows(&x->sheets[i]) > 0;
    }
    return false;
}

/* ---- the first screen ---- */

static void put_text(struct buf *b, const char *text, size_t len)
{
    struct buf part = BUF_INIT;
    buf_put(&part, text, len);
    html_text(b, part.data);
    buf_release(&part);
}

static void put_title(struct analyze_page *x)
{
    const struct finding *f = x->f->count > 0 ? &x->f->list[0] : NULL;
    struct buf *b = &x->page.body, head = BUF_INIT;
    answer_head(&head, x->a);
    buf_puts(b, "<h1>");
    if (x->a->hangs.count > 0) {
        struct buf who = BUF_INIT;
        html_text(b, hang_culprits_text(&who, &x->a->hangs) ? "Possible hang: " : "Possible hang");
        html_text(b, who.data);
        buf_puts(b, ".");
        buf_release(&who);
    } else if (x->timed) {
        html_text(b, x->answer.verdict);
    } else if (f != NULL && isinf(f->weight)) { /* the answer of a recording without times */
        put_text(b, f->text, f->headline);
    } else {
        buf_puts(b, "No operation has a device time.");
    }
    buf_puts(b, "</h1><p class=soft>");
    html_text(b, head.data);
    buf_puts(b, "</p>\n");
    buf_release(&head);
}

/* The rank that the others wait for, where that is a finding. */
static void put_straggler(struct analyze_page *x)
{
    const struct analysis *a = x->a;
    for (size_t i = 0; i < x->f->count; i++) {
        const struct finding *f = &x->f->list[i];
        char value[32];
        if (f->id != RULE_straggler || !(f->weight > 0))
            continue;
        snprintf(value, sizeof value, "rank %d", a->run->ranks[top_straggler(a)].rank);
        page_card(&x->page,
                  has_sheet(x, "stragglers", strlen("stragglers")) ? "t-stragglers" : "time", 4,
                  value, "is a straggler");
    }
}

static void put_cards(struct analyze_page *x)
{
    const struct analysis *a = x->a;
    const struct step_summary *steps = &a->steps.job;
    const bool several = steps->steps > 1;
    char value[64], what[96], time[32];
    if (!x->timed)
        return;
    buf_puts(&x->page.body, "<div class=cards>");
    if (steps->steps > 0)
        snprintf(what, sizeof what, several ? "step, median of %zu" : "step", steps->steps);
    else
        snprintf(what, sizeof what, "one recording");
    page_card(&x->page, a->steps.count > 1 ? "steps" : "time", -1,
              text_ns(value, sizeof value,
                      steps->steps > 0 ? steps->of.median : answer_mean_ns(a, a->total.span_ns)),
              what);
    for (int i = 0; i < ANSWER_PARTS; i++) {
        const struct answer_part *part = &x->answer.parts[i];
        const double share = share_of(part->ns, a->total.span_ns);
        static const char *const places[ANSWER_PARTS] = {"operations", "collectives", "copies",
                                                         "idle"};
        char place[32];
        if (!(share >= CARD_MIN))
            continue;
        snprintf(place, sizeof place, "t-%s", places[i]);
        snprintf(value, sizeof value, "%.0f %%", 100 * share);
        snprintf(what, sizeof what, "%s, %s", part->name,
                 text_ns(time, sizeof time, answer_mean_ns(a, part->ns)));
        page_card(&x->page, has_sheet(x, places[i], strlen(places[i])) ? place : "time",
                  part->colour, value, what);
    }
    put_straggler(x);
    buf_puts(&x->page.body, "</div>\n");
}

static void put_parts(struct analyze_page *x)
{
    const struct analysis *a = x->a;
    const struct time_unit unit = x->answer.unit;
    struct buf *b = &x->page.body;
    if (!x->timed)
        return;
    buf_printf(b,
               "<div><h2 id=parts>Where the time goes</h2><p class=note>Mean of %s%s: %.*f "
               "%s</p><table class=parts>",
               a->nranks > 1 ? "the ranks" : "the rank",
               a->step_time.window.several ? " and steps" : "", unit.decimals,
               answer_mean_ns(a, a->total.span_ns) / unit.ns, unit.name);
    buf_puts(b, "<thead class=hidden><tr><th scope=col>part<th scope=col>time<th "
                "scope=col>share<th scope=col>why</thead><tbody>");
    for (int i = 0; i < ANSWER_PARTS; i++) {
        const struct answer_part *part = &x->answer.parts[i];
        const double share = share_of(part->ns, a->total.span_ns);
        if (!(share >= ANSWER_PART_MIN))
            continue;
        buf_printf(b,
                   "<tr><td class=left>%s<td>%.*f %s<td>%.0f %%<td class=left><div class=\"meter "
                   "k%d\" style=\"width:%.1f%%\"></div>",
                   part->name, unit.decimals, answer_mean_ns(a, part->ns) / unit.ns, unit.name,
                   100 * share, part->colour, 100 * fmin(share, 1));
        if (part->why[0] != '\0')
            buf_printf(b, "<span class=note>%s</span>", part->why);
    }
    buf_puts(b, "</tbody></table></div>\n");
}

/* Advice, with the names of tables behind "--table" as links to them. */
static void put_advice(struct analyze_page *x, const char *advice)
{
    static const char option[] = "--table ";
    struct buf *b = &x->page.body;
    const char *tables = strstr(advice, option);
    if (tables == NULL) {
        html_text(b, advice);
        return;
    }
    put_text(b, advice, (size_t)(tables - advice));
    for (const char *name = tables + strlen(option); *name != '\0';) {
        size_t len = 0;
        while (islower((unsigned char)name[len]) || isdigit((unsigned char)name[len]) ||
               name[len] == '_')
            len++;
        if (has_sheet(x, name, len))
            buf_printf(b, "<a href=\"#t-%.*s\">%.*s</a>", (int)len, name, (int)len, name);
        else
            buf_printf(b, "%.*s", (int)len, name);
        name += len;
        if (*name != ',') {
            html_text(b, name);
            return;
        }
        buf_puts(b, ", ");
        name++;
    }
}

static void put_finding(struct analyze_page *x, const struct finding *f)
{
    struct buf *b = &x->page.body, cost = BUF_INIT;
    const char *rest = f->text + f->headline;
    buf_puts(b, "<li><b>");
    put_text(b, f->text, f->headline);
    buf_puts(b, "</b>");
    answer_cost(&cost, x->a, f);
    if (cost.len > 0)
        buf_printf(b, ": <span class=cost>%s</span>", cost.data);
    rest += strspn(rest, ".:;, ");
    if (*rest != '\0') {
        struct buf note = BUF_INIT;
        buf_puts(&note, rest);
        note.data[0] = (char)toupper((unsigned char)*rest);
        buf_puts(b, "<p class=note>");
        html_text(b, note.data);
        buf_puts(b, "</p>");
        buf_release(&note);
    }
    buf_puts(b, "<p class=note>");
    put_advice(x, answer_advice(x->a, f));
    buf_puts(b, "</p></li>\n");
    buf_release(&cost);
}

static void put_findings(struct analyze_page *x)
{
    const struct findings *f = x->f;
    const char *limits[COVERAGE_LIMITS];
    struct buf *b = &x->page.body;
    size_t shown = 0;
    buf_puts(&x->page.links, "<a href=\"#findings\">Findings</a>");
    buf_puts(b, "<div><h2 id=findings>Findings</h2>");
    if (f->count == 0)
        buf_puts(b, "<p>No rule has anything to say.</p>");
    while (shown < f->count && shown < FINDINGS_SHOWN && f->list[shown].weight > 0)
        shown++;
    if (shown > 0)
        buf_puts(b, "<ol class=findings>");
    for (size_t i = 0; i < shown; i++)
        put_finding(x, &f->list[i]);
    if (shown > 0)
        buf_puts(b, "</ol>");
    if (shown < f->count) {
        buf_printf(b, "<details><summary>%zu more</summary><ol class=findings start=%zu>",
                   f->count - shown, shown + 1);
        for (size_t i = shown; i < f->count; i++)
            put_finding(x, &f->list[i]);
        buf_puts(b, "</ol></details>");
    }
    coverage_limits(x->a, limits);
    for (size_t i = 0; limits[i] != NULL; i++) {
        buf_puts(b, "<p class=note>Note: ");
        html_text(b, limits[i]);
        buf_puts(b, "</p>");
    }
    buf_puts(b, "</div>\n");
}

/* ---- the timeline ---- */

static void draw_part(struct page_timeline *out, const struct run_timeline *r,
                      struct timeline_part *part)
{
    page_timeline_release(out);
    page_timeline_init(out);
    part->zero_ns = run_timeline_first(r->a, part->step);
    run_timeline_add(out, r, part);
}

/* A timeline larger than PAGE_TIMELINE_MAX shrinks to the median step, and where that is still
 * several times as large, to some of the ranks. */
static void choose_part(struct page_timeline *out, struct run_timeline *r,
                        struct timeline_part *part)
{
    draw_part(out, r, part);
    if (page_timeline_size(out) <= PAGE_TIMELINE_MAX)
        return;
    part->step = run_timeline_median(r->a);
    if (part->step != STEP_NONE) {
        const struct analysis *a = r->a;
        run_timeline_release(r);
        run_timeline_init(r, a, part->step);
        draw_part(out, r, part);
    }
    while (r->a->nranks > 1 && page_timeline_size(out) > STEP_MAX &&
           2 * part->every <= r->a->run->nranks) {
        part->every *= 2;
        draw_part(out, r, part);
    }
}

static void put_timeline(struct page *p, const struct analysis *a)
{
    struct run_timeline r;
    struct page_timeline out;
    struct timeline_part part = {.step = STEP_NONE, .every = 1, .side = ""};
    char time[32];
    run_timeline_init(&r, a, STEP_NONE);
    page_timeline_init(&out);
    choose_part(&out, &r, &part);
    if (out.nops > 0) {
        struct buf title = BUF_INIT;
        buf_printf(&title, "Timeline: %" PRIu64 " operations on %zu rank%s in %s", out.nops,
                   (a->nranks + part.every - 1) / part.every, a->nranks > part.every ? "s" : "",
                   text_ns(time, sizeof time, (double)out.end_ns));
        page_heading(p, "timeline", "Timeline", title.data);
        if (part.step != STEP_NONE)
            buf_printf(&p->body,
                       "<p class=note>The recording is too large for a page: this is step %" PRIu32
                       " of %" PRIu32 ", the one of median length, on each rank.</p>",
                       part.step + 1, a->job_steps.count);
        if (part.every > 1)
            buf_printf(&p->body, "<p class=note>Only one rank in %zu is shown.</p>", part.every);
        if (a->run->nranks > 1 && !a->run->clock_aligned)
            buf_puts(&p->body, "<p class=note>Clocks of the ranks cannot be compared: each rank's "
                               "times are its own.</p>");
        page_timeline_put(&p->body, &out, true);
        buf_release(&title);
    }
    page_timeline_release(&out);
    run_timeline_release(&r);
}

/* ---- tables ---- */

/* A group begins with the table `first` and ends before the next group's: a new table in SHEETS
 * joins the group that it stands in. */
static const struct {
    const char *first, *title;
} groups[] = {
    {"ranks", "Time of ranks and steps"},
    {"idle", "Idle time and launches"},
    {"collectives", "Communication"},
    {"gemms", "GEMMs and their roofline"},
    {"bubble", "Pipeline and critical path"},
    {"copies", "Copies, kernels and operators"},
    {"settings", "Settings"},
};

#define GROUPS (sizeof groups / sizeof *groups)

static size_t first_of(size_t group)
{
    size_t i = 0;
    while (group < GROUPS && i < ANALYZE_SHEET_COUNT &&
           strcmp(analyze_sheets[i].name, groups[group].first) != 0)
        i++;
    return group < GROUPS ? i : ANALYZE_SHEET_COUNT;
}

static void put_tables(struct analyze_page *x)
{
    page_heading(&x->page, "tables", "Tables", "All tables");
    for (size_t g = 0; g < GROUPS; g++) {
        size_t n = 0;
        for (size_t i = first_of(g); i < first_of(g + 1); i++)
            n += sheet_rows(&x->sheets[i]) > 0;
        if (n == 0)
            continue;
        page_group(&x->page, groups[g].title, n);
        for (size_t i = first_of(g); i < first_of(g + 1); i++) {
            if (sheet_rows(&x->sheets[i]) > 0)
                page_sheet(&x->page, &x->sheets[i], "specter analyze --table");
        }
        page_group_end(&x->page);
    }
}

/* ---- the page ---- */

/* Writes the input: the files that were read, and the machine that is assumed. */
static void put_input(struct analyze_page *x)
{
    const struct analysis *a = x->a;
    struct buf *b = &x->page.body;
    const struct run *run = a->run;
    const struct machine *m = &a->machine;
    char span[32], error[32], clocks[64];
    page_heading(&x->page, "input", NULL, "What was read");
    buf_puts(b, "<dl>");
    html_fact(b, "input", run->source);
    html_fact(b, "run", run->id[0] != '\0' ? run->id : NULL);
    html_fact(b, "trace", run->format);
    buf_printf(b, "<dt>ranks</dt><dd>%zu", run_recorded_ranks(run));
    if (run_recorded_ranks(run) != (size_t)run->world_size)
        buf_printf(b, " of %d", run->world_size);
    if (a->nranks == 1 && run->nranks > 1)
        buf_printf(b, ", only rank %d below", a->ranks[0].rank->rank);
    buf_puts(b, "</dd>");
    html_fact(b, "GPU", analyze_gpu(a)[0] != '\0' ? analyze_gpu(a) : NULL);
    if (m->net != NULL)
        html_fact(b, m->by == NETWORK_TOLD ? "network" : "network (the usual one)", m->net->name);
    if (run->ndomains >= 2) {
        buf_printf(b, "<dt>clocks</dt><dd>%s, ", clock_text(clocks, sizeof clocks, run));
        if (run->clock_aligned)
            buf_printf(b, "compared to %s", text_ns(error, sizeof error, run->clock_residual_ns));
        else
            buf_puts(b, "not comparable");
        buf_puts(b, "</dd>");
    }
    if (analysis_timed(a))
        html_fact(b, a->step_time.window.several ? "steps that count, in all" : "recording, mean",
                  text_ns(span, sizeof span, analysis_mean_ns(a, a->total.span_ns)));
    buf_puts(b, "</dl>");
}

/* Writes what reading the traces lost or guessed. */
static void put_notes(struct analyze_page *x)
{
    const struct run *run = x->a->run;
    struct buf *b = &x->page.body;
    if (run->nnotes == 0)
        return;
    page_heading(&x->page, "notes", "Notes", "Notes on the input");
    buf_puts(b, "<ul>");
    for (size_t i = 0; i < run->nnotes; i++) {
        buf_puts(b, run->notes[i].loss ? "<li><b>lost:</b> " : "<li>");
        html_text(b, run->notes[i].text);
        buf_puts(b, "</li>");
    }
    buf_puts(b, "</ul>");
}

int analyze_html(const struct analysis *a, const struct findings *f, const char *path,
                 struct err *e)
{
    struct analyze_page *x = array_new(1, sizeof *x);
    int rc;
    *x = (struct analyze_page){.a = a, .f = f, .timed = analysis_timed(a)};
    page_init(&x->page, "analyze", a->run->source);
    for (size_t i = 0; i < ANALYZE_SHEET_COUNT; i++)
        analyze_sheets[i].make(&x->sheets[i], a);
    if (x->timed)
        answer_init(&x->answer, a);
    put_title(x);
    put_cards(x);
    buf_puts(&x->page.body, x->timed ? "<div class=split>" : "<div>");
    put_parts(x);
    put_findings(x);
    buf_puts(&x->page.body, "</div>\n");
    put_timeline(&x->page, a);
    analyze_put_charts(&x->page, a);
    put_tables(x);
    put_input(x);
    put_notes(x);
    rc = page_write(&x->page, path, e);
    if (x->timed)
        answer_release(&x->answer);
    for (size_t i = 0; i < ANALYZE_SHEET_COUNT; i++)
        sheet_release(&x->sheets[i]);
    page_release(&x->page);
    free(x);
    return rc;
}
