/* SPDX-License-Identifier: MIT
 *
 * Measures the speed of the discrete-event engine, and of a whole replay at the scale of a million
 * GPUs. CPU time of the thread throughout, system time included.
 *
 * The programs: data-parallel training. Each rank has a compute stream and a stream for
 * collectives; after so many GEMMs an AllReduce of all ranks, ordered by events, overlapped;
 * the host waits for its GPU every 100 AllReduces. Ranks are distinct: every duration has a jitter
 * of its own. Each collective slows down the GEMMs beside it. Operations are GEMMs and parts in
 * collectives; records, waits and synchronisations are executed, too, and not counted.
 */
#include "../unit/made_run.h"
#include "model/cost.h"
#include "sim/replay/replay.h"
#include "sim/engine/sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define ROUNDS 5
#define LARGE_ROUNDS 3

static void fail(const char *what)
{
    fprintf(stderr, "bench_replay: %s\n", what);
    exit(1);
}

static double cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- programs ---- */

struct shape {
    uint32_t ranks, layers;
    uint32_t products;           /* a layer; then an AllReduce */
    int64_t product_ns, comm_ns; /* before jitter, of +-3 % */
};

static uint64_t operations(const struct shape *f)
{
    return (uint64_t)f->ranks * f->layers * (f->products + 1);
}

static int64_t jitter(uint64_t *seed, int64_t ns)
{
    return ns + (int64_t)(made_random(seed) % 1024 * (uint64_t)ns / 1024 * 6 / 100) - ns * 3 / 100;
}

static void add_layer(struct sim *s, const struct shape *f, uint32_t k, uint32_t compute,
                      uint32_t comm, uint64_t *seed)
{
    uint32_t event = sim_add_event(s);
    for (uint32_t i = 0; i < f->products; i++) {
        sim_cpu(s, 5000);
        sim_set_need(s, sim_work(s, compute, jitter(seed, f->product_ns)), 900000, 300000);
    }
    sim_cpu(s, 1000);
    sim_record(s, compute, event);
    sim_wait(s, comm, event);
    sim_join(s, comm);
    sim_join_transfer(s, k);
}

static void add_rank(struct sim *s, const struct shape *f, uint64_t *seed)
{
    uint32_t device = sim_add_device(s), compute = sim_add_stream(s, device);
    uint32_t comm = sim_add_stream(s, device);
    sim_add_host(s, 0);
    for (uint32_t k = 0; k < f->layers; k++) {
        add_layer(s, f, k, compute, comm, seed);
        if (k % 100 == 99)
            sim_sync_device(s, device);
    }
}

static struct sim *build(const struct shape *f)
{
    struct sim *s = sim_new();
    uint64_t seed = 88172645463325252u;
    sim_set_launch_latency(s, 3000);
    for (uint32_t k = 0; k < f->layers; k++) {
        uint32_t t = sim_add_transfer(s, jitter(&seed, f->comm_ns));
        sim_set_load(s, t, 120000, 200000);
    }
    for (uint32_t r = 0; r < f->ranks; r++)
        add_rank(s, f, &seed);
    return s;
}

struct timing {
    double build_s, run_s;
    double step_ns; /* end of rank 0: something that must be worked out */
};

static struct timing build_and_run(const struct shape *f)
{
    struct timing t;
    double begin = cpu_s(), built;
    struct sim *s = build(f);
    built = cpu_s();
    if (sim_run(s) != 0)
        fail("the program is stuck");
    t = (struct timing){built - begin, cpu_s() - built, (double)sim_host_end(s, 0)};
    sim_free(s);
    return t;
}

/* ---- the parts of the benchmark ---- */

/* In a child, whose peak memory nothing else has a part in. */
static void child(const struct shape *f, struct timing *t, double *rss_mib)
{
    struct rusage usage;
    int ends[2], status;
    pid_t pid;
    if (pipe(ends) != 0)
        fail("no pipe");
    pid = fork();
    if (pid < 0)
        fail("no child process");
    if (pid == 0) {
        struct timing mine = build_and_run(f);
        _exit(write(ends[1], &mine, sizeof mine) == sizeof mine ? 0 : 1);
    }
    close(ends[1]); /* else the end of a child that fails would not be seen */
    if (read(ends[0], t, sizeof *t) != sizeof *t || wait4(pid, &status, 0, &usage) != pid ||
        status != 0)
        fail("the child process failed");
    close(ends[0]);
    *rss_mib = (double)usage.ru_maxrss / 1024;
}

/* Building and running, the best of several; the most memory. */
static double large(double *rss_mib)
{
    const struct shape f = {1024, 2500, 3, 60000, 120000};
    struct timing best = {1e9, 1e9, 0};
    *rss_mib = 0;
    for (int round = 0; round < LARGE_ROUNDS; round++) {
        struct timing t;
        double mib;
        child(&f, &t, &mib);
        best = t.build_s + t.run_s < best.build_s + best.run_s ? t : best;
        *rss_mib = mib > *rss_mib ? mib : *rss_mib;
    }
    printf("1,024 ranks x 10,000 operations: build %.3f s, run %.3f s (%.0f operations/s), peak "
           "%.0f MiB\n",
           best.build_s, best.run_s, (double)operations(&f) / best.run_s, *rss_mib);
    return best.build_s + best.run_s;
}

/* Rates of running at several numbers of ranks, in turn; the slowest of the best rounds. */
static double rates(void)
{
    static const struct shape shapes[] = {
        {8, 2500, 3, 60000, 120000}, {64, 2500, 3, 60000, 120000}, {1024, 250, 3, 60000, 120000}};
    double best[COUNT(shapes)] = {0}, slowest;
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < COUNT(shapes); i++) {
            double rate = (double)operations(&shapes[i]) / build_and_run(&shapes[i]).run_s;
            best[i] = rate > best[i] ? rate : best[i];
        }
    }
    slowest = best[0];
    printf("\nranks  operations     run: operations/s\n");
    for (size_t i = 0; i < COUNT(shapes); i++) {
        printf("%5u  %10llu  %19.0f\n", shapes[i].ranks, (unsigned long long)operations(&shapes[i]),
               best[i]);
        slowest = best[i] < slowest ? best[i] : slowest;
    }
    return slowest;
}

/* 100 layers of 500 us and a 25 MB AllReduce of 1,024 H100s each, its time by the model. */
static double hundred_layers(void)
{
    struct shape f = {1024, 100, 1, 500000, 0};
    const struct gpu_profile *gpu = gpu_profile_find("h100_sxm", NULL);
    const struct network_profile *net = network_profile_find(gpu->network, NULL);
    struct timing best = {1e9, 1e9, 0};
    struct comm_cost cost;
    struct err e;
    if (model_collective(gpu, net, SPECTER_ALLREDUCE, 25e6, layout_dense(net, 1024), &cost, &e) < 0)
        fail(e.msg);
    f.comm_ns = (int64_t)(cost.us * 1e3);
    for (int round = 0; round < ROUNDS; round++) {
        struct timing t = build_and_run(&f);
        best = t.build_s + t.run_s < best.build_s + best.run_s ? t : best;
    }
    printf("\n100 layers, 25 MB AllReduce, 1,024 ranks: build %.1f ms, run %.1f ms; predicted %.3f "
           "ms\n",
           best.build_s * 1e3, best.run_s * 1e3, best.step_ns * 1e-6);
    return (best.build_s + best.run_s) * 1e3;
}

static double replay_s(const struct run *run, int64_t scale, double *iteration_ns)
{
    struct replay_opts opts = {.scales = &scale, .nscales = 1, .calibrate = true};
    struct replay rep;
    struct err e;
    double begin = cpu_s(), took;
    if (replay_run(&rep, run, &opts, &e) != 0)
        fail(e.msg);
    took = cpu_s() - begin;
    *iteration_ns = rep.scales[0].time.span_ns;
    replay_release(&rep);
    return took;
}

/* A recording of 8 ranks x 10,000 operations, replayed as it is and as 1,048,576 GPUs. All that a
 * replay does is in the times; reading a trace is not. */
static double million(void)
{
    struct made m = made_default;
    struct run run;
    double few = 1e9, many = 1e9, span_ns[2];
    m.ranks = 8;
    m.iterations = 100;
    m.layers = 50; /* 2 operations each, and one at the end */
    made_run(&run, &m);
    for (int round = 0; round < ROUNDS; round++) {
        double a = replay_s(&run, 1, &span_ns[0]), b = replay_s(&run, 131072, &span_ns[1]);
        few = a < few ? a : few;
        many = b < many ? b : many;
    }
    printf("\nreplay of %zu ranks x %zu operations: %.1f ms as recorded (iteration %.3f ms), %.1f "
           "ms as "
           "1,048,576 GPUs (%.3f ms)\n",
           run.nranks, run.ranks[0].nops, few * 1e3, span_ns[0] * 1e-6, many * 1e3,
           span_ns[1] * 1e-6);
    run_release(&run);
    return many / few;
}

int main(void)
{
    double rss_mib, large_s, rate, ratio, layers_ms;
    setvbuf(stdout, NULL, _IOLBF, 0);
    large_s = large(&rss_mib);
    rate = rates();
    layers_ms = hundred_layers();
    ratio = million();
    printf("{\"ops_per_s\": %.0f, \"ranks1024_s\": %.3f, \"ranks1024_rss_mib\": %.0f, "
           "\"million_ratio\": %.3f, \"layers100_ms\": %.1f}\n",
           rate, large_s, rss_mib, ratio, layers_ms);
    return 0;
}
