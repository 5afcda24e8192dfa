/* SPDX-License-Identifier: MIT
 *
 * specter metrics: single numbers of a recorded run, by name.
 */
#include "analysis/limits.h"
#include "cmd/cmd.h"
#include "cmd/load.h"
#include "metrics/metrics.h"
#include "report/metrics_report.h"
#include "trace/run.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

struct metrics_opts {
    const char *names, *json, *card, *run_id, *parallel;
    bool list;
};

static const struct opt rows[] = {
    {"metric", 0, OPT_STR, offsetof(struct metrics_opts, names), "NAME[,NAME]",
     "which ones (default: all)"},
    {"list-metrics", 0, OPT_FLAG, offsetof(struct metrics_opts, list), NULL,
     "list them, each with its unit and definition"},
    {"card", 0, OPT_STR, offsetof(struct metrics_opts, card), "FILE",
     "workload card, YAML or JSON: batch, sequence length, parameters, ..."},
    {"parallel", 0, OPT_STR, offsetof(struct metrics_opts, parallel), "GRID",
     "the parallel grid, such as tp=8,pp=2,dp=4 (default: the card's, else found)"},
    {"json", 0, OPT_STR, offsetof(struct metrics_opts, json), "FILE|-",
     "write them as JSON; -: to stdout, in place of the text"},
    {"run", 0, OPT_STR, offsetof(struct metrics_opts, run_id), "ID",
     "this run, where DIR holds several (default: the newest)"},
    OPT_END,
};

static const char details[] =
    "Reads the traces in DIR (a folder, file or archive; default: $SPECTER_OUTPUT, else ./traces)\n"
    "and prints each metric with its unit and what it is made of. --list-metrics says what each\n"
    "one is; docs/metrics.md also how it differs from scripts of the same name. The suffix _16 of\n"
    "such scripts is accepted. A workload card in DIR (workload_card.yaml, .yml or .json) is read\n"
    "without --card.\n"
    "\n"
    "Exit status: 0 done, 3 no usable input, or none of the metrics can be told, 4 some cannot, "
    "or\n"
    "part of the input was lost; the reason stands in place of the value.";

static int check_names(const char *names, struct err *e)
{
    if (names != NULL && names[0] == '\0')
        return err_set(e, ERR_USAGE, "--metric names none (--list-metrics lists them)");
    for (const char *p = names; p != NULL && *p != '\0';) {
        size_t len = strcspn(p, ",");
        if (metrics_check(p, len, e) < 0)
            return -1;
        p += len;
        p += *p == ',';
    }
    return 0;
}

static int add_all(struct metrics *m, const char *names, struct err *e)
{
    static const char *const all[] = {
#define X(name, unit, definition) #name,
        METRICS(X)
#undef X
    };
    if (names != NULL) {
        for (const char *p = names; *p != '\0';) {
            size_t len = strcspn(p, ",");
            if (metrics_add(m, p, len, e) < 0)
                return -1;
            p += len;
            p += *p == ',';
        }
        return 0;
    }
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (metrics_add(m, all[i], strlen(all[i]), e) < 0)
            return -1;
    }
    return 0;
}

/* 0, ERR_PARTIAL when some that were asked for are not known, -1 with e filled when none is. */
static int how_many_known(const struct metrics *m, bool asked, struct err *e)
{
    size_t unknown = 0;
    for (size_t i = 0; i < m->count; i++)
        unknown += m->list[i].reason != NULL;
    if (unknown == m->count && m->count > 0)
        return err_set(e, ERR_INPUT, "%s cannot be told: %s", m->list[0].name, m->list[0].reason);
    return asked && unknown > 0 ? ERR_PARTIAL : 0;
}

static int report(const struct metrics_opts *opts, const struct metrics *m, struct err *e)
{
    if (opts->json == NULL || strcmp(opts->json, "-") != 0)
        metrics_text(m, stdout);
    if (opts->json != NULL && cmd_write_json(metrics_json(m), opts->json, e) < 0)
        return -1;
    return how_many_known(m, opts->names != NULL, e);
}

static int measure(const struct metrics_opts *opts, const struct run *run, const struct card *card,
                   struct err *e)
{
    struct metrics_input in = {run, NULL, card, opts->parallel};
    struct analysis a;
    struct metrics m;
    int status;
    if (analysis_init(&a, run, ANALYSIS_ALL_RANKS, e) < 0)
        return -1;
    in.analysis = &a;
    status = metrics_init(&m, &in, e);
    if (status == 0)
        status = add_all(&m, opts->names, e);
    if (status == 0)
        status = report(opts, &m, e);
    metrics_release(&m);
    analysis_release(&a);
    return status;
}

/* The card that lies beside the traces; one that cannot be read is as good as told. */
static int find_card(const struct metrics_opts *opts, const char *dir, struct card *card,
                     struct err *e)
{
    static const char *const names[] = {"workload_card.yaml", "workload_card.yml",
                                        "workload_card.json"};
    char path[4096];
    card_init(card);
    if (opts->card != NULL)
        return card_read(card, opts->card, e);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        FILE *f;
        snprintf(path, sizeof path, "%s/%s", dir, names[i]);
        f = fopen(path, "r");
        if (f == NULL)
            continue;
        fclose(f);
        return card_read(card, path, e);
    }
    return 0;
}

static int load_and_measure(const struct metrics_opts *opts, const char *dir, struct err *e)
{
    struct card card;
    struct run run;
    int status;
    if (find_card(opts, dir, &card, e) < 0)
        return (int)e->code;
    if (cmd_load(&run, dir, opts->run_id, e) < 0) {
        run_release(&run);
        return (int)e->code;
    }
    cmd_notes(&run);
    status = limits_check(&run, e) < 0 ? -1 : measure(opts, &run, &card, e);
    if (status < 0)
        status = (int)e->code;
    else if (run_partial(&run))
        status = ERR_PARTIAL;
    run_release(&run);
    return status;
}

static int run_metrics(const struct command *self, int argc, char **argv, struct err *e)
{
    struct metrics_opts opts = {0};
    int n, status = cmd_parse(self, &opts, argc, argv, false, &n, e);
    if (status >= 0)
        return status;
    if (n > 1) {
        err_set(e, ERR_USAGE, "one DIR at a time: '%s' is too much (see 'specter help metrics')",
                argv[1]);
        return ERR_USAGE;
    }
    if (check_names(opts.names, e) < 0)
        return (int)e->code;
    if (opts.list) {
        metrics_list(stdout);
        return 0;
    }
    return load_and_measure(&opts, cmd_input(n, argv), e);
}

const struct command cmd_metrics = {
    .name = "metrics",
    .synopsis = "metrics [DIR] [--metric NAME[,NAME]] [--card FILE] [--parallel GRID] [--json "
                "FILE|-] [--run ID]\nmetrics --list-metrics",
    .summary = "print single numbers of a recorded run, by name",
    .details = details,
    .rows = rows,
    .run = run_metrics,
};
