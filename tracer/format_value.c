/* SPDX-License-Identifier: MIT
 *
 * Values as JSON, without printf (format.h).
 */
#include "format.h"

#include <string.h>

static void put_null(struct out *o)
{
    PUT_LITERAL(o, "null");
}

static void put_digits(struct out *o, uint64_t value)
{
    char digits[20];
    size_t n = sizeof digits;
    do {
        digits[--n] = (char)('0' + value % 10);
        value /= 10;
    } while (value != 0);
    put_bytes(o, digits + n, sizeof digits - n);
}

void put_fixed(struct out *o, uint64_t value, int places)
{
    uint64_t unit = 1;
    for (int i = 0; i < places; i++)
        unit *= 10;
    put_digits(o, value / unit);
    *o->p++ = '.';
    for (uint64_t rest = value % unit; unit > 1; rest %= unit) {
        unit /= 10;
        *o->p++ = (char)('0' + rest / unit);
    }
}

void put_U64(struct out *o, uint64_t value)
{
    if (value == UINT64_MAX)
        put_null(o);
    else
        put_digits(o, value);
}

static uint64_t put_sign(struct out *o, int64_t value)
{
    if (value >= 0)
        return (uint64_t)value;
    *o->p++ = '-';
    return -(uint64_t)value;
}

void put_I64(struct out *o, int64_t value)
{
    if (value == INT64_MIN)
        put_null(o);
    else
        put_digits(o, put_sign(o, value));
}

void put_US(struct out *o, int64_t ns)
{
    if (ns == NO_TIME)
        put_null(o);
    else
        put_fixed(o, put_sign(o, ns), 3);
}

void put_F1(struct out *o, double value)
{
    if (value >= 0 && value <= 1e15)
        put_fixed(o, (uint64_t)(value * 10 + 0.5), 1);
    else
        put_null(o);
}

void put_RAW(struct out *o, const char *json)
{
    if (json == NULL)
        put_null(o);
    else
        put_bytes(o, json, strlen(json));
}

/* Bytes of the UTF-8 character at s; 0: it is none (overlong, surrogate, too large, cut off). */
static size_t utf8_length(const unsigned char *s)
{
    static const struct {
        unsigned char from, to, second_from, second_to;
        size_t len;
    } rows[] = {
        {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3}, {0xe1, 0xec, 0x80, 0xbf, 3},
        {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3}, {0xf0, 0xf0, 0x90, 0xbf, 4},
        {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (s[0] < rows[i].from || s[0] > rows[i].to)
            continue;
        if (s[1] < rows[i].second_from || s[1] > rows[i].second_to)
            return 0;
        for (size_t k = 2; k < rows[i].len; k++) {
            if (s[k] < 0x80 || s[k] > 0xbf)
                return 0;
        }
        return rows[i].len;
    }
    return 0;
}

static void put_escaped(struct out *o, unsigned char c)
{
    static const char hex[] = "0123456789abcdef";
    if (c == '"' || c == '\\') {
        *o->p++ = '\\';
        *o->p++ = (char)c;
    } else {
        PUT_LITERAL(o, "\\u00");
        *o->p++ = hex[c >> 4];
        *o->p++ = hex[c & 15];
    }
}

void put_STR(struct out *o, const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    if (text == NULL) {
        put_null(o);
        return;
    }
    *o->p++ = '"';
    while (*s != '\0') {
        size_t len = *s >= 0x80 ? utf8_length(s) : 1;
        if (len == 0)
            PUT_LITERAL(o, "\xef\xbf\xbd");
        else if (*s < 0x20 || *s == '"' || *s == '\\' || *s == 0x7f)
            put_escaped(o, *s);
        else
            put_bytes(o, (const char *)s, len);
        s += len != 0 ? len : 1;
    }
    *o->p++ = '"';
}
