/* SPDX-License-Identifier: MIT */
#include "bench/expect.h"

#include "base/err.h"
#include "calib/measured_names.h"
#include "model/accuracy.h"

#include <math.h>
#include <string.h>

/* NCCL_ALGO=Ring; a list leaves the choice to NCCL, and so does a name that we do not know. */
static void forced(const struct bench_run *run, struct measured_row *out)
{
    const char *algo = bench_setting(run, "NCCL_ALGO"),
               *nvls = bench_setting(run, "NCCL_NVLS_ENABLE");
    const char *proto = bench_setting(run, "NCCL_PROTO");
    if (algo != NULL)
        out->forced.algo = measured_algo(algo, strlen(algo));
    if (proto != NULL)
        out->forced.proto = measured_proto(proto, strlen(proto));
    out->no_nvls = nvls != NULL && strcmp(nvls, "0") == 0;
}

struct measured_row bench_question(const struct bench_run *run, const struct bench_row *row,
                                   const struct gpu_profile *gpu, const struct network_profile *net)
{
    struct measured_row q = {
        .kind = specter_comm_op_is_p2p(row->op) ? MEASURED_P2P : MEASURED_COLLECTIVE,
        .gpu = gpu,
        .net = net,
        .time_us = row->time_us,
        .notes = "",
        .dtype = row->dtype,
        .op = row->op,
        .bytes = (double)row->bytes,
        .where = row->where,
    };
    forced(run, &q);
    return q;
}

static struct bench_interval interval_of(enum accuracy_kind kind, const char *profile, double us)
{
    struct bench_interval in = {.level = 0.9};
    const double p = accuracy_p90_of(kind, profile, &in.known);
    in.low_us = us / (1 + p);
    in.high_us = p < 1 ? us / (1 - p) : HUGE_VAL;
    return in;
}

struct bench_interval bench_interval(const struct network_profile *net, bool message, double us)
{
    return interval_of(message ? ACCURACY_P2P : ACCURACY_COLLECTIVE, net->name, us);
}

struct bench_interval bench_interval_gemm(const struct gpu_profile *gpu, double us)
{
    return interval_of(ACCURACY_GEMM, gpu->name, us);
}

int bench_expect(const struct bench_run *run, const struct bench_row *row,
                 const struct gpu_profile *gpu, const struct network_profile *net,
                 struct bench_expected *out, struct err *e)
{
    struct measured_row q;
    if (run->backend[0] != '\0' && strstr(run->backend, "ccl") == NULL)
        return err_set(e, ERR_INPUT, "the models are of NCCL and RCCL, not of %s", run->backend);
    if (row->op == SPECTER_COMM_OP_COUNT)
        return err_set(e, ERR_INPUT, "the models do not know '%s'", run->program);
    q = bench_question(run, row, gpu, net);
    if (predict_row(&q, gpu, net, &out->of, e) < 0)
        return -1;
    out->interval = bench_interval(net, q.kind == MEASURED_P2P, out->of.us);
    return 0;
}
