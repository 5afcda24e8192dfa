/* SPDX-License-Identifier: MIT */
#include "calib/overlap_fit.h"

#include <math.h>

#define LEAST 0.001 /* as in the profile: 0 would be "not known" */
#define MOST 20.0

/* The share that the collective takes of what bounds the GEMM; 0: the models do not know it. */
static double load_of(const struct measured_overlap *r)
{
    const struct gpu_profile *gpu = r->of.gpu;
    struct comm_cost cost;
    if (model_collective(gpu, r->of.net, r->of.op, r->of.bytes, r->of.where, &cost, NULL) < 0)
        return 0;
    if (!r->memory)
        return gpu->sms > 0 ? (r->channels > 0 ? r->channels : cost.channels) / gpu->sms : 0;
    return gpu->mem_GBps > 0
               ? comm_memory_bytes(r->of.op, cost.algo, r->of.bytes, r->of.where.ranks) / 1e3 /
                     r->of.time_us / gpu->mem_GBps
               : 0;
}

static double loss_of(const struct measured_overlap *r)
{
    return 1 - r->gemm_us / r->gemm_beside_us;
}

/* Of GEMMs with one bound. Where the library chose the channels in some rows of compute-bound ones,
 * only these. */
static bool counts(const struct measured_overlap *rows, size_t n, size_t i, bool memory)
{
    if (rows[i].memory != memory || !(load_of(&rows[i]) > 0))
        return false;
    for (size_t k = 0; k < n && !memory && rows[i].channels > 0; k++) {
        if (!rows[k].memory && rows[k].channels == 0)
            return false;
    }
    return true;
}

static struct overlap_figure fit(const struct measured_overlap *rows, size_t n, bool memory)
{
    struct overlap_figure f = {0, NAN, 0};
    double squares = 0, products = 0, rest = 0;
    for (size_t i = 0; i < n; i++) {
        if (!counts(rows, n, i, memory))
            continue;
        squares += load_of(&rows[i]) * load_of(&rows[i]);
        products += load_of(&rows[i]) * loss_of(&rows[i]);
        f.rows++;
    }
    if (f.rows == 0)
        return f;
    f.factor = products / squares;
    for (size_t i = 0; i < n; i++) {
        double off = loss_of(&rows[i]) - f.factor * load_of(&rows[i]);
        rest += counts(rows, n, i, memory) ? off * off : 0;
    }
    if (f.rows > 1)
        f.off = sqrt(rest / (double)(f.rows - 1) / squares);
    f.factor = fmin(MOST, fmax(LEAST, f.factor));
    return f;
}

struct overlap_fit overlap_fit(const struct measured_overlap *rows, size_t n)
{
    return (struct overlap_fit){.sm = fit(rows, n, false), .memory = fit(rows, n, true)};
}
