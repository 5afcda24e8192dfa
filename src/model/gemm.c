/* SPDX-License-Identifier: MIT
 *
 * What a GEMM costs on a GPU: its bytes, the clock that the power allows, the kernels
 * before it; the tiles are in gemm_tiles.c. Derivation: README.md beside this file.
 */
#include "model/cost.h"
#include "model/gemm_rate.h"
#include "model/gemm_tiles.h"
#include "model/params.h"

#include <math.h>
#include <string.h>

/* The figures below are the model's own, found once on all measured GPUs together (README.md). */
#define WATTS_PER_TFLOPS 1.0 /* 16-bit products at REFERENCE_MHZ, the whole board */
#define REFERENCE_MHZ 1830.0
/* Share of the cache that keeps operands over which hits fade out. */
#define CACHE_SLOPE 0.3
/* Share of a result that goes to memory in spite of a cache that holds it. */
#define HOT_WRITES 0.5
/* A pipeline step of block-scaled fp4, its scales included. */
#define FP4_STEP 5
/* An fp4 quantising kernel, for each row that a multiprocessor gets. */
#define FP4_ROW_KCYCLES 0.25
#define BENCH_SETS_MAX 5

/* By compute capability: from 9.0 on blocks of a cluster share what one of them loads, and loads
 * and products run asynchronously; the MMA instruction's larger side grows. 12.0 (RTX) has neither
 * of them: warps issue the products, as on 8.9. */
static const struct generation {
    double cc;
    double sharing;  /* of operands that come from L2 */
    double steps;    /* pipeline steps against step_kcycles */
    double min_side; /* of the longer side of a tile */
} generations[] = {{120, 1, 2, 16}, {100, 2, 1, 128}, {90, 2, 1, 64}, {0, 1, 2, 16}};

const char *const model_gemm_assumptions[] = {
    "time = launch + start + the longer of the tiles on the multiprocessors and the bytes at the "
    "memory's share, and 0.3 of the shorter",
    "the fastest of 17 tile sizes and 9 ways to cut k; a last wave that is not full costs 0.15 of "
    "what it leaves idle",
    "the clock falls with the cube root of the power that the dense peak would take",
    "operands are read once and the result is written once, from and to memory; of a hot call what "
    "fits in L2 stays there",
    NULL,
};

double gemm_clock(const struct gpu_profile *gpu, double peak_tflops, enum specter_dtype type)
{
    double speed = gpu->boost_MHz / REFERENCE_MHZ;
    double watts =
        WATTS_PER_TFLOPS * peak_tflops * sqrt(specter_dtype_bits(type) / 16.0) * speed * speed;
    if (gpu->clock_MHz > 0)
        return gpu->clock_MHz / gpu->boost_MHz;
    return gpu->tdp_W > 0 && watts > gpu->tdp_W ? cbrt(gpu->tdp_W / watts) : 1;
}

/* The clock of short kernels, against boost_MHz: power does not hold them back, a held clock does.
 * The fit's own ones ran at that or above. */
static double short_clock(const struct gpu_profile *gpu)
{
    return gpu->clock_MHz > 0 ? fmin(1, gpu->clock_MHz / gpu->boost_MHz) : 1;
}

/* The parts of a GEMM's price. */
struct gemm_machine {
    const struct gpu_profile *gpu;
    struct gemm_params p;
    struct tile_rates rates;
    double peak_tflops, clock;
    double kcycle_us;
    double mem_Bpus;  /* sustained */
    double l2_keep_B; /* bytes that stay from call to call */
};

/* Bytes of an element; fp4 has a scale of one byte for each 16. */
static double element_bytes(enum specter_dtype type)
{
    return type == SPECTER_FP4 ? 0.5625 : specter_dtype_bits(type) / 8.0;
}

static int need(const struct gpu_profile *gpu, double figure, const char *name, struct err *e)
{
    if (figure > 0)
        return 0;
    return err_set(e, ERR_USAGE, "GPU profile '%s' lacks %s", gpu->name, name);
}

/* The dense peak for the shape's types, or 0 with e filled. */
static double peak_for(const struct gpu_profile *gpu, const struct gemm_shape *s, struct err *e)
{
    const struct profile_field *field = gpu_peak_field(s->type, s->compute);
    double peak = field != NULL ? profile_value(gpu, field) : 0;
    if (field == NULL)
        err_set(e, ERR_USAGE, "no peak is known for GEMMs of type '%s'",
                specter_dtype_name(s->type));
    else if (!(peak > 0))
        err_set(e, ERR_USAGE, "GPU profile '%s' lacks %s", gpu->name, field->name);
    return peak > 0 ? peak : 0;
}

static const struct generation *generation_of(const struct gpu_profile *gpu)
{
    const struct generation *g = generations;
    while (gpu->cc < g->cc)
        g++;
    return g;
}

static enum specter_dtype type_of_c(const struct gemm_shape *s)
{
    return s->type_c == SPECTER_DTYPE_UNKNOWN ? s->type : s->type_c;
}

static void set_rates(struct gemm_machine *m, const struct gemm_shape *s)
{
    bool fp4 = s->type == SPECTER_FP4;
    const struct generation *g = generation_of(m->gpu);
    double sm_Bpus = m->p.sm_GBps * 1e3 * short_clock(m->gpu);
    m->rates = (struct tile_rates){
        .sms = m->gpu->sms,
        .in_size = element_bytes(s->type),
        .out_size = element_bytes(type_of_c(s)),
        .flops = m->peak_tflops * 1e6 / m->gpu->sms * m->clock * m->p.mma_share,
        .in_bytes = sm_Bpus * g->sharing,
        .out_bytes = sm_Bpus,
        .all_bytes = fmax(sm_Bpus * m->gpu->sms, m->mem_Bpus),
        .step_us = m->p.step_kcycles * m->kcycle_us * g->steps * (fp4 ? FP4_STEP : 1),
        .tile_us = m->p.tile_kcycles * m->kcycle_us,
        .split_us = m->p.split_kcycles * m->kcycle_us,
        .min_side = g->min_side,
        .may_split = !fp4,
    };
}

static int machine_init(struct gemm_machine *m, const struct gpu_profile *gpu,
                        const struct gemm_shape *s, struct err *e)
{
    m->gpu = gpu;
    m->peak_tflops = peak_for(gpu, s, e);
    if (!(m->peak_tflops > 0) || need(gpu, gpu->mem_GBps, "mem_GBps", e) < 0 ||
        need(gpu, gpu->sms, "sms", e) < 0 || need(gpu, gpu->boost_MHz, "boost_MHz", e) < 0)
        return -1;
    m->p = params_gemm(gpu);
    m->clock = gemm_clock(gpu, m->peak_tflops, s->type);
    m->kcycle_us = 1e3 / (gpu->boost_MHz * short_clock(gpu));
    m->mem_Bpus = gpu->mem_GBps * 1e3 * m->p.mem_share;
    m->l2_keep_B = gpu->l2_MB * 1048576 * m->p.l2_share;
    set_rates(m, s);
    return 0;
}

/* ---- bytes ---- */

struct operands {
    double a, b, c; /* bytes */
};

static int operands_of(const struct gemm_shape *s, struct operands *o, struct err *e)
{
    double m = (double)s->m, n = (double)s->n, k = (double)s->k;
    double batch = s->batch > 0 ? (double)s->batch : 1;
    enum specter_dtype type_c = type_of_c(s);
    if (specter_dtype_bits(s->type) == 0 || specter_dtype_bits(type_c) == 0)
        return err_set(e, ERR_USAGE, "a GEMM of type '%s' into '%s' has no known size",
                       specter_dtype_name(s->type), specter_dtype_name(type_c));
    o->a = m * k * batch * element_bytes(s->type);
    o->b = k * n * batch * element_bytes(s->type);
    o->c = m * n * batch * element_bytes(type_c);
    return 0;
}

/* Share of operands still in L2 when `between` bytes were touched since their last use. */
static double hits(const struct gemm_machine *m, double between)
{
    double left = m->l2_keep_B - between;
    return left > 0 ? fmin(1, left / (CACHE_SLOPE * m->l2_keep_B)) : 0;
}

/* Bytes that cross the memory; the rest of a hot loop's come from L2. */
static double memory_bytes(const struct gemm_machine *m, const struct operands *o, uint32_t sets)
{
    double once = o->a + o->b + o->c, near, far;
    if (sets == 0)
        return once;
    far = hits(m, once + (sets - 1) * o->b);
    near = hits(m, once);
    return o->b * (1 - far) + o->a * (1 - near) + o->c * (1 - near * (1 - HOT_WRITES));
}

static double quantize_us(const struct gemm_machine *m, const struct gemm_shape *s,
                          const struct operands *o)
{
    double kernels = s->quantize == GEMM_QUANTIZE_DYNAMIC ? 3 : 1;
    double reads = s->quantize == GEMM_QUANTIZE_DYNAMIC ? 2 : 1;
    double elements = o->a / element_bytes(s->type), bytes, hit, rows_us = 0;
    if (s->quantize == GEMM_QUANTIZE_NONE)
        return 0;
    bytes = reads * 2 * elements + o->a;
    hit = s->hot_sets > 0 ? hits(m, 2 * elements + o->a + o->b + o->c) : 0;
    if (s->type == SPECTER_FP4)
        rows_us = (double)s->m / m->gpu->sms * FP4_ROW_KCYCLES * m->kcycle_us;
    return kernels * m->p.quant_us + rows_us +
           bytes * (hit / m->rates.all_bytes + (1 - hit) / m->mem_Bpus);
}

/* ---- time ---- */

/* Adds one product's share of everything that does not depend on tiles. *traffic_us: its bytes. */
static int add_product(const struct gemm_machine *m, const struct gemm_shape *s,
                       struct gemm_cost *cost, double *traffic_us, struct err *e)
{
    double batch = s->batch > 0 ? (double)s->batch : 1;
    struct operands o = {0};
    double all, mem;
    if (operands_of(s, &o, e) < 0)
        return -1;
    all = o.a + o.b + o.c;
    mem = memory_bytes(m, &o, s->hot_sets);
    cost->flops += 2 * (double)s->m * (double)s->n * (double)s->k * batch;
    cost->bytes += all;
    cost->mem_bytes += mem;
    cost->quant_us += quantize_us(m, s, &o);
    *traffic_us += mem / m->mem_Bpus + (all - mem) / m->rates.all_bytes;
    return 0;
}

static void finish(const struct gemm_machine *m, const struct gemm_shape *shapes, size_t count,
                   double traffic_us, struct gemm_cost *cost)
{
    double start_us = m->p.start_kcycles * m->kcycle_us;
    double launch_us = m->gpu->launch_us + start_us + cost->quant_us;
    struct tile_choice tiles = {.bound = "launch"};
    if (cost->flops > 0) {
        tiles = tiles_choose(&m->rates, shapes, count, traffic_us);
        cost->busy_us = start_us + cost->quant_us + tiles.us;
    }
    cost->compute_us = cost->flops / (m->peak_tflops * 1e6);
    cost->memory_us = cost->mem_bytes / (m->gpu->mem_GBps * 1e3);
    cost->start_us = start_us;
    cost->traffic_us = traffic_us;
    cost->us = cost->busy_us + m->gpu->launch_us;
    cost->tflops = cost->us > 0 ? cost->flops / (cost->us * 1e6) : 0;
    cost->clock = m->clock;
    cost->tile_m = tiles.m;
    cost->tile_n = tiles.n;
    cost->split = tiles.split;
    cost->waves = tiles.waves;
    if (launch_us >= tiles.us)
        cost->bound = "launch";
    else
        cost->bound = traffic_us >= tiles.work_us ? "memory" : tiles.bound;
}

int model_gemm(const struct gpu_profile *gpu, const struct gemm_shape *shape, struct gemm_cost *out,
               struct err *e)
{
    return model_gemm_grouped(gpu, shape, 1, out, e);
}

static bool same_kind(const struct gemm_shape *a, const struct gemm_shape *b)
{
    return a->type == b->type && a->type_c == b->type_c && a->compute == b->compute &&
           a->hot_sets == b->hot_sets && a->quantize == b->quantize;
}

int model_gemm_grouped(const struct gpu_profile *gpu, const struct gemm_shape *shapes, size_t count,
                       struct gemm_cost *out, struct err *e)
{
    struct gemm_cost cost = {0};
    struct gemm_machine m;
    double traffic_us = 0;
    if (count == 0)
        return err_set(e, ERR_USAGE, "a group of GEMMs is empty");
    if (machine_init(&m, gpu, &shapes[0], e) < 0)
        return -1;
    for (size_t i = 0; i < count; i++) {
        if (!same_kind(&shapes[0], &shapes[i]))
            return err_set(e, ERR_USAGE, "the GEMMs of a group differ in type");
        if (add_product(&m, &shapes[i], &cost, &traffic_us, e) < 0)
            return -1;
    }
    finish(&m, shapes, count, traffic_us, &cost);
    *out = cost;
    return 0;
}

static struct gemm_candidate candidate_of(const struct tile_choice *t, const struct gemm_cost *cost)
{
    return (struct gemm_candidate){
        .tile_m = t->m,
        .tile_n = t->n,
        .split = t->split,
        .waves = t->waves,
        .compute_us = t->tile.compute_us,
        .l2_us = t->tile.l2_us,
        .steps_us = t->tile.steps_us,
        .ends_us = t->tile.ends_us,
        .work_us = t->work_us,
        .split_us = t->split_us,
        .busy_us = cost->start_us + cost->quant_us + t->us,
        .chosen = t->m == cost->tile_m && t->n == cost->tile_n && t->split == cost->split,
    };
}

int model_gemm_candidates(const struct gpu_profile *gpu, const struct gemm_shape *shape,
                          struct gemm_candidate out[GEMM_CANDIDATES_MAX], struct err *e)
{
    struct tile_choice all[TILES_MAX];
    struct gemm_cost cost;
    struct gemm_machine m;
    size_t n;
    if (machine_init(&m, gpu, shape, e) < 0 || model_gemm(gpu, shape, &cost, e) < 0)
        return -1;
    if (!(cost.flops > 0))
        return 0;
    n = tiles_all(&m.rates, shape, cost.traffic_us, all);
    for (size_t i = 0; i < n; i++)
        out[i] = candidate_of(&all[i], &cost);
    return (int)n;
}

enum specter_dtype gemm_usual_type_c(enum specter_dtype type)
{
    if (type == SPECTER_FP8E4M3 || type == SPECTER_FP8E5M2 || type == SPECTER_FP4)
        return SPECTER_BF16;
    return type == SPECTER_INT8 ? SPECTER_INT32 : type;
}

void gemm_shape_of_bench(const struct gpu_profile *gpu, const char *lib, struct gemm_shape *shape)
{
    double weights = (double)shape->n * (double)shape->k * specter_dtype_bits(shape->type) / 8;
    double sets = weights > 0 ? ceil(gpu->l2_MB * 1048576 / weights) : 1;
    shape->hot_sets = 1;
    shape->quantize = GEMM_QUANTIZE_NONE;
    if (specter_dtype_bits(shape->type) <= 8)
        shape->type_c = gemm_usual_type_c(shape->type);
    if (lib == NULL || strncmp(lib, "torch_flow", strlen("torch_flow")) != 0)
        return;
    shape->hot_sets = (uint32_t)fmax(1, fmin(BENCH_SETS_MAX, sets));
    if (shape->type == SPECTER_FP8E4M3 || shape->type == SPECTER_FP8E5M2)
        shape->quantize = GEMM_QUANTIZE_DYNAMIC;
    else if (shape->type == SPECTER_FP4)
        shape->quantize = GEMM_QUANTIZE_STATIC;
}
