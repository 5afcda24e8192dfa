/* SPDX-License-Identifier: MIT
 *
 * A growable array of bytes, always NUL-terminated so that it can be read as a string.
 *
 *     struct buf b = BUF_INIT;
 *     buf_printf(&b, "rank %d", rank);
 *     fputs(b.data, stdout);
 *     buf_release(&b);
 */
#ifndef SPECTER_BASE_BUF_H
#define SPECTER_BASE_BUF_H

#include <stdarg.h>
#include <stddef.h>

struct buf {
    char *data; /* owned where cap > 0, else buf_empty; never NULL once initialised */
    size_t len, cap;
};

extern char buf_empty[1];
#define BUF_INIT        \
    {                   \
        buf_empty, 0, 0 \
    }

void buf_init(struct buf *b);
void buf_release(struct buf *b);
void buf_reset(struct buf *b); /* empty, memory kept */

void buf_put(struct buf *b, const void *bytes, size_t len);
void buf_puts(struct buf *b, const char *text);
void buf_putc(struct buf *b, char c);
void buf_printf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3), nonnull));
void buf_vprintf(struct buf *b, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));

/* Makes room for `more` bytes after len and a NUL, and returns where they go. The caller then adds
 * to len and writes the NUL. */
char *buf_reserve(struct buf *b, size_t more);

/* Number of bytes at the start of a text that are a byte order mark in UTF-8: 3 or 0. */
size_t text_bom_len(const char *text, size_t len);

/* Text from outside, made safe for a terminal: control bytes become '?'. */
void buf_put_printable(struct buf *b, const char *text, size_t len);
void text_make_printable(char *text); /* in place */

#endif
