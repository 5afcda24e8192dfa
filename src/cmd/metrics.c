/* SPDX-License-Identifier: MIT
 *
 * specter metrics: single numbers of a recorded run, by name.
 */
#include "cmd/cmd.h"
#include "cmd/shard.h"
#include "metrics/metrics.h"
#include "report/metrics_report.h"
#include "trace/run.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

struct metrics_opts {
    struct shard_opts share;
    bool strict;
    const char *names, *json, *card_path, *run_id, *parallel;
    bool list, full;
    struct card card;
};

static const struct opt rows[] = {
    {"metric", 0, OPT_STR, offsetof(struct metrics_opts, names), "NAME[,NAME]",
     "which ones (default: all)"},
    {"list-metrics", 0, OPT_FLAG, offsetof(struct metrics_opts, list), NULL,
     "list them, each with its unit and definition"},
    {"full", 0, OPT_FLAG, offsetof(struct metrics_opts, full), NULL,
     "print what each is made of (so does --metric)"},
    {"card", 0, OPT_STR, offsetof(struct metrics_opts, card_path), "FILE",
     "workload card, YAML or JSON: batch, sequence length, parameters, ..."},
    {"parallel", 0, OPT_STR, offsetof(struct metrics_opts, parallel), "GRID",
     "the parallel grid, such as tp=8,pp=2,dp=4 (default: the card's, else found)"},
    {"json", 0, OPT_STR, offsetof(struct metrics_opts, json), "FILE|-",
     "write them as JSON; -: to stdout, in place of the text"},
    {"run", 0, OPT_STR, offsetof(struct metrics_opts, run_id), "ID",
     "this run, where DIR holds several (default: the newest)"},
    {"strict", 0, OPT_FLAG, offsetof(struct metrics_opts, strict), NULL, STRICT_HELP},
    SHARD_ROWS(struct metrics_opts, share),
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

/* names: separated by commas; NULL: all. */
static int add_names(struct metrics *m, const char *names, struct err *e)
{
#define X(name, unit, definition) #name ","
    static const char all[] = METRICS(X);
#undef X
    for (const char *p = names != NULL ? names : all; *p != '\0';) {
        size_t len = strcspn(p, ",");
        if (metrics_add(m, p, len, e) < 0)
            return -1;
        p += len;
        p += *p == ',';
    }
    return 0;
}

/* 0, ERR_PARTIAL when some that were asked for are not known, -1 with e filled, also when none is
 * known. */
static int measure(void *arg, const struct run *run, struct err *e)
{
    const struct metrics_opts *opts = arg;
    struct metrics_input in = {run, NULL, &opts->card, opts->parallel};
    struct analysis a;
    struct metrics m;
    size_t unknown = 0;
    int status;
    if (analysis_init(&a, run, ANALYSIS_ALL_RANKS, e) < 0)
        return -1;
    in.analysis = &a;
    status = metrics_init(&m, &in, e);
    if (status == 0)
        status = add_names(&m, opts->names, e);
    if (status == 0 && (opts->json == NULL || strcmp(opts->json, "-") != 0))
        (opts->full || opts->names != NULL ? metrics_text : metrics_summary)(&m, stdout);
    if (status == 0 && opts->json != NULL)
        status = cmd_write_json(metrics_json(&m), opts->json, e);
    for (size_t i = 0; status == 0 && i < m.count; i++)
        unknown += m.list[i].reason != NULL;
    if (unknown > 0 && unknown == m.count)
        status = err_set(e, ERR_INPUT, "%s cannot be told: %s", m.list[0].name, m.list[0].reason);
    else if (unknown > 0 && opts->names != NULL)
        status = ERR_PARTIAL;
    metrics_release(&m);
    analysis_release(&a);
    return status;
}

static int run_metrics(const struct command *self, int argc, char **argv, struct err *e)
{
    struct metrics_opts opts = {0};
    const char *dir;
    int n, status = cmd_parse(self, &opts, argc, argv, false, &n, e);
    if (status != 0)
        return status;
    if (cmd_one_dir(self, n, argv, e) < 0 || check_names(opts.names, e) < 0)
        return (int)e->code;
    if (opts.list) {
        metrics_list(stdout);
        return 0;
    }
    dir = cmd_input(n, argv);
    if (opts.share.shard != NULL && (opts.names != NULL || opts.json != NULL || opts.full))
        return shard_no_answer(e);
    if (opts.share.shard != NULL)
        return shard_write(self->name, dir, opts.run_id, &opts.share, e);
    status = opts.card_path != NULL ? card_read(&opts.card, opts.card_path, e)
                                    : card_find(&opts.card, dir, e);
    if (status < 0)
        return (int)e->code;
    return cmd_with_run(dir, opts.run_id, opts.strict ? CMD_STRICT : 0, measure, &opts, e);
}

const struct command cmd_metrics = {
    .name = "metrics",
    .synopsis = "metrics [DIR]" SYNOPSIS_ALL "\nmetrics --list-metrics",
    .summary = "print single numbers of a recorded run, by name",
    .details = details,
    .rows = rows,
    .paged = true,
    .run = run_metrics,
};
