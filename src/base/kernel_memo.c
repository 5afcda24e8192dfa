/* SPDX-License-Identifier: MIT */
#include "base/kernel_class.h"

#include "base/hash.h"

#include <string.h>

#define SLOTS 1024

/* A name is known by its length and 64 bits of hash: names of templates have thousands of bytes. */
static _Thread_local struct slot {
    uint64_t hash;
    size_t len; /* 0: an empty slot */
    uint8_t class;
} slots[SLOTS];

enum specter_kernel_class kernel_class(const char *name)
{
    const size_t len = strlen(name);
    const uint64_t hash = hash_words(name, len);
    struct slot *slot = &slots[hash % SLOTS];
    if (slot->hash != hash || slot->len != len || len == 0)
        *slot = (struct slot){hash, len, (uint8_t)specter_kernel_class_of(name)};
    return (enum specter_kernel_class)slot->class;
}
