/* SPDX-License-Identifier: MIT
 *
 * Timing walks the output in tiles: each SM takes a tile, computes it over k at a share of its
 * peak, and takes the next; the last round may leave SMs idle. Memory bounds the whole. The library
 * that is imitated would choose the tile that finishes first, so that is what is taken.
 */
#include "gemm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fabric.h"
#include "hash.h"
#include "number.h"

struct tile {
    unsigned rows, cols;
    double efficiency; /* of a big tile: small ones load more per product */
};

static const struct tile tiles[] = {
    {256, 128, 1.0}, {128, 128, 0.94}, {128, 64, 0.82}, {64, 64, 0.66}, {64, 32, 0.45},
};

static int number_of(cudaDataType type)
{
    switch (type) {
    case CUDA_R_32F:
        return NUMBER_F32;
    case CUDA_R_64F:
        return NUMBER_F64;
    case CUDA_R_16F:
        return NUMBER_F16;
    case CUDA_R_16BF:
        return NUMBER_BF16;
    case CUDA_R_8I:
        return NUMBER_I8;
    case CUDA_R_32I:
        return NUMBER_I32;
    case CUDA_R_8F_E4M3:
        return NUMBER_F8E4M3;
    case CUDA_R_8F_E5M2:
        return NUMBER_F8E5M2;
    default:
        return -1;
    }
}

static double peak_TFLOPS(const struct gemm *g)
{
    const struct emu_fabric *f = emu_fabric();

    switch (g->a.type) {
    case CUDA_R_64F:
        return f->peak_fp64_TFLOPS;
    case CUDA_R_8I:
    case CUDA_R_8F_E4M3:
    case CUDA_R_8F_E5M2:
        return f->peak_fp8_TFLOPS;
    case CUDA_R_32F:
        if (g->compute == CUBLAS_COMPUTE_32F_FAST_TF32)
            return f->peak_tf32_TFLOPS;
        if (g->compute == CUBLAS_COMPUTE_32F_FAST_16F || g->compute == CUBLAS_COMPUTE_32F_FAST_16BF)
            return f->peak_fp16_TFLOPS;
        return f->peak_fp32_TFLOPS;
    default:
        return f->peak_fp16_TFLOPS;
    }
}

/* Rounds of tiles over the SMs, each as long as one tile takes. */
static double tiled_ns(const struct gemm *g, const struct tile *t)
{
    const struct emu_fabric *f = emu_fabric();
    double across = ceil((double)g->m / t->rows) * ceil((double)g->n / t->cols);
    double rounds = ceil(across * (double)g->batch / (double)f->sms);
    double depth = ceil((double)g->k / 32) * 32;
    double flops = 2.0 * t->rows * t->cols * depth;
    double rate = peak_TFLOPS(g) * 1e3 / (double)f->sms * f->gemm_efficiency * t->efficiency;

    return rounds * flops / rate;
}

static double memory_ns(const struct gemm *g)
{
    const struct emu_fabric *f = emu_fabric();
    double in = (double)g->m * (double)g->k * (double)number_size(number_of(g->a.type)) +
                (double)g->k * (double)g->n * (double)number_size(number_of(g->b.type));
    double out = (double)g->m * (double)g->n * (double)number_size(number_of(g->d.type));

    if (g->beta_bits || g->device_scalars)
        out *= 2;
    return (in + out) * (double)g->batch / (f->memory_GBps * f->memory_efficiency);
}

static uint64_t duration(const struct gemm *g, uint64_t start)
{
    const struct emu_fabric *f = emu_fabric();
    double best = tiled_ns(g, &tiles[0]), memory = memory_ns(g);
    uint64_t hash = emu_hash(emu_hash(f->seed, (uint64_t)emu_rank()), start);

    for (size_t i = 1; i < sizeof(tiles) / sizeof(tiles[0]); i++)
        best = fmin(best, tiled_ns(g, &tiles[i]));
    best = fmax(best, memory) + (double)f->gemm_overhead_ns;
    return (uint64_t)(best * (1 + f->gpu_jitter * emu_unit(emu_hash(hash, g->m * g->n + g->k))));
}

static double element(const struct gemm_matrix *x, uint64_t row, uint64_t col, uint64_t batch)
{
    int64_t at =
        (int64_t)row * x->row_step + (int64_t)col * x->col_step + (int64_t)batch * x->batch_step;

    return number_get(x->data, (size_t)at, (enum number)number_of(x->type));
}

static double epilogue(const struct gemm *g, double value, uint64_t row)
{
    if (g->epilogue & CUBLASLT_EPILOGUE_BIAS && g->bias)
        value += number_get(g->bias, row, (enum number)number_of(g->d.type));
    if (g->epilogue & CUBLASLT_EPILOGUE_RELU && value < 0)
        value = 0;
    if (g->epilogue & CUBLASLT_EPILOGUE_GELU)
        value *= 0.5 * (1 + tanh(0.7978845608028654 * (value + 0.044715 * value * value * value)));
    return value;
}

static double scalar(const struct gemm *g, uint64_t bits, const void *device)
{
    return number_get(g->device_scalars ? device : &bits, 0, (enum number)number_of(g->scale_type));
}

/* One matrix of the batch, its factors first copied to rows and columns that lie in a piece. */
static void multiply(const struct gemm *g, uint64_t batch, double *a, double *b)
{
    double alpha = scalar(g, g->alpha_bits, g->alpha), beta = scalar(g, g->beta_bits, g->beta);

    for (uint64_t l = 0; l < g->k; l++) {
        for (uint64_t i = 0; i < g->m; i++)
            a[i * g->k + l] = element(&g->a, i, l, batch);
        for (uint64_t j = 0; j < g->n; j++)
            b[j * g->k + l] = element(&g->b, l, j, batch);
    }
    for (uint64_t j = 0; j < g->n; j++)
        for (uint64_t i = 0; i < g->m; i++) {
            int64_t at = (int64_t)i * g->d.row_step + (int64_t)j * g->d.col_step +
                         (int64_t)batch * g->d.batch_step;
            double sum = 0;

            for (uint64_t l = 0; l < g->k; l++)
                sum += a[i * g->k + l] * b[j * g->k + l];
            sum *= alpha;
            if (beta != 0)
                sum += beta * element(&g->c, i, j, batch);
            number_put(g->d.data, (size_t)at, (enum number)number_of(g->d.type),
                       epilogue(g, sum, i));
        }
}

static void compute(const struct gemm *g)
{
    double *a = emu_alloc(g->m * g->k * sizeof(*a)), *b = emu_alloc(g->n * g->k * sizeof(*b));

    for (uint64_t i = 0; i < g->batch; i++)
        multiply(g, i, a, b);
    free(a);
    free(b);
}

static uint64_t run_gemm(void *data, uint64_t token, uint64_t start, CUresult *error)
{
    const struct gemm *g = data;
    double products = (double)g->m * (double)g->n * (double)g->k * (double)g->batch;

    (void)token;
    (void)error;
    if (products <= (double)emu_fabric()->gemm_products)
        compute(g);
    return start + duration(g, start);
}

static const struct emu_kind gemm_kind = {"gemm", NULL, run_gemm, free};

cudaDataType emu_gemm_scale_type(cublasComputeType_t type)
{
    switch (type) {
    case CUBLAS_COMPUTE_16F:
    case CUBLAS_COMPUTE_16F_PEDANTIC:
        return CUDA_R_16F;
    case CUBLAS_COMPUTE_64F:
    case CUBLAS_COMPUTE_64F_PEDANTIC:
        return CUDA_R_64F;
    case CUBLAS_COMPUTE_32I:
    case CUBLAS_COMPUTE_32I_PEDANTIC:
        return CUDA_R_32I;
    default:
        return CUDA_R_32F;
    }
}

void emu_gemm_scalars(struct gemm *g, const void *alpha, const void *beta, cudaDataType scale_type,
                      bool on_device)
{
    size_t size = number_size((enum number)number_of(scale_type));

    g->scale_type = scale_type;
    g->device_scalars = on_device;
    g->alpha = alpha;
    g->beta = beta;
    if (on_device)
        return;
    memcpy(&g->alpha_bits, alpha, size);
    memcpy(&g->beta_bits, beta, size);
}

cublasStatus_t emu_gemm_submit(struct emu_thread *self, CUstream handle, const struct gemm *g)
{
    struct CUstream_st *stream;
    struct gemm *copy;
    CUresult result;

    if (number_of(g->a.type) < 0 || number_of(g->b.type) < 0 || number_of(g->d.type) < 0)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    if (!g->m || !g->n || !g->batch)
        return CUBLAS_STATUS_SUCCESS;
    result = emu_stream_find(self, handle, NULL, &stream);
    if (!result) {
        copy = emu_alloc(sizeof(*copy));
        *copy = *g;
        result = emu_submit(self, stream, emu_work_new(&gemm_kind, copy), self->clock);
    }
    return result ? CUBLAS_STATUS_EXECUTION_FAILED : CUBLAS_STATUS_SUCCESS;
}
