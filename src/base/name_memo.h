/* SPDX-License-Identifier: MIT
 *
 * The class of a name, remembered: to find it takes a search for up to a hundred words, and a
 * recording has a few hundred names a million times. A memo belongs to one thread and starts as
 * zeros.
 *
 *     static _Thread_local struct name_memo memo;
 *     return (enum specter_copy)name_memo_get(&memo, name, class_of_copy);
 */
#ifndef SPECTER_BASE_NAME_MEMO_H
#define SPECTER_BASE_NAME_MEMO_H

#include <stddef.h>
#include <stdint.h>

#define NAME_MEMO_SLOTS 1024

struct name_memo {
    struct name_memo_slot {
        uint64_t hash; /* of the name: those of templates have thousands of bytes */
        size_t len;    /* 0: an empty slot */
        uint8_t class;
    } slots[NAME_MEMO_SLOTS];
};

/* Returns classify(name), which is called where the memo does not have it. */
uint8_t name_memo_get(struct name_memo *m, const char *name, uint8_t (*classify)(const char *name));

#endif
