/* SPDX-License-Identifier: MIT
 *
 * The cost of a GEMM on a GPU: its tiles on the multiprocessors, its bytes, the clock that the
 * power allows, the kernels before it. Names below are parameters (params.h), fields of profiles
 * (profile.h), or those of `predict gemm`; kcycles are 1000 cycles at boost_MHz.
 *
 *     us = launch_us + busy_us
 *     busy_us = start_kcycles + quantise + overlap(work, traffic) + adding_up
 *     overlap(x, y) = max(x, y) + 0.3*min(x, y)
 *
 *     kk = k, or max(k/split, 256) when split > 1
 *     loop = max(2*tm*tn*kk/(peak*clock*mma_share/sms),            arithmetic
 *                (min(tm,m)+min(tn,n))*kk*size/(sm_GBps*sharing),  operands from L2
 *                kk*size/128*step_kcycles*steps)                   depth of the pipeline
 *     tile = loop + tile_kcycles + min(tm,m)*min(tn,n)*size_c/sm_GBps
 *     waves = ceil(m/tm)*ceil(n/tn)*batch*split/sms
 *     work = tile when waves <= 1, else tile*(waves+0.15*(ceil(waves)-waves))
 *     adding_up = split_kcycles + 8*split*m*n*batch/l2 when split > 1
 *     l2 = max(sms*sm_GBps, mem_GBps*mem_share)
 *
 *     watts = peak_W*peak/fp16_tflops*sqrt(bits/16)
 *     peak_W of a profile without one = 1.0*fp16_tflops*(boost_MHz/1830)^2
 *     clock = min(1, (tdp_W/watts)^(1/3)), or clock_MHz/boost_MHz of a profile that has clock_MHz
 *
 * - The peak is that of the operands' type; fp32 takes that of `compute` when it is tf32, fp16 or
 *   bf16. fp4 operands have 4.5 bits; their kernels do not split k, and a pipeline step takes 5
 *   times as long.
 * - The fastest of 17 tile sizes and 9 splits is taken. A tile's longer side is at least 64 from
 *   compute capability 9.0 on, 128 from 10.0 on. `sharing` and `steps` are 4 and 1 from 9.0 on
 *   (clusters and a coalescer before L2, asynchronous MMA), else 1 and 2. 12.0 and other vendors'
 *   GPUs are as before 9.0.
 * - Clock: power grows with its cube (H100 SXM 0.89, B200 0.76, L40S 0.80 of boost, A100 1); so one
 *   share of the peak fits nearly all GPUs. CDNA 3 takes about twice as much a TFLOPS (peak_W).
 *   With clock_MHz below boost, kcycles and sm_GBps go with it.
 * - Traffic (`hot_sets` in cost.h): an operand is in L2 when the bytes touched since its last use
 *   leave room in l2_share*l2_MB, or half of that where L2 has two partitions, each of which keeps
 *   what its own multiprocessors read (8.0, 9.0, 10.x); hits fade out over the last 0.3 of it; half
 *   of a kept result goes to memory. Hits come at the rate of l2, the rest at mem_GBps*mem_share.
 * - quantise (cost.h): each kernel quant_us and its bytes, 2 read (dynamic 4) and one element
 *   written; fp4 0.25 kcycles a row and SM.
 *
 * Sources of the constants: all measured GPUs together for 0.3 (overlap), 0.15 and half of a kept
 * result; A100, H100, L40S, B200 and GB200 for 1.0 W a TFLOPS (0.85 to 1.2 fit as well); A100 and
 * L40S against H100 and B200 for sharing and steps (with 4, L2 delivers sms*sm_GBps = 5.8 TB/s on
 * H100, 0.62 of the 5120 bytes a cycle of A100's whitepaper, as on A100, 0.64; with 2 it would have
 * to deliver more than all of them); that whitepaper for halves of L2, *estimated* for 9.0 and 10.x
 * (an operand that all read is in both; as fitted, A100 and H100 keep 0.7 and 0.8 of all of L2, as
 * one half alone reads some); L40S (96 MB) for 0.3 of L2; B200 and GB200 for fp4's 5 and 0.25.
 * Nearly all rows are from NVIDIA's aiconfigurator. README.md says where this is wrong.
 */
#include "model/cost.h"
#include "model/params.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* ---- tiles ----
 *
 * C is cut into tiles, each multiprocessor computes one at a time, and where there are few of them
 * k is cut as well. Memory is not looked at here but as a floor. Every option is open to every
 * shape, and the time of each never falls when a dimension grows; so the time of the fastest never
 * does.
 */

/* The rates of one SM in a microsecond, and the costs of a tile. */
struct tile_rates {
    double sms;
    double in_size, out_size;   /* bytes of an element of A and B, of C */
    double flops;               /* per us and multiprocessor */
    double in_bytes, out_bytes; /* per us: operands from L2, results to it */
    double all_bytes;           /* per us: L2 to all multiprocessors */
    double step_us;             /* 128 bytes of k */
    double tile_us, split_us;
    double min_side; /* of the longer side: the smallest that the MMA instruction takes */
    bool may_split;
};

/* One tile on one multiprocessor, by what bounds it. */
struct tile_time {
    double compute_us, l2_us, steps_us; /* of the inner loop: the longest counts */
    double ends_us;                     /* prologue, epilogue, storing the result */
};

struct tile_choice {
    double us;             /* memory and split_us included */
    double work_us;        /* of the multiprocessors alone */
    double split_us;       /* adding up the parts of k */
    double m, n, split;    /* of a tile; parts of k */
    double waves;          /* tiles / multiprocessors */
    struct tile_time tile; /* of a group: its longest */
    const char *bound;     /* of work_us: "compute", "l2", "latency" */
};

/* Share of the shorter of work and memory traffic that is not hidden behind the longer. */
#define EXPOSED 0.3

/* Share of a wave that is not full which is lost: kernels that cut the last wave finer (stream-k),
 * and the choice among many tiles, save the rest. */
#define RAGGED 0.15

#define STEP_BYTES 128 /* of a row of A or B: what a tile's pipeline takes in at once */
#define MIN_SPLIT_K 256

struct tile {
    double m, n;
};

/* Large ones first: they set the mark that lets the others be skipped. */
static const struct tile tile_sizes[] = {
    {256, 256}, {256, 128}, {128, 256}, {128, 128}, {256, 64}, {64, 256},
    {128, 64},  {64, 128},  {64, 64},   {128, 32},  {32, 128}, {64, 32},
    {32, 64},   {128, 16},  {16, 128},  {64, 16},   {16, 64},
};
static const double splits[] = {1, 2, 3, 4, 6, 8, 12, 16, 32};

#define COUNT(_array) (sizeof(_array) / sizeof *(_array))

/* As fmax() and fmin(), of numbers: their calls would take a quarter of the time below. */
static inline double larger(double a, double b)
{
    return a > b ? a : b;
}

static inline double smaller(double a, double b)
{
    return a < b ? a : b;
}

/* One tile through `k` of k. */
static struct tile_time time_of(const struct tile_rates *r, const struct gemm_shape *s,
                                const struct tile *tile, double k)
{
    double rows = smaller(tile->m, (double)s->m), columns = smaller(tile->n, (double)s->n);
    return (struct tile_time){
        .compute_us = 2 * tile->m * tile->n * k / r->flops,
        .l2_us = (rows + columns) * k * r->in_size / r->in_bytes,
        .steps_us = k * r->in_size / STEP_BYTES * r->step_us,
        .ends_us = r->tile_us + rows * columns * r->out_size / r->out_bytes,
    };
}

static double loop_us(const struct tile_time *t)
{
    return larger(t->compute_us, larger(t->l2_us, t->steps_us));
}

static double batch_of(const struct gemm_shape *s)
{
    return s->batch > 0 ? (double)s->batch : 1;
}

static double tile_count(const struct gemm_shape *s, const struct tile *tile)
{
    return ceil((double)s->m / tile->m) * ceil((double)s->n / tile->n) * batch_of(s);
}

/* Partial results are written, and read again to be added up. */
static double split_us(const struct tile_rates *r, const struct gemm_shape *s, double split)
{
    double results = (double)s->m * (double)s->n * batch_of(s);
    return split > 1 ? r->split_us + 8 * split * results / r->all_bytes : 0;
}

static struct tile_choice price_tile(const struct tile_rates *r, const struct gemm_shape *shapes,
                                     size_t count, const struct tile *tile, double split,
                                     double mem_us)
{
    struct tile_choice c = {.m = tile->m, .n = tile->n, .split = split};
    double total_us = 0, longest_us = 0, loop;
    for (size_t i = 0; i < count; i++) {
        double k = (double)shapes[i].k;
        double part_of_k = split > 1 ? larger(ceil(k / split), MIN_SPLIT_K) : k;
        struct tile_time t = time_of(r, &shapes[i], tile, part_of_k);
        double us = loop_us(&t) + t.ends_us;
        double share = tile_count(&shapes[i], tile) * split / r->sms;
        total_us += share * us;
        c.waves += share;
        if (us >= longest_us) {
            longest_us = us;
            c.tile = t;
        }
    }
    loop = loop_us(&c.tile);
    c.bound = c.tile.ends_us >= loop      ? "latency"
              : c.tile.compute_us >= loop ? "compute"
              : c.tile.l2_us >= loop      ? "l2"
                                          : "latency";
    c.work_us = longest_us;
    if (c.waves > 1)
        c.work_us = larger(longest_us, total_us + (ceil(c.waves) - c.waves) * RAGGED * longest_us);
    c.split_us = split_us(r, &shapes[0], split);
    c.us = larger(c.work_us, mem_us) + EXPOSED * smaller(c.work_us, mem_us) + c.split_us;
    return c;
}

static bool is_open(const struct tile_rates *r, const struct tile *tile)
{
    return larger(tile->m, tile->n) >= r->min_side;
}

/* No way to use this tile is faster than its tiles spread evenly over the multiprocessors with k
 * uncut: parts of k are together at least k, and each has its ends. A little less than that, since
 * sums round differently. */
static double floor_us(const struct tile_rates *r, const struct gemm_shape *shapes, size_t count,
                       const struct tile *tile, double mem_us)
{
    double sum_us = 0;
    for (size_t i = 0; i < count; i++) {
        struct tile_time t = time_of(r, &shapes[i], tile, (double)shapes[i].k);
        sum_us += tile_count(&shapes[i], tile) / r->sms * (loop_us(&t) + t.ends_us);
    }
    return (1 - 1e-9) * (larger(sum_us, mem_us) + EXPOSED * smaller(sum_us, mem_us));
}

/* The fastest way to do `count` products, of one kind, in one launch whose bytes take mem_us. */
static struct tile_choice tiles_choose(const struct tile_rates *rates,
                                       const struct gemm_shape *shapes, size_t count, double mem_us)
{
    size_t nsplits = rates->may_split && count == 1 ? COUNT(splits) : 1;
    struct tile_choice best = {.us = INFINITY, .bound = "latency"};
    for (size_t i = 0; i < COUNT(tile_sizes); i++) {
        double least_us;
        if (!is_open(rates, &tile_sizes[i]))
            continue;
        least_us = floor_us(rates, shapes, count, &tile_sizes[i], mem_us);
        for (size_t s = 0; s < nsplits; s++) {
            struct tile_choice c;
            if (least_us + split_us(rates, &shapes[0], splits[s]) >= best.us)
                break;
            c = price_tile(rates, shapes, count, &tile_sizes[i], splits[s], mem_us);
            if (c.us < best.us)
                best = c;
        }
    }
    return best;
}

/* The figures below are the model's own, found once on all measured GPUs together (top of this
 * file). */
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
 * of them: warps issue the products, as on 8.9. 8.0, 9.0 and 10.x have an L2 of two halves. */
static const struct generation {
    double cc;
    double sharing;  /* of operands that come from L2 */
    double steps;    /* pipeline steps against step_kcycles */
    double min_side; /* of the longer side of a tile */
    double l2_parts; /* that each keep an operand which all multiprocessors read */
} generations[] = {{120, 1, 2, 16, 1}, {100, 4, 1, 128, 2}, {90, 4, 1, 64, 2},
                   {86, 1, 2, 16, 1},  {80, 1, 2, 16, 2},   {0, 1, 2, 16, 1}};

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
    double watts_a_tflops =
        gpu->peak_W > 0 ? gpu->peak_W / gpu->fp16_tflops : WATTS_PER_TFLOPS * speed * speed;
    double watts = watts_a_tflops * peak_tflops * sqrt(specter_dtype_bits(type) / 16.0);
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

static enum specter_dtype type_of_c(const struct gemm_shape *s)
{
    return s->type_c == SPECTER_DTYPE_UNKNOWN ? s->type : s->type_c;
}

static int machine_init(struct gemm_machine *m, const struct gpu_profile *gpu,
                        const struct gemm_shape *s, struct err *e)
{
    bool fp4 = s->type == SPECTER_FP4;
    const struct generation *g = generations;
    double sm_Bpus;
    m->gpu = gpu;
    m->peak_tflops = peak_for(gpu, s, e);
    if (!(m->peak_tflops > 0) || need(gpu, gpu->mem_GBps, "mem_GBps", e) < 0 ||
        need(gpu, gpu->sms, "sms", e) < 0 || need(gpu, gpu->boost_MHz, "boost_MHz", e) < 0)
        return -1;
    m->p = params_gemm(gpu);
    m->clock = gemm_clock(gpu, m->peak_tflops, s->type);
    m->kcycle_us = 1e3 / (gpu->boost_MHz * short_clock(gpu));
    m->mem_Bpus = gpu->mem_GBps * 1e3 * m->p.mem_share;
    while (gpu->cc < g->cc)
        g++;
    m->l2_keep_B = gpu->l2_MB * 1048576 * m->p.l2_share / g->l2_parts;
    sm_Bpus = m->p.sm_GBps * 1e3 * short_clock(gpu);
    m->rates = (struct tile_rates){
        .sms = gpu->sms,
        .in_size = element_bytes(s->type),
        .out_size = element_bytes(type_of_c(s)),
        .flops = m->peak_tflops * 1e6 / gpu->sms * m->clock * m->p.mma_share,
        .in_bytes = sm_Bpus * g->sharing,
        .out_bytes = sm_Bpus,
        .all_bytes = fmax(sm_Bpus * gpu->sms, m->mem_Bpus),
        .step_us = m->p.step_kcycles * m->kcycle_us * g->steps * (fp4 ? FP4_STEP : 1),
        .tile_us = m->p.tile_kcycles * m->kcycle_us,
        .split_us = m->p.split_kcycles * m->kcycle_us,
        .min_side = g->min_side,
        .may_split = !fp4,
    };
    return 0;
}

/* ---- bytes ---- */

struct operands {
    double a, b, c; /* bytes */
};

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
    double rows = (double)s->m, columns = (double)s->n, k = (double)s->k, batch = batch_of(s);
    enum specter_dtype type_c = type_of_c(s);
    struct operands o;
    double all, mem;
    if (specter_dtype_bits(s->type) == 0 || specter_dtype_bits(type_c) == 0)
        return err_set(e, ERR_USAGE, "a GEMM of type '%s' into '%s' has no known size",
                       specter_dtype_name(s->type), specter_dtype_name(type_c));
    o.a = rows * k * batch * element_bytes(s->type);
    o.b = k * columns * batch * element_bytes(s->type);
    o.c = rows * columns * batch * element_bytes(type_c);
    all = o.a + o.b + o.c;
    mem = memory_bytes(m, &o, s->hot_sets);
    cost->flops += 2 * rows * columns * k * batch;
    cost->bytes += all;
    cost->mem_bytes += mem;
    cost->quant_us += quantize_us(m, s, &o);
    /* All bytes at L2's rate, and what memory takes longer: so that rounding cannot make the time
     * fall where more bytes come from memory. */
    *traffic_us += all / m->rates.all_bytes + mem * (1 / m->mem_Bpus - 1 / m->rates.all_bytes);
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
        const struct gemm_shape *s = &shapes[i];
        if (s->type != shapes->type || s->type_c != shapes->type_c ||
            s->compute != shapes->compute || s->hot_sets != shapes->hot_sets ||
            s->quantize != shapes->quantize)
            return err_set(e, ERR_USAGE, "the GEMMs of a group differ in type");
        if (add_product(&m, s, &cost, &traffic_us, e) < 0)
            return -1;
    }
    finish(&m, shapes, count, traffic_us, &cost);
    *out = cost;
    return 0;
}

int model_gemm_candidates(const struct gpu_profile *gpu, const struct gemm_shape *shape,
                          struct gemm_candidate out[GEMM_CANDIDATES_MAX], struct err *e)
{
    static_assert(COUNT(tile_sizes) * COUNT(splits) == GEMM_CANDIDATES_MAX, "room for all of them");
    struct gemm_cost cost;
    struct gemm_machine m;
    size_t nsplits;
    int n = 0;
    if (machine_init(&m, gpu, shape, e) < 0 || model_gemm(gpu, shape, &cost, e) < 0)
        return -1;
    if (!(cost.flops > 0))
        return 0;
    nsplits = m.rates.may_split ? COUNT(splits) : 1;
    for (size_t i = 0; i < COUNT(tile_sizes); i++) {
        for (size_t s = 0; s < nsplits && is_open(&m.rates, &tile_sizes[i]); s++) {
            struct tile_choice t =
                price_tile(&m.rates, shape, 1, &tile_sizes[i], splits[s], cost.traffic_us);
            out[n++] = (struct gemm_candidate){
                .tile_m = t.m,
                .tile_n = t.n,
                .split = t.split,
                .waves = t.waves,
                .compute_us = t.tile.compute_us,
                .l2_us = t.tile.l2_us,
                .steps_us = t.tile.steps_us,
                .ends_us = t.tile.ends_us,
                .work_us = t.work_us,
                .split_us = t.split_us,
                .busy_us = cost.start_us + cost.quant_us + t.us,
                .chosen = t.m == cost.tile_m && t.n == cost.tile_n && t.split == cost.split,
            };
        }
    }
    return n;
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
