/* SPDX-License-Identifier: MIT */
#include "bench/findings.h"
#include "report/bench_report.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/opt.h"
#include "report/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SCREEN_LINES 14

static const char *plural(int n)
{
    return n == 1 ? "" : "s";
}

static void put_size(struct buf *out, const struct bench_study *s, size_t row)
{
    char text[32];
    buf_puts(out, text_bytes(text, sizeof text, (double)s->rows[row].row->bytes));
}

static void put_shape(struct buf *out, const struct bench_study *s, enum bench_verdict verdict,
                      const char *word)
{
    size_t first, last;
    switch (bench_shape_of(s, verdict, &first, &last)) {
    case BENCH_SHAPE_ALL:
        buf_printf(out, "%s at every size", word);
        return;
    case BENCH_SHAPE_LARGE:
        buf_puts(out, "normal up to ");
        put_size(out, s, first - 1);
        buf_printf(out, ", %s from ", word);
        put_size(out, s, first);
        buf_puts(out, " on");
        return;
    case BENCH_SHAPE_SMALL:
        buf_printf(out, "%s up to ", word);
        put_size(out, s, last);
        buf_puts(out, ", normal from ");
        put_size(out, s, last + 1);
        buf_puts(out, " on");
        return;
    case BENCH_SHAPE_SPAN:
        buf_printf(out, "%s ", word);
        if (last > first) {
            buf_puts(out, "from ");
            put_size(out, s, first);
            buf_puts(out, " to ");
        } else {
            buf_puts(out, "at ");
        }
        put_size(out, s, last);
        buf_puts(out, ", else normal");
        return;
    default:
        buf_printf(out, "%s at %zu of %zu sizes", word, s->count[verdict], s->nmain);
    }
}

static void put_verdict(struct buf *out, const struct bench_study *s)
{
    if (s->count[BENCH_WRONG] > 0)
        buf_printf(out, "wrong results at %zu of %zu sizes", s->count[BENCH_WRONG], s->nmain);
    else if (s->count[BENCH_SLOW] > 0 && bench_study_is_sound(s))
        buf_printf(out, "normal; %zu of %zu sizes %s slow, and one in %.0f is on sound machines",
                   s->count[BENCH_SLOW], s->nmain, s->count[BENCH_SLOW] == 1 ? "is" : "are",
                   1 / (1 - bench_study_interval(s).level));
    else if (s->count[BENCH_SLOW] > 0)
        put_shape(out, s, BENCH_SLOW, "too slow");
    else if (s->count[BENCH_FAST] > 0)
        put_shape(out, s, BENCH_FAST, "faster than predicted");
    else if (s->count[BENCH_UNKNOWN] == s->nmain)
        buf_printf(out, "measured only, %s", s->unknown);
    else
        buf_printf(out, "normal at every size (%zu)", s->nmain);
}

static const char *op_name(const struct bench_study *s)
{
    return s->op != SPECTER_COMM_OP_COUNT ? specter_comm_op_name(s->op) : s->run->program;
}

static void print_headline(const struct bench_study *s, FILE *out)
{
    const struct layout *w = &s->where;
    struct buf line = BUF_INIT;
    buf_printf(&line, "%s, %d rank%s on %d node%s: ", op_name(s), w->ranks, plural(w->ranks),
               w->nodes, plural(w->nodes));
    put_verdict(&line, s);
    buf_puts(&line, ".");
    buf_make_printable(line.data);
    opt_wrap(line.data, 0, 0, out);
    fputc('\n', out);
    buf_release(&line);
}

/* ---- the rows that show it ---- */

/* Which of the main rows are shown, and how many more may be. */
struct shown {
    bool *row; /* owned */
    size_t left;
};

static void mark(struct shown *shown, size_t row)
{
    if (shown->row[row] || shown->left == 0)
        return;
    shown->row[row] = true;
    shown->left--;
}

/* The ends, and where one verdict follows another: the worst of those that are slow first. */
static void choose(const struct bench_study *s, struct shown *shown)
{
    size_t worst = s->nmain;
    for (size_t i = 0; i < s->nmain; i++) {
        const bool slow = s->rows[i].verdict == BENCH_SLOW || s->rows[i].verdict == BENCH_WRONG;
        if (slow && (worst == s->nmain || s->rows[i].ratio < s->rows[worst].ratio))
            worst = i;
    }
    if (worst < s->nmain)
        mark(shown, worst);
    mark(shown, s->nmain - 1);
    for (size_t i = 1; i < s->nmain; i++) {
        if (s->rows[i].verdict != s->rows[i - 1].verdict) {
            mark(shown, i - 1);
            mark(shown, i);
        }
    }
    mark(shown, 0);
    mark(shown, s->nmain / 2);
}

static void time_cell(struct table *t, double us)
{
    char text[32];
    table_cell(t, "%s", text_ns(text, sizeof text, us * 1e3));
}

static void verdict_cell(struct table *t, const struct bench_judged *j)
{
    const char *word = bench_verdict_word(j->verdict);
    if (j->verdict == BENCH_SLOW || j->verdict == BENCH_FAST)
        table_cell(t, j->ratio < 0.1 ? "%s, %.1g of predicted" : "%s, %.2f of predicted", word,
                   j->ratio);
    else
        table_cell(t, "%s", word);
}

/* "18.9 - 25.6 us", "950 us - 1.10 ms". */
static void interval_cell(struct table *t, const struct bench_interval *in)
{
    char low[32], high[32];
    const char *unit, *high_unit;
    text_ns(low, sizeof low, in->low_us * 1e3);
    text_ns(high, sizeof high, in->high_us * 1e3);
    unit = strchr(low, ' ');
    high_unit = strchr(high, ' ');
    if (unit != NULL && high_unit != NULL && strcmp(unit, high_unit) == 0)
        table_cell(t, "%.*s - %s", (int)(unit - low), low, high);
    else
        table_cell(t, "%s - %s", low, high);
}

/* Of the main rows, `rows` that show the verdict. */
static void print_rows(const struct bench_study *s, size_t rows, FILE *out)
{
    struct shown shown = {array_new(s->nmain, sizeof *shown.row), rows};
    struct table t;
    char interval[32], size[32];
    choose(s, &shown);
    table_init(&t);
    snprintf(interval, sizeof interval, "%.0f %% interval", 100 * bench_study_interval(s).level);
    table_column(&t, "size", TABLE_RIGHT);
    table_column(&t, "time", TABLE_RIGHT);
    table_column(&t, "busbw", TABLE_RIGHT);
    table_column(&t, "predicted", TABLE_RIGHT);
    table_column(&t, interval, TABLE_RIGHT);
    table_column(&t, "verdict", TABLE_LEFT);
    for (size_t i = 0; i < s->nmain; i++) {
        const struct bench_judged *j = &s->rows[i];
        if (!shown.row[i])
            continue;
        table_cell(&t, "%s", text_bytes(size, sizeof size, (double)j->row->bytes));
        time_cell(&t, j->row->time_us);
        table_cell(&t, isfinite(j->row->busbw_GBps) ? "%.1f" : "-", j->row->busbw_GBps);
        if (isfinite(j->ratio)) {
            time_cell(&t, j->expected.of.us);
            interval_cell(&t, &j->expected.interval);
        } else {
            table_cell(&t, "-");
            table_cell(&t, "-");
        }
        verdict_cell(&t, j);
    }
    table_print(&t, out);
    table_release(&t);
    free(shown.row);
}

static bool same_choice(const struct bench_judged *a, const struct bench_judged *b)
{
    return strcmp(a->expected.of.algo, b->expected.of.algo) == 0 &&
           strcmp(a->expected.of.proto, b->expected.of.proto) == 0;
}

/* "NCCL should take tree LL up to 512 KiB, tree LL128 up to 2 MiB, then nvls_tree Simple." */
static void print_choice(const struct bench_study *s, FILE *out)
{
    struct buf line = BUF_INIT;
    size_t last = s->nmain;
    for (size_t i = 0; i < s->nmain; i++) {
        if (isfinite(s->rows[i].ratio))
            last = i;
    }
    if (last == s->nmain || s->where.ranks == 1)
        return;
    buf_puts(&line, "NCCL should take");
    for (size_t i = 0; i <= last; i++) {
        const struct bench_judged *j = &s->rows[i];
        if (!isfinite(j->ratio) || (i < last && same_choice(j, &s->rows[i + 1])))
            continue;
        buf_printf(&line, i == last && strchr(line.data, ',') != NULL ? " then %s %s" : " %s %s",
                   j->expected.of.algo, j->expected.of.proto);
        if (i < last) {
            buf_puts(&line, " up to ");
            put_size(&line, s, i);
            buf_puts(&line, ",");
        }
    }
    buf_puts(&line, ".");
    opt_wrap(line.data, 0, 2, out);
    buf_release(&line);
}

/* ---- causes ---- */

static void print_finding(const struct bench_finding *f, bool look, FILE *out)
{
    struct buf line = BUF_INIT;
    opt_wrap(f->text, 0, 0, out);
    if (look) {
        buf_printf(&line, "Look at: %s.", f->look_at);
        opt_wrap(line.data, 0, 2, out);
    }
    buf_release(&line);
}

static void print_full(const struct bench_study *s, FILE *out)
{
    const struct bench_run *run = s->run;
    struct sheet rows;
    bench_study_sheet(&rows, s);
    sheet_print(&rows, sheet_rows(&rows), out);
    sheet_release(&rows);
    fprintf(out, "\n  predicted for %s on %s", s->gpu->name, s->net->name);
    fprintf(out, bench_study_interval(s).known
                     ? "; the interval is that of measurements of it\n"
                     : ", of which too little was measured: the interval is that of all others\n");
    if (run->gpu[0] != '\0')
        fprintf(out, "  GPU: %s\n", run->gpu);
    if (run->library[0] != '\0')
        fprintf(out, "  library: %s\n", run->library);
    for (size_t i = 0; i < run->nsettings; i++)
        fprintf(out, "  %s=%s\n", run->settings[i].name, run->settings[i].value);
}

/* Says so where the interval does not rest on measurements of this hardware. */
static void print_interval(const struct bench_study *s, FILE *out)
{
    struct buf line = BUF_INIT;
    if (bench_study_interval(s).known || s->count[BENCH_UNKNOWN] == s->nmain)
        return;
    buf_printf(&line, "The interval is that of all hardware: too little of %s was measured.",
               s->net->name);
    opt_wrap(line.data, 0, 2, out);
    buf_release(&line);
}

/* With so many rows and causes. */
static void print_screen(const struct bench_study *s, size_t rows,
                         const struct bench_finding *findings, size_t n, bool choice, FILE *out)
{
    print_headline(s, out);
    print_rows(s, rows, out);
    if (choice)
        print_choice(s, out);
    print_interval(s, out);
    fputc('\n', out);
    for (size_t i = 0; i < n; i++)
        print_finding(&findings[i], i == 0, out);
    fputs("More: --full, --json FILE|-, --format csv.\n", out);
}

static size_t lines_of(const char *text)
{
    size_t n = 0;
    for (; *text != '\0'; text++)
        n += *text == '\n';
    return n;
}

/* The richest of these that fits. */
static void print_what_fits(const struct bench_study *s, const struct bench_finding *findings,
                            size_t n, FILE *out)
{
    static const struct {
        size_t rows, findings;
        bool choice;
    } screens[] = {{4, 2, true}, {3, 2, true},  {4, 2, false}, {3, 2, false},
                   {4, 1, true}, {3, 1, false}, {2, 1, false}, {1, 1, false}};
    const size_t nscreens = sizeof screens / sizeof *screens;
    for (size_t i = 0; i < nscreens; i++) {
        char *text = NULL;
        size_t size = 0;
        FILE *page = open_memstream(&text, &size);
        bool fits;
        if (page == NULL)
            die("out of memory");
        print_screen(s, screens[i].rows, findings,
                     n < screens[i].findings ? n : screens[i].findings, screens[i].choice, page);
        fclose(page);
        fits = lines_of(text) <= SCREEN_LINES || i + 1 == nscreens;
        if (fits)
            fputs(text, out);
        free(text);
        if (fits)
            return;
    }
}

void bench_text(const struct bench_study *study, bool full, FILE *out)
{
    struct bench_finding findings[BENCH_FINDINGS_MAX];
    const size_t n = bench_findings(study, findings);
    if (!full) {
        print_what_fits(study, findings, n, out);
        return;
    }
    print_headline(study, out);
    print_rows(study, 4, out);
    print_choice(study, out);
    fputc('\n', out);
    for (size_t i = 0; i < n; i++)
        print_finding(&findings[i], true, out);
    print_full(study, out);
}
