/* SPDX-License-Identifier: MIT */
#include "bench/warm.h"

#include "bench/nvml.h"

#include <time.h>

#define SIDE_MAX 8192
#define SIDE_MIN 256
#define STEP_US 5e5
#define CALLS_MAX 4096

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int read_celsius(struct bench_warm *w)
{
    struct bench_gpu_state s;
    bench_nvml_read(w->device, &s);
    return w->celsius = s.celsius;
}

int bench_warm_open(struct bench_warm *w, const char *bus_id, struct bench_blas *blas, int celsius,
                    int limit_s, struct err *e)
{
    *w = (struct bench_warm){
        .blas = blas, .wanted = celsius, .limit_s = limit_s, .began_s = now_s()};
    w->device = bench_nvml_device(bus_id, e);
    if (w->device == NULL)
        return -1;
    if (read_celsius(w) < 0)
        return err_set(e, ERR_INPUT, "NVML does not tell the temperature of GPU %s", bus_id);
    return 0;
}

void bench_warm_close(struct bench_warm *w)
{
    bench_gpu_forget_event(w->blas->gpu, w->begin);
    bench_gpu_forget_event(w->blas->gpu, w->end);
    w->begin = w->end = NULL;
}

bool bench_warm_has_it(const struct bench_warm *w)
{
    return w->celsius >= w->wanted;
}

bool bench_warm_done(const struct bench_warm *w)
{
    return bench_warm_has_it(w) || w->spent_s >= w->limit_s || now_s() - w->began_s >= w->limit_s;
}

/* So many GEMMs, and what they took. */
static int run(struct bench_warm *w, const struct bench_gemm_shape *s, int calls, double *us,
               struct err *e)
{
    struct bench_gpu *gpu = w->blas->gpu;
    if (bench_gpu_event(gpu, &w->begin, e) < 0)
        return -1;
    for (int i = 0; i < calls; i++) {
        if (bench_blas_gemm(w->blas, s, 0, 0, e) < 0)
            return -1;
    }
    if (bench_gpu_event(gpu, &w->end, e) < 0 || bench_gpu_wait(gpu, NULL, NULL, e) < 0)
        return -1;
    *us = bench_gpu_us(gpu, w->begin, w->end);
    return *us >= 0 ? 0 : err_set(e, ERR_INPUT, "the GPU tells no time of a GEMM");
}

int bench_warm_step(struct bench_warm *w, struct err *e)
{
    struct bench_gemm_shape s = {.type = &bench_gemm_types[0], .batch = 1, .w_trans = true};
    int64_t side = SIDE_MAX;
    double us = 0, spent = 0;
    if (bench_warm_done(w))
        return 0;
    do {
        s.m = s.n = s.k = side;
        side /= 2;
    } while (side >= SIDE_MIN && (bench_blas_operand_set(&s) > w->blas->operand_bytes ||
                                  bench_blas_result_set(&s) > w->blas->result_bytes));
    for (int calls = 1; spent < STEP_US;) {
        if (run(w, &s, calls, &us, e) < 0)
            return -1;
        spent += us;
        calls = us <= 0 || STEP_US / us * calls > CALLS_MAX ? CALLS_MAX
                                                            : (int)(STEP_US / us * calls) + 1;
        if (us <= 0)
            break;
    }
    w->spent_s += spent / 1e6;
    read_celsius(w);
    return 0;
}
