/* SPDX-License-Identifier: MIT */
#include "report/replay_report.h"

#include "base/buf.h"
#include "base/opt.h"
#include "report/replay_internal.h"
#include "report/table.h"

#include <string.h>

#define SOURCE_COLUMNS 46

static void print_paths(const struct replay *rep, FILE *out)
{
    const char *words;
    char gpus[64];
    fputs("\ncritical path\n", out);
    for (size_t at = 0; replay_next_path(rep, &at, gpus, &words);) {
        struct buf line = BUF_INIT;
        buf_printf(&line, "%s: ", gpus);
        buf_put_printable(&line, words, strlen(words));
        fputs("  - ", out);
        opt_wrap(line.data, 4, 4, out);
        buf_release(&line);
    }
}

/* Prints the sentence behind the error bars. */
static void print_bars(struct replay *rep, FILE *out)
{
    const char *list[REPLAY_BARS_MAX + 1];
    struct buf head = BUF_INIT;
    buf_printf(&head, "error (+-): %s", replay_error_text(rep, list));
    fputc('\n', out);
    opt_wrap(head.data, 0, 0, out);
    buf_release(&head);
    for (int i = 0; list[i] != NULL; i++) {
        fputs("  - ", out);
        opt_wrap(list[i], 4, 4, out);
    }
}

static void print_lines(const char *title, const struct replay_lines *lines, FILE *out)
{
    if (lines->count > 0)
        fprintf(out, "\n%s\n", title);
    for (size_t i = 0; i < lines->count; i++) {
        fputs("  - ", out);
        opt_wrap(lines->list[i].text, 4, 4, out);
    }
}

/* A head and a text of any length behind it; nothing when there is none. */
static void print_head(const char *head, const char *text, FILE *out)
{
    if (text == NULL)
        return;
    fprintf(out, "%-12s", head);
    opt_wrap(text, 12, 12, out);
}

static void print_source(const struct replay *rep, FILE *out)
{
    fprintf(out, "source      %s",
            rep->gpu_known ? rep->from.gpu->name : "unknown (--from-gpu NAME says it)");
    if (rep->network_known)
        fprintf(out, ", %s", rep->from.network->name);
    else if (rep->gpu_known)
        fputs(", network unknown (--from-network NAME says it)", out);
    fputc('\n', out);
}

static void print_parallel(struct replay *rep, FILE *out)
{
    struct buf safe = BUF_INIT;
    const char *words = grid_sentence(&rep->grid, &rep->groups);
    buf_put_printable(&safe, words, strlen(words));
    fputs("parallelism ", out);
    opt_wrap(safe.data, 12, 12, out);
    buf_release(&safe);
}

void replay_text(struct replay *rep, const struct run *run, FILE *out)
{
    char source[SOURCE_COLUMNS * 4 + 1];
    fprintf(out, "recording   %s, %zu of %d rank%s\n",
            text_safe(source, sizeof source, run->source, SOURCE_COLUMNS), rep->nranks, rep->world,
            rep->world > 1 ? "s" : "");
    print_source(rep, out);
    fprintf(out, "target      %s, %s%s\n", rep->to.gpu->name, rep->to.network->name,
            rep->same_hardware ? " (the same)" : "");
    print_parallel(rep, out);
    print_head("iteration", replay_own_text(rep), out);
    print_head("iterations", replay_spread_text(rep), out);
    print_head("work", replay_work_text(rep), out);
    fputc('\n', out);
    replay_tables(rep, out);
    print_paths(rep, out);
    print_bars(rep, out);
    print_lines("assumptions", &rep->assumptions, out);
    print_lines("notes", &rep->notes, out);
}
