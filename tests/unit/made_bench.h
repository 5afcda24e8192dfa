/* SPDX-License-Identifier: MIT
 *
 * Runs of nccl-tests as a machine with a known fault would give them: the models' times on a
 * changed network, with changed settings, times a factor, and a few per cent of noise that is the
 * same each time.
 */
#ifndef SPECTER_MADE_BENCH_H
#define SPECTER_MADE_BENCH_H

#include "bench/judge.h"

#include <math.h>

#define MADE_NOISE 0.03

struct made_bench {
    const char *gpu, *network; /* as the report is asked to judge it */
    enum specter_comm_op op;
    struct layout where;
    uint64_t first, last;      /* bytes, by factor 2 */
    struct network_profile is; /* what the machine really is */
    struct comm_choice forced; /* what it really does */
    bool no_nvls;
    double add_us, factor, bytes_factor;
};

static inline struct made_bench made_bench(enum specter_comm_op op, int nodes)
{
    return (struct made_bench){
        .gpu = "h100_sxm",
        .network = "dgx_h100_400g",
        .op = op,
        .where = {8 * nodes, nodes, 8},
        .first = 1024,
        .last = (uint64_t)8 << 30,
        .is = *network_profile_find("dgx_h100_400g", NULL),
        .factor = 1,
        .bytes_factor = 1,
    };
}

static inline double made_time(const struct made_bench *m, uint64_t bytes, size_t i)
{
    const struct gpu_profile *gpu = gpu_profile_find(m->gpu, NULL);
    const struct measured_row q = {
        .kind = specter_comm_op_is_p2p(m->op) ? MEASURED_P2P : MEASURED_COLLECTIVE,
        .gpu = gpu,
        .net = &m->is,
        .op = m->op,
        .bytes = (double)bytes,
        .where = m->where,
        .forced = m->forced,
        .no_nvls = m->no_nvls,
    };
    struct row_prediction p;
    double us;
    if (predict_row(&q, gpu, &m->is, &p, NULL) < 0)
        return NAN;
    us = (p.lat_us + (p.us - p.lat_us) * m->bytes_factor) * m->factor + m->add_us;
    return us * (1 + MADE_NOISE * sin(2.4 * (double)i));
}

static inline struct bench_run *made_run(struct bench_result *r, const struct made_bench *m)
{
    struct bench_run *run = bench_run_add(r);
    size_t i = 0;
    run->where = m->where;
    run->backend = "nccl";
    for (uint64_t bytes = m->first; bytes <= m->last; bytes *= 2) {
        struct bench_row *row = bench_row_add(run);
        row->op = m->op;
        row->dtype = SPECTER_FP32;
        row->bytes = bytes;
        row->count = bytes / 4;
        row->where = m->where;
        row->time_us = made_time(m, bytes, i++);
        row->wrong = 0;
        bench_row_rates(row);
    }
    return run;
}

#endif
