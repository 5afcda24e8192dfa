/* SPDX-License-Identifier: MIT */
#include "base/kernel_memo.h"

#include "base/hash.h"

#include <string.h>

#define SLOTS 256
#define NAME_MAX_LEN 240 /* a longer one is not remembered */

static _Thread_local struct slot {
    char name[NAME_MAX_LEN + 1]; /* "" in an empty slot */
    uint8_t class;
} slots[SLOTS];

static uint64_t hash_of(const char *name, size_t len)
{
    uint64_t hash = hash_mix(HASH_BYTES, len), word;
    for (; len >= sizeof word; name += sizeof word, len -= sizeof word) {
        memcpy(&word, name, sizeof word);
        hash = hash_mix(hash, word);
    }
    return hash_bytes(hash, name, len);
}

enum specter_kernel_class kernel_class(const char *name)
{
    const size_t len = strlen(name);
    struct slot *slot;
    if (len == 0 || len > NAME_MAX_LEN)
        return specter_kernel_class_of(name);
    slot = &slots[hash_of(name, len) % SLOTS];
    if (memcmp(slot->name, name, len + 1) != 0) {
        slot->class = (uint8_t)specter_kernel_class_of(name);
        memcpy(slot->name, name, len + 1);
    }
    return (enum specter_kernel_class)slot->class;
}
