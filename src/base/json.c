/* SPDX-License-Identifier: MIT
 *
 * The scanner works on eight bytes at a time where that pays (strings, long numbers) and never
 * looks behind `end`. An error draws `end` back to the place where it happened: all later calls
 * then run into the end of the text by themselves, without a test for errors in each.
 */
#include "base/json.h"

#include "base/buf.h"
#include "base/json_scan.h"

#include <string.h>

static const char cut_text[] = "the text ends too early";

void json_init(struct json *j, const char *text, size_t len)
{
    if (text == NULL)
        text = ""; /* an absent text is an empty one */
    j->start = j->p = text;
    j->room = j->end = text + len;
    j->error = NULL;
    j->first = false;
    j->depth = 0;
}

void json_room(struct json *j, size_t behind)
{
    j->room = j->end + behind;
}

size_t json_offset(const struct json *j)
{
    return (size_t)(j->p - j->start);
}

bool json_is_cut(const struct json *j)
{
    return j->error == cut_text;
}

bool json_fail(struct json *j, const char *error)
{
    if (j->error == NULL)
        j->error = j->p == j->end ? cut_text : error;
    j->room = j->end = j->p;
    return false;
}

/* Like json_fail(), for what is wrong wherever it stands. */
static bool fail_here(struct json *j, const char *error)
{
    if (j->error == NULL)
        j->error = error;
    j->room = j->end = j->p;
    return false;
}

char json_peek(struct json *j)
{
    char c = next_byte(j);
    if (is_digit(c))
        return '0';
    if (c != '\0' && strchr("{[\"tfn-", c) != NULL)
        return c;
    if (j->p < j->end)
        json_fail(j, "expected a value");
    return '\0';
}

/* ---- strings ---- */

static bool is_hex(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* p is at a backslash: the byte after its escape, or NULL with the error set. */
static const char *pass_escape(struct json *j, const char *p)
{
    size_t len = j->end - p >= 2 && p[1] == 'u' ? 6 : 2;
    bool good;
    if ((size_t)(j->end - p) < len) {
        j->p = j->end;
        json_fail(j, cut_text);
        return NULL;
    }
    if (len == 2)
        good = p[1] != '\0' && strchr("\"\\/bfnrt", p[1]) != NULL;
    else
        good = is_hex(p[2]) && is_hex(p[3]) && is_hex(p[4]) && is_hex(p[5]);
    if (good)
        return p + len;
    j->p = p;
    json_fail(j, "bad escape in a string");
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
    json_fail(j, "control byte in a string");
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
        return json_fail(j, bracket == '{' ? "expected an object" : "expected an array");
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
        return j->p < j->end || json_fail(j, cut_text);
    }
    if (c != ',')
        return json_fail(j, closing == '}' ? "expected ',' or '}'" : "expected ',' or ']'");
    j->p++;
    return true;
}

bool json_next_key(struct json *j, struct json_text *key)
{
    if (!next_element(j, '}'))
        return false;
    if (next_byte(j) != '"')
        return json_fail(j, "expected a key");
    *key = scan_string(j);
    if (next_byte(j) != ':')
        return json_fail(j, "expected ':'");
    j->p++;
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
        json_fail(j, "text after the value");
}

/* ---- skipping ---- */

enum skip_class { PLAIN, QUOTE, OPEN, CLOSE };

static const uint8_t skip_classes[256] = {
    ['"'] = QUOTE, ['{'] = OPEN, ['['] = OPEN, ['}'] = CLOSE, [']'] = CLOSE,
};

/* After the string whose opening quote is at p; NULL when it does not end. */
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
    json_fail(j, p < j->end && skip_classes[(unsigned char)*p] == OPEN ? "nested too deeply"
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
        json_fail(j, "expected a value");
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
            json_fail(j, cut_text);
    } else if (c == '{' || c == '[') {
        skip_nested(j, 0);
    } else {
        skip_scalar(j);
    }
}

/* ---- other values ---- */

static bool literal(struct json *j, const char *word)
{
    size_t len = strlen(word), left = (size_t)(j->end - j->p), n = left < len ? left : len;
    if (memcmp(j->p, word, n) != 0)
        return json_fail(j, "expected a value");
    j->p += n;
    return n == len || json_fail(j, cut_text);
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
        return json_fail(j, "expected true or false");
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
        json_fail(j, "expected a string");
    return (struct json_text){NULL, 0, false};
}

/* ---- text to UTF-8 and back ---- */

/* JSON text to UTF-8 and back. */

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

/* Decodes the escape at p; after it. What is no escape becomes U+FFFD. */
static const char *decode_escape(const char *p, const char *end, struct buf *out)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    const char *at;
    if (end - p < 2) {
        put_utf8(out, REPLACEMENT);
        return end;
    }
    if (p[1] == 'u') {
        /* Decodes the \u escape at p, two of them when they are a surrogate pair; after it. */
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
