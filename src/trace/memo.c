/* SPDX-License-Identifier: MIT */
#include "trace/memo.h"

#include "base/buf.h"

#include <string.h>

void memo_init(struct memo *m)
{
    memset(m, 0, sizeof *m);
}

static uint64_t bytes8(const char *p)
{
    uint64_t x;
    memcpy(&x, p, sizeof x);
    return x;
}

static inline bool same_bytes(const char *a, const char *b, size_t len)
{
    if (len > 16)
        return memcmp(a, b, len) == 0;
    if (len >= 8)
        return bytes8(a) == bytes8(b) && bytes8(a + len - 8) == bytes8(b + len - 8);
    for (size_t i = 0; i < len; i++) {
        if (a[i] != b[i])
            return false;
    }
    return true;
}

/* Length, begin, middle and end tell kernel names and communicator ids apart well enough. */
static size_t slot_index(struct json_text text)
{
    uint64_t h = text.len;
    if (text.len >= 8) {
        h ^= bytes8(text.p + text.len - 8) ^ bytes8(text.p + (text.len - 8) / 2) * 31 ^
             bytes8(text.p) * 127;
    } else {
        for (size_t i = 0; i < text.len; i++)
            h = h << 8 | (unsigned char)text.p[i];
    }
    return (h * 0x9E3779B97F4A7C15u) >> 40 & (MEMO_SLOTS - 1);
}

/* Control characters, also those of eight bits (U+0080 to U+009F), steer a terminal. */
static void make_printable(struct buf *text)
{
    char *p = text->data, *end = text->data + text->len;
    for (; p < end; p++) {
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            *p = '?';
        else if (p + 1 < end && p[0] == '\xc2' && (unsigned char)p[1] < 0xa0)
            p[0] = p[1] = '?';
    }
}

static void remember(struct memo_slot *slot, struct run *run, struct json_text text)
{
    struct buf plain = BUF_INIT;
    json_decode(text, &plain);
    make_printable(&plain);
    slot->text = intern_add(&run->names, plain.data, plain.len);
    slot->len = strlen(slot->text);
    slot->value = -1;
    buf_release(&plain);
}

struct memo_slot *memo_find(struct memo *m, struct run *run, struct json_text text)
{
    struct memo_slot *slot = &m->slots[slot_index(text)];
    if (slot->text == NULL || slot->len != text.len || text.escaped ||
        !same_bytes(slot->text, text.p, text.len))
        remember(slot, run, text);
    return slot;
}
