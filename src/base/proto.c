/* SPDX-License-Identifier: MIT */
#include "base/proto.h"

#include <string.h>

enum wire { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2 };

#define VARINT_MAX 10

static size_t varint(unsigned char out[VARINT_MAX], uint64_t value)
{
    size_t n = 0;
    for (; value >= 0x80; value >>= 7)
        out[n++] = (unsigned char)(value | 0x80);
    out[n++] = (unsigned char)value;
    return n;
}

void proto_length(struct buf *b, uint64_t len)
{
    unsigned char bytes[VARINT_MAX];
    buf_put(b, (const char *)bytes, varint(bytes, len));
}

static void tag(struct buf *b, uint32_t field, enum wire wire)
{
    proto_length(b, (uint64_t)field << 3 | wire);
}

void proto_uint(struct buf *b, uint32_t field, uint64_t value)
{
    tag(b, field, WIRE_VARINT);
    proto_length(b, value);
}

void proto_int(struct buf *b, uint32_t field, int64_t value)
{
    proto_uint(b, field, (uint64_t)value);
}

void proto_fixed64(struct buf *b, uint32_t field, uint64_t value)
{
    unsigned char bytes[8];
    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)(value >> 8 * i);
    tag(b, field, WIRE_FIXED64);
    buf_put(b, (const char *)bytes, sizeof bytes);
}

void proto_bytes(struct buf *b, uint32_t field, const void *bytes, size_t len)
{
    tag(b, field, WIRE_BYTES);
    proto_length(b, len);
    buf_put(b, bytes, len);
}

void proto_text(struct buf *b, uint32_t field, const char *text)
{
    proto_bytes(b, field, text, strlen(text));
}

size_t proto_open(struct buf *b, uint32_t field)
{
    tag(b, field, WIRE_BYTES);
    buf_putc(b, '\0'); /* its length, when one byte holds it */
    return b->len;
}

void proto_close(struct buf *b, size_t at)
{
    unsigned char bytes[VARINT_MAX];
    size_t len = b->len - at, n = varint(bytes, len);
    for (size_t i = 1; i < n; i++)
        buf_putc(b, '\0');
    memmove(b->data + at + n - 1, b->data + at, len);
    memcpy(b->data + at - 1, bytes, n);
}
