/* SPDX-License-Identifier: MIT
 *
 * Times of matrix products on this GPU, as a table that `specter validate` reads.
 *
 *     gemm [-b SECONDS] [-o FILE] [-s SOURCE]
 *     gemm -l                      the plan, one product a line, without a GPU
 *
 * Ends when the plan does, or behind the first product past the budget; the plan's order is such
 * that any part of it covers the space (plan.h). Clocks and limits are read, never set. Built from
 * the files of this folder and ../shared; needs no CUDA.
 */
#include "measure.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct options {
    double budget_s;
    const char *out, *source;
    bool list;
};

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* As cuBLAS says it, by columns: first w, then x. */
static const char *order_of(const struct gemm_shape *s)
{
    return s->w_trans ? (s->x_trans ? "TT" : "TN") : s->x_trans ? "NT" : "NN";
}

static void list(const struct gemm_plan *plan)
{
    for (size_t i = 0; i < plan->count; i++) {
        const struct gemm_case *c = &plan->cases[i];
        const struct gemm_shape *s = &c->shape;

        printf("%s %s %s %lldx%lldx%lld batch %lld %s\n", s->type->name, c->family,
               c->hot ? "hot" : "cold", (long long)s->m, (long long)s->n, (long long)s->k,
               (long long)s->batch, order_of(s));
    }
}

static void write_head(FILE *out, const struct device *d, const struct nvml *nvml)
{
    char date[32];
    struct gpu_state state;
    time_t now = time(NULL);

    nvml_look(nvml, &state);
    strftime(date, sizeof date, "%Y-%m-%d", gmtime(&now));
    fprintf(out, "# %s, %s: matrix products measured by tests/gpu/gemm\n", d->name, date);
    fprintf(out, "# driver %s, CUDA %d.%d of the driver, cuBLAS %zu\n",
            nvml->driver[0] ? nvml->driver : "unknown", d->cuda_version / 1000,
            d->cuda_version % 1000 / 10, d->blas_version);
    fprintf(out, "# SM clock at most %d MHz, memory clock at most %d MHz, power limit %.0f W\n",
            state.sm_max_MHz, state.mem_max_MHz, state.limit_W);
    fprintf(
        out,
        "# time_us: one call in a CUDA graph, the median; clock, power, temperature: meanwhile\n");
    fprintf(out, "source_id,gpu,dtype,m,n,k,batch,cache,time_us,tflops,spread,calls,repeats,lib,"
                 "order,family,sm_MHz,mem_MHz,power_W,celsius,reasons,notes\n");
}

static void write_row(FILE *out, const struct options *o, const struct device *d,
                      const struct gemm_case *c, const struct gemm_time *t)
{
    const struct gemm_shape *s = &c->shape;
    double flops = 2 * (double)s->m * (double)s->n * (double)s->k * (double)s->batch;

    fprintf(out, "%s,%s,%s,%lld,%lld,%lld,%lld,%s,%.3f,%.2f,%.4f,%d,%d,%s,%s,%s,", o->source,
            d->name, s->type->name, (long long)s->m, (long long)s->n, (long long)s->k,
            (long long)s->batch, c->hot ? "hot" : "cold", t->us, flops / t->us / 1e6, t->spread,
            t->calls, t->repeats, s->type->light ? "cublasLtMatmul" : "cublasGemmEx", order_of(s),
            c->family);
    fprintf(out, "%d,%d,%.1f,%d,%s,%s\n", t->state.sm_MHz, t->state.mem_MHz, t->state.power_W,
            t->state.celsius, nvml_reason_words(t->state.reasons),
            c->hold_s > 0 ? "run for a while before it counts" : "");
    fflush(out); /* what is ended from outside leaves what it has */
}

static void say_state(const char *when, const struct nvml *nvml)
{
    struct gpu_state s;

    nvml_look(nvml, &s);
    fprintf(stderr, "gemm: %s: SM clock %d MHz, memory clock %d MHz, %.0f of %.0f W, %d C, %s\n",
            when, s.sm_MHz, s.mem_MHz, s.power_W, s.limit_W, s.celsius,
            nvml_reason_words(s.reasons));
}

static int measure_all(FILE *out, const struct options *o, const struct gemm_plan *plan)
{
    double begun_s;
    size_t measured = 0, left_out = 0, i;
    struct device d;
    struct nvml nvml;

    if (device_open(&d) != 0)
        return 77;
    if (nvml_open(&nvml, d.bus_id) != 0)
        fprintf(stderr, "gemm: no NVML: clocks and power are not known\n");
    write_head(out, &d, &nvml);
    say_state("before", &nvml);
    begun_s = now_s();
    for (i = 0; i < plan->count && now_s() - begun_s < o->budget_s; i++) {
        const struct gemm_case *c = &plan->cases[i];
        struct gemm_time t = {0};
        const char *why = "";

        if (gemm_measure(&d, &nvml, c, &t, &why) == 0 && t.us > 0) {
            write_row(out, o, &d, c, &t);
            measured++;
            continue;
        }
        left_out++;
        fprintf(stderr, "gemm: %s %lldx%lldx%lld x %lld: %s\n", c->shape.type->name,
                (long long)c->shape.m, (long long)c->shape.n, (long long)c->shape.k,
                (long long)c->shape.batch, why);
    }
    say_state("after", &nvml);
    fprintf(stderr, "gemm: %zu products measured, %zu could not be, %zu of %zu were not come to\n",
            measured, left_out, plan->count - i, plan->count);
    return measured > 0 ? 0 : 1;
}

static int parse(int argc, char **argv, struct options *o)
{
    int option;

    *o = (struct options){.budget_s = 1e9, .source = "specter_gpu_suite"};
    while ((option = getopt(argc, argv, "b:o:s:l")) != -1) {
        char *end = NULL;

        if (option == 'b')
            o->budget_s = strtod(optarg, &end);
        else if (option == 'o')
            o->out = optarg;
        else if (option == 's')
            o->source = optarg;
        else if (option == 'l')
            o->list = true;
        else
            return -1;
        if (end != NULL && (*end != '\0' || end == optarg || !(o->budget_s > 0)))
            return -1;
    }
    return optind == argc ? 0 : -1;
}

int main(int argc, char **argv)
{
    struct gemm_plan plan;
    struct options o;
    FILE *out = stdout;
    int status = 0;

    if (parse(argc, argv, &o) != 0) {
        fprintf(stderr, "usage: gemm [-b SECONDS] [-o FILE] [-s SOURCE] | gemm -l\n");
        return 2;
    }
    if (o.out != NULL && (out = fopen(o.out, "w")) == NULL) {
        fprintf(stderr, "gemm: %s: %s\n", o.out, strerror(errno));
        return 1;
    }
    gemm_plan_make(&plan);
    if (o.list)
        list(&plan);
    else
        status = measure_all(out, &o, &plan);
    gemm_plan_free(&plan);
    if (ferror(out) | fclose(out)) {
        fprintf(stderr, "gemm: %s: not all could be written\n", o.out != NULL ? o.out : "stdout");
        return 1;
    }
    return status;
}
