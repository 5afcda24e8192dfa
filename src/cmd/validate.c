/* SPDX-License-Identifier: MIT
 *
 * specter validate: the models against measured times.
 */
#include "calib/score.h"
#include "base/whole_file.h"
#include "cmd/cmd.h"
#include "cmd/hardware.h"
#include "cmd/measured_file.h"
#include "report/calib_report.h"

#include <stdio.h>
#include <string.h>

struct validate_opts {
    const char *gpu, *network, *json, *rows, *leave_out, *format;
    int64_t worst; /* or WORST_UNSET */
    bool parameters, full;
};

#define WORST_DEFAULT 10
#define WORST_UNSET INT64_MIN

#define AT(field) offsetof(struct validate_opts, field)

static const struct opt rows[] = {
    {"gpu", 0, OPT_STR, AT(gpu), "NAME|FILE",
     "the GPU of rows that name none, or this one: a FILE's profile takes the place of its name"},
    {"network", 0, OPT_STR, AT(network), "NAME|FILE", "the same for networks"},
    {"leave-one-out", 0, OPT_STR, AT(leave_out), "source|gpu",
     "fit the parameters without each, and score on it"},
    {"full", 0, OPT_FLAG, AT(full), NULL, "print every table; so do the next three"},
    {"worst", 0, OPT_I64, AT(worst), "N", "show the N rows with the largest errors; default 10"},
    {"parameters", 0, OPT_FLAG, AT(parameters), NULL, "list the fitted parameters in use"},
    {"format", 0, OPT_STR, AT(format), "table|md", "how tables look; md: Markdown"},
    {"rows", 0, OPT_STR, AT(rows), "FILE", "write each row with its prediction as CSV"},
    {"json", 0, OPT_STR, AT(json), "FILE|-",
     "write everything as JSON; -: to stdout, in place of the text"},
    OPT_END,
};

static const char details[] =
    "Reads measured times of collectives, of messages (p2p) or of GEMMs (gemm), predicts each,\n"
    "and says how far off predictions are and where they are worst. --full prints the error by\n"
    "class: median, mean and 90 % quantile of |predicted - measured| / measured, bias (the median\n"
    "with its sign) and the share of rows whose error is at most 25 %. FILE is CSV, its columns "
    "found by the names in its header\n"
    "(docs/validate.md), or a log of nccl-tests, plain or gzip; of a folder all *.csv are taken.\n"
    "\n"
    "A row is scored when it names a known gpu_profile and network_profile (the latter not for\n"
    "gemm) and its notes do not say 'doubtful'. Every other row is counted with its reason.\n"
    "\n"
    "What is compiled in was fitted on measurements, perhaps on these. With --leave-one-out each\n"
    "row is predicted by parameters that are fitted on other rows: without all of the row's GPU,\n"
    "or, by source where two sources have measured a machine (GPU and network), without what the\n"
    "row's source says of this GPU on any network.\n"
    "\n"
    "Exit status: 0 done, 2 bad option, 3 no usable table or no row that can be scored, 4 some\n"
    "rows could not be read.";

/* Profiles from files live in the arena. */
static int check_opts(const struct validate_opts *o, int n, struct arena *a,
                      struct measured_opts *out, struct err *e)
{
    static const char *const formats[] = {"table", "md", NULL};
    struct profile_pair named;
    if (n == 0)
        return err_set(e, ERR_USAGE, "no FILE given (see 'specter help validate')");
    if (o->worst < 0 && o->worst != WORST_UNSET)
        return err_set(e, ERR_USAGE, "--worst: %lld is out of range", (long long)o->worst);
    if (o->format != NULL && opt_word("--format", o->format, formats, e) < 0)
        return -1;
    if (o->leave_out != NULL && loo_parse(o->leave_out) == LOO_NONE)
        return err_set(e, ERR_USAGE, "--leave-one-out: '%.64s' is neither source nor gpu",
                       o->leave_out);
    if (cmd_machine(o->gpu, o->network, a, &named, e) < 0)
        return -1;
    *out = (struct measured_opts){named.gpu, named.network};
    return 0;
}

static int write_rows(const struct validation *v, const char *path, struct err *e)
{
    struct whole_file f;
    if (whole_file_open(&f, path, e) < 0)
        return -1;
    validate_rows(v, f.out);
    return whole_file_close(&f, e);
}

/* Scores what was read. 0, or -1 with e filled. */
static int validate(const struct validate_opts *o, struct measured *m, struct err *e)
{
    struct score s;
    struct used_params params = {0};
    struct validation v = {
        .measured = m,
        .score = &s,
        .params = &params,
        .worst = o->worst == WORST_UNSET ? WORST_DEFAULT : (size_t)o->worst,
        .left_out = o->leave_out,
        .list_params = o->parameters,
        .markdown = o->format != NULL && strcmp(o->format, "md") == 0,
    };
    const bool full = o->full || o->parameters || o->format != NULL || o->worst != WORST_UNSET;
    int status = 0;
    score_init(&s);
    if (o->leave_out != NULL)
        status = loo_score(&s, m, loo_parse(o->leave_out), &v.fits, e);
    else
        score_predict(&s, m);
    for (size_t i = 0; i < s.nrows; i++)
        used_params_add(&params, s.rows[i].row);
    used_params_sort(&params);
    score_finish(&s);
    coverage_of(&s, v.cover);
    if (status == 0 && (o->json == NULL || strcmp(o->json, "-") != 0))
        (full ? validate_text : validate_summary)(&v, stdout);
    if (status == 0 && o->json != NULL)
        status = cmd_write_json(validate_json(&v), o->json, e);
    if (status == 0 && o->rows != NULL)
        status = write_rows(&v, o->rows, e);
    if (status == 0 && s.nrows == 0)
        status = err_set(e, ERR_INPUT, "no row can be scored");
    used_params_release(&params);
    score_release(&s);
    return status;
}

static int run_validate(const struct command *self, int argc, char **argv, struct err *e)
{
    struct validate_opts opts = {.worst = WORST_UNSET};
    struct measured_opts how;
    struct measured m;
    bool damaged = false;
    int n, status = cmd_parse(self, &opts, argc, argv, false, &n, e);
    if (status != 0)
        return status;
    measured_init(&m);
    status = check_opts(&opts, n, &m.arena, &how, e);
    for (int i = 0; status == 0 && i < n; i++)
        status = cmd_measured_read(&m, argv[i], &how, e);
    for (size_t i = 0; status == 0 && i < m.nfiles; i++) {
        if (m.files[i].why != NULL)
            fprintf(stderr, "specter: note: passed over: %s\n", m.files[i].why);
    }
    if (status == 0)
        status = validate(&opts, &m, e);
    for (size_t i = 0; i < m.nskips; i++)
        damaged = damaged || m.skips[i].damaged;
    status = status < 0 ? (int)e->code : damaged ? ERR_PARTIAL : 0;
    measured_release(&m);
    return status;
}

const struct command cmd_validate = {
    .name = "validate",
    .synopsis = "validate FILE..." SYNOPSIS_ALL,
    .summary = "compare the models with measured times",
    .details = details,
    .rows = rows,
    .paged = true,
    .run = run_validate,
};
