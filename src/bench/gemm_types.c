/* SPDX-License-Identifier: MIT */
#include "bench/gemm_types.h"

#include "calib/measured_names.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

enum { R_32F = 0, R_64F = 1, R_16F = 2, R_8I = 3, R_32I = 10, R_16BF = 14, R_8F_E4M3 = 28 };
enum { COMPUTE_32F = 68, COMPUTE_64F = 70, COMPUTE_32I = 72, COMPUTE_32F_FAST_TF32 = 77 };

/* clang-format off */
const struct bench_gemm_type bench_gemm_types[BENCH_GEMM_TYPES] = {
    /* name    type            in         out     compute                scale  sizes  bits   memory */
    {"bf16", SPECTER_BF16, R_16BF,    R_16BF, COMPUTE_32F,           R_32F, 2, 2,  8, 7,  0, 1,  1e14, 1, false},
    {"fp16", SPECTER_FP16, R_16F,     R_16F,  COMPUTE_32F,           R_32F, 2, 2,  5, 10, 1, 1,  1e14, 4, false},
    {"tf32", SPECTER_TF32, R_32F,     R_32F,  COMPUTE_32F_FAST_TF32, R_32F, 4, 4,  8, 23, 2, 1,  5e12, 4, false},
    {"fp32", SPECTER_FP32, R_32F,     R_32F,  COMPUTE_32F,           R_32F, 4, 4,  8, 23, 2, 1,  6e11, 6, false},
    {"fp8e4m3", SPECTER_FP8E4M3, R_8F_E4M3, R_16BF, COMPUTE_32F,          R_32F, 1, 2,  4, 3,  3, 16, 1e14, 2, true},
    {"fp64", SPECTER_FP64, R_64F,     R_64F,  COMPUTE_64F,           R_64F, 8, 8,  11, 52, 4, 1, 6e11, 6, false},
    {"int8", SPECTER_INT8, R_8I,      R_32I,  COMPUTE_32I,           R_32I, 1, 4,  0, 0,  5, 16, 1e14, 6, false},
};
/* clang-format on */

static uint64_t next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Four uniform ones are near enough to a normal one. */
static float normal(uint64_t *state)
{
    uint64_t bits = next(state);
    float sum = 0;
    for (int i = 0; i < 4; i++)
        sum += (float)(bits >> 16 * i & 0xffff) / 65535.0F;
    return (sum - 2) * 1.7320508F;
}

/* The bits of x in a format of so many exponent and mantissa bits; what is too small is 0. */
static uint32_t narrow(float x, int exponent_bits, int mantissa_bits)
{
    uint32_t bits, sign, mantissa;
    int bias = (1 << (exponent_bits - 1)) - 1, exponent;
    memcpy(&bits, &x, sizeof bits);
    sign = bits >> 31;
    exponent = (int)(bits >> 23 & 0xff) - 127 + bias;
    mantissa = (bits & 0x7fffff) >> (23 - mantissa_bits);
    if (exponent <= 0)
        exponent = 0, mantissa = 0;
    return sign << (exponent_bits + mantissa_bits) | (uint32_t)exponent << mantissa_bits | mantissa;
}

static void put(const struct bench_gemm_type *type, void *at, float x)
{
    double wide = (double)x;
    uint32_t bits;
    if (type->in_size == 8) {
        memcpy(at, &wide, 8);
        return;
    }
    bits =
        type->exponent == 0 ? (uint32_t)lrintf(32 * x) : narrow(x, type->exponent, type->mantissa);
    memcpy(at, &bits, type->in_size); /* the low bytes: devices and hosts are little-endian */
}

void bench_gemm_type_fill(const struct bench_gemm_type *type, void *out, size_t bytes)
{
    uint64_t state = 0x9e3779b97f4a7c15U;
    for (size_t i = 0; i + type->in_size <= bytes; i += type->in_size)
        put(type, (char *)out + i, normal(&state));
}

const struct bench_gemm_type *bench_gemm_type_find(const char *name)
{
    const enum specter_dtype dtype = measured_dtype(name);
    for (size_t i = 0; i < BENCH_GEMM_TYPES; i++) {
        if (bench_gemm_types[i].dtype == dtype)
            return &bench_gemm_types[i];
    }
    return NULL;
}
