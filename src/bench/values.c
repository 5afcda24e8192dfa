/* SPDX-License-Identifier: MIT */
#include "bench/collective.h"

#include "base/arena.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* ---- numbers in a type ---- */

/* Whole numbers up to this one are exact: 2 to the bits of the fraction, plus one. */
static unsigned largest_of(enum specter_dtype type)
{
    switch (type) {
    case SPECTER_INT8:
        return 127;
    case SPECTER_UINT8:
        return 255;
    case SPECTER_FP8E4M3:
        return 16;
    case SPECTER_FP8E5M2:
        return 8;
    default:
        return BENCH_LARGEST;
    }
}

/* As sign, exponent and fraction: `value` = 1.f x 2^e, e stored with its bias. */
static uint32_t narrow_float(unsigned value, unsigned fraction_bits, unsigned bias)
{
    unsigned exponent = 0;
    if (value == 0)
        return 0;
    while (value >> (exponent + 1) != 0)
        exponent++;
    return (exponent + bias) << fraction_bits |
           ((value << fraction_bits >> exponent) & ((1u << fraction_bits) - 1));
}

/* false: the type is not one that can be checked. */
static bool code(enum specter_dtype type, unsigned value, unsigned char *out)
{
    const uint64_t whole = value;
    const float single = (float)value;
    const double wide = value;
    uint16_t half;
    switch (type) {
    case SPECTER_INT8:
    case SPECTER_UINT8:
    case SPECTER_INT32:
    case SPECTER_UINT32:
    case SPECTER_INT64:
    case SPECTER_UINT64:
        memcpy(out, &whole, sizeof whole); /* little endian: the first bytes are the number */
        return true;
    case SPECTER_FP64:
        memcpy(out, &wide, sizeof wide);
        return true;
    case SPECTER_FP32:
        memcpy(out, &single, sizeof single);
        return true;
    case SPECTER_FP16:
        half = (uint16_t)narrow_float(value, 10, 15);
        memcpy(out, &half, sizeof half);
        return true;
    case SPECTER_BF16:
        half = (uint16_t)narrow_float(value, 7, 127);
        memcpy(out, &half, sizeof half);
        return true;
    case SPECTER_FP8E4M3:
        out[0] = (unsigned char)narrow_float(value, 3, 7);
        return true;
    case SPECTER_FP8E5M2:
        out[0] = (unsigned char)narrow_float(value, 2, 15);
        return true;
    default:
        return false;
    }
}

/* ---- what is sent, and what comes out ---- */

static uint32_t ceil_div(unsigned a, unsigned b)
{
    return a / b + (a % b != 0);
}

/* Number of values, such that no reduction over n ranks is larger than `most`. */
static uint32_t period_of(enum specter_redop redop, unsigned n, unsigned most)
{
    unsigned twos = 0;
    while (2u << twos <= most)
        twos++;
    switch (redop) {
    case SPECTER_REDOP_SUM: /* 0..most/n of each rank, else a 1 of `most` of them */
        return n <= most ? most / n + 1 : ceil_div(n, most);
    case SPECTER_REDOP_PROD: /* a 2 of so many of them as the type has powers of */
        return ceil_div(n, twos) + 1;
    default:
        return most + 1;
    }
}

static uint16_t sent_value(enum specter_redop redop, unsigned n, unsigned most, uint32_t at)
{
    if (redop == SPECTER_REDOP_PROD)
        return at == 0 ? 2 : 1;
    if (redop == SPECTER_REDOP_SUM && n > most)
        return at == 0;
    return (uint16_t)at;
}

static unsigned combine(enum specter_redop redop, unsigned a, unsigned b)
{
    switch (redop) {
    case SPECTER_REDOP_PROD:
        return a * b;
    case SPECTER_REDOP_MAX:
        return a > b ? a : b;
    case SPECTER_REDOP_MIN:
        return a < b ? a : b;
    default:
        return a + b;
    }
}

int bench_values_init(struct bench_values *v, enum specter_dtype dtype, enum specter_redop redop,
                      int ranks, struct err *e)
{
    unsigned n = (unsigned)ranks, most = largest_of(dtype);
    memset(v, 0, sizeof *v);
    v->dtype = dtype;
    v->size = specter_dtype_bits(dtype) / 8;
    if (redop != SPECTER_REDOP_NONE && redop > SPECTER_REDOP_MIN)
        return err_set(e, ERR_USAGE,
                       "results of '%s' are not exact and cannot be checked: take "
                       "sum, prod, min or max",
                       specter_redop_name(redop));
    for (unsigned i = 0; i <= most; i++) {
        if (!code(dtype, i, v->coded[i]))
            return err_set(e, ERR_USAGE, "no collectives of type %s", specter_dtype_name(dtype));
    }
    v->period = period_of(redop, n, most);
    v->sent = array_new(v->period, sizeof *v->sent);
    v->reduced = array_new(v->period, sizeof *v->reduced);
    for (uint32_t i = 0; i < v->period; i++)
        v->sent[i] = sent_value(redop, n, most, i);
    for (uint32_t i = 0; redop != SPECTER_REDOP_NONE && i < v->period; i++) {
        unsigned all = v->sent[i];
        for (unsigned r = 1; r < n; r++)
            all = combine(redop, all, v->sent[(i + r) % v->period]);
        v->reduced[i] = (uint16_t)all;
    }
    return 0;
}

void bench_values_release(struct bench_values *v)
{
    free(v->sent);
    free(v->reduced);
    memset(v, 0, sizeof *v);
}

void bench_values_fill(const struct bench_values *v, int rank, uint64_t first, size_t count,
                       void *out)
{
    const uint16_t *table = rank == BENCH_REDUCED ? v->reduced : v->sent;
    uint32_t shift = rank == BENCH_REDUCED ? 0 : (uint32_t)rank % v->period;
    unsigned char *to = out;
    for (size_t i = 0; i < count; i++, to += v->size) {
        const uint32_t hash = (uint32_t)((first + i) * UINT64_C(0x9E3779B97F4A7C15) >> 33);
        memcpy(to, v->coded[table[(hash % v->period + shift) % v->period]], v->size);
    }
}
