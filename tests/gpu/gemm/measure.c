/* SPDX-License-Identifier: MIT */
#include "measure.h"

#include <stdlib.h>

#define GRAPH_US 2000 /* a graph is to take this long */
#define CALLS_MIN 2
#define CALLS_MAX 256
#define REPEATS 7
#define REPEATS_MAX 512
#define TRIES 3

static const char too_large[] = "larger than the memory for it";
static const char refused[] = "refused by the library";
static const char no_graph[] = "cannot be captured into a graph";
static const char no_time[] = "the device reports an error";

/* The sets of operands that the calls go round; 0: not even one has room. */
static int sets_of(const struct device *d, const struct gemm_case *c, int calls)
{
    size_t operands = d->operand_bytes / device_operand_set(&c->shape);
    size_t results = d->result_bytes / device_result_set(&c->shape);
    size_t sets = operands < results ? operands : results;

    if (sets > 0 && c->hot)
        return 1;
    return sets < (size_t)calls ? (int)sets : calls;
}

/* What one call takes, roughly; the first ones load kernels. */
static int estimate(struct device *d, const struct gemm_case *c, double *us, const char **why)
{
    static void *events[2];

    *us = 0;
    for (int i = 0; i < TRIES; i++) {
        double took;

        if (device_event(d, &events[0]) != 0)
            return *why = no_time, -1;
        if (device_gemm(d, &c->shape, 0, 0) != 0)
            return *why = refused, -1;
        if (device_event(d, &events[1]) != 0 || device_sync(d) != 0 ||
            (took = device_us(events[0], events[1])) < 0)
            return *why = no_time, -1;
        if (i == 0 || took < *us)
            *us = took;
    }
    return 0;
}

static int make_graph(struct device *d, const struct gemm_case *c, int calls, int sets,
                      void **graph)
{
    size_t operands = device_operand_set(&c->shape), results = device_result_set(&c->shape);
    int error = device_capture(d), ended;

    if (error != 0)
        return error;
    for (int i = 0; i < calls && error == 0; i++)
        error =
            device_gemm(d, &c->shape, (size_t)(i % sets) * operands, (size_t)(i % sets) * results);
    ended = device_captured(d, graph);
    if (error == 0 && ended == 0)
        return 0;
    device_forget(*graph);
    return error != 0 ? error : ended;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Between values, as NumPy's default does. */
static double quantile(const double *sorted, int count, double q)
{
    double at = q * (count - 1);
    int low = (int)at;

    return low + 1 < count ? sorted[low] + (at - low) * (sorted[low + 1] - sorted[low])
                           : sorted[low];
}

/* All on the stream at once: the device never waits for the host. */
static int put_repeats(struct device *d, const struct gemm_case *c, void *graph, int repeats,
                       void *events[][2])
{
    int error = 0;

    for (int i = 0; i < repeats && error == 0; i++) {
        error = c->hot && c->hold_s == 0 ? device_launch(d, graph) : c->hot ? 0 : device_flush(d);
        if (error == 0)
            error = device_event(d, &events[i][0]);
        if (error == 0)
            error = device_launch(d, graph);
        if (error == 0)
            error = device_event(d, &events[i][1]);
    }
    return error;
}

/* Of the last `counted` of so many repeats. */
static int sum_up(void *events[][2], int repeats, int counted, int calls, struct gemm_time *out)
{
    double us[REPEATS_MAX];

    for (int i = 0; i < counted; i++) {
        void **pair = events[repeats - counted + i];
        double took = device_us(pair[0], pair[1]);

        if (took < 0)
            return -1;
        us[i] = took / calls;
    }
    qsort(us, (size_t)counted, sizeof *us, by_value);
    out->us = quantile(us, counted, 0.5);
    out->spread =
        out->us > 0 ? (quantile(us, counted, 0.75) - quantile(us, counted, 0.25)) / out->us : 0;
    out->calls = calls;
    out->repeats = counted;
    return 0;
}

/* Held ones run for that long first, and the state is that of the end. */
static int repeat(struct device *d, const struct nvml *nvml, const struct gemm_case *c, void *graph,
                  double graph_us, struct gemm_time *out, int calls)
{
    static void *events[REPEATS_MAX][2];
    double wanted = c->hold_s > 0 ? c->hold_s * 1e6 / graph_us : 0;
    int before = wanted < REPEATS_MAX - REPEATS ? (int)wanted : REPEATS_MAX - REPEATS;
    int error = put_repeats(d, c, graph, before, events);

    if (error == 0 && before > 0)
        error = device_sync(d);
    if (error == 0)
        error = put_repeats(d, c, graph, REPEATS, &events[before]);
    nvml_look(nvml, &out->state);
    if (error == 0)
        error = device_sync(d);
    return error != 0 ? error : sum_up(events, before + REPEATS, REPEATS, calls, out);
}

static int calls_for(double us)
{
    double calls = us > 0 ? GRAPH_US / us : CALLS_MAX;

    return calls < CALLS_MIN ? CALLS_MIN : calls > CALLS_MAX ? CALLS_MAX : (int)calls;
}

int gemm_measure(struct device *d, const struct nvml *nvml, const struct gemm_case *c,
                 struct gemm_time *out, const char **why)
{
    void *graph = NULL;
    double us;
    int calls, sets, error;

    if (sets_of(d, c, 1) == 0)
        return *why = too_large, -1;
    if (estimate(d, c, &us, why) != 0)
        return -1;
    calls = calls_for(us);
    sets = sets_of(d, c, calls);
    if (make_graph(d, c, calls, sets, &graph) != 0)
        return *why = no_graph, -1;
    error = device_launch(d, graph); /* warms up */
    if (error == 0)
        error = device_sync(d);
    if (error == 0)
        error = repeat(d, nvml, c, graph, us * calls, out, calls);
    device_forget(graph);
    return error == 0 ? 0 : (*why = no_time, -1);
}
