/* SPDX-License-Identifier: MIT
 *
 * specter analyze: where the time of a recorded run went.
 */
#include "analysis/analysis.h"
#include "analysis/fail_on.h"
#include "analysis/limits.h"
#include "base/buf.h"
#include "base/opt.h"
#include "base/whole_file.h"
#include "cmd/cmd.h"
#include "cmd/hardware.h"
#include "cmd/shard.h"
#include "report/analyze_report.h"
#include "report/analyze_sheets.h"
#include "report/findings.h"
#include "report/workbooks.h"
#include "trace/activity.h"
#include "trace/run.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- --summary: the answer of the closing records alone ---- */

/* Texts are borrowed; NULL: not given. */
struct summary_opts {
    const char *dir, *run_id, *json, *tables;
    bool formatted; /* tables in `format` in place of the screen */
    enum sheet_form format;
    bool list_tables, strict;
    enum color_when colored; /* screen_init() */
};

static void add_closing(void *arg, const struct closing *c)
{
    closing_sums_add(arg, c);
}

static void print_summary_tables(const struct summary_opts *o, const struct sheet *sheets)
{
    const bool all = o->tables == NULL, several = all || strchr(o->tables, ',') != NULL;
    enum table_among among = several ? TABLE_FIRST : TABLE_ALONE;
    for (size_t i = 0; i < CLOSING_SHEET_COUNT; i++) {
        if ((!all && !opt_list_names(o->tables, sheets[i].name)) ||
            (all && sheet_rows(&sheets[i]) == 0))
            continue;
        analyze_table(&sheets[i], o->format, among, stdout);
        among = several ? TABLE_NEXT : TABLE_ALONE;
    }
}

static void print_summary(const struct summary_opts *o, const struct closing_report *r)
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
        print_summary_tables(o, sheets);
    for (size_t i = 0; i < CLOSING_SHEET_COUNT; i++)
        sheet_release(&sheets[i]);
}

static int report_summary(const struct summary_opts *o, const struct closing_report *r,
                          struct err *e)
{
    struct whole_file file;
    if (o->json == NULL || strcmp(o->json, "-") != 0)
        print_summary(o, r);
    if (o->json == NULL)
        return 0;
    if (cmd_open_json(&file, o->json, e) < 0)
        return -1;
    closing_json(r, file.out);
    return cmd_close_json(&file, e);
}

/* Returns the status; -1 with e filled. */
static int run_summary(const struct summary_opts *o, struct err *e)
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
    status = closings_read(&run, o->dir, &load, add_closing, &sums, e);
    for (size_t i = 0; status == 0 && i < run.nnotes; i++)
        fprintf(stderr, "specter: note: %s\n", run.notes[i].text);
    if (status == 0) {
        closing_sums_finish(&sums);
        status = report_summary(o, &r, e);
    }
    if (status == 0 && (run_partial(&run) || (o->strict && sums.nranks == 1 && run.world_size > 1)))
        status = ERR_PARTIAL;
    closing_sums_release(&sums);
    run_release(&run);
    return status;
}

struct analyze_opts {
    struct shard_opts share;
    bool strict;
    int64_t rank;
    const char *run_id, *json, *html, *fail_on, *form, *tables, *gpu, *network, *color, *xlsx;
    bool full, list_tables, summary;
    enum color_when colored;     /* `color`, read: screen_init() */
    enum sheet_form format;      /* `form`, read */
    struct profile_pair machine; /* what the user says of it */
};

static const struct opt rows[] = {
    {"rank", 0, OPT_I64, offsetof(struct analyze_opts, rank), "N",
     "only this rank (communication stays over all ranks)"},
    {"run", 0, OPT_STR, offsetof(struct analyze_opts, run_id), "ID",
     "this run, where DIR holds several (default: the newest)"},
    {"strict", 0, OPT_FLAG, offsetof(struct analyze_opts, strict), NULL, STRICT_HELP},
    SHARD_ROWS(struct analyze_opts, share),
    {"json", 0, OPT_STR, offsetof(struct analyze_opts, json), "FILE|-",
     "write everything as JSON; -: to stdout, in place of the text"},
    {"format", 0, OPT_STR, offsetof(struct analyze_opts, form), "table|csv|md",
     "print every table in full, in this form, in place of the page"},
    {"html", 0, OPT_STR, offsetof(struct analyze_opts, html), "FILE",
     "write one page with a timeline, charts and every table"},
    {"xlsx", 0, OPT_STR, offsetof(struct analyze_opts, xlsx), "DIR",
     "write a workbook a rank, and one of all collectives, into DIR/tracelens_analysis"},
    {"table", 0, OPT_STR, offsetof(struct analyze_opts, tables), "NAME[,NAME]",
     "print only these tables, in full"},
    {"full", 0, OPT_FLAG, offsetof(struct analyze_opts, full), NULL,
     "print all findings and the most important tables"},
    {"list-tables", 0, OPT_FLAG, offsetof(struct analyze_opts, list_tables), NULL,
     "say what each table tells, and how many rows it has"},
    {"summary", 0, OPT_FLAG, offsetof(struct analyze_opts, summary), NULL,
     "read only the sums that each process wrote at its end: kilobytes a rank"},
    {"gpu", 0, OPT_STR, offsetof(struct analyze_opts, gpu), "NAME|FILE",
     "the GPU of the recording (default: as the traces name it)"},
    {"network", 0, OPT_STR, offsetof(struct analyze_opts, network), "NAME|FILE",
     "the network of the recording (default: where such GPUs usually sit)"},
    {"fail-on", 0, OPT_STR, offsetof(struct analyze_opts, fail_on), "EXPR",
     "exit with status 1 when EXPR holds, such as 'exposed_comm>0.3'"},
    {"color", 0, OPT_STR, offsetof(struct analyze_opts, color), "WHEN",
     "auto, always or never (default: auto)"},
    OPT_END,
};

static const char details[] =
    "Reads the traces in DIR (a folder, file or archive; default: $SPECTER_OUTPUT, else ./traces)\n"
    "and prints on one screen what bounds the job, the parts of a step, and the findings that "
    "cost\n"
    "most. --full prints all findings, the exact split of each rank's time, and the first rows of\n"
    "the most important tables. --format and --table print all rows of all tables, or of some:"
#define X(name, rows) " " #name
    SHEETS(X)
#undef X
        ".\n"
        "\n"
        "--summary answers from the closing records of traces of libspecter.so, with the tables"
#define X(name) " " #name
    CLOSING_SHEETS(X)
#undef X
        ". Files without one (killed programs) are named, status 4.\n"
        "\n"
        "EXPR compares a name with a number (> >= < <=; 0.3 or 30%); of several with commas "
        "between\n"
        "them one is enough. The first six are shares of the steps, over all ranks together:\n"
#define X(name, part, whole, help) "  " #name ": " help "\n"
    FAIL_ON_SHARES(X)
#undef X
#define X(name, kind, lacks, help) "  " #name ": " help "\n"
        FAIL_ON_VALUES(X)
#undef X
            "\n"
            "Exit status: 0 done, 1 --fail-on holds, 3 no usable input, 4 part of the input was "
            "lost.";

int cmd_recorded_bounds(struct recorded_bounds *out, const struct run *run, struct err *e)
{
    struct analysis a;
    struct analysis_verdict verdict;
    if (analysis_init(&a, run, ANALYSIS_ALL_RANKS, e) < 0)
        return -1;
    verdict = analysis_verdict(&a);
    *out = (struct recorded_bounds){verdict.time, verdict.path, !isnan(verdict.path_share)};
    analysis_release(&a);
    return 0;
}

static void print_text(const struct analyze_opts *opts, const struct analysis *a,
                       const struct findings *findings)
{
    struct screen screen;
    if (opts->list_tables) {
        analyze_list_tables(a, stdout);
        return;
    }
    if (opts->full) {
        analyze_text(a, findings, stdout);
        return;
    }
    screen_init(&screen, stdout, opts->colored);
    analyze_summary(a, findings, &screen);
    screen_release(&screen);
}

static int write_workbooks(const struct analysis *a, const char *dir, struct err *e)
{
    static const char *const folders[] = {WORKBOOKS_INDIVIDUAL, WORKBOOKS_COLLECTIVE};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        struct buf path = BUF_INIT;
        int rc = 0;
        buf_printf(&path, "%s/%s", dir, folders[i]);
        if (cmd_make_folders(path.data) < 0)
            rc =
                err_set(e, ERR_INPUT, "cannot make directory '%s': %s", path.data, strerror(errno));
        buf_release(&path);
        if (rc < 0)
            return -1;
    }
    return analyze_workbooks(dir, a, stderr, e);
}

static int analyze(void *arg, const struct run *run, struct err *e)
{
    const struct analyze_opts *opts = arg;
    bool text = opts->json == NULL || strcmp(opts->json, "-") != 0;
    struct findings findings;
    struct analysis a;
    struct whole_file file;
    int status = 0;
    if (analysis_init_on(&a, run, opts->rank, opts->machine.gpu, opts->machine.network, e) < 0)
        return -1;
    a.all_rows = opts->form != NULL || opts->tables != NULL || opts->html != NULL ||
                 opts->list_tables || opts->xlsx != NULL;
    findings_init(&findings, &a);
    if (opts->json != NULL || opts->html != NULL ||
        (opts->tables == NULL && opts->form == NULL && !opts->list_tables))
        findings_simulate(&findings, &a);
    if (text && opts->form == NULL && opts->tables == NULL)
        print_text(opts, &a, &findings);
    else if (text)
        analyze_tables(&a, opts->tables != NULL ? opts->tables : "", opts->format, stdout);
    if (opts->json != NULL && (status = cmd_open_json(&file, opts->json, e)) == 0) {
        analyze_json(&a, &findings, file.out);
        status = cmd_close_json(&file, e);
    }
    if (status == 0 && opts->html != NULL)
        status = analyze_html(&a, &findings, opts->html, e);
    if (status == 0 && opts->html != NULL)
        cmd_wrote(opts->html);
    findings_release(&findings);
    if (status == 0 && opts->xlsx != NULL)
        status = write_workbooks(&a, opts->xlsx, e);
    if (status == 0 && opts->fail_on != NULL)
        status = fail_on_apply(opts->fail_on, &a, e);
    analysis_release(&a);
    return status;
}

/* The answer without the records; refuses what needs them. */
static int summarize(const struct analyze_opts *opts, const char *dir, struct err *e)
{
    const struct {
        const char *name;
        bool given;
    } needs_records[] = {{"rank", opts->rank != ANALYSIS_ALL_RANKS},
                         {"html", opts->html != NULL},
                         {"xlsx", opts->xlsx != NULL},
                         {"full", opts->full},
                         {"gpu", opts->gpu != NULL},
                         {"network", opts->network != NULL},
                         {"fail-on", opts->fail_on != NULL}};
    struct summary_opts o = {.dir = dir,
                             .run_id = opts->run_id,
                             .json = opts->json,
                             .tables = opts->tables,
                             .formatted = opts->form != NULL,
                             .format = opts->format,
                             .list_tables = opts->list_tables,
                             .strict = opts->strict,
                             .colored = opts->colored};
    for (size_t i = 0; i < sizeof needs_records / sizeof *needs_records; i++) {
        if (needs_records[i].given)
            return err_set(e, ERR_USAGE, "--%s needs the records: leave out --summary",
                           needs_records[i].name);
    }
    return run_summary(&o, e);
}

static int check_tables(const char *names, struct err *e)
{
    if (analyze_check_names(names, closing_sheet_names, CLOSING_SHEET_COUNT, "", NULL) == 0 &&
        names[0] != '\0')
        return err_set(e, ERR_USAGE, "--table %s goes with --summary", names);
    return analyze_check_tables(names, e);
}

static int run_analyze(const struct command *self, int argc, char **argv, struct err *e)
{
    struct analyze_opts opts = {.rank = ANALYSIS_ALL_RANKS};
    struct arena arena;
    int n, status = cmd_parse(self, &opts, argc, argv, false, &n, e);
    if (status != 0)
        return status;
    if (cmd_one_dir(self, n, argv, e) < 0 ||
        (opts.fail_on != NULL && fail_on_check(opts.fail_on, e) < 0) ||
        (opts.tables != NULL && !opts.summary && check_tables(opts.tables, e) < 0) ||
        sheet_form_parse(opts.form, &opts.format, e) < 0 ||
        color_parse(opts.color, &opts.colored, e) < 0)
        return (int)e->code;
    if (opts.share.shard != NULL &&
        (opts.json != NULL || opts.html != NULL || opts.xlsx != NULL || opts.form != NULL ||
         opts.tables != NULL || opts.fail_on != NULL || opts.full || opts.list_tables ||
         opts.summary))
        return shard_no_answer(e);
    if (opts.share.shard != NULL)
        return shard_write(self->name, cmd_input(n, argv), opts.run_id, &opts.share, e);
    if (opts.summary) {
        status = summarize(&opts, cmd_input(n, argv), e);
        return status < 0 ? (int)e->code : status;
    }
    arena_init(&arena);
    if (cmd_machine(opts.gpu, opts.network, &arena, &opts.machine, e) < 0)
        status = (int)e->code;
    else
        status = cmd_with_run(cmd_input(n, argv), opts.run_id, opts.strict ? CMD_STRICT : 0,
                              analyze, &opts, e);
    arena_release(&arena);
    return status;
}

const struct command cmd_analyze = {
    .name = "analyze",
    .synopsis = "analyze [DIR]" SYNOPSIS_ALL,
    .summary = "say where the time of a recorded run went",
    .details = details,
    .rows = rows,
    .paged = true,
    .run = run_analyze,
};
