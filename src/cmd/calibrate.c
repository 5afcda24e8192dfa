/* SPDX-License-Identifier: MIT
 *
 * specter calibrate: the models' parameters, fitted to measured times of one machine, or of all.
 */
#include "base/buf.h"
#include "base/whole_file.h"
#include "calib/calibrate.h"
#include "cmd/cmd.h"
#include "cmd/hardware.h"
#include "cmd/measured_file.h"
#include "model/profile_json.h"
#include "report/calib_report.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

struct calibrate_opts {
    const char *output, *gpu, *network, *params, *fix;
    bool classes, full;
};

#define AT(field) offsetof(struct calibrate_opts, field)

static const struct opt calibrate_rows[] = {
    {"output", 'o', OPT_STR, AT(output), "FILE", "the profile to write, JSON; -: stdout"},
    {"gpu", 0, OPT_STR, AT(gpu), "NAME|FILE", "calibrate this GPU's rows; FILE: start from it"},
    {"network", 0, OPT_STR, AT(network), "NAME|FILE", "and those of this network"},
    {"params", 0, OPT_STR, AT(params), "A,B", "fit only these parameters"},
    {"fix", 0, OPT_STR, AT(fix), "A,B", "leave these as they are"},
    {"full", 0, OPT_FLAG, AT(full), NULL, "print every class of rows and every parameter"},
    {"classes", 0, OPT_FLAG, AT(classes), NULL,
     "fit all machines by classes; -o FILE is then profiles/fitted.def"},
    OPT_END,
};

/* The machine that is calibrated. Rows are told by the profiles' names. */
struct choice {
    const struct gpu_profile *gpu;
    const struct network_profile *net; /* NULL: rows of GEMMs only */
    struct overlap_fit overlap;        /* of this GPU; 0 rows: not measured */
    const struct measured_row *rows;   /* of this machine: borrowed */
    size_t nrows;
};

/* ---- which machine ---- */

/* Where only overlap was measured: the GPU of its rows, unless the command line names one. */
static int choose_gpu(const struct measured *m, struct choice *c, struct err *e)
{
    const bool named = c->gpu != NULL;
    for (size_t i = 0; i < m->noverlaps && !named; i++) {
        const struct gpu_profile *gpu = m->overlaps[i].of.gpu;
        if (c->gpu != NULL && c->gpu != gpu)
            return err_set(e, ERR_USAGE,
                           "the rows are of several GPUs: choose one by --gpu: %s, %s",
                           c->gpu->name, gpu->name);
        c->gpu = gpu;
    }
    return 0;
}

/* Fills in what the command line leaves open, from the rows; -1 when they name several. */
static int choose_machine(const struct measured *m, struct choice *c, struct err *e)
{
    const struct choice wish = *c;
    struct buf names = BUF_INIT;
    bool several = false;
    size_t n = 0;
    for (size_t i = 0; i < m->nrows; i++) {
        const struct measured_row *row = &m->rows[i];
        char name[160];
        if ((wish.gpu != NULL && row->gpu != wish.gpu) ||
            (wish.net != NULL && row->net != NULL && row->net != wish.net))
            continue;
        n++;
        several |= (c->gpu != NULL && c->gpu != row->gpu) ||
                   (c->net != NULL && row->net != NULL && c->net != row->net);
        c->gpu = row->gpu;
        c->net = row->net != NULL ? row->net : c->net;
        snprintf(name, sizeof name, "%s%s%s, ", row->gpu->name, row->net != NULL ? "/" : "",
                 row->net != NULL ? row->net->name : "");
        if (strstr(names.data, name) == NULL)
            buf_puts(&names, name);
    }
    if (n == 0)
        err_set(e, ERR_INPUT, "no row of %s%s%s can be used",
                wish.gpu != NULL ? wish.gpu->name : "any machine", wish.net != NULL ? " in " : "",
                wish.net != NULL ? wish.net->name : "");
    else if (several)
        err_set(e, ERR_USAGE,
                "the rows are of several machines: choose one by --gpu and "
                "--network: %.*s",
                (int)names.len - 2, names.data);
    buf_release(&names);
    return n == 0 || several ? -1 : 0;
}

/* ---- what is fitted ---- */

static int for_each_name(const char *list, struct calibration *c,
                         int (*apply)(struct calibration *, const char *, struct err *),
                         struct err *e)
{
    char *copy, *save = NULL;
    int status = 0;
    if (list == NULL)
        return 0;
    copy = strdup(list);
    if (copy == NULL)
        die("out of memory");
    for (char *name = strtok_r(copy, ",", &save); name != NULL && status == 0;
         name = strtok_r(NULL, ",", &save))
        status = apply(c, name, e);
    free(copy);
    return status;
}

static void score_rows(struct score *s, const struct fit_rows *rows)
{
    score_init(s);
    for (size_t i = 0; i < rows->nrows; i++) {
        struct row_prediction p;
        if (fit_rows_predict(rows, i, &p, NULL) == 0)
            score_add(s, rows->rows[i].row, &p, false);
    }
    score_finish(s);
}

/* The machine whose GEMMs, or whose transfers, are among the rows. */
static const struct fit_machine *machine_with(const struct fit_rows *rows, bool network)
{
    for (size_t i = 0; i < rows->nmachines; i++) {
        if ((rows->machines[i].of_net != NULL) == network)
            return &rows->machines[i];
    }
    return NULL;
}

/* ---- what is written ---- */

/* The profiles with the fitted values as their own. c: NULL where only overlap was measured.
 * left_out: of rows that had no part in the fit. */
static cJSON *profile_doc(const struct calibration *c, const struct score *left_out,
                          const struct choice *of)
{
    const struct fit_machine *gemms = c != NULL ? machine_with(c->rows, false) : NULL;
    const struct fit_machine *transfers = c != NULL ? machine_with(c->rows, true) : NULL;
    struct gpu_profile gpu = *of->gpu;
    struct network_profile net = {0};
    cJSON *doc = cJSON_CreateObject();
    if (transfers != NULL)
        net = transfers->net;
    if (c != NULL)
        cross_validate_factors(left_out, &gpu, &net);
    if (gemms != NULL)
        gpu.gemm = gemms->gpu.gemm;
    if (of->overlap.sm.rows > 0)
        gpu.overlap_sm = of->overlap.sm.factor;
    if (of->overlap.memory.rows > 0)
        gpu.overlap_memory = of->overlap.memory.factor;
    cJSON_AddItemToObject(doc, "gpu", profile_json_object(&gpu_kind, &gpu));
    if (transfers != NULL)
        cJSON_AddItemToObject(doc, "network", profile_json_object(&network_kind, &net));
    return doc;
}

static int write_classes(const struct fitted_classes *c, const char *path, struct err *e)
{
    struct whole_file f;
    if (strcmp(path, "-") == 0) {
        classes_write(c, stdout);
        return 0; /* main checks that stdout took it */
    }
    if (whole_file_open(&f, path, e) < 0)
        return -1;
    classes_write(c, f.out);
    return whole_file_close(&f, e);
}

/* ---- the two jobs ---- */

static int calibrate_rows_of(const struct calibrate_opts *o, const struct choice *of,
                             struct fit_rows *rows, FILE *talk, struct err *e)
{
    struct calibration c;
    struct cross_validation v;
    struct score before, after;
    int status;
    calibration_init(&c, rows);
    score_rows(&before, rows);
    score_init(&after);
    status = for_each_name(o->params, &c, calibration_only, e);
    if (status == 0)
        status = for_each_name(o->fix, &c, calibration_fix, e);
    if (status == 0)
        status = cross_validate_run(&c, &v, e);
    if (status == 0) {
        score_rows(&after, rows);
        const struct calibrate_report report = {
            .gpu = of->gpu->name,
            .network = of->net != NULL ? of->net->name : NULL,
            .c = &c,
            .v = &v,
            .before = &before,
            .after = &after,
            .overlap = &of->overlap,
            .contradiction = measured_contradiction(of->rows, of->nrows),
        };
        (o->full ? calibrate_text : calibrate_summary)(&report, talk);
        status = cmd_write_json(profile_doc(&c, &v.left_out, of), o->output, e);
        cross_validation_release(&v);
    }
    score_release(&after);
    score_release(&before);
    return status;
}

static int calibrate_machine(const struct calibrate_opts *o, struct measured *m, struct choice *of,
                             FILE *talk, struct err *e)
{
    struct fit_rows rows;
    size_t n = 0, noverlaps = 0;
    int status;
    if (m->nrows == 0 ? choose_gpu(m, of, e) < 0 : choose_machine(m, of, e) < 0)
        return -1;
    /* The GPU's rows of overlap, and then the machine's rows, move to the front of their table. */
    for (size_t i = 0; i < m->noverlaps; i++) {
        if (m->overlaps[i].of.gpu == of->gpu)
            m->overlaps[noverlaps++] = m->overlaps[i];
    }
    of->overlap = overlap_fit(m->overlaps, noverlaps);
    if (m->nrows == 0) {
        if (of->overlap.sm.rows + of->overlap.memory.rows == 0)
            return err_set(e, ERR_INPUT, "no row of %s can be used", of->gpu->name);
        fprintf(talk, "%s: overlap alone, the rest is as it was\n", of->gpu->name);
        calibrate_text_overlap(&of->overlap, talk);
        return cmd_write_json(profile_doc(NULL, NULL, of), o->output, e);
    }
    for (size_t i = 0; i < m->nrows; i++) {
        if (m->rows[i].gpu == of->gpu && (m->rows[i].net == NULL || m->rows[i].net == of->net))
            m->rows[n++] = m->rows[i];
    }
    of->rows = m->rows;
    of->nrows = n;
    fit_rows_init(&rows, m->rows, n);
    if (rows.nrows == 0)
        status = err_set(e, ERR_INPUT, "the models can predict no row of %s", of->gpu->name);
    else
        status = calibrate_rows_of(o, of, &rows, talk, e);
    fit_rows_release(&rows);
    return status;
}

static int calibrate_classes(const struct calibrate_opts *o, struct measured *m, FILE *talk,
                             struct err *e)
{
    struct fitted_classes classes;
    struct fit_rows rows;
    struct score before, after;
    int status;
    fit_rows_init(&rows, m->rows, m->nrows);
    score_rows(&before, &rows);
    status = classes_fit(&classes, &rows, &(struct classes_opts){0}, e);
    if (status == 0) {
        score_rows(&after, &rows);
        calibrate_text_errors(&before, &after, NULL, talk);
        fputc('\n', talk);
        calibrate_text_classes(&classes, talk);
        fprintf(talk, "\n%zu fitted parameters for %zu rows\n", classes_parameters(&classes),
                rows.nrows);
        score_release(&after);
        status = write_classes(&classes, o->output, e);
    }
    classes_release(&classes);
    score_release(&before);
    fit_rows_release(&rows);
    return status;
}

static int check_opts(const struct calibrate_opts *o, int n, struct arena *a, struct choice *choice,
                      struct err *e)
{
    struct profile_pair named;
    if (n == 0)
        return err_set(e, ERR_USAGE, "no FILE given (see 'specter help calibrate')");
    if (o->output == NULL)
        return err_set(e, ERR_USAGE, "-o is needed (see 'specter help calibrate')");
    if (o->classes && (o->gpu || o->network || o->params || o->fix))
        return err_set(e, ERR_USAGE,
                       "--classes fits all parameters of all machines: no --gpu, --network, "
                       "--params or --fix beside it");
    if (cmd_machine(o->gpu, o->network, a, &named, e) < 0)
        return -1;
    *choice = (struct choice){.gpu = named.gpu, .net = named.network};
    return 0;
}

/* Returns -1. */
static int no_rows(const struct measured *m, struct err *e)
{
    size_t count;
    struct skip_count *reasons = validate_skip_counts(m, &count);
    if (count > 0)
        err_set(e, ERR_INPUT, "no row can be used: %zu of %zu: %s (%s:%zu)", reasons[0].n,
                m->nskips, reasons[0].first->reason, reasons[0].first->file,
                reasons[0].first->line);
    else
        err_set(e, ERR_INPUT, "no row can be used: the tables are empty");
    free(reasons);
    return -1;
}

static int calibrate(const struct calibrate_opts *o, int n, char **argv, struct choice *choice,
                     struct err *e)
{
    FILE *talk = strcmp(o->output, "-") == 0 ? stderr : stdout;
    const struct measured_opts how = {.gpu = choice->gpu, .net = choice->net};
    struct measured m;
    bool damaged = false;
    int status = 0;
    measured_init(&m);
    for (int i = 0; status == 0 && i < n; i++)
        status = cmd_measured_read(&m, argv[i], &how, e);
    if (status == 0 && m.nrows == 0 && (o->classes || m.noverlaps == 0))
        status = no_rows(&m, e);
    if (status == 0)
        status = o->classes ? calibrate_classes(o, &m, talk, e)
                            : calibrate_machine(o, &m, choice, talk, e);
    for (size_t i = 0; i < m.nskips; i++)
        damaged = damaged || m.skips[i].damaged;
    if (status == 0 && damaged) {
        fprintf(stderr, "specter: note: some rows could not be read; 'specter validate' says "
                        "which\n");
        status = ERR_PARTIAL;
    }
    measured_release(&m);
    return status;
}

static int run_calibrate(const struct command *self, int argc, char **argv, struct err *e)
{
    struct calibrate_opts opts = {0};
    struct choice choice = {0};
    struct arena a;
    int n, status = cmd_parse(self, &opts, argc, argv, false, &n, e);
    if (status != 0)
        return status;
    arena_init(&a);
    status = check_opts(&opts, n, &a, &choice, e);
    if (status == 0)
        status = calibrate(&opts, n, argv, &choice, e);
    arena_release(&a);
    return status < 0 ? (int)e->code : status;
}

const struct command cmd_calibrate = {
    .name = "calibrate",
    .synopsis = "calibrate FILE... -o profile.json" SYNOPSIS_ALL
                "\ncalibrate FILE... --classes -o fitted.def",
    .summary = "fit the models to measured times of a machine",
    .details =
        "Fits the parameters of one machine to its rows in tables of measured times (those of\n"
        "'specter validate') or in logs of nccl-tests, by relative error and robustly, starting\n"
        "from what is known of its kind, and writes a profile for --gpu and --network.\n"
        "\n"
        "As many parameters are fitted as predict rows better that had no part in the fit: none,\n"
        "the few that differ most between machines, or all. A parameter that the rows do not\n"
        "determine stays near its value from before; the command names it and what to measure.\n"
        "\n"
        "With --classes all machines are fitted together, by GPU architecture, fabric and\n"
        "transport: the table that specter is built with. See docs/calibrate.md.",
    .rows = calibrate_rows,
    .run = run_calibrate,
};
