/* SPDX-License-Identifier: MIT */
#include "report/bench_report.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/opt.h"
#include "bench/findings.h"
#include "report/json_add.h"
#include "report/table.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- rows as a sheet ---- */

static const struct sheet_column row_columns[] = {
    {"run", NULL, SHEET_COUNT, 0},
    {"op", "operation", SHEET_TEXT, 0},
    {"ranks", NULL, SHEET_COUNT, 0},
    {"nodes", NULL, SHEET_COUNT, 0},
    {"gpus_per_node", NULL, SHEET_COUNT, 0},
    {"dtype", "type", SHEET_TEXT, 0},
    {"in_place", "in place", SHEET_COUNT, 0},
    {"bytes", "size", SHEET_BYTES, 0},
    {"time_us", "time", SHEET_TIME, 0},
    {"busbw_GBps", "busbw GB/s", SHEET_RATE, 0},
    {"predicted_us", "predicted", SHEET_TIME, 0},
    {"predicted_busbw_GBps", NULL, SHEET_RATE, 0},
    {"low_us", "low", SHEET_TIME, 0},
    {"high_us", "high", SHEET_TIME, 0},
    {"ratio", "ratio", SHEET_RATE, 0},
    {"algo", "algorithm", SHEET_TEXT, 0},
    {"proto", "protocol", SHEET_TEXT, 0},
    {"channels", NULL, SHEET_COUNT, 0},
    {"min_us", NULL, SHEET_TIME, 0},
    {"median_us", NULL, SHEET_TIME, 0},
    {"p99_us", NULL, SHEET_TIME, 0},
    {"cv", NULL, SHEET_RATE, 0},
    {"wrong", NULL, SHEET_COUNT, 0},
    {"verdict", "verdict", SHEET_TEXT, 0},
};

static void begin_rows(struct sheet *s)
{
    sheet_init(s, "rows", "Measured and predicted", SHEET_COLUMNS(row_columns));
}

static void put_rows(struct sheet *s, const struct bench_study *study, size_t run)
{
    for (size_t i = 0; i < study->nrows; i++) {
        const struct bench_judged *j = &study->rows[i];
        const struct bench_row *row = j->row;
        const bool known = isfinite(j->ratio);
        const struct bench_interval *in = &j->expected.interval;
        const bool named = row->op != SPECTER_COMM_OP_COUNT;
        sheet_number(s, (double)run);
        sheet_text(s, named ? specter_comm_op_name(row->op) : study->run->program);
        sheet_number(s, row->where.ranks);
        sheet_number(s, row->where.nodes);
        sheet_number(s, row->where.per_node);
        sheet_text(s, row->dtype != SPECTER_DTYPE_UNKNOWN ? specter_dtype_name(row->dtype) : "");
        sheet_number(s, row->in_place);
        sheet_number(s, (double)row->bytes);
        sheet_number(s, row->time_us * 1e3);
        sheet_number(s, row->busbw_GBps);
        sheet_number(s, known ? j->expected.of.us * 1e3 : NAN);
        sheet_number(s, known ? row->busbw_GBps / j->ratio : NAN);
        sheet_number(s, known ? in->low_us * 1e3 : NAN);
        sheet_number(s, known ? in->high_us * 1e3 : NAN);
        sheet_number(s, j->ratio);
        sheet_text(s, known ? j->expected.of.algo : "");
        sheet_text(s, known ? j->expected.of.proto : "");
        sheet_number(s, known && j->expected.of.channels > 0 ? j->expected.of.channels : NAN);
        sheet_number(s, row->min_us * 1e3);
        sheet_number(s, row->median_us * 1e3);
        sheet_number(s, row->p99_us * 1e3);
        sheet_number(s, row->cv);
        sheet_number(s, row->wrong);
        sheet_text(s, bench_verdict_word(j->verdict));
    }
}

static void bench_study_sheet(struct sheet *s, const struct bench_study *study)
{
    begin_rows(s);
    put_rows(s, study, 1);
}

/* Runs are counted from 1, in the order of the file. */
void bench_sheet(struct sheet *s, const struct bench_studies *studies)
{
    size_t run = 0;
    begin_rows(s);
    for (size_t i = 0; i < studies->n; i++) {
        run += i == 0 || studies->list[i].run != studies->list[i - 1].run;
        put_rows(s, &studies->list[i], run);
    }
}

/* ---- text ---- */

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

static void print_headline(const struct bench_study *s, FILE *out)
{
    const struct layout *w = &s->where;
    struct buf line = BUF_INIT;
    buf_printf(&line, "%s, %d rank%s on %d node%s: ",
               s->op != SPECTER_COMM_OP_COUNT ? specter_comm_op_name(s->op) : s->run->program,
               w->ranks, plural(w->ranks), w->nodes, plural(w->nodes));
    if (s->count[BENCH_WRONG] > 0)
        buf_printf(&line, "wrong results at %zu of %zu sizes", s->count[BENCH_WRONG], s->nmain);
    else if (s->count[BENCH_SLOW] > 0 && bench_study_is_sound(s))
        buf_printf(&line, "normal; %zu of %zu sizes %s slow, and one in %.0f is on sound machines",
                   s->count[BENCH_SLOW], s->nmain, s->count[BENCH_SLOW] == 1 ? "is" : "are",
                   1 / (1 - bench_study_interval(s).level));
    else if (s->count[BENCH_SLOW] > 0)
        put_shape(&line, s, BENCH_SLOW, "too slow");
    else if (s->count[BENCH_FAST] > 0)
        put_shape(&line, s, BENCH_FAST, "faster than predicted");
    else if (s->count[BENCH_UNKNOWN] == s->nmain)
        buf_printf(&line, "measured only, %s", s->unknown);
    else
        buf_printf(&line, "normal at every size (%zu)", s->nmain);
    buf_puts(&line, ".");
    text_make_printable(line.data);
    opt_wrap(line.data, 0, 0, out);
    fputc('\n', out);
    buf_release(&line);
}

/* ---- the rows that show it ---- */

/* The main rows that are shown, and the number of those that may follow. */
struct shown {
    bool *row; /* owned */
    size_t left;
};

static void show_row(struct shown *shown, size_t row)
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
        show_row(shown, worst);
    show_row(shown, s->nmain - 1);
    for (size_t i = 1; i < s->nmain; i++) {
        if (s->rows[i].verdict != s->rows[i - 1].verdict) {
            show_row(shown, i - 1);
            show_row(shown, i);
        }
    }
    show_row(shown, 0);
    show_row(shown, s->nmain / 2);
}

static void time_cell(struct table *t, double us)
{
    char text[32];
    table_cell(t, "%s", text_ns(text, sizeof text, us * 1e3));
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
        const char *word = bench_verdict_word(j->verdict);
        if (j->verdict == BENCH_SLOW || j->verdict == BENCH_FAST)
            table_cell(&t, j->ratio < 0.1 ? "%s, %.1g of predicted" : "%s, %.2f of predicted", word,
                       j->ratio);
        else
            table_cell(&t, "%s", word);
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

/* With so many rows and causes. */
static void print_screen(const struct bench_study *s, size_t rows,
                         const struct bench_finding *findings, size_t n, bool choice, FILE *out)
{
    print_headline(s, out);
    print_rows(s, rows, out);
    if (choice)
        print_choice(s, out);
    if (!bench_study_interval(s).known && s->count[BENCH_UNKNOWN] != s->nmain) {
        struct buf line = BUF_INIT;
        buf_printf(&line, "The interval is that of all hardware: too little of %s was measured.",
                   s->net->name);
        opt_wrap(line.data, 0, 2, out);
        buf_release(&line);
    }
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
    struct sheet rows;
    if (!full) {
        print_what_fits(study, findings, n, out);
        return;
    }
    print_headline(study, out);
    print_rows(study, 4, out);
    print_choice(study, out);
    if (n > 0)
        fputc('\n', out);
    for (size_t i = 0; i < n; i++)
        print_finding(&findings[i], true, out);
    const struct bench_run *run = study->run;
    bench_study_sheet(&rows, study);
    sheet_print(&rows, sheet_rows(&rows), out);
    sheet_release(&rows);
    fputc('\n', out);
    if (study->gpu != NULL) {
        fprintf(out, "  predicted for %s on %s", study->gpu->name, study->net->name);
        fprintf(out,
                bench_study_interval(study).known
                    ? "; the interval is that of measurements of it\n"
                    : ", of which too little was measured: the interval is that of all others\n");
    }
    if (run->gpu[0] != '\0')
        fprintf(out, "  GPU: %s\n", run->gpu);
    if (run->library[0] != '\0')
        fprintf(out, "  library: %s\n", run->library);
    for (size_t i = 0; i < run->nsettings; i++)
        fprintf(out, "  %s=%s\n", run->settings[i].name, run->settings[i].value);
}

/* ---- JSON ---- */

static cJSON *study_json(const struct bench_study *s)
{
    cJSON *doc = cJSON_CreateObject(), *list;
    struct sheet rows;
    struct bench_finding findings[BENCH_FINDINGS_MAX];
    json_add_text(doc, "op", s->op != SPECTER_COMM_OP_COUNT ? specter_comm_op_name(s->op) : "");
    cJSON_AddNumberToObject(doc, "ranks", s->where.ranks);
    cJSON_AddNumberToObject(doc, "nodes", s->where.nodes);
    cJSON_AddNumberToObject(doc, "gpus_per_node", s->where.per_node);
    json_add_text(doc, "gpu_profile", s->gpu != NULL ? s->gpu->name : NULL);
    json_add_text(doc, "network_profile", s->net != NULL ? s->net->name : NULL);
    const bool judged = s->nmain > s->count[BENCH_UNKNOWN];
    const struct bench_interval in = judged ? bench_study_interval(s) : (struct bench_interval){0};
    json_add_number(doc, "interval_level", judged ? in.level : NAN);
    cJSON_AddBoolToObject(doc, "interval_known", in.known);
    for (int verdict = 0; verdict < BENCH_VERDICT_COUNT; verdict++) {
        static const char *const keys[] = {"normal", "slow", "faster", "wrong", "unknown"};
        cJSON_AddNumberToObject(doc, keys[verdict], (double)s->count[verdict]);
    }
    const size_t n = bench_findings(s, findings);
    cJSON *causes = cJSON_AddArrayToObject(doc, "findings");
    for (size_t i = 0; i < n; i++) {
        cJSON *one = cJSON_CreateObject();
        cJSON_AddStringToObject(one, "name", findings[i].name);
        json_add_text(one, "text", findings[i].text);
        json_add_text(one, "look_at", findings[i].look_at);
        cJSON_AddBoolToObject(one, "rough", findings[i].rough);
        json_add_number(one, "fit", findings[i].fit);
        cJSON_AddItemToArray(causes, one);
    }
    list = cJSON_AddArrayToObject(doc, "rows");
    bench_study_sheet(&rows, s);
    for (size_t i = 0; i < sheet_json_rows(&rows); i++)
        cJSON_AddItemToArray(list, sheet_json_row(&rows, i));
    sheet_release(&rows);
    return doc;
}

cJSON *bench_json(const struct bench_studies *studies)
{
    cJSON *doc = cJSON_CreateObject(), *runs, *list = NULL;
    cJSON_AddStringToObject(doc, "schema", "specter.bench/1");
    cJSON_AddStringToObject(doc, "kind", "report");
    runs = cJSON_AddArrayToObject(doc, "runs");
    for (size_t i = 0; i < studies->n; i++) {
        const struct bench_study *s = &studies->list[i];
        if (i == 0 || s->run != studies->list[i - 1].run) {
            const struct bench_run *of = s->run;
            cJSON *run = cJSON_CreateObject();
            json_add_text(run, "file", of->file);
            cJSON_AddNumberToObject(run, "line", (double)of->line);
            json_add_text(run, "program", of->program);
            bench_run_json(run, of);
            list = cJSON_AddArrayToObject(run, "operations");
            cJSON_AddItemToArray(runs, run);
        }
        cJSON_AddItemToArray(list, study_json(s));
    }
    return doc;
}
