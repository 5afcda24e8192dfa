/* SPDX-License-Identifier: MIT
 *
 * The scanner works on eight bytes at a time where that pays (strings, long numbers) and never
 * looks behind `end`. An error draws `end` back to the place where it happened: all later calls
 * then run into the end of the text by themselves, without a test for errors in each.
 */
#include "base/json.h"

#include "base/buf.h"

#include <math.h>
#include <string.h>

__extension__ typedef unsigned __int128 u128;

static const char cut_text[] = "the text ends too early";

void json_init(struct json *j, const char *text, size_t len)
{
    j->start = j->p = text;
    j->end = text + len;
    j->error = NULL;
    j->first = false;
    j->depth = 0;
}

size_t json_offset(const struct json *j)
{
    return (size_t)(j->p - j->start);
}

bool json_is_cut(const struct json *j)
{
    return j->error == cut_text;
}

/* Notes the first error, of which p is the place. Returns false. */
static bool fail(struct json *j, const char *error)
{
    if (j->error == NULL)
        j->error = j->p == j->end ? cut_text : error;
    j->end = j->p;
    return false;
}

/* Like fail(), for what is wrong wherever it stands. */
static bool fail_here(struct json *j, const char *error)
{
    if (j->error == NULL)
        j->error = error;
    j->end = j->p;
    return false;
}

/* The next byte that is not white space, not consumed; '\0' at the end. */
static inline char next_byte(struct json *j)
{
    const char *p = j->p;
    while (p < j->end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t'))
        p++;
    j->p = p;
    return p < j->end ? *p : '\0';
}

static inline bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

char json_peek(struct json *j)
{
    char c = next_byte(j);
    if (is_digit(c))
        return '0';
    if (c != '\0' && strchr("{[\"tfn-", c) != NULL)
        return c;
    if (j->p < j->end)
        fail(j, "expected a value");
    return '\0';
}

/* ---- eight bytes at a time ---- */

#define EACH(byte) (0x0101010101010101u * (uint64_t)(byte))

/* Sets the high bit of each zero byte, exactly up to the first one (Mycroft). */
#define ZERO_BYTES(x) (((x)-EACH(1)) & ~(x)&EACH(0x80))

static inline uint64_t load8(const char *p)
{
    uint64_t x;
    memcpy(&x, p, sizeof x);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    x = __builtin_bswap64(x);
#endif
    return x;
}

/* The first quote, backslash or control byte from p on, or end. */
static inline const char *find_special(const char *p, const char *end)
{
    for (; end - p >= 8; p += 8) {
        uint64_t x = load8(p);
        uint64_t hit = ZERO_BYTES(x ^ EACH('"')) | ZERO_BYTES(x ^ EACH('\\')) |
                       ((x - EACH(0x20)) & ~x & EACH(0x80));
        if (hit != 0)
            return p + __builtin_ctzll(hit) / 8;
    }
    while (p < end && *p != '"' && *p != '\\' && (unsigned char)*p >= 0x20)
        p++;
    return p;
}

/* Eight digits at p as a number; false when they are not all digits. */
static inline bool eight_digits(const char *p, uint64_t *out)
{
    uint64_t x = load8(p);
    if (((x & EACH(0xf0)) | (((x + EACH(0x06)) & EACH(0xf0)) >> 4)) != EACH(0x33))
        return false;
    x = (x & EACH(0x0f)) * 2561 >> 8;                                   /* pairs */
    x = (x & 0x00ff00ff00ff00ffu) * 6553601 >> 16;                      /* fours */
    *out = (x & 0x0000ffff0000ffffu) * (uint64_t)42949672960001u >> 32; /* eight */
    return true;
}

/* ---- strings ---- */

static bool is_hex(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* p is at a backslash: the byte behind its escape, or NULL with the error set. */
static const char *pass_escape(struct json *j, const char *p)
{
    size_t len = j->end - p >= 2 && p[1] == 'u' ? 6 : 2;
    bool good;
    if ((size_t)(j->end - p) < len) {
        j->p = j->end;
        fail(j, cut_text);
        return NULL;
    }
    if (len == 2)
        good = p[1] != '\0' && strchr("\"\\/bfnrt", p[1]) != NULL;
    else
        good = is_hex(p[2]) && is_hex(p[3]) && is_hex(p[4]) && is_hex(p[5]);
    if (good)
        return p + len;
    j->p = p;
    fail(j, "bad escape in a string");
    return NULL;
}

/* The rest of a string from its first backslash on; NULL with the error set. */
static const char *escaped_string_end(struct json *j, const char *p)
{
    while (p < j->end && *p == '\\') {
        p = pass_escape(j, p);
        if (p == NULL)
            return NULL;
        p = find_special(p, j->end);
    }
    if (p < j->end && *p == '"')
        return p;
    j->p = p;
    fail(j, "control byte in a string");
    return NULL;
}

/* j->p is at the opening quote. An empty text with p NULL on an error. */
static inline struct json_text scan_string(struct json *j)
{
    const char *begin = j->p + 1, *p = find_special(begin, j->end);
    bool plain = p < j->end && *p == '"';
    if (!plain)
        p = escaped_string_end(j, p);
    if (p == NULL)
        return (struct json_text){NULL, 0, false};
    j->p = p + 1;
    if (p - begin > UINT32_MAX) {
        fail_here(j, "string too long");
        return (struct json_text){NULL, 0, false};
    }
    return (struct json_text){begin, (uint32_t)(p - begin), !plain};
}

/* ---- structure ---- */

bool json_enter(struct json *j, char bracket)
{
    char c = next_byte(j);
    if (c == 'n') {
        json_bool(j, false);
        return false;
    }
    if (c != bracket)
        return fail(j, bracket == '{' ? "expected an object" : "expected an array");
    if (j->depth >= JSON_DEPTH_MAX)
        return fail_here(j, "nested too deeply");
    j->depth++;
    j->p++;
    j->first = true;
    return true;
}

/* Steps over the comma before an element, or over the closing bracket. True for an element. */
static inline bool next_element(struct json *j, char closing)
{
    char c = next_byte(j);
    if (c == closing) {
        j->p++;
        j->depth--;
        j->first = false;
        return false;
    }
    if (j->first) {
        j->first = false;
        return j->p < j->end || fail(j, cut_text);
    }
    if (c != ',')
        return fail(j, closing == '}' ? "expected ',' or '}'" : "expected ',' or ']'");
    j->p++;
    return true;
}

bool json_next_key(struct json *j, struct json_text *key)
{
    if (!next_element(j, '}'))
        return false;
    if (next_byte(j) != '"')
        return fail(j, "expected a key");
    *key = scan_string(j);
    if (next_byte(j) != ':')
        return fail(j, "expected ':'");
    j->p++;
    return true;
}

/* Two loads cover a key of 4 to 13 letters, quotes and colon included. */
bool json_try_key(struct json *j, const char quoted[JSON_QUOTED_MAX], size_t len)
{
    const char *p = j->p + !j->first;
    uint64_t mask = len < 8 ? ((uint64_t)1 << len * 8) - 1 : UINT64_MAX;
    if (j->end - j->p < JSON_QUOTED_MAX || (!j->first && *j->p != ',') ||
        ((load8(p) ^ load8(quoted)) & mask) != 0)
        return false;
    if (len > 8 && load8(p + len - 8) != load8(quoted + len - 8))
        return false;
    if (len > 16 && memcmp(p, quoted, len) != 0)
        return false;
    j->p = p + len;
    j->first = false;
    return true;
}

bool json_next_item(struct json *j)
{
    return next_element(j, ']');
}

void json_end(struct json *j)
{
    next_byte(j);
    if (j->p < j->end)
        fail(j, "text behind the value");
}

/* ---- skipping ---- */

enum skip_class { PLAIN, QUOTE, OPEN, CLOSE };

static const uint8_t skip_classes[256] = {
    ['"'] = QUOTE, ['{'] = OPEN, ['['] = OPEN, ['}'] = CLOSE, [']'] = CLOSE,
};

/* Behind the string whose opening quote is at p; NULL when it does not end. */
static inline const char *skip_string(const char *p, const char *end)
{
    for (p = find_special(p + 1, end); p < end; p = find_special(p, end)) {
        if (*p == '"')
            return p + 1;
        p += *p == '\\' && end - p >= 2 ? 2 : 1;
    }
    return NULL;
}

/* Goes on until `open` brackets are closed; bit i of `kinds` is 1 when the one at depth i is '{'.
 * The brackets that were open before the call may be of either kind. */
static void skip_nested(struct json *j, int open)
{
    const char *p = j->p;
    uint64_t kinds = 0;
    int base = open;
    while (p < j->end) {
        uint8_t class = skip_classes[(unsigned char)*p];
        if (class == PLAIN) {
            p++;
        } else if (class == QUOTE) {
            p = skip_string(p, j->end);
            if (p == NULL)
                p = j->end;
        } else if (class == OPEN) {
            if (j->depth + open - base >= JSON_DEPTH_MAX)
                break;
            kinds = kinds << 1 | (*p++ == '{');
            open++;
        } else {
            if (open > base && (kinds & 1) != (*p == '}'))
                break;
            kinds >>= 1;
            p++;
            if (--open == 0) {
                j->p = p;
                return;
            }
        }
    }
    j->p = p;
    fail(j, p < j->end && skip_classes[(unsigned char)*p] == OPEN ? "nested too deeply"
                                                                  : "mismatched bracket");
}

void json_leave(struct json *j)
{
    skip_nested(j, 1);
    j->depth--;
    j->first = false;
}

/* A number or literal: only its first byte and its alphabet are looked at. */
static void skip_scalar(struct json *j)
{
    const char *p = j->p;
    if (json_peek(j) == '\0') {
        fail(j, "expected a value");
        return;
    }
    while (p < j->end && (is_digit(*p) || (*p >= 'a' && *p <= 'z') || *p == '.' || *p == '-' ||
                          *p == '+' || *p == 'E'))
        p++;
    j->p = p;
}

void json_skip(struct json *j)
{
    char c = next_byte(j);
    if (c == '"') {
        const char *p = skip_string(j->p, j->end);
        j->p = p != NULL ? p : j->end;
        if (p == NULL)
            fail(j, cut_text);
    } else if (c == '{' || c == '[') {
        skip_nested(j, 0);
    } else {
        skip_scalar(j);
    }
}

/* ---- numbers ---- */

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
    fail(j, "expected a digit");
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
    fail(j, "expected a digit");
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
        return fail(j, "number with a leading zero");
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
    return fail(j, "number out of range");
}

/* Digits from p on, at most `max` of them. */
static inline const char *take_digits(const char *p, const char *end, int max, uint64_t *value)
{
    uint64_t v = 0;
    if (end - p >= 8 && max >= 8 && eight_digits(p, &v)) {
        p += 8;
        max -= 8;
    }
    for (; max > 0 && p < end && is_digit(*p); max--)
        v = v * 10 + (uint64_t)(*p++ - '0');
    *value = v;
    return p;
}

/* Does a number that began at `begin` end at p as plain digits do? */
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
    p = take_digits(begin, j->end, 16, out);
    if (!ends_plainly(j, begin, p))
        return slow_number(j, 1, false, negative, out);
    j->p = p;
    return true;
}

/* The usual time: up to 16 digits, a point and up to nine digits, no exponent. */
static inline bool fast_time(struct json *j, uint64_t unit, bool *negative, uint64_t *out)
{
    static const uint32_t powers[] = {1,      10,      100,      1000,      10000,
                                      100000, 1000000, 10000000, 100000000, 1000000000};
    const char *begin = j->p, *p, *point;
    uint64_t part = 0, scale;
    *negative = *begin == '-';
    begin += *negative;
    p = take_digits(begin, j->end, 16, out);
    if (__builtin_mul_overflow(*out, unit, out))
        return false;
    if (p > begin && p < j->end && *p == '.' && (*begin != '0' || p - begin == 1)) {
        point = p + 1;
        p = take_digits(point, j->end, 9, &part);
        if (p == point || p == j->end || is_digit(*p) || *p == 'e' || *p == 'E')
            return false;
        scale = powers[p - point];
        part = unit == scale ? part : (part * unit + scale / 2) / scale;
    } else if (!ends_plainly(j, begin, p)) {
        return false;
    }
    if (__builtin_add_overflow(*out, part, out))
        return false;
    j->p = p;
    return true;
}

/* Is there a number to read? null is consumed, anything else is an error. */
static inline bool at_number(struct json *j)
{
    char c = next_byte(j);
    if (is_digit(c) || c == '-')
        return true;
    if (c == 'n')
        json_bool(j, false);
    else
        fail(j, "expected a number");
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
    fail(j, "number out of range");
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
    fail(j, "negative number");
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
    fail(j, "number out of range");
    return 0;
}

/* ---- other values ---- */

static bool literal(struct json *j, const char *word)
{
    size_t len = strlen(word), left = (size_t)(j->end - j->p), n = left < len ? left : len;
    if (memcmp(j->p, word, n) != 0)
        return fail(j, "expected a value");
    j->p += n;
    return n == len || fail(j, cut_text);
}

bool json_bool(struct json *j, bool none)
{
    switch (next_byte(j)) {
    case 't':
        return literal(j, "true");
    case 'f':
        literal(j, "false");
        return false;
    case 'n':
        return literal(j, "null") && none;
    default:
        return fail(j, "expected true or false");
    }
}

struct json_text json_string(struct json *j)
{
    char c = next_byte(j);
    if (c == '"')
        return scan_string(j);
    if (c == 'n')
        json_bool(j, false);
    else
        fail(j, "expected a string");
    return (struct json_text){NULL, 0, false};
}

bool json_text_is(struct json_text text, const char *name)
{
    size_t len = strlen(name);
    return text.len == len && (len == 0 || memcmp(text.p, name, len) == 0);
}

/* ---- text ---- */

#define REPLACEMENT 0xfffd

static void put_utf8(struct buf *out, uint32_t c)
{
    if (c < 0x80) {
        buf_putc(out, (char)c);
        return;
    }
    if (c < 0x800) {
        buf_putc(out, (char)(0xc0 | c >> 6));
    } else if (c < 0x10000) {
        buf_putc(out, (char)(0xe0 | c >> 12));
        buf_putc(out, (char)(0x80 | (c >> 6 & 0x3f)));
    } else {
        buf_putc(out, (char)(0xf0 | c >> 18));
        buf_putc(out, (char)(0x80 | (c >> 12 & 0x3f)));
        buf_putc(out, (char)(0x80 | (c >> 6 & 0x3f)));
    }
    buf_putc(out, (char)(0x80 | (c & 0x3f)));
}

/* The four hex digits of the \u escape at p, or -1. */
static int32_t hex4(const char *p, const char *end)
{
    int32_t value = 0;
    if (end - p < 6 || p[0] != '\\' || p[1] != 'u')
        return -1;
    for (int i = 2; i < 6; i++) {
        if (!is_hex(p[i]))
            return -1;
        value = value * 16 + (is_digit(p[i]) ? p[i] - '0' : (p[i] | 0x20) - 'a' + 10);
    }
    return value;
}

/* Decodes the \u escape at p, two of them when they are a surrogate pair; behind it. */
static const char *decode_unicode(const char *p, const char *end, struct buf *out)
{
    int32_t high = hex4(p, end), low;
    if (high < 0) {
        put_utf8(out, REPLACEMENT);
        return p + 2;
    }
    low = high >= 0xd800 && high < 0xdc00 ? hex4(p + 6, end) : -1;
    if (low >= 0xdc00 && low < 0xe000) {
        put_utf8(out, 0x10000 + ((uint32_t)(high - 0xd800) << 10 | (uint32_t)(low - 0xdc00)));
        return p + 12;
    }
    put_utf8(out, high >= 0xd800 && high < 0xe000 ? REPLACEMENT : (uint32_t)high);
    return p + 6;
}

/* Decodes the escape at p; behind it. What is no escape becomes U+FFFD. */
static const char *decode_escape(const char *p, const char *end, struct buf *out)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    const char *at;
    if (end - p < 2) {
        put_utf8(out, REPLACEMENT);
        return end;
    }
    if (p[1] == 'u')
        return decode_unicode(p, end, out);
    at = p[1] != '\0' ? strchr(names, p[1]) : NULL;
    put_utf8(out, at != NULL ? (uint32_t)values[at - names] : REPLACEMENT);
    return p + 2;
}

void json_decode(struct json_text text, struct buf *out)
{
    const char *p = text.p, *end = p == NULL ? p : p + text.len;
    while (p < end) {
        const char *at = memchr(p, '\\', (size_t)(end - p));
        buf_put(out, p, (size_t)((at != NULL ? at : end) - p));
        p = at != NULL ? decode_escape(at, end, out) : end;
    }
}

/* Length of the well-formed UTF-8 character at p (no overlong form, no surrogate), or 0. */
static size_t utf8_len(const unsigned char *p, size_t left)
{
    static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
    size_t len = *p < 0x80 ? 1 : *p < 0xc2 ? 0 : *p < 0xe0 ? 2 : *p < 0xf0 ? 3 : *p < 0xf5 ? 4 : 0;
    uint32_t c;
    if (len <= 1 || len > left)
        return len > left ? 0 : len;
    c = *p & (0xffu >> (len + 1));
    for (size_t i = 1; i < len; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
        c = c << 6 | (p[i] & 0x3f);
    }
    return c < least[len] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000) ? 0 : len;
}

void json_quote(struct buf *out, const char *text, size_t len)
{
    static const char names[] = "\"\\bfnrt", values[] = "\"\\\b\f\n\r\t";
    buf_putc(out, '"');
    for (size_t i = 0, n; i < len; i += n) {
        const char *at = text[i] != '\0' ? strchr(values, text[i]) : NULL;
        n = utf8_len((const unsigned char *)text + i, len - i);
        if (n == 0) {
            put_utf8(out, REPLACEMENT);
            n = 1;
        } else if (at != NULL) {
            buf_putc(out, '\\');
            buf_putc(out, names[at - values]);
        } else if ((unsigned char)text[i] < 0x20) {
            buf_printf(out, "\\u%04x", (unsigned)text[i]);
        } else {
            buf_put(out, text + i, n);
        }
    }
    buf_putc(out, '"');
}
