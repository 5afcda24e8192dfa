/* SPDX-License-Identifier: MIT */
#include "calib/predict_row.h"

#include "model/params.h"

#include <string.h>

static int predict_collective(const struct measured_row *row, const struct gpu_profile *gpu,
                              const struct network_profile *net, struct comm_cost *out,
                              struct err *e)
{
    return model_collective(gpu, net, row->op, row->bytes, row->where, out, e);
}

/* sendrecv_perf: each rank sends to the next one and receives from the one before, all at once.
 * Neighbours are on one node but for the last rank of each, and the slowest pair ends the test. */
static int predict_ring_of_messages(const struct measured_row *row, const struct gpu_profile *gpu,
                                    const struct network_profile *net, struct comm_cost *out,
                                    struct err *e)
{
    struct comm_cost across;
    bool within = row->where.per_node > 1;
    if (within && model_p2p(gpu, net, row->bytes, false, out, e) < 0)
        return -1;
    if (row->where.nodes == 1)
        return 0;
    if (model_p2p(gpu, net, row->bytes, true, &across, e) < 0)
        return -1;
    if (!within || across.us > out->us)
        *out = across;
    return 0;
}

static int predict_gemm(const struct measured_row *row, const struct gpu_profile *gpu, double *us,
                        struct err *e)
{
    const struct gemm_shape shape = {
        .m = row->m,
        .n = row->n,
        .k = row->k,
        .batch = row->batch,
        .type = row->dtype,
        .type_c = SPECTER_DTYPE_UNKNOWN,
        .compute = SPECTER_DTYPE_UNKNOWN,
    };
    struct gemm_cost cost;
    if (model_gemm(gpu, &shape, &cost, e) < 0)
        return -1;
    *us = cost.us;
    return 0;
}

int predict_row(const struct measured_row *row, const struct gpu_profile *gpu,
                const struct network_profile *net, struct row_prediction *out, struct err *e)
{
    struct comm_cost cost;
    *out = (struct row_prediction){.algo = "", .proto = ""};
    if (row->kind == MEASURED_GEMM)
        return predict_gemm(row, gpu, &out->us, e);
    if ((row->kind == MEASURED_P2P ? predict_ring_of_messages : predict_collective)(row, gpu, net,
                                                                                    &cost, e) < 0)
        return -1;
    *out = (struct row_prediction){cost.us, cost.algo, cost.proto, cost.channels};
    return 0;
}

static bool outside(const struct fit_range *range, double size, const struct layout *where)
{
    if (range->rows == 0 || size < range->smallest || size > range->largest)
        return true;
    return where != NULL && (where->ranks > range->ranks || where->nodes > range->nodes);
}

bool predict_row_outside(const struct measured_row *row)
{
    if (row->kind == MEASURED_GEMM) {
        double flops = 2 * (double)row->m * (double)row->n * (double)row->k * (double)row->batch;
        return outside(&params_class(PARAMS_GEMM, row->gpu, NULL)->range, flops, NULL);
    }
    return outside(
        &params_class(row->where.nodes > 1 ? PARAMS_NET : PARAMS_NODE, row->gpu, row->net)->range,
        row->bytes, &row->where);
}
