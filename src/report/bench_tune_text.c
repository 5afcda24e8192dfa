/* SPDX-License-Identifier: MIT
 *
 * The text of `specter bench tune`; its files and JSON are bench_tune.c (bench_report.h).
 */
#include "report/bench_report.h"

#include "base/arena.h"
#include "base/opt.h"
#include "bench/tune.h"
#include "report/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ANSWERS 5
#define NAMED 3 /* choices of NCCL in an answer */

/* "Tree/LL128", "Ring/Simple, 8 channels"; "unknown". */
static char *choice_text(char *buf, size_t size, const struct comm_choice *choice)
{
    if (choice->algo == NULL)
        snprintf(buf, size, "unknown");
    else if (choice->channels > 0)
        snprintf(buf, size, "%s/%s, %d channels", bench_nccl_word(choice->algo), choice->proto,
                 choice->channels);
    else
        snprintf(buf, size, "%s/%s", bench_nccl_word(choice->algo), choice->proto);
    return buf;
}

static void print_line(struct buf *text, FILE *out)
{
    opt_wrap(text->data, 0, 2, out);
    buf_reset(text);
}

/* ---- the answer ---- */

static void print_gain(const struct bench_tune_range *range, FILE *out)
{
    char first[32], last[32], word[96];
    struct buf text = BUF_INIT;
    char words[NAMED][64];
    buf_printf(&text, "%s %s", specter_comm_op_name(range->first->op),
               text_bytes(first, sizeof first, (double)range->first->bytes));
    if (range->last != range->first)
        buf_printf(&text, " to %s", text_bytes(last, sizeof last, (double)range->last->bytes));
    buf_printf(&text, ": %s is ", choice_text(word, sizeof word, &range->first->best.setting));
    if (range->high - range->low < 0.005)
        buf_printf(&text, "%.2f", range->high);
    else
        buf_printf(&text, "%.2f to %.2f", range->low, range->high);
    buf_printf(&text, " times as fast as NCCL's own choice");
    /* The choices that NCCL makes by itself over a range, each once. */
    int n = 0;
    for (const struct bench_tuned *s = range->first; s <= range->last; s++) {
        const struct comm_choice pair = {s->own.algo, s->own.proto, 0};
        char own[64];
        bool known = s->own.algo == NULL;
        choice_text(own, sizeof own, &pair);
        for (int i = 0; i < n && i < NAMED; i++)
            known |= strcmp(words[i], own) == 0;
        if (known)
            continue;
        if (n < NAMED)
            memcpy(words[n], own, sizeof own);
        n++;
    }
    for (int i = 0; i < n && i < NAMED; i++)
        buf_printf(&text, "%s%s", i == 0 ? " (" : ", ", words[i]);
    if (n > 0)
        buf_printf(&text, "%s)", n > NAMED ? ", ..." : "");
    buf_printf(&text, ".");
    print_line(&text, out);
    buf_release(&text);
}

static int by_gain(const void *a, const void *b)
{
    const struct bench_tune_range *x = a, *y = b;
    return x->high < y->high ? 1 : x->high > y->high ? -1 : x->first < y->first ? -1 : 1;
}

/* Returns how many ranges gain. */
static size_t print_gains(const struct bench_tune_report *r, FILE *out)
{
    struct bench_tune_range *list = array_new(r->log->n, sizeof *list);
    size_t n = 0;
    for (size_t i = 0; i < r->log->n;) {
        struct bench_tune_range range = bench_tune_range_of(r->log, i, false);
        if (range.gains)
            list[n++] = range;
        i = (size_t)(range.last - r->log->sizes) + 1;
    }
    qsort(list, n, sizeof *list, by_gain);
    for (size_t i = 0; i < n && i < ANSWERS; i++)
        print_gain(&list[i], out);
    if (n > ANSWERS)
        fprintf(out, "%zu further ranges gain less: see below.\n", n - ANSWERS);
    free(list);
    return n;
}

static void print_use(const struct bench_tune_report *r, FILE *out)
{
    struct buf algo = BUF_INIT, proto = BUF_INIT, text = BUF_INIT;
    if (bench_tune_exports(r, &algo, &proto))
        buf_printf(&text, "To use it: export NCCL_ALGO='%s' NCCL_PROTO='%s'", algo.data,
                   proto.data);
    else if (!bench_tune_has_table(r))
        buf_printf(&text, "No single setting does all of it.");
    else if (r->folder != NULL)
        buf_printf(&text,
                   "No single setting does all of it. NCCL's example tuner plugin does, with the "
                   "table: export NCCL_TUNER_PLUGIN=libnccl-tuner-example.so "
                   "NCCL_TUNER_CONFIG_FILE=%s/" BENCH_TUNE_TABLE,
                   r->folder);
    else
        buf_printf(&text, "No single setting does all of it; -o DIR writes the table for NCCL's "
                          "example tuner plugin.");
    print_line(&text, out);
    buf_release(&algo);
    buf_release(&proto);
    buf_release(&text);
}

static void print_answer(const struct bench_tune_report *r, FILE *out)
{
    size_t open = 0, tried = 0;
    struct buf text = BUF_INIT;
    for (size_t i = 0; i < r->log->n; i++) {
        open += r->log->sizes[i].verdict == BENCH_TUNE_OPEN;
        tried += r->log->sizes[i].n;
    }
    if (tried == 0) {
        fputs("Nothing was tried: NCCL has no such settings of these operations.\n", out);
    } else if (print_gains(r, out) > 0) {
        print_use(r, out);
    } else {
        buf_printf(&text, "NCCL's own choice stands%s (nothing %sgains %.3g %%).",
                   open > 0 || r->log->left > 0 || !r->complete ? "" : " everywhere",
                   open > 0 ? "certainly " : "", r->least_gain * 100);
        print_line(&text, out);
    }
    if (open > 0) {
        buf_printf(&text, "Not decided at %zu of %zu sizes: noise or too little time (--budget).",
                   open, r->log->n);
        print_line(&text, out);
    }
    if (r->log->left > 0)
        fprintf(out, "Not measured: %zu sizes, the time was up (--budget).\n", r->log->left);
    if (!r->complete)
        fputs("Ended early: what follows is what was measured.\n", out);
    buf_release(&text);
}

/* ---- rows ---- */

static void add_interval(struct table *t, const struct bench_ratio *g)
{
    if (g->rounds == 0) {
        table_cell(t, "-");
        table_cell(t, "-");
        return;
    }
    table_cell(t, "%.2f", g->ratio);
    if (isfinite(g->high))
        table_cell(t, "%.2f - %.2f", g->low, g->high);
    else
        table_cell(t, "-");
}

/* "Tree/LL x8" is narrower. */
static void add_choice(struct table *t, const struct comm_choice *c)
{
    if (c->algo == NULL)
        table_cell(t, "-");
    else if (c->channels > 0)
        table_cell(t, "%s/%s x%d", bench_nccl_word(c->algo), c->proto, c->channels);
    else
        table_cell(t, "%s/%s", bench_nccl_word(c->algo), c->proto);
}

static void print_rows(const struct bench_tune_report *r, size_t first, size_t end, FILE *out)
{
    struct table t;
    char text[32];
    table_init(&t);
    table_column(&t, "size", TABLE_RIGHT);
    table_column(&t, "NCCL's choice", TABLE_LEFT);
    table_column(&t, "time", TABLE_RIGHT);
    table_column(&t, "better", TABLE_LEFT);
    table_column(&t, "gain", TABLE_RIGHT);
    table_column(&t, "95 % interval", TABLE_LEFT);
    for (size_t i = first; i < end; i++) {
        const struct bench_tuned *s = &r->log->sizes[i];
        const struct bench_ratio none = {.rounds = 0};
        const struct comm_choice nothing = {NULL, NULL, 0};
        bool shown = s->verdict != BENCH_TUNE_OWN;
        table_cell(&t, "%s", text_bytes(text, sizeof text, (double)s->bytes));
        add_choice(&t, &s->own);
        table_cell(&t, "%s", text_ns(text, sizeof text, s->own_us * 1e3));
        if (s->verdict == BENCH_TUNE_OPEN)
            table_cell(&t, "not decided");
        else
            add_choice(&t, shown ? &s->best.setting : &nothing);
        add_interval(&t, shown ? &s->gain : &none);
    }
    table_print(&t, out);
    table_release(&t);
}

static void print_trials(const struct bench_tuned *s, FILE *out)
{
    struct table t;
    char text[32];
    fprintf(out, "%s, %s: the race\n", specter_comm_op_name(s->op),
            text_bytes(text, sizeof text, (double)s->bytes));
    table_init(&t);
    table_column(&t, "setting", TABLE_LEFT);
    table_column(&t, "NCCL took", TABLE_LEFT);
    table_column(&t, "", TABLE_LEFT);
    table_column(&t, "ratio", TABLE_RIGHT);
    table_column(&t, "interval", TABLE_LEFT);
    table_column(&t, "rounds", TABLE_RIGHT);
    for (size_t i = 0; i < s->n; i++) {
        add_choice(&t, &s->trials[i].setting);
        add_choice(&t, &s->trials[i].took);
        table_cell(&t, "%s", bench_trial_state_name(s->trials[i].state));
        add_interval(&t, &s->trials[i].race);
        table_cell(&t, "%zu", s->trials[i].race.rounds);
    }
    table_print(&t, out);
    table_release(&t);
}

/* ---- what is not in the race ---- */

static bool was_before(const struct bench_tune_log *log, size_t size,
                       const struct bench_trial *what)
{
    for (size_t i = 0; i <= size; i++) {
        const struct bench_tuned *s = &log->sizes[i];
        for (size_t k = 0; s->op == log->sizes[size].op && k < s->n; k++) {
            if (&s->trials[k] == what)
                return false;
            if (s->trials[k].state == what->state &&
                strcmp(s->trials[k].setting.algo, what->setting.algo) == 0 &&
                strcmp(s->trials[k].setting.proto, what->setting.proto) == 0 &&
                s->trials[k].setting.channels == what->setting.channels)
                return true;
        }
    }
    return false;
}

static void print_left_out(const struct bench_tune_report *r, enum bench_trial_state state,
                           const char *title, FILE *out)
{
    struct buf text = BUF_INIT;
    for (size_t i = 0; i < r->log->n; i++) {
        const struct bench_tuned *s = &r->log->sizes[i];
        for (size_t k = 0; k < s->n; k++) {
            char word[96];
            if (s->trials[k].state == state && !was_before(r->log, i, &s->trials[k]))
                buf_printf(&text, "%s %s %s", text.len == 0 ? title : ";",
                           specter_comm_op_name(s->op),
                           choice_text(word, sizeof word, &s->trials[k].setting));
        }
    }
    if (text.len > 0)
        print_line(&text, out);
    buf_release(&text);
}

void bench_tune_text(const struct bench_tune_report *r, bool full, FILE *out)
{
    const struct bench_tune_log *log = r->log;
    print_answer(r, out);
    fputc('\n', out);
    for (size_t first = 0, end; first < log->n; first = end) {
        for (end = first; end < log->n && log->sizes[end].op == log->sizes[first].op; end++)
            ;
        fprintf(out, "%s%s, %s, %d ranks on %d node%s, %s\n", first > 0 ? "\n" : "",
                specter_comm_op_name(log->sizes[first].op), specter_dtype_name(r->dtype),
                r->run->where.ranks, r->run->where.nodes, r->run->where.nodes == 1 ? "" : "s",
                r->run->library);
        print_rows(r, first, end, out);
        for (size_t i = first; full && i < end; i++)
            print_trials(&log->sizes[i], out);
    }
    fputc('\n', out);
    print_left_out(r, BENCH_TRIAL_WRONG, "Wrong results, never to be used:", out);
    print_left_out(r, BENCH_TRIAL_HANGS, "Did not end, and were aborted:", out);
    print_left_out(r, BENCH_TRIAL_IGNORED, "Ignored by NCCL:", out);
    print_left_out(r, BENCH_TRIAL_REFUSED, "Refused by NCCL:", out);
    struct buf text = BUF_INIT;
    for (size_t i = 0; i < r->log->n; i++) {
        if (r->log->sizes[i].own.algo != NULL)
            continue;
        buf_printf(&text,
                   "%s does not say what it takes (NCCL 2.26 does, unless NCCL_PROFILER_PLUGIN is "
                   "set): a setting that it ignores is not noticed.",
                   r->run->library);
        print_line(&text, out);
        break;
    }
    buf_release(&text);
    fputs(full ? "More: --json FILE|-, -o DIR.\n" : "More: --full, --json FILE|-, -o DIR.\n", out);
}
