/* SPDX-License-Identifier: MIT */
#include "calib/predict_row.h"

#include "base/hash.h"
#include "calib/fit.h"
#include "model/nccl_graph.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int predict_collective(const struct measured_row *row, const struct gpu_profile *gpu,
                              const struct network_profile *net, struct comm_cost *out,
                              struct err *e)
{
    /* NCCL_ALGO and NCCL_PROTO mean nothing to the others: they are made of sends and receives. */
    bool has_algorithms = row->op == SPECTER_ALLREDUCE || row->op == SPECTER_ALLGATHER ||
                          row->op == SPECTER_REDUCESCATTER || row->op == SPECTER_BROADCAST ||
                          row->op == SPECTER_REDUCE;
    struct comm_choice forced = row->forced;
    struct network_profile copy;
    if (!has_algorithms)
        return model_collective(gpu, net, row->op, row->bytes, row->where, out, e);
    net = network_with_nccl(net, row->nccl, &copy);
    if (row->no_nvls && forced.algo == NULL)
        forced.algo = "^nvls,nvls_tree";
    return model_collective_as(gpu, net, row->op, row->bytes, row->where, &forced, out, e);
}

static int predict_messages(const struct measured_row *row, const struct gpu_profile *gpu,
                            const struct network_profile *net, struct comm_cost *out, struct err *e)
{
    struct layout where = nccl_layout(net, row->where);
    const struct comm_messages messages = {
        row->direction, row->direction == COMM_ALL_PAIRS ? row->where : where, 1};
    struct comm_cost across;
    bool within = where.per_node > 1;
    if (row->direction != COMM_TO_NEXT)
        return model_messages(gpu, net, row->bytes, &messages, out, e);
    /* sendrecv_perf: each rank sends to the next one and receives from the one before, all at once.
     * Neighbours are on one node (one NVLink domain) but for the last rank of each, and the slowest
     * pair ends the test. */
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

bool predict_row_leaves_node(const struct measured_row *row)
{
    return row->net != NULL && nccl_layout(row->net, row->where).nodes > 1;
}

bool predict_row_outside(const struct measured_row *row)
{
    enum param_group group = row->kind == MEASURED_GEMM     ? PARAMS_GEMM
                             : predict_row_leaves_node(row) ? PARAMS_NET
                                                            : PARAMS_NODE;
    const struct fit_range *range = &params_profile_row(group, row->gpu, row->net)->range;
    double flops = 2 * (double)row->m * (double)row->n * (double)row->k * (double)row->batch;
    double size = row->kind == MEASURED_GEMM ? flops : row->bytes;
    return range->rows == 0 ||
           fit_range_beyond(range, size, row->where.ranks, row->where.nodes) != FIT_WITHIN;
}

/* ---- rows made ready for fits ---- */

#define NUDGE 1.1 /* a parameter is changed by this factor to see whether a row answers */

void *fit_rows_params(struct fit_machine *machine, enum param_group group)
{
    switch (group) {
    case PARAMS_GEMM:
        return &machine->gpu.gemm;
    case PARAMS_NODE:
        return &machine->net.node;
    default:
        return &machine->net.net;
    }
}

void fit_rows_set(struct fit_machine *machine, enum param_group group, const double *values)
{
    const struct param_table *t = &param_tables[group];
    void *params = fit_rows_params(machine, group);
    assert(t->count <= FIT_PARAMS_MAX);
    for (size_t k = 0; k < t->count; k++)
        *param_at(params, &t->params[k]) = values[k];
}

void fit_rows_get(const struct fit_machine *machine, enum param_group group, double *values)
{
    const struct param_table *t = &param_tables[group];
    const struct gemm_params gemm = params_gemm(&machine->gpu);
    const struct node_params node = params_node(&machine->gpu, &machine->net);
    const struct net_params net = params_net(&machine->net);
    const void *of[PARAM_GROUPS] = {
        [PARAMS_GEMM] = &gemm, [PARAMS_NODE] = &node, [PARAMS_NET] = &net};
    for (size_t k = 0; k < t->count; k++)
        values[k] = param_value(of[group], &t->params[k]);
}

static int predict_on(const struct measured_row *row, const struct fit_machine *m,
                      struct row_prediction *out, struct err *e)
{
    return predict_row(row, &m->gpu, m->of_net != NULL ? &m->net : NULL, out, e);
}

static double row_us(const struct measured_row *row, const struct fit_machine *m)
{
    struct row_prediction p;
    return predict_on(row, m, &p, NULL) < 0 ? NAN : p.us;
}

int fit_rows_predict(const struct fit_rows *f, size_t i, struct row_prediction *out, struct err *e)
{
    return predict_on(f->rows[i].row, &f->machines[f->rows[i].machine], out, e);
}

double fit_rows_us(const struct fit_rows *f, size_t i)
{
    return row_us(f->rows[i].row, &f->machines[f->rows[i].machine]);
}

double fit_rows_log_error(const struct fit_rows *f, size_t i)
{
    return log(fit_rows_us(f, i) / f->rows[i].row->time_us);
}

static size_t machine_of(struct fit_rows *f, const struct measured_row *row)
{
    struct fit_machine *m;
    for (size_t i = f->nmachines; i-- > 0;) {
        if (f->machines[i].of_gpu == row->gpu && f->machines[i].of_net == row->net)
            return i;
    }
    ARRAY_GROW(f->machines, f->cap_machines, f->nmachines + 1);
    m = &f->machines[f->nmachines];
    m->of_gpu = row->gpu;
    m->of_net = row->net;
    m->gpu = *row->gpu;
    if (row->net != NULL)
        m->net = *row->net;
    return f->nmachines++;
}

static bool answers_to_network(const struct measured_row *row, const struct fit_machine *machine)
{
    const struct param_table *t = &param_tables[PARAMS_NET];
    struct fit_machine m = *machine;
    double base = row_us(row, &m), values[FIT_PARAMS_MAX];
    fit_rows_get(&m, PARAMS_NET, values);
    for (size_t k = 0; k < t->count; k++) {
        double value = values[k];
        values[k] *= value * NUDGE <= t->params[k].highest ? NUDGE : 1 / NUDGE;
        fit_rows_set(&m, PARAMS_NET, values);
        if (row_us(row, &m) != base)
            return true;
        values[k] = value;
    }
    return false;
}

void fit_rows_init(struct fit_rows *f, const struct measured_row *rows, size_t n)
{
    memset(f, 0, sizeof *f);
    for (size_t i = 0; i < n; i++) {
        struct fit_row r = {.row = &rows[i], .group = PARAMS_GEMM};
        const struct fit_machine *m;
        r.machine = machine_of(f, &rows[i]);
        m = &f->machines[r.machine];
        if (!(row_us(r.row, m) > 0))
            continue;
        if (r.row->kind != MEASURED_GEMM)
            r.group = answers_to_network(r.row, m) ? PARAMS_NET : PARAMS_NODE;
        ARRAY_GROW(f->rows, f->cap_rows, f->nrows + 1);
        f->rows[f->nrows++] = r;
    }
}

void fit_rows_release(struct fit_rows *f)
{
    free(f->rows);
    free(f->machines);
    memset(f, 0, sizeof *f);
}

/* A fixed, well mixed number below 2^32. */
static uint32_t mix(uint64_t x)
{
    return (uint32_t)(hash_finalize(x + UINT64_C(0x9E3779B97F4A7C15)) >> 32);
}

bool *fit_rows_thinned(const struct fit_rows *rows, size_t most)
{
    bool *out = array_new(rows->nrows, sizeof *out);
    size_t *count = array_new(rows->nmachines, sizeof *count);
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < rows->nrows; i++) {
            const struct fit_row *r = &rows->rows[i];
            size_t *n = &count[r->machine];
            if (r->group != PARAMS_GEMM)
                continue;
            if (pass == 0)
                ++*n;
            else
                out[i] = mix(i) * (double)*n > (double)most * 0x1p32;
        }
    }
    free(count);
    return out;
}
