/* SPDX-License-Identifier: MIT */
#include "base/kernel_class.h"

#include "base/hash.h"

#include <string.h>

uint8_t name_memo_get(struct name_memo *m, const char *name, uint8_t (*classify)(const char *name))
{
    const size_t len = strlen(name);
    const uint64_t hash = hash_words(name, len);
    struct name_memo_slot *slot = &m->slots[hash % NAME_MEMO_SLOTS];
    if (slot->hash != hash || slot->len != len || len == 0)
        *slot = (struct name_memo_slot){hash, len, classify(name)};
    return slot->class;
}

static uint8_t class_of(const char *name)
{
    return (uint8_t)specter_kernel_class_of(name);
}

enum specter_kernel_class kernel_class(const char *name)
{
    static _Thread_local struct name_memo memo;
    return (enum specter_kernel_class)name_memo_get(&memo, name, class_of);
}
