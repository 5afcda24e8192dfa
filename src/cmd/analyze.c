/* SPDX-License-Identifier: MIT
 *
 * specter analyze: where the time of a recorded run went.
 */
#include "analysis/analysis.h"
#include "analysis/fail_on.h"
#include "analysis/limits.h"
#include "cmd/cmd.h"
#include "cmd/hardware.h"
#include "cmd/load.h"
#include "report/analyze_html.h"
#include "report/analyze_report.h"
#include "report/analyze_sheets.h"
#include "report/findings.h"
#include "trace/run.h"

#include <stdio.h>
#include <string.h>

struct analyze_opts {
    int64_t rank;
    const char *run_id, *json, *html, *fail_on, *format, *tables, *gpu, *network;
};

static const struct opt rows[] = {
    {"rank", 0, OPT_I64, offsetof(struct analyze_opts, rank), "N",
     "only this rank (communication stays over all ranks)"},
    {"run", 0, OPT_STR, offsetof(struct analyze_opts, run_id), "ID",
     "this run, where DIR holds several (default: the newest)"},
    {"json", 0, OPT_STR, offsetof(struct analyze_opts, json), "FILE|-",
     "write everything as JSON; -: to stdout, in place of the text"},
    {"format", 0, OPT_STR, offsetof(struct analyze_opts, format), "table|csv|md",
     "print every table in full, in this form, in place of the page"},
    {"html", 0, OPT_STR, offsetof(struct analyze_opts, html), "FILE",
     "write one page with charts and the first rows of every table"},
    {"table", 0, OPT_STR, offsetof(struct analyze_opts, tables), "NAME[,NAME]",
     "print only these tables, in full"},
    {"gpu", 0, OPT_STR, offsetof(struct analyze_opts, gpu), "NAME|FILE",
     "the GPU of the recording (default: as the traces name it)"},
    {"network", 0, OPT_STR, offsetof(struct analyze_opts, network), "NAME|FILE",
     "the network of the recording (default: where such GPUs usually sit)"},
    {"fail-on", 0, OPT_STR, offsetof(struct analyze_opts, fail_on), "EXPR",
     "exit with status 1 when EXPR holds, such as 'exposed_comm>0.3'"},
    OPT_END,
};

static const char details[] =
    "Reads the traces in DIR (a folder, file or archive; default: $SPECTER_OUTPUT, else ./traces)\n"
    "and prints the most important findings, the exact split of each rank's time, the collectives\n"
    "with their bandwidths, the GEMMs and the longest operations.\n"
    "\n"
    "The page shows the first rows of the most important tables. --format and --table print all\n"
    "rows of all, or of some:"
#define X(name, rows) " " #name
    SHEETS(X)
#undef X
        ".\n"
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

/* 0, or -1 with e filled. */
static int format_of(const char *text, enum analyze_format *format, struct err *e)
{
    static const char *const names[] = {
        [ANALYZE_TABLE] = "table", [ANALYZE_CSV] = "csv", [ANALYZE_MD] = "md"};
    *format = ANALYZE_TABLE;
    if (text == NULL)
        return 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(text, names[i]) == 0) {
            *format = (enum analyze_format)i;
            return 0;
        }
    }
    return err_set(e, ERR_USAGE, "--format is table, csv or md, not '%s'", text);
}

static void print(const struct analyze_opts *opts, const struct analysis *a,
                  const struct findings *findings)
{
    enum analyze_format format;
    struct err e;
    if (opts->format == NULL && opts->tables == NULL)
        analyze_text(a, findings, stdout);
    else if (format_of(opts->format, &format, &e) == 0)
        analyze_tables(a, opts->tables != NULL ? opts->tables : "", format, stdout);
}

/* What can be refused before anything is read. 0, or -1 with e filled. */
static int check(const struct analyze_opts *opts, struct err *e)
{
    enum analyze_format format;
    if (opts->fail_on != NULL && fail_on_check(opts->fail_on, e) < 0)
        return -1;
    if (opts->tables != NULL && analyze_check_tables(opts->tables, e) < 0)
        return -1;
    return format_of(opts->format, &format, e);
}

static int write_json(const struct analyze_opts *opts, const struct analysis *a,
                      const struct findings *findings, struct err *e)
{
    FILE *out = cmd_open_json(opts->json, e);
    if (out == NULL)
        return -1;
    analyze_json(a, findings, out);
    return cmd_close_json(out, opts->json, e);
}

/* Prints or writes the result in the forms that were asked for. */
static int report(const struct analyze_opts *opts, const struct analysis *a, struct err *e)
{
    struct findings findings;
    int status = 0;
    findings_init(&findings, a);
    if (opts->json == NULL || strcmp(opts->json, "-") != 0)
        print(opts, a, &findings);
    if (opts->json != NULL)
        status = write_json(opts, a, &findings, e);
    if (status == 0 && opts->html != NULL)
        status = analyze_html(a, &findings, opts->html, e);
    findings_release(&findings);
    return status;
}

/* What the user says of the machine, in the arena. 0, or -1 with e filled. */
static int machine_of(const struct analyze_opts *opts, struct arena *arena,
                      struct profile_pair *out, struct err *e)
{
    *out = (struct profile_pair){0};
    if (opts->gpu != NULL && (out->gpu = cmd_gpu(opts->gpu, arena, &out->network, e)) == NULL)
        return -1;
    if (opts->network != NULL && (out->network = cmd_network(opts->network, arena, e)) == NULL)
        return -1;
    return 0;
}

static int analyze(const struct analyze_opts *opts, const struct profile_pair *machine,
                   const struct run *run, struct err *e)
{
    struct analysis a;
    int status = -1;
    if (analysis_init_on(&a, run, opts->rank, machine->gpu, machine->network, e) < 0)
        return -1;
    a.all_rows = opts->format != NULL || opts->tables != NULL || opts->html != NULL;
    if (report(opts, &a, e) < 0)
        goto release;
    if (opts->fail_on != NULL && fail_on_apply(opts->fail_on, &a, e) < 0)
        goto release;
    status = 0;
release:
    analysis_release(&a);
    return status;
}

static int load_and_analyze(const struct analyze_opts *opts, const char *path,
                            const struct profile_pair *machine, struct err *e)
{
    struct run run;
    int status;
    if (cmd_load(&run, path, opts->run_id, e) < 0) {
        run_release(&run);
        return (int)e->code;
    }
    cmd_notes(&run);
    status = limits_check(&run, e) < 0 || analyze(opts, machine, &run, e) < 0 ? (int)e->code
             : run_partial(&run)                                              ? ERR_PARTIAL
                                                                              : 0;
    run_release(&run);
    return status;
}

static int run_analyze(const struct command *self, int argc, char **argv, struct err *e)
{
    struct analyze_opts opts = {.rank = ANALYSIS_ALL_RANKS};
    struct profile_pair machine;
    struct arena arena;
    int n, status = cmd_parse(self, &opts, argc, argv, false, &n, e);
    if (status >= 0)
        return status;
    if (n > 1) {
        err_set(e, ERR_USAGE, "one DIR at a time: '%s' is too much (see 'specter help analyze')",
                argv[1]);
        return ERR_USAGE;
    }
    if (check(&opts, e) < 0)
        return (int)e->code;
    arena_init(&arena);
    if (machine_of(&opts, &arena, &machine, e) < 0)
        status = (int)e->code;
    else
        status = load_and_analyze(&opts, cmd_input(n, argv), &machine, e);
    arena_release(&arena);
    return status;
}

const struct command cmd_analyze = {
    .name = "analyze",
    .synopsis = "analyze [DIR] [--rank N] [--run ID] [--json FILE|-] [--format table|csv|md]"
                " [--html FILE] [--table NAME[,NAME]] [--gpu NAME|FILE] [--network NAME|FILE] "
                "[--fail-on EXPR]",
    .summary = "say where the time of a recorded run went",
    .details = details,
    .rows = rows,
    .run = run_analyze,
};
