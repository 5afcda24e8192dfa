/* SPDX-License-Identifier: MIT
 *
 * Writes Protocol Buffers' wire format (protobuf.dev/programming-guides/encoding) into a buffer:
 *
 *     size_t at = proto_open(&b, 11);        a message in field 11
 *     proto_uint(&b, 9, 1);
 *     proto_text(&b, 23, "AllReduce");
 *     proto_close(&b, at);
 *
 * Messages may be nested; each is closed before the one around it. Lengths are as short as they can
 * be, so that equal messages are equal bytes.
 */
#ifndef SPECTER_BASE_PROTO_H
#define SPECTER_BASE_PROTO_H

#include "base/buf.h"

#include <stdint.h>

void proto_uint(struct buf *b, uint32_t field, uint64_t value);
void proto_int(struct buf *b, uint32_t field, int64_t value); /* int32, int64, enum, bool */
void proto_fixed64(struct buf *b, uint32_t field, uint64_t value);
void proto_bytes(struct buf *b, uint32_t field, const void *bytes, size_t len);
void proto_text(struct buf *b, uint32_t field, const char *text); /* as it is: must be UTF-8 */

/* Where the message begins, for proto_close(). */
size_t proto_open(struct buf *b, uint32_t field);
void proto_close(struct buf *b, size_t at);

/* A length in front of a message that stands alone, as streams of messages have. */
void proto_length(struct buf *b, uint64_t len);

#endif
