/* SPDX-License-Identifier: MIT
 *
 * Which measurement answers most to a parameter: by asking the models, over a grid of what people
 * measure.
 */
#include "calib/calibrate.h"

#include "base/buf.h"
#include "calib/predict_row.h"

#include <math.h>
#include <stdio.h>

#define NUDGE 1.02
#define ANSWERS 0.02 /* a time that follows a parameter by less than this does not answer to it */
#define CLEARLY 0.9  /* of the best answer: the first such row of the grid is named */

struct sensitivity {
    double share; /* d log(time) / d log(parameter) */
    struct measured_row row;
};

static double time_with(const struct fit_machine *machine, const struct measured_row *row,
                        enum param_group group, const double *values)
{
    struct fit_machine m = *machine;
    struct row_prediction p;
    fit_rows_set(&m, group, values);
    return predict_row(row, &m.gpu, row->kind == MEASURED_GEMM ? NULL : &m.net, &p, NULL) < 0
               ? NAN
               : p.us;
}

static void ask(const struct fit_machine *m, const struct measured_row *row, enum param_group group,
                size_t param, struct sensitivity *best)
{
    const struct param *p = &param_tables[group].params[param];
    double values[FIT_PARAMS_MAX], base, share;
    double nudge;
    fit_rows_get(m, group, values);
    nudge = values[param] * NUDGE <= p->highest ? NUDGE : 1 / NUDGE;
    base = time_with(m, row, group, values);
    values[param] *= nudge;
    share = fabs(log(time_with(m, row, group, values) / base) / log(nudge));
    if (share >= ANSWERS && share > best->share / CLEARLY)
        *best = (struct sensitivity){share, *row};
}

static void ask_products(const struct fit_machine *m, size_t param, struct sensitivity *best)
{
    static const uint64_t sizes[] = {16, 128, 1024, 4096, 16384};
    static const enum specter_dtype types[] = {SPECTER_BF16, SPECTER_FP8E4M3, SPECTER_FP4,
                                               SPECTER_FP32, SPECTER_FP64};
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        for (size_t i = 0; i < 5 * 5 * 5; i++) {
            struct measured_row row = {.kind = MEASURED_GEMM,
                                       .dtype = types[t],
                                       .m = sizes[i % 5],
                                       .n = sizes[i / 5 % 5],
                                       .k = sizes[i / 25],
                                       .batch = 1};
            ask(m, &row, PARAMS_GEMM, param, best);
        }
    }
}

static void ask_transfers(const struct fit_machine *m, enum param_group group, size_t param,
                          struct sensitivity *best)
{
    static const enum specter_comm_op ops[] = {SPECTER_ALLREDUCE,     SPECTER_ALLGATHER,
                                               SPECTER_REDUCESCATTER, SPECTER_ALLTOALL,
                                               SPECTER_BROADCAST,     SPECTER_SEND};
    int node = m->net.gpus_per_node >= 2 ? (int)m->net.gpus_per_node : 1;
    struct layout places[] = {{2, 1, 2}, {node, 1, node}, {2 * node, 2, node}, {8 * node, 8, node}};
    for (size_t o = 0; o < sizeof ops / sizeof *ops; o++) {
        for (size_t w = 0; w < sizeof places / sizeof *places; w++) {
            for (double bytes = 1024; bytes <= 16 * 1024.0 * 1024 * 1024; bytes *= 4) {
                struct measured_row row = {.kind = ops[o] == SPECTER_SEND ? MEASURED_P2P
                                                                          : MEASURED_COLLECTIVE,
                                           .op = ops[o],
                                           .bytes = bytes,
                                           .where = places[w]};
                ask(m, &row, group, param, best);
            }
        }
    }
}

static void say(const struct measured_row *r, char *text, size_t size)
{
    static const char *const units[] = {"KiB", "MiB", "GiB"};
    double n = r->bytes / 1024;
    size_t unit = 0;
    if (r->kind == MEASURED_GEMM) {
        snprintf(text, size, "a %s GEMM of m %llu, n %llu, k %llu", specter_dtype_name(r->dtype),
                 (unsigned long long)r->m, (unsigned long long)r->n, (unsigned long long)r->k);
        return;
    }
    for (; n >= 1024 && unit < 2; unit++)
        n /= 1024;
    snprintf(text, size, "%s of %g %s by %d ranks on %d node%s", specter_comm_op_name(r->op), n,
             units[unit], r->where.ranks, r->where.nodes, r->where.nodes == 1 ? "" : "s");
}

bool calibration_advice(const struct fit_machine *machine, enum param_group group, size_t param,
                        char *text, size_t size)
{
    struct sensitivity best = {0};
    if (group == PARAMS_GEMM)
        ask_products(machine, param, &best);
    else
        ask_transfers(machine, group, param, &best);
    if (best.share > 0)
        say(&best.row, text, size);
    return best.share > 0;
}
