/* SPDX-License-Identifier: MIT
 *
 * Wire format of protocol buffers: bytes as protobuf.dev/programming-guides/encoding has them.
 */
#include "base/proto.h"
#include "test.h"

#include <string.h>

static void check_bytes(const struct buf *b, const char *want, size_t len, int line)
{
    if (b->len != len || memcmp(b->data, want, len) != 0)
        test_fail(__FILE__, line, "%zu bytes are not the %zu that are expected", b->len, len);
}

#define CHECK_BYTES(b, want) check_bytes(b, want, sizeof want - 1, __LINE__)

/* The manual's own example is 150 in field 1. */
TEST(proto_varints_at_their_bounds)
{
    static const struct {
        uint64_t value;
        size_t len;
        const char *bytes;
    } cases[] = {
        {0, 1, "\x00"},
        {1, 1, "\x01"},
        {127, 1, "\x7f"},
        {128, 2, "\x80\x01"},
        {150, 2, "\x96\x01"},
        {16383, 2, "\xff\x7f"},
        {16384, 3, "\x80\x80\x01"},
        {UINT32_MAX, 5, "\xff\xff\xff\xff\x0f"},
        {UINT64_C(1) << 63, 10, "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"},
        {UINT64_MAX, 10, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf b = BUF_INIT;
        proto_length(&b, cases[i].value);
        check_bytes(&b, cases[i].bytes, cases[i].len, __LINE__);
        buf_release(&b);
    }
}

TEST(proto_fields)
{
    struct buf b = BUF_INIT;
    proto_uint(&b, 1, 150);
    CHECK_BYTES(&b, "\x08\x96\x01");
    buf_reset(&b);
    proto_int(&b, 2, -2); /* ten bytes, as int32 and int64 alike have it */
    CHECK_BYTES(&b, "\x10\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01");
    buf_reset(&b);
    proto_uint(&b, 16, 0); /* the first tag of two bytes */
    CHECK_BYTES(&b, "\x80\x01\x00");
    buf_reset(&b);
    proto_fixed64(&b, 3, UINT64_C(0x0807060504030201));
    CHECK_BYTES(&b, "\x19\x01\x02\x03\x04\x05\x06\x07\x08");
    buf_reset(&b);
    proto_text(&b, 2, "testing");
    CHECK_BYTES(&b, "\x12\x07testing");
    buf_reset(&b);
    proto_bytes(&b, 5, "\0\1", 2);
    CHECK_BYTES(&b, "\x2a\x02\0\1");
    buf_release(&b);
}

/* A text of so many bytes in a message in a message. */
static void check_nested(size_t len, const char *front, size_t front_len, int line)
{
    struct buf b = BUF_INIT, text = BUF_INIT;
    size_t outer, inner;
    memset(buf_reserve(&text, len), 'x', len);
    text.len = len;
    proto_uint(&b, 7, 5); /* not at the buffer's begin */
    outer = proto_open(&b, 1);
    inner = proto_open(&b, 2);
    proto_bytes(&b, 3, text.data, len);
    proto_close(&b, inner);
    proto_close(&b, outer);
    proto_uint(&b, 7, 6);
    if (b.len != 2 + front_len + len + 2 || memcmp(b.data + 2, front, front_len) != 0 ||
        (len > 0 && memcmp(b.data + 2 + front_len, text.data, len) != 0) ||
        memcmp(b.data + b.len - 2, "\x38\x06", 2) != 0)
        test_fail(__FILE__, line, "a nested text of %zu bytes", len);
    buf_release(&text);
    buf_release(&b);
}

#define CHECK_NESTED(len, front) check_nested(len, front, sizeof front - 1, __LINE__)

/* Lengths of one, two, three bytes, and where the outer one is longer than the inner one. */
TEST(proto_nested_messages)
{
    CHECK_NESTED(0, "\x0a\x04\x12\x02\x1a\x00");
    CHECK_NESTED(123, "\x0a\x7f\x12\x7d\x1a\x7b");
    CHECK_NESTED(124, "\x0a\x80\x01\x12\x7e\x1a\x7c");
    CHECK_NESTED(125, "\x0a\x81\x01\x12\x7f\x1a\x7d");
    CHECK_NESTED(126, "\x0a\x83\x01\x12\x80\x01\x1a\x7e");
    CHECK_NESTED(16374, "\x0a\xfc\x7f\x12\xf9\x7f\x1a\xf6\x7f");
    CHECK_NESTED(16378, "\x0a\x80\x80\x01\x12\xfd\x7f\x1a\xfa\x7f");
    CHECK_NESTED(20000, "\x0a\xa8\x9c\x01\x12\xa4\x9c\x01\x1a\xa0\x9c\x01");
}

TEST(proto_empty_message)
{
    struct buf b = BUF_INIT;
    proto_close(&b, proto_open(&b, 1));
    CHECK_BYTES(&b, "\x0a\x00");
    buf_release(&b);
}
