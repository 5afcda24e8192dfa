/* SPDX-License-Identifier: MIT
 *
 * On published measurements (../shared): what one collective of a machine tells of another one. The
 * parameters start from a fit that has not seen this GPU.
 */
#include "base/stats.h"
#include "calib/calibrate.h"
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Median |predicted / measured - 1| of a collective, on `machine`. */
static double error_of(const struct measured *m, const struct fit_machine *machine,
                       enum specter_comm_op op)
{
    double *apes = calloc(m->nrows, sizeof *apes), median;
    size_t n = 0;
    for (size_t i = 0; i < m->nrows; i++) {
        const struct measured_row *row = &m->rows[i];
        struct row_prediction p;
        if (row->gpu == machine->of_gpu && row->net == machine->of_net && row->op == op &&
            predict_row(row, &machine->gpu, &machine->net, &p, NULL) == 0)
            apes[n++] = fabs(p.us / row->time_us - 1);
    }
    median = stats_quantile(apes, n, 0.5);
    free(apes);
    return median;
}

/* The machine with the parameters of all others, fitted to every third row of theirs. */
static struct fit_machine unseen(const struct measured *m, const char *gpu, const char *net)
{
    struct fit_machine found = {0};
    struct fitted_classes classes;
    struct fit_rows rows;
    bool *leave_out = calloc(m->nrows, sizeof *leave_out);
    fit_rows_init(&rows, m->rows, m->nrows);
    for (size_t i = 0; i < rows.nrows; i++)
        leave_out[i] = strcmp(rows.rows[i].row->gpu->name, gpu) == 0 || i % 3 != 0;
    CHECK_INT(classes_fit(&classes, &rows, &(struct classes_opts){.leave_out = leave_out}, NULL),
              0);
    for (size_t i = 0; i < rows.nmachines; i++) {
        if (strcmp(rows.machines[i].gpu.name, gpu) == 0 &&
            strcmp(rows.machines[i].net.name, net) == 0)
            found = rows.machines[i];
    }
    classes_release(&classes);
    fit_rows_release(&rows);
    free(leave_out);
    return found;
}

/* Calibrates the machine on one collective. */
static void calibrate_on(const struct measured *m, struct fit_machine *machine,
                         enum specter_comm_op op)
{
    struct measured_row *own = calloc(m->nrows, sizeof *own);
    struct calibration c;
    struct cross_validation v;
    struct fit_rows rows;
    size_t n = 0;
    for (size_t i = 0; i < m->nrows; i++) {
        if (m->rows[i].gpu == machine->of_gpu && m->rows[i].net == machine->of_net &&
            m->rows[i].op == op)
            own[n++] = m->rows[i];
    }
    fit_rows_init(&rows, own, n);
    rows.machines[0] = *machine;
    calibration_init(&c, &rows);
    CHECK_INT(cross_validate_run(&c, &v, NULL), 0);
    cross_validation_release(&v);
    *machine = rows.machines[0];
    fit_rows_release(&rows);
    free(own);
}

#define PAIRS_MAX 60 /* five machines, four collectives, the three others */

/* Pairs of collectives, one to calibrate on, one to predict. */
struct pair_errors {
    double before[PAIRS_MAX], after[PAIRS_MAX];
    size_t n, kept; /* kept: those that get better, or worse by at most a point */
};

/* Calibrates on each collective in turn. Prints the errors of the others and counts. */
static void try_machine(const struct measured *m, const char *gpu, const char *net,
                        struct pair_errors *tally)
{
    static const enum specter_comm_op ops[] = {SPECTER_ALLREDUCE, SPECTER_ALLGATHER,
                                               SPECTER_REDUCESCATTER, SPECTER_ALLTOALL};
    const struct fit_machine start = unseen(m, gpu, net);
    for (size_t on = 0; on < sizeof ops / sizeof *ops; on++) {
        struct fit_machine machine = start;
        calibrate_on(m, &machine, ops[on]);
        printf("# %s, calibrated on %s:", gpu, specter_comm_op_name(ops[on]));
        for (size_t other = 0; other < sizeof ops / sizeof *ops; other++) {
            double before = error_of(m, &start, ops[other]);
            double after = error_of(m, &machine, ops[other]);
            printf(" %s %.1f -> %.1f %%", specter_comm_op_name(ops[other]), 100 * before,
                   100 * after);
            if (on == other)
                continue;
            tally->kept += after <= before + 0.01;
            tally->before[tally->n] = before;
            tally->after[tally->n++] = after;
        }
        puts("");
    }
}

TEST(calibrating_on_one_collective_improves_the_others)
{
    static const char *const machines[][2] = {
        {"l40s", "l40s_pcie4"},
        {"h100_sxm", "dgx_h100_400g"},
        {"a100_sxm", "dgx_a100_200g"},
        {"b200_sxm", "dgx_b200_400g"},
        {"rtx_pro_6000", "rtx_pro_6000_pcie5"},
    };
    const char *path = test_shared("data/measured/collectives.csv");
    struct measured m;
    struct pair_errors t = {.n = 0};
    double before, after;
    if (path == NULL)
        SKIP("no ../shared data");
    measured_init(&m);
    CHECK_INT(measured_read(&m, path, &(struct measured_opts){0}, NULL), 0);
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++)
        try_machine(&m, machines[i][0], machines[i][1], &t);
    before = stats_quantile(t.before, t.n, 0.5);
    after = stats_quantile(t.after, t.n, 0.5);
    printf("# %zu of %zu get better or stay within a point; median %.1f -> %.1f %%\n", t.kept, t.n,
           100 * before, 100 * after);
    CHECK(t.n == PAIRS_MAX && t.kept * 10 >= t.n * 9);
    /* Rows of l40s contradict each other, those of b200 have little to gain. */
    CHECK(after < 0.75 * before);
    measured_release(&m);
}
