/* SPDX-License-Identifier: MIT */
#include "analysis/name_index.h"

#include "base/arena.h"

#include <stdlib.h>
#include <string.h>

/* The slot that holds the pair, or the free one where it belongs. */
static struct name_index_slot *slot_of(const struct name_index *n, const char *name, uint32_t tag)
{
    const uint64_t odd = 0x9e3779b97f4a7c15u;
    uint64_t h = ((uint64_t)(uintptr_t)name >> 3) + (tag + UINT64_C(1)) * odd;
    h = (h ^ h >> 32) * odd;
    size_t at = (size_t)(h >> 32) & (n->nslots - 1);
    while (n->slots[at].row != 0 && (n->slots[at].name != name || n->slots[at].tag != tag))
        at = (at + 1) & (n->nslots - 1);
    return &n->slots[at];
}

static void widen(struct name_index *n)
{
    struct name_index old = *n;
    n->nslots = old.nslots > 0 ? 2 * old.nslots : 256;
    n->slots = array_new(n->nslots, sizeof *n->slots);
    for (size_t i = 0; i < old.nslots; i++) {
        if (old.slots[i].row != 0)
            *slot_of(n, old.slots[i].name, old.slots[i].tag) = old.slots[i];
    }
    free(old.slots);
}

uint32_t name_index_add(struct name_index *n, const char *name, uint32_t tag)
{
    struct name_index_slot *slot;
    if (2 * ((size_t)n->count + 1) > n->nslots)
        widen(n);
    slot = slot_of(n, name, tag);
    if (slot->row == 0)
        *slot = (struct name_index_slot){name, tag, ++n->count};
    return slot->row - 1;
}

void name_index_release(struct name_index *n)
{
    free(n->slots);
    memset(n, 0, sizeof *n);
}
