/* SPDX-License-Identifier: MIT
 *
 * JSON text to UTF-8 and back.
 */
#include "base/json.h"

#include "base/buf.h"

#include <string.h>

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
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";
    int32_t value = 0;
    if (end - p < 6 || p[0] != '\\' || p[1] != 'u')
        return -1;
    for (int i = 2; i < 6; i++) {
        const char *digit = p[i] != '\0' ? strchr(digits, p[i]) : NULL;
        if (digit == NULL)
            return -1;
        value = value * 16 + (int32_t)(digit - digits) % 16;
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
