/* SPDX-License-Identifier: MIT
 *
 * A profiler plugin of NCCL, which `specter bench tune` has it open: it keeps what NCCL took for
 * the last collective that this process launched. Interface versions 3 to 6, which NCCL 2.26 and
 * newer have; older ones find nothing here.
 */
#include "../../../tracer/abi/nccl_profiler.h"
#include "bench/tune.h"

#include <stdio.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT struct bench_nccl_choices BENCH_NCCL_CHOICES;

static int begin(void **context, int *mask)
{
    *context = NULL;
    *mask = PROFILER_COLL;
    return 0;
}

static int begin_v4(void **context, int *mask, const char *name, uint64_t hash, int nodes,
                    int ranks, int rank, profiler_log log)
{
    (void)name, (void)hash, (void)nodes, (void)ranks, (void)rank, (void)log;
    return begin(context, mask);
}

static int begin_v5(void **context, uint64_t hash, int *mask, const char *name, int nodes,
                    int ranks, int rank, profiler_log log)
{
    (void)name, (void)hash, (void)nodes, (void)ranks, (void)rank, (void)log;
    return begin(context, mask);
}

static int keep(void **event, const char *algo, const char *proto, int channels)
{
    struct bench_nccl_choices *out = &BENCH_NCCL_CHOICES;
    *event = NULL;
    if (algo == NULL || proto == NULL)
        return 0;
    snprintf(out->algo, sizeof out->algo, "%s", algo);
    snprintf(out->proto, sizeof out->proto, "%s", proto);
    out->channels = channels;
    out->calls++;
    return 0;
}

static int start_v3(void *context, void **event, struct profiler_event *what)
{
    const struct profiler_coll_v3 *c = &what->coll_v3;
    (void)context;
    *event = NULL;
    return what->head.type == PROFILER_COLL ? keep(event, c->algo, c->proto, c->channels_max) : 0;
}

static int start_v4(void *context, void **event, struct profiler_event *what)
{
    const struct profiler_coll_v4 *c = &what->coll_v4;
    (void)context;
    *event = NULL;
    return what->head.type == PROFILER_COLL ? keep(event, c->algo, c->proto, c->channels) : 0;
}

static int stop(void *event)
{
    (void)event;
    return 0;
}

static int record(void *event, int state, union profiler_state *args)
{
    (void)event, (void)state, (void)args;
    return 0;
}

#define NAME "specter bench tune"

EXPORT struct profiler_v1 ncclProfiler_v3 = {NAME, begin, start_v3, stop, record, stop};
EXPORT struct profiler_v4 ncclProfiler_v4 = {NAME, begin_v4, start_v4, stop, record, stop};
EXPORT struct profiler_v5 ncclProfiler_v5 = {NAME, begin_v5, start_v4, stop, record, stop};
EXPORT struct profiler_v5 ncclProfiler_v6 = {NAME, begin_v5, start_v4, stop, record, stop};
