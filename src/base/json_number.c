/* SPDX-License-Identifier: MIT
 *
 * Numbers. Nearly all are short and plain: these are read eight digits at a time, without a branch
 * on how many digits there are. Everything else JSON allows goes the exact, slow way.
 */
#include "base/json_scan.h"

#include <math.h>

__extension__ typedef unsigned __int128 u128;

/* A number as written: mantissa * 10^exponent. Digits beyond the 28th significant one are dropped,
 * which leaves room to multiply by any unit. */
struct decimal {
    u128 mantissa;
    int exponent;
    bool negative;
};

#define EXPONENT_MAX 100000

static void add_digit(struct decimal *d, char c, bool fraction)
{
    const u128 limit = (u128)1000000000000000000u * 1000000000u; /* 10^27 */
    if (d->mantissa >= limit) {
        if (!fraction && d->exponent < EXPONENT_MAX)
            d->exponent++;
        return;
    }
    d->mantissa = d->mantissa * 10 + (unsigned)(c - '0');
    if (fraction && d->exponent > -EXPONENT_MAX)
        d->exponent--;
}

/* One or more digits from p on; NULL with the error set when there is none. */
static const char *scan_digits(struct json *j, const char *p, struct decimal *d, bool fraction)
{
    const char *begin = p;
    while (p < j->end && is_digit(*p))
        add_digit(d, *p++, fraction);
    if (p > begin)
        return p;
    j->p = p;
    json_fail(j, "expected a digit");
    return NULL;
}

static const char *scan_exponent(struct json *j, const char *p, struct decimal *d)
{
    bool negative = p < j->end && *p == '-';
    const char *begin = p += p < j->end && (*p == '-' || *p == '+');
    int value = 0;
    for (; p < j->end && is_digit(*p); p++)
        value = value < EXPONENT_MAX ? value * 10 + (*p - '0') : value;
    d->exponent += negative ? -value : value;
    if (p > begin)
        return p;
    j->p = p;
    json_fail(j, "expected a digit");
    return NULL;
}

/* Any number JSON allows, from j->p on. */
static bool scan_decimal(struct json *j, struct decimal *d)
{
    const char *p = j->p;
    memset(d, 0, sizeof *d);
    d->negative = p < j->end && *p == '-';
    p += d->negative;
    if (j->end - p >= 2 && p[0] == '0' && is_digit(p[1]))
        return json_fail(j, "number with a leading zero");
    p = scan_digits(j, p, d, false);
    if (p != NULL && p < j->end && *p == '.')
        p = scan_digits(j, p + 1, d, true);
    if (p != NULL && p < j->end && (*p == 'e' || *p == 'E'))
        p = scan_exponent(j, p + 1, d);
    if (p != NULL)
        j->p = p;
    return p != NULL;
}

/* value * 10^exponent, cut or rounded to a whole number; false when that is over 2^64 - 1. */
static bool scale_decimal(u128 value, int exponent, bool round, uint64_t *out)
{
    u128 rest, unit = 1;
    for (; exponent > 0 && value != 0; exponent--) {
        if (value > UINT64_MAX)
            return false;
        value *= 10;
    }
    for (; exponent < 0 && value != 0; exponent++) {
        if (unit > value) {
            value = 0; /* below a tenth of the last place */
            break;
        }
        unit *= 10;
    }
    rest = value % unit;
    value /= unit;
    if (round && rest >= unit - rest)
        value++;
    *out = (uint64_t)value;
    return value <= UINT64_MAX;
}

/* The number at p, times unit, as sign and magnitude. */
static bool slow_number(struct json *j, uint64_t unit, bool round, bool *negative, uint64_t *out)
{
    const char *begin = j->p;
    struct decimal d;
    if (!scan_decimal(j, &d))
        return false;
    *negative = d.negative;
    if (scale_decimal(d.mantissa * unit, d.exponent, round, out))
        return true;
    j->p = begin;
    return json_fail(j, "number out of range");
}

/* Digits from p on, at most 16 of them. */
static inline const char *take_digits(const char *p, const char *end, uint64_t *value)
{
    const char *begin = p;
    uint64_t low;
    unsigned n;
    if (end - p < 16) {
        for (*value = 0; p < end && is_digit(*p) && p - begin < 16; p++)
            *value = *value * 10 + (uint64_t)(*p - '0');
        return p;
    }
    n = leading_digits(p, value);
    if (n < 8)
        return p + n;
    n = leading_digits(p + 8, &low);
    *value = *value * powers_of_ten[n] + low;
    return p + 8 + n;
}

/* The same for the up to eight digits of a fraction. */
static inline const char *take_fraction(const char *p, const char *end, uint64_t *value)
{
    const char *begin = p;
    if (end - p >= 8)
        return p + leading_digits(p, value);
    for (*value = 0; p < end && is_digit(*p) && p - begin < 8; p++)
        *value = *value * 10 + (uint64_t)(*p - '0');
    return p;
}

/* Returns whether a number that began at `begin` ends at p as plain digits do. */
static inline bool ends_plainly(const struct json *j, const char *begin, const char *p)
{
    return p > begin && p < j->end && !is_digit(*p) && *p != '.' && *p != 'e' && *p != 'E' &&
           (*begin != '0' || p - begin == 1);
}

/* Whole numbers of up to 16 digits, which are nearly all; else the slow way. */
static inline bool whole_number(struct json *j, bool *negative, uint64_t *out)
{
    const char *begin = j->p, *p;
    *negative = *begin == '-';
    begin += *negative;
    p = take_digits(begin, j->end, out);
    if (!ends_plainly(j, begin, p))
        return slow_number(j, 1, false, negative, out);
    j->p = p;
    return true;
}

/* The usual time: up to 16 digits, a point and up to eight digits, no exponent. */
static inline bool fast_time(struct json *j, uint64_t unit, bool *negative, uint64_t *out)
{
    const char *begin = j->p, *p, *point;
    uint64_t part = 0, scale;
    *negative = *begin == '-';
    begin += *negative;
    p = take_digits(begin, j->end, out);
    if (__builtin_mul_overflow(*out, unit, out))
        return false;
    if (p > begin && p < j->end && *p == '.' && (*begin != '0' || p - begin == 1)) {
        point = p + 1;
        p = take_fraction(point, j->end, &part);
        if (p == point || p == j->end || is_digit(*p) || *p == 'e' || *p == 'E')
            return false;
        scale = powers_of_ten[p - point];
        part = unit == scale ? part : (part * unit + scale / 2) / scale;
    } else if (!ends_plainly(j, begin, p)) {
        return false;
    }
    if (__builtin_add_overflow(*out, part, out))
        return false;
    j->p = p;
    return true;
}

/* Returns whether there is a number to read. null is consumed, anything else is an error. */
static inline bool at_number(struct json *j)
{
    char c = next_byte(j);
    if (is_digit(c) || c == '-')
        return true;
    if (c == 'n')
        json_bool(j, false);
    else
        json_fail(j, "expected a number");
    return false;
}

/* Sign and magnitude as a signed number; an error at `begin` when it does not fit. */
static int64_t signed_number(struct json *j, const char *begin, bool negative, uint64_t value)
{
    if (value <= INT64_MAX)
        return negative ? -(int64_t)value : (int64_t)value;
    if (negative && value == (uint64_t)INT64_MAX + 1)
        return INT64_MIN;
    j->p = begin;
    json_fail(j, "number out of range");
    return 0;
}

int64_t json_i64(struct json *j, int64_t none)
{
    const char *begin;
    bool negative;
    uint64_t value;
    if (!at_number(j))
        return j->error == NULL ? none : 0;
    begin = j->p;
    if (!whole_number(j, &negative, &value))
        return 0;
    return signed_number(j, begin, negative, value);
}

uint64_t json_u64(struct json *j, uint64_t none)
{
    const char *begin;
    bool negative;
    uint64_t value;
    if (!at_number(j))
        return j->error == NULL ? none : 0;
    begin = j->p;
    if (!whole_number(j, &negative, &value))
        return 0;
    if (!negative || value == 0)
        return value;
    j->p = begin;
    json_fail(j, "negative number");
    return 0;
}

int64_t json_time_ns(struct json *j, int64_t unit_ns, int64_t none)
{
    const char *begin;
    bool negative;
    uint64_t value;
    if (!at_number(j))
        return j->error == NULL ? none : 0;
    begin = j->p;
    if (!fast_time(j, (uint64_t)unit_ns, &negative, &value) &&
        !slow_number(j, (uint64_t)unit_ns, true, &negative, &value))
        return 0;
    return signed_number(j, begin, negative, value);
}

/* 10^n for n >= 0; infinite when too large. */
static long double power_of_ten(int n)
{
    long double power = 1, base = 10;
    for (; n > 0; n >>= 1) {
        if (n & 1)
            power *= base;
        base *= base;
    }
    return power;
}

/* In two steps below 10^-300, where the power alone would overflow. */
static double decimal_double(const struct decimal *d)
{
    long double value = (long double)d->mantissa;
    if (value == 0)
        return 0;
    if (d->exponent >= 0)
        value *= power_of_ten(d->exponent);
    else if (d->exponent >= -300)
        value /= power_of_ten(-d->exponent);
    else
        value = value / power_of_ten(300) / power_of_ten(-d->exponent - 300);
    return (double)value;
}

double json_double(struct json *j, double none)
{
    const char *begin;
    struct decimal d;
    double value;
    if (!at_number(j))
        return j->error == NULL ? none : 0;
    begin = j->p;
    if (!scan_decimal(j, &d))
        return 0;
    value = decimal_double(&d);
    if (isfinite(value))
        return d.negative ? -value : value;
    j->p = begin;
    json_fail(j, "number out of range");
    return 0;
}
