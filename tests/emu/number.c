/* SPDX-License-Identifier: MIT
 *
 * Types that C has are computed as they are; the small floats through float, with tables to read
 * them and one routine to write them.
 */
#include "number.h"

#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>

/* The small floats: bits of exponent and mantissa, and whether the top exponent means infinity. */
struct small {
    enum number type;
    unsigned exponent, mantissa;
    int has_infinity;
};

static const struct small smalls[] = {
    {NUMBER_F16, 5, 10, 1},
    {NUMBER_BF16, 8, 7, 1},
    {NUMBER_F8E4M3, 4, 3, 0},
    {NUMBER_F8E5M2, 5, 2, 1},
};

static float half_table[65536], e4m3_table[256], e5m2_table[256];
static pthread_once_t tables_once = PTHREAD_ONCE_INIT;

static const struct small *small_of(enum number type)
{
    for (size_t i = 0; i < sizeof smalls / sizeof *smalls; i++)
        if (smalls[i].type == type)
            return &smalls[i];
    return NULL;
}

static float decode(const struct small *s, unsigned bits)
{
    unsigned top = (1u << s->exponent) - 1, m = bits & ((1u << s->mantissa) - 1);
    unsigned e = bits >> s->mantissa & top;
    int bias = (1 << (s->exponent - 1)) - 1;
    double value;
    if (e == top && s->has_infinity)
        value = m ? NAN : INFINITY;
    else if (e == top && m == (1u << s->mantissa) - 1)
        value = NAN;
    else if (e)
        value = ldexp(1 + ldexp(m, -(int)s->mantissa), (int)e - bias);
    else
        value = ldexp(m, 1 - bias - (int)s->mantissa);
    return (float)(bits >> (s->exponent + s->mantissa) ? -value : value);
}

static void fill_tables(void)
{
    for (unsigned i = 0; i < 65536; i++)
        half_table[i] = decode(&smalls[0], i);
    for (unsigned i = 0; i < 256; i++) {
        e4m3_table[i] = decode(&smalls[2], i);
        e5m2_table[i] = decode(&smalls[3], i);
    }
}

/* The mantissa with its hidden bit, shifted right by `by` and rounded to nearest even. */
static uint32_t round_shift(uint32_t m, unsigned by)
{
    uint32_t half, rest;
    if (by > 25)
        return 0;
    half = 1u << (by - 1);
    rest = m & ((1u << by) - 1);
    m >>= by;
    return m + (rest > half || (rest == half && m & 1));
}

static unsigned encode(const struct small *s, float value)
{
    uint32_t x, result, sign, top = (1u << s->exponent) - 1;
    uint32_t limit = s->has_infinity ? top << s->mantissa : (top + 1) << s->mantissa;
    int e;
    memcpy(&x, &value, sizeof x);
    sign = x >> 31 << (s->exponent + s->mantissa);
    if (value != value)
        return sign | (s->has_infinity ? limit | 1u << (s->mantissa - 1) : limit - 1);
    e = (int)(x >> 23 & 255);
    x = (x & 0x7fffff) | (e ? 0x800000 : 0);
    e = (e ? e : 1) - 127 + (1 << (s->exponent - 1)) - 1;
    if (e > 0)
        result = ((uint32_t)(e - 1) << s->mantissa) + round_shift(x, 23 - s->mantissa);
    else
        result = round_shift(x, 23 - s->mantissa + (unsigned)(1 - e));
    if (!s->has_infinity && result >= limit - 1)
        result = limit - 2;
    return sign | (result > limit ? limit : result);
}

size_t number_size(enum number type)
{
    static const unsigned char sizes[NUMBER_COUNT] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
    return (unsigned)type < NUMBER_COUNT ? sizes[type] : 0;
}

static float get_small(const void *array, size_t i, enum number type)
{
    uint32_t bits;
    float value;
    switch (type) {
    case NUMBER_F16:
        return half_table[((const uint16_t *)array)[i]];
    case NUMBER_F8E4M3:
        return e4m3_table[((const uint8_t *)array)[i]];
    case NUMBER_F8E5M2:
        return e5m2_table[((const uint8_t *)array)[i]];
    default:
        bits = (uint32_t)((const uint16_t *)array)[i] << 16;
        memcpy(&value, &bits, sizeof value);
        return value;
    }
}

static void put_small(void *array, size_t i, const struct small *s, float value)
{
    if (s->exponent + s->mantissa > 8)
        ((uint16_t *)array)[i] = (uint16_t)encode(s, value);
    else
        ((uint8_t *)array)[i] = (uint8_t)encode(s, value);
}

/* The types that C has: X(number, C type) */
#define PLAIN(X)            \
    X(NUMBER_I8, int8_t)    \
    X(NUMBER_U8, uint8_t)   \
    X(NUMBER_I32, int32_t)  \
    X(NUMBER_U32, uint32_t) \
    X(NUMBER_I64, int64_t)  \
    X(NUMBER_U64, uint64_t) \
    X(NUMBER_F32, float)    \
    X(NUMBER_F64, double)

double number_get(const void *array, size_t index, enum number type)
{
    pthread_once(&tables_once, fill_tables);
    switch (type) {
#define X(_number, _c) \
    case _number:      \
        return (double)((const _c *)array)[index];
        PLAIN(X)
#undef X
    default:
        return get_small(array, index, type);
    }
}

void number_put(void *array, size_t index, enum number type, double value)
{
    switch (type) {
#define X(_number, _c)                    \
    case _number:                         \
        ((_c *)array)[index] = (_c)value; \
        break;
        PLAIN(X)
#undef X
    default:
        put_small(array, index, small_of(type), (float)value);
    }
}

static float apply(float a, float b, enum number_op op)
{
    switch (op) {
    case NUMBER_SUM:
        return a + b;
    case NUMBER_PROD:
        return a * b;
    case NUMBER_MAX:
        return a > b ? a : b;
    default:
        return a < b ? a : b;
    }
}

static void combine_small(void *into, const void *from, size_t count, enum number type,
                          enum number_op op)
{
    const struct small *s = small_of(type);
    pthread_once(&tables_once, fill_tables);
    for (size_t i = 0; i < count; i++)
        put_small(into, i, s, apply(get_small(into, i, type), get_small(from, i, type), op));
}

/* Sums and products of integers wrap, as on a GPU: they are done without a sign. */
#define COMBINE(_number, _c)                                                            \
    static void combine_##_c(_c *into, const _c *from, size_t count, enum number_op op) \
    {                                                                                   \
        for (size_t i = 0; i < count; i++)                                              \
            switch (op) {                                                               \
            case NUMBER_SUM:                                                            \
                into[i] = (_c)(WIDE(_c) into[i] + WIDE(_c) from[i]);                    \
                break;                                                                  \
            case NUMBER_PROD:                                                           \
                into[i] = (_c)(WIDE(_c) into[i] * WIDE(_c) from[i]);                    \
                break;                                                                  \
            case NUMBER_MAX:                                                            \
                into[i] = from[i] > into[i] ? from[i] : into[i];                        \
                break;                                                                  \
            case NUMBER_MIN:                                                            \
                into[i] = from[i] < into[i] ? from[i] : into[i];                        \
                break;                                                                  \
            }                                                                           \
    }
#define WIDE(_c) (wide_##_c)
typedef uint64_t wide_int8_t, wide_uint8_t, wide_int32_t, wide_uint32_t, wide_int64_t,
    wide_uint64_t;
typedef float wide_float;
typedef double wide_double;
PLAIN(COMBINE)

void number_combine(void *into, const void *from, size_t count, enum number type, enum number_op op)
{
    switch (type) {
#define X(_number, _c)                       \
    case _number:                            \
        combine_##_c(into, from, count, op); \
        break;
        PLAIN(X)
#undef X
    default:
        combine_small(into, from, count, type, op);
    }
}

void number_scale(void *array, size_t count, enum number type, double factor, unsigned divisor)
{
    for (size_t i = 0; i < count; i++) {
        if (type == NUMBER_I64 && factor == 1)
            ((int64_t *)array)[i] /= divisor;
        else if (type == NUMBER_U64 && factor == 1)
            ((uint64_t *)array)[i] /= divisor;
        else
            number_put(array, i, type, number_get(array, i, type) * factor / divisor);
    }
}
