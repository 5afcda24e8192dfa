/* SPDX-License-Identifier: MIT */
#include "cmd/analyze_summary.h"

#include "base/opt.h"
#include "base/whole_file.h"
#include "cmd/cmd.h"

#include <stdio.h>
#include <string.h>

static void take(void *arg, const struct closing *c)
{
    closing_sums_add(arg, c);
}

static void print_tables(const struct summary_opts *o, const struct sheet *sheets)
{
    bool all = o->tables == NULL, alone = !all && strchr(o->tables, ',') == NULL, first = true;
    for (size_t i = 0; i < CLOSING_SHEET_COUNT; i++) {
        if ((!all && !opt_list_names(o->tables, sheets[i].name)) ||
            (all && sheet_rows(&sheets[i]) == 0))
            continue;
        analyze_table(&sheets[i], o->format, alone, first, stdout);
        first = false;
    }
}

static void print_text(const struct summary_opts *o, const struct closing_report *r)
{
    struct sheet sheets[CLOSING_SHEET_COUNT];
    struct screen screen;
    if (!o->list_tables && !o->formatted && o->tables == NULL) {
        screen_init(&screen, stdout, o->colored);
        closing_screen(r, &screen);
        screen_release(&screen);
        return;
    }
    closing_sheets(sheets, r);
    if (o->list_tables)
        analyze_list_sheets(sheets, CLOSING_SHEET_COUNT, stdout);
    else
        print_tables(o, sheets);
    for (size_t i = 0; i < CLOSING_SHEET_COUNT; i++)
        sheet_release(&sheets[i]);
}

static int report(const struct summary_opts *o, const struct closing_report *r, struct err *e)
{
    struct whole_file file;
    if (o->json == NULL || strcmp(o->json, "-") != 0)
        print_text(o, r);
    if (o->json == NULL)
        return 0;
    if (cmd_open_json(&file, o->json, e) < 0)
        return -1;
    closing_json(r, file.out);
    return cmd_close_json(&file, e);
}

int cmd_analyze_summary(const struct summary_opts *o, struct err *e)
{
    struct load_opts load = {.run_id = o->run_id};
    struct closing_sums sums;
    struct run run;
    struct closing_report r = {&sums, &run};
    int status;
    if (o->tables != NULL && analyze_check_tables(o->tables, NULL) == 0)
        return err_set(e, ERR_USAGE, "--table %s needs the records: leave out --summary",
                       o->tables);
    if (o->tables != NULL &&
        analyze_check_names(o->tables, closing_sheet_names, CLOSING_SHEET_COUNT,
                            "--summary --list-tables lists", e) < 0)
        return -1;
    closing_sums_init(&sums);
    status = closings_read(&run, o->dir, &load, take, &sums, e);
    for (size_t i = 0; status == 0 && i < run.nnotes; i++)
        fprintf(stderr, "specter: note: %s\n", run.notes[i].text);
    if (status == 0) {
        closing_sums_finish(&sums);
        status = report(o, &r, e);
    }
    if (status == 0 && (run_partial(&run) || (o->strict && sums.nranks == 1 && run.world_size > 1)))
        status = ERR_PARTIAL;
    closing_sums_release(&sums);
    run_release(&run);
    return status;
}
