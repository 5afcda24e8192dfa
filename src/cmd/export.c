/* SPDX-License-Identifier: MIT
 *
 * specter export: a recorded run in the formats of other tools.
 */
#include "cmd/cmd.h"
#include "cmd/shard.h"
#include "report/export.h"
#include "trace/run.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define ALL_RANKS INT64_MIN

struct export_opts {
    struct shard_opts share;
    bool strict;
    const char *name, *output, *run_id;
    enum export_format format; /* of that name */
    int64_t rank;
};

static const struct opt rows[] = {
    {"format", 0, OPT_STR, offsetof(struct export_opts, name), "NAME",
     "perfetto, chrome, csv or chakra"},
    {"output", 'o', OPT_STR, offsetof(struct export_opts, output), "PATH",
     "where to; -: stdout (perfetto, chrome)"},
    {"rank", 0, OPT_I64, offsetof(struct export_opts, rank), "N", "only this rank"},
    {"run", 0, OPT_STR, offsetof(struct export_opts, run_id), "ID",
     "this run, where DIR holds several (default: the newest)"},
    {"strict", 0, OPT_FLAG, offsetof(struct export_opts, strict), NULL, STRICT_HELP},
    SHARD_ROWS(struct export_opts, share),
    OPT_END,
};

static const char details[] =
    "Reads the traces in DIR (a folder, file or archive; default: $SPECTER_OUTPUT, else ./traces)\n"
    "and writes them as:\n"
#define X(id, name, path, help) "  " #name ": " help "; default -o " path "\n"
    EXPORT_FORMATS(X)
#undef X
        "\n"
        "Ranks are put on one timeline as far as their clocks can be aligned. A file whose name\n"
        "ends in .gz is compressed. docs/export.md describes the formats.\n"
        "\n"
        "Exit status: 0 done, 3 no usable input, or not written, 4 part of the input was lost.";

static const char *const paths[] = {
#define X(id, name, path, help) path,
    EXPORT_FORMATS(X)
#undef X
};

static int format_of(const char *name, enum export_format *out, struct err *e)
{
    static const char *const names[] = {
#define X(id, name, path, help) #name,
        EXPORT_FORMATS(X)
#undef X
            NULL};
    int word;
    if (name == NULL)
        return err_set(e, ERR_USAGE,
                       "--format is missing: perfetto, chrome, csv or chakra (see 'specter help "
                       "export')");
    word = opt_word("--format", name, names, e);
    if (word < 0)
        return -1;
    *out = (enum export_format)word;
    return 0;
}

static int write_run(void *arg, const struct run *run, struct err *e)
{
    const struct export_opts *opts = arg;
    const char *path = opts->output != NULL ? opts->output : paths[opts->format];
    size_t only = SIZE_MAX; /* all */
    for (size_t r = 0; r < run->nranks && opts->rank != ALL_RANKS; r++) {
        if (run->ranks[r].rank == opts->rank)
            only = r;
    }
    if (opts->rank != ALL_RANKS && only == SIZE_MAX)
        return err_set(e, ERR_INPUT, "there is no rank %" PRId64 " in %s", opts->rank, run->source);
    if (export_file(run, opts->format, path, only, e) < 0)
        return -1;
    if (strcmp(path, "-") != 0)
        fprintf(stderr, "specter: %zu rank%s in %s\n", only == SIZE_MAX ? run->nranks : 1,
                only == SIZE_MAX && run->nranks > 1 ? "s" : "", path);
    return 0;
}

static int run_export(const struct command *self, int argc, char **argv, struct err *e)
{
    struct export_opts opts = {.rank = ALL_RANKS};
    int n, status = cmd_parse(self, &opts, argc, argv, false, &n, e);
    if (status != 0)
        return status;
    if (cmd_one_dir(self, n, argv, e) < 0)
        return ERR_USAGE;
    if (opts.share.shard != NULL && (opts.name != NULL || opts.output != NULL))
        return shard_no_answer(e);
    if (opts.share.shard != NULL)
        return shard_write(self->name, cmd_input(n, argv), opts.run_id, &opts.share, e);
    if (format_of(opts.name, &opts.format, e) < 0)
        return ERR_USAGE;
    return cmd_with_run(cmd_input(n, argv), opts.run_id,
                        CMD_UNCHECKED | (opts.strict ? CMD_STRICT : 0), write_run, &opts, e);
}

const struct command cmd_export = {
    .name = "export",
    .synopsis = "export [DIR] --format perfetto|chrome|csv|chakra" SYNOPSIS_ALL,
    .summary = "write a recorded run in the formats of other tools",
    .details = details,
    .rows = rows,
    .run = run_export,
};
