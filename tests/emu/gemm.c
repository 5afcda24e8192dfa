/* SPDX-License-Identifier: MIT
 *
 * Timing walks the output in tiles: each SM takes a tile, computes it over k at a share of its
 * peak, and takes the next; the last round may leave SMs idle. Memory bounds the whole. The library
 * that is imitated would choose the tile that finishes first on an idle GPU, so that is what is
 * taken. Communication beside it takes SMs and memory away (compute.h).
 */
#include "gemm.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compute.h"
#include "fabric.h"
#include "hash.h"
#include "lane.h"
#include "listen.h"
#include "number.h"

struct tile_size {
    unsigned rows, cols;
    double efficiency; /* of a big tile: small ones load more per product */
};

static const struct tile_size tiles[] = {
    {256, 128, 1.0}, {128, 128, 0.94}, {128, 64, 0.82}, {64, 64, 0.66}, {64, 32, 0.45},
};

/* Types of elements, and how many numbers one is: two where it is complex. */
static const struct element {
    cudaDataType type;
    int number, parts;
} elements[] = {
    {CUDA_R_32F, NUMBER_F32, 1},        {CUDA_R_64F, NUMBER_F64, 1},
    {CUDA_R_16F, NUMBER_F16, 1},        {CUDA_R_16BF, NUMBER_BF16, 1},
    {CUDA_R_8I, NUMBER_I8, 1},          {CUDA_R_32I, NUMBER_I32, 1},
    {CUDA_R_8F_E4M3, NUMBER_F8E4M3, 1}, {CUDA_R_8F_E5M2, NUMBER_F8E5M2, 1},
    {CUDA_C_32F, NUMBER_F32, 2},        {CUDA_C_64F, NUMBER_F64, 2},
};

static const struct element *element_of(cudaDataType type)
{
    for (size_t i = 0; i < sizeof elements / sizeof *elements; i++)
        if (elements[i].type == type)
            return &elements[i];
    return NULL;
}

size_t emu_gemm_type_size(cudaDataType type)
{
    const struct element *e = element_of(type);
    return e != NULL ? number_size((enum number)e->number) * (size_t)e->parts : 0;
}

static double peak_TFLOPS(const struct gemm *g)
{
    const struct emu_fabric *f = emu_fabric();
    switch (g->a.type) {
    case CUDA_R_64F:
    case CUDA_C_64F:
        return f->peak_fp64_TFLOPS;
    case CUDA_R_8I:
    case CUDA_R_8F_E4M3:
    case CUDA_R_8F_E5M2:
        return f->peak_fp8_TFLOPS;
    case CUDA_R_32F:
    case CUDA_C_32F:
        if (g->compute == CUBLAS_COMPUTE_32F_FAST_TF32)
            return f->peak_tf32_TFLOPS;
        if (g->compute == CUBLAS_COMPUTE_32F_FAST_16F || g->compute == CUBLAS_COMPUTE_32F_FAST_16BF)
            return f->peak_fp16_TFLOPS;
        return f->peak_fp32_TFLOPS;
    default:
        return f->peak_fp16_TFLOPS;
    }
}

static double tile_count(const struct gemm *g, const struct tile_size *t)
{
    return ceil((double)g->m / t->rows) * ceil((double)g->n / t->cols) * (double)g->batch;
}

/* Rounds of tiles over the SMs, each as long as one tile takes. */
static double tiled_ns(const struct gemm *g, const struct tile_size *t, double rounds)
{
    const struct emu_fabric *f = emu_fabric();
    double depth = ceil((double)g->k / 32) * 32;
    double flops = (element_of(g->a.type)->parts == 2 ? 8.0 : 2.0) * t->rows * t->cols * depth;
    double rate = peak_TFLOPS(g) * 1e3 / (double)f->sms * f->gemm_efficiency * t->efficiency;
    return rounds * flops / rate;
}

/* On all SMs. */
static double alone_ns(const struct gemm *g, const struct tile_size *t)
{
    return tiled_ns(g, t, ceil(tile_count(g, t) / (double)emu_fabric()->sms));
}

static const struct tile_size *best_tile(const struct gemm *g)
{
    const struct tile_size *best = &tiles[0];
    for (size_t i = 1; i < sizeof tiles / sizeof *tiles; i++)
        if (alone_ns(g, &tiles[i]) < alone_ns(g, best))
            best = &tiles[i];
    return best;
}

static double memory_ns(const struct gemm *g)
{
    const struct emu_fabric *f = emu_fabric();
    double in = (double)g->m * (double)g->k * (double)emu_gemm_type_size(g->a.type) +
                (double)g->k * (double)g->n * (double)emu_gemm_type_size(g->b.type);
    double out = (double)g->m * (double)g->n * (double)emu_gemm_type_size(g->d.type);
    if (g->beta_bits[0] || g->beta_bits[1] || g->device_scalars)
        out *= 2;
    return (in + out) * (double)g->batch / (f->memory_GBps * f->memory_efficiency);
}

static uint64_t duration(const struct gemm *g, const struct emu_turn *turn)
{
    const struct emu_fabric *f = emu_fabric();
    const struct tile_size *tile = best_tile(g);
    double overhead = (double)f->gemm_overhead_ns, memory = memory_ns(g), tiled;
    uint64_t hash = emu_hash(emu_hash(f->seed, (uint64_t)emu_rank()), turn->start);
    double slow = 1 + f->gpu_jitter * emu_unit(emu_hash(hash, g->m * g->n + g->k));
    uint64_t alone;
    overhead /= turn->clock;
    alone = (uint64_t)((fmax(alone_ns(g, tile) / turn->clock, memory) + overhead) * slow);
    if (!emu_compute_shares(turn, alone))
        return alone;
    tiled = emu_compute_tiles(turn, tile_count(g, tile), tiled_ns(g, tile, 1) / turn->clock * slow);
    return (uint64_t)(fmax(tiled, emu_compute_memory(turn, memory * slow)) + overhead * slow);
}

/* Complex or, with an imaginary part of 0, real. */
struct complex_value {
    double re, im;
};

static struct complex_value get(const void *data, size_t at, const struct element *e)
{
    enum number number = (enum number)e->number;
    if (e->parts == 1)
        return (struct complex_value){number_get(data, at, number), 0};
    return (struct complex_value){number_get(data, 2 * at, number),
                                  number_get(data, 2 * at + 1, number)};
}

static struct complex_value times(struct complex_value a, struct complex_value b)
{
    return (struct complex_value){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

static void *matrix_of(const struct gemm_matrix *x, uint64_t batch)
{
    return x->array != NULL ? x->array[batch]
                            : (char *)x->data + (int64_t)batch * x->batch_step *
                                                    (int64_t)emu_gemm_type_size(x->type);
}

static struct complex_value element(const struct gemm_matrix *x, const void *data, uint64_t row,
                                    uint64_t col)
{
    int64_t at = (int64_t)row * x->row_step + (int64_t)col * x->col_step;
    struct complex_value value = get(data, (size_t)at, element_of(x->type));
    if (x->conjugate)
        value.im = -value.im;
    return value;
}

static double epilogue(const struct gemm *g, double value, uint64_t row)
{
    if (g->epilogue & CUBLASLT_EPILOGUE_BIAS && g->bias != NULL)
        value += number_get(g->bias, row, (enum number)element_of(g->d.type)->number);
    if (g->epilogue & CUBLASLT_EPILOGUE_RELU && value < 0)
        value = 0;
    if (g->epilogue & CUBLASLT_EPILOGUE_GELU)
        value *= 0.5 * (1 + tanh(0.7978845608028654 * (value + 0.044715 * value * value * value)));
    return value;
}

static void put(const struct gemm *g, void *data, uint64_t row, uint64_t col,
                struct complex_value value)
{
    const struct element *e = element_of(g->d.type);
    enum number number = (enum number)e->number;
    size_t at = (size_t)((int64_t)row * g->d.row_step + (int64_t)col * g->d.col_step);
    number_put(data, at * (size_t)e->parts, number, epilogue(g, value.re, row));
    if (e->parts == 2)
        number_put(data, at * 2 + 1, number, value.im);
}

static struct complex_value scalar(const struct gemm *g, const uint64_t bits[2], const void *device)
{
    return get(g->device_scalars ? device : bits, 0, element_of(g->scale_type));
}

/* Most products are real: they are spared the rest. */
static struct complex_value dot(const struct complex_value *a, const struct complex_value *b,
                                uint64_t k, bool complex)
{
    struct complex_value sum = {0, 0};
    for (uint64_t l = 0; l < k && !complex; l++)
        sum.re += a[l].re * b[l].re;
    for (uint64_t l = 0; l < k && complex; l++) {
        struct complex_value product = times(a[l], b[l]);
        sum.re += product.re;
        sum.im += product.im;
    }
    return sum;
}

/* One matrix of the batch, its factors first copied to rows and columns that lie in a piece. */
static void multiply(const struct gemm *g, uint64_t batch, struct complex_value *a,
                     struct complex_value *b)
{
    const void *from_a = matrix_of(&g->a, batch), *from_b = matrix_of(&g->b, batch);
    const void *from_c = matrix_of(&g->c, batch);
    void *to = matrix_of(&g->d, batch);
    struct complex_value alpha = scalar(g, g->alpha_bits, g->alpha);
    struct complex_value beta = scalar(g, g->beta_bits, g->beta);
    bool complex = element_of(g->a.type)->parts == 2;
    for (uint64_t l = 0; l < g->k; l++) {
        for (uint64_t i = 0; i < g->m; i++)
            a[i * g->k + l] = element(&g->a, from_a, i, l);
        for (uint64_t j = 0; j < g->n; j++)
            b[j * g->k + l] = element(&g->b, from_b, l, j);
    }
    for (uint64_t j = 0; j < g->n; j++)
        for (uint64_t i = 0; i < g->m; i++) {
            struct complex_value sum = times(alpha, dot(&a[i * g->k], &b[j * g->k], g->k, complex));
            if (beta.re != 0 || beta.im != 0) {
                struct complex_value more = times(beta, element(&g->c, from_c, i, j));
                sum.re += more.re;
                sum.im += more.im;
            }
            put(g, to, i, j, sum);
        }
}

static void compute(const struct gemm *g)
{
    struct complex_value *a = emu_alloc(g->m * g->k * sizeof *a),
                         *b = emu_alloc(g->n * g->k * sizeof *b);
    for (uint64_t i = 0; i < g->batch; i++)
        multiply(g, i, a, b);
    free(a);
    free(b);
}

static uint64_t run_gemm(void *data, const struct emu_turn *turn, CUresult *error)
{
    const struct gemm *g = data;
    double products = (double)g->m * (double)g->n * (double)g->k * (double)g->batch;
    uint64_t end;
    (void)error;
    if (products <= (double)emu_fabric()->gemm_products)
        compute(g);
    end = turn->start + duration(g, turn);
    emu_lane_gemm(turn->place, turn->start, end);
    return end;
}

/* Names as the libraries of CUDA 13 give them to their kernels for compute capability 9.0. */
static const struct kernel_family {
    cudaDataType type;
    bool tensor;                          /* fp32 in TF32 */
    const char *before, *between, *after; /* the tile, and the layouts of A and B */
    const char *launch;
} families[] = {
    {CUDA_R_16BF, true, "nvjet_tst_", "_64x4_2x1_v_bz_", "T", "cuLaunchKernelEx"},
    {CUDA_R_16F, true, "nvjet_hsh_", "_64x4_2x1_v_bz_", "T", "cuLaunchKernelEx"},
    {CUDA_R_8F_E4M3, true, "nvjet_qqtst_", "_128x4_2x1_v_bz_", "T", "cuLaunchKernelEx"},
    {CUDA_R_32F, true, "sm90_xmma_gemm_f32f32_tf32f32_f32_tilesize",
     "x32_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas_", "", "cudaLaunchKernel"},
    {CUDA_R_32F, false, "cutlass_80_simt_sgemm_", "_8x4_", "_align1", "cudaLaunchKernel"},
    {CUDA_R_64F, true, "cutlass_80_tensorop_d884gemm_", "_16x3_", "_align1", "cudaLaunchKernel"},
    {CUDA_R_8I, true, "cutlass_80_tensorop_i16832gemm_s8_", "_128x4_", "_align16",
     "cudaLaunchKernel"},
};

static const struct kernel_family *family_of(const struct gemm *g)
{
    static const struct kernel_family other = {CUDA_C_32F, false,     "cutlass_80_simt_gemm_",
                                               "_8x4_",    "_align1", "cudaLaunchKernel"};
    bool tensor = g->a.type != CUDA_R_32F || g->compute == CUBLAS_COMPUTE_32F_FAST_TF32;
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (families[i].type == g->a.type && families[i].tensor == tensor)
            return &families[i];
    return &other;
}

static void describe_gemm(const void *data, struct emu_description *what)
{
    const struct gemm *g = data;
    const struct kernel_family *family = family_of(g);
    const struct tile_size *t = best_tile(g);
    char name[160];
    snprintf(name, sizeof name, "%s%ux%u%s%c%c%s", family->before, t->rows, t->cols,
             family->between, g->a.row_step == 1 ? 'n' : 't', g->b.row_step == 1 ? 'n' : 't',
             family->after);
    *what = (struct emu_description){.type = EMU_KERNEL,
                                     .name = emu_keep_name(name),
                                     .launch = family->launch,
                                     .grid = {(unsigned)ceil((double)g->m / t->rows),
                                              (unsigned)ceil((double)g->n / t->cols),
                                              (unsigned)g->batch},
                                     .block = {384, 1, 1},
                                     .shared_bytes = 4 * 64 * 2 * (t->rows + t->cols)};
}

static const struct emu_kind gemm_kind = {.name = "gemm",
                                          .run = run_gemm,
                                          .release = free,
                                          .describe = describe_gemm,
                                          .load = EMU_LOAD_GEMM};

cudaDataType emu_gemm_scale_type(cublasComputeType_t compute, cudaDataType type)
{
    const struct element *e = element_of(type);
    bool complex = e != NULL && e->parts == 2;
    switch ((int)compute) {
    case CUBLAS_COMPUTE_16F:
    case CUBLAS_COMPUTE_16F_PEDANTIC:
        return CUDA_R_16F;
    case CUBLAS_COMPUTE_64F:
    case CUBLAS_COMPUTE_64F_PEDANTIC:
    case 79: /* CUBLAS_COMPUTE_64F_EMULATED_FIXEDPOINT, which older headers lack */
        return complex ? CUDA_C_64F : CUDA_R_64F;
    case CUBLAS_COMPUTE_32I:
    case CUBLAS_COMPUTE_32I_PEDANTIC:
        return CUDA_R_32I;
    default:
        return complex ? CUDA_C_32F : CUDA_R_32F;
    }
}

void emu_gemm_scalars(struct gemm *g, const void *alpha, const void *beta, cudaDataType scale_type,
                      bool on_device)
{
    size_t size = emu_gemm_type_size(scale_type);
    g->scale_type = scale_type;
    g->device_scalars = on_device;
    g->alpha = alpha;
    g->beta = beta;
    if (on_device)
        return;
    memcpy(g->alpha_bits, alpha, size);
    memcpy(g->beta_bits, beta, size);
}

cublasStatus_t emu_gemm_submit(struct emu_thread *self, CUstream handle, const struct gemm *g)
{
    const struct element *a = element_of(g->a.type), *b = element_of(g->b.type);
    const struct element *d = element_of(g->d.type);
    struct CUstream_st *stream;
    struct gemm *copy;
    CUresult result;
    if (a == NULL || b == NULL || d == NULL || a->parts != b->parts || a->parts != d->parts)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    if (!g->m || !g->n || !g->batch)
        return CUBLAS_STATUS_SUCCESS;
    result = emu_stream_find(self, handle, NULL, &stream);
    if (!result) {
        copy = emu_alloc(sizeof *copy);
        *copy = *g;
        result = emu_submit(self, stream, emu_work_new(&gemm_kind, copy), self->clock);
    }
    return result ? CUBLAS_STATUS_EXECUTION_FAILED : CUBLAS_STATUS_SUCCESS;
}
