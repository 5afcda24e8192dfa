/* SPDX-License-Identifier: MIT */
#include "base/buf.h"

#include "base/arena.h"
#include "base/err.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char buf_empty[1];

void buf_init(struct buf *b)
{
    b->data = buf_empty;
    b->len = b->cap = 0;
}

void buf_release(struct buf *b)
{
    if (b->cap > 0)
        free(b->data);
    buf_init(b);
}

void buf_reset(struct buf *b)
{
    b->len = 0;
    if (b->cap > 0)
        b->data[0] = '\0';
}

char *buf_reserve(struct buf *b, size_t more)
{
    if (more >= SIZE_MAX - b->len)
        die("out of memory");
    if (b->len + more + 1 > b->cap)
        b->data = array_room(b->cap ? b->data : NULL, &b->cap, b->len + more + 1, 1);
    return b->data + b->len;
}

void buf_put(struct buf *b, const void *bytes, size_t len)
{
    char *p = buf_reserve(b, len);
    if (len > 0)
        memcpy(p, bytes, len);
    b->len += len;
    b->data[b->len] = '\0';
}

void buf_puts(struct buf *b, const char *text)
{
    buf_put(b, text, strlen(text));
}

void buf_putc(struct buf *b, char c)
{
    buf_put(b, &c, 1);
}

void buf_vprintf(struct buf *b, const char *fmt, va_list ap)
{
    va_list again;
    int n;
    va_copy(again, ap);
    n = vsnprintf(NULL, 0, fmt, ap);
    if (n < 0)
        die("cannot format '%s'", fmt);
    vsnprintf(buf_reserve(b, (size_t)n + 1), (size_t)n + 1, fmt, again);
    va_end(again);
    b->len += (size_t)n;
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    buf_vprintf(b, fmt, ap);
    va_end(ap);
}

size_t text_bom_len(const char *text, size_t len)
{
    return len >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
}

/* Number of bytes at the start of the text that are one control character: 0, 1, or 2 for the C1
 * set (U+0080 to U+009F), which terminals obey as well. */
static size_t control_len(const char *text, size_t len)
{
    unsigned char c = (unsigned char)text[0];
    if (c < 0x20 || c == 0x7f)
        return 1;
    return c == 0xc2 && len > 1 && (unsigned char)text[1] < 0xa0 ? 2 : 0;
}

/* Returns the byte at text[*i], or '?' for a control character, and moves *i behind it. */
static char next_printable(const char *text, size_t len, size_t *i)
{
    const size_t control = control_len(text + *i, len - *i);
    const char c = text[*i];
    *i += control > 0 ? control : 1;
    return control > 0 ? '?' : c;
}

void buf_put_printable(struct buf *b, const char *text, size_t len)
{
    for (size_t i = 0; i < len;)
        buf_putc(b, next_printable(text, len, &i));
}

void text_make_printable(char *text)
{
    const size_t len = strlen(text);
    char *out = text;
    for (size_t i = 0; i < len; out++)
        *out = next_printable(text, len, &i);
    *out = '\0';
}
