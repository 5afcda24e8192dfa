/* SPDX-License-Identifier: MIT */
#include "calib/predict_row.h"

#include "model/nccl_graph.h"

#include <string.h>

/* NCCL_ALGO and NCCL_PROTO mean nothing to the others: they are made of sends and receives. */
static bool has_algorithms(enum specter_comm_op op)
{
    return op == SPECTER_ALLREDUCE || op == SPECTER_ALLGATHER || op == SPECTER_REDUCESCATTER ||
           op == SPECTER_BROADCAST || op == SPECTER_REDUCE;
}

/* The choice of NCCL when NVLS is switched off: the best of the others by its own estimate. */
static int predict_without_nvls(const struct measured_row *row, const struct gpu_profile *gpu,
                                const struct network_profile *net, struct comm_cost *out,
                                struct err *e)
{
    struct comm_candidate all[COMM_CANDIDATES_MAX], *best = NULL;
    int n = model_collective_candidates(gpu, net, row->op, row->bytes, row->where, all, e);
    for (int i = 0; i < n; i++) {
        if (all[i].off != NULL || strncmp(all[i].cost.algo, "nvls", strlen("nvls")) == 0)
            continue;
        if (best == NULL || all[i].nccl_us < best->nccl_us)
            best = &all[i];
    }
    if (n >= 0 && best == NULL)
        return err_set(e, ERR_INPUT, "nothing but NVLS can do it");
    if (best != NULL)
        *out = best->cost;
    return n < 0 ? -1 : 0;
}

static int predict_collective(const struct measured_row *row, const struct gpu_profile *gpu,
                              const struct network_profile *net, struct comm_cost *out,
                              struct err *e)
{
    if (!has_algorithms(row->op))
        return model_collective(gpu, net, row->op, row->bytes, row->where, out, e);
    if (row->no_nvls && row->forced.algo == NULL)
        return predict_without_nvls(row, gpu, net, out, e);
    return model_collective_as(gpu, net, row->op, row->bytes, row->where, &row->forced, out, e);
}

/* sendrecv_perf: each rank sends to the next one and receives from the one before, all at once.
 * Neighbours are on one node (one NVLink domain) but for the last rank of each, and the slowest
 * pair ends the test. */
static int predict_ring_of_messages(const struct measured_row *row, const struct gpu_profile *gpu,
                                    const struct network_profile *net, struct comm_cost *out,
                                    struct err *e)
{
    struct layout where = nccl_layout(net, row->where);
    struct comm_cost across;
    bool within = where.per_node > 1;
    if (within && model_p2p(gpu, net, row->bytes, false, out, e) < 0)
        return -1;
    if (where.nodes == 1)
        return 0;
    if (model_p2p(gpu, net, row->bytes, true, &across, e) < 0)
        return -1;
    if (!within || across.us > out->us)
        *out = across;
    return 0;
}

static int predict_messages(const struct measured_row *row, const struct gpu_profile *gpu,
                            const struct network_profile *net, struct comm_cost *out, struct err *e)
{
    const struct comm_messages messages = {
        row->direction,
        row->direction == COMM_ALL_PAIRS ? row->where : nccl_layout(net, row->where), 1};
    if (row->direction == COMM_TO_NEXT)
        return predict_ring_of_messages(row, gpu, net, out, e);
    return model_messages(gpu, net, row->bytes, &messages, out, e);
}

static int predict_gemm(const struct measured_row *row, const struct gpu_profile *gpu, double *us,
                        struct err *e)
{
    struct gemm_shape shape = {
        .m = row->m,
        .n = row->n,
        .k = row->k,
        .batch = row->batch,
        .type = row->dtype,
        .type_c = SPECTER_DTYPE_UNKNOWN,
        .compute = SPECTER_DTYPE_UNKNOWN,
    };
    struct gemm_cost cost;
    gemm_shape_of_bench(gpu, row->lib, &shape);
    if (row->cache != GEMM_CACHE_UNTOLD)
        shape.hot_sets = row->cache == GEMM_CACHE_HOT;
    if (model_gemm(gpu, &shape, &cost, e) < 0)
        return -1;
    *us = cost.busy_us; /* a benchmark's calls are queued: launches overlap with work */
    return 0;
}

int predict_row(const struct measured_row *row, const struct gpu_profile *gpu,
                const struct network_profile *net, struct row_prediction *out, struct err *e)
{
    struct comm_cost cost;
    *out = (struct row_prediction){.algo = "", .proto = ""};
    if (row->kind == MEASURED_GEMM)
        return predict_gemm(row, gpu, &out->us, e);
    if ((row->kind == MEASURED_P2P ? predict_messages : predict_collective)(row, gpu, net, &cost,
                                                                            e) < 0)
        return -1;
    *out = (struct row_prediction){cost.us, cost.lat_us, cost.algo, cost.proto, cost.channels};
    return 0;
}

/* A figure of 0 in a range says nothing. */
static bool outside(const struct fit_range *range, double size, const struct layout *where)
{
    if (range->rows == 0 || size < range->smallest || (range->largest > 0 && size > range->largest))
        return true;
    return (range->ranks > 0 && where->ranks > range->ranks) ||
           (range->nodes > 0 && where->nodes > range->nodes);
}

bool predict_row_leaves_node(const struct measured_row *row)
{
    return row->net != NULL && nccl_layout(row->net, row->where).nodes > 1;
}

bool predict_row_outside(const struct measured_row *row)
{
    enum param_group group = row->kind == MEASURED_GEMM     ? PARAMS_GEMM
                             : predict_row_leaves_node(row) ? PARAMS_NET
                                                            : PARAMS_NODE;
    double flops = 2 * (double)row->m * (double)row->n * (double)row->k * (double)row->batch;
    return outside(&params_class(group, row->gpu, row->net)->range,
                   row->kind == MEASURED_GEMM ? flops : row->bytes, &row->where);
}
