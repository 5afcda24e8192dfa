/* SPDX-License-Identifier: MIT
 *
 * Shared by json.c and json_number.c, and the fast paths of a reader that knows how a writer
 * writes: scan_key() and the others read a value that is plain, without white space, and leave
 * every other one to the functions of json.h.
 *
 *     if (!scan_u64(j, &value))
 *         value = json_u64(j, none);
 */
#ifndef SPECTER_BASE_JSON_SCAN_H
#define SPECTER_BASE_JSON_SCAN_H

#include "base/json.h"

#include <string.h>

/* Notes the first error, of which p is the place; at the end of the text every error is that it is
 * cut. Returns false. */
bool json_fail(struct json *j, const char *error);

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

/* ---- eight bytes at a time ---- */

#define EACH(byte) (0x0101010101010101u * (uint64_t)(byte))

static inline uint64_t load8(const char *p)
{
    uint64_t x;
    memcpy(&x, p, sizeof x);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    x = __builtin_bswap64(x);
#endif
    return x;
}

/* Sets the high bit of each zero byte, exactly up to the first one (Mycroft). */
#define ZERO_BYTES(x) (((x)-EACH(1)) & ~(x)&EACH(0x80))

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

/* The digits at the beginning of the eight bytes at p, as a number; how many they are. No branch
 * depends on their number, which changes all the time. */
static inline unsigned leading_digits(const char *p, uint64_t *value)
{
    uint64_t x = load8(p) ^ EACH('0');
    uint64_t other = ((x + EACH(0x76)) | x) & EACH(0x80);
    unsigned n = other != 0 ? (unsigned)__builtin_ctzll(other) / 8 : 8;
    x = n > 0 ? x << (64 - 8 * n) : 0;               /* zeroes in front */
    x = (x * 10 + (x >> 8)) & 0x00ff00ff00ff00ffu;   /* pairs */
    x = (x * 100 + (x >> 16)) & 0x0000ffff0000ffffu; /* fours */
    *value = (x * 10000 + (x >> 32)) & 0xffffffffu;
    return n;
}

static const uint32_t powers_of_ten[9] = {1,      10,      100,      1000,     10000,
                                          100000, 1000000, 10000000, 100000000};

/* ---- short ways ---- */

#define SCAN_ROOM 32 /* bytes that are looked at, at most */

#define JSON_QUOTED_MAX 32

/* Consumes the next key when it is this one, written without white space: `quoted` holds
 * JSON_QUOTED_MAX bytes, "key": and then zeroes. Else false, nothing consumed, and json_next_key()
 * says what is there. For readers that know the order in which a writer writes. Two loads cover a
 * key of 4 to 13 letters, quotes and colon included. */
static inline bool scan_key(struct json *j, const char *quoted, size_t len)
{
    const char *p = j->p + !j->first;
    uint64_t mask = len < 8 ? ((uint64_t)1 << len * 8) - 1 : UINT64_MAX;
    if (j->room - j->p < SCAN_ROOM + 1 || (!j->first && *j->p != ',') ||
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

/* The same for a key that is not the first: `quoted` begins with the comma before it, and `mask` is
 * that of its first eight bytes. */
static inline bool scan_next_key(struct json *j, const char *quoted, size_t len, uint64_t mask)
{
    const char *p = j->p;
    if (j->room - p < SCAN_ROOM || ((load8(p) ^ load8(quoted)) & mask) != 0)
        return false;
    if (len > 8 && load8(p + len - 8) != load8(quoted + len - 8))
        return false;
    if (len > 16 && memcmp(p, quoted, len) != 0)
        return false;
    j->p = p + len;
    return true;
}

/* After a plain value comes this. */
static inline bool ends_value(char c)
{
    return c == ',' || c == '}' || c == ']';
}

/* A text without escapes. */
static inline bool scan_text(struct json *j, struct json_text *out)
{
    const char *begin = j->p + 1, *p;
    if (j->end - j->p < 2 || *j->p != '"')
        return false;
    p = find_special(begin, j->room); /* after the end stands a control byte */
    if (p == j->room || *p != '"' || p - begin > UINT32_MAX)
        return false;
    *out = (struct json_text){begin, (uint32_t)(p - begin), false};
    j->p = p + 1;
    return true;
}

/* Up to 16 digits at *p, none of them a zero in front; false when there are none or more. */
static inline bool scan_whole(const char **p, uint64_t *value)
{
    uint64_t low;
    unsigned n = leading_digits(*p, value);
    if (n == 0 || (n > 1 && **p == '0'))
        return false;
    if (n == 8 && is_digit((*p)[8])) {
        unsigned more = leading_digits(*p + 8, &low);
        *value = *value * powers_of_ten[more] + low;
        n += more;
    }
    *p += n;
    return true;
}

static inline bool scan_u64(struct json *j, uint64_t *out)
{
    const char *p = j->p;
    if (j->room - p < SCAN_ROOM || !scan_whole(&p, out) || !ends_value(*p))
        return false;
    j->p = p;
    return true;
}

static inline bool scan_i64(struct json *j, int64_t *out)
{
    const char *p = j->p;
    uint64_t value;
    bool negative;
    if (j->room - p < SCAN_ROOM)
        return false;
    negative = *p == '-';
    p += negative;
    if (!scan_whole(&p, &value) || !ends_value(*p))
        return false;
    *out = negative ? -(int64_t)value : (int64_t)value;
    j->p = p;
    return true;
}

/* Microseconds with three decimals, as nanoseconds: 0.000 to 9999999999999999.999, which fits. */
static inline bool scan_us(struct json *j, int64_t *out)
{
    const char *p = j->p;
    uint64_t value;
    unsigned a, b, c;
    if (j->room - p < SCAN_ROOM || !scan_whole(&p, &value) || *p != '.' || value > INT64_MAX / 2000)
        return false;
    a = (unsigned char)p[1] - '0';
    b = (unsigned char)p[2] - '0';
    c = (unsigned char)p[3] - '0';
    if (a > 9 || b > 9 || c > 9 || !ends_value(p[4]))
        return false;
    *out = (int64_t)(value * 1000 + a * 100 + b * 10 + c);
    j->p = p + 4;
    return true;
}

/* Steps out of the object entered last, where it ends here. */
static inline bool scan_close(struct json *j)
{
    if (j->p == j->end || *j->p != '}')
        return false;
    j->p++;
    j->depth--;
    j->first = false;
    return true;
}

static inline bool scan_null(struct json *j)
{
    if (j->room - j->p < 5 || memcmp(j->p, "null", 4) != 0 || !ends_value(j->p[4]))
        return false;
    j->p += 4;
    return true;
}

/* Steps over a number of a few digits. */
static inline bool scan_past_number(struct json *j)
{
    const char *p = j->p, *last = j->room - p < SCAN_ROOM ? p : p + SCAN_ROOM;
    while (p < last && (is_digit(*p) || *p == '.'))
        p++;
    if (p == last || p == j->p || !ends_value(*p))
        return false;
    j->p = p;
    return true;
}

#endif
