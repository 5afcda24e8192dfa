/* SPDX-License-Identifier: MIT */
#include "trace/reader.h"

#include "base/buf.h"

#include <string.h>

void memo_init(struct memo *m)
{
    memset(m, 0, sizeof *m);
}

static inline uint64_t load(const char *p, size_t n)
{
    uint64_t x = 0;
    memcpy(&x, p, n);
    return x;
}

/* Length, begin, middle and end tell kernel names and communicator ids apart well enough. */
static inline uint64_t key_of(struct json_text text)
{
    if (text.len < 8) {
        /* All of a text of less than eight bytes, its length known. */
        if (text.len >= 4)
            return load(text.p, 4) | load(text.p + text.len - 4, 4) << 32;
        if (text.len >= 2)
            return load(text.p, 2) | load(text.p + text.len - 2, 2) << 16;
        return text.len == 1 ? (unsigned char)*text.p : 0;
    }
    return load(text.p + text.len - 8, 8) ^ load(text.p + (text.len - 8) / 2, 8) * 31 ^
           load(text.p, 8) * 127;
}

struct memo_slot *memo_find(struct memo *m, struct run *run, struct json_text text)
{
    uint64_t key = key_of(text);
    struct memo_slot *slot =
        &m->slots[((key ^ text.len) * 0x9E3779B97F4A7C15u) >> 40 & (MEMO_SLOTS - 1)];
    /* The key of a short text is the text. */
    if (slot->text != NULL && slot->key == key && slot->len == text.len && !text.escaped &&
        (text.len < 8 || memcmp(slot->text, text.p, text.len) == 0))
        return slot;
    struct buf plain = BUF_INIT;
    json_decode(text, &plain);
    /* Control characters, also those of eight bits (U+0080 to U+009F), steer a terminal. */
    char *p = plain.data, *end = plain.data + plain.len;
    for (; p < end; p++) {
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            *p = '?';
        else if (p + 1 < end && p[0] == '\xc2' && (unsigned char)p[1] < 0xa0)
            p[0] = p[1] = '?';
    }
    slot->text = intern_add(&run->names, plain.data, plain.len);
    slot->len = (uint32_t)strlen(slot->text);
    slot->value = -1;
    buf_release(&plain);
    slot->key = key_of((struct json_text){slot->text, (uint32_t)slot->len, false});
    return slot;
}

const char *run_intern(struct run *run, struct json_text text)
{
    struct buf plain = BUF_INIT;
    const char *name;
    json_decode(text, &plain);
    name = intern_add(&run->names, plain.data, plain.len);
    buf_release(&plain);
    return name;
}
